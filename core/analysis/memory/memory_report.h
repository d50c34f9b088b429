// What holds the memory of a compiled module at its peak, and which donations would lower the peak.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

/// A value that holds memory.
struct MemoryHolder {
  std::string instruction, shape, source;  // "fusion.3", "f32[8,8]{1,0}", "a.py:12"
  std::string kind;                        // "parameter", "result", "constant", "temporary"
  int64_t bytes = 0;
};

/// An argument whose memory a result could take.
struct Donation {
  int64_t parameter = -1;
  std::vector<int64_t> parameter_index, output_index;  // in the argument and in the result
  std::string instruction, name, source;  // of the parameter: "p.3", "params['w']", "a.py:12"
  int64_t bytes = 0;
};

/// What would lower the peak. XLA's peak: arguments, results and temporaries less what is aliased.
struct MemoryAdvice {
  std::string what;                             // a sentence
  std::vector<Donation> donations;              // most bytes first, never empty
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
                                                  bool advise);

/// The module with what is advised: aliases of those parameters and results.
Result<std::shared_ptr<const hlo::Module>> WithDonations(
    const std::shared_ptr<const hlo::Module>& module, const MemoryAdvice& advice);

}  // namespace hloscope::analysis
