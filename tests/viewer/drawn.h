// What is drawn while frames are made: every text with the rectangle that cuts it, every control
// with its name. Dear ImGui's own functions are wrapped by the linker (tests/CMakeLists.txt), so
// that nothing is missed that does not go through the widgets of the viewer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hloscope::viewer {

struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;
  bool Contains(float x, float y) const { return left <= x && x < right && top <= y && y < bottom; }
};

struct DrawnText {
  std::string window;    // its name, as "Memory###memory.memory"
  std::string text;      // all of it, also what does not show
  Box box;               // where all of it would be
  Box seen;              // the part of it that is inside what it is clipped to
  float size = 0;        // of its font, in pixels
  bool elided = false;   // Dear ImGui put "…" at its end
  bool is_code = false;  // in the font whose characters are all as wide
  bool scrolls = false;  // its window can be moved sideways

  // Some of it cannot be read, or the viewer put "…" in its place.
  bool is_cut(float scale) const;
};

// A filled rectangle, such as a node of a graph or the ground of a text.
struct DrawnArea {
  std::string window;
  Box seen;
};

enum class ControlKind { kControl, kRow, kCanvas };

struct DrawnControl {
  std::string window, label;  // the label as the code gives it, "Run##again"
  Box seen;
  ControlKind kind = ControlKind::kControl;  // rows and nodes of trees are data, canvases pictures
};

// Of the last frame that was made; hidden windows are left out.
std::vector<DrawnText> DrawnTexts();
std::vector<DrawnArea> DrawnAreas();
std::vector<DrawnControl> DrawnControls();
// Controls are noted from the next frame on, until the viewer ends: Dear ImGui names them only
// where somebody listens.
void NoteControls();
// The lines of the tooltip; empty: there is none.
std::string DrawnTooltip();

}  // namespace hloscope::viewer
