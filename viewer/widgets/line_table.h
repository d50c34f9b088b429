// LineTable: the lines of PTX of one instruction with how often each was sampled or executed.
#pragma once

#include <string>

#include "profiler/ptx_lines.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// In the order of the text, with share and what warps waited for. The line that was clicked; null:
// none was.
const profiler::PtxLine* DrawLineTable(Frame& frame, const profiler::PtxLines& lines);

// "kernel,line,count,share,stalls,text" and its rows.
std::string LinesCsv(const profiler::PtxLines& lines);

}  // namespace hloscope::viewer
