// Writing a module as HloModuleProto.
#include <algorithm>
#include <tuple>

#include "core/base/checked.h"
#include "core/base/progress/activity.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_header.h"
#include "core/hlo/proto/proto_recovery.h"
#include "core/hlo/proto/proto_writer.h"
#include "core/hlo/text/print_order.h"
#include "core/hlo/text/text_printer.h"

namespace hloscope::hlo {
namespace {

// Device assignments beyond this many devices are written as counts only.
constexpr int64_t kMaxListedDevices = 1 << 20;

class ModuleWriter {
 public:
  ModuleWriter(const Module& module, ProtoIds ids)
      : module_(module),
        scope_(module, ids),
        instructions_(scope_, out_),
        order_(module),
        async_(module) {}

  std::string Write() {
    using namespace ModuleField;
    FindFusions();
    const ModuleHeader& header = module_.header();
    out_.BytesUnlessEmpty(kName, module_.name());
    out_.BytesUnlessEmpty(kEntryComputationName, module_[module_.entry().name]);
    std::vector<ComputationId> order;
    CallOrder(module_, order);
    for (ComputationId id : order) WriteComputation(id);
    WriteHostProgramShape();
    out_.IntUnlessZero(kId, header.proto_id);
    out_.IntUnlessZero(kEntryComputationId, scope_.IdOf(module_.entry_id()));
    if (header.is_scheduled) WriteSchedule();
    WriteAliases();
    WriteDonors();
    WriteDeviceAssignment();
    if (!header.stack_frames.empty()) WriteStackFrames();
    auto mark = out_.Open(kFrontendAttributes);
    WriteFrontendAttributes(out_, module_, header.frontend_attributes);
    out_.Close(mark);
    WriteRecoveryTable();
    WriteUnknown(MessageKind::kModule, 0);
    return std::move(out_).Take();
  }

 private:
  void FindFusions() {
    is_fusion_.assign(module_.computations().size(), false);
    for (const Instruction& i : module_.instructions()) {
      if (i.opcode != Opcode::kFusion) continue;
      ComputationId called = module_.GetComputation(i, AttributeKey::kCalls);
      if (called.valid()) is_fusion_[called.index] = true;
    }
    // By kind and index, so that each is found at once.
    for (const UnknownFields& fields : module_.unknown_fields()) unknown_.push_back(&fields);
    std::ranges::stable_sort(unknown_, {}, &Place);
  }

  static std::pair<MessageKind, uint32_t> Place(const UnknownFields* fields) {
    return {fields->kind, fields->index};
  }

  void WriteUnknown(MessageKind kind, uint32_t index) {
    if (unknown_.empty()) return;
    auto range = std::ranges::equal_range(unknown_, std::pair(kind, index), {}, &Place);
    for (const UnknownFields* fields : range) out_.Raw(fields->bytes);
  }

  void WriteComputation(ComputationId id) {
    using namespace ComputationField;
    const Computation& c = module_[id];
    auto computation = out_.Open(ModuleField::kComputations);
    out_.BytesUnlessEmpty(kName, module_[c.name]);
    for (InstructionId i : order_.PostOrder(c)) {
      auto instruction = out_.Open(kInstructions);
      instructions_.Write(i);
      WriteUnknown(MessageKind::kInstruction, i.index);
      out_.Close(instruction);
    }
    WriteProgramShape(id);
    out_.IntUnlessZero(kId, scope_.IdOf(id));
    out_.IntUnlessZero(kRootId, scope_.IdOf(c.root));
    out_.BoolUnlessFalse(kIsFusionComputation, is_fusion_[id.index]);
    std::string_view thread = module_[async_.thread(id)];
    if (!thread.empty() && thread != "main") out_.Bytes(kExecutionThread, thread);
    WriteUnknown(MessageKind::kComputation, id.index);
    out_.Close(computation);
  }

