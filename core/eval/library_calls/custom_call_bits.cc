// Custom calls on bits: 64-bit values as pairs of 32 bits, and the Threefry block cipher.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/library_calls/expansion.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;
using Node = Expansion::Node;

bool IsInteger(const Value& value, int bits) {
  return value.is_array() && hlo::IsInteger(value.shape().element_type()) &&
         hlo::BitWidth(value.shape().element_type()) == bits;
}

Result<Value> SplitHalf(KernelCall& call, bool high) {
  if (call.operands.size() != 1 || !IsInteger(call.operands[0], 64)) {
    return Unsupported(call, "its operand is not a 64-bit integer");
  }
  Expansion x(call);
  Node bits = x.Convert(x.Operand(0), ElementType::kU64);
  if (high) bits = x.Binary(Opcode::kShiftRightLogical, bits, 32);
  return x.Run(x.Convert(bits, call.shape().element_type()));
}

// Threefry-2x32 with 20 rounds (Salmon et al. 2011).
std::array<uint32_t, 2> Threefry(uint32_t key0, uint32_t key1, uint32_t x0, uint32_t x1) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const std::array<uint32_t, 3> keys = {key0, key1, key0 ^ key1 ^ 0x1bd11bdau};
  x0 += keys[0];
  x1 += keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, rotation) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

}  // namespace

// Bits that the device draws, as rng does: from EvaluateOptions::rng_seed.
Result<Value> RandomSeedCall(KernelCall& call) {
  if (!call.shape().IsArray() || !hlo::IsInteger(call.shape().element_type()) ||
      hlo::BitWidth(call.shape().element_type()) < 8) {
    return Unsupported(call, "its result is not an array of integers");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  for (size_t at = 0; at < buffer.size; at += sizeof(uint64_t)) {
    const uint64_t bits = call.machine.NextRandom();
    std::memcpy(buffer.data() + at, &bits, std::min(sizeof(bits), buffer.size - at));
  }
  return Value::Array(call.shape(), std::move(buffer));
}

Result<Value> X64SplitLowCall(KernelCall& call) { return SplitHalf(call, false); }

Result<Value> X64SplitHighCall(KernelCall& call) { return SplitHalf(call, true); }

// Operands: the low half, the high half.
Result<Value> X64CombineCall(KernelCall& call) {
  if (call.operands.size() != 2 || !IsInteger(call.operands[0], 32) ||
      !IsInteger(call.operands[1], 32) || !call.shape().IsArray() ||
      !hlo::IsInteger(call.shape().element_type())) {
    return Unsupported(call, "its operands are not two 32-bit integers");
  }
  Expansion x(call);
  auto wide = [&](size_t i) {
    return x.Convert(x.Convert(x.Operand(i), ElementType::kU32), ElementType::kU64);
  };
  const Node high = x.Binary(Opcode::kShiftLeft, wide(1), 32);
  return x.Run(x.Convert(x.Binary(Opcode::kOr, wide(0), high), call.shape().element_type()));
}

// Operands: two halves of the keys, two halves of the counters; results likewise.
Result<Value> ThreefryCall(KernelCall& call) {
  const auto elements = call.shape().elements();
  const Shape u32 =
      call.operands.empty() || !call.operands[0].is_array() ? Shape() : call.operand_shape(0);
  bool fits =
      call.operands.size() >= 4 && elements.size() == 2 && u32.element_type() == ElementType::kU32;
  for (size_t i = 0; fits && i < 4; ++i) {
    fits = call.operands[i].is_array() && hlo::Compatible(call.operand_shape(i), u32);
  }
  fits = fits && hlo::Compatible(elements[0], u32) && hlo::Compatible(elements[1], u32);
  if (!fits) return Unsupported(call, "its operands are not four arrays of u32 like its results");
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer first, call.machine.Allocate(elements[0]));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer second, call.machine.Allocate(elements[1]));
  const uint32_t* in[4];
  for (size_t i = 0; i < 4; ++i) in[i] = call.operands[i].as<uint32_t>();
  for (int64_t k = 0; k < ElementCount(u32); ++k) {
    const auto out = Threefry(in[0][k], in[1][k], in[2][k], in[3][k]);
    first.as<uint32_t>()[k] = out[0];
    second.as<uint32_t>()[k] = out[1];
  }
  return Value::Tuple(
      {Value::Array(elements[0], std::move(first)), Value::Array(elements[1], std::move(second))});
}

}  // namespace hloscope::eval
