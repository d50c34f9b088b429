// Reading and printing the table of original values lost by passes.
#include "core/hlo/text/origin_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/hlo/text/text_cursor.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// {"name" {0,1}}, or {} for an array without a name.
bool ReadArray(TextCursor& cursor, OriginalArray& array) {
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

bool ReadEntry(TextCursor& cursor, OriginTableEntry& entry) {
  if (!ReadArray(cursor, entry.lost) || !cursor.Consume(':') || !ReadArray(cursor, entry.kept)) {
    return false;
  }
  if (!cursor.Consume(',')) return true;
  cursor.SkipSpace();
  entry.module = cursor.ReadString();
  return entry.module.has_value();
}

auto Key(const OriginTableEntry& entry) {
  return std::tie(entry.lost.instruction, entry.lost.index);
}

void AppendArray(std::string& out, const OriginalArray& array) {
  out += "{\"";
  AppendEscaped(out, array.instruction);
  out += '"';
  for (size_t i = 0; i < array.index.size(); ++i) {
    out += i == 0 ? " {" : ",";
    out += std::to_string(array.index[i]);
  }
  out += array.index.empty() ? "}" : "}}";
}

// Lines of the module stand four columns in; empty lines stay empty.
bool AppendModule(std::string& out, std::string_view text, TextFormat format) {
  ParseResult read = ParseText(text);
  if (!read.ok()) return false;
  std::string printed;
  PrintText(*read.module, format, printed);
  if (format == TextFormat::kHlo) {
    AppendEscaped(out, printed);
    return true;
  }
  for (size_t begin = 0; begin < printed.size();) {
    size_t end = std::min(printed.find('\n', begin), printed.size() - 1) + 1;
    if (end - begin > 1) out += "    ";
    out.append(printed, begin, end - begin);
    begin = end;
  }
  return true;
}

}  // namespace

std::optional<std::vector<OriginTableEntry>> ReadOriginTable(std::string_view table) {
  TextCursor cursor(table);
  std::vector<OriginTableEntry> entries;
  while (!cursor.AtEnd()) {
    if (!ReadEntry(cursor, entries.emplace_back())) return std::nullopt;
  }
  std::ranges::stable_sort(entries, [](const auto& a, const auto& b) { return Key(a) < Key(b); });
  auto repeated =
      std::ranges::unique(entries, [](const auto& a, const auto& b) { return Key(a) == Key(b); });
  entries.erase(repeated.begin(), repeated.end());
  return entries;
}

std::optional<std::string> OriginTableText(std::span<const OriginTableEntry> entries,
                                           TextFormat format) {
  if (entries.empty()) return std::string();
  std::string out = "\n";
  for (const OriginTableEntry& entry : entries) {
    out += "  ";
    AppendArray(out, entry.lost);
    out += " : ";
    AppendArray(out, entry.kept);
    if (entry.module) {
      out += ",\n  \"\n";
      if (!AppendModule(out, *entry.module, format)) return std::nullopt;
      out += "\n  \"";
    }
    out += '\n';
  }
  return out;
}

}  // namespace hloscope::hlo
