// XLA's alarm about a compilation, or the folding of an instruction, that takes long (XLA:
// service/slow_operation_alarm.cc), in the lines of a log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::analysis {

struct SlowOperation {
  std::string module;  // that is compiled, or else
  std::string folded;  // the instruction
  int64_t us = 0;
};

class SlowAlarms {
 public:
  // Whether the next line, without its prefix and blanks, is of an alarm or says how long it took.
  bool Line(std::string_view text);
  // Of that line: the module that it says is compiled; what it says has ended. Empty: nothing.
  const std::string& begun() const { return begun_; }
  const SlowOperation& ended() const { return ended_; }

 private:
  std::vector<SlowOperation> open_;  // the innermost, which ends first, is the last
  bool awaits_name_ = false;         // the instruction's, which stands on a line of its own
  bool took_ = false;                // the line before was a time: the alarm is printed once more
  std::string begun_;
  SlowOperation ended_;
};

// "2m12.850942799s", "19.27" (seconds), "350ms" in microseconds; absent where it is none.
std::optional<int64_t> DurationUs(std::string_view text);

}  // namespace hloscope::analysis
