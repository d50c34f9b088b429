// Instructions on arrays some dimensions of which are shorter at run time than their bound says:
// what an instruction means there is what it means on arrays of the live sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/eval/machine/machine.h"

namespace hloscope::eval {

enum class LiveMode : uint8_t {
  kWhole,    // the kernel hands live sizes on or uses them itself
  kInPlace,  // live elements keep their places: the kernel runs on the bounds
  kCut,      // the kernel runs on the live parts alone
};

using LiveSizes = std::vector<int64_t>;

// How a kernel deals with live sizes; the column of kernels.def.
struct DynamicShapeRule {
  LiveMode mode = LiveMode::kWhole;
  // The result's static shape for operands of these live sizes. Rules follow XLA's
  // DynamicDimensionInference where the result's sizes are not just those of the live parts.
  Result<hlo::Shape> (*result)(const KernelCall& call,
                               std::span<const LiveSizes> operands) = nullptr;
  // Makes sizes that have to agree do so, by the smaller one; null where none have to.
  void (*agree)(const KernelCall& call, std::span<LiveSizes> operands) = nullptr;
};

Result<hlo::Shape> ElementsShape(const KernelCall& call, std::span<const LiveSizes> operands);
Result<hlo::Shape> BroadcastShape(const KernelCall& call, std::span<const LiveSizes> operands);
Result<hlo::Shape> TransposeShape(const KernelCall& call, std::span<const LiveSizes> operands);
Result<hlo::Shape> BitcastShape(const KernelCall& call, std::span<const LiveSizes> operands);
Result<hlo::Shape> SliceShape(const KernelCall& call, std::span<const LiveSizes> operands);
Result<hlo::Shape> UpdateShape(const KernelCall& call, std::span<const LiveSizes> operands);
Result<hlo::Shape> GatherShape(const KernelCall& call, std::span<const LiveSizes> operands);
Result<hlo::Shape> ReshapeShape(const KernelCall& call, std::span<const LiveSizes> operands);
// What shape inference says of the live parts.
Result<hlo::Shape> InferredShape(const KernelCall& call, std::span<const LiveSizes> operands);

// All arrays the instruction takes, initial values aside.
void AgreeEverywhere(const KernelCall& call, std::span<LiveSizes> operands);
void AgreeBesideJoint(const KernelCall& call, std::span<LiveSizes> operands);  // concatenate
void AgreeInContraction(const KernelCall& call, std::span<LiveSizes> operands);
void AgreeInFeatures(const KernelCall& call, std::span<LiveSizes> operands);  // convolution
void AgreeWithWindow(const KernelCall& call, std::span<LiveSizes> operands);  // select-and-scatter

inline constexpr DynamicShapeRule kLiveWhole = {};
inline constexpr DynamicShapeRule kLiveElements = {LiveMode::kInPlace, ElementsShape};
inline constexpr DynamicShapeRule kLiveBroadcast = {LiveMode::kInPlace, BroadcastShape};
inline constexpr DynamicShapeRule kLiveTranspose = {LiveMode::kInPlace, TransposeShape};
inline constexpr DynamicShapeRule kLiveBitcast = {LiveMode::kInPlace, BitcastShape};
inline constexpr DynamicShapeRule kLiveSlice = {LiveMode::kInPlace, SliceShape};
inline constexpr DynamicShapeRule kLiveUpdate = {LiveMode::kInPlace, UpdateShape};
inline constexpr DynamicShapeRule kLiveGather = {LiveMode::kInPlace, GatherShape};
inline constexpr DynamicShapeRule kLiveReshape = {LiveMode::kCut, ReshapeShape};
inline constexpr DynamicShapeRule kLiveParts = {LiveMode::kCut, InferredShape};
inline constexpr DynamicShapeRule kLiveTogether = {LiveMode::kCut, InferredShape, AgreeEverywhere};
inline constexpr DynamicShapeRule kLiveJoint = {LiveMode::kCut, InferredShape, AgreeBesideJoint};
inline constexpr DynamicShapeRule kLiveContraction = {LiveMode::kCut, InferredShape,
                                                      AgreeInContraction};
inline constexpr DynamicShapeRule kLiveFeatures = {LiveMode::kCut, InferredShape, AgreeInFeatures};
inline constexpr DynamicShapeRule kLiveWindow = {LiveMode::kCut, InferredShape, AgreeWithWindow};

// True if a rule other than kLiveWhole has work to do: an operand has live sizes of its own.
bool NeedsLiveCall(const KernelCall& call, const DynamicShapeRule& rule);

// The kernel's value on live operands, its live sizes noted. Errors: those of the kernel, and
// unsupported where the sizes met at run time do not fit the instruction.
Result<Value> CallLive(KernelCall& call, Kernel kernel, const DynamicShapeRule& rule);

}  // namespace hloscope::eval
