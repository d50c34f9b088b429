// Reading what a HloModuleProto says about the whole module.
#include "core/hlo/proto/proto_header.h"
#include "core/hlo/proto/proto_recovery.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

Result<InputOutputAlias> ReadAlias(std::string_view bytes) {
  using namespace AliasEntryField;
  constexpr int64_t kMustAlias = 2;
  InputOutputAlias alias;
  WireReader reader(bytes);
  WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(kParameterNumber)) alias.parameter = field.AsInt64();
    if (field.tag == AsVarint(kKind)) alias.must_alias = field.AsInt64() == kMustAlias;
    if (field.number() == kOutputShapeIndex) ok &= AppendInts(field, alias.output_index);
    if (field.number() == kParameterShapeIndex) ok &= AppendInts(field, alias.parameter_index);
  }
  if (!ok || !reader.ok()) return Malformed("HloInputOutputAliasProto.AliasEntryProto");
  return alias;
}

Result<BufferDonor> ReadDonor(std::string_view bytes) {
  using namespace DonorEntryField;
  BufferDonor donor;
  WireReader reader(bytes);
  WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(kParameterNumber)) donor.parameter = field.AsInt64();
    if (field.number() == kParameterShapeIndex) ok &= AppendInts(field, donor.parameter_index);
  }
  if (!ok || !reader.ok()) return Malformed("HloBufferDonorProto.BufferDonorEntryProto");
  return donor;
}

// The instruction ids of one computation's schedule.
Status ReadSequence(std::string_view bytes, std::vector<int64_t>& ids) {
  WireReader reader(bytes);
  WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.number() == SequenceField::kInstructionIds) ok &= AppendInts(field, ids);
  }
  if (!ok || !reader.ok()) return Malformed("HloScheduleProto.InstructionSequence");
  return {};
}

Result<StackFrames::Location> ReadLocation(std::string_view bytes) {
  int64_t v[6];  // file, function, line, column, end_line, end_column
  if (!ReadIntFields(bytes, v)) return Malformed("StackFrameIndexProto.FileLocation");
  auto number = [&](uint32_t field) { return static_cast<int32_t>(v[field - 1]); };
  using namespace FileLocationField;
  return StackFrames::Location{.file_name_id = number(kFileNameId),
                               .function_name_id = number(kFunctionNameId),
                               .line = number(kLine),
                               .end_line = number(kEndLine),
                               .column = number(kColumn),
                               .end_column = number(kEndColumn)};
}

}  // namespace

Result<bool> HeaderReader::Take(const WireField& field) {
  using namespace ModuleField;
  switch (field.tag) {
    case AsBytes(kName): {
      std::string buffer;
      header().name = scope_.builder.Intern(SanitizedName(field.bytes, buffer));
      return true;
    }
    case AsVarint(kId):
      header().proto_id = field.AsInt64();
      return true;
    case AsBytes(kHostProgramShape):
      HLOSCOPE_TRY(ReadProgramShape(field.bytes));
      return true;
    case AsBytes(kSchedule):
      header().is_scheduled = true;
      HLOSCOPE_TRY(ReadSchedule(field.bytes));
      return true;
    case AsBytes(kInputOutputAlias):
      HLOSCOPE_TRY(ReadAliases(field.bytes));
      return true;
    case AsBytes(kBufferDonor):
      HLOSCOPE_TRY(ReadDonors(field.bytes));
      return true;
    case AsBytes(kDeviceAssignment):
      HLOSCOPE_TRY(ReadDeviceAssignment(field.bytes));
      return false;  // which devices they are is kept with the unknown fields
    case AsBytes(kSpmdOutputSharding):
      header().is_partitioned = true;
      if (auto sharding = ReadSharding(field.bytes, scope_.limits)) {
        header().spmd_output_sharding = *std::move(sharding);
      }
      return false;  // these two are kept with the unknown fields
    case AsBytes(kSpmdParametersShardings):
      header().is_partitioned = true;
      return false;
    case AsBytes(kOriginalValueRecoveryTable):
      recovery_table_ = field.bytes;
      return false;  // kept with the unknown fields too, as its modules have ids
    case AsBytes(kStackFrameIndex):
      HLOSCOPE_TRY(ReadStackFrames(field.bytes));
      return true;
    case AsBytes(kFrontendAttributes):
      frontend_attributes_ = field.bytes;
      return true;
    default:
      return false;
  }
}

