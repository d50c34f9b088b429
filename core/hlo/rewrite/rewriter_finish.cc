// Laying out the edited module anew.
#include <algorithm>
#include <numeric>

#include "core/hlo/rewrite/rewriter.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

enum State : uint8_t { kNew, kOpen, kDone };

// An instruction whose dependencies are being ordered.
struct Visit {
  InstructionId id;
  size_t dependencies_begin;  // in the common list; the last ones are tried first
};

}  // namespace

Status Rewriter::CheckFinished() const {
  for (size_t c = 0; c < members_.size(); ++c) {
    if (computation_removed_[c]) continue;
    InstructionId root = roots_[c];
    if (root.valid() && root.index < nodes_.size() && !nodes_[root.index].removed &&
        nodes_[root.index].computation.index == c) {
      continue;
    }
    return InputError(fmt::format("computation {} has no root after the edits",
                                  builder_.module()[NameOf(ComputationId(c))]));
  }
  for (const Node& node : nodes_) {
    if (node.removed) continue;
    InstructionId user(static_cast<size_t>(&node - nodes_.data()));
    for (uint32_t k = 0; k < node.operand_count; ++k) {
      InstructionId operand = uses_[node.first_use + k].operand;
      const Node& used = nodes_[operand.index];
      if (!used.removed && used.computation == node.computation) continue;
      return InputError(fmt::format("{} uses {}, which was removed or is in another computation",
                                    name(user), name(operand)));
    }
  }
  return {};
}

// Depth-first in file order, so that a computation that needs no reordering keeps its order and a
// new operand comes right before its first user.
Result<std::vector<InstructionId>> Rewriter::Order(ComputationId id,
                                                   std::vector<uint8_t>& state) const {
  state.resize(nodes_.size(), kNew);
  std::vector<InstructionId> order;
  std::vector<Visit> stack;
  std::vector<InstructionId> dependencies;
  auto open = [&](InstructionId next) {
    state[next.index] = kOpen;
    stack.push_back({next, dependencies.size()});
    AppendDependencies(next, dependencies);
    std::reverse(dependencies.begin() + static_cast<ptrdiff_t>(stack.back().dependencies_begin),
                 dependencies.end());
  };
  for (InstructionId member : members_[id.index]) {
    if (nodes_[member.index].removed || state[member.index] != kNew) continue;
    open(member);
    while (!stack.empty()) {
      if (dependencies.size() == stack.back().dependencies_begin) {
        state[stack.back().id.index] = kDone;
        order.push_back(stack.back().id);
        stack.pop_back();
        continue;
      }
      InstructionId next = dependencies.back();
      dependencies.pop_back();
      if (nodes_[next.index].computation != id || state[next.index] == kDone) continue;
      if (state[next.index] == kOpen) {
        return InputError(
            fmt::format("{} depends on itself through {}", name(next), name(stack.back().id)));
      }
      open(next);
    }
  }
  return order;
}

std::pair<uint32_t, bool> Rewriter::PlaceOf(ComputationId id) const {
  const size_t old = original_->computations().size();
  bool is_old = true;
  while (id.index >= old) {
    id = added_computations_[id.index - old].user;
    is_old = false;
  }
  return {(*original_)[id].first_instruction, is_old};
}

// The attributes with the ids of the new module; lists that change are made anew.
std::vector<Attribute> Rewriter::MapAttributes(InstructionId id, const RewriteResult& result) {
  std::vector<Attribute> mapped;
  for (Attribute a : attributes(id)) {
    ValueKind kind = Info(a.key).kind;
    if (kind == ValueKind::kComputation && a.value < new_computation_.size()) {
      a.value = new_computation_[a.value].index;
    } else if (kind == ValueKind::kComputations) {
      std::span<const uint32_t> ids = builder_.module().IdsOf(a);
      std::vector<uint32_t> list(ids.begin(), ids.end());
      for (uint32_t& c : list) c = c < new_computation_.size() ? new_computation_[c].index : c;
      a = builder_.MakeIds(a.key, list);
    } else if (kind == ValueKind::kInstructions) {
      std::span<const uint32_t> ids = builder_.module().IdsOf(a);
      std::vector<uint32_t> list;
      for (uint32_t i : ids) {
        if (i < result.new_id.size() && result.new_id[i].valid()) {
          list.push_back(result.new_id[i].index);
        }
      }
      if (list.empty() && !ids.empty()) continue;
      a = builder_.MakeIds(a.key, list);
    }
    mapped.push_back(a);
  }
  return mapped;
}

