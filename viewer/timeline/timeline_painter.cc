// Slices are kept while nothing moves.
#include "viewer/timeline/timeline_painter.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>

#include "viewer/facts/path_facts.h"
#include "viewer/model/marks.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

using profiler::EventId;
using profiler::EventStore;
using profiler::Slice;
using profiler::TimeRange;

constexpr double kNarrowest = 2.5;  // pixels of an event that is drawn by itself

// What every event of the highlighted instructions is, by time, for the marks on the axis.
struct HighlightedEvents {
  std::vector<EventId> events;  // by start
};
struct HighlightedKey {
  using Value = HighlightedEvents;
  std::string path;
  std::vector<uint32_t> modules, instructions;
  auto operator<=>(const HighlightedKey&) const = default;
};

void TimelinePainter::Draw(Frame& frame, const TimelineScene& scene) {
  scene_ = &scene;
  DrawStrips(frame);
  DrawMarked(frame);
  DrawAxis(frame);
}

bool TimelinePainter::IsHighlighted(const TimelineTrace& trace, EventId e) {
  if (trace.highlighted.empty()) return false;
  const profiler::Target target = trace.model->attribution->TargetOf(e);
  return target.valid() &&
         std::ranges::find(trace.highlighted_modules, target.module) !=
             trace.highlighted_modules.end() &&
         std::ranges::find(trace.highlighted, target.instruction) != trace.highlighted.end();
}

void TimelinePainter::Collect(size_t first, size_t last) {
  const TimeRange range = scene_->camera.range();
  if (!drawn_.empty() && drawn_range_ == range && drawn_first_ == first && drawn_last_ == last &&
      drawn_width_ == scene_->width) {
    return;
  }
  drawn_range_ = range;
  drawn_first_ = first;
  drawn_last_ = last;
  drawn_width_ = scene_->width;
  drawn_.clear();
  slices_.clear();
  // A power of two, so that slices stay the same ones while the picture is moved and a little
  // zoomed.
  const double wanted =
      std::max(scene_->camera.length() / scene_->width * kNarrowest * scene_->scale, 1.0);
  const auto resolution = static_cast<int64_t>(std::exp2(std::floor(std::log2(wanted))));
  for (size_t s = first; s < last; ++s) {
    const TimelineStrip& strip = scene_->rows.strips()[s];
    if (!strip.row) continue;
    const size_t begin = slices_.size();
    const TimelineTrace& trace = scene_->traces[strip.trace];
    const TimeRange own{range.begin - trace.shift, range.end - trace.shift};
    trace.model->store().AppendSlices(*strip.row, own, resolution, slices_);
    drawn_.push_back({s, begin, slices_.size()});
  }
}

void TimelinePainter::DrawStrips(Frame& frame) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float bottom = scene_->top + scene_->height;
  list.AddRectFilled(ImVec2(scene_->left, scene_->top),
                     ImVec2(scene_->left + scene_->width, bottom), frame.theme[Color::kCanvas]);
  const auto [first, last] =
      scene_->rows.Between(scene_->scroll, scene_->scroll + scene_->height / scene_->scale);
  Collect(first, last);
  list.PushClipRect(ImVec2(scene_->left - kTimelineGutter * scene_->scale, scene_->top),
                    ImVec2(scene_->left + scene_->width, bottom), true);
  for (size_t s = first; s < last; ++s) DrawStripHead(frame, scene_->rows.strips()[s], list);
  list.PopClipRect();
  list.PushClipRect(ImVec2(scene_->left, scene_->top), ImVec2(scene_->left + scene_->width, bottom),
                    true);
  for (const Drawn& drawn : drawn_) {
    for (size_t i = drawn.first; i < drawn.last; ++i)
      DrawSlice(frame, scene_->rows.strips()[drawn.strip], slices_[i], list);
  }
  for (size_t s = first; s < last; ++s) DrawCounter(frame, *scene_, scene_->rows.strips()[s], list);
  DrawPathLines(frame, list);
  list.PopClipRect();
}

