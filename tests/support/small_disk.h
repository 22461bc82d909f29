// A file system with hardly any room, mounted for a test (which must be root).
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gapwatch::testing {

class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& at, const std::string& size) : at_(at) {
    std::filesystem::create_directories(at);
    mounted_ = mount("tmpfs", at.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(at_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path at_;
  bool mounted_ = false;
};

// Writes a file until its disk has no room left.
inline void fill_up(const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  const std::string page(4096, 'x');
  while (out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
  }
}

}  // namespace gapwatch::testing
