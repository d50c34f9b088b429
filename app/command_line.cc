// The grammar of the command line.
#include "app/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <limits>
#include <utility>

#include "app/fail.h"
#include "app/help.h"
#include "app/output.h"
#include "core/base/closest_text.h"
#include "core/base/strings.h"

namespace hloscope::app {
namespace {

using TextList = std::vector<std::string>;

bool IsList(const OptionSpec& spec) { return std::holds_alternative<TextList*>(spec.target); }

// "12", "+12" and of whole numbers also "0x1F".
template <typename Number>
std::from_chars_result ReadNumber(std::string_view text, Number& number) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  if constexpr (std::integral<Number>) {
    if (text.starts_with("0x")) return std::from_chars(text.data() + 2, end, number, 16);
  }
  return std::from_chars(text.data(), end, number);
}

template <typename Number>
Result<Number> NumberFrom(const std::string& text) {
  Number number{};
  const auto [after, problem] = ReadNumber(text, number);
  const bool is_negative = std::unsigned_integral<Number> && text.starts_with('-');
  if (is_negative && NumberFrom<int64_t>(text)) {
    return InputError(fmt::format("expected at least 0, got {}", text));
  }
  if (after != text.data() + text.size() || problem == std::errc::invalid_argument ||
      (std::floating_point<Number> && std::isnan(static_cast<double>(number)))) {
    return InputError(
        fmt::format("expected a {}number, got `{}`", std::integral<Number> ? "whole " : "", text));
  }
  if (problem == std::errc::result_out_of_range) {
    return InputError(fmt::format("{} is out of range: expected {} to {}", text,
                                  std::numeric_limits<Number>::lowest(),
                                  std::numeric_limits<Number>::max()));
  }
  return number;
}

Result<bool> TruthFrom(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "0", "no", "off"}) {
    if (text == no) return false;
  }
  return InputError(fmt::format("expected true or false, got `{}`", text));
}

Status CheckChoice(const std::vector<std::string>& choices, const std::string& value) {
  if (choices.empty() || std::ranges::find(choices, value) != choices.end()) return {};
  ClosestText closest(value);
  for (const std::string& choice : choices) closest.Offer(choice);
  return InputError(fmt::format("expected {}, got `{}`", fmt::join(choices, ", "), value),
                    closest.Hint());
}

// Adds to a list; the empty value adds nothing.
Status Append(const OptionSpec& spec, const std::string& value, TextList& list) {
  using Parts = std::vector<std::string_view>;
  for (const std::string_view text : spec.commas ? StrSplit(value, ',') : Parts{value}) {
    if (text.empty()) continue;
    std::string part(text);
    HLOSCOPE_TRY(CheckChoice(spec.choices, part));
    // A path may hold commas, but where none is there, a list may have been meant.
    std::error_code error;
    if (!spec.positional() && !spec.commas && TakesPath(spec) && part.contains(',') &&
        !std::filesystem::exists(part, error)) {
      return InputError(part + ": no such file",
                        fmt::format("give {} once for each of several files", spec.name));
    }
    list.push_back(std::move(part));
  }
  return {};
}

Status CheckRange(const OptionSpec& spec, double number, const std::string& text) {
  const bool is_low = spec.min && number < static_cast<double>(*spec.min);
  const bool is_high = spec.max && number > static_cast<double>(*spec.max);
  if (spec.positive && !(number > 0)) {
    return InputError(fmt::format("expected more than 0, got {}", text));
  }
  if (!is_low && !is_high) return {};
  const std::string range = spec.max ? fmt::format("{} to {}", spec.min.value_or(0), *spec.max)
                                     : fmt::format("at least {}", *spec.min);
  return InputError(fmt::format("expected {}, got {}", range, text));
}

template <typename T>
struct NumberOf {
  using Type = void;
};
template <typename T>
  requires std::is_arithmetic_v<T>
struct NumberOf<T> {
  using Type = T;
};
template <typename T>
struct NumberOf<std::optional<T>> : NumberOf<T> {};

template <typename T>
Status SetValue(const OptionSpec& spec, const std::string& text, T& target) {
  using Number = typename NumberOf<T>::Type;
  if constexpr (std::same_as<T, TextList>) {
    return Append(spec, text, target);
  } else {
    HLOSCOPE_TRY(CheckChoice(spec.choices, text));
    if constexpr (std::same_as<T, bool>) {
      HLOSCOPE_ASSIGN_OR_RETURN(target, TruthFrom(text));
    } else if constexpr (std::is_arithmetic_v<Number>) {
      HLOSCOPE_ASSIGN_OR_RETURN(const Number number, NumberFrom<Number>(text));
      HLOSCOPE_TRY(CheckRange(spec, static_cast<double>(number), text));
      target = number;
    } else {
      target = text;
    }
    return {};
  }
}

