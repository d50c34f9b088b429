// `hloscope extract`: one instruction as a module of its own, with its real operand values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "app/cancel.h"
#include "app/command.h"
#include "app/commands/extract_kernel.h"
#include "app/fail.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/shared_options.h"
#include "app/workers.h"
#include "app/written_files.h"
#include "app/xla_options.h"
#include "core/analysis/place/placement.h"
#include "core/base/counted.h"
#include "core/base/escape.h"
#include "core/base/file.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/debug/bundle/dumped_kernels.h"
#include "core/debug/bundle/take_values.h"
#include "core/debug/run/extract.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/skip_callbacks.h"
#include "core/dump/complete_module.h"
#include "core/dump/load.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/sharding/topology.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

// What was written.
struct Written {
  std::string module, inputs, expected;  // files; empty where there was nothing to write
  size_t instructions = 0, parameters = 0;
  std::vector<std::string> warnings;  // what came from other files of the dump
};

class ExtractCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "module",
         .target = &module_,
         .help = "the module file; - is standard input",
         .value = "MODULE",
         .required = true},
        {.name = "instruction",
         .target = &instruction_,
         .help = "the instruction to extract, of any computation; with --platform " +
                 replay::PlatformNames(replay::kRunsDumps) +
                 ", of the compiled module, or one of its kernels",
         .value = "INSTR",
         .required = true},
        {.name = "-o",
         .target = &output_,
         .help = "the new module, text or proto by its extension; STEM.inputs.npz and "
                 "STEM.expected.npz are written next to it. With --platform " +
                 replay::PlatformNames(replay::kRunsDumps) + ": a folder",
         .value = "OUT",
         .required = true},
        {.name = "--depth",
         .target = &depth_,
         .help = "levels of operands to keep as instructions instead of values (0)",
         .value = "N",
         .min = 0},
        {.name = "--computation",
         .target = &computation_,
         .help = "the computation it is in, where the name is not unique",
         .value = "NAME"},
        {.name = "--iteration",
         .target = &iteration_,
         .help = "take the values of its execution N, counted from 0 over all calls (0)",
         .value = "N",
         .min = 0},
        {.name = "--inputs",
         .target = &request_.inputs.files,
         .help = "inputs of the whole module, as for `run`",
         .value = "FILE"},
        {.name = "--seed",
         .target = &seed_,
         .help = "seed of the generated inputs (0)",
         .value = "N",
         .min = 0},
        PlatformOption("--platform", &platform_,
                       "take the expected value from this platform; operand values are always "
                       "those of the reference evaluator, which is the default"),
        {.name = "--strip-metadata",
         .target = &strip_metadata_,
         .help = "leave out op names, source files and stack frames"},
        {.name = "--target",
         .target = &request_.load.gpu_target,
         .help = replay::PlatformNames(replay::kRunsDumps) +
                 ": compile for this device; without it the kernels of the dump",
         .value = "T"},
        RowOption("--fill-elided", &fill_elided_),
        RowOption("--constants", &request_.inputs.constants),
        InputFormatOption(&input_format_),
    };
  }

  int Run(const Context& context) override {
    const CancelOnSignals cancel;
    const replay::PlatformRow* const row = replay::FindPlatform(platform_);
    takes_kernels_ = row != nullptr && row->Has(replay::kRunsDumps);
    const Result<Written> written = Extract(context, cancel.token());
    if (!written) {
      return Fail({{"module", module_}, {"instruction", instruction_}}, written.error(), context);
    }
    context.json ? WriteOut(Json(*written)) : PrintOut(Text(*written));
    return kGood;
  }

 private:
  Result<Written> Extract(const Context& context, const std::stop_token& stop) {
    HLOSCOPE_ASSIGN_OR_RETURN(const ModuleForm form,
                              takes_kernels_ ? Result<ModuleForm>() : ModuleFormFromPath(output_));
    HLOSCOPE_TRY(CheckFilesToWrite(
        std::vector<FileToWrite>{{"-o", output_}},
        {std::span(&module_, 1), request_.inputs.files, std::span(&request_.inputs.constants, 1)}));
    HLOSCOPE_ASSIGN_OR_RETURN(const dump::InputFormat format,
                              dump::InputFormatFromName(input_format_));
    HLOSCOPE_ASSIGN_OR_RETURN(dump::LoadedModule loaded,
                              dump::LoadSoundModule(module_, context.limits, format));
    dump::CompletedModule completed = dump::CompleteFromDump(loaded, context.limits);
    HLOSCOPE_TRY(TakeConstants(request_.inputs.constants, context.limits, completed));
    loaded.module = std::move(completed.module);
    if (!takes_kernels_ && !request_.load.gpu_target.empty()) {
      return InputError(fmt::format("--target: {} compiles nothing for a device", platform_),
                        "platforms that do: " + replay::PlatformNames(replay::kRunsDumps));
    }
    request_.inputs.seed = static_cast<uint64_t>(seed_);
    if (fill_elided_) request_.load.fill_elided = static_cast<uint64_t>(*fill_elided_);
    request_.limits = context.limits;
    if (std::string note = XlaOptions::AddEnvironment(platform_, flags_); !note.empty())
      completed.notes.push_back(std::move(note));
    if (takes_kernels_) return Kernels(loaded, std::move(completed.notes), context.limits, stop);
    HLOSCOPE_TRY(SkipCallbacks(loaded.module, completed.notes));
    HLOSCOPE_ASSIGN_OR_RETURN(const hlo::InstructionId root, FindRoot(*loaded.module));
    const auto metadata = strip_metadata_ ? debug::Metadata::kStripped : debug::Metadata::kKept;
    HLOSCOPE_ASSIGN_OR_RETURN(const debug::ExtractedModule extracted,
                              debug::ExtractModule(*loaded.module, root, depth_, metadata));
    HLOSCOPE_TRY(
        debug::TakeKnownInputs(module_, *loaded.module, seed_ != 0, request_, context.limits));
    std::ranges::copy(request_.notes, std::back_inserter(completed.notes));
    request_.execution.workers =
        StartWorkers(std::array<std::string, 1>{request_.test.name}, context.limits);
    if (!loaded.proto.arguments.empty()) request_.inputs.arguments = loaded.proto.arguments.front();
    const hlo::Topology topology = hlo::TopologyOf(*extracted.module, context.limits.devices);
    if (topology.counts.devices() > 1 && !topology.unpartitioned) {
      HLOSCOPE_ASSIGN_OR_RETURN(Written written,
                                WriteDevices(loaded.module, root, extracted, form, stop));
      written.warnings = std::move(completed.notes);
      return written;
    }
    const Result<debug::CapturedValues> captured = debug::CaptureValues(
        *loaded.module, root, extracted.parameters, iteration_, CaptureOf(loaded.module, stop));
    if (!captured && HasCallback(*loaded.module) &&
        captured.error().error_class == ErrorClass::kUnsupported) {
      HLOSCOPE_ASSIGN_OR_RETURN(
          const debug::ExtractedModule without_values,
          debug::ExtractModule(*loaded.module, root, depth_, metadata, debug::OfConstants::kKept));
      HLOSCOPE_ASSIGN_OR_RETURN(Written written, Write(without_values, {}, {}, form));
      written.warnings = std::move(completed.notes);
      written.warnings.push_back(UnknownInputs(*loaded.module, without_values, captured.error()));
      return written;
    }
    if (!captured) return std::unexpected(captured.error());
    std::vector<hlo::Literal> expected;
    if (platform_ != request_.test.name) {
      HLOSCOPE_ASSIGN_OR_RETURN(expected, RunOnPlatform(extracted, captured->arguments, stop));
    } else if (captured->value) {
      expected.push_back(*captured->value);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Written written,
                              Write(extracted, captured->arguments, expected, form));
    written.warnings = std::move(completed.notes);
    return written;
  }

  // No value depends on a callback whose result is unused; the instruction may be one itself. What
  // the instruction does not need is not computed beside callbacks that stay.
  Status SkipCallbacks(std::shared_ptr<const hlo::Module>& module,
                       std::vector<std::string>& notes) const {
    HLOSCOPE_TRY(FindRoot(*module));
    HLOSCOPE_ASSIGN_OR_RETURN(debug::WithoutCallbacks without, debug::SkipCallbacks(module));
    if (!without.skipped.empty() && FindRoot(*without.module)) {
      module = std::move(without.module);
      notes.push_back(debug::SkippedText(without.skipped));
    }
    if (!HasCallback(*module)) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const hlo::InstructionId root, FindRoot(*module));
    HLOSCOPE_ASSIGN_OR_RETURN(module, debug::OnlyFor(module, root));
    return {};
  }

  static bool HasCallback(const hlo::Module& module) {
    return std::ranges::any_of(module.instructions(), [&](const hlo::Instruction& i) {
      return analysis::IsHostCallback(module, i);
    });
  }

  // "the values of in0 (call.3), in2 (sin.1) are unknown, and no inputs are written: …": of those
  // that need a callback.
  static std::string UnknownInputs(const hlo::Module& module,
                                   const debug::ExtractedModule& extracted, const Error& error) {
    const std::vector<bool> needs_callback = debug::NeedsCallback(module);
    std::vector<std::string> inputs;
    for (size_t k = 0; k < extracted.parameters.size(); ++k) {
      const hlo::InstructionId id = extracted.parameters[k];
      if (module[id].computation == module.entry_id() && !needs_callback[id.index]) continue;
      inputs.push_back(fmt::format("in{} ({})", k, module.name(id)));
    }
    return fmt::format(
        "the values of {} are unknown, and no inputs are written: {}; --inputs of `hloscope run` "
        "gives them",
        fmt::join(inputs, ", "), error.message);
  }

  Result<Written> Kernels(const dump::LoadedModule& loaded, std::vector<std::string> notes,
                          const Limits& limits, const std::stop_token& stop) {
    const std::string_view unread = depth_ > 0              ? "--depth"
                                    : strip_metadata_       ? "--strip-metadata"
                                    : !computation_.empty() ? "--computation"
                                                            : "";
    if (!unread.empty()) {
      return InputError(fmt::format("{}: kernels of a simulated GPU are taken one by one", unread));
    }
    debug::RunSpec request = request_;
    request.test.name = platform_;
    request.test.xla_flags = flags_;
    HLOSCOPE_TRY(debug::TakeKnownInputs(module_, *loaded.module, seed_ != 0, request, limits));
    std::ranges::copy(request.notes, std::back_inserter(notes));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto bundled, debug::KernelsOfBundle(module_, limits));
    request.load.module_file = bundled ? bundled->module_file : module_;
    request.execution.workers = StartWorkers(std::array<std::string, 1>{platform_}, limits);
    if (!loaded.proto.arguments.empty()) request.inputs.arguments = loaded.proto.arguments.front();
    HLOSCOPE_ASSIGN_OR_RETURN(
        const ExtractedKernel kernel,
        ExtractKernel(instruction_, iteration_, loaded.module, request, output_, stop));
    return Written{kernel.module,       kernel.inputs,     kernel.expected,
                   kernel.instructions, kernel.parameters, std::move(notes)};
  }

  debug::RunSpec RequestOnPlatform() const {
    debug::RunSpec request;
    request.test.name = platform_;
    request.test.xla_flags = flags_;
    request.limits = request_.limits;
    request.load.fill_elided = request_.load.fill_elided;
    request.execution.workers = StartWorkers(std::array<std::string, 1>{platform_}, request.limits);
    return request;
  }

  // What each device gave it, and what comes of that, numbered as `run --outputs` does.
  Result<Written> WriteDevices(const std::shared_ptr<const hlo::Module>& module,
                               hlo::InstructionId root, const debug::ExtractedModule& extracted,
                               ModuleForm form, const std::stop_token& stop) const {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto lists,
                              debug::CaptureDeviceArguments(*module, root, extracted.parameters,
                                                            iteration_, CaptureOf(module, stop)));
    std::vector<std::pair<std::string, hlo::Literal>> values;
    for (size_t device = 0; device < lists.size(); ++device) {
      size_t leaf = 0;
      for (const hlo::Literal& argument : lists[device]) {
        for (hlo::Literal& value : dump::FlattenLiteral(argument)) {
          values.emplace_back(fmt::format("in{}@{}", leaf++, device), std::move(value));
        }
      }
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Written written, Write(extracted, {}, {}, form));
    debug::RunSpec request = RequestOnPlatform();
    if (!values.empty()) {
      written.inputs = Stem() + ".inputs.npz";
      HLOSCOPE_TRY(dump::WriteInputs(written.inputs, values));
      request.inputs.files = {written.inputs};
    }
    written.expected = Stem() + ".expected.npz";
    debug::RunSinks sinks;
    sinks.files.outputs = written.expected;
    const debug::RunReport report = debug::RunModule(extracted.module, request, sinks, stop);
    if (report.error) return std::unexpected(*report.error);
    return written;
  }

  // The leaves of what the extracted module gives on the platform that was named.
  Result<std::vector<hlo::Literal>> RunOnPlatform(const debug::ExtractedModule& extracted,
                                                  const std::vector<hlo::Literal>& arguments,
                                                  const std::stop_token& stop) const {
    debug::RunSpec request = RequestOnPlatform();
    request.inputs.arguments = arguments;
    const debug::RunReport report = debug::RunModule(extracted.module, request, stop);
    if (report.error) return std::unexpected(*report.error);
    std::vector<hlo::Literal> leaves;
    for (const debug::RunOutput& output : report.outputs) leaves.push_back(output.value);
    return leaves;
  }

  Result<hlo::InstructionId> FindRoot(const hlo::Module& module) const {
    const std::string name =
        computation_.empty() ? instruction_ : computation_ + ":" + instruction_;
    const hlo::InstructionId root = hlo::FindInstruction(module, name);
    if (root.valid()) return root;
    const std::string hint = hlo::SimilarInstruction(module, name);
    return InputError(fmt::format("{}: no instruction {}", module_, name),
                      hint.empty() ? "`hloscope show` prints the module" : hint);
  }

  debug::CaptureRun CaptureOf(const std::shared_ptr<const hlo::Module>& module,
                              const std::stop_token& stop) const {
    return [this, module, stop](const replay::CapturePlan& plan, replay::RunStream& stream) {
      return debug::RunCapturing(module, request_, plan, stream, stop);
    };
  }

  std::string Stem() const { return output_ == "-" ? "extract" : WithoutModuleExtension(output_); }

  Result<Written> Write(const debug::ExtractedModule& extracted,
                        const std::vector<hlo::Literal>& arguments,
                        const std::vector<hlo::Literal>& expected, ModuleForm form) const {
    Written written{output_, "", "", extracted.instructions, extracted.parameters.size(), {}};
    const std::string text = RenderModule({}, extracted.module, form);
    if (output_ == "-") {
      WriteOut(text);
    } else {
      HLOSCOPE_TRY(WriteModuleFile(output_, text));
    }
    if (!arguments.empty()) {
      written.inputs = Stem() + ".inputs.npz";
      HLOSCOPE_TRY(dump::WriteTensors(written.inputs, dump::TensorNames::kInputs, arguments));
    }
    if (!expected.empty()) {
      written.expected = Stem() + ".expected.npz";
      HLOSCOPE_TRY(dump::WriteTensors(written.expected, dump::TensorNames::kOutputs, expected));
    }
    return written;
  }

  std::string CommandLine(const Written& written) const {
    std::string line = "hloscope run " + Quoted(written.module);
    if (!written.inputs.empty()) line += FormatText(" --inputs {}", Quoted(written.inputs));
    if (fill_elided_) line += FormatText(" --fill-elided {}", *fill_elided_);
    if (!written.expected.empty()) {
      line += FormatText(" --expect {} --platform {}", Quoted(written.expected), Quoted(platform_));
    }
    if (takes_kernels_) line += " --as-dumped";
    return line;
  }

  std::string Text(const Written& written) const {
    if (output_ == "-") return "";
    std::string text;
    for (const std::string& warning : written.warnings)
      text += FormatText("warning: {}\n", warning);
    return text + FormatText("{}: {} and {}\nrun it with\n  {}\n", written.module,
                             Counted(written.instructions, "instruction"),
                             Counted(written.parameters, "parameter"), CommandLine(written));
  }

  std::string Json(const Written& written) const {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("module", module_)
        .Field("instruction", instruction_)
        .Field("status", "ok")
        .Field("output", written.module);
    for (const auto& [key, file] :
         {std::pair("inputs", &written.inputs), std::pair("expected", &written.expected)})
      file->empty() ? json.Key(key).Null() : json.Key(key).Value(*file);
    json.Field("instructions", written.instructions)
        .Field("parameters", written.parameters)
        .Field("command", CommandLine(written))
        .Key("warnings")
        .BeginArray();
    for (const std::string& warning : written.warnings) json.Value(warning);
    json.EndArray().EndObject();
    return out + "\n";
  }

  std::string module_, instruction_, output_, computation_, input_format_;
  int64_t depth_ = 0, iteration_ = 0, seed_ = 0;
  std::optional<int64_t> fill_elided_;
  std::string platform_{replay::ReferencePlatform().name};
  bool strip_metadata_ = false, takes_kernels_ = false;
  debug::RunSpec request_;
  replay::pjrt::XlaFlags flags_;  // of the environment, for a platform that takes them
};

}  // namespace

std::unique_ptr<Command> MakeExtractCommand() { return std::make_unique<ExtractCommand>(); }

}  // namespace hloscope::app
