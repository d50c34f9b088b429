// The loop of a worker: one job after another, everything that comes of it sent back.
#include "core/replay/workers/worker_server.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "core/hlo/module_image.h"
#include "core/replay/device_lost.h"
#include "core/replay/workers/isolated_task.h"
#include "core/replay/workers/process_sampler.h"
#include "core/replay/workers/worker_fault.h"
#include "core/runtime/buffer_pool.h"

namespace hloscope::replay {
namespace {

using Clock = std::chrono::steady_clock;
using hlo::Literal;
using Inputs = std::vector<std::vector<Literal>>;

// What the allocator may keep from one job to the next.
constexpr int64_t kKeptBytes = int64_t{64} << 20;
// Inputs that are moved to large pages have several of them.
constexpr int64_t kMinMoved = int64_t{4} << 20;

// The parent is gone once this is over: nobody is left to work for.
void EndWithParent() {
  std::thread([] {
    pollfd socket{kWorkerSocket, POLLRDHUP, 0};
    while (poll(&socket, 1, -1) <= 0) {
    }
    _exit(0);
  }).detach();
}

Status WaitForSocket(short events) {
  pollfd socket{kWorkerSocket, events, 0};
  if (events != 0) poll(&socket, 1, -1);
  return {};
}

// The connection, on which devices may speak at the same time.
class Channel {
 public:
  explicit Channel(int64_t most_bytes) : socket_(UniqueFd(kWorkerSocket), most_bytes) {}

  void Send(ValueWriter& frame) {
    const std::lock_guard lock(mutex_);
    SendLocked(frame);
  }
  // Sends, and waits for the parent's answer.
  Frame Ask(ValueWriter& frame) {
    const std::lock_guard lock(mutex_);
    SendLocked(frame);
    return Receive();
  }
  Frame Receive() {
    auto frame = socket_.Receive(WaitForSocket);
    if (!frame.has_value() || !frame->has_value()) _exit(0);  // it is gone, or talks nonsense
    return **std::move(frame);
  }

 private:
  void SendLocked(ValueWriter& frame) {
    const auto sent = socket_.Send(frame.Finish(), WaitForSocket);
    if (sent.has_value() && *sent) return;
    if (sent.has_value()) _exit(0);
    // What cannot be sent is said instead. The job cannot be ended from here, so the worker is.
    ValueWriter failed(FrameKind::kFailed);
    failed.PutError(sent.error());
    failed.Put(true);
    _exit(socket_.Send(failed.Finish(), WaitForSocket).has_value() ? 1 : 2);
  }

  std::mutex mutex_;
  FrameSocket socket_;
};

// The stage, for the parent to see and for faults to be committed at.
class StageNote {
 public:
  explicit StageNote(std::shared_ptr<void> page) : page_(std::move(page)) {}
  void Enter(WorkerStage stage) {
    const int64_t now = runtime::SteadyNanoseconds();
    if (records_) slices_.push_back(SliceUntil(now));
    stage_ = stage;
    entered_ = now;
    static_cast<WorkerPage*>(page_.get())->stage.store(static_cast<uint32_t>(stage));
    fault_.At(stage);
  }
  // From the stage at hand on; what came before is forgotten.
  void Record(bool records) {
    records_ = records;
    slices_.clear();
  }
  // What is recorded, with the stage at hand until now.
  std::vector<TraceSlice> TakeSlices() {
    if (records_) slices_.push_back(SliceUntil(runtime::SteadyNanoseconds()));
    records_ = false;
    return std::exchange(slices_, {});
  }

 private:
  TraceSlice SliceUntil(int64_t now) const {
    return {std::string(ToString(stage_)), "worker", entered_, now - entered_};
  }

  bool records_ = false;
  WorkerStage stage_ = WorkerStage::kStart;
  int64_t entered_ = 0;
  std::vector<TraceSlice> slices_;
  std::shared_ptr<void> page_;
  WorkerFault fault_ = WorkerFault::FromEnvironment();
};

// Sends what a run tells.
class SendingStream : public RunStream {
 public:
  SendingStream(Channel& channel, StageNote& stage) : channel_(channel), stage_(stage) {}

  void Take(RunEvent event) override {
    const bool is_result = std::holds_alternative<LeafResult>(event);
    if (is_result && !reading_back_) stage_.Enter(WorkerStage::kReadBack);
    reading_back_ |= is_result;
    ValueWriter frame(FrameKind::kEvent);
    PutEvent(frame, event);
    channel_.Send(frame);
  }

