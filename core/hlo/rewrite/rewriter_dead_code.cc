// Removing what no result depends on.
#include <algorithm>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::hlo {

bool Rewriter::HasEffect(InstructionId id, const std::vector<bool>& with_effects) const {
  return HasOwnEffect(opcode(id), attributes(id)) ||
         std::ranges::any_of(CallsOf(id), [&](ComputationId c) { return with_effects[c.index]; });
}

// Computations that have an effect themselves or through what they call, as edited so far.
std::vector<bool> Rewriter::ComputationsWithEffects() const {
  std::vector<bool> with_effects(members_.size(), false);
  std::vector<Call> calls;
  for (uint32_t c = 0; c < members_.size(); ++c) {
    for (InstructionId id : members_[c]) {
      if (nodes_[id.index].removed) continue;
      if (HasOwnEffect(opcode(id), attributes(id))) with_effects[c] = true;
      for (ComputationId callee : CallsOf(id)) calls.push_back({id, ComputationId(c), callee});
    }
  }
  return WithCallers(calls, std::move(with_effects));
}

void Rewriter::RemoveDeadIn(ComputationId id, const std::vector<bool>& with_effects,
                            std::vector<bool>& live) {
  const std::vector<InstructionId>& members = members_[id.index];
  std::vector<InstructionId> open;
  for (InstructionId member : members) {
    if (nodes_[member.index].removed) continue;
    bool keep = member == roots_[id.index] || opcode(member) == Opcode::kParameter ||
                HasEffect(member, with_effects);
    if (keep) open.push_back(member);
  }
  while (!open.empty()) {
    InstructionId next = open.back();
    open.pop_back();
    if (live[next.index]) continue;
    live[next.index] = true;
    AppendDependencies(next, open);
  }
  for (InstructionId member : members) {
    if (!live[member.index]) Remove(member);
  }
}

std::vector<bool> Rewriter::ReachableComputations() const {
  std::vector<bool> reached(members_.size(), false);
  std::vector<ComputationId> open = {original_->entry_id()};
  while (!open.empty()) {
    ComputationId next = open.back();
    open.pop_back();
    if (!next.valid() || reached[next.index]) continue;
    reached[next.index] = true;
    for (InstructionId id : members_[next.index]) {
      if (nodes_[id.index].removed) continue;
      for (ComputationId called : CallsOf(id)) open.push_back(called);
    }
  }
  return reached;
}

void Rewriter::RemoveDeadCode() {
  std::vector<bool> with_effects = ComputationsWithEffects();
  std::vector<bool> live(nodes_.size(), false);
  for (uint32_t c = 0; c < members_.size(); ++c) RemoveDeadIn(ComputationId(c), with_effects, live);
  std::vector<bool> reached = ReachableComputations();
  for (uint32_t c = 0; c < members_.size(); ++c) {
    if (reached[c]) continue;
    computation_removed_[c] = true;
    for (InstructionId id : members_[c]) Remove(id);
  }
}

}  // namespace hloscope::hlo
