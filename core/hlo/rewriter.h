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
  std::vector<InstructionId> new_id;  // by old id; invalid where it was removed
};

class Rewriter {
 public:
  explicit Rewriter(std::shared_ptr<const Module> module);

  // Users of an instruction as edited so far.
  std::span<const InstructionId> users(InstructionId id) const { return users_[id.index]; }
  // A new instruction at the end of `computation`; its id may be used in later edits. The shape is
  // interned.
  InstructionId Add(ComputationId computation, std::string_view name, Opcode opcode, Shape shape,
                    std::span<const InstructionId> operands,
                    std::span<const Attribute> attributes = {});
  // Attribute and string factory of the new module; attributes of old instructions stay valid in
  // it.
  ModuleBuilder& builder() { return builder_; }
  void SetOperand(InstructionId user, uint32_t slot, InstructionId operand);
  // Every use of `from` (and a root) becomes `to`.
  void ReplaceAllUses(InstructionId from, InstructionId to);
  void SetRoot(ComputationId computation, InstructionId root);
  // Drops an instruction; it must have no users left and not be a root when Finish() runs.
  void Remove(InstructionId id);
  // Drops everything no root depends on, except parameters and side effects.
  void RemoveDeadCode();

  // Compacts, orders every computation topologically (keeping file order where free) and returns
  // the new module. An operand cycle, a removed instruction in use or a computation without root is
  // an input error.
  Result<RewriteResult> Finish();

 private:
  struct Node {
    bool removed = false;
    std::vector<InstructionId> operands;
  };
  std::shared_ptr<const Module> original_;
  ModuleBuilder builder_;
  std::vector<Node> nodes_;
  std::vector<std::vector<InstructionId>> users_;
  std::vector<InstructionId> roots_;
};

}  // namespace hloscope::hlo
