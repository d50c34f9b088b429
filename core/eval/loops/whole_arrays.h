// Conversions of whole arrays to and from wide elements, on all threads of a machine.
#pragma once

#include "core/eval/machine/machine.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {

inline constexpr int64_t kWideGrain = 1 << 16;  // elements

// LoadAs and StoreFrom.
template <typename W>
Status LoadAll(Machine& machine, hlo::ElementType type, const std::byte* in, W* out,
               int64_t count) {
  return machine.ForRanges(count, kWideGrain, [&](IndexRange range) -> Status {
    LoadAs<W>(type, in + range.begin * hlo::StorageBytes(type), out + range.begin,
              range.end - range.begin);
    return {};
  });
}
template <typename W>
Status StoreAll(Machine& machine, hlo::ElementType type, const W* in, std::byte* out,
                int64_t count) {
  return machine.ForRanges(count, kWideGrain, [&](IndexRange range) -> Status {
    StoreFrom<W>(type, in + range.begin, out + range.begin * hlo::StorageBytes(type),
                 range.end - range.begin);
    return {};
  });
}

}  // namespace hloscope::eval
