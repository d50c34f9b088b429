// TimelineCamera: which stretch of time is in view, and the ticks of its axis. No drawing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::viewer {

class TimelineCamera {
 public:
  // Everything that can be seen; shows all of it.
  void SetWhole(profiler::TimeRange whole);
  profiler::TimeRange whole() const { return whole_; }
  // In picoseconds; a double is exact to 2^53, beyond which a pixel is wider than one.
  double begin() const { return begin_; }
  double length() const { return length_; }
  profiler::TimeRange range() const;

  void FitAll();
  // Shows the range with a margin.
  void Fit(profiler::TimeRange range);
  // `at` is where the pointer is, 0 to 1; what is there stays. A factor above 1 shows less time.
  void Zoom(double at, double factor);
  // By a part of what is in view.
  void Pan(double part);

  // What is in view, and back; ignored where it cannot be read.
  std::string Text() const;
  void SetText(std::string_view text);

  double XOf(double time, double width) const { return (time - begin_) / length_ * width; }
  double TimeAt(double x, double width) const { return begin_ + x / width * length_; }

 private:
  void Clamp();

  profiler::TimeRange whole_;
  double begin_ = 0, length_ = 1;
};

struct TimelineTick {
  double time = 0;  // picoseconds
  std::string text;
};
// Ticks at round times, about one in `spacing` of `width`. Where the time has more digits than fit,
// `base` is what all are counted from and they begin with "+"; else it is empty.
std::vector<TimelineTick> TicksOf(const TimelineCamera& camera, double width, double spacing,
                                  std::string& base);

// "1.25 ms" to about three digits, for lengths; and to the picosecond, for moments.
std::string TimeText(double picoseconds);
std::string ExactTimeText(int64_t picoseconds);

}  // namespace hloscope::viewer
