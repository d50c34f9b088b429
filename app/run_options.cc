// RunOptionSet.
#include "app/run_options.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "app/any_module.h"
#include "app/shared_options.h"
#include "core/base/checked.h"
#include "core/base/quoted.h"
#include "core/debug/bundle/manifest.h"
#include "core/debug/run/skip_callbacks.h"
#include "core/dump/complete_module.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/run_targets.h"

namespace hloscope::app {
namespace {

// "2G" is 2 · 2^30.
Result<int64_t> BytesFromText(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const char* after = std::from_chars(text.data(), end, value).ptr;
  constexpr std::string_view kUnits = "KMGT";
  size_t power = 0;
  if (after != text.data() && after + 1 == end) {
    const size_t unit = kUnits.find(static_cast<char>(std::toupper(*after)));
    if (unit != std::string_view::npos) power = unit + 1, ++after;
  }
  const std::optional<int64_t> bytes = CheckedMul(value, int64_t{1} << (10 * power));
  if (after != end || value <= 0 || !bytes) {
    return InputError(fmt::format("--memory: expected bytes, got {}", text),
                      "for example 500M or 8G");
  }
  return *bytes;
}

// The first flag that has no effect on the platform; null: there is none.
const std::string* FindUseless(std::string_view platform,
                               std::span<const std::pair<std::string, std::string>> flags) {
  const auto found = std::ranges::find_if(
      flags, [&](const auto& flag) { return !replay::ReadsFlag(platform, flag.first); });
  return found == flags.end() ? nullptr : &found->first;
}

Error UselessFlag(std::string_view platform, const std::string& flag) {
  const std::string has = replay::ReadsFlag(platform, replay::kDisablePassesFlag)
                              ? fmt::format("reads no flag but --{}", replay::kDisablePassesFlag)
                              : "has no XLA flags";
  return InputError(fmt::format("--{}: {} {}", flag, platform, has),
                    "name a platform of XLA, or leave the flag out")
      .error();
}

}  // namespace

std::vector<OptionSpec> RunOptionSet::InputSpecs() {
  return {
      PlatformOption("--platform", &request_.platform,
                     request_.platform.empty()
                         ? "the platform to run on"
                         : "the platform to run on; by default " + request_.platform),
      {.name = "--inputs",
       .target = &request_.inputs,
       .help = "values of the parameters: .npz, .npy files in order, a folder with input_N.npy, a "
               "snapshot, or a bundle",
       .value = "FILE"},
      {.name = "--infeed",
       .target = &request_.infeed,
       .help = "values for infeed instructions in order: in0, in1, … as for --inputs",
       .value = "FILE"},
      {.name = "--seed",
       .target = &seed_,
       .help = "seed of the generated inputs (0)",
       .value = "N"},
      {.name = "--random_init_input_literals",
       .target = &request_.random_inputs,
       .help = "generate random inputs (=false: zeros)"},
      FillElidedOption(&fill_elided_),
      {.name = "--denormals",
       .target = &denormals_,
       .help = "flush: treat denormal inputs and results as zero, as XLA:CPU does",
       .value = "HOW",
       .choices = {"keep", "flush"}},
      InputFormatOption(&input_format_, {"stablehlo", "mhlo"}),
      {.name = "--use_large_float_range",
       .target = &request_.large_floats,
       .help = "generate floats over the whole range of their type"},
      {.name = "--edge-values",
       .target = &request_.edge_values,
       .help = "generated inputs also hold infinities, NaN, denormals, the ends of integer types "
               "and indices out of range"},
      {.name = "--skip-callbacks",
       .target = &skip_callbacks_,
       .help = "leave out host callbacks, such as jax.debug.callback, whose results nobody uses"},
      {.name = "--input_literals_file",
       .target = &request_.input_literals,
       .help = "inputs of each iteration (RunHloModuleLiterals, text or binary)",
       .value = "FILE"},
  };
}

std::vector<OptionSpec> RunOptionSet::ComparisonSpecs() {
  return {
      WithGroup("Comparison", PlatformOption("--reference_platform", &request_.reference_platform,
                                             "the platform to compare with")),
      {.name = "--reference-python",
       .target = &request_.reference_python,
       .help = "the Python environment of the reference platform, where it is not that of --python",
       .value = "PATH"},
      {.name = "--reference-target",
       .target = &reference_target_,
       .help = "what the reference platform compiles for, as --target",
       .value = "T"},
      {.name = "--reference-flag",
       .target = &reference_flags_,
       .help = "an XLA flag for the reference platform: xla_name=value; may be repeated",
       .value = "NAME=VALUE"},
      {.name = "--expect",
       .target = &request_.expect,
       .help = "expected results: .npz, .npy in order, or a folder with output_N.npy",
       .value = "FILE"},
      AbsoluteBoundOption(&request_.bounds.absolute),
      RelativeBoundOption(&request_.bounds.relative),
      {.name = "--precise",
       .target = &request_.precise,
       .help =
           "evaluate floating point in double precision too; report how far each side is from it "
           "and which is right"},
  };
}

std::vector<OptionSpec> RunOptionSet::IsolateSpecs() {
  return {
      {.name = "--isolate_instructions",
       .target = &request_.isolate,
       .help =
           "first run each instruction of the entry computation separately, on its real operand "
           "values; where a profile is recorded, it is timed so too"},
      {.name = "--metrics",
       .target = &request_.kernel_metrics,
       .help = "where a profile is recorded on " + replay::PlatformNames(replay::kNeedsDriver) +
               ": also measure each kernel by the GPU's counters (bytes of its memory, use of "
               "multiprocessors and tensor cores, achieved occupancy), in one more run of each"},
      {.name = "--pc-sampling",
       .target = &request_.pc_sampling,
       .help = "where a profile is recorded on " + replay::PlatformNames(replay::kNeedsDriver) +
               ": also sample which lines of PTX each kernel is at and what its warps wait for, "
               "in one more run of each, kernel by kernel, which is slower; on a simulated GPU "
               "count how often warps execute each line"}};
}

std::vector<OptionSpec> RunOptionSet::RepeatSpecs() {
  return {
      {.name = "--find",
       .target = &find_,
       .help = "find the first instruction that produces a NaN (or an infinity) from operands "
               "without one",
       .value = "WHAT",
       .choices = {"nan", "inf"}},
      {.name = "--repeat",
       .target = &request_.repeat,
       .help = "run N times on the same inputs and compare with the first run",
       .value = "N"},
      {.name = "--bits",
       .target = &request_.same_bits,
       .help = "repeated runs must agree bit for bit, not only within the bounds"},
      {.name = "--iterations",
       .target = &request_.iterations,
       .help = "run on N sets of inputs; generated ones use the seeds SEED, SEED+1, …",
       .value = "N"},
      {.name = "--different_random_seeds",
       .target = &request_.different_random_seeds,
       .help = "seed rng instructions with i+1 in iteration i instead of always 42"},
  };
}

std::vector<OptionSpec> RunOptionSet::MachineSpecs() {
  std::vector<OptionSpec> specs = {
      WithGroup("Execution", DeadlineOption(&request_.deadline_seconds, "the run of a module")),
      {.name = "--memory",
       .target = &memory_,
       .help = "memory limit of a run: bytes, or with K, M, G, T",
       .value = "BYTES"},
      {.name = "--threads",
       .target = &threads_,
       .help = "threads of a run (0: all CPUs); the results do not depend on it",
       .value = "N"},
      {.name = "--target",
       .target = &target_,
       .help = "instruction set that XLA:CPU compiles for: native (the default: all that the "
               "machine has), SSE4_2, AVX, AVX2, AVX512, …; device that " +
               replay::PlatformNames(replay::kRunsDumps) + " has it compiled for: h100, a100, …",
       .value = "T"},
      {.name = "--as-dumped",
       .target = &as_dumped_,
       .help = "run the kernels that lie beside the module in its dump (the default of " +
               replay::PlatformNames(replay::kRunsDumps) + ")"},
      {.name = "--check",
       .target = &checks_,
       .help =
           "what a simulated GPU (" + replay::PlatformNames(replay::kSimulatesGpu) +
           ") looks for, A,B: memory (accesses outside of it: always), race, uninitialised; none: "
           "memory alone",
       .value = "WHAT",
       .choices = {"memory", "race", "uninitialised", "none"},
       .commas = true},
      {.name = "--shuffle",
       .target = &shuffle_,
       .help = "the order in which a simulated GPU runs blocks, warps and lanes of atomics is made "
               "of this seed; kernels whose results depend on it are found",
       .value = "SEED"},
      {.name = "--fallback",
       .target = &fallback_,
       .help = "what becomes of an instruction that the platform does not run: error (the default) "
               "names it, with the reason and the fix; cpu runs it on the host, with its copies "
               "counted",
       .value = "HOW",
       .choices = {"cpu", "error"}},
      {.name = "--autotune",
       .target = &autotune_,
       .help = "on " + replay::PlatformNames(replay::kNeedsDriver) +
               ": measure which of a library's algorithms, or our own kernel, is the fastest for "
               "each product, convolution and transform; it is kept for later runs"},
      several_pythons_ ? SeveralPythonsOption(&pythons_) : PythonOption(&python_),
      {.name = "--no-verify",
       .target = &no_verify_,
       .help = "run modules that the verifier rejects; the worker may crash"},
      {.name = "--run_test_hlo_passes",
       .target = &request_.run_passes,
       .help = "=false: the module is already optimised; compile it without XLA's passes"},
      {.name = "--run_reference_hlo_passes",
       .target = &request_.reference_passes,
       .help = "the same for the reference platform"},
  };
  for (OptionSpec& spec : xla_options_.Specs(" for --platform")) specs.push_back(std::move(spec));
  return specs;
}

Status RunOptionSet::Prepare(const Context& context) {
  if (seed_ < 0) return InputError("--seed: expected at least 0");
  if (request_.iterations < 1) return InputError("--iterations: expected at least 1");
  if (request_.repeat < 1) return InputError("--repeat: expected at least 1");
  if (find_) {
    request_.find = *find_ == "nan" ? debug::NonFiniteKind::kNan : debug::NonFiniteKind::kInfinity;
  }
  if (threads_ < 0 || threads_ > 4096) return InputError("--threads: expected 0 to 4096");
  if (request_.deadline_seconds && !(*request_.deadline_seconds > 0)) {
    return InputError("--deadline: expected more than 0 seconds");
  }
  if (memory_) {
    HLOSCOPE_ASSIGN_OR_RETURN(request_.memory_bytes, BytesFromText(*memory_));
  }
  std::error_code error;
  if (python_.contains(',') && !std::filesystem::exists(python_, error)) {
    return InputError("--python: expected one Python environment",
                      "`hloscope diverge` takes several");
  }
  if (!python_.empty()) pythons_ = {python_};
  if (!pythons_.empty()) setenv("HLOSCOPE_PYTHON", pythons_.front().c_str(), 1);
  request_.threads = static_cast<int>(threads_);
  request_.seed = static_cast<uint64_t>(seed_);
  request_.flush_denormals = denormals_ == "flush";
  if (fill_elided_) request_.fill_elided = static_cast<uint64_t>(*fill_elided_);
  request_.host_fallback = fallback_ == "cpu";
  request_.names_refused |= fallback_ == "error";
  request_.verify = !no_verify_;
  request_.limits = context.limits;
  HLOSCOPE_TRY(PrepareReference());
  HLOSCOPE_TRY(PrepareFlags(context.limits));
  HLOSCOPE_TRY(PrepareChecks());
  HLOSCOPE_TRY(PrepareMetrics());
  HLOSCOPE_TRY(PrepareChoices());
  return PrepareTargets();
}

// Several environments are of one platform, whatever --platform says.
std::string_view RunOptionSet::PlatformName() const {
  if (pythons_.size() > 1) return replay::PlatformWith(replay::kNeedsPython)->name;
  return request_.platform;
}

static bool PlatformHas(std::string_view platform, replay::PlatformFlag flag) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  return row != nullptr && row->Has(flag);
}

