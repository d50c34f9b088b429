// Starting by posix_spawn, which is safe with threads and costs no copy of our memory.
#include "core/base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/system_error.h"

namespace hloscope {
namespace {

constexpr int kFirstDescriptor = 3;
// Descriptors to be handed over lie above all numbers they may get, so that none is overwritten.
constexpr int kFirstFree = 16;
constexpr std::chrono::seconds kStartTime{10};
constexpr std::chrono::milliseconds kKillTime{30};
constexpr std::chrono::milliseconds kLastTime{30};
// After a process has ended, for what others that it started still print.
constexpr std::chrono::milliseconds kLastOutput{500};

// Processes that were killed and had not ended yet when their owner went: reaped later, at the end
// of this process at the latest. One that still gives back its memory then is left to init.
class ZombieReaper {
 public:
  ~ZombieReaper() {
    const auto end = std::chrono::steady_clock::now() + kLastTime;
    for (Reap(); !pids_.empty() && std::chrono::steady_clock::now() < end; Reap()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void Add(pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_.push_back(pid);
  }
  void Reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> pids_;
};

ZombieReaper& Reaper() {
  static ZombieReaper reaper;
  return reaper;
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void Open(int number, const char* path) {
    code_ |= posix_spawn_file_actions_addopen(&actions_, number, path, O_RDONLY, 0);
  }
  void Duplicate(int from, int to) {
    code_ |= posix_spawn_file_actions_adddup2(&actions_, from, to);
  }
  void CloseFrom(int first) { code_ |= posix_spawn_file_actions_addclosefrom_np(&actions_, first); }
  bool ok() const { return code_ == 0; }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
  int code_ = 0;
};

// No blocked signals, default actions, a process group of its own; or ours, and what it ignores.
class Attributes {
 public:
  explicit Attributes(bool is_of_our_group) {
    posix_spawnattr_init(&attributes_);
    sigset_t none, reset;
    sigemptyset(&none);
    sigfillset(&reset);
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
      if (is_of_our_group && IsIgnored(signal)) sigdelset(&reset, signal);
    }
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &reset);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int group = is_of_our_group ? 0 : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// posix_spawn returns once the child runs its program. One that is stopped before, or waits for a
// file system, would hold us forever: at the deadline it is killed.
class StartWatch {
 public:
  using Clock = std::chrono::steady_clock;
  explicit StartWatch(Clock::time_point deadline)
      : list_(fmt::format("/proc/self/task/{}/children", gettid())), before_(Children()) {
    try {
      thread_ = std::thread([this, deadline] { Watch(deadline); });
    } catch (const std::system_error&) {
      // Where no thread can be started, the one that spawns waits as long as it takes.
    }
  }
  ~StartWatch() { End(); }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  // The child runs; false: it was killed.
  bool End() {
    {
      const std::lock_guard lock(mutex_);
      has_started_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
    return !killed_;
  }

 private:
  std::vector<pid_t> Children() const {
    std::ifstream list(list_);
    return {std::istream_iterator<pid_t>(list), {}};
  }
  void Watch(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const auto has_started = [this] { return has_started_; };
    constexpr std::chrono::milliseconds kBetween{10};
    for (bool over = changed_.wait_until(lock, deadline, has_started); !over;
         over = changed_.wait_for(lock, kBetween, has_started)) {
      for (const pid_t pid : Children()) {
        const bool is_new = std::ranges::find(before_, pid) == before_.end();
        killed_ |= is_new && kill(pid, SIGKILL) == 0;
      }
    }
  }

  const std::string list_;  // of the children of the thread that spawns
  const std::vector<pid_t> before_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_started_ = false, killed_ = false;
  std::thread thread_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<UniqueFd> Raised(int fd) {
  UniqueFd raised(fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
  if (!raised.valid()) return SystemFailure("duplicate a file descriptor");
  return raised;
}

}  // namespace

bool IsIgnored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::string ChildExit::ToString() const {
  if (!by_signal) return fmt::format("ended with exit status {}", code);
  const char* name = sigabbrev_np(code);
  return name == nullptr ? fmt::format("was killed by signal {}", code)
                         : fmt::format("was killed by signal {} (SIG{})", code, name);
}

Result<ChildProcess> ChildProcess::Spawn(const ChildOptions& options) {
  Reaper().Reap();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemFailure("create a pipe");
  UniqueFd output(ends[0]), input(ends[1]);
  if (fcntl(output.get(), F_SETFL, O_NONBLOCK) != 0) return SystemFailure("create a pipe");
  FileActions actions;
  std::vector<UniqueFd> raised;
  HLOSCOPE_ASSIGN_OR_RETURN(const UniqueFd print, Raised(input.get()));
  actions.Open(STDIN_FILENO, "/dev/null");
  actions.Duplicate(print.get(), STDOUT_FILENO);
  actions.Duplicate(print.get(), STDERR_FILENO);
  int next = kFirstDescriptor;
  for (int fd : options.descriptors) {
    HLOSCOPE_ASSIGN_OR_RETURN(UniqueFd one, Raised(fd));
    actions.Duplicate(one.get(), next++);
    raised.push_back(std::move(one));
  }
  actions.CloseFrom(next);
  if (!actions.ok()) return SystemFailure("start a process", ENOMEM);
  const Attributes attributes(options.is_of_our_group);
  pid_t pid = -1;
  StartWatch watch(options.start_deadline.value_or(StartWatch::Clock::now() + kStartTime));
  const int code =
      posix_spawn(&pid, options.program.c_str(), actions.get(), attributes.get(),
                  Pointers(options.arguments).data(), Pointers(options.environment).data());
  const bool started = watch.End();
  if (code != 0) return SystemFailure("start " + options.program, code);
  ChildProcess child(pid, std::move(output), !options.is_of_our_group);
  if (!started) {
    return std::unexpected(Error{ErrorClass::kDeadlineExceeded,
                                 "the deadline passed before a process started: " + options.program,
                                 {},
                                 {}});
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      leads_group_(other.leads_group_),
      passed_deadline_(other.passed_deadline_),
      exit_(other.exit_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || exit_) return;
  Kill();
  // One that takes long to give back its memory does so without us.
  if (!Wait(kKillTime)) Reaper().Add(pid_);
}

// Until it is reaped its number is that of its group and of no other.
void ChildProcess::Kill() {
  if (pid_ <= 0 || exit_) return;
  if (leads_group_) kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
}

bool ChildProcess::HasEnded() const {
  siginfo_t ended{};
  return exit_ ||
         waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         ended.si_pid == pid_;
}

std::string ChildProcess::ReadAll(const std::stop_token& stop,
                                  std::chrono::steady_clock::time_point deadline) {
  using Clock = std::chrono::steady_clock;
  std::string out;
  std::array<char, 1 << 16> block;
  constexpr int kLook = 100;  // milliseconds
  std::optional<Clock::time_point> last;
  while (true) {
    if (!last && HasEnded()) last = Clock::now() + kLastOutput;
    if (!last && Clock::now() >= deadline) passed_deadline_ = true;
    if (stop.stop_requested() || passed_deadline_) Kill();
    pollfd waiting{output(), POLLIN, 0};
    const int ready = poll(&waiting, 1, kLook);
    if (last && Clock::now() >= *last) return out;
    if (ready <= 0) continue;
    const ssize_t n = read(output(), block.data(), block.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return out;
    out.append(block.data(), static_cast<size_t>(n));
  }
}

std::optional<ChildExit> ChildProcess::Wait(std::chrono::milliseconds most) {
  using std::chrono::microseconds;
  const auto end = std::chrono::steady_clock::now() + most;
  for (microseconds nap{20}; !exit_ && pid_ > 0; nap = std::min(nap * 2, microseconds{5000})) {
    int status = 0;
    if (leads_group_ && HasEnded()) kill(-pid_, SIGKILL);
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    if (done == pid_) {
      exit_ = WIFSIGNALED(status) ? ChildExit{true, WTERMSIG(status)}
                                  : ChildExit{false, WEXITSTATUS(status)};
    } else if (done < 0 && errno != EINTR) {
      exit_ = ChildExit{};  // somebody else has reaped it
    } else if (std::chrono::steady_clock::now() >= end) {
      break;
    } else {
      std::this_thread::sleep_for(nap);
    }
  }
  return exit_;
}

}  // namespace hloscope
