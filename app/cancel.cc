// A thread that waits for the signals, so that nothing runs inside a signal handler.
#include "app/cancel.h"

#include <pthread.h>

#include <csignal>

#include "app/output.h"

namespace hloscope::app {
namespace {

sigset_t CancelSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void Watch(const std::stop_token& over, const std::stop_source& stop) {
  const sigset_t set = CancelSignals();
  for (int signal = 0; sigwait(&set, &signal) == 0 && !over.stop_requested();) {
    if (!stop.stop_requested()) {
      PrintError("Stopping. Press Ctrl+C again to quit now.");
      stop.request_stop();
      continue;
    }
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    std::raise(signal);
  }
}

}  // namespace

CancelOnSignals::CancelOnSignals() {
  const sigset_t set = CancelSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([stop = stop_](const std::stop_token& over) { Watch(over, stop); });
}

CancelOnSignals::~CancelOnSignals() {
  watcher_.request_stop();
  pthread_kill(watcher_.native_handle(), SIGINT);  // wakes it
  watcher_.join();
  const sigset_t set = CancelSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace hloscope::app
