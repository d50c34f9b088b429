// Accesses of all lanes at once: bounds are checked for the least and the greatest address.
#pragma once

#include <algorithm>
#include <bit>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {

// Finds the bytes of all lanes of an access.
struct Together {
  // For lanes `m` that access `size` bytes each, a power of two, at what `slot` holds plus
  // `offset`. Lanes that take no part have the address of one that does. False where they have to
  // go one by one: for local memory, an observer who is told of each access, or what may be a
  // fault.
  static bool Find(Warp& w, StateSpace space, Slot slot, int64_t offset, uint32_t m, uint64_t size,
                   bool writes, LaneBytes& found) {
    if (space == StateSpace::kLocal) return false;
    if (const Observer* observer = w.block->observer;
        observer != nullptr && observer->WantsAccesses())
      return false;
    const auto added = static_cast<uint64_t>(offset);
    const bool is_long = slot.bytes == 8;
    found.is_row = m == kAllLanes &&
                   (is_long ? IsRow<uint64_t>(w, slot, size) : IsRow<uint32_t>(w, slot, size));
    found.row_step = size;
    Range range;
    if (found.is_row) {
      const uint64_t first = ReadLane(w, slot, 0) + added;
      range = {first, first + (kLanes - 1) * size, first};
    } else if (is_long) {
      FindAddresses<uint64_t>(w, slot, added, m, found, range);
    } else {
      FindAddresses<uint32_t>(w, slot, added, m, found, range);
    }
    const auto [low, high, all] = range;
    if ((all & (size - 1)) != 0) return false;
    if (space == StateSpace::kNone && (low >> kWindowShift) == kLocalWindow) return false;
    Window scratch;
    const WindowPlace place = Locate(w, space, low, 0, scratch);
    if (place.window == nullptr || (writes && !place.window->writable)) return false;
    const uint64_t left = place.window->bytes - std::min(place.offset, place.window->bytes);
    if (high - low > left || size > left - (high - low)) return false;
    found.base = place.window->data + place.offset;
    found.low = low;
    if (writes) NoteStore(place, place.offset + (high - low) + size);
    return true;
  }

  // The same of the instruction's first address: what it found before in this block where it finds
  // the same again, else in `scratch`. Null: one by one.
  static const LaneBytes* Find(Warp& w, const Instruction& in, Slot slot, uint32_t m, uint64_t size,
                               bool writes, LaneBytes& scratch) {
    const bool keeps = in.kept != 0 && (m == kAllLanes || in.warp_wide);
    LaneBytes& found = keeps ? w.kept[in.kept - 1] : scratch;
    if (keeps && found.is_known) return &found;
    if (!Find(w, ModifierStateSpace(in), slot, in.offsets[0], m, size, writes, found))
      return nullptr;
    found.is_known = true;
    return &found;
  }

 private:
  // Sums of 32 bits may wrap around, but no window reaches so far.
  template <typename A>
  static bool IsRow(const Warp& w, Slot slot, uint64_t size) {
    const auto* const from = LanesOf<A>(w, slot);
    const A first = from[0];
    A differs = 0;
    for (uint32_t l = 0; l < kLanes; ++l)
      differs |= from[l] ^ static_cast<A>(first + l * static_cast<A>(size));
    return differs == 0;
  }

  struct Range {
    uint64_t low = UINT64_MAX, high = 0, all = 0;  // all: bits of any address
  };

  template <typename A>
  static void FindAddresses(const Warp& w, Slot slot, uint64_t offset, uint32_t m, LaneBytes& found,
                            Range& range) {
    using Eight [[gnu::vector_size(64)]] = uint64_t;
    using EightOfA [[gnu::vector_size(8 * sizeof(A))]] = A;
    const auto* const from = LanesOf<A>(w, slot);
    const Eight any = Eight{} + from[std::countr_zero(m)];
    Eight low = ~Eight{}, high = {}, all = {};
    for (uint32_t first = 0; first < kLanes; first += 8) {
      EightOfA own;
      std::memcpy(&own, from + first, sizeof own);
      Eight addresses = __builtin_convertvector(own, Eight);
      if (m != kAllLanes) {
        const Eight lanes = Eight{0, 1, 2, 3, 4, 5, 6, 7} + first;
        const Eight chosen = -((Eight{} + m) >> lanes & 1);
        addresses = (addresses & chosen) | (any & ~chosen);
      }
      addresses += offset;
      std::memcpy(found.addresses + first, &addresses, sizeof addresses);
      low = addresses < low ? addresses : low;
      high = addresses > high ? addresses : high;
      all |= addresses;
    }
    for (int i = 0; i < 8; ++i)
      range = {std::min(range.low, low[i]), std::max(range.high, high[i]), range.all | all[i]};
  }
};

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
