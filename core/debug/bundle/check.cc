#include "core/debug/bundle/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/backends/jaxlib/find_jaxlib.h"
#include "core/backends/plugins/cuda_files.h"
#include "core/backends/plugins/plugins.h"
#include "core/base/scratch_folder.h"
#include "core/debug/bundle/bounded_text.h"
#include "core/debug/bundle/bundle_values.h"
#include "core/debug/bundle/check_stages.h"
#include "core/debug/bundle/dumped_kernels.h"
#include "core/debug/bundle/machine.h"
#include "core/debug/bundle/redactor.h"
#include "core/debug/bundle/report_values.h"
#include "core/debug/bundle/untrusted_request.h"
#include "core/debug/run/against_module.h"
#include "core/dump/load.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

using dump::BundlePart;

// Classes of a failure without what redaction leaves different on each machine: stand-ins lose
// their numbers, and paths of here become stand-ins.
Failure Normalised(Failure failure) {
  Redactor redactor(SecretsOfThisProcess());
  for (std::string& text : failure.classes) {
    std::string plain;
    for (const char c : redactor.Text(text)) {
      if (c >= '0' && c <= '9') continue;
      plain += c;
    }
    // As bundles had it that were written before it was called so.
    if (constexpr std::string_view kOld = "on arrival"; plain.ends_with(kOld)) {
      plain.replace(plain.size() - kOld.size(), kOld.size(), "an input or a constant");
    }
    text = plain;
  }
  std::ranges::sort(failure.classes);
  return failure;
}

class Check {
 public:
  Check(const dump::BundleFile& bundle, const RunSpec& own) : bundle_(bundle), own_(own) {}

