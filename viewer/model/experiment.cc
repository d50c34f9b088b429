// Experiment: a thread that runs one job after the other, and a box in which it leaves its news.
#include "viewer/model/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "core/replay/workers/worker_evidence.h"
#include "viewer/model/experiment_jobs.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

using debug::InstructionReport;
using hlo::InstructionId;

// Each is some megabytes.
constexpr size_t kMaxCompilations = 10;

}  // namespace

std::string InputsText(const debug::RunSpec& request) {
  if (request.inputs.files.empty()) return fmt::format("seed {}", request.inputs.seed);
  const std::filesystem::path path(request.inputs.files.front());
  const std::string name = path.filename().string();
  return "inputs from " + (name.empty() ? path.parent_path().filename().string() : name);
}

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
