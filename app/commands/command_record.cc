// `hloscope record`: runs the user's own program so that it leaves a good dump, then tells of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "app/command.h"
#include "app/fail.h"
#include "app/output.h"
#include "app/reports/dump_report.h"
#include "app/reports/recompilation_report.h"
#include "core/base/counted.h"
#include "core/base/environment.h"
#include "core/base/escape.h"
#include "core/base/file.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/debug/bundle/redactor.h"
#include "core/debug/bundle/secret_names.h"
#include "core/debug/recompile/compile_log.h"
#include "core/debug/recompile/dump_recompilations.h"
#include "core/debug/record/flag_probe.h"
#include "core/debug/record/private_file.h"
#include "core/debug/record/program_run.h"
#include "core/debug/record/python_hook.h"
#include "core/debug/record/recording_plan.h"
#include "core/debug/record/saved_inputs.h"
#include "core/debug/record/unused_path.h"
#include "core/dump/run_record.h"
#include "profiler/profile.h"

namespace hloscope::app {
namespace {

constexpr const char* kLog = "stderr";
constexpr int kSignalStatus = 128;

class RecordCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "command",
         .target = &command_,
         .help = "the program and its arguments, after --",
         .value = "CMD",
         .required = true,
         .after_dashes = true},
        {.name = "--dump",
         .target = &options_.dump,
         .help = "the folder for the dump; by default the one of XLA_FLAGS, else hloscope-dump",
         .value = "DIR"},
        {.name = "--passes",
         .target = &options_.passes,
         .help = "also the module after each pass (many files)"},
        {.name = "--snapshots",
         .target = &options_.snapshots,
         .help = "also the inputs and results of each execution on CPU (large files)"},
        {.name = "--inputs",
         .target = &options_.inputs,
         .help = "also the arguments of the first call of each function that JAX, TensorFlow or "
                 "PyTorch/XLA compiles, which run, diverge and bundle then take"},
        {.name = "--profile",
         .target = &options_.profile,
         .help = "also a profile, by the profiler of the framework"},
        {.name = "--no-compilation-cache",
         .target = &options_.caches_off,
         .help = "disable persistent compilation caches for this run; a cached module leaves "
                 "at most its optimised form"},
        {.name = "--framework",
         .target = &framework_,
         .help = "the framework of the program, where its imports do not show it",
         .value = "NAME",
         .choices = {"jax", "tensorflow", "pytorch"}}};
  }

  int Run(const Context& context) override {
    const debug::Environment environment = OwnEnvironment();
    auto program = debug::FindProgram(command_, environment, framework_);
    if (!program) return Fail(InputKeys(), program.error(), context);
    auto plan = debug::PlanRecording(*program, environment, options_);
    if (!plan) return Fail(InputKeys(), plan.error(), context);
    for (const std::string& text : plan->warnings) Warn(text);
    PrintError(FormatText("records {} into {}", Frameworks(*program), plan->dump));
    log_ = UnusedPath(fmt::format("{}/{}.log", plan->dump, kLog));
    const std::string profile = plan->dump + "/profile";
    const std::vector<std::string> former = TracesBelow(profile, context.limits);
    auto run = debug::RunRecorded({.program = program->program,
                                   .command = command_,
                                   .environment = plan->environment,
                                   .log = log_,
                                   .output_to_error = context.json,
                                   .hide_compile_log = !plan->logs_asked});
    if (!run) return Fail(InputKeys(), run.error(), context);
    if (run->log_lost) Warn("standard error is incomplete: the disk is full");
    if (run->interrupted || run->exit.by_signal || run->exit.code != 0) {
      Warn(FormatText("the program {}{}; the dump up to that point is kept",
                      run->interrupted ? "was interrupted and " : "", run->exit.ToString()));
    }
    WarnOfFlags(*program, environment, *plan, *run, context.limits);
    if (!plan->hook.empty()) {
      debug::HookReport report = debug::RemovePythonHook(plan->dump, plan->hook);
      if (!report.failures.empty())
        Warn("a process got no folder of its own, its modules may replace those of others: " +
             EscapeForTerminal(report.failures));
      xla_ = std::move(report.xla);
      fallbacks_ = std::move(report.fallbacks);
      keras_steps_ = std::move(report.keras_steps);
      if (report.more_keras_steps > 0)
        Warn(FormatText("{} without jit_compile {} not in the record",
                        Counted(report.more_keras_steps, "more step of a Keras model",
                                "more steps of Keras models"),
                        VerbFor(report.more_keras_steps, "is", "are")));
      WarnOfFallbacks(fallbacks_);
    }
    if (plan->profiles) {
      const std::vector<std::string> traces = TracesBelow(profile, context.limits);
      profiled_ = !traces.empty() && traces != former;
    }
    if (plan->profiles && !profiled_)
      Warn(
          "no profile was written: the program ended by os._exit or a signal, or nothing was "
          "profiled");
    WarnOfCached(context.limits);
    return Tell(*program, *plan, *run, context);
  }

 private:
  void Warn(std::string text) {
    PrintError("warning: " + text);
    warnings_.push_back(std::move(text));
  }

  void WarnOfFallbacks(const std::map<std::string, int64_t>& fallbacks) {
    if (fallbacks.empty()) return;
    std::string names;
    for (const auto& [name, count] : fallbacks)
      names += FormatText("{}{} ({})", names.empty() ? "" : ", ", EscapeForTerminal(name),
                          Counted(count, "time"));
    Warn(
        FormatText("PyTorch/XLA ran {} on the host, not on the device: {}; each ends the "
                   "graph before it and copies its tensors; fix: use operations that it lowers, "
                   "or keep these out of the step",
                   Counted(fallbacks.size(), "operation"), names));
  }

  // What `profile` reads there; empty: nothing.
  static std::vector<std::string> TracesBelow(const std::string& folder, const Limits& limits) {
    return profiler::TracesBelow(folder, limits).value_or(std::vector<std::string>{});
  }

  static std::string Frameworks(const debug::RecordedProgram& program) {
    std::vector<std::string> names;
    for (const auto& [name, version] : program.frameworks)
      names.push_back(version.empty() ? name : name + " " + version);
    return names.empty() ? "a program" : Join(names, ", ");
  }

  // Whether a crash is due to our flags, as far as a small program of ours shows it.
  void WarnOfFlags(const debug::RecordedProgram& program, const debug::Environment& environment,
                   const debug::RecordingPlan& plan, const debug::ProgramRun& run,
                   const Limits& limits) {
    if (run.interrupted || plan.added.empty()) return;
    const auto log = FileView::Open(log_, limits);
    if (!debug::MayBeFlags(run.exit, log ? log->bytes() : std::string_view())) return;
    if (!program.frameworks.empty())
      PrintError(FormatText("tries the same flags on a small {} program",
                            program.frameworks.front().name));
    const debug::FlagVerdict verdict = debug::TryFlags(program, environment, plan);
    if (verdict.is_ours) {
      Warn(FormatText(
          "the crash is due to flags that hloscope set: a small {} program {} with them, and runs "
          "without; fix: record without the options that add them, of {}",
          verdict.framework, verdict.how, Join(plan.added, " ")));
      return;
    }
    Warn(FormatText(
        "{}; your program was not run again, as it may have effects; to see whether "
        "it crashes without them, run the same command without `hloscope record --`",
        verdict.is_known ? fmt::format("a small {} program runs with the flags that hloscope set",
                                       verdict.framework)
                         : "the flags that hloscope set could not be tried by themselves"));
  }

  // What the log says of compilations that were none.
  void WarnOfCached(const Limits& limits) {
    const auto log = FileView::Open(log_, limits);
    if (!log) return Warn(log.error().ToString());
    size_t all = 0;
    for (const debug::LoggedCompilation& one :
         debug::ReadCompileLog(log->bytes(), std::filesystem::path(log_).filename().string())
             .compilations) {
      all += one.is_compilation ? 1 : 0;
      cached_ += one.from_cache ? 1 : 0;
    }
    if (cached_ == 0) return;
    Warn(
        fmt::format("a compilation cache gave {} of {}: they leave at most their optimised form; "
                    "fix: --no-compilation-cache",
                    cached_, Counted(all, "compilation")));
  }

  static int ExitOf(const debug::ProgramRun& run) {
    return run.exit.by_signal ? kSignalStatus + run.exit.code : run.exit.code;
  }

  // The framework that most modules are of, else the one that was expected.
  static debug::RecordedFramework FrameworkOf(const debug::RecordedProgram& program,
                                              const dump::DumpModel& model) {
    std::map<std::string, size_t> counts;
    for (const dump::ModuleEntry& module : model.modules()) ++counts[module.framework];
    const debug::RecordedFramework* best = nullptr;
    for (const debug::RecordedFramework& one : program.frameworks) {
      if (best == nullptr || counts[one.name] > counts[best->name]) best = &one;
    }
    return best == nullptr ? debug::RecordedFramework{"unknown", ""} : *best;
  }

  // Why there is no module, as far as that is known.
  std::string WhyEmpty(const debug::RecordedProgram& program, const debug::ProgramRun& run) const {
    if (program.frameworks.empty())
      return "no framework was found in its Python; fix: run record with the program's own python, "
             "or --framework";
    if (cached_ > 0) return "all of it came from a compilation cache; fix: --no-compilation-cache";
    if (ExitOf(run) != 0) return "it ended before XLA compiled a module";
    if (std::ranges::any_of(warnings_, [](const std::string& text) {
          return text.contains("--no-compilation-cache");
        }))
      return "it may all have come from the compilation cache; fix: --no-compilation-cache";
    if (!warnings_.empty()) return "see the warnings above";
    if (program.frameworks.front().name == "TensorFlow")
      return "TensorFlow compiles with XLA only where it is asked to; fix: "
             "tf.function(jit_compile=True), or add --tf_xla_auto_jit=2 --tf_xla_cpu_global_jit to "
             "TF_XLA_FLAGS";
    return "it compiled nothing with XLA, or changed XLA_FLAGS itself";
  }

  int Tell(const debug::RecordedProgram& program, const debug::RecordingPlan& plan,
           const debug::ProgramRun& run, const Context& context) {
    // The versions must be there before the dump is read.
    auto first = dump::DumpModel::Open(plan.dump, context.limits);
    if (!first) return Fail(InputKeys(), first.error(), context);
    const debug::RecordedFramework framework = FrameworkOf(program, **first);
    if ((*first)->modules().empty()) Warn("the program left no module: " + WhyEmpty(program, run));
    if (options_.inputs) SettleInputs(**first);
    const Status kept = debug::WritePrivateFile(plan.dump + "/" + dump::kRecordFile,
                                                RecordJson(program, plan, run, framework));
    if (!kept) Warn(kept.error().ToString());
    dump::OpenOptions open;
    open.jobs = static_cast<int>(context.jobs);
    open.count_stages = true;
    auto report = MakeDumpReport(plan.dump, context.limits, open,
                                 context.json ? ReportForm::kJson : ReportForm::kText);
    if (!report) return Fail(InputKeys(), report.error(), context);
    if (context.json) {
      report->summary.warnings.insert(report->summary.warnings.begin(), warnings_.begin(),
                                      warnings_.end());
      std::string out;
      JsonWriter json(out);
      json.BeginObject().Field("dump", plan.dump).Field("framework", framework.name);
      OrNull(json, "version", framework.version);
      json.Field("exit", ExitOf(run)).Field("interrupted", run.interrupted);
      if (options_.inputs) InputsJson(json);
      json.EndObject();
      out.back() = ',';
      WriteOut(out + DumpJson(*report).substr(1));
    } else {
      PrintOut(
          DumpOverviewText(*report) + InputsText() +
          FormatText("  next: hloscope info {0}\n        hloscope open {0}\n", Quoted(plan.dump)) +
          (profiled_ ? FormatText("        hloscope profile {}\n", Quoted(plan.dump)) : "") +
          ((*first)->modules().empty() ? "" : ReportText(plan)));
    }
    if (ExitOf(run) != 0) return kDied;
    return kept ? kGood : ExitStatusOf(kept.error());
  }

  std::string ReportText(const debug::RecordingPlan& plan) const {
    return FormatText(
        "  to report a problem: hloscope bundle create {} --text all{}, which is redacted; {} is "
        "not\n",
        Quoted(plan.dump), inputs_.given.empty() ? "" : " --values all",
        std::filesystem::path(log_).filename().string());
  }

  void SettleInputs(const dump::DumpModel& model) {
    inputs_ = debug::SettleSavedInputs(model);
    for (const std::string& text : inputs_.warnings) Warn(EscapeForTerminal(text));
    inputs_.warnings.clear();
    if (inputs_.without.empty()) return;
    constexpr size_t kMost = 8;
    std::vector<std::string> names(inputs_.without.begin(),
                                   inputs_.without.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                 inputs_.without.size(), kMost)));
    if (inputs_.without.size() > kMost)
      names.push_back(FormatText("and {} more", inputs_.without.size() - kMost));
    Warn(FormatText("no inputs of {}: {}", Counted(inputs_.without.size(), "module"),
                    Join(names, ", ")));
  }

  std::string InputsText() const {
    if (inputs_.given.empty()) return {};
    return FormatText("  inputs of {} saved: {}{}\n", Counted(inputs_.given.size(), "module"),
                      inputs_.given.front().file, inputs_.given.size() > 1 ? " …" : "");
  }

  void InputsJson(JsonWriter& json) const {
    json.Key("inputs").BeginArray();
    for (const debug::SavedInputs::Given& one : inputs_.given) {
      json.BeginObject().Field("module", one.module).Field("file", one.file);
      json.Field("arrays", one.arrays).EndObject();
    }
    json.EndArray().Key("without_inputs").BeginArray();
    for (const std::string& title : inputs_.without) json.Value(title);
    json.EndArray();
  }

  static void OrNull(JsonWriter& json, std::string_view key, const std::string& text) {
    json.Key(key);
    text.empty() ? json.Null() : json.Value(text);
  }

  // Names of variables that decide what XLA does; others are left out.
  static bool IsTold(std::string_view name) {
    for (std::string_view start : {"XLA_", "JAX_", "TF_", "PT_XLA", "PJRT_", "CUDA_", "NCCL_",
                                   "OMP_", "KERAS_BACKEND", "TPU_", "XRT_"}) {
      if (name.starts_with(start)) return true;
    }
    return false;
  }

  // The word without secrets, also those that the word before it shows: "-u" "jane:X".
  static std::string AfterWord(const std::string& before, const std::string& word,
                               debug::Redactor& redactor) {
    const std::string both = redactor.Text(before + " " + word);
    const std::string first = redactor.Text(before) + " ";
    return both.starts_with(first) ? both.substr(first.size()) : redactor.Text(word);
  }

  // The command; options that name a secret without its value.
  std::vector<std::string> HideSecretArguments(debug::Redactor& redactor) const {
    std::vector<std::string> words;
    std::string before;
    bool is_secret = false;  // the value of --api-key
    for (const std::string& word : command_) {
      const size_t name = word.starts_with('-') ? std::min(word.find('='), word.size()) : 0;
      const bool names_secret = debug::NamesSecretOption(std::string_view(word).substr(0, name));
      if (names_secret && name < word.size()) {
        words.push_back(word.substr(0, name) + "=<secret>");
      } else {
        words.push_back(is_secret ? "<secret>" : AfterWord(before, word, redactor));
      }
      is_secret = names_secret && name == word.size();
      before = word;
    }
    return words;
  }

  std::string RecordJson(const debug::RecordedProgram& program, const debug::RecordingPlan& plan,
                         const debug::ProgramRun& run,
                         const debug::RecordedFramework& framework) const {
    // Values of other variables are flags, which the record names.
    debug::Redactor redactor(debug::SecretsOfThisProcess(debug::SecretValues::kNamed));
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("framework", framework.name).Field("version", framework.version);
    json.Field("exit", ExitOf(run)).Field("interrupted", run.interrupted);
    json.Field("seconds", run.seconds).Key("command").BeginArray();
    for (const std::string& word : HideSecretArguments(redactor)) json.Value(word);
    json.EndArray().Key("packages").BeginObject();
    for (const auto& [name, version] : program.packages) json.Field(name, version);
    json.EndObject().Key("xla").BeginObject();
    for (const auto& [name, version] : xla_) json.Field(name, redactor.Text(version));
    json.EndObject().Key("host_fallbacks").BeginObject();
    for (const auto& [name, count] : fallbacks_) json.Field(redactor.Text(name), count);
    json.EndObject().Key("keras_steps").BeginArray();
    for (const dump::KerasStep& step : keras_steps_)
      json.BeginObject()
          .Field("model", redactor.Text(step.model))
          .Field("reason", redactor.Text(step.reason))
          .Field("place", redactor.Text(step.place))
          .EndObject();
    json.EndArray().Key("environment").BeginObject();
    for (const std::string& entry : plan.environment) {
      const size_t equals = entry.find('=');
      const std::string name = entry.substr(0, equals);
      if (equals == std::string::npos || !IsTold(name) || debug::NamesSecret(name)) continue;
      const std::string value = entry.substr(equals + 1);
      json.Field(name, debug::NamesMachines(name) ? "<hidden>" : redactor.Text(value));
    }
    json.EndObject().Key("warnings").BeginArray();
    for (const std::string& text : warnings_) json.Value(redactor.Text(text));
    json.EndArray().EndObject();
    return out + "\n";
  }

  std::vector<std::string> command_, warnings_;
  std::string log_;  // the path
  debug::RecordingOptions options_;
  std::string framework_;
  debug::SavedInputs inputs_;                 // with --inputs
  std::map<std::string, std::string> xla_;    // versions that the framework names
  std::map<std::string, int64_t> fallbacks_;  // what PyTorch/XLA ran on the host
  std::vector<dump::KerasStep> keras_steps_;  // that no jit_compile compiles
  bool profiled_ = false;                     // a trace was written
  size_t cached_ = 0;                         // compilations that were read from a cache
};

}  // namespace

std::unique_ptr<Command> MakeRecordCommand() { return std::make_unique<RecordCommand>(); }

}  // namespace hloscope::app
