// `hloscope limits`: the table of limits.def.
#include <fmt/format.h>

#include "app/command.h"
#include "app/output.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

class LimitsCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override { return {}; }

  int Run(const Context& context) override {
    if (!context.json) {
      WriteOut(fmt::format("{:<18} {:>20} {:>20} {:>20}  {}\n", "limit", "value", "default",
                           "maximum", "unit and what it bounds"));
    }
    for (const LimitRow& row : LimitRows()) {
      int64_t value = context.limits.*row.field;
      WriteOut(context.json ? Json(row, value)
                            : fmt::format("{:<18} {:>20} {:>20} {:>20}  {}: {}\n", row.name, value,
                                          row.default_value, row.hard_cap, row.unit, row.reason));
    }
    if (!context.json) WriteOut("\nChange one for a command with --limit NAME=VALUE.\n");
    return kGood;
  }

 private:
  static std::string Json(const LimitRow& row, int64_t value) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("name", row.name)
        .Field("value", value)
        .Field("default", row.default_value);
    json.Field("hard_cap", row.hard_cap)
        .Field("unit", row.unit)
        .Field("reason", row.reason)
        .EndObject();
    return out + "\n";
  }
};

}  // namespace

std::unique_ptr<Command> MakeLimitsCommand() { return std::make_unique<LimitsCommand>(); }

}  // namespace hloscope::app
