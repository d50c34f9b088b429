// The order of compilation of the stages of one module.
#pragma once

#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"

namespace hloscope::dump {

enum class StagePhase : uint8_t { kInput, kPass, kFinal, kOther };
// What a stage is by its name: the module as given, after a pass, as compiled, or something else.
StagePhase PhaseOf(std::string_view stage);

// Sorts stages: the input, passes by number, points between them where known pipelines begin, the
// compiled module, others.
void SortStages(std::vector<StageEntry>& stages);

}  // namespace hloscope::dump
