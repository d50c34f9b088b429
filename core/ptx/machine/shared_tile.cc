// Descriptors of matrices in shared memory, and the matrices behind them.
#include "core/ptx/machine/shared_tile.h"

#include <algorithm>
#include <cstring>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kChunk = 16, kDepthBytes = 32;

SharedTile Common(uint64_t descriptor) {
  const auto field = [&](int at) { return static_cast<uint32_t>(descriptor >> at & 0x3fff) << 4; };
  SharedTile tile;
  tile.start = field(0);
  tile.leading = field(16);
  tile.stride = field(32);
  return tile;
}

// Where the chunk lies that starts at (row, k), counted in elements of which a chunk has `per`.
uint64_t AddressOfChunk(const SharedTile& t, bool transposed, uint32_t row, uint32_t k,
                        uint32_t per) {
  const uint32_t width = RowBytes(t.swizzle);
  uint64_t at = t.start;
  if (!transposed) {
    at += row % 8 * width + row / 8 * t.stride;
    at += k / per * (t.swizzle == Swizzle::kNone ? t.leading : kChunk);
  } else if (t.swizzle == Swizzle::kNone) {
    at += k % 8 * kChunk + k / 8 * t.leading + row / per * t.stride;
  } else {
    const uint32_t chunks = width / kChunk, chunk = row / per;
    at += k % 8 * width + k / 8 * t.stride + chunk % chunks * kChunk + chunk / chunks * t.leading;
  }
  return Swizzled(at, t.swizzle);
}

template <typename T>
bool ReadElements(Warp& w, uint32_t lane, const SharedTile& t, bool transposed, uint32_t rows,
                  bool by_k, std::byte* into) {
  constexpr uint32_t kPer = kChunk / sizeof(T), kDepth = kDepthBytes / sizeof(T);
  const uint32_t row_step = transposed ? kPer : 1, k_step = transposed ? 1 : kPer;
  for (uint32_t row = 0; row < rows; row += row_step) {
    for (uint32_t k = 0; k < kDepth; k += k_step) {
      T chunk[kPer];
      const uint64_t address = AddressOfChunk(t, transposed, row, k, kPer);
      const uint32_t count = transposed ? std::min(kPer, rows - row) : kPer;
      const uint32_t bits = t.packed_bits < 8 ? t.packed_bits : 8 * sizeof(T);
      if (!LoadChunk(w, lane, address, t.packed_bits, {by_k, row, transposed ? count : 1, bits},
                     chunk)) {
        return false;
      }
      if (t.packed_bits < 8) UnpackElements(t.packed_bits, reinterpret_cast<std::byte*>(chunk));
      const uint32_t first = by_k ? k * rows + row : row * kDepth + k;
      const uint32_t step = transposed == by_k ? 1 : by_k ? rows : kDepth;
      for (uint32_t i = 0; i < count; ++i)
        std::memcpy(into + (first + i * step) * sizeof(T), &chunk[i], sizeof(T));
    }
  }
  return true;
}

}  // namespace

uint64_t AddressOfRow(const SharedTile& tile, uint32_t row, uint32_t chunk) {
  return AddressOfChunk(tile, false, row, chunk, 1);
}

void UnpackElements(uint32_t bits, std::byte* chunk) {
  uint64_t words[2];
  std::memcpy(words, chunk, sizeof words);
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t at = i * bits, shift = at % 64;
    uint64_t element = words[at / 64] >> shift;
    if (shift + bits > 64) element |= words[1] << (64 - shift);
    chunk[i] = static_cast<std::byte>(element & ((1u << bits) - 1));
  }
}

bool LoadChunk(Warp& warp, uint32_t lane, uint64_t address, uint32_t bits,
               const TileChunkPlace& place, void* into) {
  Observer* const observer = warp.block->observer;
  const auto load = [&](uint32_t from, uint32_t bytes) {
    if (observer != nullptr) {
      TileChunkPlace part = place;
      part.first_bit = 8 * from;
      observer->TileChunk(warp, part);
    }
    return Load(warp, StateSpace::kSharedCta, address + from, lane,
                static_cast<std::byte*>(into) + from, bytes);
  };
  if (bits >= 8) return load(0, kChunk);
  return load(0, 8) && (bits == 4 || load(8, 4));
}

std::optional<SharedTile> WgmmaTile(uint64_t descriptor, const char*& refused) {
  SharedTile tile = Common(descriptor);
  if ((descriptor >> 49 & 7) != 0 && descriptor >> 62 != 0) {
    refused = "a matrix descriptor with a base offset is not executed";
    return std::nullopt;
  }
  constexpr Swizzle kModes[] = {Swizzle::kNone, Swizzle::k128, Swizzle::k64, Swizzle::k32};
  tile.swizzle = kModes[descriptor >> 62];
  return tile;
}

std::optional<SharedTile> Tcgen05Tile(uint64_t descriptor, const char*& refused) {
  SharedTile tile = Common(descriptor);
  // The PTX ISA wants 001; Triton 3.5 leaves them 0, and devices run what it writes.
  if ((descriptor >> 46 & 7) > 1) {
    refused = "bits 46 to 48 of a matrix descriptor of tcgen05 have to be 001";
    return std::nullopt;
  }
  // Where a pattern begins counts only where there is one.
  const uint64_t refused_bits = descriptor >> 61 == 0 ? 0xff8 : 0xfff;
  if ((descriptor >> 49 & refused_bits) != 0) {
    refused = "a matrix descriptor with a base offset or absolute strides is not executed";
    return std::nullopt;
  }
  switch (descriptor >> 61) {
    case 0:
      return tile;
    case 2:
      tile.swizzle = Swizzle::k128;
      return tile;
    case 4:
      tile.swizzle = Swizzle::k64;
      return tile;
    case 6:
      tile.swizzle = Swizzle::k32;
      return tile;
    default:
      refused = "a matrix descriptor with a swizzle by 32 bytes is not executed";
      return std::nullopt;
  }
}

bool ReadTile(Warp& warp, uint32_t lane, const SharedTile& tile, bool transposed, uint32_t rows,
              uint32_t element_bytes, bool by_k, std::byte* into) {
  CountAccess(warp, AccessMode::kRead, StateSpace::kSharedCta, tile.start,
              rows * kDepthBytes / 8 * tile.packed_bits);
  switch (element_bytes) {
    case 1:
      return ReadElements<uint8_t>(warp, lane, tile, transposed, rows, by_k, into);
    case 2:
      return ReadElements<uint16_t>(warp, lane, tile, transposed, rows, by_k, into);
    default:
      return ReadElements<uint32_t>(warp, lane, tile, transposed, rows, by_k, into);
  }
}

}  // namespace hloscope::ptx
