// Tree: leaves, bodies and the ways between them; groups are made by Grouper.
#include "core/graph/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/quick_hash.h"
#include "core/graph/grouper.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;
using hlo::Opcode;

// Which operand of the caller a parameter of the called computation is.
size_t OperandOfParameter(const hlo::Module& module, InstructionId caller,
                          hlo::ComputationId computation, int64_t parameter) {
  if (module[caller].opcode != Opcode::kConditional) return static_cast<size_t>(parameter);
  std::vector<hlo::ComputationId> branches = module.CalledComputations(module[caller]);
  auto branch = std::ranges::find(branches, computation);
  return static_cast<size_t>(branch - branches.begin()) + 1;
}

}  // namespace

Tree::Tree(std::shared_ptr<const hlo::Module> module, hlo::ComputationId computation,
           const TreeOptions& options, std::span<const InstructionId> members)
    : module_(std::move(module)), options_(options), users_(&hlo::UsersOf(*module_)) {
  Node root;
  root.kind = NodeKind::kComputation;
  root.expanded = true;
  root.computation = computation;
  const hlo::Module& m = *module_;
  root.label = m[m[computation].name];
  nodes_.push_back(root);
  for (const hlo::Instruction& i : m.instructions()) {
    bytes_.Get(i.shape, [&] { return std::max<int64_t>(0, m[i.shape].ByteSize().value_or(0)); });
  }
  AddInstance(NodeId(0u), computation, members);
}

bool Tree::CanOpen(NodeId id) const {
  const Node& node = (*this)[id];
  if (node.kind != NodeKind::kInstruction) return true;
  return hlo::HasFlag((*module_)[node.instruction].opcode, hlo::kFlagCalls) &&
         !module_->CalledComputations((*module_)[node.instruction]).empty();
}

bool Tree::IsBody(NodeId id) const {
  const Node& node = (*this)[id];
  return node.kind == NodeKind::kInstruction &&
         hlo::HasTrait((*module_)[node.instruction].opcode, hlo::kTraitRunsBody) && CanOpen(id);
}

void Tree::Expand(NodeId id) {
  if ((*this)[id].expanded || (*this)[id].kind != NodeKind::kInstruction) return;
  nodes_[id.index].expanded = true;
  const InstructionId instruction = (*this)[id].instruction;
  std::vector<hlo::ComputationId> called = module_->CalledComputations((*module_)[instruction]);
  // Branches may share a computation.
  std::vector<hlo::ComputationId> distinct;
  for (hlo::ComputationId c : called) {
    if (std::ranges::find(distinct, c) == distinct.end()) distinct.push_back(c);
  }
  if (distinct.size() == 1) {
    AddInstance(id, distinct[0], {});
    return;
  }
  std::vector<NodeId> frames;
  for (hlo::ComputationId c : distinct) {
    Node frame;
    frame.kind = NodeKind::kComputation;
    frame.expanded = true;
    frame.parent = id;
    frame.depth = static_cast<uint16_t>((*this)[id].depth + 1);
    frame.instruction = instruction;
    frame.computation = c;
    frame.label = (*module_)[(*module_)[c].name];
    frame.key = MixKeys((*this)[id].key, hlo::HashBytes(frame.label));
    frames.push_back(NodeId(nodes_.size()));
    nodes_.push_back(frame);
  }
  SetChildren(id, frames);
  for (size_t k = 0; k < frames.size(); ++k) AddInstance(frames[k], distinct[k], {});
}

void Tree::AddInstance(NodeId owner, hlo::ComputationId id,
                       std::span<const InstructionId> members) {
  const hlo::Module& m = *module_;
  const hlo::Computation& c = m[id];
  const auto first = static_cast<uint32_t>(nodes_.size());
  instance_of_computation_.emplace(id.index, static_cast<uint32_t>(instances_.size()));
  instances_.push_back({owner, id, first});
  std::vector<bool> member(c.instruction_count, members.empty());
  for (InstructionId i : members) {
    const uint32_t k = i.index - c.first_instruction;
    if (i.index >= c.first_instruction && k < c.instruction_count) member[k] = true;
  }
  // In a body the parameters show where values come in; elsewhere they stand at their users.
  const bool root = owner == this->root();
  const bool many = members.empty() && c.instruction_count > options_.fold_limit;
  const auto parameters =
      std::ranges::count(m.instructions(c), Opcode::kParameter, &hlo::Instruction::opcode);
  const bool fold_parameters = root && many && parameters > options_.most_parameters;
  // Groups are few beside their leaves.
  const size_t more = c.instruction_count + c.instruction_count / 16;
  if (nodes_.size() + more > nodes_.capacity())
    nodes_.reserve(std::max(nodes_.size() + more, nodes_.capacity() * 2));
  std::vector<NodeId> leaves;
  leaves.reserve(c.instruction_count);
  for (uint32_t k = 0; k < c.instruction_count; ++k) {
    Node leaf;
    leaf.instruction = InstructionId(c.first_instruction + k);
    leaf.computation = id;
    leaf.key = MixKeys(nodes_[owner.index].key, hlo::HashBytes(m.name(leaf.instruction)));
    const Opcode opcode = m[leaf.instruction].opcode;
    const bool used = !users_->users(leaf.instruction).empty() && c.root != leaf.instruction;
    leaf.folded = used && ((opcode == Opcode::kConstant && (many || !root)) ||
                           (opcode == Opcode::kParameter && fold_parameters));
    if (member[k] && !leaf.folded) leaves.push_back(NodeId(nodes_.size()));
    nodes_.push_back(leaf);
  }
  Grouper(*this, owner, id, leaves).Run();
}

