#include "core/dump/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace hloscope::dump {
namespace {

struct AdviceRow {
  std::string_view name, variable, value, effect;
  // Of the program: neither a flag nor a variable.
  bool IsChange() const {
    return variable.empty() && value.empty() && effect.starts_with("program:");
  }
};
constexpr AdviceRow kAdvice[] = {
#define ADVICE(name, variable, value, frameworks, effect) {name, variable, value, effect},
#include "core/dump/advice.def"
#undef ADVICE
};

struct TriedRow {
  std::string_view name, framework, version;
  AdviceOutcome outcome;
  std::string_view seen;
};
constexpr TriedRow kTried[] = {
#define ADVICE_TRIED(name, framework, version, outcome, seen) \
  {name, framework, version, AdviceOutcome::outcome, seen},
#include "core/dump/advice_tried.def"
#undef ADVICE_TRIED
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether the text has the name as a whole word.
bool Names(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !IsNameCharacter(text[at - 1]);
    if (begins && (end == text.size() || !IsNameCharacter(text[end]))) return true;
  }
  return false;
}

// "2.21" of "2.21.0".
std::string_view Minor(std::string_view version) {
  const size_t dot = version.find('.');
  if (dot == std::string_view::npos) return version;
  return version.substr(0, version.find('.', dot + 1));
}

// Its numbers: 0, 10, 2 of "0.10.2".
std::vector<int64_t> NumbersOf(std::string_view version) {
  std::vector<int64_t> numbers{0};
  for (const char c : version) {
    if (c == '.') {
      numbers.push_back(0);
    } else if (c >= '0' && c <= '9') {
      numbers.back() = numbers.back() * 10 + (c - '0');
    }
  }
  return numbers;
}

std::string FailureText(const TriedRow& row) {
  std::string_view verb = "leaves nothing more with";
  if (row.outcome == AdviceOutcome::kUnknown)
    verb = row.name.starts_with("--") ? "is not a flag of" : "is not in";
  if (row.outcome == AdviceOutcome::kCrashes) verb = "crashes";
  std::string text = fmt::format("{} {} {} {}", row.name, verb, row.framework, row.version);
  if (!row.seen.empty()) text += fmt::format(" ({})", row.seen);
  return text;
}

AdviceVerdict JudgeName(std::string_view name, std::string_view framework,
                        std::string_view version) {
  const TriedRow *same = nullptr, *newest = nullptr;
  for (const TriedRow& row : kTried) {
    if (row.name != name || row.framework != framework) continue;
    if (newest == nullptr || NumbersOf(newest->version) < NumbersOf(row.version)) newest = &row;
    if (!version.empty() && Minor(row.version) == Minor(version)) same = &row;
  }
  if (same != nullptr) {
    if (same->outcome == AdviceOutcome::kWorks) return {};
    return {AdviceState::kFails, FailureText(*same)};
  }
  const std::string untried =
      version.empty() ? "" : fmt::format("untried with {} {}", framework, version);
  if (newest != nullptr && newest->outcome != AdviceOutcome::kWorks)
    return {AdviceState::kFails,
            FailureText(*newest) + (untried.empty() ? "" : ", and is " + untried)};
  return {newest != nullptr && version.empty() ? AdviceState::kTried : AdviceState::kUntried,
          untried};
}

// The value that the text gives the name, "2" in "--tf_xla_auto_jit=2'"; empty: none, or a folder
// of the reader's choice.
std::string_view ValueIn(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  if (!text.starts_with('=')) return {};
  text.remove_prefix(1);
  text = text.substr(0, text.find_first_of(" '\"\n"));
  return text == "DIR" ? std::string_view() : text;
}

}  // namespace

AdviceVerdict JudgeAdvice(std::string_view advice, std::string_view framework,
                          std::string_view version) {
  // Of other front ends nothing was tried.
  const bool is_known =
      std::ranges::any_of(kTried, [&](const TriedRow& row) { return row.framework == framework; });
  AdviceVerdict worst;
  if (!is_known) return worst;
  for (const AdviceRow& row : kAdvice) {
    if (!Names(advice, row.name)) continue;
    AdviceVerdict verdict = JudgeName(row.name, framework, version);
    if (verdict.state > worst.state) worst = std::move(verdict);
  }
  return worst;
}

bool WasFollowed(std::string_view advice, const RunRecord& record) {
  bool any = false;
  for (const AdviceRow& row : kAdvice) {
    if (row.IsChange() || !Names(advice, row.name)) continue;
    any = true;
    const std::string_view wanted = ValueIn(advice, row.name);
    std::optional<std::string> value;
    if (row.name.starts_with("--")) {
      value = record.Flag(row.variable, row.name.substr(2));
    } else if (!record.Variable(row.name).empty()) {
      value = record.Variable(row.name);
    }
    if (!value) return false;
    const bool is_off = *value == "false" || *value == "0";
    if (wanted.empty() ? is_off : *value != wanted && *value != ".*") return false;
  }
  return any;
}

}  // namespace hloscope::dump
