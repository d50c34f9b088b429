// StatusLine: how far long work is, as one line on standard error where that is a terminal.
#pragma once

#include <chrono>
#include <string_view>

namespace hloscope::app {

class StatusLine {
 public:
  StatusLine();
  ~StatusLine();  // wipes it
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  // Shows the line instead of the last one, at most every tenth of a second. One call at a time.
  void Show(std::string_view line);

 private:
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace hloscope::app