void Tree::SetChildren(NodeId id, std::span<const NodeId> children) {
  nodes_[id.index].first_child = static_cast<uint32_t>(children_.size());
  nodes_[id.index].child_count = static_cast<uint32_t>(children.size());
  children_.insert(children_.end(), children.begin(), children.end());
  for (NodeId child : children) nodes_[child.index].parent = id;
}

std::string_view Tree::Keep(std::string text) { return texts_.emplace_back(std::move(text)); }

const Tree::Instance& Tree::InstanceOf(NodeId leaf) const {
  auto after = std::ranges::upper_bound(instances_, leaf.index, {}, &Instance::first_leaf);
  return *(after - 1);
}

NodeId Tree::LeafIn(const Instance& instance, InstructionId id) const {
  return NodeId(instance.first_leaf + id.index -
                (*module_)[instance.computation].first_instruction);
}

NodeId Tree::Caller(const Instance& instance) const {
  NodeId owner = instance.owner;
  if (owner == root()) return NodeId();
  return (*this)[owner].kind == NodeKind::kComputation ? (*this)[owner].parent : owner;
}

int64_t Tree::Bytes(InstructionId id) const { return bytes_.Known((*module_)[id].shape); }

void Tree::AddSource(NodeId leaf, std::vector<Source>& out) const {
  if (Shown(leaf)) out.push_back({leaf, Bytes((*this)[leaf].instruction)});
}

void Tree::Sources(NodeId leaf, std::vector<Source>& out) const {
  const Instance& instance = InstanceOf(leaf);
  const InstructionId id = (*this)[leaf].instruction;
  for (InstructionId operand : module_->operands(id)) AddSource(LeafIn(instance, operand), out);
  NodeId caller = Caller(instance);
  if (!caller.valid() || (*module_)[id].opcode != Opcode::kParameter || !IsBody(caller)) return;
  const InstructionId call = (*this)[caller].instruction;
  const int64_t number = module_->GetInt((*module_)[id], hlo::AttributeKey::kParameterNumber, -1);
  if (number < 0) return;
  const size_t k = OperandOfParameter(*module_, call, instance.computation, number);
  auto operands = module_->operands(call);
  if (k < operands.size()) AddSource(LeafIn(InstanceOf(caller), operands[k]), out);
}

void Tree::Sinks(NodeId leaf, std::vector<Source>& out) const {
  const int64_t bytes = Bytes((*this)[leaf].instruction);
  // The root of a body is what the caller gives, which may be the root of a body again.
  for (NodeId at = leaf; at.valid();) {
    const Instance& instance = InstanceOf(at);
    const InstructionId id = (*this)[at].instruction;
    for (InstructionId user : users_->users(id)) {
      NodeId other = LeafIn(instance, user);
      if (Shown(other)) out.push_back({other, bytes});
    }
    at = Caller(instance);
    if (!at.valid() || (*module_)[instance.computation].root != id || !IsBody(at)) break;
  }
}

NodeId Tree::Find(InstructionId id) const {
  auto [begin, end] = instance_of_computation_.equal_range((*module_)[id].computation.index);
  NodeId best;
  for (auto at = begin; at != end; ++at) {
    NodeId leaf = LeafIn(instances_[at->second], id);
    if (Shown(leaf)) return leaf;
    best = leaf;
  }
  return best;
}

std::string Tree::Title(NodeId id) const {
  const Node& node = (*this)[id];
  if (node.kind == NodeKind::kInstruction) return std::string(module_->name(node.instruction));
  if (node.kind == NodeKind::kRepeat) return fmt::format("{} ×{}", node.label, node.repeats);
  return std::string(node.label);
}

}  // namespace hloscope::graph
