// RunModule: inputs, platform, iterations, reference, comparison, results to disk.
#include "core/debug/run_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/debug/compare_bits.h"
#include "core/debug/host_feeds.h"
#include "core/debug/run_inputs.h"
#include "core/debug/run_literals.h"
#include "core/debug/run_results.h"
#include "core/dump/tensor_values.h"
#include "core/eval/precise.h"
#include "core/hlo/verifier.h"
#include "core/replay/device_values.h"
#include "core/replay/worker_platform.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Clock::time_point DeadlineOf(const RunRequest& request) {
  constexpr double kLongest = 1e9;  // seconds; more would overflow the clock
  const double seconds =
      request.deadline_seconds.value_or(static_cast<double>(request.limits.run_deadline_seconds));
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, kLongest)));
}

// One replay in progress; each step fills in its part of the report.
class Replay {
 public:
  Replay(std::shared_ptr<const hlo::Module> module, const RunRequest& request, RunReport& report,
         std::stop_token stop)
      : module_(std::move(module)),
        request_(request),
        report_(report),
        stop_(std::move(stop)),
        deadline_(DeadlineOf(request)) {}

  Status Run() {
    HLOSCOPE_TRY(Verify());
    HLOSCOPE_TRY(feeds_.Open(request_.infeed, request_.seed, request_.limits));
    HLOSCOPE_TRY(Place());
    HLOSCOPE_ASSIGN_OR_RETURN(test_, Load(request_.platform, Side::kTest, report_.timing));
    if (!request_.reference_platform.empty()) {
      report_.reference_timing.emplace();
      HLOSCOPE_ASSIGN_OR_RETURN(reference_, Load(request_.reference_platform, Side::kReference,
                                                 *report_.reference_timing));
    }
    const Status ran = RunIterations();
    if (!ran.has_value() && report_.outputs.empty()) return ran;
    const Status written = WriteOutputs();
    return ran.has_value() ? written : ran;
  }

  Status RunUnder(eval::Observer& observer) {
    HLOSCOPE_TRY(Verify());
    HLOSCOPE_TRY(Place());
    HLOSCOPE_TRY(PrepareInputs(0));
    HLOSCOPE_ASSIGN_OR_RETURN(test_, Load("interpreter", Side::kTest, report_.timing));
    HLOSCOPE_TRY(RunOn(*test_, 0, report_.timing, &observer));
    return {};
  }

 private:
  Status RunIterations() {
    for (int64_t i = 0; i < std::max<int64_t>(request_.iterations, 1); ++i) {
      HLOSCOPE_TRY(Survive(RunIteration(i), fmt::format("iteration {}", i)));
    }
    if (deaths_ > kDeathsNamed) {
      report_.warnings.push_back(fmt::format("{} more died", deaths_ - kDeathsNamed));
    }
    return {};
  }

  // A death takes what it met along, not the rest of the replay. One for lack of time or on request
  // ends it all.
  Status Survive(Status status, const std::string& what) {
    if (status.has_value() || status.error().error_class != ErrorClass::kDied) return status;
    if (stop_.stop_requested() || Clock::now() >= deadline_) return status;
    if (++deaths_ <= kDeathsNamed && report_.error) {
      report_.warnings.push_back(fmt::format("{} died: {}", what, status.error().ToString()));
    }
    if (report_.error && report_.error->error_class == ErrorClass::kDied) return {};
    report_.error = std::move(status).error();
    const bool one_of_many = request_.iterations > 1 || request_.repeat > 1 || request_.isolate;
    if (one_of_many) report_.error->message = what + ": " + report_.error->message;
    return {};
  }

  // Platforms may rely on a module that the verifier finds sound.
  Status Verify() {
    for (const hlo::Diagnostic& diagnostic : hlo::Verify(*module_, {false, request_.limits})) {
      if (diagnostic.severity == hlo::Severity::kError) {
        return InputError(diagnostic.message, diagnostic.hint);
      }
    }
    return {};
  }

