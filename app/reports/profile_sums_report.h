// What a profile sums up to: command buffers, steps, categories.
#pragma once

#include <string>

#include "core/base/json.h"
#include "profiler/attribution.h"

namespace hloscope::app {

// Empty where there are none; else a line.
std::string CommandBuffersText(const profiler::Attribution& attribution);
std::string StepsText(const profiler::EventStore& store);
std::string CategoriesText(const profiler::Attribution& attribution);

// `command_buffers`, `categories` and `steps` of the JSON report.
void AppendSums(const profiler::Attribution& attribution, JsonWriter& json);

}  // namespace hloscope::app
