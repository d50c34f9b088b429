// Tensor memory of sm_100: 128 lanes of 512 columns of 32 bits. An address is lane << 16 | column.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace hloscope::ptx {

class TensorMemory {
 public:
  static constexpr uint32_t kLanes = 128, kColumns = 512, kUnit = 32;

  // Columns that are free, the first such; nullopt where there are not as many side by side.
  // `columns` is a power of two from 32 to 512.
  std::optional<uint32_t> Allocate(uint32_t columns);
  // False where exactly these were not given out by one call of Allocate.
  bool Free(uint32_t first, uint32_t columns);
  // Whether `columns` from `first` on were given out.
  bool Holds(uint32_t first, uint32_t columns) const;

  static constexpr uint32_t CellAt(uint32_t lane, uint32_t column) {
    return lane * kColumns + column;
  }
  uint32_t& At(uint32_t lane, uint32_t column) { return cells_[CellAt(lane, column)]; }

 private:
  std::array<uint32_t, kColumns / kUnit> owners_{};  // 0: free; else 1 + the first unit of a call
  std::vector<uint32_t> cells_ = std::vector<uint32_t>(kLanes * kColumns, 0xffffffffu);  // poison
};

}  // namespace hloscope::ptx
