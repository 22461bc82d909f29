// What is known not to work between this librdkafka and a broker, said before somebody hunts for it.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace gapwatch::ingest {

// One line each; empty where nothing is known. Threads: any.
std::vector<std::string> kafka_cautions(const config::KafkaSource& settings);

}  // namespace gapwatch::ingest
