// Which instructions are calls of libraries: what these do better than a kernel of our own.
#pragma once

#include <vector>

#include "core/hlo/module.h"

namespace hloscope::compile {

// True for a Fourier transform, and for a convolution or a dot that is not small of static arrays
// of a type that oneDNN multiplies (f32, or bf16 on processors that do), in a form that it takes.
// Whether this processor can is asked when the call is made.
bool IsLibraryCall(const hlo::Module& module, hlo::InstructionId id);

// Whether a library takes the input along that dimension of a window only with its holes as zeros,
// or without what padding cuts off.
bool NeedsPaddedInput(const hlo::WindowDimension& window);
// Whether that input would be too large to be made: a kernel of ours steps over the holes.
bool IsPaddedTooLarge(const hlo::Module& module, hlo::InstructionId convolution);

// Operands of one type that oneDNN multiplies, and a result that it sums up to.
bool HasLibraryTypes(const hlo::Module& module, hlo::InstructionId id);

// From so many products on a library of a GPU is called: a call takes longer than a small kernel of
// ours. Not measured on a device yet.
inline constexpr double kMinGpuProducts = 1 << 18;

// Multiplications of a dot.
double ProductsOf(const hlo::Module& module, hlo::InstructionId dot);

// A dot of so few products that calling a library takes longer than computing it.
bool IsSmallDot(const hlo::Module& module, hlo::InstructionId id);

// All of them in a module.
std::vector<hlo::InstructionId> LibraryCallsOf(const hlo::Module& module);

}  // namespace hloscope::compile
