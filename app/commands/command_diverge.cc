// `hloscope diverge`: which pass, instruction or cause makes two runs differ.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/any_module.h"
#include "app/cancel.h"
#include "app/command.h"
#include "app/commands/pack_bundle.h"
#include "app/dump_place.h"
#include "app/fail.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/diverge_report.h"
#include "app/reports/run_report.h"
#include "app/run_options.h"
#include "app/workers.h"
#include "core/backends/plugins/plugins.h"
#include "core/base/counted.h"
#include "core/base/escape.h"
#include "core/base/format_text.h"
#include "core/debug/explain/diverge/first_bad.h"
#include "core/debug/explain/diverge/vote.h"
#include "core/debug/explain/diverge/write_verdict.h"
#include "core/debug/explain/passes/explain_platforms.h"
#include "core/debug/explain/passes/find_pass.h"
#include "core/debug/explain/passes/own_passes.h"
#include "core/debug/explain/passes/two_modules.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/replay/device_values.h"

namespace hloscope::app {
namespace {

using debug::DivergeVerdict;
using debug::RunStatus;

class DivergeCommand : public Command {
 public:
  DivergeCommand() { shared_.AllowSeveralPythons(); }

  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = {
        {.name = "modules",
         .target = &files_,
         .help = "a module, or two that should be equivalent; with --passes a module, and the dump "
                 "of its compilation where there is one",
         .value = "MODULE",
         .required = true},
        {.name = "--passes",
         .target = &passes_,
         .help = "find the pass that changed the numbers: in the dump that is named after the "
                 "module, else the platform's own compiler writes the stages"},
        {.name = "--vote",
         .target = &third_,
         .help = "a third platform, to report which of the two it agrees with",
         .value = "PLATFORM"}};
    for (std::vector<OptionSpec> specs :
         {shared_.Specs(RunGroup::kInputs), shared_.Specs(RunGroup::kComparison),
          shared_.Specs(RunGroup::kExecution), bundle_.Specs()}) {
      for (OptionSpec& spec : specs) all.push_back(std::move(spec));
    }
    for (OptionSpec& spec : all) {
      if (spec.name != "--platform") continue;
      spec.help += fmt::format(
          ", with --passes of a module without a dump {}, with several "
          "environments of --python {}",
          debug::CompilerOf(replay::ReferencePlatform().name),
          replay::PlatformWith(replay::kNeedsPython)->name);
    }
    return all;
  }

  int Run(const Context& context) override {
    for (const Status& ready : {shared_.Prepare(context), bundle_.Check(), CheckForm()}) {
      if (!ready) return Tell(Refuse(ready), context, {});
    }
    const CancelOnSignals cancel;
    debug::RunSpec& request = shared_.request();
    request.execution.workers =
        StartWorkers(std::array{request.test.name, request.reference.name, third_}, context.limits);
    return Tell(Find(context, cancel.token()), context, cancel.token());
  }

 private:
  static DivergeVerdict Refuse(const Status& status) {
    return debug::RefusedVerdict(status.error());
  }

  Status CheckForm() const {
    if (files_.size() > 2) return InputError("expected a module, or two");
    HLOSCOPE_TRY(CheckBundleFile("--bundle", bundle_.file(), {files_}, shared_.request()));
    if (!third_.empty()) {
      HLOSCOPE_TRY(replay::CheckPlatform(third_));
      if (files_.size() == 2 || passes_ || shared_.request().reference.name.empty()) {
        return InputError("--vote takes one module and --reference_platform");
      }
    }
    if (shared_.pythons().size() > 1) {
      constexpr uint32_t kFromPython = replay::kNeedsPlugin | replay::kNeedsPython;
      const replay::PlatformRow* const row = replay::FindPlatform(Platform());
      if (names_platform() && row != nullptr && (row->flags & kFromPython) == 0) {
        return InputError(
            fmt::format("--python: {} needs nothing of a Python environment", Platform()),
            fmt::format("without --platform it is {}",
                        replay::PlatformWith(replay::kNeedsPython)->name));
      }
      if (files_.size() == 1 && !passes_) return {};
      return InputError("--python with several environments takes one module, and no --passes");
    }
    if (is_of_two()) {
      if (!shared_.request().compare.expect.empty()) {
        return InputError("two modules are compared with each other, not with expected values",
                          "`run A --expect F` and `run B --expect F` compare each with them");
      }
      for (const std::string& platform : {Platform(), shared_.request().reference.name}) {
        if (platform.empty() || platform == replay::ReferencePlatform().name) continue;
        return InputError(
            fmt::format("two modules are compared on the {} alone, not on {}",
                        replay::ReferencePlatform().name, platform),
            fmt::format("`run B --platform {0} --outputs b.npz` and `run A --platform {0} --expect "
                        "b.npz` compare them there",
                        platform));
      }
      return {};
    }
    if (passes_) {
      if (files_.size() == 1) return dump::IsFolder(files_[0]) ? Status() : CheckCompiler();
      if (dump::IsFolder(files_[1])) return {};
      return InputError(files_[1] + ": --passes takes a module and the folder of its dump");
    }
    if (files_.size() == 1 && shared_.request().reference.name.empty()) {
      return InputError("nothing to compare with",
                        "name --passes, --reference_platform, or a second module");
    }
    return {};
  }

