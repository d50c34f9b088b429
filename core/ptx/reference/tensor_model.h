// A second way to what tensor cores compute, to hold core/ptx/tensor against: integers of 128 bits,
// one element at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

// How one step of floats goes: `products` of them, `fraction` bits below the largest exponent,
// `kept` bits of an f32 result.
struct ReferenceRule {
  int products, fraction, kept;
};

using Bits = std::vector<uint64_t>;  // of the elements of a dense row-major matrix

// D[i][j] of A[m][k] · B[k][n] + C[m][n].
uint64_t ReferenceSum(const Bits& a, const Bits& b, uint64_t c, int i, int j, int n, int k,
                      Element a_type, Element b_type, Element d_type, bool saturate,
                      ReferenceRule rule);

// The factors of block-scaled products: one for `block` elements along k, of A by [m][k / block],
// of B by [n][k / block]; ue4m3, else ue8m0.
struct ReferenceScales {
  int block;
  bool is_ue4m3;
  const Bits &a, &b;
};
uint64_t ReferenceScaledSum(const Bits& a, const Bits& b, uint64_t c, int i, int j, int n, int k,
                            Element a_type, Element b_type, Element d_type,
                            const ReferenceScales& scales, ReferenceRule rule);

// The same of f8 on sm_90 to sm_119, whose cores have no such products: ptxas widens them to f16,
// multiplies the first two of each four along k, adds the product of the others to that, and the
// sum to C.
uint64_t ReferenceWidened(const Bits& a, const Bits& b, uint64_t c, int i, int j, int n, int k,
                          Element a_type, Element b_type, Element d_type);

// Row and column of element `i` of a lane in the fragments of A, B, and C and D, as the PTX ISA
// gives them.
std::pair<int, int> PlaceInA(const MmaForm& form, int lane, int i);
std::pair<int, int> PlaceInB(const MmaForm& form, int lane, int i);
std::pair<int, int> PlaceInC(const MmaForm& form, int lane, int i);

}  // namespace hloscope::ptx
