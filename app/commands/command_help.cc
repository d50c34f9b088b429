// `hloscope help COMMAND`: the same as `hloscope COMMAND --help`.
#include "app/command.h"
#include "app/fail.h"
#include "app/help.h"
#include "app/help_json.h"
#include "app/output.h"

namespace hloscope::app {
namespace {

class HelpCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<std::string> names;
    for (const CommandRow& row : CommandRows()) names.emplace_back(row.name);
    return {{.name = "command",
             .target = &name_,
             .help = "the command to explain; all of them without one",
             .value = "COMMAND",
             .suggestions = std::move(names)}};
  }

  int Run(const Context& context) override {
    if (name_.empty()) {
      if (context.json) {
        for (const CommandRow& row : CommandRows()) WriteOut(HelpJson(row));
        return kGood;
      }
      WriteOut(Overview(TerminalWidth()));
      return kGood;
    }
    const CommandRow* const row = CommandRowOf(name_);
    if (row == nullptr) {
      return Fail({{"command", name_}}, UnknownCommand(name_), context);
    }
    if (context.json) {
      WriteOut(HelpJson(*row));
      return kGood;
    }
    const std::unique_ptr<Command> command = row->make();
    CommonOptions common;
    WriteOut(HelpText(*row, AllOptions(*command, common), TerminalWidth()));
    return kGood;
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> MakeHelpCommand() { return std::make_unique<HelpCommand>(); }

}  // namespace hloscope::app
