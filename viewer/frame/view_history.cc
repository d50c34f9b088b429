// Steps of undo.
#include "viewer/frame/view_history.h"

#include <imgui/imgui.h>

#include <utility>

namespace hloscope::viewer {
namespace {

// Something is typed, clicked or turned in this frame.
bool HasInput() {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel != 0 || io.MouseWheelH != 0 || !io.InputQueueCharacters.empty()) return true;
  for (ImGuiMouseButton button = 0; button < ImGuiMouseButton_COUNT; ++button) {
    if (ImGui::IsMouseDown(button) || ImGui::IsMouseReleased(button)) return true;
  }
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; ++key) {
    if (ImGui::IsKeyDown(static_cast<ImGuiKey>(key))) return true;
  }
  return false;
}

}  // namespace

bool ViewState::IsKeptAs(const ViewState& kept) const {
  return screen == kept.screen && dark == kept.dark && zoom == kept.zoom && views == kept.views;
}

ViewState ViewHistory::Capture() const {
  ViewState state{.screen = dock_.screen(),
                  .dark = appearance_.theme().dark(),
                  .zoom = appearance_.zoom(),
                  .views = {},
                  .arrangements = {}};
  for (const Dock::Panel& panel : dock_.panels()) {
    state.views.push_back(panel.view->State());
    state.arrangements.push_back(panel.view->Arrangement());
  }
  return state;
}

void ViewHistory::Restore(const ViewState& state) {
  dock_.SetScreen(state.screen);
  appearance_.Set(state.dark, state.zoom);
  for (size_t i = 0; i < state.views.size() && i < dock_.panels().size(); ++i) {
    View& view = *dock_.panels()[i].view;
    if (view.State() != state.views[i]) view.SetState(state.views[i]);
    if (view.Arrangement() != state.arrangements[i]) view.SetArrangement(state.arrangements[i]);
  }
}

void ViewHistory::Undo(bool forward) {
  const ViewState before = Capture();
  while (forward ? states_.Forward() : states_.Back()) {
    Restore(states_.current());
    ViewState now = Capture();
    const bool changed = now != before;
    states_.Replace(std::move(now));
    if (changed) return;
  }
}

// A change that is still going on (a drag, a word being typed) is one step of undo; a camera that
// follows the selection, or a picture that is there at last, is none.
void ViewHistory::Remember(uint64_t selection_version) {
  constexpr int kFrames = 4;  // between a cause and what comes of it
  ++frame_;
  if (HasInput()) input_frame_ = frame_;
  if (std::exchange(selection_version_, selection_version) != selection_version)
    selection_frame_ = frame_;
  ViewState now = Capture();
  const ViewState& last = states_.current();
  if (now == last || ImGui::IsAnyMouseDown() || ImGui::GetIO().WantTextInput) return;
  const auto was_lately = [this](int frame) { return frame_ - frame < kFrames; };
  const bool by_program =
      was_lately(selection_frame_) || (was_lately(found_frame_) && !was_lately(input_frame_));
  const bool is_look = now.screen != last.screen || now.dark != last.dark || now.zoom != last.zoom;
  // Turning the wheel is one step, however far.
  const bool by_wheel = ImGui::GetIO().MouseWheel != 0 && now.IsKeptAs(last);
  const bool goes_on = by_wheel && wheel_step_;
  if ((by_program && !is_look) || goes_on) {
    states_.Replace(std::move(now));
  } else {
    states_.Push(std::move(now));
  }
  wheel_step_ = by_wheel;
}

}  // namespace hloscope::viewer
