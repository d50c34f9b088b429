// Experiment: a thread that runs one job after the other, and a box in which it leaves its news.
#include "viewer/model/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <utility>

#include "core/debug/pieces/pieces.h"
#include "core/debug/run/extract.h"
#include "core/replay/workers/worker_evidence.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

using debug::InstructionReport;
using debug::LeafComparison;
using hlo::InstructionId;

std::string NoteOf(const InstructionReport& report) {
  if (report.error) return report.error->ToString();
  if (report.together_with.empty()) return report.compared ? "" : "no reference";
  std::string note = "checked together with";
  for (const std::string& name : report.together_with) note += " " + name;
  return note;
}

Verdict VerdictOfReport(const InstructionReport& report) {
  if (report.error) return Verdict::kFailed;
  if (!report.compared) return Verdict::kNotCompared;
  Verdict worst = Verdict::kSameBits;
  for (const LeafComparison& leaf : report.outputs) worst = std::max(worst, VerdictOf(leaf));
  return worst;
}

Finding FindingOf(const InstructionReport& report, InstructionId instruction) {
  Finding finding;
  finding.instruction = instruction;
  for (const LeafComparison& leaf : report.outputs) {
    finding.elements += leaf.elements;
    finding.mismatched += leaf.mismatched;
    finding.max_abs_error = std::max(finding.max_abs_error, leaf.max_abs_error);
    finding.max_rel_error = std::max(finding.max_rel_error, leaf.max_rel_error);
    finding.max_ulp = std::max(finding.max_ulp, leaf.max_ulp);
  }
  finding.verdict = VerdictOfReport(report);
  finding.note = NoteOf(report);
  return finding;
}

// Instructions of the entry that are run by themselves.
int64_t CountRun(const hlo::Module& module) {
  int64_t count = 0;
  for (const hlo::Instruction& instruction : module.instructions(module.entry())) {
    const hlo::Opcode opcode = instruction.opcode;
    count += opcode != hlo::Opcode::kParameter && opcode != hlo::Opcode::kConstant &&
             !debug::ForwardsOperand(opcode) && !debug::RunsWithItsDone(opcode);
  }
  return count;
}

std::unordered_map<std::string_view, InstructionId> NamesOfEntry(const hlo::Module& module) {
  std::unordered_map<std::string_view, InstructionId> names;
  const hlo::Computation& entry = module.entry();
  for (uint32_t i = 0; i < entry.instruction_count; ++i) {
    const InstructionId id(entry.first_instruction + i);
    names.emplace(module.name(id), id);
  }
  return names;
}

// Array leaves in order; those of other kinds are left out.
void Flatten(const hlo::Literal& literal, std::vector<hlo::Literal>& leaves) {
  std::vector<const hlo::Literal*> pending = {&literal};
  while (!pending.empty()) {
    const hlo::Literal& next = *pending.back();
    pending.pop_back();
    if (next.shape().IsArray()) leaves.push_back(next);
    for (size_t i = next.elements().size(); i-- > 0;) pending.push_back(&next.elements()[i]);
  }
}

// The instruction as isolating it runs it: constants, and what is made of nothing else, come along.
Result<debug::ExtractedModule> CutOut(const hlo::Module& module, InstructionId instruction) {
  HLOSCOPE_ASSIGN_OR_RETURN(debug::ExtractedModule extracted,
                            debug::ExtractModule(module, instruction, 0));
  const hlo::Opcode opcode = module[instruction].opcode;
  if (debug::ForwardsOperand(opcode) || opcode == hlo::Opcode::kConstant) return extracted;
  debug::JoinedPieces joined =
      debug::JoinPieces(module, std::array{debug::CutPiece(module, instruction, 0)});
  return debug::ExtractedModule{std::move(joined.module), std::move(joined.parameters), 1};
}

// The leaves of the reference and, from the same operands, what `platform` makes of them.
void CaptureBoth(const std::shared_ptr<const hlo::Module>& module, const std::string& platform,
                 const debug::RunSpec& request, const std::stop_token& stop, CapturedPair& pair) {
  const auto cut = CutOut(*module, pair.instruction);
  if (!cut) {
    pair.note = cut.error().ToString();
    return;
  }
  const auto values =
      debug::CaptureValues(*module, pair.instruction, cut->parameters, 0,
                           [&](const replay::CapturePlan& plan, replay::RunStream& stream) {
                             return debug::RunCapturing(module, request, plan, stream, stop);
                           });
  if (!values) {
    pair.note = values.error().ToString();
    return;
  }
  if (values->value) Flatten(*values->value, pair.reference_leaves);
  if (platform == replay::ReferencePlatform().name) return;
  const debug::RunSpec alone = debug::DerivedSpec(request, debug::TestOn(request, platform),
                                                  request.inputs.With(values->arguments));
  const debug::RunReport report = debug::RunModule(cut->module, alone, stop);
  for (const debug::RunOutput& output : report.outputs) {
    if (!output.missing && output.value.shape().IsArray()) {
      pair.actual_leaves.push_back(output.value);
    }
  }
  if (report.error) pair.note = report.error->ToString();
  pair.bounds = request.compare.bounds;
  const size_t both = std::min(pair.reference_leaves.size(), pair.actual_leaves.size());
  for (size_t i = 0; i < both; ++i) {
    pair.counts.push_back(
        CountElements(pair.actual_leaves[i], pair.reference_leaves[i], request.compare.bounds));
  }
}

