// The process's log: lines on standard error, written by any thread.
#pragma once

#include <string>
#include <string_view>

namespace gapwatch::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

// Messages below `level` are dropped. The default is kInfo.
void set_level(Level level);

void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

// A string from outside made fit for one log line: control characters escaped, cut at `limit`.
std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace gapwatch::log
