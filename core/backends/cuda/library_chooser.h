// LibraryChooser: which way an instruction is computed that a library offers to: as is measured now
// where that is asked for, else as a bundle says, as was measured before, or by a rule that is the
// same in every run.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/backends/compiled/library_choices.h"
#include "core/backends/cuda/device_kernels.h"
#include "core/backends/cuda/library_work.h"
#include "core/backends/libraries/choice_cache.h"
#include "core/replay/run_options.h"

namespace hloscope::replay::cuda {

class LibraryChooser {
 public:
  // Input errors: the table of choices cannot be read.
  static Result<std::shared_ptr<const LibraryChooser>> Make(const RunOptions& options);

  struct Chosen {
    std::shared_ptr<const LibraryWork> work;  // null: our own kernel
    LibraryChoice choice;
  };
  // `own`: our kernel, whose scratch memory is `scratch_bytes`. An error of the device while it was
  // measured; what libraries refuse is in the choice.
  Result<Chosen> Choose(const LibraryOrder& order, const LibraryOffer& offer, const DeviceCode& own,
                        int64_t scratch_bytes) const;

 private:
  using Choice = libraries::Choice;
  explicit LibraryChooser(Choosing choosing) : choosing_(choosing) {}

  // A choice that was made here, of a bundle or the cache; notes say why others are not taken.
  std::optional<Choice> Known(const Choice& here, LibraryWay& way) const;
  Result<Choice> Measure(const LibraryOrder& order, const LibraryOffer& offer,
                         const DeviceCode& own, int64_t scratch_bytes, Choice here,
                         LibraryWay& way) const;

  Choosing choosing_;
  std::vector<Choice> given_;
  libraries::ChoiceCache cache_;
  // What this process has measured: other forms of a module and other GPUs are computed alike.
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::pair<Choice, std::vector<LibraryWay::Tried>>> measured_;
};

}  // namespace hloscope::replay::cuda
