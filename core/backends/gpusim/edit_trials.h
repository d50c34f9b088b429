// TryEdits: which line of a kernel makes its results right when it is written otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/gpusim/kernel_case.h"
#include "core/hlo/shape.h"
#include "core/ptx/ptx.h"

namespace hloscope::replay {

// An array of the results, and what it should be.
struct EditTarget {
  uint64_t result = 0;
  std::vector<std::byte> expected;  // as it lies in memory
  hlo::ElementType type = hlo::ElementType::kF32;
  double absolute = 0, relative = 0;  // bounds
};

// The target is the array that is wrong.
struct EditTrials : EditTarget {
  uint64_t launch = 0;              // position in KernelCase::launches: it stores the worst element
  std::array<uint32_t, 3> block{};  // of it
  uint64_t element = 0;             // the worst element, as they lie in memory
  bool is_missing = false;          // no thread stores it; the block is that of the nearest store
  std::vector<EditTarget> others;   // of the same kernels: an edit has to make them right as well
  std::vector<int64_t> sizes;       // numbers that may be meant (ptx/switches/line_edits.h)
  // Kernel and line, the most suspect first; others of these kernels follow in their order.
  std::vector<std::pair<std::string, uint32_t>> lines;
};

// The edit of a line that leaves the fewest elements wrong.
struct TriedEdit {
  std::string kernel;
  uint32_t line = 0;
  std::string now;  // what the line then says; of one that is put before it, that
  bool inserts = false;
  uint64_t wrong = 0;  // elements that stay wrong, of all arrays
  uint64_t was_wrong = 0;
  bool of_block = false;  // only the block ran, since all would take too long
};

struct EditAnswer {
  std::vector<TriedEdit> edits;
  // All elements that the block writes are wrong, no other is, and there are more blocks.
  bool is_only_block = false;
};

// Each line is written otherwise in some ways, one at a time (ptx/switches/line_edits.h), and the
// block runs again; what makes its elements right then runs with all blocks. Given are those that
// leave no more than half of the elements wrong, the best first, at most 12. How many are tried
// depends on how many instructions a run takes. Errors: those of running the case.
Result<EditAnswer> TryEdits(const KernelCase& kernels, const std::vector<ptx::Module>& code,
                            const EditTrials& trials, const ptx::LaunchOptions& options);

}  // namespace hloscope::replay
