// Reductions of the entry to a window of its program: without what comes behind the failure, and
// what comes before it; and of its results.
#include <algorithm>
#include <vector>

#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/reductions.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Opcode;

bool CanBeResult(const hlo::Shape& shape) { return shape.IsArray() || shape.IsTuple(); }

// Instructions of the entry that make something: not its parameters, constants and result tuple.
std::vector<InstructionId> StepsOf(const hlo::Module& module) {
  std::vector<InstructionId> steps;
  for (uint32_t i = 0; i < module.entry().instruction_count; ++i) {
    const InstructionId id(module.entry().first_instruction + i);
    const Opcode opcode = module[id].opcode;
    const bool is_root_tuple = id == module.entry().root && opcode == Opcode::kTuple;
    if (opcode == Opcode::kParameter || opcode == Opcode::kConstant || is_root_tuple) continue;
    steps.push_back(id);
  }
  return steps;
}

// The first `count` steps, giving every value of theirs that something behind them or the result
// takes.
std::optional<Candidate> Prefix(const Candidate& from, const std::vector<InstructionId>& steps,
                                size_t count) {
  const hlo::Module& module = *from.module;
  const uint32_t end = steps[count - 1].index + 1;
  std::vector<bool> wanted(module.instructions().size(), false);
  wanted[module.entry().root.index] = true;
  for (uint32_t i = end; i < module.entry().first_instruction + module.entry().instruction_count;
       ++i) {
    for (const InstructionId operand : module.operands(InstructionId(i))) {
      wanted[operand.index] = true;
    }
  }
  std::vector<InstructionId> results;
  for (size_t i = 0; i < count; ++i) {
    const InstructionId id = steps[i];
    if (wanted[id.index] && CanBeResult(module.shape(id))) results.push_back(id);
  }
  if (results.empty()) return std::nullopt;
  Edit edit(from);
  edit.SetResults(results);
  // What has an effect stays only where it comes before.
  for (uint32_t i = end; i < module.entry().first_instruction + module.entry().instruction_count;
       ++i) {
    edit.rewriter().Remove(InstructionId(i));
  }
  return edit.Finish();
}

// Without the first `count` steps: what is left takes their values as parameters.
std::optional<Candidate> Suffix(Search& search, const Candidate& from,
                                const std::vector<InstructionId>& steps, size_t count) {
  Edit edit(from);
  std::vector<InstructionId> taken;
  for (size_t i = 0; i < count; ++i) {
    const bool is_taken =
        std::ranges::any_of(edit.rewriter().users(steps[i]),
                            [&](InstructionId user) { return user.index >= steps[count].index; });
    if (is_taken && CanBeResult(from.module->shape(steps[i]))) taken.push_back(steps[i]);
  }
  const KnownValues values = search.ValuesOf(from, taken);
  for (const InstructionId id : taken) {
    const auto known = values.find(id.index);
    edit.ToParameter(id, known == values.end() ? nullptr : &known->second);
  }
  return edit.Finish();
}

// The candidate of the least number of steps between 1 and `most` that still fails, as far as a
// search in thirds finds it. `make` makes the one of so many steps.
void FindLeast(Search& search, size_t most,
               const std::function<std::optional<Candidate>(size_t)>& make) {
  size_t low = 0;  // fails no more, or is none
  while (most - low > 1 && !search.stopped()) {
    const size_t third = std::max<size_t>((most - low) / 3, 1);
    const size_t low_middle = low + third;
    const size_t high_middle = std::min(low + 2 * third, most - 1);
    const size_t choices = high_middle > low_middle ? 2 : 1;
    const auto taken =
        search.First(choices, [&](size_t i) { return make(i == 0 ? low_middle : high_middle); });
    const size_t old_most = most;
    if (taken) most = *taken == 0 ? low_middle : high_middle;
    if (!taken) low = choices == 2 ? high_middle : low_middle;
    if (taken && *taken == 1) low = low_middle;
    if (most == old_most && taken) return;
  }
}

}  // namespace

void CutBehind(Search& search) {
  const Candidate from = search.best();
  const std::vector<InstructionId> steps = StepsOf(*from.module);
  FindLeast(search, steps.size(), [&](size_t count) { return Prefix(from, steps, count); });
}

void CutBefore(Search& search) {
  const Candidate from = search.best();
  const std::vector<InstructionId> steps = StepsOf(*from.module);
  if (steps.empty()) return;
  FindLeast(search, steps.size(),
            [&](size_t count) { return Suffix(search, from, steps, steps.size() - count); });
}

void DropResults(Search& search) {
  const auto results_of = [](const Candidate& candidate) {
    const hlo::Module& module = *candidate.module;
    const InstructionId root = module.entry().root;
    if (module[root].opcode != Opcode::kTuple) return std::vector<InstructionId>{};
    const auto operands = module.operands(root);
    return std::vector<InstructionId>(operands.begin(), operands.end());
  };
  search.RemoveChunks(
      [&](const Candidate& c) { return results_of(c).size(); },
      [&](const Candidate& c, size_t begin, size_t end) -> std::optional<Candidate> {
        std::vector<InstructionId> kept = results_of(c);
        kept.erase(kept.begin() + static_cast<ptrdiff_t>(begin),
                   kept.begin() + static_cast<ptrdiff_t>(end));
        if (kept.empty()) return std::nullopt;
        Edit edit(c);
        edit.SetResults(kept);
        return edit.Finish();
      });
}

}  // namespace hloscope::debug
