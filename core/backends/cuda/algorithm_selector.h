// AlgorithmSelector: which way an instruction is computed that a library offers to: as is measured
// now where that is asked for, else as a bundle says, as was measured before, or by a rule that is
// the same in every run.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/backends/compiled/algorithm_selections.h"
#include "core/backends/cuda/device_kernels.h"
#include "core/backends/cuda/library_work.h"
#include "core/backends/libraries/autotune_cache.h"
#include "core/replay/run_options.h"

namespace hloscope::replay::cuda {

class AlgorithmSelector {
 public:
  // Input errors: the table of autotune results cannot be read.
  static Result<std::shared_ptr<const AlgorithmSelector>> Make(const RunOptions& options);

  struct Chosen {
    std::shared_ptr<const LibraryWork> work;  // null: our own kernel
    AlgorithmSelection choice;
  };
  // `own`: our kernel, whose scratch memory is `scratch_bytes`. An error of the device while it was
  // measured; what libraries refuse is in the choice.
  Result<Chosen> Choose(const AlgorithmRequest& order, const AlgorithmCandidates& offer,
                        const DeviceCode& own, int64_t scratch_bytes) const;

 private:
  using AutotuneResult = libraries::AutotuneResult;
  explicit AlgorithmSelector(AutotuneMode autotune_mode) : autotune_mode_(autotune_mode) {}

  // A choice that was made here, of a bundle or the cache; notes say why others are not taken.
  std::optional<AutotuneResult> Known(const AutotuneResult& here, AlgorithmRecord& way) const;
  Result<AutotuneResult> Measure(const AlgorithmRequest& order, const AlgorithmCandidates& offer,
                                 const DeviceCode& own, int64_t scratch_bytes, AutotuneResult here,
                                 AlgorithmRecord& way) const;

  AutotuneMode autotune_mode_;
  std::vector<AutotuneResult> given_;
  libraries::AutotuneCache cache_;
  // What this process has measured: other forms of a module and other GPUs are computed alike.
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::pair<AutotuneResult, std::vector<AlgorithmRecord::Tried>>>
      measured_;
};

}  // namespace hloscope::replay::cuda
