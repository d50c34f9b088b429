// ControlFlow: what decides whether an instruction is executed, and which value of a register
// reaches it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ptx/ir/basic_blocks.h"
#include "core/ptx/ptx.h"

namespace hloscope::ptx {

// Of one kernel. An instruction depends on a branch where some ways from it lead to the instruction
// and others pass it by (Ferrante, Ottenstein, Warren). A jump without a guard counts as a branch
// that could have gone on behind itself (Ball, Horwitz), so that what nothing leads to any more
// depends on it.
class ControlFlow {
 public:
  explicit ControlFlow(const Kernel& kernel);

  const Kernel& kernel() const { return *kernel_; }
  // False where branches go to what only a register says, or there are too many: nothing is known.
  bool is_known() const { return is_known_; }
  // The branches and returns that decide whether the instruction is executed.
  std::span<const uint32_t> DecidersOf(uint32_t instruction) const;
  // What decides, at that moment, which value the register has: branches that lead to a write of it
  // or past it, and writes under a guard. By offset of the register.
  std::span<const uint32_t> ChoicesOf(uint32_t offset) const;
  // The same of what shared memory holds.
  std::span<const uint32_t> ChoicesOfShared() const { return ChoicesOf(kShared); }

  // The instructions that write to shared memory which the branch by itself decides about.
  std::span<const uint32_t> SharedStoresOf(uint32_t branch) const;

 private:
  static constexpr uint32_t kShared = Slot::kAbsent;  // in place of a register

  void FindPostdominators();
  void FindDeciders();
  void FindChoices();
  std::vector<uint32_t> NextOf(uint32_t block) const;

  const Kernel* kernel_;
  bool is_known_ = false;
  std::vector<BasicBlock> blocks_;
  std::vector<uint32_t> block_of_;  // by instruction
  std::vector<uint32_t> after_;     // the block that all ways from a block come to first
  std::vector<std::vector<uint32_t>> deciders_;  // by block: instructions
  std::vector<std::vector<uint32_t>> decided_;   // by block: blocks that its last decides about
  std::unordered_map<uint32_t, std::vector<uint32_t>> choices_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> shared_stores_;  // by branch
};

// Of an entry of the module, which it has to outlive. Errors: input where there is none.
Result<ControlFlow> FlowOf(const Module& module, const std::string& entry);

}  // namespace hloscope::ptx
