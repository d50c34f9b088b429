// Writing a HloInstructionProto: what every instruction has. Attributes nobody knows (RawAttribute)
// have no field and are not written.
#include <unordered_set>

#include "core/hlo/proto/proto_metadata.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/proto/proto_writer.h"

namespace hloscope::hlo {

using namespace InstructionField;

WriteScope::WriteScope(const Module& module, ProtoIds ids)
    : module_(module), in_one_row_(ids == ProtoIds::kInOneRow), shapes_(module.shape_count()) {
  // Ids that do not cover the whole module (it was edited) are of no use.
  if (module.proto_instruction_ids().size() == module.instructions().size() &&
      module.proto_computation_ids().size() == module.computations().size()) {
    instruction_ids_ = module.proto_instruction_ids();
    computation_ids_ = module.proto_computation_ids();
  }
}

std::string_view WriteScope::BytesOf(ShapeId id) {
  std::string& bytes = shapes_[id.index];
  if (bytes.empty()) {
    WireWriter out;
    WriteShape(out, module_[id]);
    bytes = std::move(out).Take();
  }
  return bytes;
}

void InstructionWriter::Write(InstructionId id) {
  instruction_ = &module()[id];
  out_.Bytes(kName, module()[instruction_->name]);
  out_.Bytes(kOpcode, ToString(instruction_->opcode));
  out_.Bytes(kShape, scope_.BytesOf(instruction_->shape));
  WriteCommon();
  WriteReferences(id);
  WriteAttributes();
}

void InstructionWriter::WriteCommon() {
  // XLA writes these three messages even where they are empty.
  auto mark = out_.Open(kMetadata);
  if (const Attribute* a = Find(AttributeKey::kMetadata)) {
    WriteMetadata(out_, module(), module().Of<OpMetadata>(*a));
  }
  out_.Close(mark);
  mark = out_.Open(kFrontendAttributes);
  if (const Attribute* a = Find(AttributeKey::kFrontendAttributes)) {
    WriteFrontendAttributes(out_, module(), module().Of<FrontendAttributes>(*a));
  }
  out_.Close(mark);
  mark = out_.Open(kStatisticsViz);
  if (const Attribute* a = Find(AttributeKey::kStatistics)) {
    WriteStatistics(out_, module().Of<Statistics>(*a));
  }
  out_.Close(mark);
  if (const Attribute* a = Find(AttributeKey::kSharding)) {
    mark = out_.Open(kSharding);
    WriteSharding(out_, module().Of<Sharding>(*a));
    out_.Close(mark);
  }
  if (const Attribute* a = Find(AttributeKey::kOrigin)) {
    mark = out_.Open(kOriginalValue);
    WriteOriginalValue(out_, module().Of<OriginalValue>(*a));
    out_.Close(mark);
  }
  if (const Attribute* a = Find(AttributeKey::kBackendConfig)) {
    out_.BytesUnlessEmpty(kBackendConfig, module()[module().Of<BackendConfig>(*a).text]);
  }
}

void InstructionWriter::WriteReferences(InstructionId id) {
  out_.IntUnlessZero(kId, scope_.IdOf(id));
  auto operands = module().operands(*instruction_);
  if (!operands.empty()) {
    auto mark = out_.Open(kOperandIds);
    for (InstructionId operand : operands) {
      out_.BareVarint(static_cast<uint64_t>(scope_.IdOf(operand)));
    }
    out_.Close(mark);
  }
  if (const Attribute* a = Find(AttributeKey::kControlPredecessors)) {
    auto mark = out_.Open(kControlPredecessorIds);
    std::unordered_set<uint32_t> written;  // XLA keeps each once
    for (uint32_t c : module().IdsOf(*a)) {
      if (!written.insert(c).second) continue;
      out_.BareVarint(static_cast<uint64_t>(scope_.IdOf(InstructionId(c))));
    }
    out_.Close(mark);
  }
  WriteCalled();
}

void InstructionWriter::WriteCalled() {
  // An update or done names the computation of its start, which alone has it in protos.
  if (instruction_->opcode == Opcode::kAsyncUpdate || instruction_->opcode == Opcode::kAsyncDone) {
    return;
  }
  if (instruction_->attribute_count == 0) return;
  std::vector<ComputationId> called = module().CalledComputations(*instruction_);
  if (called.empty()) return;
  auto mark = out_.Open(kCalledComputationIds);
  for (ComputationId c : called) out_.BareVarint(static_cast<uint64_t>(scope_.IdOf(c)));
  out_.Close(mark);
}

void WriteFrontendAttributes(WireWriter& out, const Module& module,
                             const FrontendAttributes& attributes) {
  for (const FrontendAttribute& entry : attributes.entries) {
    auto mark = out.Open(FrontendField::kMap);
    out.Bytes(FrontendEntryField::kKey, module[entry.key]);
    out.Bytes(FrontendEntryField::kValue, module[entry.value]);
    out.Close(mark);
  }
}

}  // namespace hloscope::hlo
