// RunModule: inputs, platform, iterations, reference, comparison, results to disk.
#include "core/debug/run/run_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/backends/make_platform.h"
#include "core/base/counted.h"
#include "core/base/progress/activity.h"
#include "core/debug/pieces/fallback_platform.h"
#include "core/debug/run/difference_hints.h"
#include "core/debug/run/host_feeds.h"
#include "core/debug/run/input_source.h"
#include "core/debug/run/isolate_kernels.h"
#include "core/debug/run/output_judge.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/debug/run/run_literals.h"
#include "core/debug/run/run_recorder.h"
#include "core/debug/run/run_results.h"
#include "core/debug/run/update_order.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/eval/numbers/precise.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/device_values.h"
#include "core/replay/ranks.h"
#include "core/replay/workers/worker_platform.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

namespace {

using Clock = std::chrono::steady_clock;

// Whose values are right.
std::string Reference() { return std::string(replay::ReferencePlatform().name); }

// One replay in progress; each step fills in its part of the report.
class RunDriver {
 public:
  RunDriver(std::shared_ptr<const hlo::Module> module, const RunSpec& spec, const RunSinks& sinks,
            RunReport& report, std::stop_token stop)
      : module_(std::move(module)),
        spec_(spec),
        sinks_(sinks),
        report_(report),
        stop_(std::move(stop)),
        deadline_(DeadlineOf(spec)) {}

  Status Run() {
    Status status = RunAll();
    const bool is_late =
        !status.has_value() && status.error().error_class == ErrorClass::kDeadlineExceeded;
    if (is_late && Clock::now() >= deadline_) SayWhatRan(status.error());
    return status;
  }

  Status OpenCapture(const replay::CapturePlan& plan) {
    HLOSCOPE_TRY(Verify());
    HLOSCOPE_TRY(feeds_.Open(spec_.inputs.infeed, spec_.inputs.seed, spec_.limits));
    HLOSCOPE_TRY(Place());
    HLOSCOPE_TRY(source_->Prepare(0));
    HLOSCOPE_ASSIGN_OR_RETURN(test_, Load(spec_.test.name, Side::kTest, report_.timing, plan));
    return {};
  }

  Result<replay::RunResult> RunWith(const replay::CapturePlan& plan, replay::RunStream& stream) {
    deadline_ = DeadlineOf(spec_);  // of each run, however many there are
    replay::RunOptions options = OptionsFor(Side::kTest, 0);
    options.capture = plan;
    return test_->Run(source_->inputs().lists, options, stream);
  }

  const RunInputs& inputs() const { return source_->inputs(); }

 private:
  // What was asked for, of which the deadline let some run.
  void SayWhatRan(Error& error) const {
    constexpr std::string_view kDeadline = "the deadline";
    if (error.message.starts_with(kDeadline)) {
      error.message.insert(kDeadline.size(), fmt::format(" of {:g} s", SecondsOf(spec_)));
    }
    if (spec_.repeats.iterations > 1) {
      error.message += fmt::format("; {} of {} ran", report_.iterations_ran,
                                   Counted(spec_.repeats.iterations, "iteration"));
    }
  }

  Status RunAll() {
    HLOSCOPE_TRY(Verify());
    HLOSCOPE_TRY(feeds_.Open(spec_.inputs.infeed, spec_.inputs.seed, spec_.limits));
    HLOSCOPE_TRY(Place());
    HLOSCOPE_ASSIGN_OR_RETURN(test_, Load(spec_.test.name, Side::kTest, report_.timing));
    if (!spec_.reference.name.empty()) {
      report_.reference_timing.emplace();
      HLOSCOPE_ASSIGN_OR_RETURN(
          reference_, Load(spec_.reference.name, Side::kReference, *report_.reference_timing));
    }
    const Status ran = RunIterations();
    if (!ran.has_value() && report_.outputs.empty()) return ran;
    const Status written = WriteOutputs();
    return ran.has_value() ? written : ran;
  }

