// What holds the memory of a compiled module at its peak, and what would lower the peak.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/memory/donation.h"
#include "core/analysis/memory/heap_simulation.h"
#include "core/dump/dump_model.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

/// A value that holds memory.
struct MemoryHolder {
  std::string instruction, shape, source;  // "fusion.3", "f32[8,8]{1,0}", "a.py:12"
  std::string kind;                        // "parameter", "result", "constant", "temporary"
  int64_t bytes = 0;
  std::string opcode, op_name;            // empty: not known
  std::vector<int64_t> shape_index = {};  // which element of the instruction, a tuple, it is
};

/// An argument that is passed as another type, or transposed.
struct ArgumentChange {
  int64_t parameter = -1;
  hlo::ElementType type = hlo::ElementType::kInvalid;
  std::vector<int64_t> order;  // of its dimensions
};

/// What would lower the peak. XLA's peak: arguments, results and temporaries less what is aliased.
struct MemoryAdvice {
  std::string kind = "donation";                // or "cast", "layout", "rematerialization"
  std::string what;                             // a sentence
  std::string instruction, source;              // the largest argument, or the value
  std::vector<Donation> donations;              // most bytes first; of a donation never empty
  std::optional<ArgumentChange> argument;       // of a cast or layout
  int64_t saves_bytes = 0, new_peak_bytes = 0;  // predicted
  std::optional<int64_t> recompiled_bytes;      // what it saves by a compilation of this run
  std::string not_verified;                     // why there is none
  /// A compilation saves as much, within a tenth: places are rounded up to alignments.
  bool verified() const {
    return recompiled_bytes && *recompiled_bytes * 10 >= saves_bytes * 9 &&
           *recompiled_bytes * 10 <= saves_bytes * 11;
  }
};

struct MemoryReport {
  int32_t position = -1;  // in DumpModel::modules()
  std::string module;     // "module_0001.jit_f"
  // Of the buffer assignment, -1 where the dump has none: what a run needs, and of that.
  int64_t peak_bytes = -1, parameter_bytes = 0, result_bytes = 0, temporary_bytes = 0,
          constant_bytes = 0;
  int64_t simulated_bytes = -1;  // temporaries by our own layout; -1: no live ranges
  int64_t live_peak_bytes = -1;  // the most that lives at once; -1: no live ranges
  std::string peak_instruction;  // that runs then
  // At the peak; where no live ranges are known, of the whole module. Largest first.
  std::vector<MemoryHolder> holders;
  size_t left_out = 0;  // holders beyond the largest kMaxHolders
  std::vector<MemoryAdvice> advice;
  std::vector<std::string> notes;
};

inline constexpr size_t kMaxHolders = 20;

/// Of each module that has a last stage, or of one. Errors: it cannot be read.
Result<std::vector<MemoryReport>> MemoryReportsOf(const dump::DumpModel& model, int32_t only,
                                                  bool advise, size_t max_holders = kMaxHolders);

/// Adds advice on values that live at the peak. `report` has its simulated_bytes already.
void AdviseOnValues(const hlo::Module& module, const dump::BufferTable& table,
                    const HeapSimulation& heap, MemoryReport& report);

/// The module as it was given with what is advised: aliases of parameters and results, or another
/// parameter. Error: it has no such argument.
Result<std::shared_ptr<const hlo::Module>> WithAdvice(
    const std::shared_ptr<const hlo::Module>& module, const MemoryAdvice& advice);

}  // namespace hloscope::analysis