void TimelinePainter::DrawStripHead(Frame& frame, const TimelineStrip& strip,
                                    ImDrawList& list) const {
  const TimelineTrace& trace = scene_->traces[strip.trace];
  const EventStore& store = trace.model->store();
  const float y = scene_->YOf(strip), x = scene_->left - kTimelineGutter * scene_->scale;
  if (strip.is_head()) {
    list.AddRectFilled(
        ImVec2(x, y),
        ImVec2(scene_->left + scene_->width, y + TimelineRows::kHeadHeight * scene_->scale),
        frame.theme[Color::kRaised]);
    std::string name = scene_->rows.is_folded(strip) ? "▸ " : "▾ ";
    if (!trace.label.empty()) name += trace.label + ": ";
    name += SafeText(store.text(store.groups()[strip.group].name), 80);
    list.AddText(ImVec2(x + 6 * scene_->scale, y + 3 * scene_->scale), frame.theme[Color::kText],
                 name.c_str());
    return;
  }
  if (!strip.is_first_of_lane && !strip.counter) return;
  list.AddLine(ImVec2(x, y - 2 * scene_->scale),
               ImVec2(scene_->left + scene_->width, y - 2 * scene_->scale),
               frame.theme.With(Color::kLine, 0.6F));
  const std::string title = strip.counter
                                ? CounterTitle(*scene_, strip)
                                : std::string(store.text(store.lanes()[strip.lane.index].name));
  float line = y + 1 * scene_->scale;
  for (std::string_view rest = title; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::string name = Fitted(part, (kTimelineGutter - 18) * scene_->scale);
    list.AddText(ImVec2(x + 12 * scene_->scale, line), frame.theme[Color::kTextSecondary],
                 name.c_str());
    line += 17 * scene_->scale;
  }
}

std::string TimelinePainter::Fitted(std::string_view name, float room) {
  for (size_t most = 60; most > 8; most -= 2) {
    std::string text = SafeText(name, most);
    if (ImGui::CalcTextSize(text.c_str()).x <= room) return text;
  }
  return SafeText(name, 8);
}

Color ColorOf(TimelineCategory category) {
  static constexpr Color kColors[] = {
#define TIMELINE_CATEGORY(category, word, color) Color::color,
#include "viewer/facts/timeline_categories.def"
#undef TIMELINE_CATEGORY
  };
  return kColors[static_cast<size_t>(category)];
}

Color TimelinePainter::ColorOfEvent(const TimelineTrace& trace, EventId e) {
  if (trace.facts == nullptr) return Color::kFusion;
  return ColorOf(CategoryOf(*trace.model, *trace.facts, e));
}

void TimelinePainter::DrawSlice(Frame& frame, const TimelineStrip& strip, const Slice& slice,
                                ImDrawList& list) const {
  const TimelineTrace& trace = scene_->traces[strip.trace];
  const auto shift = static_cast<double>(trace.shift);
  const float x0 = scene_->XOf(static_cast<double>(slice.begin) + shift);
  const float x1 = std::max(scene_->XOf(static_cast<double>(slice.end) + shift), x0 + 1);
  const float y = scene_->YOf(strip);
  const float bottom = y + (TimelineRows::kRowHeight - 1) * scene_->scale;
  const bool is_highlighted = IsHighlighted(trace, slice.longest);
  const bool is_on_path =
      scene_->path != nullptr && strip.trace == 0 && scene_->path->Has(slice.first, slice.count);
  float strength = !scene_->is_highlighted() || is_highlighted ? 1.0F : 0.4F;
  if (scene_->path != nullptr) strength = is_on_path ? 1.0F : std::min(strength, 0.25F);
  DrawBox(frame, {trace, slice, x0, x1, y, strength}, list);
  const EventId selected = trace.selected;
  const bool is_selected = selected.valid() && slice.first.index <= selected.index &&
                           selected.index < slice.first.index + slice.count;
  const bool is_wide = x1 - x0 >= 8 * scene_->scale;
  if (is_selected || ((is_highlighted || is_on_path) && is_wide)) {
    const Color color = is_selected || is_highlighted ? Color::kAccent : Color::kText;
    list.AddRect(ImVec2(x0, y), ImVec2(x1, bottom), frame.theme[color], 0,
                 (is_selected ? 2.0F : 1.0F) * scene_->scale);
  }
}

void TimelinePainter::DrawBox(Frame& frame, const Placed& placed, ImDrawList& list) const {
  const auto& [trace, slice, x0, x1, y, strength] = placed;
  const float bottom = y + (TimelineRows::kRowHeight - 1) * scene_->scale;
  const Color color = ColorOfEvent(trace, slice.longest);
  const bool is_known = trace.model->attribution->TargetOf(slice.longest).valid();
  if (x1 - x0 < 8 * scene_->scale) {
    const int64_t length = std::max<int64_t>(slice.end - slice.begin, 1);
    const float share = static_cast<float>(slice.busy) / static_cast<float>(length);
    const float alpha = (is_known ? 0.35F + 0.65F * share : 0.35F) * strength;
    list.AddRectFilled(ImVec2(x0, y), ImVec2(x1, bottom), frame.theme.With(color, alpha));
    return;
  }
  list.AddRectFilled(ImVec2(x0, y), ImVec2(x1 - 1, bottom),
                     frame.theme.With(color, (is_known ? 0.34F : 0.2F) * strength));
  list.AddRectFilled(ImVec2(x0, y), ImVec2(x0 + 3 * scene_->scale, bottom),
                     frame.theme.With(color, strength));
  DrawName(frame, placed, list);
}