  Status RunIterations() {
    for (int64_t i = 0; i < std::max<int64_t>(spec_.repeats.iterations, 1); ++i) {
      if (sinks_.on_progress && spec_.repeats.iterations > 1) {
        sinks_.on_progress({"iterations", i, spec_.repeats.iterations});
      }
      Status status = RunIteration(i);
      report_.iterations_ran += status.has_value() ? 1 : 0;
      HLOSCOPE_TRY(TolerateCrash(std::move(status), fmt::format("iteration {}", i)));
    }
    if (crashes_ > kMaxReportedCrashes) {
      report_.warnings.push_back(fmt::format("{} more died", crashes_ - kMaxReportedCrashes));
    }
    return {};
  }

  // A crash ends what it happened in, not the rest of the replay. One for lack of time or on
  // request ends it all, and so does any where other ranks would wait.
  Status TolerateCrash(Status status, const std::string& what) {
    if (status.has_value() || !IsExecutionFailure(status.error().error_class)) return status;
    if (replay::HasRank(spec_.execution.environment)) return status;
    if (stop_.stop_requested() || Clock::now() >= deadline_) return status;
    if (++crashes_ <= kMaxReportedCrashes && report_.error) {
      report_.warnings.push_back(fmt::format("{} died: {}", what, status.error().ToString()));
    }
    if (report_.error && IsExecutionFailure(report_.error->error_class)) return {};
    report_.error = std::move(status).error();
    const bool one_of_many =
        spec_.repeats.iterations > 1 || spec_.repeats.runs > 1 || spec_.compare.isolate;
    if (one_of_many) report_.error->message = what + ": " + report_.error->message;
    return {};
  }

  // Platforms may rely on a module that the verifier finds sound.
  Status Verify() {
    if (!spec_.execution.verify) return {};
    for (const hlo::Diagnostic& diagnostic : hlo::Verify(*module_, {false, spec_.limits})) {
      if (diagnostic.severity == hlo::Severity::kError) {
        return InputError(diagnostic.message, diagnostic.hint);
      }
    }
    return {};
  }

  // Which devices there are and, for results of several, what form they are wanted in.
  Status Place() {
    HLOSCOPE_TRY(replay::CheckDeviceCount(*module_, spec_.limits));
    placement_.emplace(*module_, spec_.limits);
    results_ = placement_->results();
    source_.emplace(*module_, *placement_, spec_, report_, sinks_.files.inputs);
    source_->set_bounds(deadline_, stop_);
    judge_.emplace(*module_, *placement_, spec_, report_);
    const std::string& note = placement_->topology().note;
    if (!note.empty()) report_.warnings.push_back(note);
    if (spec_.compare.expect.empty()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(
        expected_, OpenArrays(spec_.compare.expect, dump::BundlePart::kExpected, spec_.limits));
    const auto& notes = expected_->notes();
    report_.warnings.insert(report_.warnings.end(), notes.begin(), notes.end());
    NoteUnusedExpected();
    return {};
  }

  void NoteUnusedExpected() {
    const int64_t arrays =
        std::ranges::count_if(results_, [](const auto& leaf) { return leaf.shape.IsArray(); });
    for (const std::string& line : expected_->Unused({.side = dump::TensorNames::kOutputs,
                                                      .leaves = std::ssize(results_),
                                                      .arrays = arrays})) {
      report_.WarnOfUnusedArray(
          fmt::format("{}: the results are {}", line, Counted(arrays, "array")));
    }
  }

  enum class Side : uint8_t { kTest, kReference };

  Result<std::unique_ptr<replay::Executable>> Load(const std::string& name, Side side,
                                                   RunTiming& timing,
                                                   const replay::CapturePlan& plan = {}) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto plain, MakePlatform(name));
    const auto platform = WithFallback(
        std::move(plain), [this] { return MakePlatform(Reference()); }, HowToFallBack());
    replay::RunOptions options = OptionsFor(side, 0);
    options.capture = plan;
    RunRecorder* const recorder = sinks_.recorder;
    if (recorder != nullptr) {
      ProgramOf(side) = recorder->AddProgram(module_, name, side == Side::kReference);
      options.record.steps = recorder->steps_left();
    }
    const CommandSpan span(recorder, "load on " + name);
    const Activity activity("loading on", name);
    const Clock::time_point start = Clock::now();
    auto executable = platform->Load(module_, options);
    const Clock::duration took = Clock::now() - start;
    timing.compile_ms = std::chrono::duration<double, std::milli>(took).count();
    if (LoadsApart(name)) {
      deadline_ += took;
      source_->set_bounds(deadline_, stop_);
    }
    if (executable.has_value()) {
      timing.compile_ms = (*executable)->load_ms().value_or(timing.compile_ms);
      for (replay::TraceSlice& slice : (*executable)->TakeLoadSlices()) {
        replay::RunEvent event = std::move(slice);
        if (recorder != nullptr) recorder->Take(*ProgramOf(side), event);
      }
    }
    return executable;
  }

