// Taking apart the names XLA gives its dump files: [timestamp.]module_<id>.<module name>.<stage or
// suffix>.
#include <algorithm>
#include <array>
#include <charconv>

#include "core/dump/directory.h"

namespace hloscope::dump {
namespace {

constexpr std::array<std::string_view, 9> kModuleSuffixes = {
    ".txt", ".hlo.pb", ".pb", ".hlo", ".pbtxt", ".riegeli", ".dot", ".html", ".textproto"};

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// True for a word of a name that begins a stage: before_optimizations,
// sm_9.0_gpu_after_optimizations, …
bool IsStageWord(std::string_view word) {
  constexpr std::array<std::string_view, 5> kWhole = {
      "before_optimizations", "before_optimization", "after_spmd_partitioner",
      "before_config_assignment", "after_optimization"};
  return std::ranges::find(kWhole, word) != kWhole.end() || word.ends_with("after_optimizations");
}

// The start of "<4 digits>.<pipeline>.after_<pass>.before_<next>" in `rest`, or npos.
size_t FindPassStage(std::string_view rest) {
  for (size_t at = 0; at + 5 <= rest.size(); ++at) {
    if (at != 0 && rest[at - 1] != '.') continue;
    if (!IsDigits(rest.substr(at, 4)) || rest[at + 4] != '.') continue;
    if (rest.find(".after_", at) != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

// The start of the last stage word in `rest`, or npos. "sm_9.0_gpu_after_optimizations" has a dot
// inside.
size_t FindStage(std::string_view rest) {
  if (size_t pass = FindPassStage(rest); pass != std::string_view::npos) return pass;
  size_t end = rest.size();
  while (true) {
    size_t dot = rest.rfind('.', end == 0 ? 0 : end - 1);
    size_t start = dot == std::string_view::npos ? 0 : dot + 1;
    if (IsStageWord(rest.substr(start, end - start))) {
      size_t sm = rest.rfind(".sm_", start);
      bool dotted =
          sm != std::string_view::npos && rest.find("_gpu_after", sm) != std::string_view::npos;
      return dotted ? sm + 1 : start;
    }
    if (dot == std::string_view::npos || dot == 0) return std::string_view::npos;
    end = dot;
  }
}

}  // namespace

int StageRank(std::string_view stage) {
  if (stage.starts_with("before_optimization")) return 0;
  if (stage.size() > 4 && IsDigits(stage.substr(0, 4))) {
    int number = 0;
    std::from_chars(stage.data(), stage.data() + 4, number);
    return 10 + number;
  }
  if (stage == "after_spmd_partitioner") return 20'000;
  if (stage == "before_config_assignment") return 20'001;
  if (stage.find("after_optimization") != std::string_view::npos) return 20'002;
  return 20'003;
}

std::optional<DumpFileName> ParseDumpFileName(std::string_view file_name) {
  DumpFileName parsed;
  std::string_view rest = file_name;
  size_t dot = rest.find('.');
  if (dot != std::string_view::npos && dot >= 10 && IsDigits(rest.substr(0, dot))) {
    parsed.timestamp = rest.substr(0, dot);
    rest.remove_prefix(dot + 1);
  }
  if (!rest.starts_with("module_")) return std::nullopt;
  rest.remove_prefix(7);
  size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits < 4 || digits > 18) return std::nullopt;
  std::from_chars(rest.data(), rest.data() + digits, parsed.id);
  rest.remove_prefix(digits);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  if (rest.ends_with(".gz")) rest.remove_suffix(3);
  std::string_view stem = rest;
  bool module_file = false;
  for (std::string_view suffix : kModuleSuffixes) {
    if (!stem.ends_with(suffix)) continue;
    stem.remove_suffix(suffix.size());
    module_file = true;
    break;
  }
  size_t stage = FindStage(stem);
  if (stage == std::string_view::npos) {
    size_t end = std::min(rest.find('.'), rest.size());
    parsed.module = rest.substr(0, end);
    parsed.rest = rest.substr(std::min(end + 1, rest.size()));
    return parsed;
  }
  parsed.module = stem.substr(0, stage == 0 ? 0 : stage - 1);
  std::string_view tail = stem.substr(stage);
  bool plain = module_file && tail.find("optimizations-") == std::string_view::npos &&
               !tail.ends_with(".top_level");
  (plain ? parsed.stage : parsed.rest) = tail;
  return parsed;
}

}  // namespace hloscope::dump
