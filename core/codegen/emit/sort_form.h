// SortForm: a sort's comparator as the comparison of keys, one after the other.
#pragma once

#include <optional>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::codegen {

// A value that elements are ordered by.
struct SortKey {
  // In the comparator: computed from the parameters of the element on the left alone. The one on
  // the right is put through the same.
  hlo::InstructionId value;
  bool is_descending = false;
  bool is_total_order = false;  // of floats: by their bits; otherwise -0 is 0 and NaN unordered
};

// The keys that the comparator of `sort` compares; of equal first ones the second, and so on.
// Nullopt where it does something else, or where its answer on NaN follows from no order.
std::optional<std::vector<SortKey>> SortFormOf(const hlo::Module& module, hlo::InstructionId sort);

}  // namespace hloscope::codegen
