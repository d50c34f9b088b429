// PtxLines: written as arguments of events, read back and added up.
#include "profiler/ptx_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

namespace hloscope::profiler {
namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

template <typename T>
bool ReadNumber(std::string_view text, T& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// What stands before the first `end`, which is passed over with it.
std::string_view TakeTo(char end, std::string_view& text) {
  const size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

void ReadStalls(std::string_view text, PtxLine& line) {
  while (!text.empty()) {
    std::string_view number = TakeTo(' ', text);
    const std::string_view word = TakeTo('=', number);
    uint64_t count = 0;
    if (ReadNumber(number, count)) line.stalls[std::string(word)] += count;
  }
}

void ReadRow(std::string_view row, LineCounting counting, PtxLines& lines) {
  PtxLine line;
  line.kernel = TakeTo('\t', row);
  if (!ReadNumber(TakeTo('\t', row), line.line)) return;
  if (!ReadNumber(TakeTo('\t', row), line.count)) return;
  ReadStalls(TakeTo('\t', row), line);
  line.text = row;
  lines.Add(counting, std::move(line));
}

}  // namespace

std::string_view ToString(LineCounting counting) {
  return counting == LineCounting::kSamples ? "samples" : "executed";
}

std::vector<std::pair<std::string_view, uint64_t>> PtxLine::MostStalls() const {
  std::vector<std::pair<std::string_view, uint64_t>> all(stalls.begin(), stalls.end());
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const auto& each) { return each.second; });
  return all;
}

std::vector<const PtxLine*> PtxLines::InOrder() const {
  std::vector<const PtxLine*> all;
  for (const auto& [place, line] : lines_) all.push_back(&line);
  return all;
}

std::vector<const PtxLine*> PtxLines::Hottest() const {
  std::vector<const PtxLine*> all = InOrder();
  std::ranges::stable_sort(all, std::ranges::greater(), &PtxLine::count);
  return all;
}

void PtxLines::Add(LineCounting counting, PtxLine line) {
  if (counting != counting_) {
    if (counting == LineCounting::kExecuted && !lines_.empty()) return;
    lines_.clear();
    total_ = 0;
    counting_ = counting;
  }
  total_ += line.count;
  const auto [entry, is_new] =
      lines_.try_emplace({line.kernel, line.line}, PtxLine{line.kernel, line.line, {}, 0, {}});
  PtxLine& own = entry->second;
  if (own.text.empty()) own.text = std::move(line.text);
  own.count += line.count;
  for (const auto& [word, count] : line.stalls) own.stalls[word] += count;
}

void PtxLines::Add(const PtxLines& other) {
  for (const auto& [place, line] : other.lines_) Add(other.counting_, line);
}

Argument ArgumentOf(const PtxLines& lines) {
  std::string out;
  for (const PtxLine* line : lines.InOrder()) {
    std::string stalls;
    for (const auto& [word, count] : line->stalls) {
      stalls += fmt::format("{}{}={}", stalls.empty() ? "" : " ", word, count);
    }
    out += fmt::format("{}{}\t{}\t{}\t{}\t{}", out.empty() ? "" : "\n", line->kernel, line->line,
                       line->count, stalls, line->text);
  }
  const bool is_sampled = lines.counting() == LineCounting::kSamples;
  return {std::string(is_sampled ? kSampledLinesArgument : kExecutedLinesArgument), std::move(out)};
}

std::optional<PtxLines> PtxLinesOf(std::span<const Argument> arguments) {
  std::optional<PtxLines> lines;
  for (const Argument& argument : arguments) {
    const bool is_sampled = argument.name == kSampledLinesArgument;
    if (!is_sampled && argument.name != kExecutedLinesArgument) continue;
    const auto* const text = std::get_if<std::string>(&argument.value);
    if (text == nullptr) continue;
    if (!lines) lines.emplace();
    for (std::string_view rest = *text; !rest.empty();) {
      ReadRow(TakeTo('\n', rest), is_sampled ? LineCounting::kSamples : LineCounting::kExecuted,
              *lines);
    }
  }
  return lines;
}

KernelText::KernelText(std::string_view text) {
  while (!text.empty()) lines_.push_back(TakeTo('\n', text));
}

PtxLine KernelText::LineOf(std::string_view kernel, uint32_t first, uint32_t line) const {
  PtxLine out{std::string(kernel), 0, {}, 0, {}};
  if (first == 0 || line < first || line > lines_.size()) return out;
  out.line = line - first + 1;
  out.text = Trimmed(lines_[line - 1]);
  std::ranges::replace(out.text, '\t', ' ');
  return out;
}

uint32_t KernelText::FirstOf(std::string_view kernel) const {
  constexpr std::string_view kEntry = ".entry";
  for (size_t i = 0; i < lines_.size(); ++i) {
    const size_t at = lines_[i].find(kEntry);
    if (at == std::string_view::npos) continue;
    std::string_view name = Trimmed(lines_[i].substr(at + kEntry.size()));
    name = Trimmed(name.substr(0, name.find('(')));
    if (name == kernel) return static_cast<uint32_t>(i + 1);
  }
  return 0;
}

}  // namespace hloscope::profiler