void TimelinePainter::DrawName(Frame& frame, const Placed& placed, ImDrawList& list) const {
  const auto& [trace, slice, x0, x1, y, strength] = placed;
  const float begin = std::max(x0, scene_->left) + 5 * scene_->scale;
  if (slice.count != 1 || x1 - begin < 24 * scene_->scale) return;
  const EventStore& store = trace.model->store();
  const std::string name = SafeText(store.text(store.name(slice.first)), 120);
  const ImVec4 clip(begin, y, x1 - 2 * scene_->scale, y + TimelineRows::kRowHeight * scene_->scale);
  const float size = 13 * scene_->scale;
  list.AddText(ImGui::GetFont(), size, ImVec2(begin, y + 1 * scene_->scale),
               frame.theme.With(Color::kText, 0.35F + 0.65F * strength), name.c_str(), nullptr, 0,
               &clip);
}

void TimelinePainter::DrawPathLines(Frame& frame, ImDrawList& list) const {
  if (scene_->path == nullptr) return;
  const std::vector<profiler::PathStep>& steps = scene_->path->path.steps;
  const TimeRange range = scene_->camera.range();
  const auto first = std::ranges::lower_bound(steps, range.begin, {}, &profiler::PathStep::end);
  const auto last = std::ranges::lower_bound(steps, range.end, {}, &profiler::PathStep::begin);
  // More than a few a pixel would be a block of colour.
  if (last <= first || last - first > 2000) return;
  const EventStore& store = scene_->first().model->store();
  const ImU32 color = frame.theme.With(Color::kText, 0.7F);
  for (auto step = first; step != last; ++step) {
    if (step == steps.begin()) continue;
    const TimelineStrip* from = scene_->rows.Of(0, store.RowOf(std::prev(step)->event));
    const TimelineStrip* to = scene_->rows.Of(0, store.RowOf(step->event));
    if (from == nullptr || to == nullptr) continue;
    const float middle = TimelineRows::kRowHeight / 2 * scene_->scale;
    list.AddLine(
        ImVec2(scene_->XOf(static_cast<double>(std::prev(step)->end)), scene_->YOf(*from) + middle),
        ImVec2(scene_->XOf(static_cast<double>(step->begin)), scene_->YOf(*to) + middle), color,
        scene_->scale);
  }
}

void TimelinePainter::DrawMarked(Frame& frame) const {
  const TimelineRange& marked = frame.context.marks.Of<TimelineMarks>().range;
  if (!marked.is_set) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float x0 = std::max(scene_->XOf(static_cast<double>(marked.range.begin)), scene_->left);
  const float x1 =
      std::min(scene_->XOf(static_cast<double>(marked.range.end)), scene_->left + scene_->width);
  if (x1 <= x0) return;
  const float axis = scene_->top - scene_->axis * scene_->scale;
  list.AddRectFilled(ImVec2(x0, axis), ImVec2(x1, scene_->top + scene_->height),
                     frame.theme.With(Color::kAccent, 0.14F));
  for (float x : {x0, x1}) {
    list.AddLine(ImVec2(x, axis), ImVec2(x, scene_->top + scene_->height),
                 frame.theme[Color::kAccent]);
  }
}

void TimelinePainter::DrawAxis(Frame& frame) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float axis = scene_->top - scene_->axis * scene_->scale,
              x = scene_->left - kTimelineGutter * scene_->scale;
  std::string base;
  for (const TimelineTick& tick :
       TicksOf(scene_->camera, scene_->width, 110 * scene_->scale, base)) {
    const float at = scene_->XOf(tick.time);
    list.AddLine(ImVec2(at, scene_->top - 5 * scene_->scale),
                 ImVec2(at, scene_->top + scene_->height), frame.theme.With(Color::kLine, 0.7F));
    if (at + ImGui::CalcTextSize(tick.text.c_str()).x + 4 * scene_->scale >
        scene_->left + scene_->width)
      continue;
    list.AddText(ImVec2(at + 4 * scene_->scale, axis + 2 * scene_->scale),
                 frame.theme[Color::kTextSecondary], tick.text.c_str());
  }
  const TimelineRange& marked = frame.context.marks.Of<TimelineMarks>().range;
  std::string left =
      base.empty() ? fmt::format("{} in view", TimeText(scene_->camera.length())) : "from " + base;
  if (marked.is_set) {
    left = fmt::format("{} marked", TimeText(static_cast<double>(marked.range.length())));
  }
  list.AddText(ImVec2(x + 6 * scene_->scale, axis + 2 * scene_->scale),
               frame.theme[Color::kTextSecondary], left.c_str());
  DrawSteps(frame, list);
  DrawMarks(frame, list);
}

