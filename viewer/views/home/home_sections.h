// Sections of Home, each drawn where it is called.
#pragma once

#include "core/dump/dump_model.h"
#include "viewer/views/equal_rows.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

inline constexpr float kHomeGap = 8;  // above the title of a section

// What came of the run: its first error, a bundle's fault, what of TensorFlow was compiled.
void DrawRun(Frame& frame, const dump::DumpModel& dump);
// What the module in view takes: memory, and the largest scopes of its program.
void DrawProgram(Frame& frame);
// The instructions of the module in view by where they run, and what fell to the host, with
// reasons.
void DrawWhere(Frame& frame, const dump::DumpModel& dump, EqualRows& fallbacks);
// What moves between host and device, most bytes first.
void DrawTransfers(Frame& frame, const dump::DumpModel& dump, EqualRows& transfers);

void DrawFiles(Frame& frame, const dump::DumpModel& dump);
void DrawProblems(Frame& frame, const dump::DumpModel& dump);
void DrawMissing(Frame& frame, const dump::DumpModel& dump);

// Modules that were compiled more than once, why, and what it cost.
void DrawCompiledAgain(Frame& frame);
// What TensorFlow left outside all clusters.
void DrawTensorFlow(Frame& frame);

}  // namespace hloscope::viewer
