// Which of the three graphs are shown, and how.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/commands/commands.h"
#include "viewer/graph/graph_data.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// From left to right. There is a source only where the stage in view is not the first.
enum GraphPicture : uint8_t { kSource, kFusions, kDevices, kShownCount };
inline constexpr std::array<const char*, kShownCount> kGraphTitles = {
    "What you wrote", "What was fused", "Where it runs"};

struct GraphLook {
  ColorMode mode = ColorMode::kKernel;
  bool linked = true, minimap = true;
  bool contents = true;  // large programs as rows
  std::array<bool, kShownCount> shown = {true, true, true};
  std::array<float, kShownCount> share = {1, 0.9f, 0.75f};  // of the width

  // For the next start; what cannot be read is ignored.
  std::string Text() const;
  void SetText(std::string_view text);
  bool IsShown(size_t which, bool has_source) const {
    return shown[which] && (which != kSource || has_source);
  }
  std::vector<size_t> ShownNow(bool has_source) const;
  // Shows or hides one; one of the three always stays.
  void Toggle(size_t which);
  // Commands that change what is here; true if it was one.
  bool Run(Command command);
};

// The buttons for all that; where rows are shown only what concerns them, where there is little
// room without the two below.
struct LookBarRoom {
  bool has_source = false, is_large = false, shows_rows = false, is_narrow = false;
};
void DrawLookBar(Frame& frame, GraphLook& look, const LookBarRoom& room);
void DrawColorMenu(Frame& frame, GraphLook& look);
void DrawCameraButtons(GraphLook& look, bool side_by_side);

}  // namespace hloscope::viewer
