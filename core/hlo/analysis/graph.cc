// Breadth-first walks over operands and users.
#include "core/hlo/analysis/graph.h"

#include <algorithm>
#include <numeric>

#include "core/hlo/analysis/users.h"

namespace hloscope::hlo {
namespace {

std::vector<InstructionId> Range(uint32_t first, uint32_t count) {
  std::vector<InstructionId> ids(count);
  for (uint32_t k = 0; k < count; ++k) ids[k] = InstructionId(first + k);
  return ids;
}

std::vector<InstructionId> Marked(const std::vector<bool>& marks) {
  std::vector<InstructionId> ids;
  for (uint32_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) ids.push_back(InstructionId(i));
  }
  return ids;
}

}  // namespace

std::vector<InstructionId> AllInstructions(const Module& module) {
  return Range(0, static_cast<uint32_t>(module.instructions().size()));
}

std::vector<InstructionId> InstructionsOf(const Module& module, ComputationId computation) {
  const Computation& c = module[computation];
  return Range(c.first_instruction, c.instruction_count);
}

std::vector<InstructionId> Neighbourhood(const Module& module,
                                         std::span<const InstructionId> centers, int64_t radius) {
  const UserIndex& users = UsersOf(module);
  std::vector<bool> seen(module.instructions().size());
  std::vector<InstructionId> frontier(centers.begin(), centers.end()), next;
  for (InstructionId id : centers) seen[id.index] = true;
  for (int64_t step = 0; step < radius && !frontier.empty(); ++step) {
    next.clear();
    auto reach = [&](InstructionId id) {
      if (seen[id.index]) return;
      seen[id.index] = true;
      next.push_back(id);
    };
    for (InstructionId id : frontier) {
      for (InstructionId operand : module.operands(id)) reach(operand);
      for (InstructionId user : users.users(id)) reach(user);
    }
    frontier.swap(next);
  }
  return Marked(seen);
}

std::vector<InstructionId> Between(const Module& module, InstructionId from, InstructionId to) {
  // Operands precede their users, so one pass forward and one backward over the range are enough.
  size_t n = module.instructions().size();
  std::vector<bool> below(n), on_path(n);
  below[from.index] = true;
  for (uint32_t i = from.index + 1; i <= to.index && i < n; ++i) {
    auto operands = module.operands(InstructionId(i));
    below[i] = std::ranges::any_of(operands, [&](InstructionId o) { return below[o.index]; });
  }
  if (!below[to.index]) return {};
  on_path[to.index] = true;
  for (uint32_t i = to.index; i > from.index; --i) {
    if (!on_path[i]) continue;
    for (InstructionId o : module.operands(InstructionId(i))) on_path[o.index] = below[o.index];
  }
  return Marked(on_path);
}

}  // namespace hloscope::hlo
