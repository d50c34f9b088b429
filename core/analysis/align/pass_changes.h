// What a pass changed between two stages, in numbers and as an aligned diff of instruction lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

enum class ChangeKind : uint8_t {
  kUnchanged,
  kAdded,      // only in the later module
  kRemoved,    // only in the earlier module
  kRewritten,  // the same instruction with other operands, attributes or shape
  kMoved,      // the same instruction in another computation
  kRenamed,    // the same instruction under another name only
};
std::string_view ToString(ChangeKind kind);

// Instructions by what happened to them; one that moved and was rewritten counts as moved.
struct ChangeCounts {
  int64_t unchanged = 0, added = 0, removed = 0, rewritten = 0, moved = 0, renamed = 0;
  int64_t computations_added = 0, computations_removed = 0;
  bool any() const { return added + removed + rewritten + moved + renamed != 0; }
  bool operator==(const ChangeCounts&) const = default;
};

// A row of the diff. Rows follow the later module, computation by computation; what is gone stands
// where it stood. A run of unchanged instructions is one row.
struct DiffRow {
  ChangeKind kind = ChangeKind::kUnchanged;
  hlo::InstructionId before, after;  // invalid on the side where there is none
  uint32_t count = 1;  // of a run: it goes on for that many instructions on both sides
};

struct PassChanges {
  ChangeCounts counts;
  std::vector<ChangeKind> of_before, of_after;  // by instruction
  std::vector<DiffRow> rows;
};

// Whether what only advises a backend (backend_config, frontend_attributes) makes an instruction
// another one. Metadata, statistics and origins never do.
enum class Annotations : uint8_t { kCounted, kIgnored };

// `alignment` is that of the two modules.
PassChanges FindChanges(const hlo::Module& before, const hlo::Module& after,
                        const Alignment& alignment,
                        Annotations annotations = Annotations::kCounted);

}  // namespace hloscope::analysis
