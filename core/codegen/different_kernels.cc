// Equal kernels by their keys.
#include "core/codegen/different_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/codegen/effort.h"

namespace hloscope::codegen {

using compile::Effort;
using hlo::InstructionId;

DifferentKernels FindDifferent(const hlo::Module& module, std::span<const InstructionId> kernels,
                               std::optional<Effort> effort, const Overwritten& overwritten) {
  DifferentKernels out;
  std::unordered_map<std::string, size_t> by_key;
  std::vector<std::pair<InstructionId, Effort>> found;
  for (const InstructionId id : kernels) {
    const Kernel kernel(module, id, overwritten);
    const auto [at, is_new] = by_key.emplace(KeyOf(kernel), found.size());
    const Effort own = effort.value_or(EffortFor(kernel));
    if (is_new) found.emplace_back(id, own);
    found[at->second].second = std::max(found[at->second].second, own);
    out.use.push_back(at->second);
  }
  std::vector<size_t> place(found.size());
  for (const Effort each : {Effort::kLeast, Effort::kUsual}) {
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].second != each) continue;
      place[i] = out.kernels.size();
      out.kernels.push_back(found[i].first);
    }
    if (each == Effort::kLeast) out.least_effort = out.kernels.size();
  }
  for (size_t& use : out.use) use = place[use];
  return out;
}

std::string SymbolName(const hlo::Module& module, InstructionId id, size_t number) {
  std::string name = fmt::format("k{}_{}", number, module.name(id));
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) c = '_';
  }
  return name;
}

}  // namespace hloscope::codegen