 private:
  Channel& channel_;
  StageNote& stage_;
  bool reading_back_ = false;
};

class Server {
 public:
  Server(int64_t most_bytes, std::shared_ptr<void> page, const WorkerServices& services)
      : channel_(most_bytes), stage_(std::move(page)), services_(services) {}

  [[noreturn]] void Serve() {
    stage_.Enter(WorkerStage::kStart);
    ValueWriter ready(FrameKind::kReady);
    ready.Put(ProtocolText());
    channel_.Send(ready);
    for (;;) {
      stage_.Enter(WorkerStage::kIdle);
      const Frame frame = channel_.Receive();
      const Status status = Guarded(frame);
      if (!status.has_value()) {
        ValueWriter failed(FrameKind::kFailed);
        failed.PutError(status.error());
        failed.Put(IsDeviceLost());
        channel_.Send(failed);
      }
    }
  }

 private:
  struct Loaded {
    std::shared_ptr<const hlo::Module> module;
    std::unique_ptr<Executable> executable;
    Inputs inputs;  // of the last run
    bool inputs_moved = false;
  };

  // Libraries below may throw; nothing of that leaves the process.
  Status Guarded(const Frame& frame) {
    try {
      return Do(frame);
    } catch (const std::bad_alloc&) {
      return std::unexpected(Error{ErrorClass::kResourceExhausted,
                                   "no memory",
                                   {},
                                   "give smaller inputs, or more --memory"});
    } catch (const std::exception& error) {
      return InternalError(error.what());
    }
  }

  Status Do(const Frame& frame) {
    ValueReader in(frame);
    switch (static_cast<FrameKind>(frame.kind)) {
      case FrameKind::kLoad:
        return Load(in, frame);
      case FrameKind::kRun:
        return Run(in);
      case FrameKind::kTask:
        return Task(in);
      case FrameKind::kUnload:
        loaded_.erase(in.Get<uint64_t>());
        return {};
      default:
        return InputError("unknown kind of message to a worker");
    }
  }

  Status Load(ValueReader& in, const Frame& frame) {
    stage_.Enter(WorkerStage::kLoad);
    const auto id = in.Get<uint64_t>();
    const auto name = in.Get<std::string>();
    const RunOptions options = GetOptions(in);
    if (!in.ok()) return InputError("malformed message to a worker");
    stage_.Record(options.record.steps > 0);
    std::unique_ptr<Platform>& platform = platforms_[name];
    if (platform == nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(platform, services_.make_platform(name));
    }
    stage_.Enter(WorkerStage::kVerify);
    Loaded loaded;
    HLOSCOPE_ASSIGN_OR_RETURN(loaded.module,
                              hlo::ModuleFromImage(frame.data.bytes, frame.data.owner));
    stage_.Enter(WorkerStage::kCompile);
    const Clock::time_point start = Clock::now();
    HLOSCOPE_ASSIGN_OR_RETURN(loaded.executable, platform->Load(loaded.module, options));
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    loaded_[id] = std::move(loaded);
    ValueWriter done(FrameKind::kLoaded);
    done.Put(time.count(), stage_.TakeSlices());
    channel_.Send(done);
    return {};
  }

  Status Run(ValueReader& in) {
    const auto id = in.Get<uint64_t>();
    RunOptions options = GetOptions(in);
    const auto takes = in.Get<bool>(), gives = in.Get<bool>();
    const auto found = loaded_.find(id);
    if (found == loaded_.end())
      return InputError("a worker was asked to run a module it has not loaded");
    Loaded& loaded = found->second;
    const bool are_new = in.Get<bool>();
    if (are_new) loaded.inputs = ReadInputs(in);
    if (!in.ok()) return InputError("malformed message to a worker");
    if (!are_new && !loaded.inputs_moved) MoveToLargePages(loaded.inputs);
    loaded.inputs_moved = !are_new;
    SetFeeds(options, takes, gives);
    stage_.Enter(WorkerStage::kRun);
    SendingStream stream(channel_, stage_);
    const auto result = RunRecorded(*loaded.executable, loaded.inputs, options, stream);
    if (!result.has_value() || result->peak_bytes > kKeptBytes) malloc_trim(0);
    if (!result.has_value()) return std::unexpected(result.error());
    ValueWriter done(FrameKind::kRan);
    done.Put(result->run_us, result->peak_bytes, result->ended_by_plan, result->executions);
    channel_.Send(done);
    return {};
  }

