// WorkerProcess: one worker as its parent sees it: what goes to it, what comes back, and how it
// ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/child_process.h"
#include "core/base/frame_socket.h"
#include "core/base/result.h"
#include "core/replay/workers/worker_protocol.h"

namespace hloscope::replay {

struct WorkerStart {
  std::string program = kThisProgram;
  std::string platform;                  // for messages
  std::vector<std::string> environment;  // NAME=value, beside what worker_environment.def passes on
  int64_t most_frame_bytes = int64_t{1} << 30;
  std::vector<std::string> arguments =
      {};  // of a program that is not ours; empty: as ours has them
  std::optional<std::chrono::steady_clock::time_point> deadline = {};  // of its process, to start
  std::string log = {};  // a file of all that it prints, begun anew; empty: its last words count
};

// What a job may take: what the options allow, and where they say nothing, what the limits do. The
// worker watches the same where it can; the parent does in any case.
Budget BoundsOf(const RunOptions& options, const Limits& limits);

// Its memory is watched from outside, by resident size, and not bounded by RLIMIT_AS: address space
// is what sanitizers, CUDA and the stacks of many threads take without using it. A control group of
// its own would need rights that few have; the group that we are in bounds what the default is.
class WorkerProcess {
 public:
  // Starts one and does not wait until it is up. Errors: of the system, the log cannot be written.
  static Result<std::unique_ptr<WorkerProcess>> Start(const WorkerStart& start);

  // Called with each frame of a job's answer; true for the last.
  using Taker = std::function<Result<bool>(const Frame& frame)>;
  // Sends a job and hands over what comes back until `take` says it is the last. Errors: died with
  // the stage, where the worker does, is stopped or meets a bound (then it is killed); `take`'s own
  // and of the system. After any of them the worker is of no more use.
  Status Exchange(const OutgoingFrame& job, const Budget& bounds, const Taker& take);
  // In an exchange: an answer to what a frame asked.
  Status Answer(const OutgoingFrame& frame);
  // Sends something that nothing answers.
  void Tell(const OutgoingFrame& frame);

  // False once it is of no more use; looks whether it still lives.
  bool IsUsable();
  // It is of no more use, as it says itself.
  void Retire() { usable_ = false; }
  // It ended by itself: not stopped by us, and not for a bound.
  bool crashed() const { return crashed_; }
  // Takes what it has printed so far, which the end of a job does not wait for.
  void ReadOutput();
  // An error where a log was asked for and not all of what was printed is in it.
  Status CheckLog();
  pid_t pid() const { return process_.pid(); }

 private:
  WorkerProcess(ChildProcess process, FrameSocket socket, UniqueFd wake, std::shared_ptr<void> page,
                std::string platform);

  Status ExchangeFrames(const OutgoingFrame& job, const Taker& take);
  Status TakeReady(const Frame& frame);
  Status Wait(short events);
  Status CheckBounds();
  int MillisecondsToWait() const;
  WorkerStage stage() const;
  std::unexpected<Error> Died(ErrorClass error_class, std::string what, std::string hint = {});
  std::unexpected<Error> Ended();

  ChildProcess process_;
  FrameSocket socket_;
  UniqueFd wake_;  // readable once the job at hand is to stop
  std::shared_ptr<void> page_;
  std::string platform_;
  Budget bounds_;                                    // of the job at hand
  std::chrono::steady_clock::time_point next_look_;  // at its memory
  std::string output_;                               // the last of what it printed
  std::string log_path_;
  std::ofstream log_;  // of all that it prints; open where asked for
  bool ready_ = false, usable_ = true, crashed_ = false;
  bool output_open_ = true;
};

// What of a dying process's last output says why: the message of a failed check, or the last lines
// that are no stack trace; at most a few hundred bytes.
std::string LastWords(std::string_view output);

}  // namespace hloscope::replay