RunValues ValuesBefore(const std::shared_ptr<const hlo::Module>& module,
                       const ExperimentRequest& request) {
  RunValues values;
  values.module = module;
  values.place = request.place;
  values.module_index = request.module_index;
  values.stage = request.stage;
  values.platform = request.test.name;
  values.reference = request.compare.isolate ? request.reference.name : "";
  values.inputs = InputsText(request);
  return values;
}

std::vector<int64_t> NansOf(const debug::RunReport& report) {
  std::vector<int64_t> nans;
  for (const debug::RunOutput& output : report.outputs) {
    int64_t count = 0;
    if (!output.missing) {
      for (const replay::ValueStatistics& leaf : DescribeLeaves(output.value)) count += leaf.nans;
    }
    nans.push_back(count);
  }
  return nans;
}

void AddArguments(std::span<const hlo::Literal> arguments, RunValues& values) {
  const auto parameters = values.module->Parameters(values.module->entry_id());
  for (size_t i = 0; i < std::min(arguments.size(), parameters.size()); ++i) {
    if (!parameters[i].valid()) continue;
    CapturedValues held;
    held.platform = DescribeLeaves(arguments[i]);
    if (!values.reference.empty()) held.reference = held.platform;
    values.of[parameters[i].index] = std::move(held);
  }
}

// What was not seen so far, as the reference evaluator has it on the same inputs.
void AddInner(const std::shared_ptr<const hlo::Module>& module, const debug::RunSpec& run,
              const std::stop_token& stop, RunValues& values) {
  constexpr double kMaxSeconds = 30;
  debug::RunSpec inner =
      debug::DerivedSpec(run, debug::TestOn(run, replay::ReferencePlatform().name), run.inputs);
  inner.budget.seconds = std::min(run.budget.seconds.value_or(kMaxSeconds), kMaxSeconds);
  replay::CapturePlan plan;
  plan.results = replay::CaptureForm::kNone;
  plan.items = {{replay::CaptureScope::kAll, replay::CaptureForm::kStatistics, {}}};
  CapturedValuesCollector collector;
  const auto ran = debug::RunCapturing(module, inner, plan, collector, stop);
  if (!ran) values.note = "values are missing: " + ran.error().ToString();
  if (collector.is_full) {
    values.note = fmt::format("only the first {} have values",
                              CountedText(static_cast<int64_t>(kMaxCapturedValues), "instruction"));
  }
  for (auto& [index, held] : collector.values) values.of.try_emplace(index, std::move(held));
}

}  // namespace

std::string InputsText(const debug::RunSpec& request) {
  if (request.inputs.files.empty()) return fmt::format("seed {}", request.inputs.seed);
  const std::filesystem::path path(request.inputs.files.front());
  const std::string name = path.filename().string();
  return "inputs from " + (name.empty() ? path.parent_path().filename().string() : name);
}

// Each is some megabytes.
constexpr size_t kMaxCompilations = 10;

Experiment::Experiment(std::function<void()> wake, std::string worker_program,
                       std::string state_folder)
    : wake_(std::move(wake)),
      program_(std::move(worker_program)),
      profiles_(std::make_shared<RunProfiles>(state_folder)),
      compilations_(std::make_shared<RetainedFiles>(std::move(state_folder), "compiled", ".dump",
                                                    RetainedKind::kFolder, kMaxCompilations)) {
  replay::WorkerPoolOptions options;
  options.program = program_;
  options.evidence_folder = replay::EvidenceFolder();
  workers_ = std::make_shared<replay::WorkerPool>(std::move(options));
}

Experiment::~Experiment() { Cancel(); }

std::shared_ptr<replay::WorkerPool> Experiment::MakeWorkers(int most) const {
  replay::WorkerPoolOptions options;
  options.program = program_;
  options.most_workers = most;
  return std::make_shared<replay::WorkerPool>(std::move(options));
}

debug::RunSpec Experiment::MakeRequest() const {
  debug::RunSpec run = request_;
  run.compare.isolate = run.compare.isolate && !run.reference.name.empty();
  run.execution.workers = workers_;
  return run;
}

