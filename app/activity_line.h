// ActivityLine: what long work is doing, shown where errors go.
#pragma once

#include <string_view>
#include <thread>

namespace hloscope::app {

// While it lives, is enabled and standard error is a terminal, work that has gone on for a second
// is shown there in one line (activity.h), where the command shows none of its own.
class ActivityLine {
 public:
  explicit ActivityLine(bool enabled);
  ~ActivityLine();
  ActivityLine(const ActivityLine&) = delete;
  ActivityLine& operator=(const ActivityLine&) = delete;

 private:
  std::jthread watcher_;
};

// Shows such a line; empty: none. False: from now on the command shows a line of its own, or its
// output.
bool ShowActivity(std::string_view line);

}  // namespace hloscope::app
