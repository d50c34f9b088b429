// The one file that knows CLI11: option specs become its options.
#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <type_traits>

#include "app/output.h"
#include "core/base/text.h"

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

std::string HelpText(const CommandRow& row, const std::vector<OptionSpec>& specs) {
  constexpr size_t kColumn = 30;
  std::string text = std::string(row.summary) + "\n\nUsage: " + UsageLine(row, specs) + "\n\n";
  for (const OptionSpec& spec : specs) {
    std::string left =
        "  " + (spec.letter.empty() ? "" : spec.letter + ", ") + spec.name + (spec.value.empty() || spec.positional() ? "" : " " + spec.value);
    left += left.size() + 1 < kColumn ? std::string(kColumn - left.size(), ' ')
                                      : "\n" + std::string(kColumn, ' ');
    text += left + spec.help;
    for (size_t k = 0; k < spec.choices.size(); ++k)
      text += (k == 0 ? " (" : "|") + spec.choices[k];
    text += spec.choices.empty() ? "\n" : ")\n";
  }
  return text;
}

void Declare(CLI::App& app, const OptionSpec& spec) {
  CLI::Option* option = AddOption(app, spec);
  if (spec.required) option->required();
  if (!spec.value.empty()) option->option_text(spec.value);
  if (!spec.choices.empty()) option->check(CLI::IsMember(spec.choices));
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

}  // namespace

std::vector<OptionSpec> CommonOptions::Specs() {
  return {
      {.name = "--json", .target = &context.json, .help = "print JSON Lines, one object per input"},
      {.name = "--jobs",
       .target = &context.jobs,
       .help = "how many inputs to work on at once (0: all CPUs)",
       .value = "N"},
      {.name = "--limit",
       .target = &limits,
       .help = "change a limit; `hloscope limits` lists them",
       .value = "NAME=VALUE"},
  };
}

std::string UsageLine(const CommandRow& row, const std::vector<OptionSpec>& specs) {
  std::string usage = "hloscope " + std::string(row.name) + " [OPTIONS]";
  for (const OptionSpec& spec : specs) {
    if (!spec.positional()) {
      if (spec.required) usage += " " + spec.name + " " + spec.value;
      continue;
    }
    std::string argument = spec.value.empty() ? spec.name : spec.value;
    if (std::holds_alternative<std::vector<std::string>*>(spec.target)) argument += "...";
    usage += spec.required ? " " + argument : " [" + argument + "]";
  }
  return usage;
}

ParseOutcome ParseArguments(const CommandRow& row, const std::vector<OptionSpec>& specs,
                            const std::vector<std::string>& arguments) {
  CLI::App app(std::string(row.summary), "hloscope " + std::string(row.name));
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  for (const OptionSpec& spec : specs) {
    spec.name == kXlaFlags ? TakeXlaFlags(spec, reversed) : Declare(app, spec);
  }
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    WriteOut(HelpText(row, specs));
    return ParseOutcome::kHelpShown;
  } catch (const CLI::Error& error) {
    PrintError("hloscope " + std::string(row.name) + ": " + EscapeForTerminal(error.what()));
    PrintError("usage: " + UsageLine(row, specs) + "; `--help` explains the options");
    return ParseOutcome::kUsageError;
  }
  return ParseOutcome::kRun;
}

}  // namespace hloscope::app