void Experiment::Begin(std::string doing, Job job) {
  Retire();
  moved_.clear();
  doing_ = std::move(doing);
  progress_.reset();
  news_ = std::make_shared<News>();
  running_ = true;
  started_ = std::chrono::steady_clock::now();
  now_.news = news_;
  now_.thread =
      std::jthread([news = news_, job = std::move(job), wake = wake_](const std::stop_token& stop) {
        try {
          job(*news, stop);
        } catch (const std::exception& error) {
          debug::RunReport report;
          report.status = debug::RunStatus::kError;
          report.error = Error{ErrorClass::kEnvironment, error.what(), {}, {}};
          const std::lock_guard lock(news->mutex);
          news->report = std::move(report);
        }
        {
          const std::lock_guard lock(news->mutex);
          news->finished = true;
        }
        if (wake) wake();
      });
}

void Experiment::Retire() {
  Cancel();
  std::erase_if(retired_, [](const Running& run) {
    const std::unique_lock lock(run.news->mutex, std::try_to_lock);
    return lock.owns_lock() && run.news->finished;
  });
  if (now_.thread.joinable()) retired_.push_back(std::exchange(now_, {}));
}

void Experiment::Start(std::shared_ptr<const hlo::Module> module,
                       const ExperimentRequest& request) {
  Clear();
  request_ = request;
  module_ = std::move(module);
  const debug::RunSpec run = MakeRequest();
  expected_ = run.compare.isolate ? CountRun(*module_) : 0;
  Begin("running on " + request.test.name,
        [module = module_, run, asked = std::make_shared<ExperimentRequest>(request), wake = wake_,
         profiles = profiles_](News& news, const std::stop_token& stop) {
          const auto names = NamesOfEntry(*module);
          debug::RunSinks sinks;
          std::optional<debug::RunRecorder> recorder;
          if (asked->record) sinks.recorder = &recorder.emplace();
          RunValues values = ValuesBefore(module, *asked);
          sinks.on_instruction = [&](const InstructionReport& report) {
            const auto known = names.find(report.instruction);
            if (known == names.end()) return;
            if (!report.actual_statistics.empty() && values.of.size() < kMaxCapturedValues) {
              values.of[known->second.index] = ToCapturedValues(report, !values.reference.empty());
            }
            {
              const std::lock_guard lock(news.mutex);
              news.findings.push_back(FindingOf(report, known->second));
            }
            if (wake) wake();
          };
          sinks.on_progress = [&](const replay::RunProgress& progress) {
            const std::lock_guard lock(news.mutex);
            news.progress = progress;
            if (wake) wake();
          };
          debug::RunReport report = debug::RunModule(module, run, sinks, stop);
          AddArguments(report.arguments, values);
          const bool has_ended = report.status == debug::RunStatus::kDied || stop.stop_requested();
          {
            std::vector<int64_t> nans = NansOf(report);
            const std::lock_guard lock(news.mutex);
            news.output_nans = std::move(nans);
            news.report = std::move(report);
          }
          if (wake) wake();
          if (recorder && !stop.stop_requested()) {
            Result<RunProfile> profile =
                profiles->Write(*recorder, module->name(), asked->test.name);
            const std::lock_guard lock(news.mutex);
            news.profile = std::move(profile);
          }
          if (wake) wake();
          // The verdict is there by now; what is inside calls, loops and fusions follows.
          if (!has_ended) AddInner(module, run, stop, values);
          const std::lock_guard lock(news.mutex);
          news.values = std::move(values);
        });
}

void Experiment::Capture(InstructionId instruction) {
  if (running_ || module_ == nullptr) return;
  const debug::RunSpec run = MakeRequest();
  const std::string platform = run.test.name;
  const debug::RunSpec request =
      debug::DerivedSpec(run, debug::TestOn(run, replay::ReferencePlatform().name), run.inputs);
  captured_.reset();
  Begin(
      "computing the values of " + std::string(module_->name(instruction)),
      [module = module_, request, platform, instruction](News& news, const std::stop_token& stop) {
        const auto begin = std::chrono::steady_clock::now();
        CapturedPair pair;
        pair.instruction = instruction;
        CaptureBoth(module, platform, request, stop, pair);
        pair.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const std::lock_guard lock(news.mutex);
        news.captured = std::move(pair);
      });
}

void Experiment::Cancel() {
  if (now_.thread.joinable()) now_.thread.request_stop();
}

void Experiment::Reset() {
  Clear();
  values_.clear();
}

void Experiment::Clear() {
  Retire();
  running_ = false;
  news_.reset();
  module_.reset();
  findings_.clear();
  by_instruction_.clear();
  expected_ = lost_ = 0;
  report_.reset();
  output_nans_.clear();
  captured_.reset();
  profile_.reset();
}

