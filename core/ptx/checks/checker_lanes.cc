// Checker: accesses of all lanes at once, where nothing is to be found.
#include <algorithm>
#include <bit>

#include "core/ptx/checks/checker.h"
#include "core/ptx/checks/same_bytes.h"
#include "core/ptx/machine/access.h"

namespace hloscope::ptx {
bool Checker::FindArea(const Warp& warp, const Addresses& a, Area& area) {
  if (a.mask == 0 || a.bytes > kMaxBytes || (a.bytes & (a.bytes - 1)) != 0) return false;
  if (a.space == StateSpace::kLocal || a.space == StateSpace::kParam ||
      a.space == StateSpace::kParamEntry) {
    return false;
  }
  const uint64_t some = a.of[std::countr_zero(a.mask)];
  const uint64_t window = IsShared(a.space) ? kSharedWindow : some >> kWindowShift;
  if (window == kLocalWindow) return false;
  const uint64_t base = IsShared(a.space) ? 0 : window << kWindowShift;
  area.spot = SpotIn(warp, window, 0, 0);
  const Spot& spot = area.spot;
  if (!spot.inside) return false;
  uint64_t last = 0, low_bits = 0, differs = a.mask ^ kAllLanes;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t offset = ((a.mask >> l & 1) != 0 ? a.of[l] : some) - base;
    last |= offset;
    differs |= a.of[l] ^ (a.of[0] + l * a.bytes);
    area.at[l] = spot.at + offset;
    low_bits |= area.at[l];
  }
  area.is_row = differs == 0;
  if (last > spot.held || a.bytes > spot.held - last) {  // each offset is at most `last`
    last = 0;
    for (uint32_t l = 0; l < kLanes; ++l) last = std::max(last, area.at[l] - spot.at);
    if (last > spot.held || spot.held - last < a.bytes) return false;
  }
  const uint32_t unit = area.is_row ? spot.grain : std::max(a.bytes, spot.grain);
  return (low_bits & (unit - 1)) == 0 && a.bytes % spot.grain == 0;
}

Checker::Spot Checker::Area::SpotOf(uint32_t lane, uint32_t cell) const {
  Spot of = spot;
  of.offset = at[lane] - spot.at + cell * spot.grain;
  return of;
}

// Where the cells of an area are: false where those of one lane may be on two pages.
bool Checker::FindCells(const Warp& warp, const Addresses& a, const Area& area, Cells& cells) {
  const Spot& spot = area.spot;
  const int shift = std::countr_zero(spot.grain);
  CellTable& table = *spot.cells;
  cells.access.each = a.bytes >> shift;
  cells.access.mask = a.mask;
  cells.access.warp = warp.first_in_cluster / kLanes;
  // What else was written is not known of a block that repeats the first.
  cells.access.floor = repeats_ ? 0 : clocks_.first();
  cells.access.known = clocks_.KnownTo(cells.access.warp);
  if (spot.window == kSharedWindow) {
    cells.all = &table.PageOf(0);
    for (uint32_t l = 0; l < kLanes; ++l)
      cells.access.cell[l] = static_cast<uint32_t>(area.at[l] >> shift);
    return true;
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    cells.numbers[l] = area.at[l] >> shift;
    cells.access.cell[l] = table.IndexOf(cells.numbers[l]);
  }
  if (!area.is_row) return true;
  if (cells.access.cell[0] + cells.access.each * kLanes <= table.page_cells()) {
    cells.row = &table.PageOf(cells.numbers[0]);
    return true;
  }
  return (area.at[0] & (a.bytes - 1)) == 0;
}

