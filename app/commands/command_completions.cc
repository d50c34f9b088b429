// `hloscope completions SHELL`: written from the command and option tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/command.h"
#include "app/command_line.h"
#include "app/help.h"
#include "app/output.h"

namespace hloscope::app {
namespace {

// An option of a command, or its first argument, as the shells see it.
struct Entry {
  std::string option;  // "--format"; of an argument empty
  std::string help;
  bool takes_value = true;
  bool takes_path = false;
  std::vector<std::string> values;  // offered
};

// What is typed of a value: "pjrt:" of "pjrt:FILE.so".
std::string Typed(std::string value) {
  value.resize(std::min(value.find("FILE"), value.size()));
  return value;
}

std::vector<Entry> EntriesOf(const CommandRow& row) {
  const std::unique_ptr<Command> command = row.make();
  CommonOptions common;
  std::vector<Entry> entries;
  bool has_argument = false;
  for (const OptionSpec& spec : AllOptions(*command, common)) {
    if (spec.name == kXlaFlags || (spec.positional() && has_argument)) continue;
    has_argument |= spec.positional();
    Entry entry{spec.positional() ? "" : spec.name, HelpOf(spec), !spec.is_flag(), TakesPath(spec),
                OfferedValues(spec)};
    std::ranges::transform(entry.values, entry.values.begin(), Typed);
    entries.push_back(std::move(entry));
  }
  entries.push_back({"--help", "explain the command", false, false, {}});
  return entries;
}

std::string OptionNames(const std::vector<Entry>& entries) {
  std::string names;
  for (const Entry& entry : entries) {
    if (!entry.option.empty()) names += (names.empty() ? "" : " ") + entry.option;
  }
  return names;
}

// What stands before a value in the scripts, which take `_` there for `-`: the option, or before
// the first argument the command itself.
std::string WordBefore(const CommandRow& row, const Entry& entry) {
  return entry.option.empty() ? std::string(row.name) : OptionKey(entry.option);
}

std::string Bash() {
  std::string commands, options, values;
  for (const CommandRow& row : CommandRows()) {
    const std::vector<Entry> entries = EntriesOf(row);
    commands += std::string(row.name) + " ";
    options += fmt::format("    {}) options=\"{}\" ;;\n", row.name, OptionNames(entries));
    for (const Entry& entry : entries) {
      if (!entry.takes_value) continue;
      const std::string before = WordBefore(row, entry);
      if (!entry.values.empty()) {
        values += fmt::format("    \"{} {}\") values=\"{}\" ;;\n", row.name, before,
                              fmt::join(entry.values, " "));
      } else if (!entry.takes_path && !entry.option.empty()) {
        values += fmt::format("    \"{} {}\") return ;;\n", row.name, before);
      }
    }
  }
  return "# bash completion of hloscope; source it or install it as hloscope in bash-completion's "
         "folder\n"
         "_hloscope() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local options= values= option\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         commands +
         "--help --version\" -- \"$current\")); return\n"
         "  fi\n"
         "  # --name=value comes as three words.\n"
         "  if [ \"$previous\" = = ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  if [ \"$current\" = = ]; then current=; fi\n"
         "  # - and _ are the same in the name of an option.\n"
         "  case \"${COMP_WORDS[1]} ${previous//_/-}\" in\n" +
         values +
         "  esac\n"
         "  if [ -n \"$values\" ] && [[ $current != -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$values\" -- \"$current\")); return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         options +
         "  esac\n"
         "  case $current in\n"
         "    -*) for option in $options; do\n"
         "          if [[ ${option//_/-} == \"${current//_/-}\"* ]]; then "
         "COMPREPLY+=(\"$option\"); fi\n"
         "        done ;;\n"
         "    *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _hloscope hloscope\n";
}

std::string ShellQuoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string Zsh() {
  std::string commands, options, values;
  for (const CommandRow& row : CommandRows()) {
    const std::vector<Entry> entries = EntriesOf(row);
    std::string summary(row.summary);
    std::ranges::replace(summary, ':', ' ');
    commands += "    " + ShellQuoted(std::string(row.name) + ":" + summary) + "\n";
    options += fmt::format("    {}) compadd -M 'm:{{-_}}={{_-}}' -- {} ;;\n", row.name,
                           OptionNames(entries));
    for (const Entry& entry : entries) {
      if (!entry.takes_value) continue;
      const std::string before = WordBefore(row, entry);
      if (!entry.values.empty()) {
        values += fmt::format("    '{} {}') compadd -- {}; return ;;\n", row.name, before,
                              fmt::join(entry.values, " "));
      } else if (!entry.takes_path && !entry.option.empty()) {
        values += fmt::format("    '{} {}') return ;;\n", row.name, before);
      }
    }
  }
  return "#compdef hloscope\n"
         "_hloscope() {\n"
         "  local -a commands=(\n" +
         commands +
         "  )\n"
         "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  if [[ $words[CURRENT] != -* ]]; then\n"
         "    case \"$words[2] ${words[CURRENT-1]//_/-}\" in\n" +
         values +
         "    esac\n"
         "    _files; return\n"
         "  fi\n"
         "  case $words[2] in\n" +
         options +
         "  esac\n"
         "}\n"
         "_hloscope \"$@\"\n";
}

// One line of fish completion; the first argument's values have no option.
std::string FishLine(std::string_view command, const Entry& entry) {
  std::string line =
      fmt::format("complete -c hloscope -n '__fish_seen_subcommand_from {}'", command);
  if (entry.option.starts_with("--")) {
    std::string name = entry.option.substr(2);
    line += " -l " + name;
    // The other spelling, where the value can be completed.
    std::ranges::replace(name, name.contains('_') ? '_' : '-', name.contains('_') ? '-' : '_');
    if (entry.takes_value && "--" + name != entry.option) line += " -l " + name;
  } else if (!entry.option.empty()) {
    line += " -s " + entry.option.substr(1);
  }
  if (!entry.values.empty()) {
    line +=
        fmt::format(" -{} '{}'", entry.option.empty() ? "fa" : "xa", fmt::join(entry.values, " "));
  } else if (entry.takes_value) {
    line += entry.takes_path ? " -rF" : " -x";
  }
  return line + " -d " + ShellQuoted(entry.help) + "\n";
}

std::string Fish() {
  std::string text = "# fish completion of hloscope\n";
  for (const CommandRow& row : CommandRows()) {
    text += FormatText("complete -c hloscope -f -n __fish_use_subcommand -a {} -d {}\n", row.name,
                       ShellQuoted(row.summary));
    for (const Entry& entry : EntriesOf(row)) {
      if (!entry.option.empty() || !entry.values.empty()) text += FishLine(row.name, entry);
    }
  }
  return text;
}

class CompletionsCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "shell",
             .target = &shell_,
             .help = "the shell to print completions for",
             .value = "SHELL",
             .choices = {"bash", "zsh", "fish"},
             .required = true}};
  }
  int Run(const Context& /*context*/) override {
    WriteOut(shell_ == "bash" ? Bash() : shell_ == "zsh" ? Zsh() : Fish());
    return kGood;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionsCommand() { return std::make_unique<CompletionsCommand>(); }

}  // namespace hloscope::app
