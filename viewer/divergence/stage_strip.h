// The stages of a module as a strip that can be dragged along: those whose numbers changed are
// highlighted.
#pragma once

#include <cstdint>

#include "core/debug/explain/diverge/verdict.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// Nothing where the module has one stage only.
void DrawStageStrip(Frame& frame, int32_t module, const debug::DivergeVerdict& verdict);

}  // namespace hloscope::viewer
