// By what the last record counted is known again. Private to ingest/.
//
// Cost: a hash of all its bytes.
#pragma once

#include "ingest/source.h"

namespace gapwatch::ingest {

// Of its key, value and time. `unread`: nothing of it could be read.
RecordMark mark_of(const Record& record, bool unread);
bool is_the_one(const Record& record, const RecordMark& mark);
// A line of a file that could not be read when it was marked, and is longer now.
bool has_grown(const Record& record, const RecordMark& mark);

}  // namespace gapwatch::ingest