  std::optional<uint32_t>& ProgramOf(Side side) {
    return side == Side::kTest ? test_program_ : reference_program_;
  }
  // Of what is recorded; nullopt for all other runs.
  std::optional<uint32_t> ProgramOf(const replay::Executable& executable) const {
    if (&executable == test_.get()) return test_program_;
    if (&executable == reference_.get()) return reference_program_;
    return std::nullopt;
  }

  Side SideOf(const replay::Executable& executable) const {
    return &executable == reference_.get() ? Side::kReference : Side::kTest;
  }

  Fallback HowToFallBack() const {
    if (spec_.execution.host_fallback) return Fallback::kHost;
    if (spec_.execution.late_callbacks) return Fallback::kCallbacks;
    return spec_.execution.names_refused ? Fallback::kError : Fallback::kNone;
  }

  Result<std::unique_ptr<replay::Platform>> MakePlatform(std::string_view name) const {
    return replay::MakePlatform(name, spec_.execution.workers);
  }

  replay::RunOptions OptionsFor(Side side, int64_t iteration) {
    replay::RunOptions options =
        side == Side::kReference ? ReferenceOptions(spec_) : TestOptions(spec_);
    if (spec_.repeats.different_random_seeds)
      options.rng_seed = static_cast<uint64_t>(iteration) + 1;
    options.budget.deadline = deadline_;
    options.budget.stop = stop_;
    options.record = sinks_.record;
    options.feeds = {[this](const Shape& shape) { return feeds_.Take(shape); },
                     [this](const Literal& array) { return feeds_.Give(array); }};
    return options;
  }