void Rewriter::Emit(ComputationId id, std::span<const InstructionId> order, RewriteResult& result) {
  size_t old_count = original_->instructions().size();
  builder_.BeginComputation(new_computation_[id.index]);
  size_t next = builder_.NextInstruction().index;
  for (InstructionId old : order) result.new_id[old.index] = InstructionId(next++);
  for (InstructionId old : order) {
    std::vector<InstructionId> new_operands = operands(old);
    for (InstructionId& operand : new_operands) operand = result.new_id[operand.index];
    std::vector<Attribute> attributes = MapAttributes(old, result);
    if (old.index < old_count) {
      const Instruction& i = (*original_)[old];
      builder_.AddInstruction(i.name, i.opcode, i.shape, new_operands, attributes,
                              original_->source_offset(old));
    } else {
      const Added& a = added_[old.index - old_count];
      builder_.AddInstruction(a.name, a.opcode, a.shape, new_operands, attributes);
    }
  }
  const bool keeps_thread = !drops_threads_ && id.index < original_->computations().size();
  const StringId thread = keeps_thread ? (*original_)[id].execution_thread : StringId();
  builder_.EndComputation(result.new_id[roots_[id.index].index], thread);
}

// Ids and unknown fields of the proto the module was read from.
void Rewriter::CarryOver(const RewriteResult& result) {
  std::span<const int64_t> instruction_ids = original_->proto_instruction_ids();
  std::span<const int64_t> computation_ids = original_->proto_computation_ids();
  if (added_.empty()) {
    for (size_t i = 0; i < instruction_ids.size() && i < result.new_id.size(); ++i) {
      if (result.new_id[i].valid()) builder_.SetProtoId(result.new_id[i], instruction_ids[i]);
    }
    for (size_t c = 0; c < computation_ids.size() && c < new_computation_.size(); ++c) {
      if (new_computation_[c].valid()) builder_.SetProtoId(new_computation_[c], computation_ids[c]);
    }
  }
  for (const UnknownFields& fields : original_->unknown_fields()) {
    uint32_t index = fields.index;
    if (fields.kind == MessageKind::kInstruction) {
      index = index < result.new_id.size() ? result.new_id[index].index : kNone;
    } else if (fields.kind == MessageKind::kComputation) {
      index = index < new_computation_.size() ? new_computation_[index].index : kNone;
    }
    if (index != kNone) builder_.AddUnknownFields(fields.kind, index, fields.bytes);
  }
}

Result<RewriteResult> Rewriter::Finish() {
  HLOSCOPE_TRY(CheckFinished());
  RewriteResult result;
  result.new_id.resize(nodes_.size());
  std::vector<uint32_t> by_place;
  new_computation_.assign(members_.size(), ComputationId());
  for (uint32_t c = 0; c < members_.size(); ++c) {
    if (computation_removed_[c]) continue;
    new_computation_[c] = builder_.DeclareComputation(NameOf(ComputationId(c)));
    by_place.push_back(c);
  }
  std::ranges::stable_sort(by_place, {}, [&](uint32_t c) { return PlaceOf(ComputationId(c)); });
  builder_.Reserve(nodes_.size());
  std::vector<uint8_t> state(nodes_.size(), kNew);
  for (uint32_t c : by_place) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::vector<InstructionId> order, Order(ComputationId(c), state));
    Emit(ComputationId(c), order, result);
  }
  builder_.SetEntry(new_computation_[original_->entry_id().index]);
  CarryOver(result);
  result.module = builder_.Build();
  return result;
}

}  // namespace hloscope::hlo