Status HeaderReader::Finish() {
  if (!header().name.valid()) header().name = scope_.builder.Intern("");
  HLOSCOPE_ASSIGN_OR_RETURN(header().frontend_attributes,
                            ReadFrontendAttributesProto(frontend_attributes_, scope_.builder));
  HLOSCOPE_ASSIGN_OR_RETURN(std::string text,
                            ReadRecoveryText(recovery_table_, scope_.limits, scope_.depth));
  if (!text.empty()) header().origin_recovery_table = scope_.builder.Intern(text);
  return {};
}

const std::vector<int64_t>* HeaderReader::ScheduleOf(int64_t computation_id) const {
  auto it = schedule_.find(computation_id);
  return it == schedule_.end() ? nullptr : &it->second;
}

Status HeaderReader::ReadProgramShape(std::string_view bytes) {
  EntryLayout& layout = header().entry_layout.emplace();
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(ProgramShapeField::kParameters)) {
      HLOSCOPE_ASSIGN_OR_RETURN(ShapeId shape, scope_.ShapeOf(field.bytes));
      layout.parameters.push_back(shape);
    } else if (field.tag == AsBytes(ProgramShapeField::kResult)) {
      HLOSCOPE_ASSIGN_OR_RETURN(layout.result, scope_.ShapeOf(field.bytes));
    }
  }
  if (!reader.ok()) return Malformed("ProgramShapeProto");
  if (!layout.result.valid()) header().entry_layout.reset();
  return {};
}

Status HeaderReader::ReadSchedule(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(ScheduleField::kSequences)) continue;
    int64_t key = 0;
    std::vector<int64_t> ids;
    WireReader entry(field.bytes);
    WireField part;
    while (entry.Next(part)) {
      if (part.tag == AsVarint(ScheduleEntryField::kKey)) key = part.AsInt64();
      if (part.tag == AsBytes(ScheduleEntryField::kValue)) {
        HLOSCOPE_TRY(ReadSequence(part.bytes, ids));
      }
    }
    if (!entry.ok()) return Malformed("HloScheduleProto.SequencesEntry");
    schedule_[key] = std::move(ids);
  }
  if (!reader.ok()) return Malformed("HloScheduleProto");
  return {};
}

Status HeaderReader::ReadAliases(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(AliasConfigField::kEntries)) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(InputOutputAlias alias, ReadAlias(field.bytes));
    header().input_output_alias.push_back(std::move(alias));
  }
  if (!reader.ok()) return Malformed("HloInputOutputAliasProto");
  return {};
}

Status HeaderReader::ReadDonors(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(DonorConfigField::kEntries)) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(BufferDonor donor, ReadDonor(field.bytes));
    header().buffer_donors.push_back(std::move(donor));
  }
  if (!reader.ok()) return Malformed("HloBufferDonorProto");
  return {};
}

Status HeaderReader::ReadDeviceAssignment(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(DeviceAssignmentField::kReplicaCount)) {
      header().replica_count = field.AsInt32();
    } else if (field.tag == AsVarint(DeviceAssignmentField::kComputationCount)) {
      header().num_partitions = field.AsInt32();
    }
  }
  if (!reader.ok()) return Malformed("DeviceAssignmentProto");
  return {};
}

Status HeaderReader::ReadStackFrames(std::string_view bytes) {
  using namespace StackFrameIndexField;
  StackFrames& frames = header().stack_frames;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(kFileNames)) {
      frames.file_names.push_back(scope_.builder.Intern(field.bytes));
    } else if (field.tag == AsBytes(kFunctionNames)) {
      frames.function_names.push_back(scope_.builder.Intern(field.bytes));
    } else if (field.tag == AsBytes(kFileLocations)) {
      HLOSCOPE_ASSIGN_OR_RETURN(StackFrames::Location location, ReadLocation(field.bytes));
      frames.locations.push_back(location);
    } else if (field.tag == AsBytes(kStackFrames)) {
      int64_t v[2];
      if (!ReadIntFields(field.bytes, v)) return Malformed("StackFrameIndexProto.StackFrame");
      frames.frames.push_back({static_cast<int32_t>(v[0]), static_cast<int32_t>(v[1])});
    }
  }
  if (!reader.ok()) return Malformed("StackFrameIndexProto");
  return {};
}

}  // namespace hloscope::hlo
