// `hloscope bundle create`.
#include "app/cancel.h"
#include "app/commands/bundle.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/attributed_modules.h"
#include "app/reports/bundle_report.h"
#include "app/reports/profile_comparison_report.h"
#include "app/reports/profile_report.h"
#include "core/debug/run/run_inputs.h"
#include "core/dump/load.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/replay/device_values.h"

namespace hloscope::app {
namespace {

// What a trace says of the module.
Result<ProfileReport> ReadTrace(const std::string& path, const std::string& module,
                                const Limits& limits) {
  Jobs jobs(AvailableCpus());
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  std::vector<profiler::AttributedModule> modules;
  if (auto given = LoadAttributedModules({module}, limits); given) modules = *std::move(given);
  HLOSCOPE_ASSIGN_OR_RETURN(ProfileReport report, ReadProfileReport(file, modules, limits, jobs));
  HLOSCOPE_TRY(AddStatistics(report, jobs));
  return report;
}

// One per parameter; none where no file is named.
Result<std::vector<hlo::Literal>> ReducedInputs(const std::string& path, const hlo::Module& module,
                                                const Limits& limits) {
  if (path.empty()) return std::vector<hlo::Literal>();
  HLOSCOPE_ASSIGN_OR_RETURN(auto files, dump::TensorFiles::Open(std::span(&path, 1), limits));
  debug::NumberByParameters(files, module);
  HLOSCOPE_TRY(replay::CheckDeviceCount(module, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(debug::RunInputs inputs,
                            debug::ReadInputs(files, module, replay::Placement(module, limits)));
  return std::move(inputs.arguments);
}

// What the files that are named beside the module say.
Result<BundleFindings> FindingsOf(const BundleOptions& options, const std::string& module,
                                  const Limits& limits) {
  BundleFindings findings;
  if (!options.verdict.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(options.verdict, limits));
    findings.verdict = file.bytes();
  }
  if (!options.reduced.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto reduced, dump::LoadSoundModule(options.reduced, limits));
    findings.reduced = reduced.module;
    HLOSCOPE_ASSIGN_OR_RETURN(findings.reduced_arguments,
                              ReducedInputs(options.reduced_inputs, *reduced.module, limits));
  }
  if (options.profiles.size() > 2) return InputError("--profile: one trace, or two to compare");
  if (options.profiles.empty()) return findings;
  HLOSCOPE_ASSIGN_OR_RETURN(const ProfileReport first,
                            ReadTrace(options.profiles[0], module, limits));
  findings.profile = ProfileJson(first);
  if (options.profiles.size() < 2) return findings;
  HLOSCOPE_ASSIGN_OR_RETURN(const ProfileReport second,
                            ReadTrace(options.profiles[1], module, limits));
  Jobs jobs(AvailableCpus());
  HLOSCOPE_ASSIGN_OR_RETURN(const ComparedReports compared,
                            CompareReports(std::span(&first, 1), std::span(&second, 1), jobs));
  findings.profile_comparison = ProfileComparisonJson(compared);
  return findings;
}

// What is to be packed, and where to.
struct Order {
  BundleInput input;
  BundleFindings findings;
  std::string out;
};

Result<Order> ReadOrder(const std::string& given, const BundleOptions& options,
                        debug::RunSpec& request, const Limits& limits) {
  Order order;
  HLOSCOPE_ASSIGN_OR_RETURN(order.input, FindBundleInput(given, request, limits));
  if (request.test.name.empty()) request.test.name = replay::ReferencePlatform().name;
  order.out = options.out.empty() ? BundleNameOf(order.input.module) : options.out;
  HLOSCOPE_TRY(CheckBundleFile(
      "-o", order.out,
      {std::span(&given, 1), std::span(&options.verdict, 1), std::span(&options.reduced, 1),
       std::span(&options.reduced_inputs, 1), options.profiles},
      request));
  HLOSCOPE_ASSIGN_OR_RETURN(order.findings, FindingsOf(options, order.input.module, limits));
  return order;
}

template <typename T>
int TellOf(const std::string& file, const Result<T>& result, const Context& context) {
  if (context.json) {
    WriteOut(BundleMadeJson(file, result));
  } else if (result) {
    PrintOut(BundleMadeText(file, *result));
  }
  if (result) return kGood;
  PrintError(result.error());
  return ExitStatusOf(result.error());
}

}  // namespace

int BundleCreate(const std::string& input, const BundleOptions& options, RunOptionSet& run,
                 const Context& context) {
  const CancelOnSignals cancel;
  Result<Order> order = ReadOrder(input, options, run.request(), context.limits);
  if (!order) {
    const std::string& file = options.out.empty() ? input : options.out;
    return TellOf<debug::MadeBundle>(file, std::unexpected(order.error()), context);
  }
  if (options.plan) {
    return TellOf(order->out,
                  PlanPacking(order->input, std::move(order->findings), options.pack, run,
                              order->out, context.limits, cancel.token()),
                  context);
  }
  return TellOf(order->out,
                PackBundle(order->input, std::move(order->findings), options.pack, run, order->out,
                           context.limits, cancel.token()),
                context);
}

}  // namespace hloscope::app
