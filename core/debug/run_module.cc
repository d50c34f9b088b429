// RunModule: inputs, platform, iterations, reference, comparison, results to disk.
#include "core/debug/run_module.h"

#include <fmt/format.h>

#include <chrono>

#include "core/dump/tensor_values.h"
#include "core/hlo/verifier.h"
#include "core/replay/inputs.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Literal Zeros(const Shape& shape) {
  if (shape.IsToken()) return Literal::Token();
  if (!shape.IsTuple()) {
    return Literal::Dense(
        shape, std::vector<std::byte>(static_cast<size_t>(shape.ByteSize().value_or(0))));
  }
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(Zeros(element));
  return Literal::Tuple(std::move(elements));
}

class LeafCollector : public replay::RunSink {
 public:
  explicit LeafCollector(std::vector<std::string>& warnings) : warnings_(warnings) {}
  void OnResult(int64_t, int64_t leaf, Result<Literal> value) override {
    leaves.resize(std::max<size_t>(leaves.size(), static_cast<size_t>(leaf) + 1),
                  InternalError("a result never came"));
    leaves[static_cast<size_t>(leaf)] = std::move(value);
  }
  void OnWarning(std::string_view text) override { warnings_.emplace_back(text); }

  std::vector<Result<Literal>> leaves;

 private:
  std::vector<std::string>& warnings_;
};

// One replay in progress; each step fills in its part of the report.
class Replay {
 public:
  Replay(std::shared_ptr<const hlo::Module> module, const RunRequest& request, RunReport& report,
         std::stop_token stop)
      : module_(std::move(module)), request_(request), report_(report), stop_(std::move(stop)) {}

