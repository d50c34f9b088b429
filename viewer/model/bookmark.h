// A selection that the user has kept, with a note.
#pragma once

#include <string>

#include "viewer/model/selection.h"

namespace hloscope::viewer {

struct Bookmark {
  std::string title, note;
  Selection selection;
  bool operator==(const Bookmark&) const = default;
};

}  // namespace hloscope::viewer
