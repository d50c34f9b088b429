// `hloscope help COMMAND`: the same as `hloscope COMMAND --help`.
#include <fmt/format.h>

#include "app/command.h"
#include "app/fail.h"
#include "app/help.h"
#include "app/help_json.h"
#include "app/output.h"
#include "core/base/file.h"
#include "core/replay/assets.h"

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
             .suggestions = std::move(names)},
            {.name = "--schema",
             .target = &schema_,
             .help = "print the JSON schema of what the command prints with --json"}};
  }

  int Run(const Context& context) override {
    if (schema_ && name_.empty()) {
      return Fail(InputKeys(), InputError("hloscope help: --schema needs a COMMAND").error(),
                  context);
    }
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
    if (schema_) return PrintSchema(context);
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
  int PrintSchema(const Context& context) const {
    const std::optional<std::string> file =
        replay::FindAsset("schemas/" + name_ + ".json", "assets");
    if (!file) {
      return Fail(
          {{"command", name_}},
          Error{
              ErrorClass::kUnsupported,
              fmt::format(
                  "hloscope help: `{}` prints no JSON, or share/hloscope/schemas is not installed",
                  name_),
              {},
              {}},
          context);
    }
    const Result<FileView> text = FileView::Open(*file, context.limits);
    if (!text) return Fail({{"command", name_}}, text.error(), context);
    WriteOut(text->bytes());
    return kGood;
  }

  std::string name_;
  bool schema_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeHelpCommand() { return std::make_unique<HelpCommand>(); }

}  // namespace hloscope::app
