// Reading one HloInstructionProto: what every instruction has, and its attributes by their rows.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/hlo/proto/proto_metadata.h"
#include "core/hlo/proto/proto_reader.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/text/name_uniquer.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

using namespace InstructionField;

template <typename Vector>
uint32_t Size(const Vector& v) {
  return static_cast<uint32_t>(v.size());
}

}  // namespace

Result<ShapeId> ReadScope::ShapeOf(std::string_view bytes) {
  if (const ShapeId* id = shapes.Find(bytes)) return *id;
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, ReadShape(bytes, limits));
  return shapes.Add(bytes, builder.InternShape(std::move(shape)));
}

Result<ComputationId> ReadScope::ComputationOf(int64_t id) const {
  auto it = computations.find(id);
  if (it == computations.end()) {
    return InputError(fmt::format("calls computation {}, which is not in the module", id));
  }
  return it->second;
}

void InstructionBatch::Clear() {
  instructions.clear();
  operands.clear();
  controls.clear();
  attributes.clear();
  unknown.clear();
}

std::string_view SanitizedName(std::string_view name, std::string& buffer) {
  if (name.empty() || !NeedsSanitizing(name)) return name;
  buffer = SanitizedName(name);
  return buffer;
}

Status InstructionReader::Read(std::string_view bytes, InstructionBatch& batch) {
  unknown_.clear();
  inner_bytes_ = {};
  if (!fields_.Read(bytes, unknown_)) return Malformed("HloInstructionProto");
  ReadInstruction instruction;
  HLOSCOPE_TRY(ReadCore(instruction));
  instruction.operands.first = Size(batch.operands);
  if (!fields_.TakeInts(kOperandIds, batch.operands)) return Malformed("operand_ids");
  instruction.operands.count = Size(batch.operands) - instruction.operands.first;
  if (instruction.operands.count > scope_.limits.operands) {
    return InputError(fmt::format("more than {}", Counted(scope_.limits.operands, "operand")),
                      "raise it with --limit operands=N");
  }
  attributes_ = &batch.attributes;
  instruction.attributes.first = Size(batch.attributes);
  HLOSCOPE_TRY(ReadCommon(instruction));
  HLOSCOPE_TRY(ReadControls(batch, instruction));
  HLOSCOPE_TRY(ReadCalled(instruction.opcode));
  for (const AttributeField& field : AttributeFields(instruction.opcode)) {
    HLOSCOPE_TRY(ReadAttribute(instruction.opcode, field));
  }
  instruction.attributes.count = Size(batch.attributes) - instruction.attributes.first;
  fields_.AppendRest(unknown_);
  if (!unknown_.empty()) {
    instruction.unknown = static_cast<int32_t>(batch.unknown.size());
    batch.unknown.push_back(unknown_);
  }
  batch.instructions.push_back(instruction);
  return {};
}

Status InstructionReader::ReadCore(ReadInstruction& instruction) {
  std::string_view name = fields_.TakeBytes(kName);
  if (name.empty()) return InputError("instruction has no name");
  std::string buffer;
  instruction.name = scope_.builder.Intern(SanitizedName(name, buffer));
  if (const WireField* id = fields_.Take(kId)) instruction.id = id->AsInt64();
  std::string_view text = fields_.TakeBytes(kOpcode);
  std::optional<Opcode> opcode = OpcodeFromText(text);
  if (!opcode) {
    return InputError(fmt::format("unknown opcode `{}`", text));
  }
  instruction.opcode = *opcode;
  if (!fields_.Has(kShape)) return InputError("no shape");
  HLOSCOPE_ASSIGN_OR_RETURN(instruction.shape, scope_.ShapeOf(fields_.TakeMessage(kShape)));
  return {};
}

