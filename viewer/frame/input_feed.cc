// Steps of input: what one frame of ImGui can take without mixing up before and after.
#include "viewer/frame/input_feed.h"

#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>

namespace hloscope::viewer {
namespace {

bool IsModifier(ImGuiKey key) {
  return (key & ImGuiMod_Mask_) != 0 || (key >= ImGuiKey_LeftCtrl && key <= ImGuiKey_RightSuper);
}

// What ImGui will know when it comes to an event: whether a field takes text, and what is held.
class Reader {
 public:
  explicit Reader(const ImGuiIO& io)
      : takes_text_(io.WantTextInput), held_(io.KeyMods & ~static_cast<int>(ImGuiMod_Shift)) {}

  void Note(const ImGuiInputEvent& event) {
    if (event.Type != ImGuiInputEventType_Key) return;
    const int modifier = event.Key.Key & (ImGuiMod_Ctrl | ImGuiMod_Alt | ImGuiMod_Super);
    held_ = event.Key.Down ? held_ | modifier : held_ & ~modifier;
  }
  // Of a letter or the like that goes down where its text follows: any number fit into one frame.
  bool IsTyped(const ImGuiInputEvent& event) const {
    if (!takes_text_ || held_ != 0 || event.Type != ImGuiInputEventType_Key) return false;
    const ImGuiKey key = event.Key.Key;
    return event.Key.Down && ((key >= ImGuiKey_0 && key <= ImGuiKey_Z) || key == ImGuiKey_Space);
  }
  // Of what may open, close or give the keys to something else.
  bool IsPress(const ImGuiInputEvent& event) const {
    if (event.Type == ImGuiInputEventType_MouseButton) return true;
    return event.Type == ImGuiInputEventType_Key && event.Key.Down && !IsModifier(event.Key.Key) &&
           !IsTyped(event);
  }

 private:
  bool takes_text_;
  int held_;
};

bool IsMovement(const ImGuiInputEvent& event) {
  return event.Type == ImGuiInputEventType_MousePos || event.Type == ImGuiInputEventType_MouseWheel;
}

}  // namespace

InputFeed::InputFeed() = default;
InputFeed::~InputFeed() = default;

bool InputFeed::Take(ImGuiContext& context) {
  ImVector<ImGuiInputEvent>& queue = context.InputEventsQueue;
  left_over_ = ImMin(left_over_, queue.Size);
  for (int i = left_over_; i < queue.Size; ++i) Append(queue[i]);
  queue.resize(left_over_);
  return waiting(context);
}

// Movements of the pointer and the wheel with nothing between them are one: a slow frame catches up
// with the hand at once.
void InputFeed::Append(const ImGuiInputEvent& event) {
  for (auto last = pending_.rbegin();
       IsMovement(event) && last != pending_.rend() && IsMovement(*last); ++last) {
    if (last->Type != event.Type) continue;
    if (event.Type == ImGuiInputEventType_MousePos) {
      last->MousePos = event.MousePos;
    } else {
      last->MouseWheel.WheelX += event.MouseWheel.WheelX;
      last->MouseWheel.WheelY += event.MouseWheel.WheelY;
    }
    return;
  }
  pending_.push_back(event);
}

size_t InputFeed::NextStep(const ImGuiContext& context) const {
  bool acted = false, pressed = false;
  Reader reader(context.IO);
  for (size_t i = 0; i < pending_.size(); ++i) {
    const ImGuiInputEvent& event = pending_[i];
    reader.Note(event);
    switch (event.Type) {
      case ImGuiInputEventType_MousePos:
        if (acted) return i;
        break;
      case ImGuiInputEventType_MouseWheel:
        if (pressed) return i;
        acted = true;
        break;
      case ImGuiInputEventType_MouseButton:
        return acted ? i : i + 1;
      case ImGuiInputEventType_Key:
        if (pressed) return i;
        acted = true;
        pressed = reader.IsPress(event);
        break;
      default:  // text goes with its key
        break;
    }
  }
  return pending_.size();
}

void InputFeed::Feed(ImGuiContext& context) {
  if (context.InputEventsQueue.Size > 0) return;
  if (rest_ > 0) {
    --rest_;
    return;
  }
  constexpr int kRest = 2;  // a popup appears in one frame and has the keys in the next
  const auto step = pending_.begin() + static_cast<ptrdiff_t>(NextStep(context));
  Reader reader(context.IO);
  for (auto event = pending_.begin(); event != step; ++event) {
    reader.Note(*event);
    if (reader.IsPress(*event)) rest_ = kRest;
    // The text says it: a key for each letter would take a frame for each.
    if (!reader.IsTyped(*event)) context.InputEventsQueue.push_back(*event);
  }
  pending_.erase(pending_.begin(), step);
}

void InputFeed::Leave(const ImGuiContext& context) { left_over_ = context.InputEventsQueue.Size; }

bool InputFeed::waiting(const ImGuiContext& context) const {
  return !pending_.empty() || context.InputEventsQueue.Size > 0;
}

}  // namespace hloscope::viewer
