// `hloscope man`: the manual page, written from the command and option tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/command.h"
#include "app/help.h"
#include "app/output.h"

namespace hloscope::app {
namespace {

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

std::string OptionText(const OptionSpec& spec) {
  std::string help = HelpOf(spec);
  const std::vector<std::string> values = OfferedValues(spec);
  if (!values.empty()) help += fmt::format(" ({})", fmt::join(values, ", "));
  return ".TP\n.B " + Roff((spec.letter.empty() ? "" : spec.letter + ", ") + spec.name) +
         (spec.value.empty() ? "" : " \\fI" + Roff(spec.value) + "\\fR") + "\n" + Roff(help) + "\n";
}

std::string CommandText(const CommandRow& row) {
  const std::unique_ptr<Command> command = row.make();
  CommonOptions common;
  const std::vector<OptionSpec> specs = AllOptions(*command, common);
  std::string text = ".SS " + Roff(UsageLine(row, specs)) + "\n" + Roff(row.summary) + ".\n";
  for (const OptionSpec& spec : specs) text += OptionText(spec);
  if (row.examples.empty()) return text;
  text += ".PP\nExamples:\n.PP\n.nf\n";
  for (std::string_view rest = row.examples; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    text += Roff(fmt::format("    hloscope {}", rest.substr(0, end))) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text + ".fi\n";
}

std::string Manual() {
  std::string text =
      ".TH HLOSCOPE 1\n.SH NAME\nhloscope \\- read, check, print and run what the XLA compiler "
      "dumps\n"
      ".SH SYNOPSIS\n.B hloscope\n.I COMMAND\n[OPTIONS] ...\n.SH COMMANDS\n";
  for (const CommandRow& row : CommandRows()) text += CommandText(row);
  text +=
      ".SH EXIT STATUS\n0 success or equal; 1 values differ, or `find` matches nothing; 2 bad "
      "input or usage; 3 unsupported; 4 the run crashed or timed out. With several inputs the "
      "worst wins, in the order 4, 2, 3, 1, 0.\n";
  return text;
}

class ManCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override { return {}; }
  int Run(const Context& /*context*/) override {
    WriteOut(Manual());
    return kGood;
  }
};

}  // namespace

std::unique_ptr<Command> MakeManCommand() { return std::make_unique<ManCommand>(); }

}  // namespace hloscope::app
