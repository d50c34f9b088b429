#include "core/hlo/rewrite/rewriter.h"

#include <algorithm>

namespace hloscope::hlo {

Rewriter::Rewriter(std::shared_ptr<const Module> module)
    : original_(std::move(module)), builder_(*original_) {
  const Module& m = *original_;
  nodes_.reserve(m.instructions().size());
  members_.resize(m.computations().size());
  computation_removed_.resize(m.computations().size(), false);
  // Uses are linked after all nodes are there: an operand may come later in a file that is wrong.
  for (const Instruction& i : m.instructions()) {
    Node node{.first_use = static_cast<uint32_t>(uses_.size()),
              .operand_count = i.operand_count,
              .computation = i.computation};
    for (InstructionId operand : m.operands(i)) {
      uses_.push_back({.user = InstructionId(nodes_.size()), .operand = operand});
    }
    nodes_.push_back(node);
  }
  for (uint32_t use = 0; use < uses_.size(); ++use) Link(use);
  for (uint32_t c = 0; c < m.computations().size(); ++c) {
    const Computation& computation = m.computations()[c];
    roots_.push_back(computation.root);
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      members_[c].push_back(InstructionId(computation.first_instruction + k));
    }
  }
}

std::vector<InstructionId> Rewriter::users(InstructionId id) const {
  std::vector<InstructionId> users;
  for (uint32_t use = nodes_[id.index].head; use != kNone; use = uses_[use].next) {
    users.push_back(uses_[use].user);
  }
  return users;
}

std::vector<InstructionId> Rewriter::operands(InstructionId id) const {
  const Node& node = nodes_[id.index];
  std::vector<InstructionId> operands;
  operands.reserve(node.operand_count);
  for (uint32_t k = 0; k < node.operand_count; ++k) {
    operands.push_back(uses_[node.first_use + k].operand);
  }
  return operands;
}

void Rewriter::Link(uint32_t use) {
  Node& node = nodes_[uses_[use].operand.index];
  uses_[use].next = kNone;
  uses_[use].previous = node.tail;
  (node.tail == kNone ? node.head : uses_[node.tail].next) = use;
  node.tail = use;
}

void Rewriter::Unlink(uint32_t use) {
  Node& node = nodes_[uses_[use].operand.index];
  auto [next, previous] = std::pair(uses_[use].next, uses_[use].previous);
  (previous == kNone ? node.head : uses_[previous].next) = next;
  (next == kNone ? node.tail : uses_[next].previous) = previous;
}

InstructionId Rewriter::Add(ComputationId computation, std::string_view name, Opcode opcode,
                            Shape shape, std::span<const InstructionId> operands,
                            std::span<const Attribute> attributes) {
  InstructionId id(nodes_.size());
  nodes_.push_back({.first_use = static_cast<uint32_t>(uses_.size()),
                    .operand_count = static_cast<uint32_t>(operands.size()),
                    .computation = computation});
  for (InstructionId operand : operands) {
    uses_.push_back({.user = id, .operand = operand});
    Link(static_cast<uint32_t>(uses_.size() - 1));
  }
  added_.push_back({.name = builder_.Intern(name),
                    .opcode = opcode,
                    .shape = builder_.InternShape(std::move(shape)),
                    .attributes = {attributes.begin(), attributes.end()}});
  members_[computation.index].push_back(id);
  return id;
}

void Rewriter::SetOperand(InstructionId user, uint32_t slot, InstructionId operand) {
  uint32_t use = nodes_[user.index].first_use + slot;
  Unlink(use);
  uses_[use].operand = operand;
  Link(use);
}

void Rewriter::ReplaceAllUses(InstructionId from, InstructionId to) {
  if (from == to) return;
  for (uint32_t use = nodes_[from.index].head; use != kNone;) {
    uint32_t next = uses_[use].next;
    if (uses_[use].user != to) {
      Unlink(use);
      uses_[use].operand = to;
      Link(use);
    }
    use = next;
  }
  InstructionId& root = roots_[nodes_[from.index].computation.index];
  if (root == from) root = to;
}

void Rewriter::Remove(InstructionId id) {
  Node& node = nodes_[id.index];
  if (node.removed) return;
  node.removed = true;
  for (uint32_t k = 0; k < node.operand_count; ++k) Unlink(node.first_use + k);
}

Opcode Rewriter::opcode(InstructionId id) const {
  size_t old = original_->instructions().size();
  return id.index < old ? (*original_)[id].opcode : added_[id.index - old].opcode;
}

std::span<const Attribute> Rewriter::attributes(InstructionId id) const {
  size_t old = original_->instructions().size();
  if (id.index < old) return original_->attributes((*original_)[id]);
  return added_[id.index - old].attributes;
}

std::string_view Rewriter::name(InstructionId id) const {
  size_t old = original_->instructions().size();
  if (id.index < old) return original_->name(id);
  return builder_.module()[added_[id.index - old].name];
}

const Shape& Rewriter::shape(InstructionId id) const { return builder_.module()[shape_id(id)]; }

ShapeId Rewriter::shape_id(InstructionId id) const {
  const size_t old = original_->instructions().size();
  return id.index < old ? (*original_)[id].shape : added_[id.index - old].shape;
}

ComputationId Rewriter::AddComputation(std::string_view name, ComputationId user) {
  added_computations_.push_back({builder_.Intern(name), user});
  members_.emplace_back();
  roots_.emplace_back();
  computation_removed_.push_back(false);
  return ComputationId(members_.size() - 1);
}

StringId Rewriter::NameOf(ComputationId id) const {
  const size_t old = original_->computations().size();
  return id.index < old ? (*original_)[id].name : added_computations_[id.index - old].name;
}

std::span<const uint32_t> Rewriter::ControlPredecessorsOf(InstructionId id) const {
  for (const Attribute& a : attributes(id)) {
    if (a.key == AttributeKey::kControlPredecessors) return builder_.module().IdsOf(a);
  }
  return {};
}

std::vector<ComputationId> Rewriter::CallsOf(InstructionId id) const {
  std::vector<ComputationId> calls;
  for (const Attribute& a : attributes(id)) {
    if (Info(a.key).kind == ValueKind::kComputation) calls.push_back(ComputationId(a.value));
    if (Info(a.key).kind != ValueKind::kComputations) continue;
    for (uint32_t c : builder_.module().IdsOf(a)) calls.push_back(ComputationId(c));
  }
  std::erase_if(calls, [&](ComputationId c) { return c.index >= members_.size(); });
  return calls;
}

void Rewriter::AppendDependencies(InstructionId id, std::vector<InstructionId>& to) const {
  const Node& node = nodes_[id.index];
  for (uint32_t k = 0; k < node.operand_count; ++k) to.push_back(uses_[node.first_use + k].operand);
  for (uint32_t before : ControlPredecessorsOf(id)) {
    if (before < nodes_.size() && !nodes_[before].removed) to.push_back(InstructionId(before));
  }
}

}  // namespace hloscope::hlo
