// Help texts, wrapped to the width of the terminal.
#include "app/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace hloscope::app {
namespace {

// Appends the words of `text`, each line indented by `indent` but the first, which is at `column`.
void AppendWrapped(std::string& out, std::string_view text, size_t column, size_t indent,
                   size_t width) {
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  out += '\n';
}

// A term and its explanation, which begins at `indent`, or below the term where that is too long.
void AppendRow(std::string& out, const std::string& term, std::string_view text, size_t indent,
               size_t width) {
  out += "  " + term;
  if (term.size() + 4 > indent) {
    out += '\n' + std::string(indent, ' ');
  } else {
    out += std::string(indent - 2 - term.size(), ' ');
  }
  AppendWrapped(out, text, indent, indent, width);
}

std::string Term(const OptionSpec& spec) {
  if (spec.positional()) {
    return (spec.after_dashes ? "-- " : "") + (spec.value.empty() ? spec.name : spec.value);
  }
  const std::string name = spec.letter.empty() ? spec.name : spec.letter + ", " + spec.name;
  return spec.value.empty() ? name : name + " " + spec.value;
}

}  // namespace

std::vector<std::string> OfferedValues(const OptionSpec& spec) {
  return spec.choices.empty() ? spec.suggestions : spec.choices;
}

std::string HelpOf(const OptionSpec& spec) {
  if (spec.actions.empty()) return spec.help;
  return fmt::format("{}: {}", fmt::join(spec.actions, ", "), spec.help);
}

bool TakesPath(const OptionSpec& spec) {
  constexpr std::array<std::string_view, 6> kWords = {"FILE", "DIR",    "PATH",
                                                      "OUT",  "MODULE", "npz"};
  return spec.choices.empty() && std::ranges::any_of(kWords, [&](std::string_view word) {
           return spec.value.find(word) != std::string::npos && !spec.value.contains('[');
         });
}

std::vector<OptionSpec> CommonOptions::Specs() {
  return {
      {.name = "--json",
       .target = &context.json,
       .help = "print JSON Lines, one object per input; docs/json.md lists the fields",
       .group = "Common options"},
      {.name = "--jobs",
       .target = &context.jobs,
       .help = "how many inputs to process at once (0: all CPUs)",
       .value = "N",
       .letter = "-j"},
      {.name = "--limit",
       .target = &limits,
       .help = "change limits, A=1,B=2; `hloscope limits` lists them",
       .value = "NAME=VALUE",
       .commas = true},
      {.name = "--limit-output",
       .target = &limit_output,
       .help = "print N lines, or with --json N objects with N entries in each list, then the "
               "last, and "
               "how many were left out",
       .value = "N",
       .min = 1},
  };
}

std::vector<OptionSpec> AllOptions(Command& command, CommonOptions& common) {
  std::vector<OptionSpec> specs = command.Options();
  for (OptionSpec& spec : common.Specs()) specs.push_back(std::move(spec));
  return specs;
}

std::string UsageLine(const CommandRow& row, std::span<const OptionSpec> specs) {
  std::string usage = "hloscope " + std::string(row.name) + " [OPTIONS]";
  for (const OptionSpec& spec : specs) {
    if (!spec.positional()) {
      if (spec.required) usage += " " + spec.name + " " + spec.value;
      continue;
    }
    std::string argument = spec.value.empty() ? spec.name : spec.value;
    if (std::holds_alternative<std::vector<std::string>*>(spec.target)) argument += "...";
    if (spec.after_dashes) argument = "-- " + argument;
    usage += spec.required ? " " + argument : " [" + argument + "]";
  }
  return usage;
}

std::string HelpText(const CommandRow& row, std::span<const OptionSpec> specs, size_t width) {
  const size_t indent = width < 70 ? 8 : 30;
  std::string text;
  AppendWrapped(text, row.summary, 0, 0, width);
  text += "\nUsage: " + UsageLine(row, specs) + "\n\n";
  for (const OptionSpec& spec : specs) {
    if (!spec.group.empty()) text += fmt::format("\n{}:\n", spec.group);
    std::string help = HelpOf(spec);
    const std::vector<std::string> values = OfferedValues(spec);
    if (!values.empty()) help += fmt::format(" ({})", fmt::join(values, ", "));
    AppendRow(text, Term(spec), help, indent, width);
  }
  AppendRow(text, "--help", "this text", indent, width);
  if (!row.examples.empty()) text += "\nExamples:\n";
  for (std::string_view rest = row.examples; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("  hloscope {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

std::string Overview(size_t width) {
  std::string text;
  AppendWrapped(text,
                "hloscope opens what the XLA compiler dumps, runs it again, and shows where "
                "two runs diverge.",
                0, 0, width);
  text += "\nUsage: hloscope COMMAND [OPTIONS] ...\n\nCommands:\n";
  for (const CommandRow& row : CommandRows()) {
    AppendRow(text, std::string(row.name), row.summary, 16, width);
  }
  text += "\n`hloscope help COMMAND` explains a command; `--version` prints the version.\n";
  AppendWrapped(text,
                "Exit status: 0 success or equal, 1 values differ, 2 bad input or usage, 3 "
                "unsupported, 4 the run crashed or timed out.",
                0, 0, width);
  return text;
}

}  // namespace hloscope::app
