// FactorCall: a custom call that factors matrices (LAPACK's, cuSOLVER's and XLA's names, as
// hlo/expand/custom_calls.def has them), in the form that kernels and libraries of GPUs
// take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/hlo/module.h"

namespace hloscope::compile {

enum class FactorWork : uint8_t {
  kLu,              // results: L and U, pivots from 1, info
  kCholesky,        // the factor in its triangle, info; the other triangle is the operand's
  kQr,              // R and the vectors below it, their factors
  kFormQ,           // the first columns of Q, of vectors and their factors
  kSymmetricEigen,  // vectors as columns, eigenvalues in ascending order, info if it is asked for
};
// "LU", as reports say.
std::string_view NameOf(FactorWork work);

// Matrices of f32, f64, c64 or c128, row-major as all arrays. Results behind those of the work are
// workspaces, zeros to the evaluator.
struct FactorCall {
  FactorWork work{};
  int64_t matrices = 1, rows = 1, columns = 1;
  int64_t vectors = 0;   // of kFormQ: how many there are
  bool is_lower = true;  // the triangle that is read
  size_t operand = 0;    // the first of its arrays, behind the options of older calls
  size_t results = 0;    // that are the work's own

  int64_t less() const { return rows < columns ? rows : columns; }
};

// Nullopt where it is none, or one in a form that only the evaluator knows.
std::optional<FactorCall> FactorCallOf(const hlo::Module& module, hlo::InstructionId id);

}  // namespace hloscope::compile
