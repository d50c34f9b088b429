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

  // A new instruction at the end of `computation`; its id may be used in later edits. The shape is
  // interned.
  InstructionId Add(ComputationId computation, std::string_view name, Opcode opcode, Shape shape,
                    std::span<const InstructionId> operands,
                    std::span<const Attribute> attributes = {});
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

  void Link(uint32_t use);
  void Unlink(uint32_t use);
  Opcode OpcodeOf(InstructionId id) const;
  std::span<const Attribute> AttributesOf(InstructionId id) const;
  std::string_view NameOf(InstructionId id) const;
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
  Result<std::vector<InstructionId>> OrderOf(ComputationId id, std::vector<uint8_t>& state) const;
  std::vector<Attribute> MapAttributes(InstructionId id, const RewriteResult& result);
  void Emit(ComputationId id, std::span<const InstructionId> order, RewriteResult& result);
  void CarryOver(const RewriteResult& result);

  std::shared_ptr<const Module> original_;
  ModuleBuilder builder_;
  std::vector<Node> nodes_;  // of the original's instructions, then of added_
  std::vector<Added> added_;
  std::vector<Use> uses_;
  std::vector<InstructionId> roots_;
  std::vector<std::vector<InstructionId>> members_;  // by computation, in file order
  std::vector<bool> computation_removed_;
  std::vector<ComputationId> new_computation_;
};

}  // namespace hloscope::hlo