bool Experiment::Update() {
  if (news_ == nullptr) return false;
  std::vector<Finding> findings;
  std::optional<RunValues> values;
  bool finished = false;
  {
    const std::lock_guard lock(news_->mutex);
    findings.swap(news_->findings);
    if (news_->report) {
      report_ = std::exchange(news_->report, std::nullopt);
      output_nans_ = std::exchange(news_->output_nans, {});
    }
    if (news_->progress) progress_ = std::exchange(news_->progress, std::nullopt);
    if (news_->captured) {
      captured_ = std::exchange(news_->captured, std::nullopt);
      MoveCaptured(moved_);
    }
    if (news_->profile) profile_ = std::exchange(news_->profile, std::nullopt);
    values = std::exchange(news_->values, std::nullopt);
    finished = news_->finished;
  }
  if (values) {
    MoveValues({{request_.module_index, request_.stage}, module_, moved_}, *values);
    Keep(*std::move(values));
  }
  for (Finding& finding : findings) Add(std::move(finding), moved_);
  if (finished) {
    running_ = false;
    ended_ = std::chrono::steady_clock::now();
    news_.reset();
  }
  return finished || !findings.empty();
}

void Experiment::Add(Finding finding, const MovedIds& moved) {
  finding.instruction = Moved(moved, finding.instruction);
  if (!finding.instruction.valid()) {
    ++lost_;
    return;
  }
  const auto [slot, fresh] =
      by_instruction_.try_emplace(finding.instruction.index, findings_.size());
  if (fresh) {
    findings_.push_back(std::move(finding));
  } else {
    findings_[slot->second] = std::move(finding);  // as part of a larger piece
  }
}

void Experiment::MoveCaptured(const MovedIds& moved) {
  if (!captured_) return;
  captured_->instruction = Moved(moved, captured_->instruction);
  if (captured_->instruction.valid()) return;
  captured_.reset();
  ++lost_;
}

void Experiment::MoveValues(const StageAgain& again, RunValues& values) {
  values.module_index = again.place.module;
  values.stage = again.place.stage;
  if (again.module == nullptr) return;
  values.module = again.module;
  if (again.moved.empty()) return;
  for (auto& [index, held] : std::exchange(values.of, {})) {
    const InstructionId id = Moved(again.moved, InstructionId(index));
    if (id.valid()) values.of.emplace(id.index, std::move(held));
  }
}

std::vector<Experiment::Stage> Experiment::stages() const {
  std::vector<Stage> stages;
  for (const RunValues& values : values_) stages.emplace_back(values.place, values.module);
  if (module_ != nullptr) stages.emplace_back(request_.place, module_);
  return stages;
}

void Experiment::Rebase(std::span<const StageAgain> again) {
  for (RunValues& values : values_) {
    MoveValues(again.front(), values);
    again = again.subspan(1);
  }
  if (module_ == nullptr) return;
  const StageAgain& now = again.front();
  request_.module_index = now.place.module;
  request_.stage = now.place.stage;
  if (now.module == nullptr) return;
  module_ = now.module;
  if (now.moved.empty()) return;
  by_instruction_.clear();
  for (Finding& finding : std::exchange(findings_, {})) Add(std::move(finding), now.moved);
  MoveCaptured(now.moved);
  // What runs still speaks of the instructions that it was given.
  if (moved_.empty()) {
    moved_ = now.moved;
  } else {
    for (InstructionId& id : moved_) id = Moved(now.moved, id);
  }
}

std::string Experiment::doing() const {
  if (!progress_) return doing_;
  return fmt::format("{} ({} of {} {})", doing_, CountText(progress_->done),
                     CountText(progress_->total), progress_->what);
}

double Experiment::seconds() const {
  const auto end = running_ ? std::chrono::steady_clock::now() : ended_;
  return std::max(0.0, std::chrono::duration<double>(end - started_).count());
}

const Finding* Experiment::Of(InstructionId instruction) const {
  const auto known = by_instruction_.find(instruction.index);
  return known == by_instruction_.end() ? nullptr : &findings_[known->second];
}

// The last runs of some stages: of those that stand side by side, and the ones before.
void Experiment::Keep(RunValues values) {
  constexpr size_t kMaxRuns = 4;
  std::erase_if(values_, [&](const RunValues& known) {
    return known.module_index == values.module_index && known.stage == values.stage;
  });
  if (values_.size() >= kMaxRuns) values_.erase(values_.begin());
  values.number = ++runs_;
  values_.push_back(std::move(values));
}

const RunValues* Experiment::ValuesOf(int32_t module_index, int32_t stage) const {
  const auto known = std::ranges::find_if(values_, [&](const RunValues& values) {
    return values.module_index == module_index && values.stage == stage;
  });
  return known == values_.end() ? nullptr : &*known;
}

}  // namespace hloscope::viewer
