// A thread that looks a few times a second.
#include "app/activity_line.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <stop_token>
#include <string>

#include "core/base/progress/activity.h"

namespace hloscope::app {
namespace {

using Clock = std::chrono::steady_clock;

std::string LineOf(const Activity::State& state, std::chrono::seconds so_far) {
  std::string line(state.what);
  if (!state.subject.empty()) line += " " + state.subject;
  if (state.total > 0) line += fmt::format(", {} %", 100 * state.done / state.total);
  return line + fmt::format(", {} s", so_far.count());
}

void Watch(const std::stop_token& over) {
  constexpr std::chrono::milliseconds kFirst(1000), kThen(200);
  const Clock::time_point begin = Clock::now();
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  for (auto wait = kFirst;; wait = kThen) {
    woken.wait_for(lock, over, wait, [] { return false; });
    if (over.stop_requested()) return;
    const auto so_far = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
    const auto state = Activity::Current();
    if (!ShowActivity(state ? LineOf(*state, so_far) : "")) return;
  }
}

}  // namespace

ActivityLine::ActivityLine(bool enabled) {
  if (!enabled || isatty(STDERR_FILENO) == 0) return;
  // Signals are for other threads (cancel.h).
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  watcher_ = std::jthread(Watch);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ActivityLine::~ActivityLine() {
  if (!watcher_.joinable()) return;
  watcher_.request_stop();
  watcher_.join();
  (void)ShowActivity("");
}

}  // namespace hloscope::app
