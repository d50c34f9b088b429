// One step of a traced thread, and the list of all: parts of the panel Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/lab/thread_trace.h"
#include "viewer/widgets/text_pane.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// The instruction with its values, where each came from, and the memory it touched. The step that a
// click leads to; `picked` becomes the name of a fused instruction that was clicked.
std::optional<int64_t> DrawThreadStep(Frame& frame, const TracedThread& traced, int64_t step,
                                      std::string& picked);

// All steps in order; the one that was clicked. `reveal`: the current one comes into sight.
std::optional<int64_t> DrawThreadSteps(Frame& frame, const TracedThread& traced, int64_t step,
                                       bool reveal);

// What the line's last execution until that step made, for the end of the line in the PTX; the name
// of the fused instruction whose value it is first. Nothing: it was not executed yet.
std::vector<TextNote> NotesOfLine(const TracedThread& traced, int64_t step, uint32_t line);

// Where the first value that the step reads comes from, if that is recorded; -1: nowhere.
int64_t OriginOf(const TracedThread& traced, int64_t step);

}  // namespace hloscope::viewer