  Result<BundleCheck> Run(const std::stop_token& stop) {
    HLOSCOPE_ASSIGN_OR_RETURN(manifest_, ManifestOf(bundle_));
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, bundle_.ModuleFile());
    HLOSCOPE_ASSIGN_OR_RETURN(const auto loaded, dump::LoadSoundModule(file, own_.limits));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto scratch, ScratchFolder::Make());
    HLOSCOPE_TRY(Prepare(scratch.path()));
    HLOSCOPE_TRY(FindChanges());
    HLOSCOPE_TRY(VerifyWhole(*loaded.module));
    BoundTexts(check_.missing);
    BoundTexts(check_.refused);
    if (!check_.missing.empty()) {
      BoundTexts(check_.notes);
      check_.verdict =
          fmt::format("cannot be replayed here, missing: {}", fmt::join(check_.missing, "; "));
      return check_;
    }
    if (bundle_.Has(BundlePart::kOther)) HLOSCOPE_TRY(CompareWithOther(loaded.module, stop));
    check_.report = RunModule(loaded.module, request_, stop);
    Judge(*check_.report, *loaded.module);
    if (check_.missing.empty()) {
      CheckPass(*loaded.module, stop);
      HLOSCOPE_TRY(CheckReduced(scratch.path(), stop));
    }
    BoundTexts(check_.missing);
    BoundTexts(check_.notes);
    check_.verdict = BoundedText(check_.verdict);
    return std::move(check_);
  }

 private:
  Status Verify(const hlo::Module& module) const {
    for (const hlo::Diagnostic& d : hlo::Verify(module, {false, own_.limits})) {
      if (d.severity == hlo::Severity::kError) {
        return InputError(fmt::format("{}: its module: {}", bundle_.path(), d.message), d.hint);
      }
    }
    return {};
  }

  // Input error: the verifier rejects the module. Where the bundle was recorded with --no-verify
  // that is missing instead: a bundle does not switch the verifier off.
  Status VerifyWhole(const hlo::Module& module) {
    if (!request_.execution.verify) return {};
    const Status verified = Verify(module);
    if (manifest_.request.execution.verify) return check_.missing.empty() ? verified : Status();
    if (verified) {
      check_.notes.emplace_back("recorded with --no-verify; the verifier accepts the module");
    } else {
      Refuse({"verify", fmt::format("a module that the verifier accepts ({}; --no-verify runs it "
                                    "all the same, and may crash)",
                                    verified.error().message)});
    }
    return {};
  }

  // The part as a file of the scratch folder, where it is there.
  Status TakeValues(BundlePart part, const std::string& folder, std::vector<std::string>& paths) {
    if (!bundle_.Has(part)) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, bundle_.Read(part));
    const std::string path = folder + "/" + std::string(dump::FileOf(part));
    HLOSCOPE_TRY(WriteFileAtomically(path, bytes));
    paths.push_back(path);
    return {};
  }

  // The part of the recorded request that may run here.
  void TakeRequest() {
    UntrustedRequest taken = RequestFromUntrusted(manifest_.request, own_);
    request_ = std::move(taken.request);
    request_.execution.workers = own_.execution.workers;
    check_.notes = std::move(taken.notes);
    for (RefusedField& field : taken.refused) Refuse(std::move(field));
  }

  void Refuse(RefusedField field) {
    check_.refused.push_back(std::move(field.name));
    check_.missing.push_back(std::move(field.reason));
  }

  Status Prepare(const std::string& folder) {
    TakeRequest();
    RunSpec& request = request_;
    HLOSCOPE_TRY(TakeValues(BundlePart::kInputs, folder, request.inputs.files));
    const bool has_other = bundle_.Has(BundlePart::kOther);
    if (!has_other) HLOSCOPE_TRY(TakeValues(BundlePart::kExpected, folder, request.compare.expect));
    HLOSCOPE_TRY(TakeValues(BundlePart::kInfeed, folder, request.inputs.infeed));
    // What fails before any value is read fails without them.
    if (!manifest_.recorded.inputs_unread) MissValues(request, has_other);
    if (manifest_.recorded.constants_left_out) {
      Miss("the values of constants that --constants gave",
           "ask for a bundle made with --values all, or `run` the bundle with --constants F.npz");
    }
    HLOSCOPE_TRY(TakeKernels(folder, request));
    if (bundle_.Has(BundlePart::kChoices)) {
      HLOSCOPE_ASSIGN_OR_RETURN(request.load.choices, bundle_.Read(BundlePart::kChoices));
    }
    FindPlatformsOf(request);
    return {};
  }

  void MissValues(const RunSpec& request, bool has_other) {
    if (request.inputs.files.empty() && !manifest_.recorded.inputs_generated) {
      Miss("the values of the parameters", "ask for a bundle made with --values all");
    }
    if (request.inputs.infeed.empty() && manifest_.recorded.infeed_given) {
      Miss("the values that infeeds take", "ask for a bundle made with --values all");
    }
    if (request.compare.expect.empty() && manifest_.recorded.against_expected && !has_other) {
      Miss("the results that were expected", "ask for a bundle made with --values all");
    }
  }

  // The kernels that the run runs, as a dump of their own.
  Status TakeKernels(const std::string& folder, RunSpec& request) {
    if (!bundle_.Has(BundlePart::kDump)) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, bundle_.Read(BundlePart::kDump));
    const std::string dump = folder + "/dump";
    std::error_code error;
    std::filesystem::create_directory(dump, error);
    HLOSCOPE_ASSIGN_OR_RETURN(request.load.module_file, UnpackKernels(bytes, dump, own_.limits));
    return {};
  }

  void Miss(std::string what, std::string_view fix) {
    if (!fix.empty()) what += fmt::format(" ({})", fix);
    check_.missing.push_back(std::move(what));
  }

  void FindPlatformsOf(const RunSpec& request) {
    for (const UsedPlatform& used : PlatformsOf(request)) {
      const replay::PlatformRow* row = replay::FindPlatform(used.name);
      if (row == nullptr) {
        Miss("platform " + used.name, "this hloscope does not have it");
      } else if (row->Has(replay::kNeedsPlugin)) {
        const auto plugin = replay::ResolvePlugin(used.name, {used.python});
        if (!plugin) Miss("a plugin for " + used.name, plugin.error().hint);
      } else if (row->Has(replay::kNeedsDriver)) {
        if (!replay::CudaDriverIsThere()) {
          Miss("NVIDIA's driver for " + used.name, "`hloscope doctor` says what is missing");
        }
      } else if (row->Has(replay::kNeedsPython)) {
        const auto place = replay::ResolveJaxlib({used.python});
        if (!place) {
          Miss(fmt::format("jaxlib (recorded with {})", fmt::join(manifest_.plugins, ", ")),
               "name its environment by --python PATH");
        }
      }
    }
  }

  // Parts whose bytes are not those of the manifest.
  Status FindChanges() {
    for (const dump::BundleFile::Listed& part : bundle_.listed()) {
      HLOSCOPE_ASSIGN_OR_RETURN(const bool unchanged, bundle_.IsUnchanged(part.part));
      if (!unchanged) changed_.emplace_back(dump::FileOf(part.part));
    }
    return {};
  }

  void Judge(const RunReport& report, const hlo::Module& module) {
    const RecordedRun& recorded = manifest_.recorded;
    const RecordedRun now = RecordOf(report, module);
    if (CannotRun(report, recorded)) {
      check_.missing.push_back(report.error->ToString());
      check_.verdict = "cannot be replayed here: " + report.error->ToString();
      return;
    }
    if (OtherInputs(now)) {
      Miss("the values of the parameters", "this version generates other values from the seed");
      check_.verdict = "cannot be replayed here, missing: " + check_.missing.back();
      return;
    }
    NoteMachine();
    NoteChoices(report);
    std::string why = WhyNot(recorded, now);
    if (!changed_.empty()) {
      const std::string parts = fmt::format("{}", fmt::join(changed_, ", "));
      if (why.empty()) why = "it happens here too, but not to the recorded module";
      why += fmt::format("; changed since the bundle was made: {}", parts);
    }
    check_.status = why.empty() ? CheckStatus::kReproduced : CheckStatus::kNotReproduced;
    std::string what = now.failure ? now.failure->text : "nothing fails, as recorded";
    if (!now.failure && HoldsDifference() && !HasStages()) {
      what += "; what `diverge` found is not replayed";
    }
    check_.verdict = why.empty() ? "reproduced: " + what : "not reproduced: " + why;
    if (!why.empty()) {
      BoundTexts(check_.notes);
      for (const std::string& note : check_.notes) check_.verdict += "; " + note;
    }
  }

  bool HasStages() const {
    return bundle_.Has(BundlePart::kBeforePass) && bundle_.Has(BundlePart::kAfterPass);
  }

  // Whether the modules around the pass that is blamed differ.
  void CheckPass(const hlo::Module& module, const std::stop_token& stop) {
    if (!HasStages()) return;
    const Result<StagesCheck> stages = CompareStages(module, stop);
    if (stages) {
      check_.stages = stages->differ ? CheckStatus::kReproduced : CheckStatus::kNotReproduced;
      check_.verdict += "; " + stages->clause;
    } else {
      check_.stages = CheckStatus::kCannot;
      check_.verdict += "; the modules before and after the pass could not be compared here: " +
                        stages.error().ToString();
    }
    // Where the run of the whole shows nothing, the pass is what the bundle is about.
    if (manifest_.recorded.failure || !HoldsDifference()) return;
    if (check_.status != CheckStatus::kReproduced || check_.stages != CheckStatus::kNotReproduced) {
      return;
    }
    check_.status = CheckStatus::kNotReproduced;
    constexpr std::string_view kReproduced = "reproduced: ";
    check_.verdict.replace(0, kReproduced.size(), "not reproduced: ");
  }

  // On what the run of `module` is given.
  Result<StagesCheck> CompareStages(const hlo::Module& module, const std::stop_token& stop) const {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto before, ModuleOf(BundlePart::kBeforePass));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto after, ModuleOf(BundlePart::kAfterPass));
    // A run that ended before it read any value is replayed without them.
    const RecordedRun& recorded = manifest_.recorded;
    const bool lacks_inputs = !recorded.inputs_generated && request_.inputs.files.empty();
    if (lacks_inputs || (recorded.infeed_given && request_.inputs.infeed.empty())) {
      return InputError("the bundle does not have the values that they take",
                        "ask for a bundle made with --values all");
    }
    RunSpec request = request_;
    HLOSCOPE_ASSIGN_OR_RETURN(std::vector<hlo::Literal> arguments,
                              ArgumentsOfRun(module, request_, *check_.report, stop));
    request.inputs = request_.inputs.With(std::move(arguments));
    return CheckStages(before, after, request, BlamesWithinBounds(bundle_), stop);
  }

  // Whether a verdict is in the bundle that its run does not show, as of stages of a dump.
  bool HoldsDifference() const {
    if (!bundle_.Has(BundlePart::kVerdict)) return false;
    const auto verdict = bundle_.Read(BundlePart::kVerdict);
    return verdict.has_value() && IsOfDifference(*verdict);
  }

  // Ways of libraries that are not taken as recorded.
  void NoteChoices(const RunReport& report) {
    if (!report.executed) return;
    for (const replay::RunExecuted::Choice& choice : report.executed->choices) {
      for (const std::string& note : choice.way.notes) check_.notes.push_back(note);
    }
  }

  // What the other module gives here is what is expected.
  Status CompareWithOther(const std::shared_ptr<const hlo::Module>& module,
                          const std::stop_token& stop) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto other, ModuleOf(BundlePart::kOther));
    HLOSCOPE_ASSIGN_OR_RETURN(request_, AgainstModule(module, other, request_, stop));
    return {};
  }

  // Whether the smaller module fails as the bundle records it of the whole one.
  Status CheckReduced(const std::string& folder, const std::stop_token& stop) {
    const RecordedRun& recorded = manifest_.recorded;
    const std::optional<bool> generated = recorded.reduced_inputs_generated;
    if (!bundle_.Has(BundlePart::kReduced) || !recorded.failure || !generated) return {};
    if (!*generated && !bundle_.Has(BundlePart::kReducedInputs)) {
      check_.reduced = CheckStatus::kCannot;
      check_.verdict += "; the reduced module was not run: its inputs are not in";
      check_.notes.emplace_back(
          "the inputs of the reduced module are missing (ask for a bundle made with --values all)");
      return {};
    }
    const auto reduced = ModuleOf(BundlePart::kReduced);
    if (!reduced) {
      check_.reduced = CheckStatus::kCannot;
      check_.verdict += "; the reduced module was not run";
      check_.notes.push_back("the reduced module: " + reduced.error().ToString());
      return {};
    }
    RunSpec request = request_;
    request.inputs.files.clear();
    request.compare.expect.clear();
    HLOSCOPE_TRY(TakeValues(BundlePart::kReducedInputs, folder, request.inputs.files));
    if (recorded.against_expected && request.reference.name.empty()) {
      request.reference.name = replay::ReferencePlatform().name;
    }
    const RecordedRun now = RecordOf(RunModule(*reduced, request, stop), **reduced);
    const bool same =
        now.failure && IsSameFailure(Normalised(*recorded.failure), Normalised(*now.failure));
    check_.reduced = same ? CheckStatus::kReproduced : CheckStatus::kNotReproduced;
    check_.verdict += same          ? "; the reduced module fails so too"
                      : now.failure ? "; the reduced module fails differently: " + now.failure->text
                                    : "; the reduced module does not fail here";
    return {};
  }

  Result<std::shared_ptr<const hlo::Module>> ModuleOf(BundlePart part) const {
    HLOSCOPE_ASSIGN_OR_RETURN(std::string text, bundle_.Read(part));
    const std::string name(dump::FileOf(part));
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto loaded,
        dump::LoadSoundModule(FileView::FromBytes(name, std::move(text)), own_.limits));
    if (request_.execution.verify) HLOSCOPE_TRY(Verify(*loaded.module));
    return loaded.module;
  }

  // Something is not there, which is not what was recorded.
  static bool CannotRun(const RunReport& report, const RecordedRun& recorded) {
    if (!report.error || report.status == recorded.status) return false;
    return report.error->error_class == ErrorClass::kUnsupported ||
           report.error->error_class == ErrorClass::kEnvironment;
  }

  bool OtherInputs(const RecordedRun& now) const {
    const std::string& recorded = manifest_.recorded.inputs_hash;
    return changed_.empty() && !recorded.empty() && !now.inputs_hash.empty() &&
           recorded != now.inputs_hash;
  }

  // Why this is not what was recorded; empty: it is.
  static std::string WhyNot(const RecordedRun& recorded, const RecordedRun& now) {
    if (recorded.failure && !now.failure) {
      return fmt::format("the run is {} here; recorded: {}", ToString(now.status),
                         recorded.failure->text);
    }
    if (recorded.failure && !IsSameFailure(Normalised(*recorded.failure), Normalised(*now.failure)))
      return fmt::format("it fails differently: {} ({}); recorded: {} ({})",
                         now.failure->fingerprint(), now.failure->text,
                         recorded.failure->fingerprint(), recorded.failure->text);
    if (recorded.failure) return "";
    if (now.failure) return fmt::format("it fails here: {}", now.failure->text);
    if (recorded.status != now.status) {
      return fmt::format("the run is {} here; recorded: {}", ToString(now.status),
                         ToString(recorded.status));
    }
    if (now.status == RunStatus::kRan && recorded.results_hash != now.results_hash) {
      return "it ran, but its results are not bit-identical to the recorded ones";
    }
    return "";
  }

  void NoteMachine() {
    const MachineFacts here = ReadMachineFacts(PlatformsOf(request_));
    std::vector<std::string> lacking, plugins;
    for (const std::string& feature : manifest_.cpu_features) {
      if (std::ranges::find(here.cpu_features, feature) == here.cpu_features.end()) {
        lacking.push_back(feature);
      }
    }
    for (const PluginFacts& plugin : here.plugins) plugins.push_back(ToString(plugin));
    if (!lacking.empty()) {
      check_.notes.push_back(fmt::format("the processor here lacks {}", fmt::join(lacking, ", ")));
    }
    if (plugins != manifest_.plugins) {
      const auto names = [](const std::vector<std::string>& all) {
        return all.empty() ? std::string("no plugin") : fmt::format("{}", fmt::join(all, ", "));
      };
      check_.notes.push_back(
          fmt::format("recorded with {}, here with {}", names(manifest_.plugins), names(plugins)));
    }
  }

  const dump::BundleFile& bundle_;
  const RunSpec& own_;  // what the user gave
  BundleManifest manifest_;
  RunSpec request_;  // what runs
  BundleCheck check_;
  std::vector<std::string> changed_;
};

}  // namespace

