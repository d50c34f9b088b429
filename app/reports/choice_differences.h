// Choices of the autotuner that differ between two dumps, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/compilation/autotuning.h"
#include "core/base/json.h"

namespace hloscope::app {

std::string ChoiceDifferencesText(const std::vector<analysis::ChoiceDifference>& differences);
void WriteChoiceDifferences(const std::vector<analysis::ChoiceDifference>& differences,
                            JsonWriter& json);

}  // namespace hloscope::app
