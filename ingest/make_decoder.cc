// Which decoder, and which shape of file, a format has.
#include <fmt/format.h>

#include "config/text.h"
#include "ingest/decoder.h"

namespace gapwatch::ingest {

Result<std::unique_ptr<Decoder>> make_decoder(const std::string& format, const config::EventDefaults& defaults) {
  if (format == "native") return make_native_decoder(defaults);
  if (const auto mapping = config::preset_mapping(format)) return make_mapped_decoder(*mapping, defaults);
  const auto names = config::format_names();
  return refuse(fmt::format("format \"{}\" is not known; known formats: {}", format, config::joined(names)));
}

Result<std::unique_ptr<Decoder>> make_decoder(const config::Settings& settings) {
  if (settings.mapping) return make_mapped_decoder(*settings.mapping, settings.events);
  return make_decoder(settings.format, settings.events);
}

FileShape file_shape(const config::Settings& settings) {
  if (!settings.mapping) return FileShape::kLines;
  switch (settings.mapping->encoding) {
    case config::Mapping::Encoding::kCsv: return FileShape::kCsv;
    case config::Mapping::Encoding::kAvro: return FileShape::kLines;
    case config::Mapping::Encoding::kJson: break;
  }
  return FileShape::kDocuments;
}

}  // namespace gapwatch::ingest