  // Where it is to be recorded, stages and what the process takes are told too, behind all else.
  Result<RunResult> RunRecorded(Executable& executable, const Inputs& inputs,
                                const RunOptions& options, RunStream& stream) {
    if (options.record.steps <= 0) return executable.Run(inputs, options, stream);
    stage_.Record(true);
    ProcessSampler sampler;
    auto result = executable.Run(inputs, options, stream);
    for (TraceSlice& slice : stage_.TakeSlices()) stream.Take(std::move(slice));
    for (TraceSamples& samples : sampler.Stop()) stream.Take(std::move(samples));
    return result;
  }

  Status Task(ValueReader& in) {
    stage_.Enter(WorkerStage::kRun);
    const auto name = in.Get<std::string>();
    const auto bytes = in.GetData(in.Get<uint64_t>());
    if (!in.ok()) return InputError("malformed message to a worker");
    const std::string_view request(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string answer, services_.do_task(name, request));
    ValueWriter done(FrameKind::kTaskDone);
    done.Put(uint64_t{answer.size()});
    done.PutData(std::as_bytes(std::span(answer)));
    channel_.Send(done);
    return {};
  }

  static Inputs ReadInputs(ValueReader& in) {
    Inputs inputs;
    for (auto lists = in.Get<uint64_t>(); lists > 0 && in.ok(); --lists) {
      std::vector<Literal>& list = inputs.emplace_back();
      for (auto leaves = in.Get<uint64_t>(); leaves > 0 && in.ok(); --leaves) {
        list.push_back(in.GetLiteral());
      }
    }
    return inputs;
  }

  // Inputs come in memory that is shared, which the system maps in pages of 4 kB. Where they are to
  // be used again, a copy in large pages is read half as fast again.
  static void MoveToLargePages(Inputs& inputs) {
    const auto pool = std::make_shared<runtime::BufferPool>(std::numeric_limits<int64_t>::max());
    for (std::vector<Literal>& list : inputs) {
      for (Literal& literal : list) {
        const int64_t bytes = std::ssize(literal.bytes());
        if (bytes < kMinMoved) continue;
        std::byte* data = pool->Take(bytes).data;
        if (data == nullptr) return;
        const std::shared_ptr<const void> owner(
            data, [pool, bytes](std::byte* moved) { pool->GiveBack(moved, bytes); });
        std::ranges::copy(literal.bytes(), data);
        Literal moved = Literal::View(literal.shape(), {data, static_cast<size_t>(bytes)}, owner);
        moved.set_dynamic_sizes({literal.dynamic_sizes().begin(), literal.dynamic_sizes().end()});
        literal = std::move(moved);
      }
    }
  }

  // Infeeds and outfeeds ask the parent, where it has something to say.
  void SetFeeds(RunOptions& options, bool takes, bool gives) {
    if (takes) {
      options.feeds.take_infeed = [this](const hlo::Shape& shape) {
        ValueWriter ask(FrameKind::kTake);
        ask.Put(shape);
        return Answer(ask);
      };
    }
    if (!gives) return;
    options.feeds.give_outfeed = [this](const Literal& array) -> Status {
      ValueWriter ask(FrameKind::kGive);
      ask.PutLiteral(array);
      HLOSCOPE_TRY(Answer(ask));
      return {};
    };
  }

  Result<Literal> Answer(ValueWriter& ask) {
    const Frame answer = channel_.Ask(ask);
    ValueReader in(answer);
    auto value = in.GetResult();
    if (static_cast<FrameKind>(answer.kind) != FrameKind::kFed || !in.ok()) {
      return InputError("malformed answer to an infeed or outfeed");
    }
    return value;
  }

  Channel channel_;
  StageNote stage_;
  WorkerServices services_;
  std::map<std::string, std::unique_ptr<Platform>> platforms_;
  std::map<uint64_t, Loaded> loaded_;
};

}  // namespace

int ServeWorker(std::span<char* const> arguments, const WorkerServices& services) {
  int64_t most_bytes = 0;
  const std::string_view limit = arguments.empty() ? "" : arguments[0];
  std::from_chars(limit.data(), limit.data() + limit.size(), most_bytes);
  const auto page = MapSharedPage(UniqueFd(kWorkerPage));
  if (most_bytes <= 0 || !page.has_value()) return 2;  // nobody but ourselves starts it
  if (arguments.size() > 1 && std::string_view(arguments[1]) == "1") {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the death is reported, the module kept: nothing else is left
  fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  EndWithParent();
  Server(most_bytes, *page, services).Serve();
}

}  // namespace hloscope::replay
