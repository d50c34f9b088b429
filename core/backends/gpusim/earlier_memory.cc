// Marks along the launches, and all that lies between two of them at a time.
#include "core/backends/gpusim/earlier_memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hloscope::replay {

EarlierMemory::EarlierMemory(CaseMemory first, uint64_t launches, Launch launch,
                             uint64_t most_bytes)
    : launch_(std::move(launch)) {
  uint64_t bytes = 1;
  for (const auto& region : first) bytes += region.size();
  const uint64_t copies = std::max<uint64_t>(2, most_bytes / bytes);
  const auto root = static_cast<uint64_t>(std::ceil(std::sqrt(static_cast<double>(launches))));
  stride_ = std::max<uint64_t>({1, root, 2 * launches / copies});
  window_ = std::min(stride_, copies / 2);
  marks_.push_back(std::move(first));
}

Result<const CaseMemory*> EarlierMemory::Before(uint64_t launch) {
  if (launch < first_ || launch >= first_ + states_.size()) {
    uint64_t at = std::min<uint64_t>(launch / stride_, marks_.size() - 1) * stride_;
    CaseMemory memory = marks_[at / stride_];
    first_ = std::max(at, launch + 1 - std::min(window_, launch + 1));
    states_.clear();
    for (;; ++at) {
      if (at == marks_.size() * stride_) marks_.push_back(memory);
      if (at >= first_) states_.push_back(memory);
      if (at == launch) break;
      HLOSCOPE_TRY(launch_(at, memory));
    }
  }
  return &states_[launch - first_];
}

}  // namespace hloscope::replay
