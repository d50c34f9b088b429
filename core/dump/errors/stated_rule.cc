// The sentence that holds a mark of stated_rules.def, cut to the clause that is the rule.
#include "core/dump/errors/stated_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/base/strings.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxMessageRead = 1000, kMaxClause = 220;  // bytes

enum class Form : uint8_t {
  kDemand,
  kInstead,
  kMissing,
  kSurplus,
  kModule,
  kVersion,
  kLacks,
  kOnly,
  kSizes,
  kForbids
};
struct Rule {
  std::string_view mark;
  Form form;
};
constexpr Rule kRules[] = {
#define STATED_RULE(mark, form) {mark, Form::form},
#include "core/dump/errors/stated_rules.def"
#undef STATED_RULE
};

// What was given in place of what the rule demands: ", got 3", ". Got 3", " but found 3".
constexpr std::string_view kGiven[] = {
    ", got ",          ", but got ",  " but got ",    "; got ",         ": got ",
    ", but received ", ", received ", ", but found ", ", found ",       "; found ",
    ", but is ",       ", but was ",  ", but it ",    " but received ", " but found ",
    ", instead got ",  ", but the ",  " instead of ", ", not ",         ", was given ",
    ", but had ",      ", but have ", ", but there ", " (got ",         ", given ",
    ", but saw ",      ", saw "};

// Where the sentence around text[at] begins and ends: at ". ", at a line's end, at the ends of the
// text; a full stop within a name or number ends none.
std::string_view SentenceAround(std::string_view text, size_t at) {
  size_t begin = 0;
  for (std::string_view mark : {". ", "\n", "! ", "? "}) {
    const size_t found = text.substr(0, at).rfind(mark);
    if (found != text.npos) begin = std::max(begin, found + mark.size());
  }
  size_t end = text.size();
  for (std::string_view mark : {". ", "\n", "! ", "? "})
    end = std::min(end, text.find(mark, at + 1));
  std::string_view sentence = Trim(text.substr(begin, end - begin));
  while (sentence.ends_with('.')) sentence.remove_suffix(1);
  return sentence;
}

size_t EndOfRule(std::string_view text, size_t from) {
  size_t end = text.size();
  for (std::string_view given : kGiven) end = std::min(end, text.find(given, from));
  return end;
}

}  // namespace

std::string FixOfRule(std::string_view message) {
  message = message.substr(0, kMaxMessageRead);
  for (const Rule& rule : kRules) {
    const size_t found = message.find(rule.mark);
    if (found == message.npos) continue;
    const std::string_view sentence = SentenceAround(message, found);
    const size_t at = sentence.find(rule.mark);
    if (at == sentence.npos) continue;
    const std::string_view behind = Trim(sentence.substr(at + rule.mark.size()));
    std::string_view clause = sentence;
    switch (rule.form) {
      case Form::kMissing:
      case Form::kSurplus:
      case Form::kModule:
        clause = behind;
        break;
      case Form::kInstead:
        if (EndOfRule(behind, 0) == behind.size()) continue;  // says not what it got
        clause = behind.substr(0, EndOfRule(behind, 0));
        break;
      case Form::kDemand:
      case Form::kOnly:
        clause = sentence.substr(0, EndOfRule(sentence, at));
        break;
      case Form::kVersion:
      case Form::kLacks:
      case Form::kSizes:
      case Form::kForbids:
        break;
    }
    clause = Trim(clause);
    if (clause.size() < 4 || clause.size() > kMaxClause) continue;
    switch (rule.form) {
      case Form::kMissing:
        return fmt::format("pass {} in the call", clause);
      case Form::kSurplus:
        return fmt::format(
            "leave {} out of the call, or pass it once; the argument may be of another version",
            clause);
      case Form::kModule:
        return fmt::format(
            "install the package that has {} for the Python that runs the program (python -m pip "
            "install …), in a version that has it",
            clause);
      case Form::kVersion:
        return fmt::format("versions of the packages that go together: {}", clause);
      case Form::kInstead:
        return fmt::format("give {} in place of what it got", clause);
      case Form::kDemand:
        return fmt::format("meet what the message demands: {}", clause);
      case Form::kOnly:
        return fmt::format("keep to what there is: {}", clause);
      case Form::kLacks:
        return fmt::format("do without it, or use a version that has it: {}", clause);
      case Form::kForbids:
        return fmt::format("avoid what the message rules out: {}", clause);
      case Form::kSizes:
        return fmt::format("make them agree: {}", clause);
    }
  }
  return {};
}

}  // namespace hloscope::dump
