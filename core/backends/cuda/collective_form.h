// CollectiveForm: an instruction that devices meet at, as calls of NCCL, or copies.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"
#include "core/hlo/sharding/device_groups.h"

namespace hloscope::replay::cuda {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,  // from the first member
  kExchange,   // all-to-all: each member sends each a piece
  kPermute,
};

constexpr bool Reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
}

struct CollectiveForm {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int reduction = 0;  // of those that reduce
  // Of an operand and its result; all-to-all without a dimension has one, and an operand and a
  // result for each member.
  struct Array {
    int type = 0;
    int64_t count = 0;  // of the type, that one call sends; of a reduce-scatter: receives
    int64_t result_bytes = 0;
    int64_t element_bytes = 0;  // of the type
    // Of pieces along a dimension: in the whole array each is `rows` rows of `row_bytes`, with
    // those of the others in between where there are several.
    int64_t rows = 1, row_bytes = 0;
  };
  std::vector<Array> arrays;
  bool is_one_piece_each = false;  // such an all-to-all
  // Memory for pieces one behind the other, where they are not in the array: of the most that one
  // array asks for, all arrays of the instruction one behind the other.
  int64_t scratch_bytes = 0;
  // Devices that meet, each list in the order of its ranks.
  std::vector<std::vector<int64_t>> groups;
  std::vector<bool> refused;  // by group: NCCL does not take part
  // Of a permute: device and device.
  std::vector<std::pair<int64_t, int64_t>> pairs;
};

// Whether NCCL has the like at all.
bool IsCollective(hlo::Opcode opcode);

// Unsupported, with the reason, where NCCL does not do it, or not with the same numbers.
Result<CollectiveForm> FormOf(const hlo::Module& module, hlo::InstructionId id,
                              const hlo::DeviceCounts& counts);

}  // namespace hloscope::replay::cuda
