// `hloscope bundle create`.
#include <filesystem>

#include "app/cancel.h"
#include "app/commands/bundle.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/bundle_report.h"
#include "app/reports/profile_comparison_report.h"
#include "app/reports/profile_report.h"
#include "core/dump/load.h"

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
  HLOSCOPE_TRY(AddNames(report, jobs));
  return report;
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
  }
  if (options.profiles.size() > 2) return InputError("--profile: one trace, or two to compare");
  if (options.profiles.empty()) return findings;
  HLOSCOPE_ASSIGN_OR_RETURN(const ProfileReport first,
                            ReadTrace(options.profiles[0], module, limits));
  findings.profile = ProfileJson(first);
  if (options.profiles.size() < 2) return findings;
  HLOSCOPE_ASSIGN_OR_RETURN(const ProfileReport second,
                            ReadTrace(options.profiles[1], module, limits));
  findings.profile_comparison = ProfileComparisonJson(
      first, second, profiler::CompareProfiles(*first.attribution, *second.attribution));
  return findings;
}

Result<debug::MadeBundle> Create(const std::string& given, const BundleOptions& options,
                                 RunOptionSet& run, std::string& out, const Limits& limits) {
  debug::RunRequest& request = run.request();
  HLOSCOPE_ASSIGN_OR_RETURN(const BundleInput input, FindBundleInput(given, request, limits));
  if (request.platform.empty()) request.platform = replay::ReferencePlatform().name;
  if (out.empty()) out = ModuleStem(input.module) + ".hlob";
  std::error_code error;
  if (std::filesystem::equivalent(out, given, error)) {
    return InputError(out + ": that is the input", "name another file with -o");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(BundleFindings findings, FindingsOf(options, input.module, limits));
  const CancelOnSignals cancel;
  return PackBundle(input, std::move(findings), options.pack, run, out, limits, cancel.token());
}

}  // namespace

int BundleCreate(const std::string& input, const BundleOptions& options, RunOptionSet& run,
                 const Context& context) {
  std::string out = options.out;
  const Result<debug::MadeBundle> made = Create(input, options, run, out, context.limits);
  if (context.json) {
    WriteOut(BundleMadeJson(out.empty() ? input : out, made));
  } else if (made) {
    PrintOut(BundleMadeText(out, *made));
  }
  if (made) return kGood;
  PrintError(made.error());
  return ExitStatusOf(made.error());
}

}  // namespace hloscope::app
