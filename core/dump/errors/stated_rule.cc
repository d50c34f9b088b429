// The sentence that holds a mark of stated_rules.def, cut to the part that is the rule.
#include "core/dump/errors/stated_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/base/strings.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxMessageRead = 1000, kMinPart = 4, kMaxPart = 220;  // bytes

enum class Part : uint8_t { kSentence, kRule, kBehind, kWanted, kName };
struct Form {
  Part part;
  std::string_view before, after;
};
#define STATED_FORM(name, part, before, after) constexpr Form name = {Part::part, before, after};
#define STATED_RULE(mark, form)
#define STATED_REPORT(text)
#define STATED_FAILURE(verb)
#include "core/dump/errors/stated_rules.def"
#undef STATED_RULE
#undef STATED_FORM

struct Rule {
  std::string_view mark;
  const Form* form;
};
constexpr Rule kRules[] = {
#define STATED_FORM(name, part, before, after)
#define STATED_RULE(mark, form) {mark, &form},
#include "core/dump/errors/stated_rules.def"
#undef STATED_RULE
#undef STATED_REPORT
};
constexpr std::string_view kReports[] = {
#define STATED_RULE(mark, form)
#define STATED_REPORT(text) text,
#include "core/dump/errors/stated_rules.def"
#undef STATED_REPORT
#undef STATED_FAILURE
};
constexpr std::string_view kFailures[] = {
#define STATED_REPORT(text)
#define STATED_FAILURE(verb) verb,
#include "core/dump/errors/stated_rules.def"
#undef STATED_FAILURE
#undef STATED_REPORT
#undef STATED_RULE
#undef STATED_FORM
};

// What comes before that which was given in place of what is demanded; a comma may stand before it.
constexpr std::string_view kGiven[] = {
    ", got ",       "; got ",      ": got ",         " but got ",   ", instead got ",
    ", received ",  "; received ", " but received ", ", found ",    "; found ",
    " but found ",  ", saw ",      " but saw ",      ", but is ",   ", but was ",
    ", but it ",    ", but the ",  ", but had ",     ", but have ", ", but there ",
    " instead of ", ", not ",      ", was given ",   ", given ",    " (got "};

// The sentence around text[at]: sentences end at ". ", at a line's end and at the ends of the text;
// a full stop within a name or a number ends none.
std::string_view SentenceAround(std::string_view text, size_t at) {
  size_t begin = 0, end = text.size();
  for (std::string_view mark : {". ", "\n", "! ", "? "}) {
    const size_t found = text.substr(0, at).rfind(mark);
    if (found != text.npos) begin = std::max(begin, found + mark.size());
    end = std::min(end, text.find(mark, at + 1));
  }
  std::string_view sentence = Trim(text.substr(begin, end - begin));
  while (sentence.ends_with('.')) sentence.remove_suffix(1);
  return sentence;
}

size_t FindGiven(std::string_view text, size_t from) {
  size_t end = text.npos;
  for (std::string_view given : kGiven) end = std::min(end, text.find(given, from));
  return end;
}

// "give 1 variable" of "give 1 variable, but received 2".
std::string_view UpTo(std::string_view text, size_t given) {
  text = Trim(text.substr(0, given));
  while (text.ends_with(',') || text.ends_with(';')) text = Trim(text.substr(0, text.size() - 1));
  return text;
}

// Empty: the sentence has no such part.
std::string_view Take(Part part, std::string_view sentence, std::string_view mark) {
  const size_t at = sentence.find(mark);
  if (at == sentence.npos) return {};
  const size_t given = FindGiven(sentence, at);
  const std::string_view behind = Trim(sentence.substr(at + mark.size()));
  switch (part) {
    case Part::kSentence:
      return sentence;
    case Part::kRule:
      return UpTo(sentence, given);
    case Part::kBehind:
      return behind;
    case Part::kWanted: {
      const size_t end = FindGiven(behind, 0);
      return end == behind.npos ? std::string_view() : UpTo(behind, end);
    }
    case Part::kName:
      return behind.substr(0, behind.find_first_of(" ,;:"));
  }
  return {};
}

// Whether the text at a mark tells what happened, and so demands nothing.
bool IsReport(const Form& form, std::string_view sentence, std::string_view behind) {
  const auto holds = [&](std::string_view report) { return sentence.contains(report); };
  const auto begins = [&](std::string_view verb) { return behind.starts_with(verb); };
  return std::ranges::any_of(kReports, holds) ||
         (&form == &kForbids && std::ranges::any_of(kFailures, begins));
}

}  // namespace

std::string FixOfRule(std::string_view message) {
  message = message.substr(0, kMaxMessageRead);
  // What the system answered: "[Errno 12] Cannot allocate memory".
  if (message.starts_with("[Errno ") || message.starts_with("[WinError ")) return {};
  for (const Rule& rule : kRules) {
    const size_t found = message.find(rule.mark);
    if (found == message.npos) continue;
    const std::string_view sentence = SentenceAround(message, found);
    if (IsReport(*rule.form, sentence, message.substr(found + rule.mark.size()))) continue;
    const std::string_view part = Take(rule.form->part, sentence, rule.mark);
    // A name may be short.
    const bool is_name = rule.form->part == Part::kBehind || rule.form->part == Part::kName;
    if (part.size() < (is_name ? 1 : kMinPart) || part.size() > kMaxPart) continue;
    return fmt::format("{}{}{}", rule.form->before, part, rule.form->after);
  }
  return {};
}

}  // namespace hloscope::dump