Status SetTarget(const OptionSpec& spec, const std::string& text) {
  if (const auto* const setter = std::get_if<OptionSpec::Setter>(&spec.target)) {
    HLOSCOPE_TRY(CheckChoice(spec.choices, text));
    if (!spec.is_flag()) return (*setter)(text);
    HLOSCOPE_ASSIGN_OR_RETURN(const bool is_true, TruthFrom(text));
    return (*setter)(is_true ? "true" : "false");
  }
  return std::visit(
      [&](const auto& target) -> Status {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(target)>>) {
          return SetValue(spec, text, *target);
        } else {
          return {};
        }
      },
      spec.target);
}

// As SetTarget; the error names the option.
Status Set(const OptionSpec& spec, const std::string& value) {
  Status set = SetTarget(spec, value);
  if (!set) set.error().message = spec.name + ": " + set.error().message;
  return set;
}

// Goes over the words of a command line once.
class ArgumentReader {
 public:
  ArgumentReader(std::span<const OptionSpec> specs, const std::vector<std::string>& words)
      : specs_(specs), words_(words), given_(specs.size(), false) {}

  // Fails at the first word that fits nothing, and where what is given lacks or contradicts
  // something. Stops at --help.
  Status Read();
  bool wants_help() const { return wants_help_; }

 private:
  Status ReadOption(const std::string& word);
  Status ReadLetters(const std::string& word);
  Status ReadPositional(const std::string& word);
  Status ReadAfterDashes();
  // The word after the one of `spec`, which is its value.
  Result<std::string> NextWord(const OptionSpec& spec);
  Status Take(const OptionSpec& spec, const std::string& value);
  bool TakeXlaFlag(std::string_view key, const std::string& word);
  const OptionSpec* Named(std::string_view name) const;
  const OptionSpec* Lettered(char letter) const;
  bool IsGiven(const OptionSpec& spec) const;
  bool IsGiven(const std::string& name) const;
  Status CheckPresence(const OptionSpec& spec) const;
  Status CheckAction(const OptionSpec& spec) const;
  std::string WhereOutputGoes(std::string_view name) const;
  Error Unknown(std::string_view name) const;

  std::span<const OptionSpec> specs_;
  const std::vector<std::string>& words_;
  std::vector<bool> given_;  // of each spec
  size_t at_ = 0;            // the next word
  bool wants_help_ = false;
};

const OptionSpec* ArgumentReader::Named(std::string_view name) const {
  const std::string key = OptionKey(name);
  const auto spec = std::ranges::find_if(specs_, [&](const OptionSpec& one) {
    return !one.positional() && one.name != kXlaFlags && OptionKey(one.name) == key;
  });
  return spec == specs_.end() ? nullptr : &*spec;
}

const OptionSpec* ArgumentReader::Lettered(char letter) const {
  const std::string name = {'-', letter};
  const auto spec = std::ranges::find_if(
      specs_, [&](const OptionSpec& one) { return one.letter == name || one.name == name; });
  return spec == specs_.end() ? nullptr : &*spec;
}

Status ArgumentReader::Read() {
  while (at_ < words_.size() && !wants_help_) {
    const std::string& word = words_[at_++];
    if (word == "--") {
      HLOSCOPE_TRY(ReadAfterDashes());
    } else if (word.starts_with("--")) {
      HLOSCOPE_TRY(ReadOption(word));
    } else if (word.starts_with('-') && word.size() > 1 && !word.starts_with("-:")) {
      HLOSCOPE_TRY(ReadLetters(word));
    } else {
      HLOSCOPE_TRY(ReadPositional(word));
    }
  }
  for (const OptionSpec& spec : specs_) {
    if (!wants_help_) HLOSCOPE_TRY(CheckPresence(spec));
  }
  return {};
}

