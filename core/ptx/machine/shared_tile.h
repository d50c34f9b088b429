// Matrices in shared memory as wgmma and tcgen05.mma are told of them by a descriptor of 64 bits.
#pragma once

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/tensor/tensor_map.h"

namespace hloscope::ptx {

struct SharedTile {
  uint32_t start = 0;    // offset in shared memory
  uint32_t leading = 0;  // bytes; see ReadTile
  uint32_t stride = 0;   // bytes
  Swizzle swizzle = Swizzle::kNone;
  // 4 or 6: each chunk of 16 bytes begins with sixteen elements of so many bits, and the rest of it
  // is not read (b4x16_p64 and b6x16_p32 of the PTX ISA). 8: elements of whole bytes.
  uint32_t packed_bits = 8;
};

// What a descriptor says; nullopt and a reason in `refused` for what is not executed.
std::optional<SharedTile> WgmmaTile(uint64_t descriptor, const char*& refused);
std::optional<SharedTile> Tcgen05Tile(uint64_t descriptor, const char*& refused);

// Where chunk `chunk` of 16 bytes of a row lies, of a matrix that is not transposed.
uint64_t AddressOfRow(const SharedTile& tile, uint32_t row, uint32_t chunk);

// Sixteen elements of `bits`, 4 or 6, at the begin of a chunk to a byte each.
void UnpackElements(uint32_t bits, std::byte* chunk);

// Tells the observer of `place` and reads what elements of `bits` take of a chunk: 8, 12 or 16
// bytes. False and a fault of thread `lane` for an access outside.
bool LoadChunk(Warp& warp, uint32_t lane, uint64_t address, uint32_t bits,
               const TileChunkPlace& place, void* into);

// Reads `rows` (of M or N, a multiple of 8) times 32 bytes of k with elements of 1, 2 or 4 bytes:
// as [row][k] (A) or, with `by_k` (B), as [k][row]. `transposed`: elements next to each other in
// memory are those of one k. The layouts are those of the PTX ISA, in chunks of 16 bytes: eight
// rows (or, if transposed, eight k) of the width of the swizzle make an atom; `stride` lies between
// atoms along the rows (transposed: along k), `leading` between those along k where there is no
// swizzle (transposed: along the rows). False and a fault of thread `lane` for an access outside.
bool ReadTile(Warp& warp, uint32_t lane, const SharedTile& tile, bool transposed, uint32_t rows,
              uint32_t element_bytes, bool by_k, std::byte* into);

}  // namespace hloscope::ptx