  // The leaves of one run on the present inputs.
  Result<Leaves> RunOn(replay::Executable& executable, int64_t iteration, RunTiming& timing) {
    const size_t known = report_.warnings.size();
    ResultCollector collector(report_, sinks_.on_progress);
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run,
                              RunRecorded(collector, executable, iteration));
    // One platform on both sides says whose words they are.
    const bool ambiguous = spec_.test.name == spec_.reference.name;
    for (size_t i = known; i < report_.warnings.size() && ambiguous; ++i) {
      if (&executable == reference_.get()) report_.warnings[i].insert(0, "reference: ");
    }
    timing.run_us.push_back(run.run_us);
    timing.peak_bytes = std::max(timing.peak_bytes, run.peak_bytes);
    HLOSCOPE_ASSIGN_OR_RETURN(
        Leaves results, collector.Gather(*placement_, results_, expected_ ? &*expected_ : nullptr,
                                         ShapesOf(executable)));
    if (sinks_.recorder != nullptr && sinks_.measure_recording && ProgramOf(executable)) {
      HLOSCOPE_TRY(RunUnrecorded(executable, iteration, results, timing));
    }
    return results;
  }

  // Those of results, where they are not the module's.
  std::span<const Shape> ShapesOf(const replay::Executable& executable) const {
    if (&executable != precise_executable_.get()) return {};
    return precise_shapes_;
  }

  Result<replay::RunResult> RunRecorded(ResultCollector& collector, replay::Executable& executable,
                                        int64_t iteration) {
    replay::RunOptions options = OptionsFor(SideOf(executable), iteration);
    const std::optional<uint32_t> program = ProgramOf(executable);
    if (sinks_.recorder == nullptr || !program) return RunInto(collector, executable, options);
    options.record.steps = sinks_.recorder->steps_left();
    sinks_.recorder->BeginRun(*program);
    RecordingStream stream(*sinks_.recorder, *program, collector);
    const CommandSpan span(sinks_.recorder, "run");
    return RunInto(stream, executable, options);
  }

  // The same again, for what recording costs.
  Status RunUnrecorded(replay::Executable& executable, int64_t iteration, const Leaves& recorded,
                       RunTiming& timing) {
    RunReport untold;
    ResultCollector collector(untold, sinks_.on_progress);
    HLOSCOPE_ASSIGN_OR_RETURN(
        const replay::RunResult run,
        RunInto(collector, executable, OptionsFor(SideOf(executable), iteration)));
    timing.unrecorded_us.push_back(run.run_us);
    HLOSCOPE_ASSIGN_OR_RETURN(
        const Leaves again,
        collector.Gather(*placement_, results_, expected_ ? &*expected_ : nullptr));
    report_.recording_changed_bits |= !std::ranges::equal(again, recorded, SameLeaf);
    return {};
  }

  static bool SameLeaf(const Result<Literal>& a, const Result<Literal>& b) {
    if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
    return std::ranges::equal(a->bytes(), b->bytes());
  }

  Result<replay::RunResult> RunInto(replay::RunStream& stream, replay::Executable& executable,
                                    const replay::RunOptions& options) {
    feeds_.Rewind();
    const Activity activity("running", module_->name());
    return executable.Run(source_->inputs().lists, options, stream);
  }

  // What the first run took and gave.
  Status ReportFeeds() {
    if (feeds_.generated() > 0) {
      report_.warnings.push_back(
          fmt::format("infeed: {} generated from seed {}; --infeed supplies {}",
                      Counted(feeds_.generated(), "array was", "arrays were"), spec_.inputs.seed,
                      VerbFor(feeds_.generated(), "it", "them")));
    }
    for (const std::string& line : feeds_.Unused()) report_.WarnOfUnusedArray(line);
    if (!sinks_.files.outfeed.empty()) {
      return dump::WriteTensors(sinks_.files.outfeed, dump::TensorNames::kOutputs, feeds_.given());
    }
    if (!feeds_.given().empty()) {
      report_.warnings.push_back(
          fmt::format("outfeed: {} dropped; --outfeed writes {}",
                      Counted(feeds_.given().size(), "array was", "arrays were"),
                      VerbFor(feeds_.given().size(), "it", "them")));
    }
    return {};
  }

  Status PrepareInputs(int64_t iteration) {
    const CommandSpan span(sinks_.recorder, "inputs");
    return source_->Prepare(iteration);
  }

  Status RunIteration(int64_t iteration) {
    HLOSCOPE_TRY(PrepareInputs(iteration));
    if (spec_.compare.isolate && iteration == 0) HLOSCOPE_TRY(IsolateInstructions());
    HLOSCOPE_ASSIGN_OR_RETURN(Leaves results, RunOn(*test_, iteration, report_.timing));
    if (iteration == 0) HLOSCOPE_TRY(ReportFeeds());
    if (spec_.repeats.runs > 1) HLOSCOPE_TRY(Repeat(iteration, results));
    if (spec_.compare.precise) HLOSCOPE_TRY(RunPrecisely(iteration));
    RecordLiterals(results);
    std::vector<RunOutput> outputs = judge_->OutputsOf(std::move(results), iteration);
    Status compared = CompareIteration(iteration, outputs);
    if (compared.has_value() && !judge_->differing().empty()) Hint(iteration, outputs);
    if (compared.has_value() && iteration == 0) compared = GrowIsolated(outputs);
    isolation_.reset();
    judge_->Keep(std::move(outputs));
    HLOSCOPE_TRY(compared);
    if (spec_.compare.find && iteration == 0) HLOSCOPE_TRY(FindNonFiniteOrigin());
    return {};
  }

  // With everything that there is to compare with.
  Status CompareIteration(int64_t iteration, std::vector<RunOutput>& outputs) {
    if (spec_.compare.precise) judge_->AddPreciseSides(outputs, spec_.test.name);
    if (reference_ != nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(const Leaves reference,
                                RunOn(*reference_, iteration, *report_.reference_timing));
      RecordReference(reference);
      const CommandSpan span(sinks_.recorder, "compare");
      judge_->CompareWith(reference, outputs);
      if (spec_.compare.precise) judge_->AddPreciseSides(outputs, spec_.reference.name, reference);
    }
    const bool expected = iteration == 0 || !report_.generated_inputs;
    if (expected_ && expected) HLOSCOPE_TRY(judge_->CompareWithFiles(*expected_, outputs));
    if (expected_ && !expected && iteration == 1) {
      report_.warnings.emplace_back(
          "only the first iteration is compared with the expected values: the others have other "
          "inputs");
    }
    if (!expected_ && reference_ == nullptr && source_->recorded()) {
      judge_->CompareWithRecorded(*source_->recorded(), outputs);
    }
    return {};
  }

  // Names what explains the differences, once.
  void Hint(int64_t iteration, const std::vector<RunOutput>& outputs) {
    if (std::exchange(hinted_, true)) return;
    std::optional<std::string> precision = PrecisionHint(*module_, spec_);
    if (precision) report_.warnings.push_back(*std::move(precision));
    HintAtUpdateOrder(outputs);
    if (spec_.inputs.flush_denormals) return;
    Leaves results;
    for (const RunOutput& output : outputs) {
      output.missing ? results.emplace_back(std::unexpected(*output.missing))
                     : results.emplace_back(output.value);
    }
    const auto flushed = source_->FlushedLists();
    if (flushed && replay::HasRank(spec_.execution.environment)) return;
    const Result<Leaves> again = flushed ? RunApart(iteration, *flushed) : std::move(results);
    if (again && judge_->AgreeFlushed(*again)) report_.warnings.emplace_back(kDenormalsHint);
  }

  void HintAtUpdateOrder(const std::vector<RunOutput>& outputs) {
    if (placement_->lists() != 1 || source_->inputs().lists.empty()) return;
    std::vector<DifferingResult> results;
    for (const OutputJudge::Differing& one : judge_->differing()) {
      results.push_back({one.leaf, outputs[one.leaf].value, one.expected});
    }
    auto hint = UpdateOrderHint(module_, spec_, source_->inputs().lists[0], results);
    if (hint) report_.warnings.push_back(*std::move(hint));
  }

  // A run of the tested platform of which nothing is reported.
  Result<Leaves> RunApart(int64_t iteration, const std::vector<std::vector<Literal>>& lists) {
    RunReport apart;
    ResultCollector collector(apart, sinks_.on_progress);
    replay::RunOptions options = OptionsFor(Side::kTest, iteration);
    options.record = {};
    feeds_.Rewind();
    HLOSCOPE_TRY(test_->Run(lists, options, collector));
    return collector.Gather(*placement_, results_, expected_ ? &*expected_ : nullptr);
  }

  // The kernels of the program as it was compiled, against the reference.
  Status IsolateCompiled() {
    const auto tell = [&](const InstructionReport& instruction) {
      if (sinks_.on_instruction) sinks_.on_instruction(instruction);
    };
    HLOSCOPE_ASSIGN_OR_RETURN(
        KernelsReport kernels,
        IsolateKernels(*test_, source_->inputs().lists, OptionsFor(Side::kTest, 0),
                       spec_.compare.bounds, spec_.compare.statistics, tell));
    report_.first_divergent = std::move(kernels.first_divergent);
    report_.warnings.push_back(
        fmt::format("isolated: {} of {} computed by kernels {} from the evaluator "
                    "on the same operands ({})",
                    kernels.differing, Counted(kernels.instructions, "instruction"),
                    VerbFor(kernels.differing, "differs", "differ"), Reference()));
    isolated_kernels_ = true;
    return {};
  }

  Status IsolateInstructions() {
    const replay::PlatformRow* const row = replay::FindPlatform(spec_.test.name);
    if (row != nullptr && row->Has(replay::kRunsDumps)) return IsolateCompiled();
    if (placement_->lists() > 1 || hlo::AreValuesOwn(*module_)) {
      return UnsupportedError(
          "--isolate_instructions supports one device, the module is for several",
          "extract a part");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(isolating_, MakePlatform(spec_.test.name));
    if (!spec_.reference.name.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(isolating_reference_, MakePlatform(spec_.reference.name));
    }
    IsolateRequest request;
    request.platform = isolating_.get();
    request.reference = isolating_reference_.get();
    request.options = OptionsFor(Side::kTest, 0);
    request.reference_options = OptionsFor(Side::kReference, 0);
    for (replay::RunOptions* options : {&request.options, &request.reference_options}) {
      options->feeds = {};  // what the module takes as a whole is not theirs
    }
    request.bounds = spec_.compare.bounds;
    request.statistics = spec_.compare.statistics;
    request.time_alone = sinks_.recorder != nullptr;
    request.on_progress = sinks_.on_progress;
    isolation_.emplace(*module_, std::move(request));
    return isolation_->Run(source_->inputs().arguments, [&](const InstructionReport& instruction) {
      if (sinks_.on_instruction) sinks_.on_instruction(instruction);
      if (test_program_ && instruction.alone_us) {
        sinks_.recorder->AddAlone(*test_program_, instruction.instruction, *instruction.alone_us);
      }
      if (instruction.differs() && !report_.first_divergent) report_.first_divergent = instruction;
      if (!instruction.error || !IsExecutionFailure(instruction.error->error_class)) return;
      (void)TolerateCrash(std::unexpected(*instruction.error), instruction.instruction);
    });
  }

  // Where the whole differs from the reference and no instruction does alone, it takes several.
  // Expected values that the reference does not give are no difference of instructions.
  Status GrowIsolated(const std::vector<RunOutput>& outputs) {
    const bool differs = std::ranges::any_of(outputs, [&](const RunOutput& output) {
      const LeafComparison* const leaf = WithReference(output, spec_.reference.name);
      return leaf != nullptr && !leaf->equal();
    });
    if (isolated_kernels_ && !report_.first_divergent && differs) {
      report_.warnings.push_back(
          "no kernel differs on its own: small differences of several add up, or it is in an "
          "instruction without a kernel");
    }
    if (!isolation_ || report_.first_divergent || !differs) return {};
    auto grown = isolation_->GrowPieces();
    if (!grown && stop_.stop_requested()) return std::unexpected(std::move(grown).error());
    if (!grown) {
      // All that was compared before holds.
      report_.warnings.push_back(
          "no instruction differs alone; not all were tried together with their producers: " +
          grown.error().message);
      return {};
    }
    report_.first_divergent = *std::move(grown);
    if (report_.first_divergent && sinks_.on_instruction) {
      sinks_.on_instruction(*report_.first_divergent);
    }
    if (!report_.first_divergent) {
      report_.warnings.push_back(
          "no instruction differs alone or together with its producers: the difference needs a "
          "larger part of the module");
    }
    return {};
  }

  // Leaves in double precision, of the same inputs.
  Status RunPrecisely(int64_t iteration) {
    if (eval::ComputesInDouble(*module_)) {
      if (iteration == 0) {
        report_.warnings.push_back(
            "the module computes in double precision already: no value is more precise, and no "
            "side is called nearer");
      }
      return {};
    }
    if (precise_executable_ == nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto interpreter, MakePlatform(Reference()));
      const std::shared_ptr<const hlo::Module> wide = eval::WidenModule(*module_);
      HLOSCOPE_ASSIGN_OR_RETURN(precise_executable_,
                                interpreter->Load(wide, OptionsFor(Side::kTest, 0)));
      const replay::Placement placement(*wide, spec_.limits);
      for (const replay::LeafPlacement& leaf : placement.results()) {
        precise_shapes_.push_back(leaf.shape);
      }
      if (eval::AsksForRounding(*module_)) {
        report_.warnings.push_back(
            "the precise value has none of the roundings that the module asks for (by "
            "conversions to narrower types, in them, by reduce-precision): a side that leaves them "
            "out is nearer to it");
      }
    }
    RunTiming untold;
    HLOSCOPE_ASSIGN_OR_RETURN(Leaves precise, RunOn(*precise_executable_, iteration, untold));
    judge_->set_precise(std::move(precise));
    return {};
  }

  // Where the first NaN or infinity is made: on this platform if it looks at its values, else on
  // the reference.
  Status FindNonFiniteOrigin() {
    const replay::PlatformRow* own = replay::FindPlatform(spec_.test.name);
    std::unique_ptr<replay::Executable> other;
    if (own == nullptr || !own->Has(replay::kSearches)) {
      RunTiming untold;
      HLOSCOPE_ASSIGN_OR_RETURN(other, Load(Reference(), Side::kTest, untold));
    }
    replay::Executable& searched = other == nullptr ? *test_ : *other;
    const auto run = [&](const replay::SearchRequest& search) { return Search(searched, search); };
    HLOSCOPE_ASSIGN_OR_RETURN(
        NonFiniteReport found,
        FindFirstNonFinite(*module_, source_->inputs().arguments, *spec_.compare.find, run));
    for (const NonFiniteArrival& arrival : found.arrivals) report_.warnings.push_back(arrival.text);
    report_.arrivals = std::move(found.arrivals);
    report_.first_nonfinite = std::move(found.first);
    if (!report_.first_nonfinite) report_.found_no_nonfinite = spec_.compare.find;
    return {};
  }

  // What else the run reports is known from the run itself.
  Result<SearchedRun> Search(replay::Executable& executable, const replay::SearchRequest& search) {
    replay::RunOptions options = OptionsFor(Side::kTest, 0);
    options.capture.search = search;
    RunReport untold;
    ResultCollector collector(untold, sinks_.on_progress);
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run, RunInto(collector, executable, options));
    if (!collector.finding()) return InternalError("a search reported nothing");
    SearchedRun searched{*collector.finding(), {}};
    if (run.ended_by_plan) return searched;
    HLOSCOPE_ASSIGN_OR_RETURN(searched.leaves, collector.Gather(*placement_, results_,
                                                                expected_ ? &*expected_ : nullptr));
    return searched;
  }

  Status Repeat(int64_t iteration, const Leaves& first) {
    if (!report_.repeat)
      report_.repeat = RepeatReport{spec_.repeats.runs, spec_.compare.same_bits, {}, 0, {}};
    int64_t made = 1;
    const Status status = RepeatRuns(iteration, first, made);
    report_.repeat->runs = std::min(report_.repeat->runs, made);
    return status;
  }

  // `made`: how many runs have results.
  Status RepeatRuns(int64_t iteration, const Leaves& first, int64_t& made) {
    for (int64_t run = 1; run < spec_.repeats.runs; ++run) {
      const Result<Leaves> again = RunOn(*test_, iteration, report_.timing);
      // Where times are compared both sides take turns, so that what the machine does meets both.
      if (sinks_.measure_recording && reference_ != nullptr) {
        HLOSCOPE_TRY(
            TolerateCrash(WithoutValue(RunOn(*reference_, iteration, *report_.reference_timing)),
                          fmt::format("run {} of the reference", run)));
      }
      if (!again.has_value()) {
        HLOSCOPE_TRY(TolerateCrash(std::unexpected(again.error()),
                                   fmt::format("run {} of iteration {}", run, iteration)));
      }
      if (!again.has_value()) continue;
      ++made;
      if (report_.repeat->differing_run) continue;
      std::optional<LeafComparison> difference = judge_->FirstDifference(*again, first);
      if (!difference) continue;
      report_.repeat->differing_run = run;
      report_.repeat->iteration = iteration;
      report_.repeat->difference = std::move(difference);
    }
    return {};
  }

  static Status WithoutValue(Result<Leaves> result) {
    if (!result.has_value()) return std::unexpected(std::move(result).error());
    return {};
  }

  void RecordLiterals(const Leaves& results) {
    if (sinks_.files.literals.empty()) return;
    written_.push_back(
        {source_->inputs().arguments, FromLeaves(ResultShape(), results), std::nullopt});
  }
  void RecordReference(const Leaves& reference) {
    if (!written_.empty()) written_.back().reference_result = FromLeaves(ResultShape(), reference);
  }
  const Shape& ResultShape() const { return module_->shape(module_->entry().root); }

  Status WriteOutputs() {
    if (!sinks_.files.literals.empty()) {
      HLOSCOPE_TRY(WriteLiteralsFile(sinks_.files.literals, written_));
    }
    if (sinks_.files.outputs.empty()) return {};
    std::vector<Literal> values;
    for (const RunOutput& output : report_.outputs) {
      values.push_back(output.missing ? Literal::Token() : output.value);
    }
    return dump::WriteTensors(sinks_.files.outputs, dump::TensorNames::kOutputs, values);
  }

  std::shared_ptr<const hlo::Module> module_;
  const RunSpec& spec_;
  const RunSinks& sinks_;
  RunReport& report_;
  std::stop_token stop_;
  static constexpr int64_t kMaxReportedCrashes = 20;

  Clock::time_point deadline_;  // of the whole replay
  int64_t crashes_ = 0;
  bool hinted_ = false;  // survived
  HostFeeds feeds_;
  std::unique_ptr<replay::Executable> test_, reference_;
  std::optional<uint32_t> test_program_, reference_program_;  // of the recorder
  std::unique_ptr<replay::Platform> isolating_, isolating_reference_;
  std::optional<Isolation> isolation_;  // of the first iteration
  bool isolated_kernels_ = false;       // instead
  std::unique_ptr<replay::Executable> precise_executable_;
  std::vector<Shape> precise_shapes_;  // of its results
  std::optional<replay::Placement> placement_;
  std::vector<replay::LeafPlacement> results_;  // with what the first gathering decided
  std::optional<dump::TensorFiles> expected_;
  std::optional<InputSource> source_;
  std::optional<OutputJudge> judge_;
  std::vector<hlo::IterationLiterals> written_;  // to be written
};

