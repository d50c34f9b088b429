// `hloscope diverge`: which pass, instruction or cause makes two runs differ.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "app/cancel.h"
#include "app/command.h"
#include "app/output.h"
#include "app/reports/diverge_report.h"
#include "app/run_options.h"
#include "app/workers.h"

namespace hloscope::app {
namespace {

using debug::DivergeVerdict;
using debug::RunReport;
using debug::RunStatus;

// The first instruction of the entry that differs by itself, and the results.
DivergeVerdict VerdictOfIsolated(const RunReport& report) {
  DivergeVerdict verdict;
  verdict.status = report.status;
  verdict.warnings = report.warnings;
  if (report.error) verdict.errors.push_back(*report.error);
  for (const debug::RunOutput& output : report.outputs) {
    if (output.compared && !output.comparison.equal() && !verdict.worst) {
      verdict.worst = output.comparison;
    }
  }
  if (const auto& first = report.first_divergent) {
    verdict.place = {first->instruction, first->computation, ""};
    for (const debug::LeafComparison& leaf : first->outputs) {
      if (!leaf.equal()) verdict.worst = leaf;
    }
  }
  WriteSentence(verdict);
  return verdict;
}

class DivergeCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = {{.name = "modules",
                                    .target = &files_,
                                    .help = "a module, or two that should mean the same",
                                    .value = "MODULE",
                                    .required = true}};
    for (std::vector<OptionSpec> specs :
         {shared_.InputSpecs(), shared_.ComparisonSpecs(), shared_.MachineSpecs()}) {
      for (OptionSpec& spec : specs) all.push_back(std::move(spec));
    }
    return all;
  }

  int Run(const Context& context) override {
    if (Status ready = shared_.Prepare(context); !ready) return Tell(Refuse(ready), context);
    if (Status ready = CheckForm(); !ready) return Tell(Refuse(ready), context);
    const CancelOnSignals cancel;
    debug::RunRequest& request = shared_.request();
    request.workers =
        StartWorkers(std::array{request.platform, request.reference_platform}, context.limits);
    return Tell(Find(context, cancel.token()), context);
  }

 private:
  static DivergeVerdict Refuse(const Status& status) {
    return debug::RefusedVerdict(status.error());
  }

  Status CheckForm() const {
    if (files_.size() > 2) return InputError("expected a module, or two");
    if (files_.size() == 2) {
      return UnsupportedError("two modules cannot be compared by their values yet",
                              "`hloscope compare` compares them by meaning");
    }
    if (shared_.request().reference_platform.empty()) {
      return InputError("nothing to compare with", "name --reference_platform, or a second module");
    }
    return {};
  }

  DivergeVerdict Find(const Context& context, const std::stop_token& stop) {
    auto loaded = shared_.Load(files_[0], context.limits, stop);
    if (!loaded) return debug::RefusedVerdict(loaded.error());
    loaded->request.isolate = true;
    return VerdictOfIsolated(debug::RunModule(loaded->module, loaded->request, stop));
  }

  int Tell(DivergeVerdict verdict, const Context& context) const {
    verdict.platform = shared_.request().platform;
    verdict.reference = shared_.request().reference_platform;
    verdict.seed = shared_.request().seed;
    context.json ? WriteOut(DivergeReportJson(files_, verdict))
                 : PrintOut(DivergeReportText(files_, verdict));
    for (const Error& error : verdict.errors) PrintError(error);
    return ExitStatusOf(verdict);
  }

  std::vector<std::string> files_;
  RunOptionSet shared_;
};

}  // namespace

std::unique_ptr<Command> MakeDivergeCommand() { return std::make_unique<DivergeCommand>(); }

}  // namespace hloscope::app