  bool names_platform() const {
    return std::ranges::find(shared_.given(), "--platform") != shared_.given().end();
  }

  // The stages of a module alone are those that the platform's own compiler writes.
  Status CheckCompiler() const {
    if (!names_platform() || debug::CompilerOf(Platform()) == Platform()) return {};
    std::vector<std::string_view> compilers;
    for (const replay::PlatformRow& row : replay::PlatformRows()) {
      if (debug::CompilerOf(row.name) == row.name) compilers.push_back(row.name);
    }
    return InputError(
        fmt::format("--passes: {} has no passes whose stages could be compared", Platform()),
        fmt::format("platforms that have: {}; or name the dump of a compilation",
                    fmt::join(compilers, ", ")));
  }

  DivergeVerdict Find(const Context& context, const std::stop_token& stop) {
    if (passes_ && dump::IsFolder(files_[0])) {
      if (files_.size() == 1) return OfDump(files_[0], nullptr, Platform(), context, stop);
      return debug::RefusedVerdict(
          {ErrorClass::kInput, "expected a module before the dump", {}, ""});
    }
    auto loaded = shared_.Load(files_[0], context.limits, stop);
    if (!loaded) return debug::RefusedVerdict(loaded.error());
    if (shared_.pythons().size() > 1) return OfVersions(*loaded, stop);
    if (passes_) {
      return files_.size() == 2 ? OfDump(files_[1], &*loaded, Platform(), context, stop)
                                : OfOwnCompiler(*loaded, stop);
    }
    if (is_of_two()) return OfTwoModules(*loaded, context, stop);
    DivergeVerdict verdict = debug::ExplainPlatforms(loaded->module, loaded->request, stop);
    if (!third_.empty()) {
      debug::TakeVote(verdict, loaded->module, loaded->request, third_, stop);
    }
    return verdict;
  }

  DivergeVerdict OfTwoModules(const LoadedRun& a, const Context& context,
                              const std::stop_token& stop) {
    const auto b = shared_.Load(files_[1], context.limits, stop);
    if (!b) return debug::RefusedVerdict(b.error());
    return debug::ExplainTwoModules(a.module, b->module, a.request, {files_[0], files_[1]}, stop);
  }

  bool is_of_two() const { return files_.size() == 2 && !passes_; }
  const std::string& Platform() const { return shared_.request().test.name; }

  // Of the environments that --python names; where no platform is, it is theirs.
  DivergeVerdict OfVersions(LoadedRun& given, const std::stop_token& stop) {
    const replay::PlatformRow* own = replay::PlatformWith(replay::kNeedsPython);
    debug::RunSpec& request = given.request;
    if (request.test.name == replay::ReferencePlatform().name) request.test.name = own->name;
    shared_.request().test.name = request.test.name;
    return debug::FindFirstBad(given.module, request, shared_.pythons(), stop);
  }

  // The module of the dump that the given one is, or its largest.
  DivergeVerdict OfDump(const std::string& folder, const LoadedRun* given,
                        const std::string& platform, const Context& context,
                        const std::stop_token& stop) {
    const auto model = dump::DumpModel::Open(folder, context.limits);
    if (!model) return debug::RefusedVerdict(model.error());
    const auto module = ModuleIn(**model, given);
    if (!module) return debug::RefusedVerdict(module.error());
    const auto pipeline = debug::ReadPipeline(
        **model, *module, context.limits,
        given == nullptr ? shared_.request().inputs.constants : given->request.inputs.constants);
    if (!pipeline) return debug::RefusedVerdict(pipeline.error());
    debug::RunSpec request = given == nullptr ? shared_.request() : given->request;
    request.test.name = platform;
    const auto& first = given == nullptr ? pipeline->stages.front().module : given->module;
    const auto source = [&] { return SourceOf(**model, *module, context, stop); };
    DivergeVerdict verdict = debug::ExplainByPasses(first, *pipeline, request, source, stop);
    if (verdict.passes.empty()) return verdict;
    for (const debug::PassStage& stage : pipeline->stages) {
      if (stage.file == verdict.passes.front().file_before) before_pass_ = stage.module;
      if (stage.file == verdict.passes.front().file_after) after_pass_ = stage.module;
    }
    return verdict;
  }

  // The module that XLA makes of the StableHLO in the dump; null where there is none.
  static Result<std::shared_ptr<const hlo::Module>> SourceOf(const dump::DumpModel& model,
                                                             int32_t module, const Context& context,
                                                             const std::stop_token& stop) {
    const int32_t file = model.StableHloFile(module);
    if (file < 0) return nullptr;
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto loaded,
        LoadAnySoundModule(model.FullPath(file), context.limits, "", {.stop = stop}));
    return loaded.module;
  }

