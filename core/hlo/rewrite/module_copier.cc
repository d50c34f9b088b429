// Copying between modules, attribute kind by attribute kind.
#include "core/hlo/rewrite/module_copier.h"

#include <algorithm>

namespace hloscope::hlo {

ModuleCopier::ModuleCopier(const Module& from, ModuleBuilder& to)
    : from_(from),
      to_(to),
      new_computations_(from.computations().size()),
      new_ids_(from.instructions().size()) {}

void ModuleCopier::CopyHeader() {
  const ModuleHeader& header = from_.header();
  ModuleHeader& copy = to_.header();
  for (FrontendAttribute entry : header.frontend_attributes.entries) {
    entry.key = Copy(entry.key);
    entry.value = Copy(entry.value);
    copy.frontend_attributes.entries.push_back(entry);
  }
  if (drops_metadata_) return;
  copy.stack_frames = header.stack_frames;
  for (StringId& name : copy.stack_frames.file_names) name = Copy(name);
  for (StringId& name : copy.stack_frames.function_names) name = Copy(name);
}

void ModuleCopier::CopyCallees(std::span<const InstructionId> instructions) {
  std::vector<ComputationId> reached, pending;
  for (InstructionId id : instructions) {
    for (ComputationId callee : from_.CalledComputations(from_[id])) pending.push_back(callee);
  }
  while (!pending.empty()) {
    const ComputationId id = pending.back();
    pending.pop_back();
    if (!id.valid() || new_computations_[id.index].valid()) continue;
    new_computations_[id.index] = to_.DeclareComputation(Copy(from_[id].name));
    reached.push_back(id);
    for (const Instruction& i : from_.instructions(from_[id])) {
      for (ComputationId callee : from_.CalledComputations(i)) pending.push_back(callee);
    }
  }
  std::ranges::sort(reached, {}, [&](ComputationId id) { return from_[id].first_instruction; });
  for (ComputationId id : reached) CopyComputation(id);
}

void ModuleCopier::CopyComputation(ComputationId id) {
  const Computation& computation = from_[id];
  to_.BeginComputation(new_computations_[id.index]);
  std::vector<InstructionId> operands;
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    const InstructionId old(computation.first_instruction + i);
    operands.clear();
    for (InstructionId operand : from_.operands(old)) operands.push_back(new_id(operand));
    CopyInstruction(old, operands);
  }
  to_.EndComputation(new_id(computation.root), Copy(computation.execution_thread));
}

InstructionId ModuleCopier::CopyInstruction(InstructionId id,
                                            std::span<const InstructionId> operands) {
  const Instruction& instruction = from_[id];
  std::vector<Attribute> attributes;
  for (const Attribute& a : from_.attributes(instruction)) {
    const bool is_metadata = a.key == AttributeKey::kMetadata || a.key == AttributeKey::kOrigin;
    if (drops_metadata_ && is_metadata) continue;
    const Attribute copy = Copy(a);
    const bool emptied =
        Info(a.key).kind == ValueKind::kInstructions && to_.module().IdsOf(copy).empty();
    if (!emptied) attributes.push_back(copy);
  }
  const ShapeId shape = Copy(instruction.shape);
  new_ids_[id.index] = to_.AddInstruction(Copy(instruction.name), instruction.opcode, shape,
                                          operands, attributes, from_.source_offset(id));
  return new_ids_[id.index];
}

Attribute ModuleCopier::CopyIds(const Attribute& attribute) {
  std::vector<uint32_t> ids;
  for (uint32_t id : from_.IdsOf(attribute)) {
    switch (Info(attribute.key).kind) {
      case ValueKind::kComputations:
        ids.push_back(new_computations_[id].index);
        break;
      case ValueKind::kShapes:
        ids.push_back(Copy(ShapeId(id)).index);
        break;
      default:
        if (id < new_ids_.size() && new_ids_[id].valid()) ids.push_back(new_ids_[id].index);
    }
  }
  return to_.MakeIds(attribute.key, ids);
}