Status RunOptionSet::PrepareMetrics() const {
  const auto any_has = [&](replay::PlatformFlag flag) {
    return PlatformHas(PlatformName(), flag) || PlatformHas(request_.reference_platform, flag);
  };
  if (request_.kernel_metrics && !any_has(replay::kNeedsDriver)) {
    return InputError(fmt::format("--metrics: {} has no counters of a GPU", PlatformName()),
                      "platforms that do: " + replay::PlatformNames(replay::kNeedsDriver));
  }
  if (request_.pc_sampling && !any_has(replay::kNeedsDriver) && !any_has(replay::kSimulatesGpu)) {
    return InputError(
        fmt::format("--pc-sampling: {} runs no PTX that it could sample", PlatformName()),
        fmt::format("platforms that do: {}, {}", replay::PlatformNames(replay::kNeedsDriver),
                    replay::PlatformNames(replay::kSimulatesGpu)));
  }
  return {};
}

Status RunOptionSet::PrepareFlags(const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(request_.xla_flags, xla_options_.Flags(limits));
  const std::string* const useless = FindUseless(PlatformName(), request_.xla_flags);
  if (useless == nullptr) return {};
  if (xla_options_.names_any()) return std::unexpected(UselessFlag(PlatformName(), *useless));
  request_.notes.push_back(fmt::format("XLA flags have no effect on {}", PlatformName()));
  return {};
}

