// InputFeed: hands ImGui what the user did one step at a time, as if every frame were quick. In a
// slow frame a chord, the text typed after it and a click arrive together, and ImGui would give the
// text to whatever had the keys before the chord.
#pragma once

#include <cstddef>
#include <vector>

struct ImGuiInputEvent;
struct ImGuiContext;

namespace hloscope::viewer {

class InputFeed {
 public:
  InputFeed();
  ~InputFeed();
  InputFeed(const InputFeed&) = delete;
  InputFeed& operator=(const InputFeed&) = delete;

  // Takes over what the window system queued since the last frame; true if there was anything.
  bool Take(ImGuiContext& context);
  // Before each ImGui frame: queues the next step, or nothing while the last one is still answered.
  void Feed(ImGuiContext& context);
  // After each ImGui frame.
  void Leave(const ImGuiContext& context);
  // Something waits for another frame.
  bool waiting(const ImGuiContext& context) const;

 private:
  void Append(const ImGuiInputEvent& event);
  // How many events of the front make one step.
  size_t NextStep(const ImGuiContext& context) const;

  std::vector<ImGuiInputEvent> pending_;
  int left_over_ = 0;  // events that ImGui itself put off
  int rest_ = 0;       // frames until what the last step opened has the keys
};

}  // namespace hloscope::viewer
