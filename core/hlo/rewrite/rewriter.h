// Rewriter: the one way to change a module. Edits are collected beside the original; Finish() makes
// the new module and says where every old instruction went, which is exact provenance.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module_builder.h"

namespace hloscope::hlo {

struct RewriteResult {
  std::shared_ptr<const Module> module;
  std::vector<InstructionId> new_id;  // by old id, then by order of Add; invalid where removed
};

// Every edit takes constant time, or time linear in the uses it changes.
class Rewriter {
 public:
  explicit Rewriter(std::shared_ptr<const Module> module);

  // As edited so far: the user of every use (twice for add(x, x)), in order; operands; the root.
  std::vector<InstructionId> users(InstructionId id) const;
  std::vector<InstructionId> operands(InstructionId id) const;
  InstructionId root(ComputationId id) const { return roots_[id.index]; }
  bool removed(InstructionId id) const { return nodes_[id.index].removed; }
  uint32_t operand_count(InstructionId id) const { return nodes_[id.index].operand_count; }
  InstructionId operand(InstructionId id, size_t slot) const {
    return uses_[nodes_[id.index].first_use + slot].operand;
  }
  bool has_users(InstructionId id) const { return nodes_[id.index].head != kNone; }
  ComputationId computation(InstructionId id) const { return nodes_[id.index].computation; }
  // Those of a computation, removed ones too; added ones come last.
  std::span<const InstructionId> members(ComputationId id) const { return members_[id.index]; }
  size_t computation_count() const { return members_.size(); }
  size_t instruction_count() const { return nodes_.size(); }  // removed ones counted
  // Of old and added instructions; their values are in builder().module(). References hold until
  // the next edit.
  Opcode opcode(InstructionId id) const;
  const Shape& shape(InstructionId id) const;
  ShapeId shape_id(InstructionId id) const;
  std::span<const Attribute> attributes(InstructionId id) const;
  std::string_view name(InstructionId id) const;
  // The instructions of a computation that are left, operands and control predecessors first, in
  // file order where free. An input error where they form a cycle. `state` starts empty and may
  // serve many computations, each of them once.
  Result<std::vector<InstructionId>> Order(ComputationId id, std::vector<uint8_t>& state) const;

  // A new instruction at the end of `computation`; its id may be used in later edits. The shape is
  // interned.
  InstructionId Add(ComputationId computation, std::string_view name, Opcode opcode, Shape shape,
                    std::span<const InstructionId> operands,
                    std::span<const Attribute> attributes = {});
  // A new computation, to be filled by Add and SetRoot; it comes before `user`, which will call it.
  ComputationId AddComputation(std::string_view name, ComputationId user);
  // Attribute and string factory of the new module; attributes of old instructions stay valid in
  // it.
  ModuleBuilder& builder() { return builder_; }
  void SetOperand(InstructionId user, uint32_t slot, InstructionId operand);
  // Every use of `from` (and a root) becomes `to`; only uses by `to` itself stay, so that `to` may
  // be made of `from`.
  void ReplaceAllUses(InstructionId from, InstructionId to);
  void SetRoot(ComputationId computation, InstructionId root) { roots_[computation.index] = root; }
  // Drops an instruction; it must have no users left and not be a root when Finish() runs.
  void Remove(InstructionId id);
  // Drops every computation the entry does not reach any more, and in the others everything no root
  // depends on, except parameters and side effects.
  void RemoveDeadCode();
  // All computations of the new module run on the main thread.
  void DropThreads() { drops_threads_ = true; }

  // Compacts, orders every computation topologically (operands and control predecessors first,
  // keeping file order where free) and returns the new module; the rewriter is empty afterwards. A
  // cycle, a removed instruction in use or a computation without root is an input error. Control
  // predecessors that were removed are dropped. Ids of protos are kept if nothing was added.
  Result<RewriteResult> Finish();

 private:
  static constexpr uint32_t kNone = 0xffffffffu;

  // One operand slot, linked with the other uses of the same operand.
  struct Use {
    InstructionId user;
    InstructionId operand;
    uint32_t next = kNone;
    uint32_t previous = kNone;
  };
  struct Node {
    uint32_t first_use = 0;  // its operand slots are consecutive in uses_
    uint32_t operand_count = 0;
    uint32_t head = kNone;  // uses of its value
    uint32_t tail = kNone;
    ComputationId computation;
    bool removed = false;
  };
  struct Added {
    StringId name;
    Opcode opcode;
    ShapeId shape;
    std::vector<Attribute> attributes;
  };

  struct AddedComputation {
    StringId name;
    ComputationId user;
  };

  void Link(uint32_t use);
  void Unlink(uint32_t use);
  StringId NameOf(ComputationId id) const;
  // Where a computation stands in the new module: behind all of smaller places.
  std::pair<uint32_t, bool> PlaceOf(ComputationId id) const;
  std::span<const uint32_t> ControlPredecessorsOf(InstructionId id) const;
  std::vector<ComputationId> CallsOf(InstructionId id) const;
  // Operands and control predecessors that are not removed.
  void AppendDependencies(InstructionId id, std::vector<InstructionId>& to) const;
  std::vector<bool> ComputationsWithEffects() const;
  bool HasEffect(InstructionId id, const std::vector<bool>& with_effects) const;
  std::vector<bool> ReachableComputations() const;
  void RemoveDeadIn(ComputationId id, const std::vector<bool>& with_effects,
                    std::vector<bool>& live);

  Status CheckFinished() const;
  std::vector<Attribute> MapAttributes(InstructionId id, const RewriteResult& result);
  void Emit(ComputationId id, std::span<const InstructionId> order, RewriteResult& result);
  void CarryOver(const RewriteResult& result);

  std::shared_ptr<const Module> original_;
  ModuleBuilder builder_;
  std::vector<Node> nodes_;  // of the original's instructions, then of added_
  std::vector<Added> added_;
  std::vector<AddedComputation> added_computations_;
  std::vector<Use> uses_;
  std::vector<InstructionId> roots_;
  std::vector<std::vector<InstructionId>> members_;  // by computation, in file order
  std::vector<bool> computation_removed_;
  bool drops_threads_ = false;
  std::vector<ComputationId> new_computation_;
};

}  // namespace hloscope::hlo