bool Checker::CheckReadOfAll(const Warp& warp, const Addresses& a) {
  Area area;
  if (!FindArea(warp, a, area)) return false;
  const Spot& spot = area.spot;
  if (spot.unwritten != nullptr) {
    bool any = false;
    if (area.is_row) {
      any = spot.unwritten->AnyIn(area.at[0], area.at[0] + kLanes * a.bytes);
    } else {
      for (uint32_t l = 0; l < kLanes; ++l) any |= spot.unwritten->Get(area.at[l], a.bytes) != 0;
    }
    if (any) return false;
  }
  if (spot.cells == nullptr) return true;
  Cells cells;
  if (!FindCells(warp, a, area, cells)) return false;
  const RaceSearch search = SearchIn(spot, warp);
  CellAccess& access = cells.access;
  access.me = StampOf(warp, 0, false);
  if (cells.row != nullptr &&
      search.ReadRow(*cells.row, access.cell[0], access.each * kLanes, access.each, access.me)) {
    return true;
  }
  uint32_t left = cells.all != nullptr ? cell_steps_.read(*cells.all, access) : a.mask;
  for (; left != 0; left &= left - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(left));
    CellPage& page = cells.all != nullptr ? *cells.all : spot.cells->PageOf(cells.numbers[l]);
    for (uint32_t k = 0; k < access.each; ++k) {
      const auto found =
          search.Read(page, access.cell[l] + k, {access.me.interval, access.me.who + l});
      if (found) ReportRace(*found, false, warp.first_in_cluster + l, area.SpotOf(l, k));
    }
  }
  return true;
}

bool Checker::CheckWriteOfAll(const Warp& warp, const Addresses& a, const std::byte* values) {
  Area area;
  if (!FindArea(warp, a, area)) return false;
  const Spot& spot = area.spot;
  if (spot.cells != nullptr && !CheckWrittenCells(warp, a, area, values)) return false;
  if (spot.unwritten == nullptr) return true;
  if (area.is_row) {
    spot.unwritten->Fill(area.at[0], area.at[0] + kLanes * a.bytes, false);
    return true;
  }
  for (uint32_t l = 0; l < kLanes; ++l) spot.unwritten->Put(area.at[l], a.bytes, 0);
  return true;
}

bool Checker::CheckWrittenCells(const Warp& warp, const Addresses& a, const Area& area,
                                const std::byte* values) {
  Cells cells;
  if (!FindCells(warp, a, area, cells)) return false;
  const Spot& spot = area.spot;
  const bool is_async = values == nullptr;
  const RaceSearch search = SearchIn(spot, warp);
  CellAccess& access = cells.access;
  access.me = StampOf(warp, 0, is_async);
  const std::byte* const data = spot.data - spot.at;
  if (cells.row != nullptr &&
      (is_async || DiffersEverywhere(data + area.at[0], values, a.bytes * kLanes, spot.grain)) &&
      search.WriteRow(*cells.row, access.cell[0], access.each * kLanes, access.each, access.me)) {
    return true;
  }
  // What a copy brings comes later: what is there now says nothing.
  uint32_t changed[kMaxBytes];
  for (uint32_t k = 0; k < access.each; ++k) {
    changed[k] = is_async ? kAllLanes : 0;
    const uint32_t from = k * spot.grain;
    for (uint32_t l = 0; l < kLanes && !is_async; ++l) {
      const bool same = IsSame(data + area.at[l] + from, values + l * a.bytes + from, spot.grain);
      changed[k] |= uint32_t{!same} << l;
    }
  }
  uint32_t left = cells.all != nullptr ? cell_steps_.write(*cells.all, access, changed) : a.mask;
  for (; left != 0; left &= left - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(left));
    CellPage& page = cells.all != nullptr ? *cells.all : spot.cells->PageOf(cells.numbers[l]);
    for (uint32_t k = 0; k < access.each; ++k) {
      const auto found = search.Write(page, access.cell[l] + k,
                                      {access.me.interval, access.me.who + l}, changed[k] >> l & 1);
      if (found) ReportRace(*found, true, warp.first_in_cluster + l, area.SpotOf(l, k));
    }
  }
  return true;
}

}  // namespace hloscope::ptx
