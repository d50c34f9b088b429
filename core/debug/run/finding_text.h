// What the checks of a simulated GPU found, in words.
#pragma once

#include <string>
#include <string_view>

#include "core/replay/capture/run_stream.h"

namespace hloscope::debug {

// "race in fusion.3, kernel loop_fusion, byte 4 of shared memory, 32 times".
std::string HeadText(const replay::RunFinding& finding);

// "a.ptx:31:2: `st.shared.f32 [%r1], %f2` of block (0, 0, 0), thread (3, 0, 0)".
std::string SideText(const replay::RunFinding::Side& side);

// All of it: the head, and a further indented line for each side.
std::string FindingText(const replay::RunFinding& finding, std::string_view indent = "");

}  // namespace hloscope::debug
