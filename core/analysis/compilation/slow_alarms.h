// XLA's alarm about a compilation, or the folding of an instruction, that takes long (XLA:
// service/slow_operation_alarm.cc), in the lines of a log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/compilation/compile_time.h"

namespace hloscope::analysis {

struct SlowOperation {
  std::string module;  // that is compiled, or else
  std::string folded;  // the instruction
  int64_t us = 0;
  bool operator==(const SlowOperation&) const = default;
};

// XLA prints an alarm once more behind its time, which says whose time that is: compilations on
// several threads end in any order. Where that text is cut off, the time is that of the innermost.
class SlowAlarms {
 public:
  // Whether the next line, without its prefix and blanks, is of an alarm or says how long it took.
  bool Line(std::string_view text);
  // Known by that line: the module that is compiled; what has ended. Empty: nothing. What took a
  // time is known at once where a single alarm is open, else by the text behind it, or the first
  // line that is another one, for which Line() may be false.
  const std::string& begun() const { return begun_; }
  const SlowOperation& ended() const { return ended_; }

 private:
  void Open(SlowOperation operation);
  void Name(SlowOperation operation);  // that begins or, behind a time, has ended
  void EndInnermost();
  void End(SlowOperation operation);

  std::vector<SlowOperation> open_;  // without times, the innermost is the last
  bool awaits_name_ = false;         // the instruction's, which stands on a line of its own
  bool took_ = false;                // a time was the last line: the alarm is printed once more
  std::optional<int64_t> us_;  // that time, where it can be read and what took it is not known
  std::string begun_;
  SlowOperation ended_;
};

// The foldings of a compilation that took `whole_us`, as far as that is known.
struct FoldingSum {
  std::vector<SlowFolding> longest;  // in order of their times, at most five
  int64_t us = 0;                    // of all that fit into the whole
  std::vector<std::string> notes;    // how many more there are, and how many do not fit
};
FoldingSum SumFoldings(std::vector<SlowFolding> foldings, std::optional<int64_t> whole_us);

// "2m12.850942799s", "19.27" (seconds), "350ms" in microseconds; absent where it is none.
std::optional<int64_t> DurationUs(std::string_view text);

}  // namespace hloscope::analysis
