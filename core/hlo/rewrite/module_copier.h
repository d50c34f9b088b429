// ModuleCopier: brings instructions and computations of one module into the making of another.
#pragma once

#include <span>
#include <vector>

#include "core/hlo/module.h"
#include "core/hlo/module_builder.h"

namespace hloscope::hlo {

// Strings, shapes and attribute values become the new module's own; names are kept.
class ModuleCopier {
 public:
  ModuleCopier(const Module& from, ModuleBuilder& to);

  // Frontend attributes, stack frames and what else of the header still makes sense where the entry
  // is another one: not its name, layouts, aliasing, schedule and number of devices.
  void CopyHeader();
  // Leaves out what says where things came from: metadata, stack frames, origins. Before all else.
  void DropMetadata() { drops_metadata_ = true; }
  // Copies every computation that `instructions` call, with all that those call; not while a
  // computation is begun. Each computation is copied once, however often it is asked for.
  void CopyCallees(std::span<const InstructionId> instructions);
  // Adds an instruction to the computation begun, on these operands. What it calls must have been
  // copied; control predecessors are kept where they have been copied.
  InstructionId CopyInstruction(InstructionId id, std::span<const InstructionId> operands);

  StringId Copy(StringId id) { return id.valid() ? to_.Intern(from_[id]) : id; }
  ShapeId Copy(ShapeId id) { return to_.InternShape(from_[id]); }
  // The attribute in the new module; `attribute` may be of any kind.
  Attribute Copy(const Attribute& attribute);
  // Where an instruction went; invalid if it was not copied.
  InstructionId new_id(InstructionId id) const { return new_ids_[id.index]; }

 private:
  void CopyComputation(ComputationId id);
  Attribute CopyIds(const Attribute& attribute);
  Attribute CopyPooled(const Attribute& attribute);

  const Module& from_;
  ModuleBuilder& to_;
  bool drops_metadata_ = false;
  std::vector<ComputationId> new_computations_;
  std::vector<InstructionId> new_ids_;
};

}  // namespace hloscope::hlo
