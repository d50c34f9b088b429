// What the timeline shows: its traces, where they are on the screen, and what of them stands for
// the selection.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "viewer/facts/path_facts.h"
#include "viewer/facts/profile_model.h"
#include "viewer/facts/timeline_facts.h"
#include "viewer/facts/timeline_rows.h"
#include "viewer/facts/trace_partners.h"
#include "viewer/model/context.h"
#include "viewer/model/selection.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {

// Logical pixels; steps have a line of the axis of their own.
inline constexpr float kTimelineGutter = 190, kTimelineAxis = 26, kTimelineSteps = 16;

// An event of one of the traces; invalid: none.
struct TimelinePoint {
  size_t trace = 0;
  profiler::EventId event;
};

// One of the traces that are drawn. Number 0 is the first profile, 1 the second.
struct TimelineTrace {
  std::shared_ptr<const ProfileModel> model;    // null: there is none
  std::shared_ptr<const TimelineFacts> facts;   // null: not known by now
  int64_t shift = 0;                            // picoseconds that its times are moved by
  std::string label;                            // "before"; empty: it is alone
  std::vector<uint32_t> highlighted_modules;    // of the attribution
  std::vector<hlo::InstructionId> highlighted;  // instructions of each of them
  profiler::EventId selected;
};
inline constexpr size_t kTimelineTraces = 2;

// What is in sight, and its position on the screen. Times are those of the first trace.
struct TimelineScene {
  std::array<TimelineTrace, kTimelineTraces> traces;
  std::shared_ptr<const PathFacts> path;  // of the first; null: not shown
  TimelineRows rows;
  TimelineCamera camera;
  float axis = kTimelineAxis;                                 // logical pixels
  float scroll = 0;                                           // logical pixels
  float scale = 1, left = 0, top = 0, width = 0, height = 0;  // of the lanes, pixels

  const TimelineTrace& first() const { return traces[0]; }
  bool is_highlighted() const {
    return !traces[0].highlighted.empty() || !traces[1].highlighted.empty();
  }
  double TimeAt(float x) const { return camera.TimeAt(x - left, width); }
  float XOf(double time) const;
  float YOf(const TimelineStrip& strip) const { return top + (strip.y - scroll) * scale; }
  // What of a trace is in sight, in its own time.
  profiler::TimeRange InSight(const TimelineTrace& trace) const;
  // Null: none is at that place of the screen.
  const TimelineStrip* StripAt(float y) const;
  // The event at a place of the screen, or one beside it that is hard to hit.
  TimelinePoint PointAt(float x, float y) const;
};

// The same instruction in the other trace; invalid: there is none.
profiler::Target PartnerOf(const TimelineScene& scene, const SecondTrace& second,
                           const TimelinePoint& at);

// The selected event of the first trace; invalid: none is.
profiler::EventId SelectedEvent(const Context& context, const TimelineScene& scene);

// What a click on an event selects, which is always of the first trace; kNothing: that has no event
// of the instruction.
Selection SelectionAt(const TimelineScene& scene, const SecondTrace& second,
                      const TimelinePoint& at);

// From the beginning of the step at `time` to that of the next; empty before the first.
profiler::TimeRange StepAt(const TimelineTrace& trace, int64_t time);
// What the critical path is of: "trace", "range", or the word for a step where one is marked.
std::string_view RangeWord(const Context& context, const TimelineScene& scene);

// Finds the instructions of the traces that stand for the selection, and their partners. Returns
// how many events that is of each; what never ran highlights nothing.
std::array<int64_t, kTimelineTraces> FindHighlighted(Context& context, const SecondTrace& second,
                                                     TimelineScene& scene);

// Events and samples of counters that are in sight; an error where those are more than a million.
Result<std::string> TimelineCsv(const TimelineScene& scene);

}  // namespace hloscope::viewer