// A line where each step begins, its name where there is room.
void TimelinePainter::DrawSteps(Frame& frame, ImDrawList& list) const {
  const TimelineFacts* facts = scene_->first().facts.get();
  if (facts == nullptr) return;
  const std::vector<TimelineStep>& steps = facts->steps;
  const TimeRange range = scene_->camera.range();
  const float y = scene_->top - (kTimelineSteps + 5) * scene_->scale;
  const float end = scene_->left + scene_->width;
  float last_line = -1e9F, free = scene_->left;
  for (auto at = std::ranges::lower_bound(steps, range.begin, {}, &TimelineStep::begin);
       at != steps.end() && at->begin < range.end; ++at) {
    const float x = scene_->XOf(static_cast<double>(at->begin));
    if (x < last_line + 4 * scene_->scale) continue;
    last_line = x;
    const std::string name = SafeText(at->name, 40);
    const std::string text =
        name.starts_with(facts->step_word) ? name : facts->step_word + " " + name;
    const float width = ImGui::CalcTextSize(text.c_str()).x;
    // No line through the name of another step.
    const bool is_named = x >= free && x + width + 4 * scene_->scale <= end;
    list.AddLine(ImVec2(x, is_named ? y : scene_->top), ImVec2(x, scene_->top + scene_->height),
                 frame.theme.With(Color::kAccent, 0.6F), scene_->scale);
    if (!is_named) continue;
    list.AddText(ImVec2(x + 4 * scene_->scale, y), frame.theme[Color::kText], text.c_str());
    free = x + width + 12 * scene_->scale;
  }
}

void TimelinePainter::DrawMarks(Frame& frame, ImDrawList& list) const {
  if (scene_->first().highlighted.empty()) return;
  const Pending<HighlightedEvents>& highlighted = HighlightedOf(frame.context);
  if (!highlighted.ready()) return;
  const EventStore& store = scene_->first().model->store();
  auto at = std::ranges::lower_bound(highlighted->events, scene_->camera.range().begin, {},
                                     [&](EventId e) { return store.start(e); });
  while (at != highlighted->events.end() && store.start(*at) < scene_->camera.range().end) {
    const float x = scene_->XOf(static_cast<double>(store.start(*at)));
    list.AddTriangleFilled(ImVec2(x - 3 * scene_->scale, scene_->top - 6 * scene_->scale),
                           ImVec2(x + 3 * scene_->scale, scene_->top - 6 * scene_->scale),
                           ImVec2(x, scene_->top), frame.theme[Color::kAccent]);
    const auto next = static_cast<int64_t>(scene_->TimeAt(x + 2));
    at = std::lower_bound(at + 1, highlighted->events.end(), next,
                          [&](EventId e, int64_t time) { return store.start(e) < time; });
  }
}

const Pending<HighlightedEvents>& TimelinePainter::HighlightedOf(Context& context) const {
  const TimelineTrace& trace = scene_->first();
  HighlightedKey key{
      .path = trace.model->path, .modules = trace.highlighted_modules, .instructions = {}};
  for (hlo::InstructionId id : trace.highlighted) key.instructions.push_back(id.index);
  return context.cache.Get(
      key, "finding events",
      [shown = trace.model, highlighted = trace.highlighted,
       modules = trace.highlighted_modules](TaskControl&) {
        auto found = std::make_shared<HighlightedEvents>();
        for (hlo::InstructionId id : highlighted) {
          for (const uint32_t module : modules) {
            const std::vector<EventId> events = shown->attribution->EventsOf(module, id);
            found->events.insert(found->events.end(), events.begin(), events.end());
          }
        }
        std::ranges::sort(found->events, {}, [&](EventId e) { return shown->store().start(e); });
        return Result<std::shared_ptr<const HighlightedEvents>>(found);
      });
}

}  // namespace hloscope::viewer
