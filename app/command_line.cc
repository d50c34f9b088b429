// The one file that knows CLI11: option specs become its options.
#include "app/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <type_traits>

#include "app/help.h"
#include "app/output.h"
#include "core/base/closest_text.h"

namespace hloscope::app {
namespace {

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

CLI::Option* AddList(CLI::App& app, const OptionSpec& spec, std::vector<std::string>* target) {
  if (spec.positional()) {
    CLI::Option* option = app.add_option(spec.name, *target, spec.help);
    return spec.required ? option->expected(1, -1) : option->expected(0, -1);
  }
  CLI::callback_t take = [target](const CLI::results_t& values) {
    for (const std::string& value : values) {
      if (!value.empty() && value != "none") target->push_back(value);
    }
    return true;
  };
  CLI::Option* option = app.add_option(spec.name, take, spec.help);
  return option->expected(1)
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_size(1);
}

CLI::Option* AddOption(CLI::App& app, const OptionSpec& spec) {
  const std::string name = spec.letter.empty() ? spec.name : spec.letter + "," + spec.name;
  return std::visit(
      [&](auto* target) -> CLI::Option* {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          return app.add_flag(name, *target, spec.help);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return AddList(app, spec, target);
        } else if constexpr (IsOptional<T>::value) {
          using Value = typename T::value_type;
          return app.add_option_function<Value>(
              name, [target](const Value& v) { *target = v; }, spec.help);
        } else {
          return app.add_option(name, *target, spec.help);
        }
      },
      spec.target);
}

// The reason why `value` is none of an option's; empty where it is one.
std::string CheckChoice(const std::vector<std::string>& choices, const std::string& value) {
  if (std::ranges::find(choices, value) != choices.end()) return {};
  ClosestText closest(value);
  for (const std::string& choice : choices) closest.Offer(choice);
  const std::string hint = closest.Hint();
  return fmt::format("expected {}, got `{}`{}", fmt::join(choices, ", "), value,
                     hint.empty() ? "" : " (" + hint + ")");
}

template <typename Number>
std::string CheckNumber(const std::string& value) {
  Number number{};
  if (CLI::detail::lexical_cast(value, number)) return {};
  return fmt::format("expected a {}number, got `{}`", std::is_integral_v<Number> ? "whole " : "",
                     value);
}

void AddChecks(CLI::Option* option, const OptionSpec& spec) {
  if (!spec.choices.empty()) {
    const std::vector<std::string> choices = spec.choices;
    option->check([choices](const std::string& value) { return CheckChoice(choices, value); });
  } else if (std::holds_alternative<int64_t*>(spec.target) ||
             std::holds_alternative<std::optional<int64_t>*>(spec.target)) {
    option->check(CheckNumber<int64_t>);
  } else if (std::holds_alternative<std::optional<double>*>(spec.target)) {
    option->check(CheckNumber<double>);
  }
}

void Declare(CLI::App& app, const OptionSpec& spec) {
  CLI::Option* option = AddOption(app, spec);
  AddChecks(option, spec);
  bool scalar = !std::holds_alternative<bool*>(spec.target) &&
                !std::holds_alternative<std::vector<std::string>*>(spec.target);
  if (scalar) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// `--xla_name` alone means true, as in XLA's own tools.
void TakeXlaFlags(const OptionSpec& spec, std::vector<std::string>& reversed) {
  constexpr std::string_view kPrefix = "--xla_";
  auto* const target = std::get<std::vector<std::string>*>(spec.target);
  for (size_t i = reversed.size(); i-- > 0;) {
    if (!reversed[i].starts_with(kPrefix)) continue;
    const bool has_value = reversed[i].find('=') != std::string::npos;
    target->push_back(reversed[i].substr(2) + (has_value ? "" : "=true"));
  }
  std::erase_if(reversed, [&](const std::string& word) { return word.starts_with(kPrefix); });
}

// Moves what stands after `--` from the arguments to the option that takes it, if there is one.
void TakeAfterDashes(std::span<const OptionSpec> specs, std::vector<std::string>& arguments) {
  const auto spec = std::ranges::find(specs, true, &OptionSpec::after_dashes);
  const auto dashes = std::ranges::find(arguments, "--");
  if (spec == specs.end() || dashes == arguments.end()) return;
  *std::get<std::vector<std::string>*>(spec->target) = {dashes + 1, arguments.end()};
  arguments.erase(dashes, arguments.end());
}

// The first argument that fits nothing, with what may have been meant; empty where all fit.
std::string UnexpectedArgument(const std::vector<std::string>& remaining,
                               std::span<const OptionSpec> specs) {
  if (remaining.empty()) return {};
  const auto unknown = std::ranges::find_if(
      remaining, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  if (unknown == remaining.end()) {
    const bool dashes = std::ranges::find(specs, true, &OptionSpec::after_dashes) != specs.end();
    return fmt::format("unexpected argument `{}`{}", remaining[0],
                       dashes ? "; fix: put `--` before it" : "");
  }
  const std::string name = unknown->substr(0, unknown->find('='));
  ClosestText closest(name);
  for (const OptionSpec& spec : specs) {
    if (!spec.positional()) closest.Offer(spec.name);
  }
  closest.Offer("--help");
  const std::string hint = closest.Hint();
  return fmt::format("unknown option `{}`{}", name, hint.empty() ? "" : " (" + hint + ")");
}

bool IsGiven(const CLI::App& app, const OptionSpec& spec) {
  if (!spec.after_dashes) return app.get_option(spec.name)->count() != 0;
  return !std::get<std::vector<std::string>*>(spec.target)->empty();
}

// The first required option or argument that is not there; empty where all are.
std::string MissingArgument(const CLI::App& app, std::span<const OptionSpec> specs) {
  for (const OptionSpec& spec : specs) {
    if (!spec.required || IsGiven(app, spec)) continue;
    return fmt::format("{} is missing", spec.after_dashes   ? "-- " + spec.value
                                        : spec.positional() ? spec.value
                                                            : spec.name + " " + spec.value);
  }
  return {};
}

// What CLI11 says where an option has no value: "--format: 1 required TEXT missing".
std::string MissingValue(const std::string& what, std::span<const OptionSpec> specs) {
  const auto spec = std::ranges::find(specs, what.substr(0, what.find(':')), &OptionSpec::name);
  return spec == specs.end() ? what : fmt::format("{} needs a value: {}", spec->name, spec->value);
}

ParseOutcome UsageError(const CommandRow& row, std::span<const OptionSpec> specs,
                        const std::string& message) {
  PrintError(fmt::format("hloscope {}: {}", row.name, message));
  PrintError(fmt::format("usage: {}; `hloscope help {}` explains the options",
                         UsageLine(row, specs), row.name));
  return ParseOutcome::kUsageError;
}

}  // namespace

ParseOutcome ParseArguments(const CommandRow& row, std::span<const OptionSpec> specs,
                            const std::vector<std::string>& arguments) {
  CLI::App app(std::string(row.summary), "hloscope " + std::string(row.name));
  app.allow_extras();
  std::vector<std::string> words = arguments;
  TakeAfterDashes(specs, words);
  std::ranges::reverse(words);
  for (const OptionSpec& spec : specs) {
    if (spec.after_dashes) continue;
    spec.name == kXlaFlags ? TakeXlaFlags(spec, words) : Declare(app, spec);
  }
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    WriteOut(HelpText(row, specs, TerminalWidth()));
    return ParseOutcome::kHelpShown;
  } catch (const CLI::ArgumentMismatch& error) {
    return UsageError(row, specs, MissingValue(error.what(), specs));
  } catch (const CLI::Error& error) {
    return UsageError(row, specs, error.what());
  }
  std::string problem = UnexpectedArgument(app.remaining(), specs);
  if (problem.empty()) problem = MissingArgument(app, specs);
  return problem.empty() ? ParseOutcome::kRun : UsageError(row, specs, problem);
}

}  // namespace hloscope::app
