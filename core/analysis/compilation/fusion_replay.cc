// A step adds the producer's members to the consumer's and renames the consumer; a producer that
// nothing uses is gone.
#include "core/analysis/compilation/fusion_replay.h"

#include <algorithm>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::analysis {
namespace {

using hlo::InstructionId;
using hlo::Opcode;

bool IsFusion(const hlo::Module& m, InstructionId id) { return m[id].opcode == Opcode::kFusion; }

// The opcodes of an instruction, of a fusion those in it; without parameters and constants.
std::multiset<std::string> KindsOf(const hlo::Module& m, InstructionId id) {
  std::multiset<std::string> out;
  auto add = [&](InstructionId part) {
    const Opcode opcode = m[part].opcode;
    if (opcode != Opcode::kParameter && opcode != Opcode::kConstant)
      out.emplace(hlo::ToString(opcode));
  };
  const hlo::ComputationId body =
      IsFusion(m, id) ? m.GetComputation(m[id], hlo::AttributeKey::kCalls) : hlo::ComputationId();
  if (!body.valid()) {
    add(id);
    return out;
  }
  for (uint32_t k = 0; k < m[body].instruction_count; ++k)
    add(InstructionId(m[body].first_instruction + k));
  return out;
}

// By computation: whether it is the body of a fusion.
std::vector<bool> FusionBodies(const hlo::Module& m) {
  std::vector<bool> out(m.computations().size());
  for (const hlo::Call& call : hlo::CallGraphOf(m).calls()) {
    if (IsFusion(m, call.caller)) out[call.callee.index] = true;
  }
  return out;
}

}  // namespace

FusionReplay::FusionReplay(const hlo::Module& before, const std::vector<dump::FusionStep>& steps) {
  const std::vector<bool> bodies = FusionBodies(before);
  std::vector<size_t> node_of(before.instructions().size());
  for (uint32_t k = 0; k < before.instructions().size(); ++k) {
    const InstructionId id(k);
    if (bodies[before[id].computation.index]) continue;
    node_of[k] = nodes_.size();
    Node& node = nodes_.emplace_back();
    node.name = before.name(id);
    node.parts.insert(node.name);
    node.kinds = KindsOf(before, id);
    node.is_root = before[before[id].computation].root == id;
    by_name_.emplace(node.name, node_of[k]);
    if (IsFusion(before, id)) fusions_before_.insert(node.name);
    for (const InstructionId operand : before.operands(id)) {
      if (nodes_[node_of[k]].operands.insert(node_of[operand.index]).second)
        nodes_[node_of[operand.index]].users.insert(node_of[k]);
    }
  }
  for (size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].kind == dump::FusionStep::Kind::kFusion) Apply(steps[k], k);
  }
}

void FusionReplay::Apply(const dump::FusionStep& step, size_t position) {
  const auto from = by_name_.find(step.producer), to = by_name_.find(step.consumer);
  if (from == by_name_.end() || to == by_name_.end() || from->second == to->second) {
    ++lost_;
    return;
  }
  const size_t p = from->second, c = to->second;
  Node& producer = nodes_[p];
  Node& consumer = nodes_[c];
  consumer.parts.insert(producer.parts.begin(), producer.parts.end());
  consumer.kinds.insert(producer.kinds.begin(), producer.kinds.end());
  consumer.steps.insert(consumer.steps.end(), producer.steps.begin(), producer.steps.end());
  consumer.steps.push_back(position);
  std::ranges::sort(consumer.steps);
  const auto repeated = std::ranges::unique(consumer.steps);
  consumer.steps.erase(repeated.begin(), repeated.end());
  consumer.operands.erase(p);
  producer.users.erase(c);
  for (const size_t operand : producer.operands) {
    if (consumer.operands.insert(operand).second) nodes_[operand].users.insert(c);
  }
  if (producer.users.empty() && !producer.is_root) {
    producer.is_gone = true;
    for (const size_t operand : producer.operands) nodes_[operand].users.erase(p);
    by_name_.erase(from);
  }
  if (consumer.name != step.fusion && !step.fusion.empty()) {
    by_name_.erase(consumer.name);
    consumer.name = step.fusion;
    by_name_[consumer.name] = c;
  }
}

const FusionReplay::Node* FusionReplay::Find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &nodes_[at->second];
}

std::vector<const FusionReplay::Node*> FusionReplay::With(std::string_view instruction) const {
  std::vector<const Node*> out;
  for (const Node& node : nodes_) {
    if (!node.is_gone && node.parts.contains(std::string(instruction))) out.push_back(&node);
  }
  return out;
}

FusionReplay::Check FusionReplay::Against(const hlo::Module& after) const {
  Check out;
  std::map<std::string, std::multiset<std::string>> made;
  for (const Node& node : nodes_) {
    if (!node.is_gone && !node.steps.empty()) made.emplace(node.name, node.kinds);
  }
  out.foretold = static_cast<int64_t>(made.size());
  for (uint32_t k = 0; k < after.instructions().size(); ++k) {
    const InstructionId id(k);
    if (!IsFusion(after, id)) continue;
    const std::string name(after.name(id));
    const auto kinds = KindsOf(after, id);
    const auto at = made.find(name);
    if (at == made.end()) {
      const bool of_constants = kinds.size() <= 1;
      if (fusions_before_.contains(name) || of_constants) continue;
      ++out.found;
      out.differing.push_back(name + " is not foretold");
      continue;
    }
    ++out.found;
    if (at->second == kinds) {
      ++out.same;
    } else {
      out.differing.push_back(name + " has other members");
    }
    made.erase(at);
  }
  for (const auto& [name, kinds] : made) out.differing.push_back(name + " was not made");
  return out;
}

}  // namespace hloscope::analysis
