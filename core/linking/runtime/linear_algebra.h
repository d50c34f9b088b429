// Factors and systems of triangular matrices for compiled code: plain functions of plain data.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum HloscopeElement : int32_t { kHloscopeF32, kHloscopeF64, kHloscopeC64, kHloscopeC128 };

// Vectors of a system that are solved side by side.
inline constexpr int64_t kHloscopeVectors = 64;

// A stack of matrices of n rows and columns, and what is done with each. Compiled code holds one of
// these as a constant: the layout is part of its interface.
struct HloscopeTriangular {
  int64_t n;
  int64_t vectors;  // of each system; of none where matrices are factored
  HloscopeElement type;
  int32_t is_lower;
  int32_t is_left, has_unit_diagonal, is_transposed, is_conjugated;  // of systems
};

// Factors matrices [begin, end) of `in` as cholesky does, in f64 or pairs of such, rounded once.
// `scratch` has 16 bytes for each element of all matrices.
void hloscope_cholesky(const HloscopeTriangular* form, const std::byte* in, std::byte* out,
                       std::byte* scratch, int64_t begin, int64_t end);

// Solves systems as triangular-solve does: blocks [begin, end) of kHloscopeVectors vectors each,
// the last one of a system shorter. `scratch` has 16 bytes for each element of the result.
void hloscope_triangular_solve(const HloscopeTriangular* form, const std::byte* a,
                               const std::byte* b, std::byte* out, std::byte* scratch,
                               int64_t begin, int64_t end);

}  // extern "C"
