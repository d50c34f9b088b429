// Which computations can be applied to scalars inside a kernel, and of which types.
#pragma once

#include <cstdint>
#include <span>

#include "core/hlo/module.h"

namespace hloscope::compile {

// True for a computation of scalars, written with what kernels apply element by element, that
// yields one scalar, or a tuple of `results` where those are more.
bool IsScalarComputation(const hlo::Module& module, hlo::ComputationId id, size_t results);

// A computation of more instructions is not applied inside a kernel.
inline constexpr uint32_t kMaxApplied = 64;
// True if `id`, or what it calls, has more.
bool IsTooLarge(const hlo::Module& module, hlo::ComputationId id);

// True if the parameters have the element types of `values`, in order, from `first` on.
bool TakesTypesOf(const hlo::Module& module, hlo::ComputationId id,
                  std::span<const hlo::InstructionId> values, size_t first);

// True if the results have the element types of `values`, in order.
bool MakesTypesOf(const hlo::Module& module, hlo::ComputationId id,
                  std::span<const hlo::InstructionId> values);

}  // namespace hloscope::compile
