// RaceSearch: rows of cells where nothing is to be found.
#include "core/ptx/checks/race_search.h"

#include <bit>

namespace hloscope::ptx {

CellPage& CellTable::Make(uint64_t page) {
  if (page >= pages_.size()) pages_.resize(page + 1);
  pages_[page] = std::make_unique<CellPage>(page_cells_);
  return *pages_[page];
}

// One of another block is not given up for one of this block.
void RaceSearch::KeepOther(CellPage& page, uint32_t i, Stamp read) const {
  Stamps& other = page.OtherReads();
  if (IsOfOtherBlock(read.interval) || !IsOfOtherBlock(other.interval[i])) other.Set(i, read);
}

bool RaceSearch::AllOrdered(const Stamps& stamps, uint32_t i, uint32_t count) const {
  // In the block: what all its warps have behind a barrier, which says nothing of copies.
  const uint32_t known = floor_ == first_ ? clocks_.KnownOfAll(warp_) : floor_ - 1;
  const uint32_t copies = floor_ == first_ ? Stamp::kAsync : 0;
  const uint32_t* const interval = stamps.interval + i;
  const uint32_t* const who = stamps.who + i;
  uint32_t open = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t is_known =
        interval[k] < floor_ || (interval[k] <= known && (who[k] & copies) == 0);
    const uint32_t is_own = interval[k] >= first_ && Stamp::AgentOf(who[k]) == warp_;
    open |= (is_known | is_own) ^ 1;
  }
  return open == 0;
}

bool RaceSearch::ReadRow(CellPage& page, uint32_t i, uint32_t count, uint32_t each,
                         Stamp me) const {
  Stamps& read = page.Reads();
  if (!AllOrdered(page.write, i, count) || !AllOrdered(read, i, count)) return false;
  const int shift = std::countr_zero(each);
  for (uint32_t k = 0; k < count; ++k) read.interval[i + k] = me.interval;
  for (uint32_t k = 0; k < count; ++k) read.who[i + k] = me.who + (k >> shift);
  return true;
}

bool RaceSearch::WriteRow(CellPage& page, uint32_t i, uint32_t count, uint32_t each,
                          Stamp me) const {
  if (!AllOrdered(page.write, i, count) ||
      (page.read != nullptr && !AllOrdered(*page.read, i, count)) ||
      (page.other_read != nullptr && !AllOrdered(*page.other_read, i, count))) {
    return false;
  }
  const int shift = std::countr_zero(each);
  for (uint32_t k = 0; k < count; ++k) page.write.interval[i + k] = me.interval;
  for (uint32_t k = 0; k < count; ++k) page.write.who[i + k] = me.who + (k >> shift);
  return true;
}

bool RowsMeet(const CellPage& a, uint32_t floor_a, const CellPage& b, uint32_t floor_b, uint32_t i,
              uint32_t count) {
  // A cell that was read has a stamp in `read`: `other_read` is what was there before.
  const auto meet = [&](const Stamps& wrote, uint32_t floor_wrote, const Stamps* accessed,
                        uint32_t floor_accessed) {
    uint32_t any = 0;
    for (uint32_t k = i; accessed != nullptr && k < i + count; ++k)
      any |= uint32_t{wrote.interval[k] >= floor_wrote && accessed->interval[k] >= floor_accessed};
    return any != 0;
  };
  return meet(a.write, floor_a, &b.write, floor_b) ||
         meet(a.write, floor_a, b.read.get(), floor_b) ||
         meet(b.write, floor_b, a.read.get(), floor_a);
}

}  // namespace hloscope::ptx
