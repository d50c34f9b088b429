// The tooltip of an event: times, instruction, the other trace, the critical path, arguments.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/timeline/timeline_painter.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using profiler::EventId;
using profiler::EventStore;
using profiler::PathStep;

class HoverText {
 public:
  HoverText(Frame& frame, const TimelineScene& scene, const SecondTrace& second,
            const TimelinePoint& at)
      : frame_(frame),
        scene_(scene),
        second_(second),
        at_(at),
        model_(*scene.traces[at.trace].model),
        target_(model_.attribution->TargetOf(at.event)) {}

  void Draw() const {
    const EventStore& store = model_.store();
    ImGui::PushFont(frame_.strong, 0);
    Label(SafeText(store.text(store.name(at_.event)), 100));
    ImGui::PopFont();
    Label(fmt::format("{} at {}", TimeText(static_cast<double>(store.duration(at_.event))),
                      ExactTimeText(store.start(at_.event) - store.range().begin)));
    DrawInstruction();
    DrawPartner();
    DrawPathStep();
    DrawArguments();
  }

 private:
  void Secondary(std::string_view text) const { Label(frame_.theme, Color::kTextSecondary, text); }

  void DrawInstruction() const {
    if (!target_.valid()) return;
    const profiler::AttributedModule& owner = model_.attribution->modules()[target_.module];
    Secondary(fmt::format("{}: {} ({})", owner.name, owner.module->name(target_.instruction),
                          hlo::ToString((*owner.module)[target_.instruction].opcode)));
  }

  // What the same instruction takes in the other trace.
  void DrawPartner() const {
    if (second_.model == nullptr || !target_.valid()) return;
    const TimelineTrace& other = scene_.traces[1 - at_.trace];
    const profiler::Target partner = PartnerOf(scene_, second_, at_);
    const profiler::InstructionTime* time =
        partner.valid() ? other.model->attribution->TimeOf(partner.module, partner.instruction)
                        : nullptr;
    if (time == nullptr) {
      Secondary(other.label + ": no event of this instruction");
      return;
    }
    const double mean =
        static_cast<double>(time->total) / static_cast<double>(std::max<int64_t>(time->count, 1));
    Secondary(fmt::format("{}: {} × {} on average", other.label, time->count, TimeText(mean)));
  }

  // Why the event is on the critical path.
  void DrawPathStep() const {
    if (scene_.path == nullptr || at_.trace != 0 || !scene_.path->Has(at_.event, 1)) return;
    const std::vector<PathStep>& steps = scene_.path->path.steps;
    const auto from =
        std::ranges::lower_bound(steps, model_.store().start(at_.event), {}, &PathStep::end);
    const auto step = std::ranges::find(from, steps.end(), at_.event, &PathStep::event);
    if (step == steps.end()) return;
    std::string text = "on the critical path";
    if (step->wait > 0)
      text += fmt::format(", after {} of waiting", TimeText(static_cast<double>(step->wait)));
    Label(text);
    Secondary(fmt::format("{}: {}", CertaintyOf(step->link), ExplanationOf(step->link)));
  }

  void DrawArguments() const {
    size_t shown = 0;
    for (const profiler::Argument& argument : model_.store().Arguments(at_.event)) {
      if (argument.name.starts_with('_') || ++shown > 12) continue;
      const std::string value = std::visit(
          [](const auto& v) { return SafeText(fmt::format("{}", v), 80); }, argument.value);
      Secondary(fmt::format("{} = {}", SafeText(argument.name, 40), value));
    }
  }

  Frame& frame_;
  const TimelineScene& scene_;
  const SecondTrace& second_;
  const TimelinePoint& at_;
  const ProfileModel& model_;
  const profiler::Target target_;
};

}  // namespace

void DrawLaneHover(Frame& frame, const TimelineScene& scene) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const TimelineStrip* strip = scene.StripAt(mouse.y);
  if (strip == nullptr || strip->is_head()) return;
  const EventStore& store = scene.traces[strip->trace].model->store();
  if (mouse.x >= scene.left) {
    if (strip->counter) DrawCounterHover(frame, scene, *strip, scene.TimeAt(mouse.x));
  } else {
    strip->counter ? Help(CounterTitle(scene, *strip))
                   : Help(store.text(store.lanes()[strip->lane.index].name));
  }
}

void DrawTimelineHover(Frame& frame, const TimelineScene& scene, const SecondTrace& second,
                       const TimelinePoint& at) {
  if (!at.event.valid() || !ImGui::BeginTooltip()) return;
  HoverText(frame, scene, second, at).Draw();
  ImGui::EndTooltip();
}

}  // namespace hloscope::viewer
