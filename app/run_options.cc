#include "app/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <concepts>
#include <filesystem>

#include "app/any_module.h"
#include "app/output.h"
#include "app/shared_options.h"
#include "core/base/escape.h"
#include "core/debug/bundle/manifest.h"
#include "core/debug/bundle/take_values.h"
#include "core/debug/bundle/untrusted_request.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/debug/run/skip_callbacks.h"
#include "core/dump/complete_module.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/run_targets.h"

namespace hloscope::app {
namespace {

// The first flag that has no effect on the platform; null: there is none.
const std::string* FindUseless(std::string_view platform,
                               std::span<const std::pair<std::string, std::string>> flags) {
  const auto found = std::ranges::find_if(
      flags, [&](const auto& flag) { return !replay::ReadsFlag(platform, flag.first); });
  return found == flags.end() ? nullptr : &found->first;
}

// Instead of what a bundle recorded.
void SetFlag(replay::pjrt::XlaFlags& flags, std::string_view name, std::string_view value) {
  std::erase_if(flags, [&](const auto& known) { return known.first == name; });
  flags.emplace_back(name, value);
}

Error UselessFlag(std::string_view platform, const std::string& flag) {
  const std::string has = replay::ReadsFlag(platform, replay::kDisablePassesFlag)
                              ? fmt::format("reads no flag but --{}", replay::kDisablePassesFlag)
                              : "has no XLA flags";
  return InputError(fmt::format("--{}: {} {}", flag, platform, has),
                    "name a platform of XLA, or leave the flag out")
      .error();
}

// An option of run_options.def: its name is the first word of its text.
template <typename T>
OptionSpec SpecOf(T& member, std::string_view text, std::string value, std::string help,
                  const OptionKind& kind) {
  OptionSpec spec{.name = std::string(text.substr(0, text.find_first_of(" ="))),
                  .target = TargetOf(member, kind),
                  .help = std::move(help),
                  .value = std::move(value),
                  .choices = kind.words,
                  .min = kind.min,
                  .max = kind.max,
                  .positive = kind.positive};
  return spec.value == "PLATFORM" ? PlatformOption(spec.name, spec.target, spec.help) : spec;
}

// The names of the platforms with one of these flags.
std::string NamesWith(uint32_t flags) {
  std::vector<std::string_view> names;
  for (const replay::PlatformRow& row : replay::PlatformRows()) {
    if ((row.flags & flags) != 0) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Appends " --option VALUE" for each value; flags are no files.
template <typename T>
void AppendFiles(std::string& line, std::string_view form, const T& value) {
  if constexpr (std::same_as<T, std::vector<std::string>>) {
    for (const std::string& one : value) AppendFiles(line, form, one);
  } else if constexpr (std::same_as<T, std::string>) {
    if (!value.empty())
      line += fmt::format(" {} {}", form.substr(0, form.find(' ')), Quoted(value));
  }
}

}  // namespace

std::vector<OptionSpec> RunOptionSet::TableSpecs(RunGroup group) {
  using namespace replay;  // what the texts name
  std::vector<OptionSpec> specs;
  const auto add = [&](OptionSpec spec, const OptionNeed& need) {
    if (need.flags != 0 || need.module != ModuleNeed::kNone) needs_.emplace_back(spec.name, need);
    specs.push_back(std::move(spec));
  };
#define RUN_OPTION(member, text, key, untrusted, group_, value, help, kind, need) \
  if (group == RunGroup::group_) add(SpecOf(request_.member, text, value, help, kind), need);
#define LOCAL_OPTION(member, text, group_, value, help, kind, need) \
  if (group == RunGroup::group_) add(SpecOf(request_.member, text, value, help, kind), need);
#define SINK_OPTION(member, text, group_, value, help, kind, need) \
  if (group == RunGroup::group_) add(SpecOf(sinks_.member, text, value, help, kind), need);
#include "core/debug/run/run_options.def"
  return specs;
}

std::vector<OptionSpec> RunOptionSet::Specs(RunGroup group) {
  std::vector<OptionSpec> specs = TableSpecs(group);
  std::vector<OptionSpec> more;
  if (group == RunGroup::kInputs) more = InputSpecs();
  if (group == RunGroup::kComparison) more = ComparisonSpecs();
  if (group == RunGroup::kExecution) more = ExecutionSpecs();
  for (OptionSpec& spec : more) specs.push_back(std::move(spec));
  for (OptionSpec& spec : specs) {
    spec.given = &given_;
    if (spec.name == "--platform" && !request_.test.name.empty()) {
      spec.help += "; by default " + request_.test.name;
    }
  }
  if (group == RunGroup::kComparison) specs.front().group = "Comparison";
  if (group == RunGroup::kExecution) specs.front().group = "Execution";
  return specs;
}

std::vector<OptionSpec> RunOptionSet::InputSpecs() {
  return {InputFormatOption(&input_format_, {"stablehlo", "mhlo"}),
          SkipCallbacksOption(&skip_callbacks_)};
}

std::vector<OptionSpec> RunOptionSet::ComparisonSpecs() {
  return {{.name = "--reference-target",
           .target = &reference_target_,
           .help = "what the reference platform compiles for, as --target",
           .value = "T"},
          {.name = "--reference-flag",
           .target = &reference_flags_,
           .help = "an XLA flag for the reference platform: xla_name=value; may be repeated",
           .value = "NAME=VALUE"}};
}

std::vector<OptionSpec> RunOptionSet::ExecutionSpecs() {
  needs_.emplace_back("--as-dumped", On(replay::kRunsDumps, "does not run kernels of a dump"));
  needs_.emplace_back("--check", On(replay::kSimulatesGpu, "does not simulate a GPU"));
  needs_.emplace_back("--autotune", OnEither(replay::kNeedsDriver, "calls no GPU libraries"));
  std::vector<OptionSpec> specs = {
      {.name = "--target",
       .target = &target_,
       .help = "instruction set that XLA:CPU compiles for: native (the default: all that the "
               "machine has), SSE4_2, AVX, AVX2, AVX512, …; device that " +
               replay::PlatformNames(replay::kRunsDumps) + " has it compiled for: h100, a100, …",
       .value = "T",
       .conflicts = {"--as-dumped"}},
      {.name = "--as-dumped",
       .target = &as_dumped_,
       .help = "run the kernels of the dump that the module is in (the default of " +
               replay::PlatformNames(replay::kRunsDumps) + ")"},
      {.name = "--check",
       .target = &checks_,
       .help = "what a simulated GPU (" + replay::PlatformNames(replay::kSimulatesGpu) +
               ") looks for, A,B: memory (accesses outside of it: always), race, uninitialised; "
               "none: memory alone",
       .value = "WHAT",
       .choices = {"memory", "race", "uninitialised", "none"},
       .commas = true},
      {.name = "--fallback",
       .target = &fallback_,
       .help = "for unsupported instructions: error (the default) names them, with the reason and "
               "the fix; cpu runs them on the host, with their copies counted",
       .value = "HOW",
       .choices = {"cpu", "error"}},
      {.name = "--autotune",
       .target = &autotune_,
       .help = "on " + replay::PlatformNames(replay::kNeedsDriver) +
               ": measure which of a library's algorithms, or our own kernel, is the fastest for "
               "each product, convolution and transform; it is kept for later runs"},
      several_pythons_ ? SeveralPythonsOption(&pythons_) : PythonOption(&python_),
  };
  for (OptionSpec& spec : xla_options_.Specs(" for --platform")) specs.push_back(std::move(spec));
  return specs;
}

Status RunOptionSet::Prepare(const Context& context) {
  MeanPlatforms();
  HLOSCOPE_TRY(PreparePythons());
  if (!fallback_.empty()) request_.execution.host_fallback = fallback_ == "cpu";
  request_.execution.names_refused |= fallback_ == "error";
  request_.load.autotune_mode =
      autotune_ ? replay::AutotuneMode::kByTime : replay::AutotuneMode::kFromCache;
  request_.limits = context.limits;
  HLOSCOPE_ASSIGN_OR_RETURN(variables_, ReadShapes(request_.inputs.shapes));
  HLOSCOPE_TRY(PrepareReference());
  HLOSCOPE_TRY(PrepareFlags(context.limits));
  HLOSCOPE_TRY(PrepareChecks());
  HLOSCOPE_TRY(CheckNeeds());
  if (request_.compare.same_bits && request_.repeats.runs < 2) {
    return InputError("--bits: nothing is run twice", "add --repeat N, of at least 2");
  }
  return PrepareTargets();
}

// Names as run_hlo_module has them.
void RunOptionSet::MeanPlatforms() {
  for (std::string* name : {&request_.test.name, &request_.reference.name}) {
    const std::string_view meant = replay::MeantPlatform(*name);
    if (meant == *name) continue;
    request_.notes.push_back(fmt::format("platform {} is {} here", *name, meant));
    *name = meant;
  }
}

Status RunOptionSet::PreparePythons() {
  std::error_code error;
  if (python_.contains(',') && !std::filesystem::exists(python_, error)) {
    return InputError("--python: expected one Python environment",
                      "`hloscope diverge` takes several");
  }
  if (!python_.empty()) pythons_ = {python_};
  if (!pythons_.empty()) setenv("HLOSCOPE_PYTHON", pythons_.front().c_str(), 1);
  return {};
}

// Several environments are of one platform, whatever --platform says.
std::string_view RunOptionSet::PlatformName() const {
  if (pythons_.size() > 1) return replay::PlatformWith(replay::kNeedsPython)->name;
  return request_.test.name;
}

// The options that have no effect on any platform of the run are errors.
Status RunOptionSet::CheckNeeds() const {
  const auto has = [](std::string_view platform, uint32_t flags) {
    const replay::PlatformRow* const row = replay::FindPlatform(platform);
    return row != nullptr && (row->flags & flags) != 0;
  };
  for (const auto& [name, need] : needs_) {
    if (std::ranges::find(given_, name) == given_.end()) continue;
    if (need.flags == 0 || has(PlatformName(), need.flags)) continue;
    if (need.either && has(request_.reference.name, need.flags)) continue;
    return InputError(fmt::format("{}: {} {}", name, PlatformName(), need.lacks),
                      "platforms that do: " + NamesWith(need.flags));
  }
  return {};
}

Status RunOptionSet::PrepareFlags(const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto flags, xla_options_.Flags(limits));
  for (const auto& [name, value] : flags) SetFlag(request_.test.xla_flags, name, value);
  const std::string* const useless = FindUseless(PlatformName(), request_.test.xla_flags);
  if (useless != nullptr && xla_options_.names_any())
    return std::unexpected(UselessFlag(PlatformName(), *useless));
  if (useless != nullptr)
    request_.notes.push_back(fmt::format("XLA flags have no effect on {}", PlatformName()));
  // A bundle's is known later.
  const std::string_view platform = PlatformName();
  std::string note = XlaOptions::AddEnvironment(platform, request_.test.xla_flags);
  const replay::PlatformRow* const reference = replay::FindPlatform(request_.reference.name);
  if (reference != nullptr && reference->Has(replay::kXlaFlags))
    note = XlaOptions::AddEnvironment(reference->name, request_.reference.xla_flags);
  if (!note.empty()) request_.notes.push_back(std::move(note));
  return {};
}

void RunOptionSet::PrintNotes() const {
  for (const std::string& note : request_.notes) PrintError("warning: " + note);
}

Status RunOptionSet::PrepareChecks() {
  const auto asked = [&](std::string_view name) {
    return std::ranges::find(checks_, name) != checks_.end();
  };
  if (asked("none") && checks_.size() > 1) {
    return InputError("--check: none cannot be used together with others");
  }
  if (checks_.empty()) return {};
  request_.checks.races = asked("race");
  request_.checks.uninitialised = asked("uninitialised");
  return {};
}

Status RunOptionSet::PrepareTargets() {
  const auto take = [](std::string_view option, std::string_view platform,
                       const std::string& target, auto& flags) -> Status {
    if (target.empty()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const auto flag, replay::FlagOfTarget(option, platform, target));
    if (!flag) return {};
    for (const auto& [name, value] : flags) {
      if (name != flag->first || value == flag->second) continue;
      return InputError(
          fmt::format("{} {} and --{}={} contradict one another", option, target, name, value));
    }
    flags.push_back(*flag);
    return {};
  };
  const replay::PlatformRow* const row = replay::FindPlatform(PlatformName());
  if (row != nullptr && row->Has(replay::kSimulatesGpu)) {
    if (!target_.empty() || as_dumped_) request_.load.gpu_target = target_;
    return {};
  }
  if (!target_.empty() && PlatformName().empty()) {
    return InputError("--target needs --platform, whose target it is");
  }
  HLOSCOPE_TRY(take("--target", PlatformName(), target_, request_.test.xla_flags));
  return take("--reference-target", request_.reference.name, reference_target_,
              request_.reference.xla_flags);
}

Status RunOptionSet::PrepareReference() {
  const bool asked =
      !request_.reference.python.empty() || !reference_flags_.empty() || !reference_target_.empty();
  if (asked && request_.reference.name.empty()) {
    return InputError(
        "--reference-python, --reference-target and --reference-flag need --reference_platform");
  }
  for (std::string_view flag : reference_flags_) {
    while (flag.starts_with('-')) flag.remove_prefix(1);
    const size_t equals = flag.find('=');
    if (!flag.starts_with("xla_") || equals == std::string_view::npos) {
      return InputError(fmt::format("--reference-flag {}: expected xla_name=value", flag));
    }
    SetFlag(request_.reference.xla_flags, flag.substr(0, equals), flag.substr(equals + 1));
  }
  const std::string* const useless =
      FindUseless(request_.reference.name, request_.reference.xla_flags);
  if (useless == nullptr) return {};
  return std::unexpected(UselessFlag(request_.reference.name, *useless));
}

std::string RunOptionSet::OptionsText(const debug::RunSpec& request) const {
  std::string line = debug::RunOptionsText(request);
  if (!line.empty()) line.insert(0, " ");
#define LOCAL_OPTION(member, text, group, value, help, kind, need) \
  AppendFiles(line, text, request.member);
#include "core/debug/run/run_options.def"
  AppendFiles(line, "--input_format {}", input_format_);
  if (skip_callbacks_) line += " --skip-callbacks";
  AppendFiles(line, "--python {}", pythons_);
  return line;
}

Status RunOptionSet::Verify(const dump::LoadedModule& loaded, const Limits& limits) const {
  if (!request_.execution.verify) return {};
  for (const hlo::Diagnostic& d : hlo::Verify(*loaded.module, {false, limits})) {
    if (d.severity != hlo::Severity::kError) continue;
    return std::unexpected(
        Error{ErrorClass::kInput, d.message, dump::Places(loaded).Of(d), d.hint});
  }
  return {};
}

replay::MlirArguments RunOptionSet::ProgramArguments(const Limits& limits) const {
  return {.platform = replay::JaxPlatformOf(PlatformName()),
          .variables = variables_,
          .dimensions = [this, &limits] {
            return debug::InputDimensions(request_.inputs.files, limits);
          }};
}

namespace {

// What of a program of jax.export is not as it was exported; empty: nothing.
std::string ExportNote(const dump::LoadedModule& loaded, const std::string& platform) {
  const auto exported = dump::ReadJaxExport(loaded.file.bytes());
  if (!exported || std::ranges::find(exported->platforms, platform) != exported->platforms.end()) {
    return {};
  }
  return fmt::format("{} was exported for {} and runs as it is for {}", loaded.path,
                     fmt::join(exported->platforms, ", "), platform);
}

}  // namespace

Result<LoadedRun> RunOptionSet::Load(const std::string& file, const Limits& limits,
                                     const std::stop_token& stop) const {
  const replay::MlirArguments program = ProgramArguments(limits);
  const Budget budget{.deadline = debug::DeadlineOf(request_), .stop = stop};
  HLOSCOPE_ASSIGN_OR_RETURN(dump::LoadedModule loaded,
                            LoadAnySoundModule(file, limits, input_format_, budget, program));
  if (Status sound = Verify(loaded, limits); !sound) return std::unexpected(sound.error());
  dump::CompletedModule completed = dump::CompleteFromDump(loaded, limits);
  HLOSCOPE_TRY(TakeConstants(request_.inputs.constants, limits, completed));
  LoadedRun run{std::move(loaded), completed.module, request_, nullptr};
  const bool is_mlir = IsMlir(input_format_, run.loaded.kind);
  if (is_mlir) run.translated_by = budget.deadline;
  AddUnusedOptions(is_mlir, run.request.notes);
  run.request.inputs.shapes.clear();  // the module has them
  if (run.loaded.kind == dump::FileKind::kJaxExport) {
    std::string note = ExportNote(run.loaded, program.platform);
    if (!note.empty()) run.request.notes.push_back(std::move(note));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(run.kernels, debug::KernelsOfBundle(file, limits));
  run.request.load.module_file = run.kernels ? run.kernels->module_file : file;
  HLOSCOPE_ASSIGN_OR_RETURN(run.request.load.choices, debug::ChoicesOfBundle(file, limits));
  if (skip_callbacks_) {
    HLOSCOPE_ASSIGN_OR_RETURN(debug::WithoutCallbacks without, debug::SkipCallbacks(run.module));
    run.module = std::move(without.module);
    run.request.execution.late_callbacks = !without.kept.empty();
    if (!without.skipped.empty()) run.request.notes.push_back(debug::SkippedText(without.skipped));
    for (std::string& text : debug::KeptTexts(without.kept)) {
      run.request.notes.push_back(std::move(text));
    }
  }
  run.request.notes.insert(run.request.notes.end(), completed.notes.begin(), completed.notes.end());
  const bool says_how = std::ranges::any_of(given_, [](const std::string& option) {
    return option == "--seed" || option.starts_with("--random_init_input_literals") ||
           option == "--use_large_float_range" || option == "--edge-values" ||
           option == "--denormals";
  });
  HLOSCOPE_TRY(debug::TakeKnownInputs(file, *run.module, says_how, run.request, limits));
  if (!run.loaded.proto.arguments.empty())
    run.request.inputs.arguments = run.loaded.proto.arguments.front();
  run.request.compare.recorded = run.loaded.proto.result;
  AddUnusedOfModule(run);
  return run;
}

bool IsOfReplay(std::string_view option) {
  using enum debug::UntrustedField;
  const auto is_named = [&](std::string_view text) {
    return text.substr(0, text.find_first_of(" =")) == option;
  };
#define RUN_OPTION(member, text, key, untrusted, ...) \
  if (is_named(text)) return untrusted != kAny;
#include "core/debug/run/run_options.def"
  // Flags of XLA, what stands for some, and where plugins and jaxlib are.
  constexpr std::string_view kOthers[] = {"--target", "--reference-target", "--reference-flag",
                                          "--python", "--reference-python", "--debug_options_file",
                                          kXlaFlags};
  return std::ranges::find(kOthers, option) != std::end(kOthers);
}

debug::RunReport RefusedRun(const debug::RunSpec& request, Error error) {
  debug::RunReport report;
  report.platform = request.test.name;
  report.reference = request.reference.name;
  report.seed = request.inputs.seed;
  report.status = debug::StatusOf(error);
  report.error = std::move(error);
  return report;
}

}  // namespace hloscope::app
