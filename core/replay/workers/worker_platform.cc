// Platform and Executable over the worker protocol.
#include "core/replay/workers/worker_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/hlo/module_image.h"
#include "core/replay/workers/worker_evidence.h"

namespace hloscope::replay {
namespace {

using Clock = std::chrono::steady_clock;
using hlo::Literal;
using Inputs = std::vector<std::vector<Literal>>;

// Inputs larger than this are remembered, so that the next run need not send them again.
constexpr size_t kSmallInputs = size_t{32} << 10;

bool SameBytes(const Literal& a, const Literal& b) {
  return a.bytes().data() == b.bytes().data() && a.bytes().size() == b.bytes().size() &&
         a.shape() == b.shape() && std::ranges::equal(a.dynamic_sizes(), b.dynamic_sizes());
}

// The very same values: theirs bytes are kept, so that equal addresses mean equal bytes.
bool SameInputs(const Inputs& a, std::span<const std::vector<Literal>> b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return std::ranges::equal(x, y, SameBytes); });
}

size_t BytesOf(std::span<const std::vector<Literal>> inputs) {
  size_t bytes = 0;
  for (const auto& list : inputs) {
    for (const Literal& leaf : list) bytes += leaf.bytes().size();
  }
  return bytes;
}

std::unexpected<Error> MalformedMessage() {
  return InternalError("malformed answer from a worker");
}

class WorkerExecutable : public Executable {
 public:
  WorkerExecutable(std::shared_ptr<WorkerPool> pool, std::string platform,
                   std::shared_ptr<const hlo::Module> module, RunOptions options)
      : pool_(std::move(pool)),
        platform_(std::move(platform)),
        module_(std::move(module)),
        options_(std::move(options)) {}
  ~WorkerExecutable() override { Unload(); }
  WorkerExecutable(const WorkerExecutable&) = delete;
  WorkerExecutable& operator=(const WorkerExecutable&) = delete;

  Status Load() {
    WorkerPool::Lease lease = pool_->Take({platform_, options_.environment});
    seat_ = lease.seat;
    const Budget bounds = BoundsOf(options_, options_.limits);
    HLOSCOPE_ASSIGN_OR_RETURN(WorkerProcess* const worker, seat_->Worker(bounds.deadline));
    return LoadInto(*worker, bounds);
  }

  Result<RunResult> Run(std::span<const std::vector<Literal>> inputs, const RunOptions& options,
                        RunStream& stream) override {
    const std::lock_guard lock(seat_->mutex());
    const Budget bounds = BoundsOf(options, options_.limits);
    HLOSCOPE_ASSIGN_OR_RETURN(WorkerProcess* const worker, seat_->Worker(bounds.deadline));
    if (seat_->generation() != generation_) HLOSCOPE_TRY(LoadInto(*worker, bounds));
    return RunIn(*worker, bounds, inputs, options, stream);
  }

  std::optional<double> load_ms() const override { return load_ms_; }
  std::vector<TraceSlice> TakeLoadSlices() override { return std::exchange(load_slices_, {}); }

 private:
  Status LoadInto(WorkerProcess& worker, const Budget& bounds) {
    Unload();
    id_ = seat_->NextId();
    ValueWriter job(FrameKind::kLoad);
    job.Put(id_, platform_);
    PutOptions(job, options_);
    const std::string image = hlo::ModuleToImage(*module_);
    job.PutData(std::as_bytes(std::span(image)));
    std::optional<Error> failure;
    const auto take = [&](const Frame& frame) -> Result<bool> {
      ValueReader in(frame);
      switch (static_cast<FrameKind>(frame.kind)) {
        case FrameKind::kLoaded:
          load_ms_ = in.Get<double>();
          load_slices_ = in.Get<std::vector<TraceSlice>>();
          break;
        case FrameKind::kFailed:
          failure = in.GetError();
          if (in.Get<bool>()) worker.Retire();
          break;
        default:
          return MalformedMessage();
      }
      return in.ok() ? Result<bool>(true) : MalformedMessage();
    };
    HLOSCOPE_TRY(WithEvidence(worker, worker.Exchange(job.Finish(), bounds, take)));
    if (failure) return std::unexpected(*std::move(failure));
    generation_ = seat_->generation();
    return {};
  }