  // Which devices there are and, for results of several, what form they are wanted in.
  Status Place() {
    placement_.emplace(*module_, request_.limits);
    results_ = placement_->results();
    const std::string& note = placement_->topology().note;
    if (!note.empty()) report_.warnings.push_back(note);
    if (request_.expect.empty()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(expected_, dump::TensorFiles::Open(request_.expect, request_.limits));
    return {};
  }

  // Iterations differ only where inputs are made up or a literals file has them.
  Status PrepareInputs(int64_t iteration) {
    const bool always_the_same = !report_.made_up_inputs && request_.input_literals.empty();
    if (iteration > 0 && always_the_same) return {};
    const Clock::time_point start = Clock::now();
    HLOSCOPE_ASSIGN_OR_RETURN(inputs_, FindInputs(iteration));
    if (request_.flush_denormals) FlushInputs();
    if (iteration == 0) report_.arguments = inputs_.arguments;
    report_.timing.load_ms += MillisecondsSince(start);
    if (iteration == 0 && !request_.save_inputs.empty()) {
      HLOSCOPE_TRY(WriteRunInputs(request_.save_inputs, inputs_, *placement_));
    }
    return {};
  }

  void FlushInputs() {
    for (Literal& argument : inputs_.arguments) argument = FlushDenormals(argument);
    for (auto& list : inputs_.lists) {
      for (Literal& leaf : list) leaf = FlushDenormals(leaf);
    }
  }

  Result<RunInputs> FindInputs(int64_t iteration) {
    if (!request_.inputs.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto files,
                                dump::TensorFiles::Open(request_.inputs, request_.limits));
      return ReadInputs(files, *module_, *placement_);
    }
    if (!request_.input_literals.empty()) return TakeLiterals(iteration);
    if (!request_.arguments.empty()) {
      recorded_ = request_.recorded;
      return SpreadArguments(request_.arguments, *module_, *placement_);
    }
    return MakeUp(iteration);
  }

  Result<RunInputs> MakeUp(int64_t iteration) {
    const bool has_parameters = !module_->Parameters(module_->entry_id()).empty();
    report_.made_up_inputs = has_parameters && request_.random_inputs;
    // A module without parameters always gives its recorded result.
    if (!has_parameters) recorded_ = request_.recorded;
    replay::InputOptions options;
    options.seed = request_.seed + static_cast<uint64_t>(iteration);
    options.large_floats = request_.large_floats;
    options.zeros = !request_.random_inputs;
    options.limits = request_.limits;
    options.deadline = deadline_;
    options.stop = stop_;
    std::vector<std::string> warnings;
    auto made = MakeUpInputs(*module_, *placement_, options, warnings);
    if (iteration == 0) {
      report_.warnings.insert(report_.warnings.end(), warnings.begin(), warnings.end());
    }
    return made;
  }

  // The arguments that a literals file has for an iteration, and the result beside them.
  Result<RunInputs> TakeLiterals(int64_t iteration) {
    if (literals_.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(literals_,
                                ReadLiteralsFile(request_.input_literals, request_.limits));
    }
    if (std::cmp_greater_equal(iteration, literals_.size())) {
      return InputError(fmt::format("{}: holds {} iterations, {} are asked for",
                                    request_.input_literals, literals_.size(), request_.iterations),
                        "give fewer --iterations");
    }
    const hlo::IterationLiterals& taken = literals_[static_cast<size_t>(iteration)];
    recorded_ = taken.result;
    return SpreadArguments(taken.arguments, *module_, *placement_);
  }

  enum class Side : uint8_t { kTest, kReference };

