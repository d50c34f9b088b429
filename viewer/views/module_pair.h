// One module of two dumps: its kernels, passes and memory in both, as tabs.
#pragma once

#include "viewer/facts/two_dumps.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// `pair` has both.
void DrawModulePair(Frame& frame, const ModulePair& pair);

// The stages are compared in Changes and in Before and after, of which `view` is shown.
void CompareInPair(Context& context, const ModulePair& pair, int32_t stage_first,
                   int32_t stage_second, std::string_view view);

// "1.2 MB → 800 kB"; "?" where it is not known.
std::string FromTo(const std::array<std::string, 2>& texts);

}  // namespace hloscope::viewer
