// An event of the state as the native JSON object that says the same.
#pragma once

#include "exporters/json_writer.h"
#include "ingest/decoder.h"
#include "state/event.h"

namespace gapwatch::app {

enum class NativeUse {
  kShow,  // for people: a draw's opaque id as the record has it, a graded score without an outcome
  kSend,  // for a decoder: the draw as a number, a graded score as unscored
};

// Writes one object.
void write_native(exporters::JsonWriter& out, const state::Event& event, const ingest::Shown& shown, NativeUse use);

}  // namespace gapwatch::app
