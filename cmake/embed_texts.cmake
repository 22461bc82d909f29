# cmake -DOUT=FILE -DROOT=FOLDER "-DNAMES=a.yaml;b.yaml" -P embed_texts.cmake
# Writes a C++ source that holds the named files' bytes by their names without ending (config/mapping.h).

set(arrays "")
set(entries "")
set(index 0)
foreach(name IN LISTS NAMES)
  file(READ ${ROOT}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  get_filename_component(stem ${name} NAME_WLE)
  string(APPEND arrays "constexpr char kFile${index}[] = {${bytes}};\n")
  string(APPEND entries "    {\"${stem}\", std::string_view(kFile${index}, sizeof kFile${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUT} "#include \"config/mapping.h\"

namespace gapwatch::config {
namespace {

${arrays}
constexpr Preset kPresets[] = {
${entries}};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

}  // namespace gapwatch::config
")
