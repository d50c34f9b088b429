// What the timeline draws: lanes, slices and axis, the words above them and the tooltip of an
// event.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viewer/facts/path_facts.h"
#include "viewer/facts/timeline_facts.h"
#include "viewer/facts/trace_partners.h"
#include "viewer/timeline/timeline_scene.h"
#include "viewer/widgets/view.h"

struct ImDrawList;

namespace hloscope::viewer {

Color ColorOf(TimelineCategory category);

struct HighlightedEvents;

class TimelinePainter {
 public:
  void Draw(Frame& frame, const TimelineScene& scene);
  // What was drawn holds no more, as where lanes were folded.
  void Forget() { drawn_.clear(); }

 private:
  struct Drawn {
    size_t strip;
    size_t first, last;  // of slices_
  };
  // One slice on its way to the screen.
  struct Placed {
    const TimelineTrace& trace;
    const profiler::Slice& slice;
    float x0, x1, y;
    float strength;  // 0 to 1: what is not highlighted steps back
  };
  static bool IsHighlighted(const TimelineTrace& trace, profiler::EventId e);
  // The slices of every row in sight; kept while nothing moves.
  void Collect(size_t first, size_t last);
  void DrawStrips(Frame& frame);
  void DrawStripHead(Frame& frame, const TimelineStrip& strip, ImDrawList& list) const;
  static std::string Fitted(std::string_view name, float room);
  static Color ColorOfEvent(const TimelineTrace& trace, profiler::EventId e);
  void DrawSlice(Frame& frame, const TimelineStrip& strip, const profiler::Slice& slice,
                 ImDrawList& list) const;
  void DrawBox(Frame& frame, const Placed& placed, ImDrawList& list) const;
  void DrawName(Frame& frame, const Placed& placed, ImDrawList& list) const;
  // From the end of each step of the critical path to the beginning of the next.
  void DrawPathLines(Frame& frame, ImDrawList& list) const;
  void DrawMarked(Frame& frame) const;
  void DrawSteps(Frame& frame, ImDrawList& list) const;
  void DrawAxis(Frame& frame) const;
  // A mark on the axis wherever the highlighted instruction ran; at most one a pixel.
  void DrawMarks(Frame& frame, ImDrawList& list) const;
  const Pending<HighlightedEvents>& HighlightedOf(Context& context) const;

  const TimelineScene* scene_ = nullptr;  // of the frame that is drawn
  std::vector<Drawn> drawn_;
  std::vector<profiler::Slice> slices_;
  profiler::TimeRange drawn_range_;
  size_t drawn_first_ = 0, drawn_last_ = 0;
  float drawn_width_ = 0;
};

// Counters (timeline_counters.cc).

// The curve of a counter in its strip; nothing until the facts of the trace are known.
void DrawCounter(Frame& frame, const TimelineScene& scene, const TimelineStrip& strip,
                 ImDrawList& list);
// "resident memory" and, on a second line, "0 B to 231 MB".
std::string CounterTitle(const TimelineScene& scene, const TimelineStrip& strip);
// The value at a time, in a tooltip and as a point on the curve.
void DrawCounterHover(Frame& frame, const TimelineScene& scene, const TimelineStrip& strip,
                      double time);

// Above the lanes (timeline_legend.cc).

// What the colours mean, how long each runs, what overlaps, and the switch of the
// critical path.
void DrawTimelineLegend(Frame& frame, const TimelineFacts& facts);

// Sums of the critical path by what it does and waits for; "step" where the range is one.
void DrawPathSums(Frame& frame, const Pending<PathFacts>* path, std::string_view of_what);

// Which traces are compared, how they were aligned, and what has no partner.
void DrawTraceComparison(Frame& frame, const SecondTrace& second, std::string_view first_path);

// "collectives: 40 % overlap with compute".
std::string OverlapText(const TimelineFacts& facts);

// Under the pointer (timeline_hover.cc).

// Of the lane under the pointer: its whole name, or the value of the counter there.
void DrawLaneHover(Frame& frame, const TimelineScene& scene);

void DrawTimelineHover(Frame& frame, const TimelineScene& scene, const SecondTrace& second,
                       const TimelinePoint& at);

}  // namespace hloscope::viewer
