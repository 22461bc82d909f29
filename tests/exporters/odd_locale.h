// Numbers with a decimal comma and grouped thousands, everywhere the process's locale is looked at.
#pragma once

#include <clocale>
#include <locale>
#include <string>

namespace gapwatch::exporters {

class OddLocale {
 public:
  OddLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new Comma))) {}
  ~OddLocale() { std::locale::global(before_); }
  OddLocale(const OddLocale&) = delete;
  OddLocale& operator=(const OddLocale&) = delete;

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
};

}  // namespace gapwatch::exporters
