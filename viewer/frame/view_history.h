// ViewHistory: undo of changes of the look.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viewer/frame/appearance.h"
#include "viewer/frame/dock.h"
#include "viewer/model/history.h"

namespace hloscope::viewer {

/// What undo takes back.
struct ViewState {
  std::string screen;
  bool dark = true;
  float zoom = 1;
  std::vector<std::string> views;
  std::vector<std::string> arrangements;  // by view
  bool operator==(const ViewState&) const = default;
  bool IsKeptAs(const ViewState& kept) const;  // but for the arrangements, which are not kept
};

/// Undo of what changes the look of the window: screens, filters, cameras, theme.
class ViewHistory {
 public:
  ViewHistory(Dock& dock, Appearance& appearance) : dock_(dock), appearance_(appearance) {}

  ViewState Capture() const;
  void Reset() { states_.Reset(Capture()); }
  /// Back, or forward again. What a view cannot take back (of a graph that is not there any more)
  /// is skipped, on to something that changes.
  void Undo(bool forward);
  /// Something came from the background in this frame.
  void NoteFound() { found_frame_ = frame_; }
  /// Once a frame, after it is drawn. `selection_version` grows with each selection.
  void Remember(uint64_t selection_version);

 private:
  void Restore(const ViewState& state);

  Dock& dock_;
  Appearance& appearance_;
  History<ViewState> states_;
  int frame_ = 0;
  // The last frames in which something was typed or clicked, selected, or came from the background.
  int input_frame_ = 0, selection_frame_ = 0, found_frame_ = 0;
  uint64_t selection_version_ = 0;
  bool wheel_step_ = false;  // the last step was made by the wheel
};

}  // namespace hloscope::viewer
