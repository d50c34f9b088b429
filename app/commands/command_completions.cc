// `hloscope completions SHELL` and `hloscope man`: written from the command and option tables.
#include <algorithm>

#include "app/command.h"
#include "app/command_line.h"
#include "app/output.h"

namespace hloscope::app {
namespace {

std::vector<OptionSpec> AllOptions(Command& command, CommonOptions& common) {
  std::vector<OptionSpec> specs = command.Options();
  for (OptionSpec& spec : common.Specs()) specs.push_back(std::move(spec));
  return specs;
}

std::string OptionNames(const CommandRow& row) {
  std::unique_ptr<Command> command = row.make();
  CommonOptions common;
  std::string names;
  for (const OptionSpec& spec : AllOptions(*command, common)) {
    if (!spec.positional()) names += spec.name + " ";
  }
  return names + "--help";
}

std::string Bash() {
  std::string commands, cases;
  for (const CommandRow& row : CommandRows()) {
    commands += std::string(row.name) + " ";
    cases += "    " + std::string(row.name) + ") options=\"" + OptionNames(row) + "\" ;;\n";
  }
  return "# bash completion of hloscope; source it or install it as hloscope in bash-completion's "
         "folder\n"
         "_hloscope() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} options=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         commands +
         "--help --version\" -- \"$current\")); return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  case $current in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$current\")) ;;\n"
         "    *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _hloscope hloscope\n";
}

std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string Zsh() {
  std::string commands, cases;
  for (const CommandRow& row : CommandRows()) {
    std::string summary(row.summary);
    std::ranges::replace(summary, ':', ' ');
    commands += "    " + Quoted(std::string(row.name) + ":" + summary) + "\n";
    cases += "    " + std::string(row.name) + ") compadd -- " + OptionNames(row) + " ;;\n";
  }
  return "#compdef hloscope\n"
         "_hloscope() {\n"
         "  local -a commands=(\n" +
         commands +
         "  )\n"
         "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  if [[ $words[CURRENT] != -* ]]; then _files; return; fi\n"
         "  case $words[2] in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_hloscope \"$@\"\n";
}

std::string Fish() {
  std::string text = "# fish completion of hloscope\n";
  for (const CommandRow& row : CommandRows()) {
    std::string name(row.name);
    text += "complete -c hloscope -n __fish_use_subcommand -a " + name + " -d " +
            Quoted(row.summary) + "\n";
    std::unique_ptr<Command> command = row.make();
    CommonOptions common;
    for (const OptionSpec& spec : AllOptions(*command, common)) {
      if (spec.positional()) continue;
      text += "complete -c hloscope -n '__fish_seen_subcommand_from " + name + "' -l " +
              spec.name.substr(2) + " -d " + Quoted(spec.help) + "\n";
    }
  }
  return text;
}

// roff: backslashes and leading dots or quotes are special, and `-` is a hyphen unless escaped.
std::string Roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string Manual() {
  std::string text =
      ".TH HLOSCOPE 1\n.SH NAME\nhloscope \\- read, check, print and replay what the XLA compiler "
      "dumps\n"
      ".SH SYNOPSIS\n.B hloscope\n.I COMMAND\n[OPTIONS] ...\n.SH COMMANDS\n";
  for (const CommandRow& row : CommandRows()) {
    std::unique_ptr<Command> command = row.make();
    CommonOptions common;
    std::vector<OptionSpec> specs = AllOptions(*command, common);
    text += ".SS " + Roff(UsageLine(row, specs)) + "\n" + Roff(row.summary) + ".\n";
    for (const OptionSpec& spec : specs) {
      text += ".TP\n.B " + Roff((spec.letter.empty() ? "" : spec.letter + ", ") + spec.name) +
              (spec.value.empty() ? "" : " \\fI" + Roff(spec.value) + "\\fR") + "\n" +
              Roff(spec.help) + "\n";
    }
  }
  text +=
      ".SH EXIT STATUS\n0 good or equal; 1 values differ; 2 bad input or usage; 3 unsupported; 4 "
      "the runner died. With "
      "several inputs the worst wins, in the order 4, 2, 3, 1, 0.\n";
  return text;
}

class CompletionsCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "shell",
             .target = &shell_,
             .help = "bash, zsh or fish",
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

class ManCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override { return {}; }
  int Run(const Context& /*context*/) override {
    WriteOut(Manual());
    return kGood;
  }
};

}  // namespace

std::unique_ptr<Command> MakeCompletionsCommand() { return std::make_unique<CompletionsCommand>(); }
std::unique_ptr<Command> MakeManCommand() { return std::make_unique<ManCommand>(); }

}  // namespace hloscope::app
