// Entries {"lost" {index}} : {"kept" {index}}, each perhaps with the text of a module that computes
// one from the other.
#include "core/hlo/text/origin_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/hlo/text/text.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

struct Array {
  std::string instruction;
  std::vector<int64_t> index;
  auto operator<=>(const Array&) const = default;
};
struct Entry {
  Array lost, kept;
  std::optional<std::string> module;
};

bool ReadArray(TextCursor& cursor, Array& array) {
  if (!cursor.Consume('{')) return false;
  if (cursor.Peek() == '"') {
    std::optional<std::string> name = cursor.ReadString();
    if (!name) return false;
    array.instruction = std::move(*name);
  }
  if (cursor.Consume('{') && !cursor.Consume('}')) {
    do {
      std::optional<int64_t> number = cursor.ReadInt();
      if (!number) return false;
      array.index.push_back(*number);
    } while (cursor.Consume(','));
    if (!cursor.Consume('}')) return false;
  }
  return cursor.Consume('}');
}

bool ReadEntry(TextCursor& cursor, Entry& entry) {
  if (!ReadArray(cursor, entry.lost) || !cursor.Consume(':') || !ReadArray(cursor, entry.kept)) {
    return false;
  }
  if (!cursor.Consume(',')) return true;
  cursor.SkipSpace();
  entry.module = cursor.ReadString();
  return entry.module.has_value();
}

void AppendArray(std::string& out, const Array& array) {
  out += "{\"" + array.instruction + '"';
  for (size_t i = 0; i < array.index.size(); ++i) {
    out += i == 0 ? " {" : ",";
    out += std::to_string(array.index[i]);
  }
  out += array.index.empty() ? "}" : "}}";
}

// Lines of the module stand four columns in; empty lines stay empty.
bool AppendModule(std::string& out, std::string_view text) {
  ParseResult read = ParseText(text);
  if (!read.ok()) return false;
  std::string printed;
  PrintText(*read.module, TextFormat::kElided, printed);
  for (size_t begin = 0; begin < printed.size();) {
    size_t end = std::min(printed.find('\n', begin), printed.size() - 1) + 1;
    if (end - begin > 1) out += "    ";
    out.append(printed, begin, end - begin);
    begin = end;
  }
  return true;
}

}  // namespace

std::optional<std::string> OriginTableText(std::string_view table) {
  TextCursor cursor(table);
  std::vector<Entry> entries;
  while (!cursor.AtEnd()) {
    if (!ReadEntry(cursor, entries.emplace_back())) return std::nullopt;
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.lost < b.lost; });
  std::string out = "\n";
  for (const Entry& entry : entries) {
    out += "  ";
    AppendArray(out, entry.lost);
    out += " : ";
    AppendArray(out, entry.kept);
    if (entry.module) {
      out += ",\n  \"\n";
      if (!AppendModule(out, *entry.module)) return std::nullopt;
      out += "\n  \"";
    }
    out += '\n';
  }
  return out;
}

}  // namespace hloscope::hlo