Status RunOptionSet::PrepareChecks() {
  if (shuffle_ && *shuffle_ < 0) return InputError("--shuffle: expected at least 0");
  if (shuffle_) request_.shuffle = static_cast<uint64_t>(*shuffle_);
  const auto asked = [&](std::string_view name) {
    return std::ranges::find(checks_, name) != checks_.end();
  };
  request_.check_races = asked("race");
  request_.check_uninitialised = asked("uninitialised");
  const bool asks = request_.check_races || request_.check_uninitialised;
  if (asks && asked("none")) {
    return InputError("--check: none and others contradict one another");
  }
  const replay::PlatformRow* const row = replay::FindPlatform(PlatformName());
  const bool simulates = row != nullptr && row->Has(replay::kSimulatesGpu);
  if (simulates || (checks_.empty() && !shuffle_)) return {};
  return InputError(
      fmt::format("{}: {} simulates no GPU", shuffle_ ? "--shuffle" : "--check", PlatformName()),
      "platforms that do: " + replay::PlatformNames(replay::kSimulatesGpu));
}

Status RunOptionSet::PrepareChoices() {
  request_.choosing = autotune_ ? replay::Choosing::kByTime : replay::Choosing::kFromCache;
  const bool is_of_use = PlatformHas(PlatformName(), replay::kNeedsDriver) ||
                         PlatformHas(request_.reference_platform, replay::kNeedsDriver);
  if (is_of_use || !autotune_) return {};
  return InputError(fmt::format("--autotune: {} calls no libraries of a GPU", PlatformName()),
                    "platforms that do: " + replay::PlatformNames(replay::kNeedsDriver));
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
  if (as_dumped_ && !PlatformHas(PlatformName(), replay::kRunsDumps)) {
    return InputError(fmt::format("--as-dumped: {} runs no kernels of dumps", PlatformName()),
                      "platforms that do: " + replay::PlatformNames(replay::kRunsDumps));
  }
  if (as_dumped_ && !target_.empty()) {
    return InputError("--as-dumped and --target: expected one of them",
                      "--as-dumped runs the kernels of the dump, --target compiles new ones");
  }
  if (PlatformHas(PlatformName(), replay::kSimulatesGpu)) {
    request_.gpu_target = target_;
    return {};
  }
  HLOSCOPE_TRY(take("--target", PlatformName(), target_, request_.xla_flags));
  return take("--reference-target", request_.reference_platform, reference_target_,
              request_.reference_flags);
}

