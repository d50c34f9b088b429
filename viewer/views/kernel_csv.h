// The table of kernels as CSV: plain numbers in the units that the heads name.
#pragma once

#include <string>

#include "viewer/facts/kernel_sheet.h"

namespace hloscope::viewer {

// `swapped`: the second profile is the one before.
std::string KernelCsv(const KernelSheet& sheet, bool swapped);

}  // namespace hloscope::viewer
