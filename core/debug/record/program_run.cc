// The program is of our process group: keys on a terminal reach it as they reach us, and stop both.
#include "core/debug/record/program_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>

#include "core/base/system_error.h"
#include "core/debug/recompile/compile_log.h"
#include "core/debug/recompile/jax_log.h"
#include "core/debug/recompile/torch_log.h"

namespace hloscope::debug {
namespace {

using Clock = std::chrono::steady_clock;

// Takes over descriptors 3 and 4 as standard input and output.
constexpr const char* kShell = "exec \"$@\" 0<&3 1>&4 3<&- 4>&-";

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n <= 0 && errno != EINTR && errno != EAGAIN) return;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// Which lines of standard error tell of compilations only, because we asked for them.
class CompileLines {
 public:
  bool Has(std::string_view line) {
    if (line.starts_with("Compilation Analysis: ") || line.starts_with("Execution Analysis: ") ||
        line.starts_with("Post Compilation Analysis: ") || line.starts_with("pt-xla-profiler: ") ||
        line.starts_with("Computation hash: ") ||
        line.find("device_compilation_profiler.cc") != std::string_view::npos ||
        line.find("device_executable_persistor.h") != std::string_view::npos ||
        line.find("] Dumped Graph to ") != std::string_view::npos)
      return true;
    return jax_.Take(line, 0);
  }

 private:
  CompileLog log_;
  JaxLog jax_{log_, ""};
};

// Signals that are waited for instead of killing us, while it lives; those that are ignored (nohup,
// jobs in the background) stay so.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (!IsIgnored(signal)) sigaddset(&set_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_ = UniqueFd(signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int fd() const { return fd_.get(); }
  struct Signal {
    int number = 0;               // 0: none came
    bool is_of_terminal = false;  // which has sent it to all of the group
  };
  Signal Next() const {
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return {};
    return {static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
  }

 private:
  sigset_t set_, before_;
  UniqueFd fd_;
};

// Keeps all of standard error, shows what is not hidden, line by line; a line that stays open is
// shown after a while.
class ErrorStream {
 public:
  ErrorStream(int log, bool hide) : log_(log), hide_(hide) {}

  void Take(std::string_view bytes) {
    WriteLog(bytes);
    size_t looked = line_.size(), begin = 0;
    line_ += bytes;
    for (size_t end; (end = line_.find('\n', looked)) != std::string::npos;) {
      const std::string_view line(line_.data() + begin, end - begin);
      if (!Hides(line))
        Show(std::string_view(line_.data() + begin, end + 1 - begin).substr(shown_));
      shown_ = 0;
      looked = begin = end + 1;
    }
    line_.erase(0, begin);
    // Of a line that is longer than any of a log, or a bar that is drawn again and again, what is
    // shown is forgotten.
    constexpr size_t kMaxOpen = size_t{64} << 10;
    if (line_.size() <= kMaxOpen) return;
    ShowOpenLine();
    line_.resize(1);
    shown_ = 1;
  }
  void ShowOpenLine() {
    Show({});
    if (shown_ >= line_.size()) return;
    Show(std::string_view(line_).substr(shown_));
    shown_ = line_.size();
  }
  bool lost() const { return lost_; }

 private:
  void WriteLog(std::string_view bytes) {
    while (!bytes.empty() && !lost_) {
      const ssize_t n = write(log_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      lost_ = n <= 0;
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    }
  }

  // Blank lines beside hidden ones are hidden too: those before are held back until it is known.
  bool Hides(std::string_view line) {
    if (!hide_ || shown_ != 0) return false;
    const bool blank = line.find_first_not_of(" \r") == std::string_view::npos;
    if (blank && !after_hidden_) held_ += std::string(line) + "\n";
    if (blank) return true;
    after_hidden_ = lines_.Has(line);
    if (after_hidden_) held_.clear();
    return after_hidden_;
  }
  void Show(std::string_view bytes) {
    WriteAll(STDERR_FILENO, std::exchange(held_, {}));
    WriteAll(STDERR_FILENO, bytes);
  }

  int log_;
  bool hide_, lost_ = false, after_hidden_ = false;
  std::string held_;
  std::string line_;
  size_t shown_ = 0;  // bytes of line_
  CompileLines lines_;
};

}  // namespace

Result<ProgramRun> RunRecorded(const RunSettings& settings) {
  const HeldSignals signals;
  const UniqueFd log(open(settings.log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!log.valid()) return SystemFailure("create " + settings.log);
  ChildOptions options{
      .program = "/bin/sh",
      .arguments = {"sh", "-c", kShell, "sh", settings.program},
      .environment = settings.environment,
      .descriptors = {STDIN_FILENO, settings.output_to_error ? STDERR_FILENO : STDOUT_FILENO},
      .is_of_our_group = true};
  options.arguments.insert(options.arguments.end(), settings.command.begin() + 1,
                           settings.command.end());
  const auto start = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  ProgramRun run;
  ErrorStream errors(log.get(), settings.hide_compile_log);
  std::optional<ChildExit> exit;
  std::array<char, 1 << 16> block;
  bool open = true;
  int idle = 0;
  constexpr int kLook = 50,
                kLastLooks = 4;  // milliseconds; what a daemon keeps open is not waited for
  while (!exit || (open && idle < kLastLooks)) {
    std::array<pollfd, 2> waiting{
        {{signals.fd(), POLLIN, 0}, {open ? child.output() : -1, POLLIN, 0}}};
    const int ready = poll(waiting.data(), waiting.size(), kLook);
    if (const auto signal = signals.Next(); signal.number != 0) {
      if (!signal.is_of_terminal) kill(child.pid(), run.interrupted ? SIGKILL : signal.number);
      run.interrupted = true;
    }
    bool read_any = false;
    if (open) {
      const ssize_t n = read(child.output(), block.data(), block.size());
      if (n > 0) errors.Take({block.data(), static_cast<size_t>(n)});
      read_any = n > 0;
      if (n == 0) open = false;
    }
    if (ready == 0) errors.ShowOpenLine();
    if (exit && !read_any) ++idle;
    if (!exit) exit = child.Wait(std::chrono::milliseconds(0));
  }
  errors.ShowOpenLine();
  run.exit = *exit;
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  run.log_lost = errors.lost();
  return run;
}

}  // namespace hloscope::debug
