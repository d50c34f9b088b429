// The readers by kind, and what several of them use.
#include "core/dump/errors/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view ErrorPlace::operator[](std::string_view name) const {
  const auto found = captures.find(name);
  return found == captures.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view ErrorPlace::Behind(size_t k) const {
  return at + k < lines.size() ? lines[at + k] : std::string_view();
}

std::optional<Evidence> ReadEvidence(std::string_view kind, const ErrorPlace& place,
                                     ExplainedError& error) {
#define EVIDENCE(name, function) \
  if (kind == name) return function(place, error);
#define EVIDENCE_TOO(name, function) EVIDENCE(name, function)
#include "core/dump/errors/evidence.def"
#undef EVIDENCE_TOO
#undef EVIDENCE
  return std::nullopt;
}

Evidence ReadNothing(const ErrorPlace&, ExplainedError&) { return {}; }

// A report of counters may be written at every step: its first line of an operation tells it.
Evidence ReadCounter(const ErrorPlace& place, ExplainedError& error) {
  const std::string_view operation = place["op"].empty() ? place["ops"] : place["op"];
  error.fix = "use operations that it lowers, or keep it out of the step";
  if (operation == "nonzero" || operation == "masked_select")
    error.fix =
        "XLA_EXPERIMENTAL=nonzero:masked_select lowers it, with a bound on the size of its result; "
        "or an operation whose result has a fixed size, as torch.where of three arguments";
  return {operation.empty() ? "values" : std::string(operation), {}, true};
}

Evidence ReadFirst(const ErrorPlace&, ExplainedError&) { return {"first", {}, true}; }

std::optional<double> BytesOf(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || !(value >= 0)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  constexpr std::string_view kUnits = "KMGTP";
  const size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.front());
  if (unit != kUnits.npos) {
    text.remove_prefix(1);
    for (size_t k = 0; k <= unit; ++k) value *= 1024;
  }
  TakeWord(text, "i");
  TakeWord(text, "B");
  return text.empty() ? std::optional(value) : std::nullopt;
}

std::string SizeText(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}B", bytes) : fmt::format("{:.2f}{}", bytes, kUnits[unit]);
}

std::string_view FindInstruction(const ErrorPlace& place, size_t at, size_t most) {
  for (size_t k = at; k < std::min(place.lines.size(), at + most); ++k) {
    const std::string_view line = place.lines[k];
    for (size_t begin = line.find('%'); begin != line.npos; begin = line.find('%', begin + 1)) {
      const size_t end = line.find_first_of(" ,)", begin);
      if (end != line.npos && line.substr(end).starts_with(" = ")) return line.substr(begin);
    }
  }
  return {};
}

void TakeInstruction(std::string_view text, ExplainedError& error) {
  if (!TakeWord(text, "%")) return;
  if (error.node.empty()) error.node = text.substr(0, text.find_first_of(" ,)"));
  const std::string_view file = Between(text, "source_file=\"", "\"");
  const size_t at = text.find("source_line=");
  if (!error.file.empty() || file.empty() || at == text.npos) return;
  text.remove_prefix(at + std::string_view("source_line=").size());
  const auto line = TakeNumber(text);
  if (!line || *line < 0 || *line > INT32_MAX) return;
  error.file = file;
  error.line = static_cast<int32_t>(*line);
}

std::string ErrorCodeText(std::string_view line) {
  for (size_t at = line.find('E'); at != line.npos; at = line.find('E', at + 1)) {
    const std::string_view code = line.substr(at, 5);
    const bool is_code = code.size() == 5 && std::ranges::all_of(code.substr(1), IsDigit) &&
                         line.substr(at + 5).starts_with(": ") && line.size() > at + 7 &&
                         line[at + 7] >= 'A' && line[at + 7] <= 'Z' &&
                         (at == 0 || line[at - 1] == ' ');
    if (is_code)
      return fmt::format(" ({}, https://openxla.org/xla/errors/error_{})", code, code.substr(1));
  }
  return {};
}

}  // namespace hloscope::dump