RunStatus StatusOf(const RunReport& report) {
  if (report.error) return debug::StatusOf(*report.error);
  if (report.first_divergent) return RunStatus::kDiffers;
  if (report.repeat && report.repeat->differing_run) return RunStatus::kDiffers;
  bool compared = report.repeat && report.repeat->runs > 1;
  for (const RunOutput& output : report.outputs) {
    if (output.compared && !output.comparison.equal()) return RunStatus::kDiffers;
    compared |= output.compared;
  }
  return compared ? RunStatus::kEqual : RunStatus::kRan;
}

}  // namespace

RunStatus StatusOf(const Error& error) {
  if (IsExecutionFailure(error.error_class)) return RunStatus::kDied;
  return error.error_class == ErrorClass::kUnsupported ? RunStatus::kUnsupported
                                                       : RunStatus::kError;
}

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

std::string StatusText(const RunReport& report) {
  std::string text(ToString(report.status));
  if (report.status != RunStatus::kDied || !report.error) return text;
  return fmt::format("{} ({})", text, ErrorKindText(report.error->error_class));
}

RunReport RunModule(std::shared_ptr<const hlo::Module> module, const RunSpec& spec,
                    const RunSinks& sinks, std::stop_token stop) {
  RunReport report;
  report.module = module->name();
  report.platform = spec.test.name;
  report.reference = spec.reference.name;
  report.seed = spec.inputs.seed;
  report.warnings = spec.notes;
  if (auto hint = MadeUpConstantsHint(*module, spec)) report.warnings.push_back(*std::move(hint));
  report.xla_flags = spec.test.xla_flags;
  Status status = RunDriver(std::move(module), spec, sinks, report, std::move(stop)).Run();
  if (!status.has_value()) report.error = std::move(status).error();
  report.status = StatusOf(report);
  return report;
}

