// ChildProcess: another program, started with nothing of ours but what it is given, and cleared
// away without fail.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace hloscope {

struct ChildOptions {
  std::string program;                   // its path; kThisProgram is the one that runs
  std::vector<std::string> arguments;    // the first is what it is called
  std::vector<std::string> environment;  // NAME=value; nothing else is passed on
  std::vector<int> descriptors;          // become 3, 4, … there; it inherits no others
  // Of our process group, so that keys pressed on a terminal reach it as they reach us; what we
  // ignore of hang-up, interrupt, quit and termination it ignores too.
  bool is_of_our_group = false;
  // When it must run the program, at the latest; absent: in 10 s.
  std::optional<std::chrono::steady_clock::time_point> start_deadline = {};
};
inline constexpr const char* kThisProgram = "/proc/self/exe";

// True if this process ignores the signal.
bool IsIgnored(int signal);

// How a process ended.
struct ChildExit {
  bool by_signal = false;
  int code = 0;  // the signal, or the exit status

  // "was killed by signal 11 (SIGSEGV)", "ended with exit status 3".
  std::string ToString() const;
};

// Standard input is empty; standard output and standard error come through one pipe. The process
// has a group of its own unless asked otherwise, so that keys pressed on a terminal reach only us,
// and so that the processes it started go with it: when it is killed, and when it has ended.
// Destroying kills it.
class ChildProcess {
 public:
  // Starts the program (never a bare fork). Environment errors: no such program, no more processes,
  // memory or descriptors. Deadline exceeded: it was stopped or held up before it ran.
  static Result<ChildProcess> Spawn(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // What it prints, to be read without blocking.
  int output() const { return output_.get(); }

  // All that it prints until it closes its output; it is killed when `stop` asks it to end, and at
  // the deadline. What processes of its own print after it has ended is not waited for.
  std::string ReadAll(const std::stop_token& stop, std::chrono::steady_clock::time_point deadline);
  // ReadAll killed it at the deadline.
  bool passed_deadline() const { return passed_deadline_; }

  // SIGKILL, to its whole group; does not wait.
  void Kill();
  // How it ended, once it has, within that time, and what is left of its group is killed; nullopt
  // if it goes on.
  std::optional<ChildExit> Wait(std::chrono::milliseconds most);

 private:
  ChildProcess(pid_t pid, UniqueFd output, bool leads_group)
      : pid_(pid), output_(std::move(output)), leads_group_(leads_group) {}

  // True once it has, whether or not it was waited for.
  bool HasEnded() const;

  pid_t pid_ = -1;
  UniqueFd output_;
  bool leads_group_ = true, passed_deadline_ = false;
  std::optional<ChildExit> exit_;
};

}  // namespace hloscope