  void WriteProgramShape(ComputationId id) {
    using namespace ProgramShapeField;
    auto mark = out_.Open(ComputationField::kProgramShape);
    std::vector<InstructionId> parameters = module_.Parameters(id);
    for (InstructionId p : parameters) {
      if (p.valid()) out_.Bytes(kParameters, scope_.BytesOf(module_[p].shape));
    }
    out_.Bytes(kResult, scope_.BytesOf(module_[module_[id].root].shape));
    for (InstructionId p : parameters) {
      if (p.valid()) out_.Bytes(kParameterNames, module_.name(p));
    }
    out_.Close(mark);
  }

  void WriteHostProgramShape() {
    using namespace ProgramShapeField;
    auto mark = out_.Open(ModuleField::kHostProgramShape);
    std::vector<ShapeId> parameters;
    ShapeId result = module_[module_.entry().root].shape;
    if (const auto& layout = module_.header().entry_layout) {
      parameters = layout->parameters;
      result = layout->result;
    } else {
      for (InstructionId p : module_.Parameters(module_.entry_id())) {
        if (p.valid()) parameters.push_back(module_[p].shape);
      }
    }
    for (ShapeId shape : parameters) out_.Bytes(kParameters, scope_.BytesOf(shape));
    out_.Bytes(kResult, scope_.BytesOf(result));
    for (size_t i = 0; i < parameters.size(); ++i) {
      out_.Bytes(kParameterNames, "p" + std::to_string(i));
    }
    out_.Close(mark);
  }

  // The order of the instructions of every computation but those of fusions.
  void WriteSchedule() {
    auto schedule = out_.Open(ModuleField::kSchedule);
    for (uint32_t k = 0; k < module_.computations().size(); ++k) {
      if (is_fusion_[k]) continue;
      const Computation& c = module_[ComputationId(k)];
      auto entry = out_.Open(ScheduleField::kSequences);
      out_.Int(ScheduleEntryField::kKey, scope_.IdOf(ComputationId(k)));
      auto value = out_.Open(ScheduleEntryField::kValue);
      auto ids = out_.Open(SequenceField::kInstructionIds);
      for (uint32_t i = 0; i < c.instruction_count; ++i) {
        InstructionId id(c.first_instruction + i);
        out_.BareVarint(static_cast<uint64_t>(scope_.IdOf(id)));
      }
      out_.Close(ids);
      out_.Close(value);
      out_.Close(entry);
    }
    out_.Close(schedule);
  }

  void WriteAliases() {
    using namespace AliasEntryField;
    auto mark = out_.Open(ModuleField::kInputOutputAlias);
    auto aliases = module_.header().input_output_alias;
    std::ranges::stable_sort(aliases, {}, &InputOutputAlias::output_index);
    for (const InputOutputAlias& alias : aliases) {
      auto entry = out_.Open(AliasConfigField::kEntries);
      out_.PackedInts(kOutputShapeIndex, alias.output_index);
      out_.IntUnlessZero(kParameterNumber, alias.parameter);
      out_.PackedInts(kParameterShapeIndex, alias.parameter_index);
      out_.Int(kKind, alias.must_alias ? 2 : 1);
      out_.Close(entry);
    }
    out_.Close(mark);
  }

  void WriteDonors() {
    using namespace DonorEntryField;
    auto mark = out_.Open(ModuleField::kBufferDonor);
    auto donors = module_.header().buffer_donors;
    std::ranges::stable_sort(donors, {}, [](const BufferDonor& donor) {
      return std::tie(donor.parameter, donor.parameter_index);
    });
    for (const BufferDonor& donor : donors) {
      auto entry = out_.Open(DonorConfigField::kEntries);
      out_.IntUnlessZero(kParameterNumber, donor.parameter);
      out_.PackedInts(kParameterShapeIndex, donor.parameter_index);
      out_.Close(entry);
    }
    out_.Close(mark);
  }

