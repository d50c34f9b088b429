// The timeline's lanes, slices and axis on a draw list.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "viewer/facts/profile_model.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/facts/timeline_facts.h"
#include "viewer/facts/timeline_rows.h"
#include "viewer/widgets/view.h"

struct ImDrawList;

namespace hloscope::viewer {

// Logical pixels; steps have a line of the axis of their own.
inline constexpr float kTimelineGutter = 190, kTimelineAxis = 26, kTimelineSteps = 16;

Color ColorOf(TimelineCategory category);

// What is in sight, and where it stands on the screen.
struct TimelineScene {
  TimelineRows rows;
  TimelineCamera camera;
  const TimelineFacts* facts = nullptr;                       // null: not known by now
  float axis = kTimelineAxis;                                 // logical pixels
  float scroll = 0;                                           // logical pixels
  float scale = 1, left = 0, top = 0, width = 0, height = 0;  // of the lanes, pixels
  std::optional<uint32_t> lit_module;                         // of the attribution
  std::vector<hlo::InstructionId> lit;                        // instructions of it

  double TimeAt(float x) const { return camera.TimeAt(x - left, width); }
  float XOf(double time) const;
  float YOf(const TimelineStrip& strip) const { return top + (strip.y - scroll) * scale; }
};

struct LitEvents;

class TimelinePainter {
 public:
  void Draw(Frame& frame, const std::shared_ptr<const ProfileModel>& model,
            const TimelineScene& scene, profiler::EventId selected);
  // What was drawn holds no more, as where lanes were folded.
  void Forget() { drawn_.clear(); }

 private:
  bool IsLit(const ProfileModel& model, profiler::EventId e) const;
  struct Drawn {
    size_t strip;
    size_t first, last;  // of slices_
  };
  // The slices of every row in sight; kept while nothing moves.
  void Collect(const ProfileModel& model, size_t first, size_t last);
  void DrawStrips(Frame& frame, const ProfileModel& model);
  void DrawStripHead(Frame& frame, const ProfileModel& model, const TimelineStrip& strip,
                     ImDrawList& list) const;
  static std::string Fitted(std::string_view name, float room);
  Color ColorOfEvent(const ProfileModel& model, profiler::EventId e) const;
  void DrawSlice(Frame& frame, const ProfileModel& model, const profiler::Slice& slice, float y,
                 profiler::EventId selected, ImDrawList& list) const;
  void DrawName(Frame& frame, const ProfileModel& model, const profiler::Slice& slice, float x0,
                float x1, float y, float strength, ImDrawList& list) const;
  void DrawMarked(Frame& frame) const;
  void DrawSteps(Frame& frame, ImDrawList& list) const;
  void DrawAxis(Frame& frame, const ProfileModel& model) const;
  // A mark on the axis wherever the lit instruction ran; at most one a pixel.
  void DrawMarks(Frame& frame, const ProfileModel& model, ImDrawList& list) const;
  const Pending<LitEvents>& LitOf(Context& context, const ProfileModel& model) const;

  const TimelineScene* scene_ = nullptr;  // of the frame that is drawn
  std::shared_ptr<const ProfileModel> shown_;
  profiler::EventId selected_;
  std::vector<Drawn> drawn_;
  std::vector<profiler::Slice> slices_;
  profiler::TimeRange drawn_range_;
  size_t drawn_first_ = 0, drawn_last_ = 0;
  float drawn_width_ = 0;
};

}  // namespace hloscope::viewer
