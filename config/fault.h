// Fault: one thing wrong in a config file, and where.
#pragma once

#include <cstddef>
#include <string>

namespace gapwatch::config {

struct Fault {
  std::size_t line = 0, column = 0;  // from 1; 0: the file as a whole
  std::string key;                   // "monitors[0].band"; empty: the file as a whole
  std::string problem;               // what is wrong; never the value of a secret
  std::string allowed;               // what would be right; may be empty
};

// "file:line:column: key: problem; allowed", in one line.
std::string to_string(const Fault& fault, const std::string& file);

}  // namespace gapwatch::config