Status RunOptionSet::PrepareReference() {
  const bool asked =
      !request_.reference_python.empty() || !reference_flags_.empty() || !reference_target_.empty();
  if (asked && request_.reference_platform.empty()) {
    return InputError(
        "--reference-python, --reference-target and --reference-flag need --reference_platform");
  }
  for (std::string_view flag : reference_flags_) {
    while (flag.starts_with('-')) flag.remove_prefix(1);
    const size_t equals = flag.find('=');
    if (!flag.starts_with("xla_") || equals == std::string_view::npos) {
      return InputError(fmt::format("--reference-flag {}: expected xla_name=value", flag));
    }
    request_.reference_flags.emplace_back(flag.substr(0, equals), flag.substr(equals + 1));
  }
  const std::string* const useless =
      FindUseless(request_.reference_platform, request_.reference_flags);
  if (useless == nullptr) return {};
  return std::unexpected(UselessFlag(request_.reference_platform, *useless));
}

std::string RunOptionSet::OptionsText(const debug::RunRequest& request) const {
  std::string text = debug::RunOptionsText(request);
  if (!text.empty()) text.insert(0, " ");
  const auto add = [&](std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      if (!value.empty()) text += fmt::format(" {} {}", option, Quoted(value));
    }
  };
  add("--inputs", request.inputs);
  add("--input_literals_file", {request.input_literals});
  add("--infeed", request.infeed);
  add("--expect", request.expect);
  add("--input_format", {input_format_});
  if (skip_callbacks_) text += " --skip-callbacks";
  add("--python", pythons_);
  add("--reference-python", {request.reference_python});
  return text;
}

