// What a run of the divergence lab came to: a sentence, the results, instruction by instruction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viewer/model/experiment.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// While a verdict on the module is being found: what is done, for how long, and a button that
// cancels it. False: none is.
bool DrawVerdictProgress(Frame& frame, int32_t module);

// One sentence.
std::string VerdictText(const Experiment& experiment);
// A row for each result that was compared.
void DrawOutputs(Frame& frame, const debug::RunReport& report);
// A row for each of those findings, by position.
void DrawFindings(Frame& frame, const Experiment& experiment, const std::vector<size_t>& rows);

}  // namespace hloscope::viewer
