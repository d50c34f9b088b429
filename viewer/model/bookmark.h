// Bookmark: a selection that the user has kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "viewer/model/anchor.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

/// A selection that the user has kept, with a note.
struct Bookmark {
  std::string title, note;
  Selection selection;  // in this reading of the dump; kNothing: it is not there
  Anchor anchor = {};   // what it is; kNothing: not named yet, which Session does in the background
  bool operator==(const Bookmark&) const = default;
  bool is_named() const {
    return anchor.kind != SelectionKind::kNothing || selection.kind == SelectionKind::kNothing;
  }
};

/// "fusion.7 in jit_step". `dump`: null where a profile alone is open; `module`: that of the
/// selection, null where it is not read or there is none.
std::string TitleOf(const dump::DumpModel* dump, const Selection& selection,
                    const hlo::Module* module);

/// Bookmarks of a file that knew positions only: one whose title is what is there now gets its
/// name, any other no place. Reads modules: not for the main thread. Gives how many have no place.
size_t NamePositions(const dump::DumpModel& dump, std::vector<Bookmark>& bookmarks);

}  // namespace hloscope::viewer
