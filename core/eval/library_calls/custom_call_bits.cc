// Custom calls on bits: what the device draws, and the Threefry block cipher.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/eval/library_calls/custom_calls.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;
using hlo::Shape;

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
  HLOSCOPE_TRY(call.machine.CheckRandomState(hlo::Generator::kSeeded));
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
