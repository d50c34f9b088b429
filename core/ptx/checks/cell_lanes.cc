// The rules of RaceSearch for the cells of all lanes.
#include "core/ptx/checks/cell_lanes.h"

#include <bit>

#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

// 1 for each lane whose cells' last accesses of this kind are of this warp, or known to be done.
void NoteOrdered(const Stamps& stamps, const CellAccess& a, uint32_t k, uint32_t* ordered) {
  const uint32_t own = a.me.agent();
  const uint32_t *const interval = stamps.interval + k, *const who = stamps.who + k;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t agent = Stamp::AgentOf(who[a.cell[l]]);
    ordered[l] &= static_cast<uint32_t>(interval[a.cell[l]] <= a.known[agent]) |
                  static_cast<uint32_t>(agent == own);
  }
}

uint32_t MaskOf(const uint32_t* lanes) {
  uint32_t mask = 0;
  for (uint32_t l = 0; l < kLanes; ++l) mask |= (lanes[l] & 1) << l;
  return mask;
}

// Two reads of this interval by different warps say enough: whoever writes meets one of them.
uint32_t Read(CellPage& page, const CellAccess& a) {
  Stamps &reads = page.Reads(), &others = page.OtherReads();
  uint32_t bad = 0;
  for (uint32_t k = 0; k < a.each; ++k) {
    uint32_t ordered[kLanes], full[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) ordered[l] = 1;
    NoteOrdered(page.write, a, k, ordered);
    const uint32_t open = ~MaskOf(ordered) & a.mask;
    bad |= open;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t i = a.cell[l] + k;
      const bool is_own = Stamp::AgentOf(reads.who[i]) == a.warp;
      const bool is_second = others.interval[i] == a.me.interval;
      full[l] = static_cast<uint32_t>(reads.interval[i] == a.me.interval) &
                (static_cast<uint32_t>(is_own) | static_cast<uint32_t>(is_second));
    }
    for (uint32_t left = a.mask & ~open & ~MaskOf(full); left != 0; left &= left - 1) {
      const auto l = static_cast<uint32_t>(std::countr_zero(left));
      const uint32_t i = a.cell[l] + k;
      if (Stamp::AgentOf(reads.who[i]) != a.warp) others.Set(i, reads.Get(i));
      reads.Set(i, {a.me.interval, a.me.who + l});
    }
  }
  return bad;
}

uint32_t Write(CellPage& page, const CellAccess& a, const uint32_t* changed) {
  uint32_t bad = 0;
  for (uint32_t k = 0; k < a.each; ++k) {
    uint32_t ordered[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) ordered[l] = 1;
    NoteOrdered(page.write, a, k, ordered);
    if (page.read != nullptr) NoteOrdered(*page.read, a, k, ordered);
    if (page.other_read != nullptr) NoteOrdered(*page.other_read, a, k, ordered);
    // A store that changes nothing races with nobody, and is noted where nothing else is.
    const uint32_t open = ~MaskOf(ordered) & a.mask & changed[k];
    bad |= open;
    for (uint32_t left = a.mask & ~open & changed[k]; left != 0; left &= left - 1) {
      const auto l = static_cast<uint32_t>(std::countr_zero(left));
      page.write.Set(a.cell[l] + k, {a.me.interval, a.me.who + l});
    }
    for (uint32_t left = a.mask & ~changed[k]; left != 0; left &= left - 1) {
      const auto l = static_cast<uint32_t>(std::countr_zero(left));
      const uint32_t i = a.cell[l] + k;
      if (page.write.interval[i] < a.floor) page.write.Set(i, {a.me.interval, a.me.who + l});
    }
  }
  return bad;
}

}  // namespace

const CellSteps& UnitCellSteps() {
  static constexpr CellSteps kSteps{Read, Write};
  return kSteps;
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT
#include "core/ptx/machine/unit_end.h"
