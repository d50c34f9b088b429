// Which product of a tensor core an instruction asks for.
#pragma once

#include "core/ptx/machine/state.h"
#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

// The form of an mma.sync on sm_`target`; CheckMma says whether it can be computed.
MmaForm MmaFormOf(const Instruction& instruction, uint32_t target);
// The same of wgmma.mma_async and CheckTile.
TileForm WgmmaFormOf(const Instruction& instruction, uint32_t target);

// The types of a wmma.mma, and the mma.sync whose sums it makes.
struct WmmaTypes {
  Type factors, d, c;
};
WmmaTypes WmmaTypesOf(const Instruction& instruction);
MmaForm WmmaFormOf(const Instruction& instruction, uint32_t target);
// How many products of two elements a wmma.mma sums, for all lanes together.
uint64_t WmmaProductsOf(const Instruction& instruction);

// Adds the products of a tile.
void CountProduct(const TileForm& form, RunCounts& counts);

// Turns the signs of the floats in `size` bytes.
void NegateElements(Element element, std::byte* bytes, size_t size);

// The same for kMmaNarrow.
Status CheckNarrowMma(uint32_t target);

// An error of class kUnsupported names what of an instruction of the class kTensor cannot be
// computed on sm_`target`. Of tcgen05.mma only its kind is known before it runs.
Status CheckProduct(const Instruction& instruction, uint32_t target);

// How many products of two elements it sums, for all lanes together.
inline uint64_t ProductsOf(const MmaForm& form) {
  return static_cast<uint64_t>(form.m) * static_cast<uint64_t>(form.n) *
         static_cast<uint64_t>(form.k);
}

}  // namespace hloscope::ptx
