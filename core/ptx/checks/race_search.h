// RaceSearch: accesses to one piece of memory that nothing orders.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ptx/checks/cells.h"
#include "core/ptx/checks/clocks.h"

namespace hloscope::ptx {

// What an access collides with.
struct Collision {
  Stamp earlier;
  bool earlier_writes = false;
  bool other_block = false;
};

// Accesses of one warp. Warps of a block are ordered by its barriers, blocks of a launch by
// nothing. Of a cell the last write and two reads are kept, of different blocks or else of
// different warps, where there are such: so whoever writes next meets one that it is not ordered
// with. Lanes of one warp count as ordered.
class RaceSearch {
 public:
  // Accesses before `floor` are of other launches, or of other blocks that cannot be met.
  RaceSearch(const Clocks& clocks, uint32_t floor, uint32_t warp)
      : clocks_(clocks), floor_(floor), first_(clocks.first()), warp_(warp) {}

  std::optional<Collision> Read(CellPage& page, uint32_t i, Stamp me) const {
    const Stamp write = page.write.Get(i);
    if (page.Reads().Get(i) != me) NoteRead(page, i, me);
    if (IsOrdered(write, me)) return std::nullopt;
    return Found(write, true);
  }
  // `changes`: it leaves another value than it found. One that does not races with nobody: several
  // warps may store the same tile.
  std::optional<Collision> Write(CellPage& page, uint32_t i, Stamp me, bool changes) const {
    const Stamp write = page.write.Get(i);
    if (!changes) {
      if (write.interval < floor_) page.write.Set(i, me);
      return std::nullopt;
    }
    page.write.Set(i, me);
    const Stamp read = page.read != nullptr ? page.read->Get(i) : Stamp();
    const Stamp other_read = page.other_read != nullptr ? page.other_read->Get(i) : Stamp();
    if (IsOrdered(write, me) && IsOrdered(read, me) && IsOrdered(other_read, me))
      return std::nullopt;
    if (!IsOrdered(write, me)) return Found(write, true);
    return Found(IsOrdered(read, me) ? other_read : read, false);
  }

  // The same of `count` cells from `i` on, `each` (a power of two) of every lane from that of `me`
  // on. False, and nothing is done, where they have to be looked at one by one.
  bool ReadRow(CellPage& page, uint32_t i, uint32_t count, uint32_t each, Stamp me) const;
  bool WriteRow(CellPage& page, uint32_t i, uint32_t count, uint32_t each, Stamp me) const;

 private:
  bool IsOrdered(Stamp earlier, Stamp me) const {
    if (earlier.interval < floor_) return true;
    if (earlier.interval < first_) return false;
    return earlier.agent() == me.agent() ||
           earlier.interval <= clocks_.KnownTo(warp_)[earlier.agent()];
  }
  bool IsOfOtherBlock(uint32_t interval) const { return interval >= floor_ && interval < first_; }
  Collision Found(Stamp earlier, bool writes) const {
    return {earlier, writes, IsOfOtherBlock(earlier.interval)};
  }
  void NoteRead(CellPage& page, uint32_t i, Stamp me) const {
    const Stamp read = page.read->Get(i);
    if (read.interval >= floor_ && (read.agent() != me.agent() || IsOfOtherBlock(read.interval)))
      KeepOther(page, i, read);
    page.read->Set(i, me);
  }
  void KeepOther(CellPage& page, uint32_t i, Stamp read) const;
  // All of them are of this warp, or known to be done.
  bool AllOrdered(const Stamps& stamps, uint32_t i, uint32_t count) const;

  const Clocks& clocks_;
  uint32_t floor_, first_, warp_;
};

// Whether one of `count` cells from `i` on was written in one page and accessed in the other, since
// their floors.
bool RowsMeet(const CellPage& a, uint32_t floor_a, const CellPage& b, uint32_t floor_b, uint32_t i,
              uint32_t count);

}  // namespace hloscope::ptx
