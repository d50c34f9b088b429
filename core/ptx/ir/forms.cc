// Rows of opcodes.def, parsed once.
#include "core/ptx/ir/forms.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace hloscope::ptx {
namespace {

struct GroupRow {
  std::string_view name;
  std::vector<std::string_view> texts;
};

const std::vector<GroupRow>& Groups() {
  static const std::vector<GroupRow> groups = {
#define GROUP(name) \
  {                 \
    #name, {
#define VALUE(name, enumerator, text) text,
#define END(name) \
  }               \
  }               \
  ,
#include "core/ptx/ir/modifiers.def"
#undef GROUP
#undef VALUE
#undef END
  };
  return groups;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

ModifierPattern ParseModifier(std::string_view word) {
  ModifierPattern pattern;
  if (word.ends_with('?')) pattern.optional = true;
  if (word.ends_with('*')) pattern.optional = pattern.repeated = true;
  if (pattern.optional) word.remove_suffix(1);
  pattern.word = word;
  if (!word.starts_with('<') && word.find('#') != std::string_view::npos)
    pattern.kind = ModifierPattern::Kind::kNumbered;
  if (word == "T") pattern.kind = ModifierPattern::Kind::kType;
  if (word == "U") pattern.kind = ModifierPattern::Kind::kSourceType;
  if (!word.starts_with('<')) return pattern;
  pattern.kind = ModifierPattern::Kind::kGroup;
  std::string_view name = word.substr(1, word.size() - 2);
  pattern.word = {};
  if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
    pattern.word = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  const auto found = std::ranges::find(Groups(), name, &GroupRow::name);
  pattern.group = static_cast<ModifierGroup>(found - Groups().begin());
  return pattern;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

OperandPattern ParseOperandPattern(std::string_view word) {
  OperandPattern pattern;
  using Kind = OperandPattern::Kind;
  using Width = OperandPattern::Width;
  if (word.ends_with('?')) {
    pattern.optional = true;
    word.remove_suffix(1);
  }
  if (word.ends_with('*')) {
    pattern.repeated = pattern.optional = true;
    word.remove_suffix(1);
  }
  if (word == "m" || word == "t" || word == "i" || word == "L" || word == "-") {
    pattern.kind = word == "m"   ? Kind::kAddress
                   : word == "t" ? Kind::kTensorAddress
                   : word == "i" ? Kind::kInteger
                   : word == "-" ? Kind::kLeftOut
                                 : Kind::kLabel;
    return pattern;
  }
  pattern.kind = word[0] == 'd' ? Kind::kWrite : Kind::kRead;
  word.remove_prefix(1);
  pattern.by_vector = TakePrefix(word, "v");
  if (TakePrefix(word, "#")) {
    const bool divides = TakePrefix(word, "/");
    const bool multiplies = !divides && TakePrefix(word, "*");
    const auto number = divides || multiplies ? static_cast<uint32_t>(word[0] - '0') : 1;
    if (divides || multiplies) word.remove_prefix(1);
    pattern.parts = multiplies ? number : 1;
    pattern.per_part = divides ? number : 1;
    word.remove_prefix(1);  // x
  }
  if (word.size() > 2 && word[1] == 'x') {
    pattern.parts = static_cast<uint32_t>(word[0] - '0');
    word.remove_prefix(2);
  }
  if (TakePrefix(word, "T2"))
    pattern.width = Width::kTwiceType;
  else if (TakePrefix(word, "T"))
    pattern.width = Width::kType;
  else if (TakePrefix(word, "U"))
    pattern.width = Width::kSource;
  else if (TakePrefix(word, "p"))
    pattern.width = Width::kPredicate;
  else if (TakePrefix(word, "/"))
    pattern.splits = true;
  else {
    pattern.width = Width::kBytes;
    pattern.bytes = TakePrefix(word, "64") ? 8 : TakePrefix(word, "32") ? 4 : 2;
  }
  pattern.or_wider = TakePrefix(word, "+");
  pattern.with_predicate = TakePrefix(word, "|p");
  return pattern;
}

Form ParseForm(Operation operation, std::string_view modifiers, std::string_view types,
               std::string_view sources, std::string_view operands) {
  Form form;
  form.operation = operation;
  form.any_order = TakePrefix(modifiers, "~ ");
  for (const std::string_view word : Words(modifiers))
    form.modifiers.push_back(ParseModifier(word));
  for (const std::string_view word : Words(types)) form.types.push_back(*TypeOf(word));
  for (const std::string_view word : Words(sources)) form.sources.push_back(*TypeOf(word));
  for (const std::string_view word : Words(operands))
    form.operands.push_back(ParseOperandPattern(word));
  return form;
}

std::unordered_map<std::string_view, std::vector<Form>> ParseForms() {
  std::unordered_map<std::string_view, std::vector<Form>> forms;
#define FORM(operation, opcode, modifiers, types, sources, operands) \
  forms[opcode].push_back(ParseForm(Operation::operation, modifiers, types, sources, operands));
#include "core/ptx/ir/opcodes.def"
#undef FORM
  return forms;
}

// The number that stands for the # of `pattern` in `text`; nullopt where it does not fit.
std::optional<uint32_t> NumberIn(std::string_view text, std::string_view pattern) {
  const size_t at = pattern.find('#');
  const std::string_view after = pattern.substr(at + 1);
  if (!text.starts_with(pattern.substr(0, at)) || !text.ends_with(after)) return std::nullopt;
  text.remove_prefix(at);
  if (text.size() <= after.size()) return std::nullopt;
  text.remove_suffix(after.size());
  uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool plain = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return plain && number <= 512 && text[0] != '0' ? std::optional(number) : std::nullopt;
}

// Whether one modifier is what one pattern asks for; notes it in the instruction.
bool MatchOne(const Form& form, const ModifierPattern& pattern, std::string_view text,
              Instruction& instruction) {
  const auto type_in = [&](const std::vector<Type>& types, Type& type) {
    const auto read = TypeOf(text);
    if (!read.has_value() || std::ranges::find(types, *read) == types.end()) return false;
    type = *read;
    return true;
  };
  switch (pattern.kind) {
    case ModifierPattern::Kind::kWord:
      if (text == pattern.word && (text == "approx" || text == "full"))
        instruction.approximate = true;
      return text == pattern.word;
    case ModifierPattern::Kind::kNumbered: {
      const auto number = NumberIn(text, pattern.word);
      if (number.has_value()) instruction.value = *number;
      return number.has_value();
    }
    case ModifierPattern::Kind::kType:
      return type_in(form.types, instruction.type);
    case ModifierPattern::Kind::kSourceType:
      return type_in(form.sources, instruction.source);
    case ModifierPattern::Kind::kGroup:
      break;
  }
  const auto& texts = Groups()[static_cast<size_t>(pattern.group)].texts;
  const auto found = std::ranges::find(texts, text);
  if (found == texts.end() || (!pattern.word.empty() && text != pattern.word)) return false;
  instruction.modifiers[static_cast<size_t>(pattern.group)] =
      static_cast<uint8_t>(found - texts.begin() + 1);
  return true;
}

// Each modifier by the first pattern that takes it and has not taken one.
bool MatchInAnyOrder(const Form& form, const Statement& statement, Instruction& instruction) {
  std::vector<bool> taken(form.modifiers.size());
  for (const std::string_view text : statement.modifiers) {
    size_t at = 0;
    while (at < taken.size() &&
           (taken[at] || !MatchOne(form, form.modifiers[at], text, instruction)))
      ++at;
    if (at == taken.size()) return false;
    taken[at] = !form.modifiers[at].repeated;
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i] && !form.modifiers[i].optional) return false;
  }
  return true;
}

}  // namespace