Status RunOptionSet::Verify(const dump::LoadedModule& loaded, const Limits& limits) const {
  if (no_verify_) return {};
  for (const hlo::Diagnostic& d : hlo::Verify(*loaded.module, {false, limits})) {
    if (d.severity != hlo::Severity::kError) continue;
    return std::unexpected(
        Error{ErrorClass::kInput, d.message, dump::Places(loaded).Of(d), d.hint});
  }
  return {};
}

Result<LoadedRun> RunOptionSet::Load(const std::string& file, const Limits& limits,
                                     const std::stop_token& stop) const {
  HLOSCOPE_ASSIGN_OR_RETURN(dump::LoadedModule loaded,
                            LoadAnySoundModule(file, limits, input_format_, stop));
  if (Status sound = Verify(loaded, limits); !sound) return std::unexpected(sound.error());
  dump::CompletedModule completed = dump::CompleteFromDump(loaded, limits);
  LoadedRun run{std::move(loaded), completed.module, request_, nullptr};
  HLOSCOPE_ASSIGN_OR_RETURN(run.kernels, debug::KernelsOfBundle(file, limits));
  run.request.module_file = run.kernels ? run.kernels->module_file : file;
  HLOSCOPE_ASSIGN_OR_RETURN(run.request.choices, debug::ChoicesOfBundle(file, limits));
  if (skip_callbacks_) {
    HLOSCOPE_ASSIGN_OR_RETURN(debug::WithoutCallbacks without, debug::SkipCallbacks(run.module));
    run.module = std::move(without.module);
    if (!without.skipped.empty()) run.request.notes.push_back(debug::SkippedText(without.skipped));
  }
  run.request.notes.insert(run.request.notes.end(), completed.notes.begin(), completed.notes.end());
  if (!run.loaded.proto.arguments.empty())
    run.request.arguments = run.loaded.proto.arguments.front();
  run.request.recorded = run.loaded.proto.result;
  return run;
}

debug::RunReport RefusedRun(const debug::RunRequest& request, Error error) {
  debug::RunReport report;
  report.platform = request.platform;
  report.reference = request.reference_platform;
  report.seed = request.seed;
  report.status = debug::StatusOf(error);
  report.error = std::move(error);
  return report;
}

}  // namespace hloscope::app
