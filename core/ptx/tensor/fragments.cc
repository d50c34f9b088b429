// Where fragments of mma.sync have their elements. Lane 4g + t: the lanes of a group g follow each
// other along a row.
#include "core/ptx/tensor/fragments.h"

#include <cstring>

namespace hloscope::ptx {

// A register of the four lanes of group g is 16 bytes of row g: of the next eight rows in the next
// register, of the next 16 bytes after those. B is stored so by columns, hence its rows here are
// the columns of the matrix.
void GatherRows(const uint32_t (*registers)[32], int rows, int row_bytes, std::byte* out) {
  const int halves = rows / 8;
  for (int block = 0; block < row_bytes / 16; ++block) {
    for (int half = 0; half < halves; ++half) {
      const uint32_t* lanes = registers[block * halves + half];
      std::byte* to = out + half * 8 * row_bytes + block * 16;
      for (int group = 0; group < 8; ++group) {
        std::memcpy(to + group * row_bytes, lanes + group * 4, 16);
      }
    }
  }
}

// Lane 4g + t has columns 2t and 2t + 1 of row g, then of row g + 8: elements 2·lane and 2·lane + 1
// of 64.
void GatherSums(const uint32_t (*registers)[32], int rows, int bytes, std::byte* out) {
  const int words = bytes / 2;  // of two neighbours
  for (int half = 0; half < rows / 8; ++half, registers += words, out += 64 * bytes) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int word = 0; word < words; ++word) {
        std::memcpy(out + (lane * words + word) * 4, &registers[word][lane], 4);
      }
    }
  }
}

void ScatterSums(const std::byte* sums, int rows, int bytes, uint32_t (*registers)[32]) {
  const int words = bytes / 2;
  for (int half = 0; half < rows / 8; ++half, registers += words, sums += 64 * bytes) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int word = 0; word < words; ++word) {
        std::memcpy(&registers[word][lane], sums + (lane * words + word) * 4, 4);
      }
    }
  }
}

}  // namespace hloscope::ptx