Status ArgumentReader::ReadOption(const std::string& word) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string name = word.substr(0, equals);
  if (name == "--help") {
    wants_help_ = true;
    return {};
  }
  const OptionSpec* const spec = Named(name);
  if (spec == nullptr) {
    if (TakeXlaFlag(OptionKey(name), word)) return {};
    return std::unexpected(Unknown(name));
  }
  if (equals < word.size()) return Take(*spec, word.substr(equals + 1));
  if (spec->is_flag()) return Take(*spec, "true");
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string value, NextWord(*spec));
  return Take(*spec, value);
}

// -o OUT, -oOUT; flags may stand together: -il.
Status ArgumentReader::ReadLetters(const std::string& word) {
  for (size_t k = 1; k < word.size(); ++k) {
    const OptionSpec* const spec = Lettered(word[k]);
    if (spec == nullptr && word[k] == 'h') {
      wants_help_ = true;
      return {};
    }
    if (spec == nullptr) return std::unexpected(Unknown(k == 1 ? word : "-" + word.substr(k, 1)));
    if (spec->is_flag()) {
      HLOSCOPE_TRY(Take(*spec, "true"));
      continue;
    }
    if (k + 1 < word.size()) return Take(*spec, word.substr(word[k + 1] == '=' ? k + 2 : k + 1));
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string value, NextWord(*spec));
    return Take(*spec, value);
  }
  return {};
}

Status ArgumentReader::ReadPositional(const std::string& word) {
  for (const OptionSpec& spec : specs_) {
    const auto k = static_cast<size_t>(&spec - specs_.data());
    if (!spec.positional() || spec.after_dashes || (given_[k] && !IsList(spec))) continue;
    return Take(spec, word);
  }
  const bool dashes = std::ranges::find(specs_, true, &OptionSpec::after_dashes) != specs_.end();
  return InputError(fmt::format("unexpected argument `{}`", word),
                    dashes ? "put `--` before it" : "");
}

Status ArgumentReader::ReadAfterDashes() {
  const auto rest = std::ranges::find(specs_, true, &OptionSpec::after_dashes);
  for (; at_ < words_.size(); ++at_) {
    if (rest == specs_.end()) {
      HLOSCOPE_TRY(ReadPositional(words_[at_]));
    } else {
      std::get<TextList*>(rest->target)->push_back(words_[at_]);
      given_[static_cast<size_t>(rest - specs_.begin())] = true;
    }
  }
  return {};
}

Result<std::string> ArgumentReader::NextWord(const OptionSpec& spec) {
  const bool is_there = at_ < words_.size();
  const bool is_option = is_there && words_[at_].starts_with("--") &&
                         Named(words_[at_].substr(0, words_[at_].find('='))) != nullptr;
  if (is_there && !is_option) return words_[at_++];
  return InputError(fmt::format("{} needs a value: {}", spec.name, spec.value),
                    is_option ? fmt::format("{}={} takes that word", spec.name, words_[at_]) : "");
}

Status ArgumentReader::Take(const OptionSpec& spec, const std::string& value) {
  given_[static_cast<size_t>(&spec - specs_.data())] = true;
  return Set(spec, value);
}

// `--xla_name` alone means true, as in XLA's own tools.
bool ArgumentReader::TakeXlaFlag(std::string_view key, const std::string& word) {
  const auto spec = std::ranges::find(specs_, kXlaFlags, &OptionSpec::name);
  if (spec == specs_.end() || !key.starts_with("--xla-")) return false;
  given_[static_cast<size_t>(spec - specs_.begin())] = true;
  std::string flag(key.substr(2));
  std::ranges::replace(flag, '-', '_');
  const size_t equals = word.find('=');
  flag += equals == std::string::npos ? "=true" : word.substr(equals);
  std::get<TextList*>(spec->target)->push_back(std::move(flag));
  return true;
}

// False also for a flag that is false and for a value that is empty.
bool ArgumentReader::IsGiven(const OptionSpec& spec) const {
  if (!given_[static_cast<size_t>(&spec - specs_.data())]) return false;
  return std::visit(
      [](const auto& target) {
        using T = std::remove_cvref_t<decltype(target)>;
        if constexpr (std::same_as<T, bool*>) {
          return *target;
        } else if constexpr (std::same_as<T, std::string*> || std::same_as<T, TextList*>) {
          return !target->empty();
        } else {
          return true;
        }
      },
      spec.target);
}

bool ArgumentReader::IsGiven(const std::string& name) const {
  const OptionSpec* const spec = name.size() == 2 ? Lettered(name[1]) : Named(name);
  return spec != nullptr && IsGiven(*spec);
}