std::span<const Form> FormsOf(std::string_view opcode) {
  static const auto forms = ParseForms();
  const auto found = forms.find(opcode);
  if (found == forms.end()) return {};
  return found->second;
}

bool MatchModifiers(const Form& form, const Statement& statement, Instruction& instruction) {
  instruction = {};
  instruction.operation = form.operation;
  if (form.any_order) return MatchInAnyOrder(form, statement, instruction);
  size_t next = 0;
  for (const ModifierPattern& pattern : form.modifiers) {
    bool any = false;
    while (next < statement.modifiers.size() &&
           MatchOne(form, pattern, statement.modifiers[next], instruction)) {
      ++next;
      any = true;
      if (!pattern.repeated) break;
    }
    if (!any && !pattern.optional) return false;
  }
  return next == statement.modifiers.size();
}

uint32_t Instruction::vector_width() const {
  switch (ModifierVector(*this)) {
    case Vector::kNone:
      return 1;
    case Vector::kV2:
      return 2;
    case Vector::kV4:
      return 4;
    case Vector::kV8:
      return 8;
  }
  return 1;
}

InstructionClass ClassOf(Operation operation) {
  static constexpr InstructionClass kClasses[] = {
#define OPERATION(enumerator, counted) InstructionClass::counted,
#include "core/ptx/ir/operations.def"
#undef OPERATION
  };
  return kClasses[static_cast<size_t>(operation)];
}

}  // namespace hloscope::ptx
