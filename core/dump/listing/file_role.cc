// The table of file roles, and matching names against its patterns.
#include "core/dump/listing/file_role.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "core/base/strings.h"
#include "core/dump/listing/word_list.h"

namespace hloscope::dump {
namespace {

constexpr FileRoleRow kRows[] = {
#define FILE_ROLE(role, name, patterns, stage, kinds, end, flag, reader, description) \
  {name, patterns, StageOf::stage, kinds, TextEnd::end, flag, reader, description},
#include "core/dump/listing/file_roles.def"
#undef FILE_ROLE
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsDigits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, IsDigit); }
size_t CountDigits(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if_not(text, IsDigit) - text.begin());
}

enum class Part : uint8_t { kLiteral, kPoint, kStep, kNumber, kAny };
struct PatternPart {
  Part part;
  std::string_view literal;
};
struct Pattern {
  FileRole role;
  std::vector<PatternPart> parts;
  std::string_view tail;  // the literal it ends in
  bool anchors;           // says where the module's name ends
};

constexpr std::pair<std::string_view, Part> kParts[] = {{"<point>", Part::kPoint},
                                                        {"<step>", Part::kStep},
                                                        {"<n>", Part::kNumber},
                                                        {"<any>", Part::kAny}};

Pattern ParsePattern(FileRole role, std::string_view text) {
  Pattern pattern{role, {}, {}, !text.starts_with('~')};
  if (!pattern.anchors) text.remove_prefix(1);
  while (!text.empty()) {
    auto known = std::ranges::find_if(kParts, [&](auto& p) { return text.starts_with(p.first); });
    if (known != std::end(kParts)) {
      pattern.parts.push_back({known->second, {}});
      text.remove_prefix(known->first.size());
      continue;
    }
    size_t end = std::min(text.find('<'), text.size());
    pattern.parts.push_back({Part::kLiteral, text.substr(0, end)});
    text.remove_prefix(end);
  }
  const Part first = pattern.parts.front().part;
  if (first == Part::kNumber || first == Part::kAny) pattern.anchors = false;
  if (pattern.parts.back().part == Part::kLiteral) pattern.tail = pattern.parts.back().literal;
  return pattern;
}

const std::vector<Pattern>& Patterns() {
  static const std::vector<Pattern> patterns = [] {
    std::vector<Pattern> all;
    for (size_t row = 0; row < kFileRoles; ++row) {
      std::string_view list = kRows[row].patterns;
      while (!list.empty()) {
        size_t end = std::min(list.find(' '), list.size());
        all.push_back(ParsePattern(static_cast<FileRole>(row), list.substr(0, end)));
        list.remove_prefix(std::min(end + 1, list.size()));
      }
    }
    return all;
  }();
  return patterns;
}

// Words that begin a stage. Points of targets carry the target in front.
bool IsPoint(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWhole = {
      "before_optimizations", "before_optimization", "after_spmd_partitioner",
      "before_config_assignment", "after_optimization",
      // XLA:TPU.
      "after_optimizations_before_buffer_assignment", "after_optimizations_after_buffer_assignment",
      "after_codegen"};
  if (std::ranges::find(kWhole, text) != kWhole.end()) return true;
  if (!text.ends_with("after_optimizations")) return false;
  text.remove_suffix(std::string_view("after_optimizations").size());
  if (text.find('.') == std::string_view::npos) return true;
  return (text.starts_with("sm_") || text.starts_with("gfx")) && text.ends_with("_gpu_");
}

// NNNN.<pipeline without dots>.after_…
bool IsStep(std::string_view text) {
  size_t digits = CountDigits(text);
  if (digits < 4 || digits == text.size() || text[digits] != '.') return false;
  std::string_view rest = text.substr(digits + 1);
  size_t dot = rest.find('.');
  return dot != std::string_view::npos && dot != 0 && rest.substr(dot).starts_with(".after_");
}

bool Fits(Part part, std::string_view text) {
  switch (part) {
    case Part::kPoint:
      return IsPoint(text);
    case Part::kStep:
      return IsStep(text);
    case Part::kNumber:
      return IsDigits(text);
    case Part::kAny:
      return !text.empty();
    case Part::kLiteral:
      break;
  }
  return false;
}

// Matches parts[at…] against the whole of `text`; a pattern has at most three wildcards.
bool Match(const Pattern& pattern, size_t at, std::string_view text, RoleMatch& match) {
  if (at == pattern.parts.size()) return text.empty();
  const PatternPart& part = pattern.parts[at];
  if (part.part == Part::kLiteral) {
    return text.starts_with(part.literal) &&
           Match(pattern, at + 1, text.substr(part.literal.size()), match);
  }
  bool last = at + 1 == pattern.parts.size();
  std::string_view next = last ? std::string_view() : pattern.parts[at + 1].literal;
  // Names may hold what follows them, so a wildcard ends at the last place where the rest fits.
  for (size_t end = last ? text.size() : text.rfind(next); end != std::string_view::npos;
       end = end == 0 || last ? std::string_view::npos : text.rfind(next, end - 1)) {
    std::string_view own = text.substr(0, end);
    if (!Fits(part.part, own) || !Match(pattern, at + 1, text.substr(end), match)) continue;
    if (part.part == Part::kPoint || part.part == Part::kStep) match.stage = own;
    if (part.part == Part::kAny) match.detail = own;
    return true;
  }
  return false;
}

}  // namespace

