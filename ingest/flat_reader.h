// The quick way to read an event: one pass over a flat object of plain ASCII.
//
// Nearly every event is such an object: no nesting, no escapes, no byte above 0x7e. For these a
// general parser spends most of its time on what does not happen, and this reader needs about a
// quarter of its time. Whatever it does not know well it leaves to the general parser
// (json_reader), which alone decides that a record is bad; where both read a record, they fill in
// the same fields.
//
// Threads: any. Cost: one pass, no allocation, nothing copied: texts are views into `text`.
#pragma once

#include <string_view>

#include "ingest/fields.h"

namespace gapwatch::ingest {

// True: `fields` holds what `text` says. False: ask json_reader; `fields` holds nothing of use.
bool read_flat(std::string_view text, Fields& fields);

}  // namespace gapwatch::ingest
