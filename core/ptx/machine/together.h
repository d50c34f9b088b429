// Accesses of all lanes at once: bounds are checked for the least and the greatest address.
#pragma once

#include <algorithm>
#include <bit>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {

// The addresses of the lanes of an access, all inside one window. Lanes that take no part have the
// address of one that does.
struct Together {
  std::byte* base = nullptr;  // of address 0
  bool is_row = false;        // one lane lies behind the other without gaps
  Values<uint64_t> addresses;

  std::byte* At(uint32_t lane) const { return base + addresses.v[lane]; }

  // For lanes `m` that access `size` bytes each, a power of two, at what `slot` holds plus
  // `offset`. False where they have to go one by one: for local memory, an observer who is told of
  // each access, or what may be a fault.
  bool Find(Warp& w, StateSpace space, Slot slot, int64_t offset, uint32_t m, uint64_t size,
            bool writes) {
    if (space == StateSpace::kLocal) return false;
    if (const Observer* observer = w.block->observer;
        observer != nullptr && observer->WantsAccesses())
      return false;
    if (slot.bytes == 8) {
      FindAddresses<uint64_t>(w, slot, static_cast<uint64_t>(offset), m);
    } else {
      FindAddresses<uint32_t>(w, slot, static_cast<uint64_t>(offset), m);
    }
    is_row = IsRowOf(size);
    uint64_t low = addresses.v[0], high = low + (kLanes - 1) * size, all = low;
    if (!is_row) {
      high = low;
      for (uint32_t l = 0; l < kLanes; ++l) {
        low = std::min(low, addresses.v[l]);
        high = std::max(high, addresses.v[l]);
        all |= addresses.v[l];
      }
    }
    if ((all & (size - 1)) != 0) return false;
    if (space == StateSpace::kNone && (low >> kWindowShift) == kLocalWindow) return false;
    Window scratch;
    const Place place = Locate(w, space, low, 0, scratch);
    if (place.window == nullptr || (writes && !place.window->writable)) return false;
    const uint64_t left = place.window->bytes - std::min(place.offset, place.window->bytes);
    if (high - low > left || size > left - (high - low)) return false;
    base = place.window->data + place.offset - low;
    if (writes) NoteStore(*w.block, *place.window, place.offset + (high - low) + size);
    return true;
  }

 private:
  bool IsRowOf(uint64_t size) const {
    uint64_t differs = 0;
    for (uint32_t l = 0; l < kLanes; ++l) differs |= addresses.v[l] ^ (addresses.v[0] + l * size);
    return differs == 0;
  }

  template <typename A>
  void FindAddresses(const Warp& w, Slot slot, uint64_t offset, uint32_t m) {
    const auto* const from = LanesOf<A>(w, slot);
    const uint64_t any = from[std::countr_zero(m)];
    for (uint32_t l = 0; l < kLanes; ++l)
      addresses.v[l] = ((m & 1u << l) != 0 ? from[l] : any) + offset;
  }
};

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
