// The faults of XLA:CPU that are known, as data: the two pages under tests/conformance.
#pragma once

#include <span>
#include <string_view>

#include "core/debug/reduce/hunt/suspect.h"

namespace hloscope::debug {

enum class KnownCondition : uint8_t {
  kAny,
  kTwice,
  kTwiceVariadic,
  kChained,
  kOneElement,
  kNanLost,
  kBitArrays,
  kOfZeros,
  kNoElements,
  kReshapeCheck
};

struct KnownFault {
  std::string_view page, heading;
  FailureKind kind;
  std::string_view opcode, types, pass;
  KnownCondition condition;
};
std::span<const KnownFault> KnownFaults();

// The row that a failure is; null where it is new. `pass` is the guilty one, or empty.
const KnownFault* FindKnownFault(const hlo::Module& module, const Suspect& suspect,
                                 const Failure& failure, std::string_view pass);

}  // namespace hloscope::debug
