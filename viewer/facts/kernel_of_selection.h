// The kernel that the selection means.
#pragma once

#include <cstdint>

#include "core/dump/readers/kernels.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

// The selected kernel, or that of the selected instruction, line or event, by its number in the
// table; -1: none.
int32_t KernelOfSelection(Context& context, const dump::KernelTable& table);

}  // namespace hloscope::viewer
