// What the limits of this process leave for OpenGL, asked before it is loaded: drivers of Mesa
// crash or wait forever where they get no memory or no thread.
#pragma once

#include "core/base/result.h"

namespace hloscope::viewer {

/// Environment errors: no more threads can be started; in a process of its own OpenGL does not draw
/// a frame within the limit of address space, which is tried only for a window and where there is
/// one.
Status CheckProcessLimits(bool for_window);

/// This process is that one: it draws on a window that is not shown.
bool IsTrialOfOpenGl();

}  // namespace hloscope::viewer
