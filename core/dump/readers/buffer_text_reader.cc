// -buffer-assignment.txt: "allocation N: size …:" headers, each followed by " value: <…>" lines.
#include <fmt/format.h>

#include <algorithm>

#include "core/dump/readers/buffer_reader.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// The number after `label`, if it is there.
std::optional<int64_t> NumberAfter(std::string_view text, std::string_view label) {
  size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view number = text.substr(at + label.size());
  return TakeNumber(number);
}

bool Holds(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// "allocation 3: size 5120, page 0, parameter 4, shape |f32[128,10]| at ShapeIndex {}, …:"
std::optional<BufferAllocation> ReadHeader(std::string_view line) {
  BufferAllocation allocation;
  if (!TakeWord(line, "allocation ")) return std::nullopt;
  auto index = TakeNumber(line);
  if (!index || !TakeWord(line, ": size ")) return std::nullopt;
  auto size = TakeNumber(line);
  if (!size || *size < 0) return std::nullopt;
  allocation.index = *index;
  allocation.size = *size;
  // Shapes stand between bars and may hold any words.
  size_t bar = line.find('|');
  size_t end_bar = bar == std::string_view::npos ? bar : line.find('|', bar + 1);
  std::string_view before = line.substr(0, bar);
  std::string_view after =
      end_bar == std::string_view::npos ? std::string_view() : line.substr(end_bar + 1);
  allocation.color = NumberAfter(before, ", color ").value_or(0);
  allocation.parameter_number = NumberAfter(before, ", parameter ").value_or(-1);
  if (allocation.parameter_number >= 0) {
    allocation.parameter_shape_index =
        ParseShapeIndex("{" + std::string(Between(after, "ShapeIndex {", "}")) + "}");
  }
  for (std::string_view part : {before, after}) {
    allocation.is_constant |= Holds(part, ", constant");
    allocation.is_thread_local |= Holds(part, ", thread-local");
    allocation.maybe_live_out |= Holds(part, ", maybe-live-out");
    allocation.is_preallocated_temp |= Holds(part, ", preallocated-temp");
  }
  allocation.is_tuple = Holds(line, ", output shape is |");
  return allocation;
}

// "<215 loop_reduce_fusion{0} @0> (size=131072,offset=0): f32[128,256]{1,0}"; names hold no space.
std::optional<BufferValue> ReadValue(std::string_view line) {
  BufferValue value;
  if (!TakeWord(line, "<")) return std::nullopt;
  auto id = TakeNumber(line);
  if (!id || !TakeWord(line, " ")) return std::nullopt;
  value.id = *id;
  size_t close = line.find("> (size=");
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(0, close);
  line.remove_prefix(close + std::string_view("> (size=").size());
  auto size = TakeNumber(line);
  if (!size || *size < 0 || !TakeWord(line, ",offset=")) return std::nullopt;
  auto offset = TakeNumber(line);
  if (!offset || *offset < 0) return std::nullopt;
  value.size = *size;
  value.offset = *offset;
  if (!TakeWord(line, "): ") && line != ")") return std::nullopt;
  if (!IsPrintable(line) || !IsPrintable(name) || Holds(line, "value: <")) return std::nullopt;
  value.shape = line == ")" ? std::string_view() : line;
  if (size_t at = name.rfind(" @"); at != std::string_view::npos) {
    std::string_view color = name.substr(at + 2);
    value.color = TakeNumber(color).value_or(0);
    name = name.substr(0, at);
  }
  if (name.ends_with(" (phi)")) name.remove_suffix(6);
  if (size_t brace = name.find('{'); brace != std::string_view::npos && name.ends_with('}')) {
    value.shape_index = ParseShapeIndex(name.substr(brace));
    name = name.substr(0, brace);
  }
  value.instruction = name;
  return value;
}

}  // namespace

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::vector<int64_t> ParseShapeIndex(std::string_view text) {
  std::vector<int64_t> index;
  if (!TakeWord(text, "{")) return index;
  while (true) {
    text = TrimStart(text);
    auto number = TakeNumber(text);
    if (!number) return index;
    index.push_back(*number);
    if (!TakeWord(text, ",")) return index;
  }
}

Result<BufferTable> ReadBufferText(std::string_view text) {
  BufferTable table;
  LineReader lines(text);
  std::string_view line;
  bool known = false;
  int64_t unknown = 0;
  int32_t first_unknown = 0;
  while (lines.Next(line)) {
    std::string_view trimmed = TrimStart(line);
    if (trimmed == "BufferAssignment:") known = true;
    if (line.starts_with("allocation ")) {
      auto allocation = ReadHeader(line);
      if (!allocation) {
        table.warnings.push_back(fmt::format("line {}: not an allocation", lines.number()));
        continue;
      }
      if (!line.ends_with(':'))
        table.warnings.push_back(fmt::format("line {}: the file is cut off", lines.number()));
      known = true;
      table.allocations.push_back(*std::move(allocation));
    } else if (TakeWord(trimmed, "value: ")) {
      auto value = ReadValue(trimmed);
      if (!value || table.allocations.empty()) {
        table.warnings.push_back(fmt::format("line {}: not a value", lines.number()));
        continue;
      }
      value->allocation = static_cast<int32_t>(table.allocations.size()) - 1;
      table.values.push_back(*std::move(value));
    } else if (trimmed.starts_with("Total bytes used:") || trimmed.starts_with("Used values:") ||
               trimmed.starts_with("HloLiveRange")) {
      break;
    } else if (!trimmed.empty() && trimmed != "BufferAssignment:" && unknown++ == 0) {
      first_unknown = lines.number();
    }
  }
  if (unknown != 0 && known)
    table.warnings.push_back(
        fmt::format("line {}: neither an allocation nor a value{}", first_unknown,
                    unknown == 1 ? "" : fmt::format(", the first of {} such lines", unknown)));
  if (!known) return InputError("not a buffer assignment, expected `BufferAssignment:`");
  if (!text.ends_with('\n')) table.warnings.emplace_back("the last line is cut off");
  table.source = BufferSource::kText;
  FinishBuffers(table);
  return table;
}

}  // namespace hloscope::dump
