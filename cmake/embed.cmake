# cmake -DOUT=FILE -DROOT=FOLDER "-DNAMES=a.html;b.css" -P embed.cmake
# Writes a C++ source that holds the named files' bytes (exporters/page_assets.h).

set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")

set(arrays "")
set(entries "")
set(index 0)
foreach(name IN LISTS NAMES)
  file(READ ${ROOT}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(REGEX REPLACE "^.*\\." "" extension ${name})
  string(APPEND arrays "constexpr char kFile${index}[] = {${bytes}};\n")
  string(APPEND entries
         "    {\"${name}\", \"${types_${extension}}\", std::string_view(kFile${index}, sizeof kFile${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUT} "#include \"exporters/page_assets.h\"

namespace gapwatch::exporters {
namespace {

${arrays}
constexpr PageAsset kAssets[] = {
${entries}};

}  // namespace

std::span<const PageAsset> page_assets() { return kAssets; }

}  // namespace gapwatch::exporters
")
