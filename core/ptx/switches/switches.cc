// Steps of other arithmetic. They take their time: they run for one kernel at a time.
#include "core/ptx/switches/switches.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/module.h"
#include "core/ptx/switches/approximations.h"
#include "core/ptx/switches/products.h"

namespace hloscope::ptx {
namespace {

float AsFloat(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

float Flushed(const Instruction& in, float value) {
  const bool flushes = ModifierFtz(in) == Ftz::kOn && std::fabs(value) < 0x1p-126f;
  return flushes ? std::copysign(0.0f, value) : value;
}

// A product and a sum of the type's numbers, each rounded.
uint64_t TwiceRounded(const Instruction& in, Type type, uint64_t a, uint64_t b, uint64_t c) {
  const Round round = ModifierRound(in);
  if (type == Type::kF64) {
    const double product =
        Compute64(Arithmetic::kMul, std::bit_cast<double>(a), std::bit_cast<double>(b), 0, round);
    return std::bit_cast<uint64_t>(
        Compute64(Arithmetic::kAdd, product, std::bit_cast<double>(c), 0, round));
  }
  if (type == Type::kF32) {
    const float product =
        Compute32(Arithmetic::kMul, Flushed(in, AsFloat(a)), Flushed(in, AsFloat(b)), 0, round);
    float sum = Flushed(
        in, Compute32(Arithmetic::kAdd, Flushed(in, product), Flushed(in, AsFloat(c)), 0, round));
    if (ModifierRelu(in) == Relu::kOn && sum < 0) sum = 0;
    if (ModifierSat(in) == Sat::kOn) sum = sum > 0 ? std::min(sum, 1.0f) : 0.0f;
    return std::bit_cast<uint32_t>(sum);
  }
  const NarrowFormat format = type == Type::kF16 ? kFormatF16 : kFormatBf16;
  const auto value = [&](uint64_t bits) {
    return FromNarrow(static_cast<uint32_t>(bits & 0xffff), format);
  };
  const double product =
      value(ToNarrow(ComputeToOdd(Arithmetic::kMul, value(a), value(b), 0), format));
  double sum = ComputeToOdd(Arithmetic::kAdd, product, value(c), 0);
  if (ModifierRelu(in) == Relu::kOn && sum < 0) sum = 0;
  if (ModifierSat(in) == Sat::kOn) sum = sum > 0 ? std::min(sum, 1.0) : 0.0;
  return ToNarrow(sum, format);
}

void ApartFma(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  Type part = in.type;
  if (in.type == Type::kF16x2) part = Type::kF16;
  if (in.type == Type::kBf16x2) part = Type::kBf16;
  if (in.type == Type::kF32x2) part = Type::kF32;
  const uint32_t bits = RowOf(part).bits, count = RowOf(in.type).bits / bits;
  const uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((m >> lane & 1) == 0) continue;
    uint64_t out = 0;
    for (uint32_t p = 0; p < count; ++p) {
      const auto part_of = [&](int i) { return ReadLane(w, s[i], lane) >> (bits * p) & ones; };
      out |= TwiceRounded(in, part, part_of(1), part_of(2), part_of(3)) << (bits * p);
    }
    WriteLane(w, s[0], lane, out);
  }
}

void KeepSubnormals(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  Instruction plain = in;
  plain.modifiers[static_cast<size_t>(ModifierGroup::kFtz)] = 0;
  StepOf(plain)(w, plain, s, m);
}

void Copy32(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  Write(w, s[0], Read<uint32_t>(w, s[1]), m);
}

void PushUp(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  StepOf(in)(w, in, s, m);
  PushApproximation(w, in, s, m, 1);
}
void PushDown(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  StepOf(in)(w, in, s, m);
  PushApproximation(w, in, s, m, -1);
}

}  // namespace

std::span<const SwitchRow> SwitchRows() {
  static constexpr SwitchRow kRows[] = {
      {Switch::kTf32, "tf32", "products of tf32 done as products of f32"},
      {Switch::kTensorSums, "tensor_sums", "sums of tensor cores exact, and rounded once"},
      {Switch::kFma, "fma", "each fma as a product and a sum, both rounded"},
      {Switch::kDenormals, "denormals", "subnormals kept where .ftz flushes them"},
      {Switch::kApproximationsUp, "approximations_up",
       "approximate functions at the upper end of their documented bound"},
      {Switch::kApproximationsDown, "approximations_down",
       "approximate functions at the lower end of their documented bound"},
  };
  return kRows;
}

Step SwitchedSteps::Changed(const Instruction& in, Step usual) const {
  const bool is_tensor = ClassOf(in.operation) == InstructionClass::kTensor;
  switch (which_) {
    case Switch::kTf32:
      if (in.operation == Operation::kCvtTf32) return Copy32;
      return is_tensor ? WideProductStep(in, usual) : usual;
    case Switch::kTensorSums:
      return is_tensor ? ExactSumStep(in, usual) : usual;
    case Switch::kFma: {
      const TypeKind kind = RowOf(in.type).kind;
      const bool is_float = kind == TypeKind::kFloat || kind == TypeKind::kPacked;
      return in.operation == Operation::kFma && is_float ? ApartFma : usual;
    }
    case Switch::kDenormals:
      return ModifierFtz(in) == Ftz::kOn ? KeepSubnormals : usual;
    case Switch::kApproximationsUp:
      return IsApproximateFloat(in) ? PushUp : usual;
    case Switch::kApproximationsDown:
      return IsApproximateFloat(in) ? PushDown : usual;
  }
  return usual;
}

std::vector<uint32_t> SwitchedLines(const Module& module, std::string_view entry, Switch which) {
  const SwitchedSteps steps(which);
  std::vector<uint32_t> lines;
  for (const Executable& executable : module.contents().executables) {
    if (executable.kernel->name != entry) continue;
    for (size_t i = 0; i < executable.steps.size(); ++i) {
      const Step usual = executable.steps[i];
      if (usual == nullptr) continue;
      const Instruction& instruction = executable.kernel->instructions[i];
      if (steps.Changed(instruction, usual) != usual) lines.push_back(instruction.position.line);
    }
  }
  return lines;
}

}  // namespace hloscope::ptx