  Result<RunResult> RunIn(WorkerProcess& worker, const Budget& bounds,
                          std::span<const std::vector<Literal>> inputs, const RunOptions& options,
                          RunStream& stream) {
    ValueWriter job(FrameKind::kRun);
    job.Put(id_);
    PutOptions(job, options);
    job.Put(options.feeds.take_infeed != nullptr, options.feeds.give_outfeed != nullptr);
    PutInputs(job, inputs);
    sent_.clear();  // a worker that fails may not have taken them
    const size_t leaves = module_->shape(module_->entry().root).LeafCount();
    Answer answer{worker, options, stream, *module_, rewritten_, inputs.size(), leaves};
    HLOSCOPE_TRY(WithEvidence(
        worker, worker.Exchange(job.Finish(), bounds,
                                [&](const Frame& frame) { return answer.Take(frame); })));
    if (answer.failure) return std::unexpected(*std::move(answer.failure));
    if (BytesOf(inputs) > kSmallInputs) sent_ = {inputs.begin(), inputs.end()};
    return answer.result;
  }

  void PutInputs(ValueWriter& job, std::span<const std::vector<Literal>> inputs) {
    const bool known = !sent_.empty() && SameInputs(sent_, inputs);
    job.Put(!known);
    if (known) return;
    job.Put(uint64_t{inputs.size()});
    for (const auto& list : inputs) {
      job.Put(uint64_t{list.size()});
      for (const Literal& leaf : list) job.PutLiteral(leaf);
    }
  }

  // Modules that the worker rewrote, by its number.
  using RewrittenModules = std::map<uint64_t, std::shared_ptr<const hlo::Module>>;

  // What comes of one run.
  struct Answer {
    WorkerProcess& worker;
    const RunOptions& options;
    RunStream& stream;
    const hlo::Module& module;
    RewrittenModules& rewritten;
    size_t devices, leaves;  // that results may come of
    RunResult result = {};
    std::optional<Error> failure = {};

    Result<bool> Take(const Frame& frame) {
      ValueReader in(frame);
      const auto kind = static_cast<FrameKind>(frame.kind);
      HLOSCOPE_TRY(Use(kind, in));
      if (!in.ok()) return MalformedMessage();
      return kind == FrameKind::kRan || kind == FrameKind::kFailed;
    }

   private:
    Status Use(FrameKind kind, ValueReader& in) {
      switch (kind) {
        case FrameKind::kEvent:
          return TakeEvent(GetEvent(in));
        case FrameKind::kTake:
          return Feed(in.Get<hlo::Shape>(), in);
        case FrameKind::kGive:
          return Drain(in.GetLiteral(), in);
        case FrameKind::kRan:
          result.run_us = in.Get<double>();
          result.peak_bytes = in.Get<int64_t>();
          result.ended_by_plan = in.Get<bool>();
          result.executions = in.Get<int64_t>();
          return {};
        case FrameKind::kFailed:
          failure = in.GetError();
          if (in.Get<bool>()) worker.Retire();
          return {};
        default:
          return MalformedMessage();
      }
    }