  Result<std::unique_ptr<replay::Executable>> Load(const std::string& name, Side side,
                                                   RunTiming& timing) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto platform, MakePlatform(name));
    const Clock::time_point start = Clock::now();
    auto executable = platform->Load(module_, HowToLoad(side));
    timing.compile_ms = MillisecondsSince(start);
    if (executable.has_value()) {
      timing.compile_ms = (*executable)->load_ms().value_or(timing.compile_ms);
    }
    return executable;
  }

  Result<std::unique_ptr<replay::Platform>> MakePlatform(std::string_view name) const {
    return replay::MakePlatform(name, request_.workers);
  }

  // As run_hlo_module: the reference compiles without fast mathematics, whatever the flags.
  replay::LoadOptions HowToLoad(Side side) const {
    replay::LoadOptions options;
    options.limits = request_.limits;
    options.fill_elided = request_.fill_elided;
    options.threads = request_.threads;
    options.memory_bytes = request_.memory_bytes;
    options.deadline = deadline_;
    options.stop = stop_;
    const bool is_test = side == Side::kTest;
    options.run_passes = is_test ? request_.test_passes : request_.reference_passes;
    options.flags = request_.xla_flags;
    if (!is_test) {
      options.flags = {{"xla_cpu_enable_fast_math", "false"},
                       {"xla_cpu_enable_fast_min_max", "false"},
                       {"xla_gpu_enable_fast_min_max", "false"}};
    }
    return options;
  }

  // The leaves of one run on the present inputs.
  Result<Leaves> RunOn(replay::Executable& executable, int64_t iteration, RunTiming& timing,
                       eval::Observer* observer = nullptr) {
    replay::RunOptions options = OptionsFor(iteration);
    options.observer = observer;
    feeds_.Rewind();
    options.infeed = [this](const Shape& shape) { return feeds_.Take(shape); };
    options.outfeed = [this](const Literal& array) { return feeds_.Give(array); };
    ResultCollector sink(report_.warnings);
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run,
                              executable.Run(inputs_.lists, options, sink, stop_));
    timing.run_us.push_back(run.run_us);
    timing.peak_bytes = std::max(timing.peak_bytes, run.peak_bytes);
    return sink.Gather(*placement_, results_, expected_ ? &*expected_ : nullptr);
  }

  // What the first run took and gave.
  Status ReportFeeds() {
    if (feeds_.made_up() > 0) {
      report_.warnings.push_back(
          fmt::format("infeed: {} arrays were made up from seed {}: give them with --infeed",
                      feeds_.made_up(), request_.seed));
    }
    if (!request_.outfeed.empty()) {
      return dump::WriteTensors(request_.outfeed, dump::TensorNames::kOutputs, feeds_.given());
    }
    if (!feeds_.given().empty()) {
      report_.warnings.push_back(fmt::format(
          "outfeed: {} arrays were dropped: --outfeed keeps them", feeds_.given().size()));
    }
    return {};
  }

  Status RunIteration(int64_t iteration) {
    HLOSCOPE_TRY(PrepareInputs(iteration));
    if (request_.isolate && iteration == 0) HLOSCOPE_TRY(IsolateInstructions());
    HLOSCOPE_ASSIGN_OR_RETURN(Leaves results, RunOn(*test_, iteration, report_.timing));
    if (iteration == 0) HLOSCOPE_TRY(ReportFeeds());
    if (request_.repeat > 1) HLOSCOPE_TRY(Repeat(iteration, results));
    if (request_.precise) {
      HLOSCOPE_TRY(RunPrecisely(iteration));
      plain_ = results;
      if (request_.platform == "interpreter") results = Rounded(precise_);
    }
    RecordLiterals(results);
    std::vector<RunOutput> outputs = OutputsOf(std::move(results), iteration);
    Status compared = CompareIteration(iteration, outputs);
    if (compared.has_value() && iteration == 0) compared = GrowIsolated(outputs);
    isolation_.reset();
    Keep(std::move(outputs));
    HLOSCOPE_TRY(compared);
    if (request_.find && iteration == 0) HLOSCOPE_TRY(FindBirth());
    return {};
  }

  // With everything that there is to compare with.
  Status CompareIteration(int64_t iteration, std::vector<RunOutput>& outputs) {
    if (request_.precise) AddPreciseSides(outputs, request_.platform, plain_);
    if (reference_ != nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(const Leaves reference,
                                RunOn(*reference_, iteration, *report_.reference_timing));
      RecordReference(reference);
      HLOSCOPE_TRY(CompareWith(reference, outputs));
      if (request_.precise) AddPreciseSides(outputs, request_.reference_platform, reference);
    }
    const bool expected = iteration == 0 || !report_.made_up_inputs;
    if (!request_.expect.empty() && expected) HLOSCOPE_TRY(CompareWithFiles(outputs));
    if (request_.expect.empty() && reference_ == nullptr) CompareWithRecorded(outputs);
    return {};
  }

  replay::RunOptions OptionsFor(int64_t iteration) const {
    replay::RunOptions options;
    if (request_.different_random_seeds) options.rng_seed = static_cast<uint64_t>(iteration) + 1;
    options.memory_bytes = request_.memory_bytes;
    options.threads = request_.threads;
    options.deadline = deadline_;
    return options;
  }

  Status IsolateInstructions() {
    if (placement_->lists() > 1) {
      return UnsupportedError("instructions are isolated on one device, the module is for several",
                              "extract what is to be looked at");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(isolating_, MakePlatform(request_.platform));
    if (!request_.reference_platform.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(isolating_reference_, MakePlatform(request_.reference_platform));
    }
    IsolateRequest request;
    request.platform = isolating_.get();
    request.reference = isolating_reference_.get();
    request.load = HowToLoad(Side::kTest);
    request.load_reference = HowToLoad(Side::kReference);
    request.run = OptionsFor(0);
    request.bounds = request_.bounds;
    request.stop = stop_;
    isolation_.emplace(*module_, std::move(request));
    return isolation_->Run(inputs_.arguments, [&](const InstructionReport& instruction) {
      if (request_.on_instruction) request_.on_instruction(instruction);
      if (instruction.differs() && !report_.first_divergent) report_.first_divergent = instruction;
      if (!instruction.error || instruction.error->error_class != ErrorClass::kDied) return;
      (void)Survive(std::unexpected(*instruction.error), instruction.instruction);
    });
  }

  // Where the whole differs and no instruction does alone, it takes several.
  Status GrowIsolated(const std::vector<RunOutput>& outputs) {
    const bool differs = std::ranges::any_of(outputs, [](const RunOutput& output) {
      return output.compared && !output.comparison.equal();
    });
    if (!isolation_ || report_.first_divergent || !differs) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(report_.first_divergent, isolation_->GrowPieces());
    if (report_.first_divergent && request_.on_instruction) {
      request_.on_instruction(*report_.first_divergent);
    }
    if (!report_.first_divergent) {
      report_.warnings.push_back(
          "no instruction differs alone or with those before it: the fault "
          "needs a larger part of the module");
    }
    return {};
  }

  // Leaves in double precision, of the same inputs.
  Status RunPrecisely(int64_t iteration) {
    if (precise_executable_ == nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto interpreter, MakePlatform("interpreter"));
      HLOSCOPE_ASSIGN_OR_RETURN(precise_executable_, interpreter->Load(eval::WidenModule(*module_),
                                                                       HowToLoad(Side::kTest)));
    }
    RunTiming untold;
    HLOSCOPE_ASSIGN_OR_RETURN(precise_, RunOn(*precise_executable_, iteration, untold));
    return {};
  }

  // Each leaf as the type it is declared with.
  Leaves Rounded(const Leaves& wide) const {
    const auto shapes = module_->shape(module_->entry().root).Leaves();
    Leaves rounded = wide;
    for (size_t i = 0; i < rounded.size(); ++i) {
      if (!rounded[i].has_value() || shapes.empty()) continue;
      Shape shape = *shapes[i % shapes.size()].second;
      if (placement_->lists() > 1) {  // devices may have been put together
        const auto dimensions = rounded[i]->shape().dimensions();
        shape = Shape::Array(shape.element_type(), {dimensions.begin(), dimensions.end()});
      }
      rounded[i] = eval::ConvertLiteral(*rounded[i], shape);
    }
    return rounded;
  }

  void AddPreciseSide(RunOutput& output, size_t leaf, const std::string& side,
                      const Literal& value) {
    if (leaf >= precise_.size() || !precise_[leaf].has_value()) return;
    output.precise.push_back({side, DistanceToPrecise(value, *precise_[leaf])});
  }

  void AddPreciseSides(std::vector<RunOutput>& outputs, const std::string& side,
                       const Leaves& values) {
    for (size_t i = 0; i < std::min(outputs.size(), values.size()); ++i) {
      if (values[i].has_value()) AddPreciseSide(outputs[i], i, side, *values[i]);
    }
  }

  // Where the first NaN or infinity is made, whatever the platform: the interpreter alone sees
  // every value.
  Status FindBirth() {
    RunTiming untold;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto interpreter, Load("interpreter", Side::kTest, untold));
    const size_t warnings = report_.warnings.size();
    HLOSCOPE_ASSIGN_OR_RETURN(NonFiniteReport found,
                              FindFirstNonFinite(*module_, inputs_.arguments, *request_.find,
                                                 [&](eval::Observer& observer) {
                                                   return RunOn(*interpreter, 0, untold, &observer);
                                                 }));
    report_.warnings.resize(warnings);  // those of the run itself are there already
    report_.warnings.insert(report_.warnings.end(), found.arrivals.begin(), found.arrivals.end());
    report_.first_nonfinite = std::move(found.first);
    return {};
  }

  // The first iteration is reported, but for comparisons: there the first that differs.
  void Keep(std::vector<RunOutput> outputs) {
    if (report_.outputs.empty()) {
      report_.outputs = std::move(outputs);
      return;
    }
    for (size_t i = 0; i < std::min(outputs.size(), report_.outputs.size()); ++i) {
      RunOutput& kept = report_.outputs[i];
      if (!outputs[i].compared || (kept.compared && !kept.comparison.equal())) continue;
      if (kept.compared && outputs[i].comparison.equal()) continue;
      kept.comparison = std::move(outputs[i].comparison);
      kept.precise = std::move(outputs[i].precise);
      kept.iteration = outputs[i].iteration;
      kept.compared = true;
    }
  }

  Status Repeat(int64_t iteration, const Leaves& first) {
    if (!report_.repeat)
      report_.repeat = RepeatReport{request_.repeat, request_.same_bits, {}, 0, {}};
    for (int64_t run = 1; run < request_.repeat; ++run) {
      const Result<Leaves> again = RunOn(*test_, iteration, report_.timing);
      if (!again.has_value()) {
        HLOSCOPE_TRY(Survive(std::unexpected(again.error()),
                             fmt::format("run {} of iteration {}", run, iteration)));
      }
      if (!again.has_value() || report_.repeat->differing_run) continue;
      std::optional<LeafComparison> difference = FirstDifference(*again, first);
      if (!difference) continue;
      report_.repeat->differing_run = run;
      report_.repeat->iteration = iteration;
      report_.repeat->difference = std::move(difference);
    }
    return {};
  }

  // Of runs on the same inputs.
  std::optional<LeafComparison> FirstDifference(const Leaves& actual, const Leaves& expected) {
    const auto shapes = module_->shape(module_->entry().root).Leaves();
    for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
      if (!actual[i].has_value() || !expected[i].has_value()) continue;
      LeafComparison comparison = request_.same_bits
                                      ? CompareBits(*actual[i], *expected[i])
                                      : CompareArrays(*actual[i], *expected[i], request_.bounds);
      if (comparison.equal()) continue;
      if (i < shapes.size()) comparison.index = shapes[i].first;
      return comparison;
    }
    return std::nullopt;
  }

  std::vector<RunOutput> OutputsOf(Leaves results, int64_t iteration) {
    const Shape& root = module_->shape(module_->entry().root);
    const auto shapes = root.Leaves();
    std::vector<RunOutput> outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      RunOutput output;
      output.iteration = iteration;
      if (i < shapes.size()) {
        output.comparison.index = shapes[i].first;
        output.comparison.shape = *shapes[i].second;
        output.comparison.elements = shapes[i].second->ElementCount().value_or(0);
      }
      if (results[i].has_value()) {
        output.value = *std::move(results[i]);
        if (placement_->lists() > 1) {
          output.comparison.shape = output.value.shape();
          output.comparison.elements = output.value.shape().ElementCount().value_or(0);
        }
        if (request_.flush_denormals) output.value = FlushDenormals(output.value);
      } else {
        output.missing = std::move(results[i]).error();
        if (!report_.error) report_.error = output.missing;
      }
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

  void Compare(RunOutput& output, const Literal& expected) {
    LeafComparison comparison =
        CompareArrays(output.value, request_.flush_denormals ? FlushDenormals(expected) : expected,
                      request_.bounds);
    comparison.index = std::move(output.comparison.index);
    output.comparison = std::move(comparison);
    output.compared = true;
  }

  Status CompareWith(const Leaves& reference, std::vector<RunOutput>& outputs) {
    for (size_t i = 0; i < std::min(reference.size(), outputs.size()); ++i) {
      if (!reference[i].has_value()) return std::unexpected(reference[i].error());
      if (!outputs[i].missing) Compare(outputs[i], *reference[i]);
    }
    return {};
  }

  // With what was recorded beside the inputs, where it has the form of the result.
  void CompareWithRecorded(std::vector<RunOutput>& outputs) {
    if (!recorded_) return;
    const std::vector<Literal> leaves = dump::FlattenLiteral(*recorded_);
    if (leaves.size() != outputs.size()) {
      report_.warnings.push_back(
          fmt::format("the recorded result has {} leaves, the module gives {}: not compared",
                      leaves.size(), outputs.size()));
      return;
    }
    report_.against_recorded = true;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!outputs[i].missing) Compare(outputs[i], leaves[i]);
    }
  }

  void RecordLiterals(const Leaves& results) {
    if (request_.output_literals.empty()) return;
    written_.push_back({inputs_.arguments, FromLeaves(ResultShape(), results), std::nullopt});
  }
  void RecordReference(const Leaves& reference) {
    if (!written_.empty()) written_.back().reference_result = FromLeaves(ResultShape(), reference);
  }
  const Shape& ResultShape() const { return module_->shape(module_->entry().root); }

  Status CompareWithFiles(std::vector<RunOutput>& outputs) {
    size_t found = 0, arrays = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      RunOutput& output = outputs[i];
      if (!output.comparison.shape.IsArray()) continue;
      ++arrays;
      HLOSCOPE_ASSIGN_OR_RETURN(
          const std::optional<Literal> expected,
          expected_->Output(static_cast<int64_t>(i), output.comparison.shape));
      if (!expected) {
        report_.warnings.push_back(
            fmt::format("out{} is not among the expected values: not compared", i));
        continue;
      }
      ++found;
      if (output.missing) continue;
      Compare(output, *expected);
      if (request_.precise) AddPreciseSide(output, i, "expected", *expected);
    }
    if (found == 0 && arrays != 0) {
      return InputError("none of the outputs is among the expected values",
                        "name them out0, out1 … (or output_0 …)");
    }
    return {};
  }

  Status WriteOutputs() {
    if (!request_.output_literals.empty()) {
      HLOSCOPE_TRY(WriteLiteralsFile(request_.output_literals, written_));
    }
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
  static constexpr int64_t kDeathsNamed = 20;

  Clock::time_point deadline_;  // of the whole replay
  int64_t deaths_ = 0;          // survived
  HostFeeds feeds_;
  std::unique_ptr<replay::Executable> test_, reference_;
  std::unique_ptr<replay::Platform> isolating_, isolating_reference_;
  std::optional<Isolation> isolation_;  // of the first iteration
  std::unique_ptr<replay::Executable> precise_executable_;
  std::optional<replay::Placement> placement_;
  std::vector<replay::LeafPlacement> results_;  // with what the first gathering decided
  std::optional<dump::TensorFiles> expected_;
  RunInputs inputs_;                 // of the iteration at hand
  Leaves plain_, precise_;           // likewise, with --precise: results as they are and wide
  std::optional<Literal> recorded_;  // the result known for them
  std::vector<hlo::IterationLiterals> literals_, written_;  // read and to be written
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
  if (report.first_divergent) return RunStatus::kDiffers;
  if (report.repeat && report.repeat->differing_run) return RunStatus::kDiffers;
  bool compared = report.repeat.has_value();
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
  report.warnings = request.notes;
  report.xla_flags = request.xla_flags;
  Status status = Replay(std::move(module), request, report, std::move(stop)).Run();
  if (!status.has_value()) report.error = std::move(status).error();
  report.status = StatusOf(report);
  return report;
}

Status RunObserved(std::shared_ptr<const hlo::Module> module, const RunRequest& request,
                   eval::Observer& observer, std::stop_token stop) {
  RunReport untold;
  return Replay(std::move(module), request, untold, std::move(stop)).RunUnder(observer);
}

}  // namespace hloscope::debug
