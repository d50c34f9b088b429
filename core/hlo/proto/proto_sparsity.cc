// sparsity_config in protos: kept as text in a module, `{lhs={sparsity=1x4 dimension=1 stride=1}}`.
#include <fmt/format.h>

#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

Status AppendSide(std::string& text, std::string_view name, std::string_view bytes) {
  int64_t v[4];  // num_non_zero, block_size, dimension, stride
  if (!ReadIntFields(bytes, v)) return Malformed("TensorSparsityConfig");
  if (!text.empty()) text += ' ';
  text += fmt::format("{}={{sparsity={}x{} dimension={} stride={}}}", name, v[0], v[1], v[2], v[3]);
  return {};
}

// One `key=value` between the braces of a side; false where it is none.
bool ReadPart(TextCursor& cursor, int64_t (&values)[4]) {
  std::string_view key = cursor.ReadWord();
  if (key.empty() || !cursor.Consume('=')) return false;
  if (key == "sparsity") {
    const char* start = cursor.position();
    while (cursor.position() != cursor.end() && !TextCursor::IsSpace(*cursor.position()) &&
           *cursor.position() != '}') {
      cursor.set_position(cursor.position() + 1);
    }
    std::string_view ratio = cursor.Since(start);
    size_t x = ratio.find('x');
    if (x == std::string_view::npos) return false;
    TextCursor before(ratio.substr(0, x)), after(ratio.substr(x + 1));
    values[0] = before.ReadInt().value_or(0);
    values[1] = after.ReadInt().value_or(0);
    return true;
  }
  std::optional<int64_t> number = cursor.ReadInt();
  if (!number) return false;
  if (key == "dimension") values[2] = *number;
  if (key == "stride") values[3] = *number;
  return true;
}

bool ReadSide(TextCursor& cursor, WireWriter& out) {
  std::string_view name = cursor.ReadWord();
  if ((name != "lhs" && name != "rhs") || !cursor.Consume('=') || !cursor.Consume('{')) {
    return false;
  }
  int64_t values[4] = {};
  while (!cursor.Consume('}')) {
    if (!ReadPart(cursor, values)) return false;
    cursor.Consume(',');
  }
  auto mark = out.Open(name == "lhs" ? SparsityField::kLhs : SparsityField::kRhs);
  for (uint32_t i = 0; i < 4; ++i) out.IntUnlessZero(i + 1, values[i]);
  out.Close(mark);
  return true;
}

}  // namespace

Result<std::string> ReadSparsityText(std::string_view bytes) {
  std::string text;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(SparsityField::kLhs))
      HLOSCOPE_TRY(AppendSide(text, "lhs", field.bytes));
    if (field.tag == AsBytes(SparsityField::kRhs))
      HLOSCOPE_TRY(AppendSide(text, "rhs", field.bytes));
  }
  if (!reader.ok()) return Malformed("SparsityConfig");
  if (!text.empty()) text = "{" + text + "}";
  return text;
}

void WriteSparsityText(WireWriter& out, std::string_view text) {
  TextCursor cursor(text);
  if (!cursor.Consume('{')) return;
  while (cursor.Peek() != '}' && ReadSide(cursor, out)) cursor.Consume(',');
}

}  // namespace hloscope::hlo
