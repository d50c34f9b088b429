// ldmatrix and stmatrix of elements of eight bits and fewer.
#include <cstring>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kRowBytes = 16;
using Row = uint8_t[kRowBytes];

bool IsAligned(Warp& w, uint64_t address, uint32_t lane, const char* what) {
  if (address % kRowBytes == 0) return true;
  w.block->Fail(what, w.first_thread + lane, address);
  return false;
}

// Sixteen elements of a row in memory, side by side: each into a byte, from its lowest bit on.
void Widen(const Row& packed, uint32_t bits, Row& row) {
  for (uint32_t i = 0; i < kRowBytes; ++i) {
    const uint32_t at = i * bits;
    uint32_t pair = packed[at / 8];
    if (at / 8 + 1 < kRowBytes) pair |= uint32_t{packed[at / 8 + 1]} << 8;
    row[i] = static_cast<uint8_t>(pair >> at % 8 & ((1u << bits) - 1));
  }
}

uint32_t ElementBits(const Instruction& in) {
  switch (ModifierPackedElements(in)) {
    case PackedElements::kB6:
      return 6;
    case PackedElements::kB4:
      return 4;
    default:
      return 8;
  }
}

// m8n16: lane l has columns 4 · (l % 4) and on of row l / 4. m16n16, transposed: rows 4 · (l % 4)
// and on of column l / 4, then of column l / 4 + 8. Lanes name the rows of one matrix after the
// other.
void LoadByteMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("ldmatrix without all 32 lanes", w.first_thread);
  const bool square = ModifierTrans(in) == Trans::kOn;
  const uint32_t registers = in.slot_count - 1;
  const uint32_t rows = 8 * registers;  // a square matrix has two registers
  Row values[kLanes];
  for (uint32_t l = 0; l < rows; ++l) {
    const uint64_t address = AddressOf(w, in, s[registers], l);
    Row packed;
    if (!IsAligned(w, address, l, "a row of ldmatrix that is not 16-byte aligned") ||
        !Load(w, ModifierStateSpace(in), address, l, packed, kRowBytes))
      return;
    Widen(packed, ElementBits(in), values[l]);
  }
  for (uint32_t r = 0; r < registers; ++r) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      uint32_t value = 0;
      for (uint32_t b = 0; b < 4; ++b) {
        const uint32_t along = 4 * (l % 4) + b;
        const uint8_t element = square ? values[16 * (r / 2) + along][l / 4 + 8 * (r % 2)]
                                       : values[8 * r + l / 4][along];
        value |= uint32_t{element} << (8 * b);
      }
      WriteLane(w, s[r], l, value);
    }
  }
}

// m16n8, transposed: lane l has rows l / 4 and l / 4 + 8 of columns 2 · (l % 4) and the next, as
// sums of mma have them; a column lies in the sixteen bytes that a lane names.
void StoreByteMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("stmatrix without all 32 lanes", w.first_thread);
  const uint32_t matrices = in.slot_count - 1;
  Row values[kLanes];
  for (uint32_t x = 0; x < matrices; ++x) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t bits = ReadLane(w, s[1 + x], l);
      for (uint32_t e = 0; e < 4; ++e)
        values[8 * x + 2 * (l % 4) + e % 2][l / 4 + 8 * (e / 2)] =
            static_cast<uint8_t>(bits >> (8 * e));
    }
  }
  for (uint32_t l = 0; l < 8 * matrices; ++l) {
    const uint64_t address = AddressOf(w, in, s[0], l);
    if (!IsAligned(w, address, l, "a row of stmatrix that is not 16-byte aligned") ||
        !Store(w, ModifierStateSpace(in), address, l, values[l], kRowBytes))
      return;
  }
}

}  // namespace

Step ByteMatrixStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kLdmatrixBytes:
      return LoadByteMatrices;
    case Operation::kStmatrixBytes:
      return StoreByteMatrices;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