    // Consumers keep values by the numbers in them.
    Status TakeEvent(std::optional<RunEvent> event) {
      if (!event) return MalformedMessage();
      if (auto* steps = std::get_if<TraceSteps>(&*event)) KeepModule(*steps);
      const bool sound = std::visit([this](const auto& told) { return IsSound(told); }, *event);
      if (!sound) return MalformedMessage();
      stream.Take(*std::move(event));
      return {};
    }
    bool IsSound(const LeafResult& told) const {
      return told.device >= 0 && told.leaf >= 0 && std::cmp_less(told.device, devices) &&
             std::cmp_less(told.leaf, leaves);
    }
    bool IsSound(const ValueKey& key) const {
      const size_t count = module.instructions().size();
      return key.device >= 0 && key.leaf >= 0 && key.instruction.index < count &&
             std::ranges::all_of(
                 key.path,
                 [count](const runtime::Frame& frame) { return frame.caller.index < count; });
    }
    // A rewritten module comes once.
    void KeepModule(TraceSteps& told) {
      if (told.module_number == 0) return told.module.reset();
      auto& kept = rewritten[told.module_number];
      if (told.module != nullptr) kept = told.module;
      told.module = kept;
    }
    bool IsSound(const TraceSteps& told) const {
      if (told.module_number != 0 && told.module == nullptr) return false;
      const size_t count = (told.module ? *told.module : module).instructions().size();
      const auto& [paths, steps, sums, live, lost, lost_ns] = told.steps;
      if (told.device < 0 || paths.empty()) return false;
      for (size_t p = 1; p < paths.size(); ++p) {
        if (paths[p].parent >= p || paths[p].caller.index >= count) return false;
      }
      return std::ranges::all_of(
                 steps,
                 [&](const runtime::RecordedStep& step) {
                   return step.path < paths.size() && step.duration_ns >= 0 &&
                          (!step.instruction.valid() || step.instruction.index < count);
                 }) &&
             std::ranges::all_of(told.whole_loops,
                                 [&](hlo::InstructionId loop) { return loop.index < count; }) &&
             std::ranges::all_of(sums,
                                 [&](const runtime::SummedSteps& sum) {
                                   return sum.step < steps.size() &&
                                          steps[sum.step].instruction.valid();
                                 }) &&
             std::ranges::all_of(told.launches, [&](const TracedLaunch& launch) {
               return launch.step < steps.size() && launch.kernel < told.kernels.size() &&
                      launch.bound < profiler::ModelBound::kCount;
             });
    }
    template <typename Event>
    bool IsSound(const Event& event) const {
      if constexpr (requires { event.key; }) {
        return IsSound(event.key);
      } else {
        return true;
      }
    }

    Status Feed(const hlo::Shape& shape, const ValueReader& in) {
      if (!in.ok() || options.feeds.take_infeed == nullptr) return MalformedMessage();
      const Result<Literal> value = options.feeds.take_infeed(shape);
      ValueWriter fed(FrameKind::kFed);
      fed.PutResult(value);
      return worker.Answer(fed.Finish());
    }

    Status Drain(const Literal& array, const ValueReader& in) {
      if (!in.ok() || options.feeds.give_outfeed == nullptr) return MalformedMessage();
      const Status status = options.feeds.give_outfeed(array);
      ValueWriter fed(FrameKind::kFed);
      fed.PutResult(status.has_value() ? Result<Literal>(Literal::Token())
                                       : std::unexpected(status.error()));
      return worker.Answer(fed.Finish());
    }
  };

  // A crash leaves the module behind and says where.
  Status WithEvidence(const WorkerProcess& worker, Status status) {
    if (status.has_value()) return status;
    generation_ = 0;
    sent_.clear();
    rewritten_.clear();
    if (!worker.crashed()) return status;
    const std::string path = KeepEvidence(*module_, pool_->options().evidence_folder);
    if (!path.empty()) status.error().hint = "the module was saved to " + path;
    return status;
  }

  void Unload() {
    if (seat_ != nullptr && generation_ != 0) seat_->Unload(generation_, id_);
    generation_ = 0;
    sent_.clear();
    rewritten_.clear();
  }

  std::shared_ptr<WorkerPool> pool_;
  std::string platform_;
  std::shared_ptr<const hlo::Module> module_;
  RunOptions options_;
  std::shared_ptr<WorkerPool::Seat> seat_;
  uint64_t generation_ = 0, id_ = 0;  // where it is loaded; 0: nowhere
  Inputs sent_;                       // what the worker has of the last run
  RewrittenModules rewritten_;
  std::optional<double> load_ms_;
  std::vector<TraceSlice> load_slices_;
};

class WorkerPlatform : public Platform {
 public:
  WorkerPlatform(std::string_view name, std::shared_ptr<WorkerPool> pool)
      : name_(name), pool_(std::move(pool)) {}
  std::string_view name() const override { return name_; }
  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    auto executable = std::make_unique<WorkerExecutable>(pool_, name_, std::move(module), options);
    HLOSCOPE_TRY(executable->Load());
    return executable;
  }

 private:
  std::string name_;
  std::shared_ptr<WorkerPool> pool_;
};

}  // namespace

Result<std::unique_ptr<Platform>> MakeWorkerPlatform(std::string_view name,
                                                     std::shared_ptr<WorkerPool> pool) {
  HLOSCOPE_TRY(CheckPlatform(name));
  return std::make_unique<WorkerPlatform>(name, std::move(pool));
}

}  // namespace hloscope::replay
