// `hloscope run`: runs modules.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>

#include "app/any_module.h"
#include "app/cancel.h"
#include "app/command.h"
#include "app/inputs.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/instruction_report.h"
#include "app/reports/run_report.h"
#include "app/shared_options.h"
#include "app/workers.h"
#include "app/xla_options.h"
#include "core/base/checked.h"
#include "core/dump/complete_module.h"
#include "core/dump/dump_model.h"
#include "core/dump/stage_order.h"
#include "core/hlo/text/value_text.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::app {
namespace {

using debug::RunReport;
using debug::RunRequest;
using debug::RunStatus;

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

class RunCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = ValueOptions();
    for (OptionSpec& spec : ComparisonOptions()) all.push_back(std::move(spec));
    for (OptionSpec& spec : MachineOptions()) all.push_back(std::move(spec));
    return all;
  }

  int Run(const Context& context) override {
    if (Status ready = Prepare(context); !ready) return Fail(ready.error());
    Result<std::vector<std::string>> files = BeforeOptimization(context.limits);
    if (!files) return Fail(files.error());
    const CancelOnSignals cancel;
    request_.workers =
        StartWorkers(std::array{request_.platform, request_.reference_platform}, context.limits);
    int status = kGood;
    modules_are_many_ = files->size() > 1;
    Progress progress("run", files->size());
    for (const std::string& file : *files) {
      RunReport report = Replay(file, context, cancel.token());
      context.json ? WriteOut(RunReportJson(file, report)) : PrintOut(RunReportText(file, report));
      if (const auto error = RunReportError(file, report)) PrintError(*error);
      if (print_literals_ && !context.json) PrintLiterals(report);
      FlushOut();  // what has finished is not lost with what comes
      status = Worse(status, app::ExitStatusOf(report));
      if (cancel.token().stop_requested()) break;
      progress.Step();
    }
    return status;
  }

 private:
  // What it runs, and on what.
  std::vector<OptionSpec> ValueOptions() {
    return {
        {.name = "modules",
         .target = &modules_,
         .help = "module files; a folder stands for its modules before optimizations; - is "
                 "standard input",
         .value = "MODULE",
         .required = true},
        PlatformOption("--platform", &request_.platform,
                       "the platform to run on; by default the interpreter"),
        {.name = "--inputs",
         .target = &request_.inputs,
         .help =
             "values of the parameters: .npz, .npy files in order, or a folder with input_N.npy",
         .value = "FILE"},
        {.name = "--infeed",
         .target = &request_.infeed,
         .help = "values for infeed instructions in order: in0, in1, … as for --inputs",
         .value = "FILE"},
        {.name = "--outfeed",
         .target = &request_.outfeed,
         .help = "write the values of outfeed instructions: out0, out1, …",
         .value = "DIR|F.npz"},
        {.name = "--save_inputs",
         .target = &request_.save_inputs,
         .help = "write the inputs used; for several modules see --outputs",
         .value = "F.npz"},
        {.name = "--outputs",
         .target = &request_.outputs,
         .help = "write the results; of several modules to F.STEM.npz or DIR/STEM",
         .value = "DIR|F.npz"},
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
        {.name = "--edge_values",
         .target = &request_.edge_values,
         .help = "generated inputs also hold infinities, NaN, denormals, the ends of integer types "
                 "and indices out of range"},
        {.name = "--input_literals_file",
         .target = &request_.input_literals,
         .help = "inputs of each iteration (RunHloModuleLiterals, text or binary)",
         .value = "FILE"},
        {.name = "--output_literals_file",
         .target = &request_.output_literals,
         .help = "write inputs and results of each iteration (RunHloModuleLiterals)",
         .value = "FILE"},
        {.name = "--print_literals",
         .target = &print_literals_,
         .help = "print inputs and results"},
    };
  }

  // What it is compared with.
  std::vector<OptionSpec> ComparisonOptions() {
    return {
        WithGroup("Comparison", PlatformOption("--reference_platform", &request_.reference_platform,
                                               "the platform to compare with")),
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
        {.name = "--isolate_instructions",
         .target = &request_.isolate,
         .help = "first run each instruction of the entry computation separately, on its real "
                 "operand values"},
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

  // What it may take, and what other platforms need.
  std::vector<OptionSpec> MachineOptions() {
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
        {.name = "--fallback",
         .target = &fallback_,
         .help = "what to do with instructions that the platform does not support; no platform can "
                 "run them on the CPU yet",
         .value = "HOW",
         .choices = {"cpu", "error"}},
        {.name = "--profile",
         .target = &profile_,
         .help = "write a profile, on platforms that record one",
         .value = "OUT"},
        PythonOption(&python_),
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

  // Puts what the options say into the request.
  Status Prepare(const Context& context) {
    if (request_.iterations < 1) return InputError("--iterations: expected at least 1");
    if (request_.repeat < 1) return InputError("--repeat: expected at least 1");
    if (threads_ < 0 || threads_ > 4096) return InputError("--threads: expected 0 to 4096");
    if (request_.deadline_seconds && !(*request_.deadline_seconds > 0)) {
      return InputError("--deadline: expected more than 0 seconds");
    }
    if (memory_) {
      HLOSCOPE_ASSIGN_OR_RETURN(request_.memory_bytes, BytesFromText(*memory_));
    }
    // No thread has been started yet, and workers inherit it.
    if (!python_.empty()) setenv("HLOSCOPE_PYTHON", python_.c_str(), 1);
    request_.threads = static_cast<int>(threads_);
    request_.seed = static_cast<uint64_t>(seed_);
    request_.flush_denormals = denormals_ == "flush";
    if (find_) {
      request_.find =
          *find_ == "nan" ? debug::NonFiniteKind::kNan : debug::NonFiniteKind::kInfinity;
    }
    if (fill_elided_) request_.fill_elided = static_cast<uint64_t>(*fill_elided_);
    request_.verify = !no_verify_;
    request_.limits = context.limits;
    if (!profile_.empty()) {
      request_.notes.push_back(
          fmt::format("no profile was written: {} does not record one", request_.platform));
    }
    return PrepareFlags(context);
  }

  Status PrepareFlags(const Context& context) {
    HLOSCOPE_ASSIGN_OR_RETURN(request_.xla_flags, xla_options_.Flags(context.limits));
    const replay::PlatformRow* platform = replay::FindPlatform(request_.platform);
    if (platform != nullptr && !platform->Has(replay::kXlaFlags) && !request_.xla_flags.empty()) {
      request_.notes.push_back(fmt::format("XLA flags have no effect on {}", platform->name));
    }
    return {};
  }

  static int Fail(const Error& error) {
    PrintError(error);
    return ExitStatusOf(error);
  }

  // Folders replaced by the modules in them as they were before optimization.
  Result<std::vector<std::string>> BeforeOptimization(const Limits& limits) const {
    std::vector<std::string> files;
    for (const std::string& path : modules_) {
      std::error_code error;
      if (!std::filesystem::is_directory(path, error)) {
        files.push_back(path);
        continue;
      }
      HLOSCOPE_ASSIGN_OR_RETURN(const auto model, dump::DumpModel::Open(path, limits));
      size_t before = files.size();
      for (size_t m = 0; m < model->modules().size(); ++m) {
        const auto& stages = model->modules()[m].stages;
        if (stages.empty() || dump::PhaseOf(stages.front().name) != dump::StagePhase::kInput)
          continue;
        int32_t file = model->ModuleFile(static_cast<int32_t>(m), 0);
        if (file >= 0) files.push_back(model->FullPath(file));
      }
      if (files.size() == before) {
        return InputError(path + ": no module before optimizations in this folder",
                          "`hloscope info` shows what it contains");
      }
    }
    return files;
  }

  RunReport Refuse(Error error) const {
    RunReport report;
    report.platform = request_.platform;
    report.reference = request_.reference_platform;
    report.seed = request_.seed;
    report.status =
        error.error_class == ErrorClass::kUnsupported ? RunStatus::kUnsupported : RunStatus::kError;
    report.error = std::move(error);
    return report;
  }

  Status Verify(const dump::LoadedModule& loaded, const Limits& limits) const {
    if (no_verify_) return {};
    for (const hlo::Diagnostic& d : hlo::Verify(*loaded.module, {false, limits})) {
      if (d.severity != hlo::Severity::kError) continue;
      return std::unexpected(
          Error{ErrorClass::kInput, d.message, dump::Places(loaded).Of(d), d.hint});
    }
    return {};
  }

  // What each of several modules writes: F.STEM.npz for F.npz, DIR/STEM for DIR.
  void GiveOwnFiles(const std::string& file, RunRequest& request) {
    const std::string base = file == "-" ? "stdin" : ModuleStem(file);
    std::string stem = base;
    for (int64_t n = 2; !stems_.insert(stem).second; ++n) stem = fmt::format("{}.{}", base, n);
    for (std::string* path :
         {&request.outputs, &request.save_inputs, &request.outfeed, &request.output_literals}) {
      if (path->empty()) continue;
      const std::filesystem::path asked(*path);
      const std::string extension = asked.extension().string();
      std::error_code error;
      const bool is_folder = std::filesystem::is_directory(asked, error) ||
                             (extension.empty() && path != &request.output_literals);
      *path = is_folder ? (asked / stem).string()
                        : (asked.parent_path() / asked.stem()).string() + "." + stem + extension;
    }
  }

  RunReport Replay(const std::string& file, const Context& context, std::stop_token stop) {
    if (fallback_ == "cpu") {
      return Refuse(
          UnsupportedError("--fallback cpu: platform " + request_.platform +
                               " cannot run single instructions on the CPU",
                           "an instruction that it does not support is an error that names it")
              .error());
    }
    auto start = std::chrono::steady_clock::now();
    Result<dump::LoadedModule> loaded =
        LoadAnySoundModule(file, context.limits, input_format_, stop);
    if (!loaded) return Refuse(loaded.error());
    if (Status sound = Verify(*loaded, context.limits); !sound) return Refuse(sound.error());
    dump::CompletedModule completed = dump::CompleteFromDump(*loaded, context.limits);
    double load_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    RunRequest request = request_;
    request.notes.insert(request.notes.end(), completed.notes.begin(), completed.notes.end());
    if (modules_are_many_) GiveOwnFiles(file, request);
    request.on_instruction = [&](const debug::InstructionReport& instruction) {
      context.json ? WriteOut(InstructionReportJson(file, instruction))
                   : PrintOut(InstructionReportText(instruction));
      FlushOut();
    };
    if (!loaded->proto.arguments.empty()) request.arguments = loaded->proto.arguments.front();
    request.recorded = loaded->proto.result;
    RunReport report = debug::RunModule(completed.module, request, std::move(stop));
    report.timing.load_ms += load_ms;
    return report;
  }

  static void PrintLiterals(const RunReport& report) {
    std::string out;
    auto add = [&](std::string_view name, size_t k, const hlo::Literal& value) {
      out += fmt::format("{}{} {} ", name, k, hlo::ToString(value.shape(), false));
      hlo::AppendLiteral(out, value, false);
      out += '\n';
    };
    for (size_t k = 0; k < report.arguments.size(); ++k) add("input ", k, report.arguments[k]);
    for (size_t k = 0; k < report.outputs.size(); ++k) {
      if (!report.outputs[k].missing) add("output ", k, report.outputs[k].value);
    }
    PrintOut(out);
  }

  std::vector<std::string> modules_;
  RunRequest request_;
  int64_t seed_ = 0;
  std::optional<int64_t> fill_elided_;
  std::string input_format_, denormals_ = "keep";
  std::optional<std::string> memory_, find_;
  int64_t threads_ = 0;
  std::string fallback_ = "error", profile_;
  XlaOptions xla_options_;
  std::string python_;
  bool print_literals_ = false, no_verify_ = false;
  bool modules_are_many_ = false;
  std::set<std::string> stems_;  // names that files of modules have
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace hloscope::app