RunReport RunModule(std::shared_ptr<const hlo::Module> module, const RunSpec& spec,
                    std::stop_token stop) {
  return RunModule(std::move(module), spec, RunSinks(), std::move(stop));
}

struct CaptureSession::State {
  State(std::shared_ptr<const hlo::Module> module, const RunSpec& asked, std::stop_token stop)
      : spec(asked), replay(std::move(module), spec, sinks, report, std::move(stop)) {}
  RunSpec spec;
  RunSinks sinks;
  RunReport report;
  RunDriver replay;
};

CaptureSession::CaptureSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureSession::CaptureSession(CaptureSession&&) noexcept = default;
CaptureSession::~CaptureSession() = default;

Result<CaptureSession> CaptureSession::Open(std::shared_ptr<const hlo::Module> module,
                                            const RunSpec& spec, const replay::CapturePlan& plan,
                                            std::stop_token stop) {
  auto state = std::make_unique<State>(std::move(module), spec, std::move(stop));
  HLOSCOPE_TRY(state->replay.OpenCapture(plan));
  return CaptureSession(std::move(state));
}

Result<replay::RunResult> CaptureSession::Run(const replay::CapturePlan& plan,
                                              replay::RunStream& stream) {
  return state_->replay.RunWith(plan, stream);
}

const std::vector<std::vector<Literal>>& CaptureSession::inputs() const {
  return state_->replay.inputs().lists;
}

double CaptureSession::load_ms() const { return state_->report.timing.compile_ms; }

Result<replay::RunResult> RunCapturing(std::shared_ptr<const hlo::Module> module,
                                       const RunSpec& spec, const replay::CapturePlan& plan,
                                       replay::RunStream& stream, std::stop_token stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(CaptureSession session,
                            CaptureSession::Open(std::move(module), spec, plan, std::move(stop)));
  return session.Run(plan, stream);
}

}  // namespace hloscope::debug
