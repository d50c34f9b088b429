// EditBench: a case in which one line of a kernel is written otherwise, again and again, and how
// many elements are wrong then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/gpusim/edit_judge.h"
#include "core/backends/gpusim/edit_trials.h"
#include "core/backends/gpusim/kernel_case.h"
#include "core/ptx/ptx.h"
#include "core/ptx/switches/line_edits.h"

namespace hloscope::replay {

class EditBench {
 public:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  struct Subject {
    uint64_t code = 0;
    std::string kernel;
    ptx::Module module;  // with that entry alone
  };

  // All must outlive it.
  EditBench(const KernelCase& kernels, const std::vector<ptx::Module>& code,
            const EditTrials& trials, const ptx::LaunchOptions& options)
      : kernels_(kernels), code_(code), trials_(trials), options_(options), judge_(trials) {
    for (const EditTarget& other : trials.others) others_.emplace_back(other.result, other);
  }

  // Runs the case as it is. Errors: those of running it.
  Status Begin();
  // From now on with all blocks, several threads at a time; whether the block's elements were the
  // wrong ones, and no others. Errors: those of running the case.
  Result<bool> UseAllBlocks(int threads);

  const std::vector<Subject>& subjects() const { return subjects_; }
  // Memory for runs; they leave it as it was.
  CaseMemory Memory() const { return before_; }
  // Elements that are wrong with that edit of a subject, no more than were; `worst`: what the worst
  // one then is. Of an edit that cannot be read or ends the run: kNever.
  uint64_t WrongWith(size_t subject, const ptx::LineEdit& edit, CaseMemory& memory,
                     double* worst = nullptr) const;

  bool is_of_block() const { return is_of_block_; }
  uint64_t was_wrong() const { return was_wrong_; }
  double worst_value() const { return worst_value_; }
  double worst_meant() const { return judge_.Meant(element_); }
  // Instructions of threads that a run takes; bytes that are put back behind it.
  uint64_t work() const { return work_; }
  uint64_t BytesPutBack(uint32_t level) const;
  uint64_t Blocks() const;

 private:
  const CaseSlice& result() const { return kernels_.results[trials_.result]; }
  const std::byte* ArrayIn(const CaseMemory& memory, uint64_t result) const {
    const CaseSlice& slice = kernels_.results[result];
    return memory[slice.region].data() + slice.offset;
  }
  const std::byte* ResultIn(const CaseMemory& memory) const {
    return ArrayIn(memory, trials_.result);
  }
  bool MayBeOneBlock() const;
  Status FindBlock();
  void FindWritten();
  Status MakeSubjects();
  uint64_t WrongInTarget(const CaseMemory& memory, uint64_t most) const;
  uint64_t WrongInOthers(const CaseMemory& memory) const;
  Status Execute(CaseMemory& memory, const Subject* changed, bool of_block,
                 uint64_t* work = nullptr, uint64_t* warp_work = nullptr) const;
  std::optional<Subject> With(size_t subject, const ptx::LineEdit& edit) const;

  const KernelCase& kernels_;
  const std::vector<ptx::Module>& code_;
  const EditTrials& trials_;
  ptx::LaunchOptions options_;
  EditJudge judge_;
  std::vector<std::pair<uint64_t, EditJudge>> others_;  // by result
  bool is_of_block_ = false;
  uint64_t first_ = 0;  // launch that runs again
  CaseMemory before_;   // it
  std::array<uint32_t, 3> block_ = trials_.block;
  size_t element_ = trials_.element;
  uint64_t stored_ = 0;        // elements that the block stores
  std::vector<size_t> right_;  // those of them that are right
  bool is_worst_stored_ = false;
  uint64_t was_wrong_ = 0, target_was_wrong_ = 0;
  double worst_value_ = 0;
  uint64_t work_ = 0, warp_work_ = 0;
  std::vector<uint64_t> written_, all_;  // regions
  std::vector<Subject> subjects_;
};

}  // namespace hloscope::replay
