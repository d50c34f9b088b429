#include "core/ptx/ir/accesses.h"

#include <algorithm>

namespace hloscope::ptx {
namespace {

constexpr AccessMode kRead = AccessMode::kRead, kWrite = AccessMode::kWrite,
                     kUpdate = AccessMode::kUpdate;
constexpr uint32_t AllLanes() { return 32; }
constexpr uint32_t FirstLanes(uint32_t lanes) { return std::min(lanes, AllLanes()); }
constexpr uint32_t ByRun() { return 0; }

}  // namespace

AccessList AccessesOf(const Instruction& in) {
  const StateSpace space = ModifierStateSpace(in);
  const StateSpace shared_space = space == StateSpace::kNone ? StateSpace::kShared : space;
  const uint32_t width = in.vector_width(), lane_bytes = BytesOf(in.type) * width;
  const uint32_t registers = in.slot_count - 1;  // of ldmatrix and stmatrix
  switch (in.operation) {
#define ACCESSES(operation, ...) \
  case Operation::operation:     \
    return {__VA_ARGS__};
#define NO_ACCESS(operation, why)
#include "core/ptx/ir/accesses.def"
#undef ACCESSES
#undef NO_ACCESS
    default:
      return {};
  }
}

}  // namespace hloscope::ptx
