// xla.OpMetadata in protos, as a struct of interned strings and as text.
#include "core/hlo/proto/proto_metadata.h"

#include <fmt/format.h>

#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/text/text_cursor.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

std::string InJsonQuotes(std::string_view text) {
  std::string quoted = "\"";
  AppendEscaped(quoted, text);
  return quoted += '"';
}

// Payloads stand in texts as quoted strings or as bare words and JSON.
std::string Unquoted(std::string_view text) {
  TextCursor cursor(text);
  std::optional<std::string> string = cursor.ReadString();
  return string && cursor.AtEnd() ? *std::move(string) : std::string(text);
}

// "1,2" from the numbers of a repeated enum.
std::string Joined(const std::vector<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::vector<int64_t> SplitNumbers(std::string_view text) {
  std::vector<int64_t> numbers;
  TextCursor cursor(text);
  while (auto number = cursor.ReadInt()) {
    numbers.push_back(*number);
    cursor.Consume(',');
  }
  return numbers;
}

class MetadataReader {
 public:
  MetadataReader(ModuleBuilder& builder, std::span<const std::string_view> payloads,
                 std::string& unknown)
      : builder_(builder), payloads_(payloads), unknown_(unknown) {}

  Result<OpMetadata> Read(std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (TakeString(field) || TakeNumber(field)) continue;
      HLOSCOPE_TRY(TakeRare(field));
    }
    if (!reader.ok()) return Malformed("OpMetadata");
    if (!profile_types_.empty()) metadata_.profile_type = builder_.Intern(Joined(profile_types_));
    return metadata_;
  }

 private:
  bool TakeString(const WireField& field) {
    using namespace MetadataField;
    StringId* place = nullptr;
    switch (field.tag) {
      case AsBytes(kOpType):
        place = &metadata_.op_type;
        break;
      case AsBytes(kOpName):
        place = &metadata_.op_name;
        break;
      case AsBytes(kSourceFile):
        place = &metadata_.source_file;
        break;
      case AsBytes(kDeduplicatedName):
        place = &metadata_.deduplicated_name;
        break;
      case AsBytes(kSchedulingName):
        place = &metadata_.scheduling_name;
        break;
      default:
        return false;
    }
    if (!field.bytes.empty()) *place = builder_.Intern(field.bytes);
    return true;
  }

  bool TakeNumber(const WireField& field) {
    using namespace MetadataField;
    switch (field.tag) {
      case AsVarint(kSourceLine):
        metadata_.source_line = field.AsInt32();
        return true;
      case AsVarint(kSourceEndLine):
        metadata_.source_end_line = field.AsInt32();
        return true;
      case AsVarint(kSourceColumn):
        metadata_.source_column = field.AsInt32();
        return true;
      case AsVarint(kSourceEndColumn):
        metadata_.source_end_column = field.AsInt32();
        return true;
      case AsVarint(kStackFrameId):
        metadata_.stack_frame_id = field.AsInt32();
        return true;
      default:
        return false;
    }
  }

  Status TakeRare(const WireField& field) {
    using namespace MetadataField;
    if (field.tag == AsBytes(kProfileType) || field.tag == AsVarint(kProfileType)) {
      if (!AppendInts(field, profile_types_)) return Malformed("OpMetadata");
    } else if (field.tag == AsBytes(kMetadataPayload)) {
      HLOSCOPE_ASSIGN_OR_RETURN(std::string_view payload, ReadPayload(field.bytes, payloads_));
      metadata_.metadata_payload = builder_.Intern(InJsonQuotes(payload));
    } else {
      unknown_.append(field.raw);
    }
    return {};
  }

  ModuleBuilder& builder_;
  std::span<const std::string_view> payloads_;
  std::string& unknown_;
  OpMetadata metadata_;
  std::vector<int64_t> profile_types_;
};

void WritePayload(WireWriter& out, std::string_view text) {
  auto mark = out.Open(MetadataField::kMetadataPayload);
  out.Bytes(PayloadField::kValue, Unquoted(text));
  out.Close(mark);
}

