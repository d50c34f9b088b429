// The columns of the table of kernels, after instruction and opcode.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "viewer/facts/kernel_sheet.h"

namespace hloscope::viewer {

// A column: its title, width in logical pixels, text and order.
struct KernelColumn {
  const char* title;
  float width;
  bool is_number;
  std::function<std::string(const KernelSheet&, const KernelRow&)> text;
  std::function<double(const KernelRow&)> order;  // none: by text
  const char* help;
  bool is_hidden = false;  // until it is chosen from the menu of the heads
};

// Those for what the sheet has: times, the same in two profiles, figures of a simulated device,
// work, launches. `swapped`: the second profile is the one before. They live as long as the
// program.
std::vector<const KernelColumn*> KernelColumnsOf(const KernelSheet& sheet, bool swapped);
// Whether it is work by shapes, which is all there is where nothing was measured.
bool IsWorkColumn(const KernelColumn* column);

}  // namespace hloscope::viewer
