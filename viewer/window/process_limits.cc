#include "viewer/window/process_limits.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/base/child_process.h"
#include "core/base/environment.h"
#include "core/base/jobs.h"
#include "core/base/scratch_folder.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kTrial = "HLOSCOPE_OPENGL_TRIAL";  // set in the process that only tries
constexpr rlim_t kMargin = rlim_t{256} << 20;            // bytes for what is opened
constexpr std::chrono::seconds kMost(60);

// Starts as many threads as Mesa and we do at a time, and ends them.
Status CheckThreads() {
  constexpr int kOthers = 16;
  constexpr size_t kStack = size_t{64} << 10;
  const int wanted = 2 * AvailableCpus() + kOthers;
  std::mutex until_all_run;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, kStack);
  const auto wait = [](void* mutex) -> void* {
    const std::lock_guard lock(*static_cast<std::mutex*>(mutex));
    return nullptr;
  };
  std::vector<pthread_t> threads;
  int problem = 0;
  {
    const std::lock_guard lock(until_all_run);
    for (int k = 0; k < wanted && problem == 0; ++k) {
      pthread_t thread{};
      problem = pthread_create(&thread, &small, wait, &until_all_run);
      if (problem == 0) threads.push_back(thread);
    }
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  if (problem == 0) return {};
  return EnvironmentError(
      fmt::format("cannot start {} threads: {}", wanted, std::strerror(problem)),
      "raise the limit of processes (ulimit -u) or of memory (ulimit -v)");
}

// A frame of nothing in a process of its own.
Status TryDrawing(rlim_t limit) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto scratch, ScratchFolder::Make());
  ChildOptions options{.program = kThisProgram,
                       .arguments = {"hloscope", "open", "--screenshot", scratch.path() + "/a.png",
                                     "--size", "320x320"},
                       .environment = OwnEnvironment(),
                       .descriptors = {}};
  options.environment.push_back(fmt::format("{}=1", kTrial));
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  const auto exit = child.Wait(kMost);
  if (exit && !exit->by_signal && exit->code == 0) return {};
  child.Kill();
  return EnvironmentError(
      fmt::format("OpenGL does not start within the limit of {} MB of address space: it {}",
                  limit >> 20, exit ? exit->ToString() : std::string("goes on forever")),
      "raise the limit: ulimit -v unlimited");
}

}  // namespace

bool IsTrialOfOpenGl() { return std::getenv(kTrial) != nullptr; }

Status CheckProcessLimits(bool for_window) {
  rlimit space{};
  const bool is_limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  if (IsTrialOfOpenGl()) {
    if (is_limited && space.rlim_cur > kMargin) space.rlim_cur -= kMargin;
    setrlimit(RLIMIT_AS, &space);
    return {};
  }
  HLOSCOPE_TRY(CheckThreads());
  return is_limited && for_window ? TryDrawing(space.rlim_cur) : Status();
}

}  // namespace hloscope::viewer