struct TextRow {
  std::string_view name;
  uint32_t number;
  bool is_string;
};
// In the order XLA prints them.
constexpr TextRow kTextRows[] = {
    {"op_type", MetadataField::kOpType, true},
    {"op_name", MetadataField::kOpName, true},
    {"source_file", MetadataField::kSourceFile, true},
    {"source_line", MetadataField::kSourceLine, false},
    {"source_end_line", MetadataField::kSourceEndLine, false},
    {"source_column", MetadataField::kSourceColumn, false},
    {"source_end_column", MetadataField::kSourceEndColumn, false},
    {"stack_frame_id", MetadataField::kStackFrameId, false},
    {"deduplicated_name", MetadataField::kDeduplicatedName, true},
    {"scheduling_name", MetadataField::kSchedulingName, true},
};

}  // namespace

Result<std::string_view> ReadPayload(std::string_view bytes,
                                     std::span<const std::string_view> payloads) {
  std::string_view payload;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(PayloadField::kValue)) payload = field.bytes;
    if (field.tag != AsVarint(PayloadField::kId)) continue;
    if (field.value >= payloads.size()) {
      return InputError(fmt::format("payload {} does not exist, the module has {}", field.AsInt64(),
                                    payloads.size()));
    }
    payload = payloads[field.value];
  }
  if (!reader.ok()) return Malformed("Payload");
  return payload;
}

Result<OpMetadata> ReadMetadata(std::string_view bytes, ModuleBuilder& builder,
                                std::span<const std::string_view> payloads, std::string& unknown) {
  return MetadataReader(builder, payloads, unknown).Read(bytes);
}

void WriteMetadata(WireWriter& out, const Module& module, const OpMetadata& metadata) {
  using namespace MetadataField;
  out.BytesUnlessEmpty(kOpType, module[metadata.op_type]);
  out.BytesUnlessEmpty(kOpName, module[metadata.op_name]);
  out.BytesUnlessEmpty(kSourceFile, module[metadata.source_file]);
  out.IntUnlessZero(kSourceLine, metadata.source_line);
  if (metadata.profile_type.valid()) {
    out.PackedInts(kProfileType, SplitNumbers(module[metadata.profile_type]));
  }
  out.BytesUnlessEmpty(kDeduplicatedName, module[metadata.deduplicated_name]);
  out.IntUnlessZero(kStackFrameId, metadata.stack_frame_id);
  out.BytesUnlessEmpty(kSchedulingName, module[metadata.scheduling_name]);
  out.IntUnlessZero(kSourceEndLine, metadata.source_end_line);
  out.IntUnlessZero(kSourceColumn, metadata.source_column);
  out.IntUnlessZero(kSourceEndColumn, metadata.source_end_column);
  if (metadata.metadata_payload.valid()) WritePayload(out, module[metadata.metadata_payload]);
}

Result<std::string> ReadMetadataText(std::string_view bytes) {
  std::string text;
  for (const TextRow& row : kTextRows) {
    WireReader fields(bytes);
    WireField field;
    while (fields.Next(field)) {
      if (field.tag != (row.is_string ? AsBytes(row.number) : AsVarint(row.number))) continue;
      if (!text.empty()) text += ' ';
      text += row.name;
      text += '=';
      text += row.is_string ? InJsonQuotes(field.bytes) : fmt::format("{}", field.AsInt32());
    }
    if (!fields.ok()) return Malformed("OpMetadata");
  }
  return text;
}

void WriteMetadataText(WireWriter& out, std::string_view text) {
  TextCursor cursor(text);
  while (!cursor.AtEnd()) {
    std::string_view name = cursor.ReadWord();
    if (name.empty() || !cursor.Consume('=')) return;
    std::optional<std::string> string = cursor.ReadString();
    std::optional<int64_t> number = string ? std::nullopt : cursor.ReadInt();
    if (!string && !number) return;
    for (const TextRow& row : kTextRows) {
      if (row.name != name || row.is_string != string.has_value()) continue;
      if (string) out.Bytes(row.number, *string);
      if (number) out.Int(row.number, *number);
    }
    cursor.Consume(',');
  }
}

}  // namespace hloscope::hlo