Status ArgumentReader::CheckPresence(const OptionSpec& spec) const {
  const bool is_given = IsGiven(spec);
  if (spec.required && !is_given) {
    return InputError(fmt::format("{} is missing", spec.after_dashes ? "-- " + spec.value
                                                   : spec.positional()
                                                       ? spec.value
                                                       : spec.name + " " + spec.value));
  }
  const bool is_named = given_[static_cast<size_t>(&spec - specs_.data())];
  if (is_named && spec.given != nullptr) {
    spec.given->push_back(is_given ? spec.name : spec.name + "=");
  }
  if (!is_given) return {};
  HLOSCOPE_TRY(CheckAction(spec));
  const auto given = [&](const std::string& name) { return IsGiven(name); };
  if (!spec.needs.empty() && std::ranges::none_of(spec.needs, given)) {
    return InputError(fmt::format("{} needs {}", spec.name, fmt::join(spec.needs, " or ")));
  }
  const auto other = std::ranges::find_if(spec.conflicts, given);
  if (other == spec.conflicts.end()) return {};
  return InputError(fmt::format("{} and {} cannot be used together", spec.name, *other));
}

// An option that the action does not read would be ignored.
Status ArgumentReader::CheckAction(const OptionSpec& spec) const {
  if (spec.actions.empty()) return {};
  const auto action = std::ranges::find_if(
      specs_, [](const OptionSpec& one) { return one.positional() && !one.choices.empty(); });
  const std::string& asked = *std::get<std::string*>(action->target);
  if (std::ranges::find(spec.actions, asked) != spec.actions.end()) return {};
  return InputError(fmt::format("{}: {} does not take it", spec.name, asked),
                    fmt::format("it is an option of {}", fmt::join(spec.actions, " and ")));
}

// Of a command that has no `-o`: by which option or argument it writes.
std::string ArgumentReader::WhereOutputGoes(std::string_view name) const {
  constexpr std::string_view kAsked[] = {"-o", "--out", "--output", "--out-file", "--output-file"};
  constexpr std::string_view kWriters[] = {"-o",       "--outputs", "--dump",
                                           "--bundle", "--pin",     "--out-dir"};
  if (std::ranges::find(kAsked, OptionKey(name)) == std::end(kAsked)) return {};
  std::vector<std::string> ways;
  for (const std::string_view writer : kWriters) {
    const auto spec = std::ranges::find_if(
        specs_, [&](const OptionSpec& one) { return one.name == writer || one.letter == writer; });
    if (spec == specs_.end()) continue;
    if (spec->name == "--out-dir") ways.emplace_back("the second FILE");
    ways.push_back(spec->name + " " + spec->value);
  }
  if (ways.empty()) return "it writes to standard output";
  return fmt::format("what it writes goes to {}", fmt::join(ways, " or "));
}

Error ArgumentReader::Unknown(std::string_view name) const {
  ClosestText closest(name);
  for (const OptionSpec& spec : specs_) {
    if (!spec.positional()) closest.Offer(spec.name);
  }
  closest.Offer("--help");
  const std::string where = WhereOutputGoes(name);
  return InputError(fmt::format("unknown option `{}`", name),
                    where.empty() ? closest.Hint() : where)
      .error();
}

ParseOutcome UsageError(const CommandRow& row, std::span<const OptionSpec> specs,
                        const std::string& message, bool json) {
  const std::string line = fmt::format("hloscope {}: {}", row.name, message);
  Fail(InputKeys(), Error{ErrorClass::kInput, line, {}, {}},
       {.json = json, .jobs = 0, .limits = {}});
  PrintError(FormatText("usage: {}; `hloscope help {}` explains the options", UsageLine(row, specs),
                        row.name));
  return ParseOutcome::kUsageError;
}

}  // namespace

std::string OptionKey(std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, '_', '-');
  return key;
}

ParseOutcome ParseArguments(const CommandRow& row, std::span<const OptionSpec> specs,
                            const std::vector<std::string>& arguments) {
  ArgumentReader reader(specs, arguments);
  const Status read = reader.Read();
  if (!read) {
    const auto end = std::ranges::find(arguments, "--");
    const bool json = std::find(arguments.begin(), end, "--json") != end;
    return UsageError(row, specs, read.error().ToString(), json);
  }
  if (!reader.wants_help()) return ParseOutcome::kRun;
  WriteOut(HelpText(row, specs, TerminalWidth()));
  return ParseOutcome::kHelpShown;
}

}  // namespace hloscope::app
