// Signs, colours and outlines of changes, distinct without colour too.
#pragma once

#include <array>
#include <string_view>

#include "core/debug/align/pass_changes.h"
#include "core/graph/looks.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

struct ChangeLook {
  debug::ChangeKind kind;
  std::string_view sign;
  Color color, fill;
  graph::Outline outline;
};
inline constexpr std::array kChangeLooks = {
#define CHANGE(kind, sign, color, fill, outline) \
  ChangeLook{debug::ChangeKind::kind, sign, Color::color, Color::fill, graph::Outline::outline},
#include "viewer/views/change_looks.def"
#undef CHANGE
};

// Null for what is unchanged.
constexpr const ChangeLook* LookOf(debug::ChangeKind kind) {
  for (const ChangeLook& look : kChangeLooks) {
    if (look.kind == kind) return &look;
  }
  return nullptr;
}
constexpr int64_t CountOf(const debug::ChangeCounts& counts, debug::ChangeKind kind) {
  switch (kind) {
    case debug::ChangeKind::kAdded:
      return counts.added;
    case debug::ChangeKind::kRemoved:
      return counts.removed;
    case debug::ChangeKind::kRewritten:
      return counts.rewritten;
    case debug::ChangeKind::kMoved:
      return counts.moved;
    case debug::ChangeKind::kRenamed:
      return counts.renamed;
    case debug::ChangeKind::kUnchanged:
      return counts.unchanged;
  }
  return 0;
}

}  // namespace hloscope::viewer
