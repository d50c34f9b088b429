// Elementwise instructions of lanes: the arithmetic of HLO as LLVM IR.
#pragma once

#include <span>

#include "core/codegen/math/numbers.h"
#include "core/hlo/module.h"

namespace hloscope::codegen {

// What an elementwise instruction yields of operands in registers, vectors and scalars mixed; null
// where there is no code for it.
llvm::Value* Elementwise(Builder& b, const hlo::Module& module, hlo::InstructionId id,
                         std::span<llvm::Value* const> operands);

// The results of a computation of scalars (reducer, map body) applied to lanes; empty where there
// is no code for it.
std::vector<llvm::Value*> Applied(Builder& b, const hlo::Module& module, hlo::ComputationId id,
                                  std::span<llvm::Value* const> arguments);
// The same of any of its instructions.
std::vector<llvm::Value*> Applied(Builder& b, const hlo::Module& module, hlo::ComputationId id,
                                  std::span<llvm::Value* const> arguments,
                                  std::span<const hlo::InstructionId> wanted);
// Floats as integers of the same order: -NaN < -inf < … < -0 < +0 < … < inf < NaN.
llvm::Value* TotalOrderKey(Builder& b, llvm::Value* x);

// A constant's element.
llvm::Constant* ElementOf(Builder& b, const hlo::Literal& literal, size_t i);

// Maximum and minimum: NaN if either side is, +0 above -0. `opcode` is kMaximum or kMinimum.
llvm::Value* Extreme(Builder& b, hlo::Opcode opcode, llvm::Value* x, llvm::Value* y,
                     hlo::ElementType type);

}  // namespace hloscope::codegen
