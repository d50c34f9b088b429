#include "viewer/timeline/timeline_scene.h"

#include <algorithm>
#include <iterator>

#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"

namespace hloscope::viewer {
namespace {

using profiler::EventId;

bool Contains(const std::vector<uint32_t>& modules, uint32_t module) {
  return std::ranges::find(modules, module) != modules.end();
}
void Append(const std::vector<hlo::InstructionId>& from, std::vector<hlo::InstructionId>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

void FindPartners(const SecondTrace& found, TimelineScene& scene) {
  const TimelineTrace& first = scene.traces[0];
  TimelineTrace& second = scene.traces[1];
  second.highlighted.clear();
  second.highlighted_modules.clear();
  if (second.model == nullptr) return;
  for (hlo::InstructionId id : first.highlighted) {
    const profiler::Target partner = found.partners->PartnerOf(
        false, {.module = first.highlighted_modules[0], .instruction = id});
    if (!partner.valid()) continue;
    second.highlighted_modules = {partner.module};
    second.highlighted.push_back(partner.instruction);
  }
}

int64_t CountHighlighted(TimelineTrace& trace) {
  int64_t count = 0;
  for (hlo::InstructionId id : trace.highlighted) {
    for (const uint32_t module : trace.highlighted_modules) {
      const profiler::InstructionTime* time = trace.model->attribution->TimeOf(module, id);
      if (time != nullptr) count = std::max(count, time->count);
    }
  }
  if (count == 0) trace.highlighted.clear();
  return count;
}

}  // namespace

float TimelineScene::XOf(double time) const {
  return left + static_cast<float>(std::clamp(camera.XOf(time, width), -1e4, 1e5));
}

profiler::TimeRange TimelineScene::InSight(const TimelineTrace& trace) const {
  const auto begin = static_cast<int64_t>(camera.begin()) - trace.shift;
  return {begin, begin + static_cast<int64_t>(camera.length())};
}

const TimelineStrip* TimelineScene::StripAt(float y) const {
  return y < top ? nullptr : rows.At((y - top) / scale + scroll);
}

TimelinePoint TimelineScene::PointAt(float x, float y) const {
  const TimelineStrip* strip = StripAt(y);
  if (strip == nullptr || !strip->row || x < left) return {};
  const TimelineTrace& trace = traces[strip->trace];
  const auto tolerance = static_cast<int64_t>(camera.length() / width * 3);
  const auto time = static_cast<int64_t>(TimeAt(x)) - trace.shift;
  return {strip->trace, trace.model->store().EventAt(*strip->row, time, tolerance)};
}

profiler::Target PartnerOf(const TimelineScene& scene, const SecondTrace& second,
                           const TimelinePoint& at) {
  if (second.model == nullptr) return {};
  const ProfileModel& model = *scene.traces[at.trace].model;
  return second.partners->PartnerOf(at.trace == 1, model.attribution->TargetOf(at.event));
}

EventId SelectedEvent(const Context& context, const TimelineScene& scene) {
  const Selection& now = context.navigation.selection();
  if (now.kind != SelectionKind::kEvent || now.event < 0) return {};
  const auto index = static_cast<uint64_t>(now.event);
  return index < scene.first().model->store().size() ? EventId(static_cast<size_t>(index))
                                                     : EventId();
}

Selection SelectionAt(const TimelineScene& scene, const SecondTrace& second,
                      const TimelinePoint& at) {
  const ProfileModel& first = *scene.first().model;
  if (at.trace == 0) return SelectionOf(first, at.event);
  const profiler::Target partner = PartnerOf(scene, second, at);
  if (!partner.valid()) return {};
  const auto& [module, stage] = first.places[partner.module];
  if (module >= 0) return Selection::OfInstruction(module, stage, partner.instruction);
  const profiler::InstructionTime* time =
      first.attribution->TimeOf(partner.module, partner.instruction);
  return time == nullptr ? Selection() : SelectionOf(first, time->longest);
}

profiler::TimeRange StepAt(const TimelineTrace& trace, int64_t time) {
  if (trace.facts == nullptr) return {};
  const std::vector<TimelineStep>& steps = trace.facts->steps;
  const auto next = std::ranges::upper_bound(steps, time, {}, &TimelineStep::begin);
  if (next == steps.begin()) return {};
  const int64_t end = next == steps.end() ? trace.model->store().range().end : next->begin;
  return {std::prev(next)->begin, end};
}

std::string_view RangeWord(const Context& context, const TimelineScene& scene) {
  const TimelineRange& marked = context.marks.Of<TimelineMarks>().range;
  if (!marked.is_set) return "trace";
  const bool is_step = StepAt(scene.first(), marked.range.begin) == marked.range;
  return is_step ? std::string_view(scene.first().facts->step_word) : "range";
}

std::array<int64_t, kTimelineTraces> FindHighlighted(Context& context, const SecondTrace& second,
                                                     TimelineScene& scene) {
  const Counterparts& found = context.navigation.counterparts();
  TimelineTrace& first = scene.traces[0];
  const ProfileModel& model = *first.model;
  first.highlighted.clear();
  first.highlighted_modules = model.ModulesFor(found.module);
  const int32_t stage = model.StageFor(found.module);
  first.selected = SelectedEvent(context, scene);
  if (first.selected.valid()) {
    const profiler::Target target = model.attribution->TargetOf(first.selected);
    if (target.valid() && !Contains(first.highlighted_modules, target.module))
      first.highlighted_modules = {target.module};
    if (target.valid()) first.highlighted.push_back(target.instruction);
  }
  if (context.navigation.selection().kind > SelectionKind::kStage) {
    if (stage == found.final_stage) Append(found.kernel_instructions, first.highlighted);
    Append(found.AllIn(stage), first.highlighted);
  }
  if (first.highlighted_modules.empty()) first.highlighted.clear();
  FindPartners(second, scene);
  std::array<int64_t, kTimelineTraces> events = {};
  for (size_t t = 0; t < kTimelineTraces; ++t) events[t] = CountHighlighted(scene.traces[t]);
  return events;
}

}  // namespace hloscope::viewer
