// What a kernel is made of: which instructions core/codegen writes code for, alone or inside a
// fusion. Fusion asks here before it puts instructions together.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/hlo/module.h"

namespace hloscope::compile {

// A constant of up to this many elements is part of the code of the kernels that read it.
inline constexpr int64_t kMaxElementsInCode = 64;

// A window of more places is not gone through for each result.
inline constexpr int64_t kMaxWindowPlaces = 256;

// A static array that has elements.
bool IsWholeArray(const hlo::Shape& shape);

// True if the instruction can stand inside a kernel: an element of its value is computed from
// elements of its operands. Parameters can; what has effects, dynamic shapes or tuples cannot.
bool IsElemental(const hlo::Module& module, hlo::InstructionId id);

// True for a topk of one array whose results are values of the operand's type, not complex, and
// integers: which elements of the last dimension they are.
bool IsPlainTopK(const hlo::Module& module, hlo::InstructionId id);

// True for another name of operand 0's bytes: the same elements in the same order, or their bits as
// elements of another width.
bool IsBitcastLike(const hlo::Module& module, hlo::InstructionId id);

// True if the instruction can be what a kernel yields: an elemental one, or one that is emitted as
// a loop of its own (reduce; dynamic-update-slice and scatter in place).
bool IsKernelRoot(const hlo::Module& module, hlo::InstructionId id);

// How many of the instruction's operands, from the first on, are updated where they are: the arrays
// of a dynamic-update-slice or a scatter.
size_t UpdatedOperands(const hlo::Module& module, hlo::InstructionId id);

// True if code can be written for the instruction as a kernel: a root, or a fusion all of whose
// instructions are elemental but its root (each of them where the root is a tuple), which is a
// root.
bool IsKernel(const hlo::Module& module, hlo::InstructionId id);

// The target of a custom call that passes write: it fails with the text of its backend_config, so
// that its value is never there.
inline constexpr std::string_view kRefusingTarget = "__hloscope$refuse";
bool IsRefusal(const hlo::Module& module, hlo::InstructionId id);

// True for a fusion of a dot and what is computed of each of its elements where they are, for which
// there is code of GPUs: the dot's operands are parameters, and all roots have its dimensions.
bool IsDotFusion(const hlo::Module& module, hlo::InstructionId id);

// True for a fusion of several results of other dimensions, each computed of elements alone, for
// which there is code of GPUs.
bool IsHorizontalLoopFusion(const hlo::Module& module, hlo::InstructionId id);

// Why IsKernel says no, in one of the reports' words for fallbacks: "unsupported opcode", "dynamic
// shape"; empty where it says yes.
std::string_view WhyNoKernel(const hlo::Module& module, hlo::InstructionId id);

}  // namespace hloscope::compile
