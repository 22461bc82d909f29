// Times as producers write them.
//
// Threads: any. Cost: tens of nanoseconds, no allocation. Source: RFC 3339, section 5.6.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace gapwatch {

// The last millisecond of the year 9999, the last that RFC 3339 can write.
inline constexpr TimeMs kLastTime = 253'402'300'799'999;

// "2026-11-29T23:53:13.25Z", "2026-11-30t00:53:13+01:00", or with a space for the T: milliseconds
// since 1970, further digits cut off. Nothing where the text is anything else, the day or the hour
// does not exist, or the time lies before 1970. A leap second (23:59:60 UTC at the end of a June or
// December) counts as the second after it, as in Unix time.
std::optional<TimeMs> parse_rfc3339(std::string_view text);

// "2026-11-29T23:53:13.250Z"; the milliseconds are left out where they are 0. From 1970 to 9999.
std::string format_rfc3339(TimeMs time);

}  // namespace gapwatch
