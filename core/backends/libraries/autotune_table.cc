#include "core/backends/libraries/autotune_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/counted.h"
#include "core/base/strings.h"

namespace hloscope::replay::libraries {
namespace {

constexpr std::string_view kHead =
    "device\tcapability\tdriver\tlibrary\tversion\topcode\tform\tway\tfrom\ttime_us";
constexpr size_t kFields = 10;

std::string Plain(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

template <typename T>
bool Read(std::string_view text, T& to) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, to);
  return read.ec == std::errc() && read.ptr == end && to >= 0 && !text.empty();
}

}  // namespace

std::string RowOf(const AutotuneResult& choice) {
  const AutotuneKey& key = choice.key;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", Plain(key.device), key.capability,
                     choice.driver, Plain(key.library), Plain(choice.version), Plain(key.opcode),
                     Plain(key.form), Plain(choice.way), Plain(choice.from), choice.time_us);
}

std::string TableOf(std::vector<std::string> rows) {
  if (rows.empty()) return {};
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  return fmt::format("{}\n{}\n", kHead, fmt::join(rows, "\n"));
}

Result<std::vector<AutotuneResult>> ReadTable(std::string_view text, std::string_view name) {
  std::vector<AutotuneResult> out;
  if (text.empty()) return out;
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::vector<std::string_view> lines = StrSplit(text, '\n');
  if (lines[0] != kHead) {
    return InputError(
        fmt::format("{}:1: not a table of autotune results: expected the line `{}`", name, kHead),
        "take it out of a bundle that `hloscope bundle create` wrote");
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string_view> fields = StrSplit(lines[i], '\t');
    AutotuneResult choice;
    if (fields.size() != kFields) {
      return InputError(fmt::format("{}:{}: {} with tabs between them, expected {}", name, i + 1,
                                    Counted(fields.size(), "field"), kFields));
    }
    const bool is_read = Read(fields[1], choice.key.capability) && Read(fields[2], choice.driver) &&
                         Read(fields[9], choice.time_us) && std::isfinite(choice.time_us);
    if (!is_read || fields[7].empty()) {
      return InputError(fmt::format(
          "{}:{}: capability, driver and time_us are numbers of at least 0, way is a string", name,
          i + 1));
    }
    choice.key.device = fields[0];
    choice.key.library = fields[3];
    choice.version = fields[4];
    choice.key.opcode = fields[5];
    choice.key.form = fields[6];
    choice.way = fields[7];
    choice.from = fields[8];
    out.push_back(std::move(choice));
  }
  return out;
}

}  // namespace hloscope::replay::libraries
