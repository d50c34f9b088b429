// RowCursor: the selected row of a table that scrolls: moved by keys, and kept in view.
#pragma once

#include <cstdint>
#include <functional>

#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// What a table of the selection's rows is drawn from; rows are numbered from the top.
struct TableRows {
  int count = 0;
  // The selection itself, and what stands for it.
  std::function<bool(int)> is_selected, is_highlighted;
  std::function<void(int)> choose;  // as a click on the row
  std::function<void(int)> draw;
};

// Up, Down, Page Up and Page Down of the panel with the keys choose the row so far from the
// selected one, without it from the highlighted one, else the first. What is selected anywhere is
// scrolled to once.
class RowCursor {
 public:
  // Between the headers of a table and ImGui::EndTable; draws the rows in sight.
  void Draw(Frame& frame, const TableRows& rows);
  // Scrolls to the selected row once more.
  void Follow() { followed_ = UINT64_MAX; }

 private:
  uint64_t followed_ = UINT64_MAX;  // version of the selection that was looked for
  bool had_rows_ = false;           // then
  bool was_complete_ = false;       // all that stands for the selection was known
  bool found_ = false;              // a row of that version
  int frames_ = 0;                  // in which it is looked for still
};

}  // namespace hloscope::viewer