  static Result<int32_t> ModuleIn(const dump::DumpModel& model, const LoadedRun* given) {
    if (given == nullptr || model.modules().size() == 1) return FindModule(model, "");
    std::error_code error;
    const std::filesystem::path path = given->loaded.path;
    for (size_t m = 0; m < model.modules().size(); ++m) {
      for (const int32_t file : model.modules()[m].files) {
        if (std::filesystem::equivalent(model.FullPath(file), path, error)) {
          return static_cast<int32_t>(m);
        }
      }
    }
    return FindModule(model, given->module->name());
  }

  static DivergeVerdict OfOwnCompiler(const LoadedRun& given, const std::stop_token& stop) {
    debug::RunSpec request = given.request;
    request.test.name = debug::CompilerOf(given.request.test.name);
    return debug::ExplainByOwnPasses(given.module, request, stop);
  }

  int Tell(DivergeVerdict verdict, const Context& context, const std::stop_token& stop) {
    if (verdict.platform.empty()) verdict.platform = shared_.request().test.name;
    verdict.reference = shared_.request().reference.name;
    if (verdict.reference.empty()) verdict.reference = replay::ReferencePlatform().name;
    verdict.seed = shared_.request().inputs.seed;
    verdict.inputs_generated = shared_.request().inputs.are_generated();
    const bool is_refused = !verdict.errors.empty() && verdict.tries.empty() &&
                            verdict.passes.empty() && !verdict.place && !verdict.cause &&
                            verdict.compared == 0;
    std::string line = debug::VerdictJson(files_, verdict);
    // Of stages that could not be compared it lists which.
    if (!context.json && (!is_refused || verdict.stages > 0))
      PrintOut(DivergeReportText(files_, verdict));
    for (const Error& error : verdict.errors) PrintError(InFile(error, files_[0]));
    int made = kGood;
    if (bundle_.asked() && !is_refused) {
      FlushOut();
      made = MakeBundle(verdict, context, stop, line);
    } else if (!context.json && verdict.status == RunStatus::kDiffers) {
      PrintOut(Hint());
    }
    if (context.json) WriteOut(line);
    return Worse(ExitStatusOf(verdict.status), made);
  }

  // The run that shows what was found: on the platform whose passes they are, of the version that
  // is bad.
  int MakeBundle(const DivergeVerdict& verdict, const Context& context, const std::stop_token& stop,
                 std::string& line) {
    debug::RunSpec& request = shared_.request();
    if (passes_) request.test.name = PlatformOfPasses(request.test.name);
    if (request.reference.name.empty() && (passes_ || files_.size() == 1)) {
      request.reference.name = verdict.reference;
    }
    if (!verdict.first_bad.empty()) {
      request.test.python = verdict.first_bad;
    }
    BundleFindings findings{
        .verdict = line, .before_pass = before_pass_, .after_pass = after_pass_};
    if (is_of_two()) {
      const auto other = shared_.Load(files_[1], context.limits, stop);
      if (!other) {
        PrintError(other.error());
        return ExitStatusOf(other.error());
      }
      findings.other = other->module;
      TakeBounds(verdict);
    }
    return bundle_.Make(files_[0], std::move(findings), shared_, context, stop, line);
  }

  // Small values were held to bounds of their own, which a run has to be given.
  void TakeBounds(const DivergeVerdict& verdict) {
    debug::BoundsRequest& asked = shared_.request().compare.bounds;
    const bool is_beyond = verdict.status == RunStatus::kDiffers && verdict.worst &&
                           verdict.worst->problem.empty() && verdict.worst->shape.IsArray();
    if (!is_beyond || asked.absolute || asked.relative) return;
    const debug::ErrorBounds held = verdict.worst->bounds,
                             usual = debug::BoundsFor(verdict.worst->shape.element_type(), {});
    // A run holds what was computed in f32 to bounds of its own.
    const bool is_double =
        hlo::RealPart(verdict.worst->shape.element_type()) == hlo::ElementType::kF64;
    if (!is_double && held.absolute == usual.absolute && held.relative == usual.relative) return;
    asked = {held.absolute, held.relative};
  }

  // The stages of a dump were evaluated by the reference: unless a platform was asked for, the
  // compiler is what shows their fault, where it is here.
  std::string PlatformOfPasses(const std::string& asked) const {
    std::string compiler = debug::CompilerOf(asked);
    if (!dump::IsFolder(files_.back())) return compiler;
    const bool is_open = !names_platform();
    return is_open && replay::ResolvePlugin(compiler, {}).has_value() ? compiler : asked;
  }

  // The same once more, with a bundle.
  std::string Hint() const {
    std::string command = "hloscope diverge";
    for (const std::string& file : files_) command += " " + Quoted(file);
    if (passes_) command += " --passes";
    return FormatText("to report this: {}{} --bundle {}\n", command,
                      shared_.OptionsText(shared_.request()), Quoted(BundleNameOf(files_[0])));
  }

  std::vector<std::string> files_;
  bool passes_ = false;
  std::string third_;  // that votes; empty: none
  // Of a dump: around the pass that is blamed; null: none is.
  std::shared_ptr<const hlo::Module> before_pass_, after_pass_;
  RunOptionSet shared_;
  BundleStep bundle_;
};

}  // namespace

std::unique_ptr<Command> MakeDivergeCommand() { return std::make_unique<DivergeCommand>(); }

}  // namespace hloscope::app