  Status Run() {
    HLOSCOPE_TRY(Verify());
    HLOSCOPE_TRY(PrepareInputs());
    HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Result<Literal>> results,
                              RunOn(request_.platform, report_.timing));
    AddOutputs(std::move(results));
    if (!request_.reference_platform.empty()) {
      report_.reference_timing.emplace();
      HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<Result<Literal>> reference,
                                RunOn(request_.reference_platform, *report_.reference_timing));
      HLOSCOPE_TRY(CompareWith(reference));
    }
    if (!request_.expect.empty()) HLOSCOPE_TRY(CompareWithFiles());
    return WriteOutputs();
  }

 private:
  // Platforms may rely on a module that the verifier finds sound.
  Status Verify() {
    for (const hlo::Diagnostic& diagnostic : hlo::Verify(*module_, {false, request_.limits})) {
      if (diagnostic.severity == hlo::Severity::kError) {
        return InputError(diagnostic.message, diagnostic.hint);
      }
    }
    return {};
  }

  Status PrepareInputs() {
    const Clock::time_point start = Clock::now();
    HLOSCOPE_TRY(FindInputs());
    if (request_.flush_denormals) {
      for (Literal& argument : report_.arguments) argument = FlushDenormals(argument);
    }
    if (!request_.save_inputs.empty()) {
      HLOSCOPE_TRY(
          dump::WriteTensors(request_.save_inputs, dump::TensorNames::kInputs, report_.arguments));
    }
    report_.timing.load_ms = MillisecondsSince(start);
    return {};
  }

  Status FindInputs() {
    const std::vector<Shape> shapes = replay::ParameterShapes(*module_);
    if (!request_.inputs.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto files,
                                dump::TensorFiles::Open(request_.inputs, request_.limits));
      HLOSCOPE_ASSIGN_OR_RETURN(report_.arguments, dump::ReadArguments(files, shapes));
    } else if (!request_.arguments.empty()) {
      report_.arguments = request_.arguments;
    } else if (!request_.random_inputs) {
      for (const Shape& shape : shapes) report_.arguments.push_back(Zeros(shape));
    } else {
      report_.made_up_inputs = !shapes.empty();
      HLOSCOPE_ASSIGN_OR_RETURN(report_.arguments,
                                replay::GenerateInputs(*module_, request_.seed, request_.limits));
    }
    return {};
  }

  // The leaves of the first iteration.
  Result<std::vector<Result<Literal>>> RunOn(const std::string& name, RunTiming& timing) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto platform, replay::MakePlatform(name));
    const Clock::time_point start = Clock::now();
    HLOSCOPE_ASSIGN_OR_RETURN(const auto executable,
                              platform->Load(module_, {request_.limits, request_.fill_elided}));
    timing.compile_ms = MillisecondsSince(start);
    std::vector<Literal> leaves;
    for (const Literal& argument : report_.arguments) {
      for (Literal& leaf : dump::FlattenLiteral(argument)) leaves.push_back(std::move(leaf));
    }
    std::vector<Result<Literal>> first;
    for (int64_t i = 0; i < std::max<int64_t>(request_.iterations, 1); ++i) {
      LeafCollector sink(report_.warnings);
      HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run,
                                executable->Run({&leaves, 1}, {}, sink, stop_));
      timing.run_us.push_back(run.run_us);
      timing.peak_bytes = std::max(timing.peak_bytes, run.peak_bytes);
      if (i == 0) first = std::move(sink.leaves);
    }
    return first;
  }

  void AddOutputs(std::vector<Result<Literal>> results) {
    const Shape& root = module_->shape(module_->entry().root);
    const auto shapes = root.Leaves();
    for (size_t i = 0; i < results.size(); ++i) {
      RunOutput output;
      if (i < shapes.size()) {
        output.comparison.index = shapes[i].first;
        output.comparison.shape = *shapes[i].second;
        output.comparison.elements = shapes[i].second->ElementCount().value_or(0);
      }
      if (results[i].has_value()) {
        output.value = *std::move(results[i]);
        if (request_.flush_denormals) output.value = FlushDenormals(output.value);
      } else {
        output.missing = std::move(results[i]).error();
        if (!report_.error) report_.error = output.missing;
      }
      report_.outputs.push_back(std::move(output));
    }
  }

  void Compare(RunOutput& output, const Literal& expected) {
    LeafComparison comparison =
        CompareArrays(output.value, request_.flush_denormals ? FlushDenormals(expected) : expected,
                      request_.bounds);
    comparison.index = std::move(output.comparison.index);
    output.comparison = std::move(comparison);
    output.compared = true;
  }

  Status CompareWith(std::span<const Result<Literal>> reference) {
    for (size_t i = 0; i < std::min(reference.size(), report_.outputs.size()); ++i) {
      if (!reference[i].has_value()) return std::unexpected(reference[i].error());
      if (!report_.outputs[i].missing) Compare(report_.outputs[i], *reference[i]);
    }
    return {};
  }

  Status CompareWithFiles() {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto files,
                              dump::TensorFiles::Open(request_.expect, request_.limits));
    size_t found = 0, arrays = 0;
    for (size_t i = 0; i < report_.outputs.size(); ++i) {
      RunOutput& output = report_.outputs[i];
      if (!output.comparison.shape.IsArray()) continue;
      ++arrays;
      HLOSCOPE_ASSIGN_OR_RETURN(const std::optional<Literal> expected,
                                files.Output(static_cast<int64_t>(i), output.comparison.shape));
      if (!expected) {
        report_.warnings.push_back(
            fmt::format("out{} is not among the expected values: not compared", i));
        continue;
      }
      ++found;
      if (!output.missing) Compare(output, *expected);
    }
    if (found == 0 && arrays != 0) {
      return InputError("none of the outputs is among the expected values",
                        "name them out0, out1 … (or output_0 …)");
    }
    return {};
  }

  Status WriteOutputs() {
    if (request_.outputs.empty()) return {};
    std::vector<Literal> values;
    for (const RunOutput& output : report_.outputs) {
      values.push_back(output.missing ? Literal::Token() : output.value);
    }
    return dump::WriteTensors(request_.outputs, dump::TensorNames::kOutputs, values);
  }

  std::shared_ptr<const hlo::Module> module_;
  const RunRequest& request_;
  RunReport& report_;
  std::stop_token stop_;
};

RunStatus StatusOf(const Error& error) {
  switch (error.error_class) {
    case ErrorClass::kUnsupported:
      return RunStatus::kUnsupported;
    case ErrorClass::kDied:
      return RunStatus::kDied;
    default:
      return RunStatus::kError;
  }
}

RunStatus StatusOf(const RunReport& report) {
  if (report.error) return StatusOf(*report.error);
  bool compared = false;
  for (const RunOutput& output : report.outputs) {
    if (output.compared && !output.comparison.equal()) return RunStatus::kDiffers;
    compared |= output.compared;
  }
  return compared ? RunStatus::kEqual : RunStatus::kRan;
}

}  // namespace

std::string_view ToString(RunStatus status) {
  switch (status) {
    case RunStatus::kEqual:
      return "equal";
    case RunStatus::kDiffers:
      return "differs";
    case RunStatus::kRan:
      return "ran";
    case RunStatus::kUnsupported:
      return "unsupported";
    case RunStatus::kError:
      return "error";
    case RunStatus::kDied:
      return "died";
  }
  return "error";
}

RunReport RunModule(std::shared_ptr<const hlo::Module> module, const RunRequest& request,
                    std::stop_token stop) {
  RunReport report;
  report.module = module->name();
  report.platform = request.platform;
  report.reference = request.reference_platform;
  report.seed = request.seed;
  Status status = Replay(std::move(module), request, report, std::move(stop)).Run();
  if (!status.has_value()) report.error = std::move(status).error();
  report.status = StatusOf(report);
  return report;
}

}  // namespace hloscope::debug
