// Cancelling by SIGINT and SIGTERM.
#pragma once

#include <stop_token>
#include <thread>

namespace hloscope::app {

// While it lives, the first SIGINT or SIGTERM requests a stop; the second kills the program, as
// either does without it. Make it before any thread, which then inherits the blocked signals.
class CancelOnSignals {
 public:
  CancelOnSignals();
  ~CancelOnSignals();
  CancelOnSignals(const CancelOnSignals&) = delete;
  CancelOnSignals& operator=(const CancelOnSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread watcher_;
};

}  // namespace hloscope::app