Status InstructionReader::ReadCommon(const ReadInstruction& instruction) {
  ModuleBuilder& builder = scope_.builder;
  if (fields_.Has(kSharding)) {
    HLOSCOPE_ASSIGN_OR_RETURN(Sharding sharding,
                              ReadSharding(fields_.TakeMessage(kSharding), scope_.limits));
    Add(builder.Make(AttributeKey::kSharding, std::move(sharding)));
  }
  HLOSCOPE_TRY(ReadFrontendAttributes());
  if (std::string_view bytes = fields_.TakeMessage(kStatisticsViz); !bytes.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(Statistics statistics, ReadStatistics(bytes));
    Add(builder.Make(AttributeKey::kStatistics, std::move(statistics)));
  }
  if (fields_.Has(kOriginalValue)) {
    bool is_tuple = builder.module()[instruction.shape].IsTuple();
    HLOSCOPE_ASSIGN_OR_RETURN(
        OriginalValue value,
        ReadOriginalValue(fields_.TakeMessage(kOriginalValue), is_tuple, scope_.limits));
    Add(builder.Make(AttributeKey::kOrigin, std::move(value)));
  }
  HLOSCOPE_TRY(ReadMetadataField());
  return ReadBackendConfig();
}

Status InstructionReader::ReadMetadataField() {
  std::string_view bytes = fields_.TakeMessage(kMetadata);
  if (bytes.empty()) return {};
  const CachedMetadata* cached = metadata_.Find(bytes);
  if (cached == nullptr) {
    CachedMetadata made;
    std::string unknown;
    HLOSCOPE_ASSIGN_OR_RETURN(OpMetadata metadata,
                              ReadMetadata(bytes, scope_.builder, scope_.payloads, unknown));
    made.empty = metadata == OpMetadata();
    if (!made.empty) made.attribute = scope_.builder.Make(AttributeKey::kMetadata, metadata);
    if (!unknown.empty()) {
      // A second occurrence of the message that holds them: readers put the two together.
      WireWriter rest;
      rest.Bytes(kMetadata, unknown);
      made.unknown = std::move(rest).Take();
    }
    cached = &metadata_.Add(bytes, std::move(made));
  }
  if (!cached->empty) Add(cached->attribute);
  unknown_.append(cached->unknown);
  return {};
}

Status InstructionReader::ReadBackendConfig() {
  std::string_view text = fields_.TakeBytes(kBackendConfig);
  if (fields_.Has(kBackendConfigPayload)) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        text, ReadPayload(fields_.TakeMessage(kBackendConfigPayload), scope_.payloads));
  }
  if (text.empty()) return {};
  Add(scope_.builder.Make(AttributeKey::kBackendConfig,
                          BackendConfig{scope_.builder.Intern(text), IsJsonDict(text)}));
  return {};
}

Status InstructionReader::ReadControls(InstructionBatch& batch, ReadInstruction& instruction) {
  instruction.controls.first = Size(batch.controls);
  if (!fields_.TakeInts(kControlPredecessorIds, batch.controls)) {
    return Malformed("control_predecessor_ids");
  }
  instruction.controls.count = Size(batch.controls) - instruction.controls.first;
  return {};
}

const WireField* InstructionReader::Find(const AttributeField& field) {
  if (field.path[1] == 0) return fields_.Take(field.path[0]);
  std::string_view bytes = fields_.TakeMessage(field.path[0]);
  for (size_t i = 1; i < field.path.size() && field.path[i] != 0; ++i) {
    if (bytes.data() != inner_bytes_.data() || bytes.size() != inner_bytes_.size()) {
      if (!inner_.ReadInner(bytes)) return nullptr;
      inner_bytes_ = bytes;
    }
    bool last = i + 1 == field.path.size() || field.path[i + 1] == 0;
    if (last) return inner_.Take(field.path[i]);
    bytes = inner_.TakeMessage(field.path[i]);
  }
  return nullptr;
}

Status InstructionReader::ReadAttribute(Opcode opcode, const AttributeField& field) {
  switch (Info(field.key).kind) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kFloat:
      return ReadNumber(field, Find(field));
    case ValueKind::kEnum:
      return ReadEnum(field, Find(field));
    case ValueKind::kString: {
      const WireField* value = Find(field);
      if (value != nullptr || field.required) {
        Add(scope_.builder.MakeString(field.key, value ? value->bytes : std::string_view()));
      }
      return {};
    }
    case ValueKind::kInts:
    case ValueKind::kBools:
    case ValueKind::kEnums:
      return ReadList(opcode, field);
    case ValueKind::kComputation:
    case ValueKind::kComputations:
      return {};  // ReadCalled
    default:
      return ReadStructure(opcode, field);
  }
}

}  // namespace hloscope::hlo
