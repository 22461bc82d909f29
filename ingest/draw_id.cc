#include "ingest/draw_id.h"

namespace gapwatch::ingest {

std::uint64_t draw_of(std::string_view id) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return (hash ^ (hash >> 31)) | (std::uint64_t{1} << 63);
}

}  // namespace gapwatch::ingest
