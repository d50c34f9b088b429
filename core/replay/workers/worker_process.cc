// Talking to a worker, watching it, and saying how it died.
#include "core/replay/workers/worker_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/base/counted.h"
#include "core/base/machine_memory.h"
#include "core/base/system_error.h"
#include "core/base/text.h"
#include "core/replay/workers/worker_environment.h"

namespace hloscope::replay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long a worker may take to say by itself that the deadline is over.
constexpr milliseconds kGrace{100};
constexpr milliseconds kBetweenLooks{10};
// After the connection has ended, until the process has: a sanitizer may have much to print.
constexpr milliseconds kTimeToEnd{2000};
constexpr size_t kKeptOutput = size_t{16} << 10;
constexpr int64_t kLongestSeconds = int64_t{1} << 31;  // more would overflow the clock
// Of a worker's memory that is not its job's: libraries, and what an allocator keeps.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kOwnBytes = int64_t{1} << 30;
#else
constexpr int64_t kOwnBytes = int64_t{128} << 20;
#endif

// Only then may a worker die with the thread that starts it.
bool IsMainThread() { return static_cast<pid_t>(syscall(SYS_gettid)) == getpid(); }

}  // namespace

Budget BoundsOf(const RunOptions& options, const Limits& limits) {
  const auto limit = std::chrono::seconds(std::min(limits.run_deadline_seconds, kLongestSeconds));
  const int64_t share = MachineMemoryBytes() / 100 * limits.run_memory_percent;
  Budget bounds = options.budget;
  if (!bounds.deadline) bounds.deadline = Clock::now() + limit;
  if (bounds.memory_bytes <= 0) bounds.memory_bytes = share;
  return bounds;
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerStart& start) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto ends, MakeSocketPair());
  HLOSCOPE_ASSIGN_OR_RETURN(const UniqueFd page, MakeSharedPage());
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<void> mapped, MapSharedPage(page));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return SystemFailure("create an event");
  ChildOptions options;
  options.program = start.program;
  options.arguments = start.arguments;
  if (options.arguments.empty()) {
    options.arguments = {"hloscope-worker", std::string(kWorkerArgument),
                         std::to_string(start.most_frame_bytes), IsMainThread() ? "1" : "0"};
  }
  options.environment = CleanEnvironment(start.environment);
  options.descriptors = {ends.second.get(), page.get()};
  options.start_deadline = start.deadline;
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::Spawn(options));
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(
      std::move(process), FrameSocket(std::move(ends.first), start.most_frame_bytes),
      std::move(wake), std::move(mapped), start.platform));
  if (start.log.empty()) return worker;
  worker->log_path_ = start.log;
  worker->log_.open(start.log, std::ios::trunc | std::ios::binary);
  if (!worker->log_) return EnvironmentError(start.log + ": cannot be written");
  return worker;
}

WorkerProcess::WorkerProcess(ChildProcess process, FrameSocket socket, UniqueFd wake,
                             std::shared_ptr<void> page, std::string platform)
    : process_(std::move(process)),
      socket_(std::move(socket)),
      wake_(std::move(wake)),
      page_(std::move(page)),
      platform_(std::move(platform)) {}

Status WorkerProcess::Exchange(const OutgoingFrame& job, const Budget& bounds, const Taker& take) {
  bounds_ = bounds;
  next_look_ = Clock::now() + kBetweenLooks;
  uint64_t drained = 0;
  while (read(wake_.get(), &drained, sizeof(drained)) > 0) {
  }
  Status status;
  {
    const std::stop_callback wake(bounds_.stop, [this] {
      const uint64_t one = 1;
      (void)!write(wake_.get(), &one, sizeof(one));
    });
    status = bounds_.stop.stop_requested()
                 ? Status(Died(ErrorClass::kCancelled, "the run was cancelled"))
                 : ExchangeFrames(job, take);
  }
  bounds_ = {};
  if (!status.has_value()) {
    usable_ = false;
    process_.Kill();
  }
  return status;
}

Status WorkerProcess::ExchangeFrames(const OutgoingFrame& job, const Taker& take) {
  const auto wait = [this](short events) { return Wait(events); };
  HLOSCOPE_ASSIGN_OR_RETURN(const bool sent, socket_.Send(job, wait));
  if (!sent) return Ended();
  for (;;) {
    auto frame = socket_.Receive(wait);
    if (!frame.has_value() && frame.error().error_class == ErrorClass::kInput) {
      crashed_ = true;
      return Died(ErrorClass::kCrashed, "malformed message: " + frame.error().message);
    }
    if (!frame.has_value()) return std::unexpected(frame.error());
    if (!frame->has_value()) return Ended();
    // A worker that never stops sending is no reason to wait longer.
    HLOSCOPE_TRY(CheckBounds());
    if (!ready_) {
      HLOSCOPE_TRY(TakeReady(**frame));
      continue;
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const bool last, take(**frame));
    if (last) return {};
  }
}

Status WorkerProcess::TakeReady(const Frame& frame) {
  ValueReader in(frame);
  const bool same = static_cast<FrameKind>(frame.kind) == FrameKind::kReady &&
                    in.Get<std::string>() == ProtocolText();
  if (!same) return EnvironmentError("the worker and this program are different builds");
  ready_ = true;
  return {};
}

Status WorkerProcess::Answer(const OutgoingFrame& frame) {
  const auto wait = [this](short events) { return Wait(events); };
  HLOSCOPE_ASSIGN_OR_RETURN(const bool sent, socket_.Send(frame, wait));
  if (!sent) return Ended();
  return {};
}

