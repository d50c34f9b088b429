// Functions of floating-point numbers as vector code.
#pragma once

#include "core/codegen/math/expression.h"
#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// The function of `opcode` of numbers of f32 or f64; the table in ../README.md says how accurate
// each is. Null where the opcode is no function of floating-point numbers.
llvm::Value* Function(Builder& b, hlo::Opcode opcode, std::span<llvm::Value* const> operands);

// The function of `opcode` of a number of f32 by a GPU's approximations (PTX ISA: ex2.approx 2 ulp,
// rcp.approx 1 ulp, rsqrt.approx 2^-22.9), for results that are rounded to 16 bits: below 0.51 ulp
// of these. Null where there is none.
llvm::Value* RoundedFunction(Builder& b, hlo::Opcode opcode, llvm::Value* x);

// A flag of modules whose code may use AVX-512.
inline constexpr const char* kHasAvx512 = "hloscope.avx512";

// Functions of f32; errors in units in the last place, over all inputs, denormals included.
Expression Exp(Expression x);                  // 1.0
Expression Expm1(Expression x);                // 0.51
Expression Logistic(Expression x);             // 1.6
Expression Tanh(Expression x);                 // 1.4
Expression Log(Expression x);                  // 0.9
Expression Log1p(Expression x);                // 0.51
Expression Power(Expression x, Expression y);  // 0.55
Expression Erf(Expression x);                  // 1.2
Expression Sin(Expression x);                  // 1.6
Expression Cos(Expression x);                  // 1.6

}  // namespace hloscope::codegen