// Values that hold strings get the new module's.
Attribute ModuleCopier::CopyPooled(const Attribute& attribute) {
  switch (Info(attribute.key).kind) {
    case ValueKind::kFrontendAttributes: {
      FrontendAttributes value = from_.Of<FrontendAttributes>(attribute);
      for (FrontendAttribute& entry : value.entries) {
        entry.key = Copy(entry.key);
        entry.value = Copy(entry.value);
      }
      return to_.Make(attribute.key, std::move(value));
    }
    case ValueKind::kMetadata: {
      OpMetadata value = from_.Of<OpMetadata>(attribute);
      for (StringId* id :
           {&value.op_type, &value.op_name, &value.source_file, &value.deduplicated_name,
            &value.scheduling_name, &value.profile_type, &value.metadata_payload, &value.unknown}) {
        *id = Copy(*id);
      }
      return to_.Make(attribute.key, value);
    }
    case ValueKind::kBackendConfig: {
      BackendConfig value = from_.Of<BackendConfig>(attribute);
      value.text = Copy(value.text);
      return to_.Make(attribute.key, value);
    }
    case ValueKind::kRaw: {
      RawAttribute value = from_.Of<RawAttribute>(attribute);
      value.name = Copy(value.name);
      value.text = Copy(value.text);
      return to_.Make(attribute.key, value);
    }
    case ValueKind::kLiteral:
      return to_.Make(attribute.key, from_.Of<Literal>(attribute));
    case ValueKind::kWindow:
      return to_.Make(attribute.key, from_.Of<Window>(attribute));
    case ValueKind::kDimLabels:
      return to_.Make(attribute.key, from_.Of<ConvolutionDims>(attribute));
    case ValueKind::kDeviceList:
      return to_.Make(attribute.key, from_.Of<DeviceList>(attribute));
    case ValueKind::kSharding:
      return to_.Make(attribute.key, from_.Of<Sharding>(attribute));
    case ValueKind::kDomain:
      return to_.Make(attribute.key, from_.Of<Domain>(attribute));
    case ValueKind::kAliasing:
      return to_.Make(attribute.key, from_.Of<OutputOperandAliasing>(attribute));
    case ValueKind::kStatistics:
      return to_.Make(attribute.key, from_.Of<Statistics>(attribute));
    case ValueKind::kOriginalValue:
      return to_.Make(attribute.key, from_.Of<OriginalValue>(attribute));
    case ValueKind::kResultAccuracy:
      return to_.Make(attribute.key, from_.Of<ResultAccuracy>(attribute));
    default:
      return attribute;
  }
}

Attribute ModuleCopier::Copy(const Attribute& attribute) {
  switch (Info(attribute.key).kind) {
    case ValueKind::kBool:
    case ValueKind::kFloat:
    case ValueKind::kEnum:
      return attribute;
    case ValueKind::kInt:
      return to_.MakeInt(attribute.key, from_.IntOf(attribute));
    case ValueKind::kString:
      return {attribute.key, false, Copy(StringId(attribute.value)).index};
    case ValueKind::kInts:
    case ValueKind::kBools:
    case ValueKind::kEnums:
    case ValueKind::kPairs:
    case ValueKind::kPadding:
    case ValueKind::kSlices:
      return to_.MakeInts(attribute.key, from_.IntsOf(attribute));
    case ValueKind::kComputation:
      return to_.MakeComputation(attribute.key, new_computations_[attribute.value]);
    case ValueKind::kComputations:
    case ValueKind::kInstructions:
    case ValueKind::kShapes:
      return CopyIds(attribute);
    case ValueKind::kShape:
      return to_.MakeShape(attribute.key, Copy(ShapeId(attribute.value)));
    default:
      return CopyPooled(attribute);
  }
}

}  // namespace hloscope::hlo
