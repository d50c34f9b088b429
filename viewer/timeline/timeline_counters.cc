// Counters as lanes of the timeline: steps from sample to sample, filled to the foot.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/timeline/timeline_painter.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using profiler::TimeRange;

constexpr Color kCounterColor = Color::kControl;

// The positions of values in a lane. Amounts start at zero unless that would flatten them.
class CounterScale {
 public:
  CounterScale(const TimelineScene& scene, const TimelineStrip& strip,
               const CounterCurve::Range& whole)
      : top_(scene.YOf(strip) + 3 * scene.scale),
        height_((TimelineRows::kCounterHeight - 5) * scene.scale),
        low_(whole.low >= 0 && whole.low < whole.high / 2 ? 0 : whole.low),
        high_(whole.high) {}

  float bottom() const { return top_ + height_; }
  float YOf(double value) const {
    const double room = high_ - low_, part = room <= 0 ? 0.5 : (value - low_) / room;
    return bottom() - static_cast<float>(std::clamp(part, 0.0, 1.0)) * height_;
  }

 private:
  float top_, height_;
  double low_, high_;
};

// Draws one counter from left to right: a step for each sample that has two pixels, a bar from the
// least to the most of those that share one.
class CounterPainter {
 public:
  CounterPainter(Frame& frame, const TimelineScene& scene, const TimelineStrip& strip,
                 const CounterCurve& curve, const CounterCurve::Range& whole, ImDrawList& list)
      : scene_(scene),
        trace_(scene.traces[strip.trace]),
        curve_(curve),
        scale_(scene, strip, whole),
        list_(list),
        line_(frame.theme[kCounterColor]),
        fill_(frame.theme.With(kCounterColor, 0.22F)) {}

  void Draw() {
    const auto shift = static_cast<double>(trace_.shift);
    const std::span<const int64_t> times = curve_.times();
    const float right =
        std::min(scene_.left + scene_.width,
                 scene_.XOf(static_cast<double>(trace_.model->store().range().end) + shift));
    float x = std::max(scene_.left, scene_.XOf(static_cast<double>(times.front()) + shift));
    while (x < right) {
      const auto begin = static_cast<int64_t>(scene_.TimeAt(x) - shift);
      const size_t holds = curve_.At(begin).value_or(0);
      const float next = holds + 1 < times.size()
                             ? scene_.XOf(static_cast<double>(times[holds + 1]) + shift)
                             : right;
      const float end = std::min(next >= x + 2 ? next : x + 1, right);
      const auto until = static_cast<int64_t>(scene_.TimeAt(end) - shift);
      if (next >= x + 2) {
        Piece(x, end, curve_.In({begin, begin + 1}));
      } else {
        Piece(x, end, curve_.In({begin, std::max(until, begin + 1)}));
      }
      x = std::max(end, x + 0.5F);
    }
  }

 private:
  void Piece(float x, float end, const std::optional<CounterCurve::Range>& range) {
    if (!range) {
      last_.reset();
      return;
    }
    const float high = scale_.YOf(range->high), low = scale_.YOf(range->low);
    list_.AddRectFilled(ImVec2(x, high), ImVec2(end, scale_.bottom()), fill_);
    const float from = std::min(high, last_.value_or(high)),
                to = std::max(low, last_.value_or(low));
    if (to - from >= 1) list_.AddLine(ImVec2(x, from), ImVec2(x, to), line_, scene_.scale);
    list_.AddLine(ImVec2(x, high), ImVec2(end, high), line_, 1.5F * scene_.scale);
    last_ = high;
  }

  const TimelineScene& scene_;
  const TimelineTrace& trace_;
  const CounterCurve& curve_;
  const CounterScale scale_;
  ImDrawList& list_;
  const ImU32 line_, fill_;
  std::optional<float> last_;  // where the line is
};

const CounterCurve* CurveOf(const TimelineTrace& trace, const TimelineStrip& strip) {
  if (trace.facts == nullptr || !strip.counter) return nullptr;
  const CounterCurve& curve = trace.facts->counters[*strip.counter];
  return curve.times().empty() ? nullptr : &curve;
}

}  // namespace

void DrawCounter(Frame& frame, const TimelineScene& scene, const TimelineStrip& strip,
                 ImDrawList& list) {
  const CounterCurve* curve = CurveOf(scene.traces[strip.trace], strip);
  const auto whole = curve == nullptr ? std::nullopt : curve->whole();
  if (whole) CounterPainter(frame, scene, strip, *curve, *whole, list).Draw();
}

std::string CounterTitle(const TimelineScene& scene, const TimelineStrip& strip) {
  const TimelineTrace& trace = scene.traces[strip.trace];
  const profiler::EventStore& store = trace.model->store();
  const profiler::Counter& counter = store.counters()[*strip.counter];
  const CounterCurve* curve = CurveOf(trace, strip);
  const auto whole = curve == nullptr ? std::nullopt : curve->whole();
  const std::string unit(store.text(counter.unit));
  return fmt::format("{}\n{}", store.text(counter.name),
                     whole ? CounterRangeText(*whole, unit) : "no samples");
}

void DrawCounterHover(Frame& frame, const TimelineScene& scene, const TimelineStrip& strip,
                      double time) {
  const TimelineTrace& trace = scene.traces[strip.trace];
  const CounterCurve* curve = CurveOf(trace, strip);
  if (curve == nullptr) return;
  const profiler::EventStore& store = trace.model->store();
  const auto at = curve->At(static_cast<int64_t>(time) - trace.shift);
  if (!at || !ImGui::BeginTooltip()) return;
  const profiler::Counter& counter = store.counters()[*strip.counter];
  const std::string unit(store.text(counter.unit));
  const double value = curve->values()[*at];
  const auto secondary = [&](const std::string& text) {
    Label(frame.theme, Color::kTextSecondary, text);
  };
  ImGui::PushFont(frame.strong, 0);
  Label(SafeText(store.text(counter.name), 100));
  ImGui::PopFont();
  const std::string shown = CounterText(value, unit), exact = ExactCounterText(value, unit);
  Label(shown == exact ? shown : fmt::format("{} ({})", shown, exact));
  const std::span<const int64_t> times = curve->times();
  const auto moment = [&](int64_t when) { return ExactTimeText(when - store.range().begin); };
  secondary(*at + 1 < times.size()
                ? fmt::format("from {} to {}", moment(times[*at]), moment(times[*at + 1]))
                : fmt::format("since {} (last sample)", moment(times[*at])));
  secondary(fmt::format("{} of {}", CountText(static_cast<int64_t>(*at) + 1),
                        CountedText(std::ssize(times), "sample")));
  ImGui::EndTooltip();
  if (const auto whole = curve->whole()) {
    const float x = scene.XOf(time), y = CounterScale(scene, strip, *whole).YOf(value);
    ImGui::GetWindowDrawList()->AddCircleFilled(ImVec2(x, y), 3 * scene.scale,
                                                frame.theme[Color::kText]);
  }
}

}  // namespace hloscope::viewer
