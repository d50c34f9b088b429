// What is said of a kernel above its code.
#pragma once

#include <cstdint>
#include <string>

#include "core/debug/explain/kernels/machine_code.h"
#include "core/dump/readers/kernels.h"
#include "viewer/facts/kernel_sheet.h"

namespace hloscope::viewer {

// The row of a kernel of the table; null: it has none, or the sheet is not there yet.
const KernelRow* KernelRowOf(Context& context, int32_t kernel);

// The row that the selection means, where its lines were counted; where nothing is selected the
// first that has lines. Null: none.
const KernelRow* LinedRowOf(Context& context);

// One line: what is launched, and how much of a core it can fill. `made`: its machine code; null:
// it was not made.
std::string KernelFactsText(Context& context, const dump::Kernel& kernel, int32_t number,
                            const debug::MachineCode* made);

}  // namespace hloscope::viewer
