// What an instruction accesses in memory: the rows of accesses.def.
#pragma once

#include <array>
#include <initializer_list>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

enum class AccessMode : uint8_t { kRead, kWrite, kUpdate };

struct Access {
  // That name an address: all that are active, or the first of a warp; 0 where only the run knows
  // what is accessed.
  uint32_t lanes = 0;
  AccessMode mode = AccessMode::kRead;
  StateSpace space = StateSpace::kNone;
  uint32_t operand = 0;  // that holds the address
  uint32_t offset = 0;   // which of Instruction::offsets is added
  uint32_t bytes = 0;    // of a lane; of what the run knows the least at once

  bool reads() const { return mode != AccessMode::kWrite; }
  bool writes() const { return mode != AccessMode::kRead; }
};

class AccessList {
 public:
  AccessList() = default;
  AccessList(std::initializer_list<Access> accesses) {
    for (const Access& access : accesses) accesses_[count_++] = access;
  }
  const Access* begin() const { return accesses_.data(); }
  const Access* end() const { return accesses_.data() + count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::array<Access, 2> accesses_;
  uint32_t count_ = 0;
};

AccessList AccessesOf(const Instruction& instruction);

}  // namespace hloscope::ptx
