// Dock: the panels of each screen, where views.def puts them until the user moves them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class Dock {
 public:
  Dock();

  struct Panel {
    const ViewRow* row = nullptr;
    std::unique_ptr<View> view;
    // Its position in the last frame, in pixels; empty where it was not drawn.
    float x = 0, y = 0, width = 0, height = 0;
    bool was_hidden = false;  // in the last frame: its area had nothing to show
    float share = 0;          // of the height of its area, before it was a strip; 0: not known
    std::optional<bool> was_strip = {};  // where it was last made to fit
  };
  std::vector<Panel>& panels() { return panels_; }
  Panel* Find(std::string_view view_id);

  const std::string& screen() const { return screen_; }
  void SetScreen(std::string_view id);
  // A screen was requested: the one of the last time is not wanted any more.
  bool is_chosen() const { return is_chosen_; }
  // Brings a panel to the front on the current screen, or on the first that has it, and gives it
  // the keys.
  void Focus(std::string_view view_id);
  void FocusNext();
  // Puts the panels of this screen where the table says, in the next frame.
  void Reset() {
    wants_reset_ = true;
    is_unfolded_ = folds_again_ = false;
  }
  const std::string& focused_view() const { return focused_view_; }
  // A tab is to come to the front in the next frame.
  bool is_changing() const { return front_frames_ > 0; }
  // The one with the keys, or that had them before a popup took them; empty: none had on this
  // screen.
  std::string acting_view() const;
  // The one in front at a point of the window, in pixels; empty: there is none.
  std::string ViewAt(float x, float y) const;

  // Draws every panel of the current screen into the room between the bars.
  void Draw(Frame& frame, float top, float bottom);

 private:
  void BuildLayout(unsigned dock, float width, float height, float scale);
  std::string_view CentreView() const;
  std::string_view SeenCentreView() const;
  void Unfold();
  bool IsFolded() const { return is_narrow_ && !is_unfolded_; }
  bool HasContent(const Frame& frame, std::string_view area) const;
  bool IsHidden(const Frame& frame, const Panel& panel) const;
  void BringToFront(const Panel& panel);
  void DrawFold(Frame& frame, float top);
  void SizeStrip(const Frame& frame, Panel& panel) const;
  void DrawPanel(Frame& frame, Panel& panel);

  std::vector<Panel> panels_;
  std::string screen_ = "home", focused_view_, wanted_focus_ = "home";
  std::vector<std::string> wanted_front_;          // views whose tabs are to be in front …
  int front_frames_ = 0;                           // … in so many frames more
  std::map<std::string, std::string> last_focus_;  // view by screen
  std::set<std::string> built_;                    // screens whose layout is there
  bool wants_reset_ = false, is_chosen_ = false;
  // In a narrow window the side of the graphs is folded until its panels are asked for.
  bool is_narrow_ = false, is_unfolded_ = false;
  // Next panel was asked for; the side came out for that alone.
  bool passes_by_ = false, folds_again_ = false;
};

// "centre" for ("graph:left home:centre", "home"); empty where the view is not on that screen.
std::string_view AreaOn(const ViewRow& row, std::string_view screen);

}  // namespace hloscope::viewer
