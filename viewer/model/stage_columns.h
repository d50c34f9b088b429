// StageColumns: the stages of a module across a strip, however many: each column at least as wide
// as can be seen, neighbours share one where they do not all fit. No drawing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hloscope::viewer {

struct StageColumns {
  float left = 0, width = 0;  // pixels
  int32_t stages = 0;
  int32_t columns = 0;

  StageColumns(float at, float across, int32_t stage_count, float least)
      : left(at), width(std::max(across, 1.0F)), stages(std::max(stage_count, 1)) {
    const auto most = static_cast<int32_t>(width / std::max(least, 1.0F));
    columns = std::clamp(stages, 1, std::max(most, 1));
  }

  float ColumnWidth() const { return width / static_cast<float>(columns); }
  // The column of a stage, and where it begins and ends.
  int32_t ColumnOf(int32_t stage) const {
    return static_cast<int32_t>(int64_t{stage} * columns / stages);
  }
  float Left(int32_t stage) const {
    return left + ColumnWidth() * static_cast<float>(ColumnOf(stage));
  }
  float Right(int32_t stage) const { return Left(stage) + ColumnWidth(); }
  // The first stage of the column, and the one after its last.
  int32_t First(int32_t column) const {
    return static_cast<int32_t>((int64_t{column} * stages + columns - 1) / columns);
  }
  // The stage at `x`: a point within a shared column chooses among its stages.
  int32_t StageAt(float x) const {
    const float share = std::clamp((x - left) / width, 0.0F, 1.0F);
    return std::min(static_cast<int32_t>(share * static_cast<float>(stages)), stages - 1);
  }
};

}  // namespace hloscope::viewer
