// Signs, colours and outlines of changes, distinct without colour too.
#pragma once

#include <array>
#include <string_view>

#include "core/analysis/align/pass_changes.h"
#include "core/graph/looks.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

struct ChangeLook {
  analysis::ChangeKind kind;
  std::string_view sign;
  Color color, fill;
  graph::Outline outline;
};
inline constexpr std::array kChangeLooks = {
#define CHANGE(kind, sign, color, fill, outline) \
  ChangeLook{analysis::ChangeKind::kind, sign, Color::color, Color::fill, graph::Outline::outline},
#include "viewer/views/change_looks.def"
#undef CHANGE
};

// Null for what is unchanged.
constexpr const ChangeLook* LookOf(analysis::ChangeKind kind) {
  for (const ChangeLook& look : kChangeLooks) {
    if (look.kind == kind) return &look;
  }
  return nullptr;
}
constexpr int64_t CountOf(const analysis::ChangeCounts& counts, analysis::ChangeKind kind) {
  switch (kind) {
    case analysis::ChangeKind::kAdded:
      return counts.added;
    case analysis::ChangeKind::kRemoved:
      return counts.removed;
    case analysis::ChangeKind::kRewritten:
      return counts.rewritten;
    case analysis::ChangeKind::kMoved:
      return counts.moved;
    case analysis::ChangeKind::kRenamed:
      return counts.renamed;
    case analysis::ChangeKind::kUnchanged:
      return counts.unchanged;
  }
  return 0;
}

}  // namespace hloscope::viewer
