// GpuScanShape: which threads of a GPU have which elements of the lines of a cumulative reduction.
#pragma once

#include <algorithm>

#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/index.h"
#include "core/codegen/emit/reducers.h"

namespace hloscope::codegen {

// A warp has `columns` neighbouring lines of each of `teams_in_warp` teams, `lanes` lanes of each
// line. A team, which are the lines that have the same warps, has `warps` of them. In a tile of a
// line each lane has `items` units of `side_by_side` elements, one of each turn of all lanes. All
// of these are powers of 2 but for `items`.
struct GpuScanShape {
  int64_t count, outer, behind;  // elements of a line; lines before and behind
  int64_t columns = 1, lanes = 1, teams_in_warp = 1, warps = 1;
  int64_t side_by_side = 1, items = 1;
  int64_t units = 1, tile = 1, tiles = 1;  // of a line; units of a tile
  int64_t part_tiles = 1, parts = 1;       // a part of a line has a block of its own
  int64_t teams = 1, teams_of_line = 1, teams_in_block = 1;
  int64_t blocks = 1, threads = kWarp;  // of a part of all lines; of a block

  GpuScanShape(std::span<const int64_t> sizes, size_t dimension, const Reducers& reducers)
      : count(sizes[dimension]),
        outer(ProductOf(sizes.first(dimension))),
        behind(ProductOf(sizes.subspan(dimension + 1))) {
    ChooseItems(reducers);
    ChooseWarps(reducers);
    ChooseParts();
  }

 private:
  static constexpr int64_t kWordsOfThread = 16;  // 32-bit registers for the elements of a tile
  static constexpr int64_t kMaxShuffles = 40;    // of a number in a tile
  static constexpr int64_t kBytesAtOnce = 16, kMaxSideBySide = 4;
  static constexpr int64_t kUsualWarps = 8, kMaxWarps = 32;  // of a line
  static constexpr int64_t kWarpsOfBlock = 4;                // where lines have fewer
  // Teams that keep a GPU busy with few warps each, and that do not with many.
  static constexpr int64_t kEnoughTeams = 512, kFewTeams = 64;
  static constexpr int64_t kEnoughBlocks = 512, kMinTiles = 4;  // of parts, of a line that is cut

  static int64_t Quotient(int64_t a, int64_t b) { return (a - 1) / b + 1; }
  bool MayBeCut() const { return teams < kFewTeams; }

  void ChooseItems(const Reducers& reducers) {
    int64_t words = 0, widest = 1;
    for (size_t k = 0; k < reducers.count(); ++k) {
      words += (hlo::StorageBytes(reducers.AccumulatorType(k)) + 3) / 4;
      widest = std::max<int64_t>(widest, hlo::StorageBytes(reducers.ResultType(k)));
    }
    columns = std::min(kWarp, PowerOfTwoFrom(behind));
    if (behind == 1) {
      side_by_side = std::min(kMaxSideBySide, kBytesAtOnce / widest);
      while (count % side_by_side != 0) side_by_side /= 2;
    }
    units = count / side_by_side;
    lanes = std::min(kWarp / columns, PowerOfTwoFrom(units));
    items = std::max<int64_t>(1, kWordsOfThread / (words * side_by_side));
    int64_t shuffles = 2;
    for (int64_t lane = 1; lane < lanes; lane *= 2) ++shuffles;
    if (lanes > 1) items = std::min(items, kMaxShuffles / shuffles);
    items = std::min(items, Quotient(units, lanes));
  }

  void ChooseWarps(const Reducers& reducers) {
    int64_t bytes = 0;
    for (size_t k = 0; k < reducers.count(); ++k) {
      bytes += hlo::StorageBytes(reducers.AccumulatorType(k));
    }
    teams_of_line = Quotient(behind, columns);
    teams = outer * teams_of_line;
    const int64_t most = teams >= kEnoughTeams || MayBeCut() ? kUsualWarps : kMaxWarps;
    warps = std::min(most, PowerOfTwoFrom(Quotient(units, lanes * items)));
    const auto shared = [&] { return std::max(warps, kWarpsOfBlock) * columns * bytes; };
    while (warps > 1 && shared() > kMaxSharedBytes) warps /= 2;
    teams_in_warp = kWarp / (columns * lanes);
    const int64_t in_block = std::max<int64_t>(1, kWarpsOfBlock / warps);
    teams_in_block =
        teams_in_warp * std::min(in_block, PowerOfTwoFrom(Quotient(teams, teams_in_warp)));
    threads = teams_in_block / teams_in_warp * warps * kWarp;
    blocks = Quotient(teams, teams_in_block);
  }

  void ChooseParts() {
    tile = warps * lanes * items;
    tiles = Quotient(units, tile);
    if (MayBeCut() && tiles >= kMinTiles) parts = std::min(tiles, kEnoughBlocks / blocks);
    part_tiles = Quotient(tiles, parts);
    parts = Quotient(tiles, part_tiles);
  }
};

}  // namespace hloscope::codegen
