// The table of original values lost by passes: for each the array that has it now, and the module
// that computes it from there.
#include "core/hlo/proto/proto_recovery.h"

#include <optional>

#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_reader.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/text_cursor.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// A module that recovers a value may have such a table too; printing each inside the other grows
// with the product of depth and size.
constexpr int64_t kMaxDepth = 2;

void AppendArray(std::string& text, std::string_view bytes_or_empty, const OriginalArray& array) {
  text += '{';
  if (!bytes_or_empty.empty()) {
    text += '"';
    AppendEscaped(text, array.instruction);
    text += '"';
    if (!array.index.empty()) text += " {";
    for (size_t i = 0; i < array.index.size(); ++i) {
      if (i > 0) text += ',';
      text += std::to_string(array.index[i]);
    }
    if (!array.index.empty()) text += '}';
  }
  text += '}';
}

// The text of a module, every line moved in by four.
void AppendIndented(std::string& text, std::string_view module) {
  while (!module.empty()) {
    size_t end = std::min(module.find('\n'), module.size() - 1);
    if (end > 0) text += "    ";
    text += module.substr(0, end + 1);
    module.remove_prefix(end + 1);
  }
}

Status AppendEntry(std::string& text, std::string_view bytes, const Limits& limits, int64_t depth) {
  using namespace RecoveryEntryField;
  std::string_view before, after, module_bytes;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(kOldOriginalArray)) before = field.bytes;
    if (field.tag == AsBytes(kNewOriginalArray)) after = field.bytes;
    if (field.tag == AsBytes(kRecoveryModule)) module_bytes = field.bytes;
  }
  if (!reader.ok()) return Malformed("OriginalValueRecoveryTableProto.Entry");
  HLOSCOPE_ASSIGN_OR_RETURN(OriginalArray old_array, ReadOriginalArray(before));
  HLOSCOPE_ASSIGN_OR_RETURN(OriginalArray new_array, ReadOriginalArray(after));
  text += text.empty() ? "\n  " : ",\n  ";
  AppendArray(text, before, old_array);
  text += " : ";
  AppendArray(text, after, new_array);
  if (module_bytes.empty()) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const Module> module,
                            ReadModuleProto(module_bytes, limits, nullptr, depth + 1));
  std::string printed;
  PrintText(*module, TextFormat::kHlo, printed);
  std::string escaped;
  AppendIndented(escaped, printed);
  text += ",\n  \"\n" + escaped + "\n  \"";
  return {};
}

// {"name" {0,1}} or {}; false where it is neither.
bool ReadArray(TextCursor& cursor, std::optional<OriginalArray>& array) {
  if (!cursor.Consume('{')) return false;
  if (cursor.Consume('}')) return true;
  std::optional<std::string> name = cursor.ReadString();
  if (!name) return false;
  array = OriginalArray{*std::move(name), {}};
  if (cursor.Consume('{')) {
    while (auto index = cursor.ReadInt()) {
      array->index.push_back(*index);
      cursor.Consume(',');
    }
    if (!cursor.Consume('}')) return false;
  }
  return cursor.Consume('}');
}

bool WriteEntry(WireWriter& out, TextCursor& cursor) {
  using namespace RecoveryEntryField;
  std::optional<OriginalArray> old_array, new_array;
  if (!ReadArray(cursor, old_array) || !cursor.Consume(':') || !ReadArray(cursor, new_array)) {
    return false;
  }
  std::string module_bytes;
  if (cursor.Consume(',') && cursor.Peek() == '"') {
    std::optional<std::string> text = cursor.ReadString();
    ParseResult parsed = text ? ParseText(*text) : ParseResult();
    if (!parsed.ok()) return false;
    module_bytes = ModuleToProto(*parsed.module);
    cursor.Consume(',');
  }
  auto mark = out.Open(RecoveryTableField::kEntries);
  if (old_array) WriteOriginalArray(out, kOldOriginalArray, *old_array);
  if (new_array) WriteOriginalArray(out, kNewOriginalArray, *new_array);
  out.BytesUnlessEmpty(kRecoveryModule, module_bytes);
  out.Close(mark);
  return true;
}

}  // namespace

Result<std::string> ReadRecoveryText(std::string_view bytes, const Limits& limits, int64_t depth) {
  std::string text;
  if (depth >= kMaxDepth) return text;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(RecoveryTableField::kEntries)) continue;
    HLOSCOPE_TRY(AppendEntry(text, field.bytes, limits, depth));
  }
  if (!reader.ok()) return Malformed("OriginalValueRecoveryTableProto");
  if (!text.empty()) text += '\n';
  return text;
}

void WriteRecoveryText(WireWriter& out, std::string_view text) {
  TextCursor cursor(text);
  while (!cursor.AtEnd() && WriteEntry(out, cursor)) {
  }
}

}  // namespace hloscope::hlo