void WorkerProcess::Tell(const OutgoingFrame& frame) {
  const auto refuse = [](short) -> Status { return EnvironmentError("the socket is full"); };
  const auto sent = socket_.Send(frame, refuse);
  if (!sent.has_value() || !*sent) usable_ = false;
}

bool WorkerProcess::IsUsable() {
  if (!usable_) return false;
  pollfd socket{socket_.fd(), POLLRDHUP, 0};
  if (poll(&socket, 1, 0) != 0) usable_ = false;
  return usable_;
}

Status WorkerProcess::Wait(short events) {
  for (;;) {
    pollfd fds[3] = {{socket_.fd(), events, 0},
                     {wake_.get(), POLLIN, 0},
                     {output_open_ ? process_.output() : -1, POLLIN, 0}};
    const int ready = poll(fds, 3, events == 0 ? 0 : MillisecondsToWait());
    if (ready < 0 && errno != EINTR) return SystemFailure("wait for a worker");
    if (fds[2].revents != 0) ReadOutput();
    if (fds[0].revents != 0) return {};
    HLOSCOPE_TRY(CheckBounds());
    if (events == 0) return {};
  }
}

int WorkerProcess::MillisecondsToWait() const {
  // Without bounds there is nothing to look at until something comes.
  if (bounds_.memory_bytes > 0) return static_cast<int>(kBetweenLooks.count());
  if (!bounds_.deadline) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*bounds_.deadline + kGrace - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

Status WorkerProcess::CheckBounds() {
  if (bounds_.stop.stop_requested()) return Died(ErrorClass::kCancelled, "the run was cancelled");
  const Clock::time_point now = Clock::now();
  if (bounds_.deadline && now >= *bounds_.deadline + kGrace) {
    return Died(ErrorClass::kDeadlineExceeded, "the deadline passed",
                "raise --deadline or --limit deadline");
  }
  if (bounds_.memory_bytes <= 0 || now < next_look_) return {};
  next_look_ = now + kBetweenLooks;
  const auto resident = ResidentBytesOf(std::to_string(process_.pid()));
  if (!resident || *resident - kOwnBytes <= bounds_.memory_bytes) return {};
  return Died(ErrorClass::kResourceExhausted,
              fmt::format("memory limit exceeded: {} used, the limit is {}",
                          Counted(*resident, "byte"), Counted(bounds_.memory_bytes, "byte")),
              "raise --memory or --limit memory");
}

void WorkerProcess::ReadOutput() {
  char block[4096];
  for (;;) {
    const ssize_t n = read(process_.output(), block, sizeof(block));
    if (n <= 0) {
      if (n == 0) output_open_ = false;
      break;
    }
    output_.append(block, static_cast<size_t>(n));
    if (log_.is_open()) log_.write(block, n).flush();
    if (output_.size() > 2 * kKeptOutput) output_.erase(0, output_.size() - kKeptOutput);
  }
}

Status WorkerProcess::CheckLog() {
  if (log_) return {};
  return EnvironmentError(log_path_ + ": cannot be written, what was printed is not all in it",
                          "make room on its disk");
}

WorkerStage WorkerProcess::stage() const {
  return static_cast<WorkerStage>(static_cast<const WorkerPage*>(page_.get())->stage.load());
}

// Killed at once: what it does from here on is of no use.
std::unexpected<Error> WorkerProcess::Died(ErrorClass error_class, std::string what,
                                           std::string hint) {
  process_.Kill();
  usable_ = false;
  return std::unexpected(
      Error{error_class,
            fmt::format("{} ({} worker, at {})", what, platform_, ToString(stage())),
            {},
            std::move(hint)});
}

std::unexpected<Error> WorkerProcess::Ended() {
  crashed_ = true;
  const WorkerStage at = stage();
  const std::optional<ChildExit> exit = process_.Wait(kTimeToEnd);
  if (!exit) process_.Kill();
  ReadOutput();
  std::string text = fmt::format("the {} worker {} at {}", platform_,
                                 exit ? exit->ToString() : "closed its connection", ToString(at));
  const std::string words = LastWords(output_);
  if (!words.empty()) text += ": " + words;
  return std::unexpected(Error{ErrorClass::kCrashed, std::move(text), {}, {}});
}

std::string LastWords(std::string_view output) {
  constexpr size_t kLines = 3, kMaxBytes = 600;
  std::vector<std::string> lines;
  std::string telling;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = output.substr(at, end - at);
    at = end + 1;
    const size_t text = line.find_first_not_of(" \t");
    if (text == std::string_view::npos) continue;
    // Lines of stack traces, as glog, LLVM and sanitizers print them.
    if (line[text] == '@' || line[text] == '#' || line.starts_with("***")) continue;
    const bool fatal = line.size() > 5 && line[0] == 'F' && line[1] >= '0' && line[1] <= '9';
    if (fatal || line.find("Check failed") != line.npos || line.find("what():") != line.npos ||
        line.find("ERROR: AddressSanitizer") != line.npos) {
      telling = line;
    }
    lines.emplace_back(line);
  }
  std::string words = telling;
  if (words.empty()) {
    const size_t first = lines.size() - std::min(lines.size(), kLines);
    for (size_t i = first; i < lines.size(); ++i) words += (i > first ? " | " : "") + lines[i];
  }
  if (words.size() > kMaxBytes) words.resize(kMaxBytes);
  return EscapeForTerminal(words);
}

}  // namespace hloscope::replay
