// `hloscope doctor`: what is there, what is missing, and how to fix it.
#include <fmt/format.h>

#include "app/command.h"
#include "app/output.h"
#include "app/shared_options.h"
#include "core/backends/doctor/doctor.h"
#include "core/base/format_text.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using replay::DoctorFinding;

class DoctorCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {PythonOption(&search_.python),
            {.name = "--all", .target = &all_, .help = "also list the limits at their defaults"}};
  }

  int Run(const Context& context) override {
    std::string_view section;
    for (const DoctorFinding& finding :
         Diagnose(replay::GatherDoctorInfo(search_, context.limits))) {
      if (context.json) {
        WriteOut(Json(finding));
        continue;
      }
      if (!all_ && finding.state == replay::DoctorState::kLimitDefault) continue;
      if (finding.row().section != section) {
        section = finding.row().section;
        PrintOut(FormatText("{}\n", section));
      }
      PrintOut(Text(finding));
    }
    return kGood;
  }

 private:
  static std::string Text(const DoctorFinding& finding) {
    std::string out = FormatText("  {:<8} {}: {}\n", ToString(finding.row().status),
                                 finding.subject, finding.message);
    if (!finding.command.empty()) out += FormatText("           fix: {}\n", finding.command);
    return out;
  }

  static std::string Json(const DoctorFinding& finding) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("section", finding.row().section)
        .Field("subject", finding.subject)
        .Field("state", finding.row().name)
        .Field("status", ToString(finding.row().status))
        .Field("message", finding.message)
        .Key("command");
    if (finding.command.empty()) {
      json.Null();
    } else {
      json.Value(finding.command);
    }
    json.EndObject();
    return out + "\n";
  }

  replay::PluginSearch search_;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace hloscope::app