  // XLA keeps the counts of a text header nowhere else in a proto. One that was read is among the
  // unknown fields.
  void WriteDeviceAssignment() {
    using namespace DeviceAssignmentField;
    const ModuleHeader& header = module_.header();
    if (HasUnknown(ModuleField::kDeviceAssignment)) return;
    if (header.replica_count == 1 && header.num_partitions == 1) return;
    auto mark = out_.Open(ModuleField::kDeviceAssignment);
    out_.IntUnlessZero(kReplicaCount, header.replica_count);
    out_.IntUnlessZero(kComputationCount, header.num_partitions);
    auto devices = CheckedMul(header.replica_count, header.num_partitions);
    bool listed = devices && *devices > 0 && *devices <= kMaxListedDevices;
    for (int64_t p = 0; listed && p < header.num_partitions; ++p) {
      std::vector<int64_t> ids;
      ids.reserve(static_cast<size_t>(header.replica_count));
      for (int64_t r = 0; r < header.replica_count; ++r) {
        ids.push_back(r * header.num_partitions + p);
      }
      auto computation = out_.Open(kComputationDevices);
      out_.PackedInts(ComputationDeviceField::kReplicaDeviceIds, ids);
      out_.Close(computation);
    }
    out_.Close(mark);
  }

  // As with the device assignment: one that was read is written back as it was.
  void WriteRecoveryTable() {
    StringId text = module_.header().origin_recovery_table;
    if (module_[text].empty() || HasUnknown(ModuleField::kOriginalValueRecoveryTable)) return;
    auto mark = out_.Open(ModuleField::kOriginalValueRecoveryTable);
    WriteRecoveryText(out_, module_[text]);
    out_.Close(mark);
  }

  bool HasUnknown(uint32_t number) const {
    for (const UnknownFields* fields : unknown_) {
      if (fields->kind != MessageKind::kModule) continue;
      WireReader reader(fields->bytes);
      WireField field;
      while (reader.Next(field)) {
        if (field.number() == number) return true;
      }
    }
    return false;
  }

  void WriteStackFrames() {
    using namespace StackFrameIndexField;
    const StackFrames& frames = module_.header().stack_frames;
    auto index = out_.Open(ModuleField::kStackFrameIndex);
    for (StringId name : frames.file_names) out_.Bytes(kFileNames, module_[name]);
    for (StringId name : frames.function_names) out_.Bytes(kFunctionNames, module_[name]);
    for (const StackFrames::Location& location : frames.locations) {
      using namespace FileLocationField;
      auto mark = out_.Open(kFileLocations);
      out_.IntUnlessZero(kFileNameId, location.file_name_id);
      out_.IntUnlessZero(kFunctionNameId, location.function_name_id);
      out_.IntUnlessZero(kLine, location.line);
      out_.IntUnlessZero(kColumn, location.column);
      out_.IntUnlessZero(kEndLine, location.end_line);
      out_.IntUnlessZero(kEndColumn, location.end_column);
      out_.Close(mark);
    }
    for (const StackFrames::Frame& frame : frames.frames) {
      auto mark = out_.Open(kStackFrames);
      out_.IntUnlessZero(StackFrameField::kFileLocationId, frame.file_location_id);
      out_.IntUnlessZero(StackFrameField::kParentFrameId, frame.parent_frame_id);
      out_.Close(mark);
    }
    out_.Close(index);
  }

  const Module& module_;
  WireWriter out_;
  WriteScope scope_;
  InstructionWriter instructions_;
  InstructionOrder order_;
  AsyncFacts async_;
  std::vector<bool> is_fusion_;
  std::vector<const UnknownFields*> unknown_;
};

}  // namespace

std::string ModuleToProto(const Module& module, ProtoIds ids) {
  const Activity activity("encoding", module.name());
  return ModuleWriter(module, ids).Write();
}

}  // namespace hloscope::hlo
