// Asynchronous chains: which async-start an async-update or async-done goes back to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// True if the instruction hands the state of an asynchronous operation on unchanged, or as a part:
// tuple, get-tuple-element, opt-barrier, copy, parameter, while, call, conditional and the custom
// calls of sharding.
bool CarriesAsyncState(const Module& module, const Instruction& i);
// By its opcode alone: any custom call may be one of sharding.
bool MayCarryAsyncState(Opcode opcode);

// The chains of a module.
class AsyncChains {
 public:
  explicit AsyncChains(const Module& module);

  // Every async-start, async-update and async-done, in program order.
  const std::vector<InstructionId>& all() const { return all_; }
  // The async-start of one of them, a start itself; invalid where none can be found.
  InstructionId start(InstructionId id) const {
    return starts_.empty() ? InstructionId() : starts_[id.index];
  }

 private:
  InstructionId Trace(InstructionId id);

  const Module& module_;
  std::vector<InstructionId> all_;
  std::vector<InstructionId> starts_;  // by instruction; empty without asynchronous instructions
  size_t steps_left_ = 0;
};

// The module's, found by the first that asks; they live as long as it does.
const AsyncChains& AsyncChainsOf(const Module& module);

}  // namespace hloscope::hlo
