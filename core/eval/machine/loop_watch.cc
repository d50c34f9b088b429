// LoopWatch: comparing a loop's state with one remembered at a power of two.
#include "core/eval/machine/loop_watch.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/eval/machine/repeatable.h"

namespace hloscope::eval {

using runtime::Value;
namespace {

// Marks the elements of the state that the values `pending` of a computation depend on; false if
// one depends on the state as a whole.
bool MarkReads(const hlo::Module& module, hlo::ComputationId id,
               std::vector<hlo::InstructionId> pending, std::vector<bool>& reads) {
  std::vector<bool> seen(module[id].instruction_count, false);
  while (!pending.empty()) {
    const hlo::InstructionId at = pending.back();
    pending.pop_back();
    if (seen[at.index - module[id].first_instruction]) continue;
    seen[at.index - module[id].first_instruction] = true;
    const hlo::Instruction& instruction = module[at];
    if (instruction.opcode == hlo::Opcode::kParameter) return false;
    const auto operands = module.operands(at);
    if (instruction.opcode == hlo::Opcode::kGetTupleElement &&
        module[operands[0]].opcode == hlo::Opcode::kParameter) {
      reads[static_cast<size_t>(module.GetInt(instruction, hlo::AttributeKey::kIndex))] = true;
      continue;
    }
    pending.insert(pending.end(), operands.begin(), operands.end());
  }
  return true;
}

bool SameArray(const Value& a, const Value& b) {
  const auto x = a.literal().bytes(), y = b.literal().bytes();
  if (x.size() != y.size() ||
      a.literal().dynamic_sizes().size() != b.literal().dynamic_sizes().size())
    return false;
  return std::ranges::equal(a.literal().dynamic_sizes(), b.literal().dynamic_sizes()) &&
         (x.data() == y.data() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

// Missing parts count as different: what they are is not known.
bool Same(const Value& a, const Value& b) {
  std::vector<std::pair<const Value*, const Value*>> pending = {{&a, &b}};
  while (!pending.empty()) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    if (x->is_array() && y->is_array()) {
      if (!SameArray(*x, *y)) return false;
    } else if (x->is_tuple() && y->is_tuple() && x->elements().size() == y->elements().size()) {
      for (size_t i = x->elements().size(); i-- > 0;) {
        pending.emplace_back(&x->elements()[i], &y->elements()[i]);
      }
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<size_t>> DecidingElements(const hlo::Module& module,
                                                    hlo::ComputationId condition,
                                                    hlo::ComputationId body) {
  const hlo::InstructionId root = module[body].root;
  std::vector<bool> deciding(module.shape(root).elements().size(), false);
  if (!MarkReads(module, condition, {module[condition].root}, deciding)) return std::nullopt;
  for (std::vector<bool> known; known != deciding;) {
    known = deciding;
    const auto made = module.operands(root);
    if (module[root].opcode != hlo::Opcode::kTuple) {
      if (std::ranges::find(known, true) != known.end()) return std::nullopt;
      break;
    }
    std::vector<hlo::InstructionId> wanted;
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i]) wanted.push_back(made[i]);
    }
    if (!MarkReads(module, body, std::move(wanted), deciding)) return std::nullopt;
  }
  std::vector<size_t> elements;
  for (size_t i = 0; i < deciding.size(); ++i) {
    if (deciding[i]) elements.push_back(i);
  }
  return elements;
}

LoopWatch::LoopWatch(const hlo::Module& module, hlo::ComputationId condition,
                     hlo::ComputationId body)
    : module_(module), condition_(condition), body_(body) {}

std::optional<int64_t> LoopWatch::CameRound(int64_t iteration, const Value& state) {
  // Short loops need no watching, and what is remembered is not freed.
  constexpr int64_t kFirst = 1024;
  if (iteration < kFirst) return std::nullopt;
  if (iteration == kFirst) {
    const Repeatable repeatable(module_);
    repeatable_ = repeatable.Is(condition_) && repeatable.Is(body_);
    if (repeatable_) deciding_ = DecidingElements(module_, condition_, body_);
  }
  if (!repeatable_) return std::nullopt;
  const Value now = Deciding(state);
  if (remembered_at_ >= 0 && Same(remembered_, now)) return remembered_at_;
  if ((iteration & (iteration - 1)) == 0) {
    remembered_ = now;
    remembered_at_ = iteration;
  }
  return std::nullopt;
}

Value LoopWatch::Deciding(const Value& state) const {
  if (!deciding_) return state;
  std::vector<Value> elements;
  for (const size_t i : *deciding_) elements.push_back(state.elements()[i]);
  return Value::Tuple(std::move(elements));
}

}  // namespace hloscope::eval
