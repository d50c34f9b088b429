// What a check found in a launch, and where.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::ptx {

enum class FindingKind : uint8_t {
  kRace,           // two accesses that nothing orders
  kUninitialised,  // what nobody wrote decides something
  kBarrier,        // threads of a warp that wait at different barriers
};
std::string_view ToString(FindingKind kind);  // "race"

// One thread at one instruction.
struct FindingSide {
  Place place;       // in the PTX
  std::string form;  // of the instruction, as written
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> thread{};
  uint32_t pc = 0;  // its index among the instructions of the entry
};

// Instructions between which a barrier is missing.
struct BarrierGap {
  uint32_t first = 0, last = 0;
};

struct Finding {
  FindingKind kind = FindingKind::kRace;
  std::string what;  // "writes what a thread of another block read"
  std::string kernel;
  FindingSide at;
  std::optional<FindingSide> other;  // of a race: the earlier access
  std::string memory;                // "shared memory", "argument 2"; empty: none
  std::optional<uint32_t> argument;
  uint64_t byte = 0;              // in it
  uint64_t count = 1;             // how often the same instructions did the same
  std::optional<BarrierGap> gap;  // of a race that a barrier orders

  std::string ToString() const;
};

}  // namespace hloscope::ptx