const FileRoleRow& RowOf(FileRole role) { return kRows[static_cast<size_t>(role)]; }
std::string_view ToString(FileRole role) { return RowOf(role).name; }

bool MayHold(FileRole role, FileKind kind) {
  std::string_view kinds = RowOf(role).kinds;
  return kinds.empty() || ListHolds(kinds, ToString(kind));
}

bool IsLogName(std::string_view name) {
  const bool log = name.ends_with(".log") || name.ends_with(".err") || name.ends_with(".out") ||
                   name == "log.txt" || name == "stdout.txt" || name == "stderr.txt";
  return log && name.find("mlir-passes") == std::string_view::npos;
}

std::optional<RoleMatch> MatchRole(std::string_view suffix) {
  for (const Pattern& pattern : Patterns()) {
    if (!suffix.ends_with(pattern.tail)) continue;
    RoleMatch match{pattern.role, {}, {}};
    if (Match(pattern, 0, suffix, match)) {
      if (pattern.role == FileRole::kInPass) {
        if (CountDigits(suffix) < 4) continue;
        match.stage = suffix.substr(0, suffix.size() - pattern.tail.size());
      }
      return match;
    }
  }
  return std::nullopt;
}

std::optional<FoundRole> FindRole(std::string_view rest) {
  for (const Pattern& pattern : Patterns()) {
    if (!rest.ends_with(pattern.tail) || !pattern.anchors) continue;
    for (size_t at = 0; at < rest.size();) {
      RoleMatch match{pattern.role, {}, {}};
      if (Match(pattern, 0, rest.substr(at), match)) return FoundRole{match, at};
      size_t dot = rest.find('.', at);
      if (dot == std::string_view::npos) break;
      at = dot + 1;
    }
  }
  return std::nullopt;
}

std::string_view BareFileName(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return path;
}

std::string_view GraphStemOf(std::string_view path) {
  const std::string_view name = BareFileName(path);
  return name.substr(0, name.find('.'));
}

std::string_view GraphPointOf(std::string_view path) {
  return WithoutNumberSuffix(GraphStemOf(path));
}

namespace {

bool IsTimestamp(std::string_view word) { return word.size() >= 10 && IsDigits(word); }

// "rank3", "host_01": what launchers put in front to keep the files of processes apart.
bool IsRank(std::string_view word) {
  constexpr std::string_view kWords[] = {"rank", "process", "proc", "host",
                                         "task", "worker",  "node", "pid"};
  for (std::string_view begin : kWords) {
    if (!word.starts_with(begin)) continue;
    std::string_view number = word.substr(begin.size());
    if (number.starts_with('_') || number.starts_with('-')) number.remove_prefix(1);
    if (!number.empty() && IsDigits(number)) return true;
  }
  return false;
}

}  // namespace

std::optional<DumpFileName> ParseDumpFileName(std::string_view file_name) {
  constexpr std::string_view kWord = "module_";
  for (size_t at = 0; (at = file_name.find(kWord, at)) != std::string_view::npos; ++at) {
    if (at != 0 && file_name[at - 1] != '.') continue;
    std::string_view rest = file_name.substr(at + kWord.size());
    size_t digits = CountDigits(rest);
    if (digits < 4 || digits > 18) continue;
    if (digits < rest.size() && rest[digits] != '.') continue;
    DumpFileName name;
    std::from_chars(rest.data(), rest.data() + digits, name.id);
    name.rest = rest.substr(std::min(digits + 1, rest.size()));
    name.before = file_name.substr(0, at == 0 ? 0 : at - 1);
    size_t dot = name.before.rfind('.');
    size_t last = dot == std::string_view::npos ? 0 : dot + 1;
    if (std::string_view word = name.before.substr(last); IsTimestamp(word) || IsRank(word)) {
      name.timestamp = word;
      name.before = name.before.substr(0, last == 0 ? 0 : last - 1);
    }
    return name;
  }
  return std::nullopt;
}

StepName ParseStep(std::string_view stage) {
  size_t digits = CountDigits(stage);
  if (digits < 4 || digits > 18 || digits == stage.size() || stage[digits] != '.') return {};
  StepName step;
  std::from_chars(stage.data(), stage.data() + digits, step.number);
  std::string_view rest = stage.substr(digits + 1);
  size_t dot = std::min(rest.find(".after_"), rest.size());
  step.pipeline = rest.substr(0, std::min(dot, rest.find('.')));
  if (dot == rest.size()) {
    step.pass = rest.substr(std::min(step.pipeline.size() + 1, rest.size()));
    return step;
  }
  step.pipeline = rest.substr(0, dot);
  step.pass = rest.substr(dot + std::string_view(".after_").size());
  if (size_t before = step.pass.rfind(".before_"); before != std::string_view::npos)
    step.pass = step.pass.substr(0, before);
  return step;
}

}  // namespace hloscope::dump