std::string_view ToString(CheckStatus status) {
  constexpr std::string_view kTexts[] = {"reproduced", "not_reproduced", "cannot"};
  return kTexts[static_cast<size_t>(status)];
}

std::chrono::milliseconds LongestReplay(const RunSpec& run, int further) {
  constexpr std::chrono::seconds kToStartAndRead(10);
  constexpr double kLongest = 1e9;  // seconds
  const double steps =
      1 + (LoadsApart(run.test.name) ? 1 : 0) + (LoadsApart(run.reference.name) ? 1 : 0);
  const double seconds = std::min(SecondsOf(run) * steps * (1 + further), kLongest);
  return kToStartAndRead + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

RecordedRun RecordOf(const RunReport& report, const hlo::Module& module) {
  RecordedRun recorded;
  recorded.status = report.status;
  recorded.failure = FailureOf(report, &module);
  recorded.inputs_generated = report.generated_inputs;
  recorded.inputs_hash = HashOfValues(report.arguments);
  std::vector<hlo::Literal> results;
  for (const RunOutput& output : report.outputs) {
    if (!output.missing) results.push_back(output.value);
  }
  recorded.results_hash = HashOfValues(results);
  return recorded;
}

Result<BundleCheck> CheckBundle(const dump::BundleFile& bundle, const RunSpec& own,
                                const std::stop_token& stop) {
  return Check(bundle, own).Run(stop);
}

}  // namespace hloscope::debug
