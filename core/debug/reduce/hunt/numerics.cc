#include "core/debug/reduce/hunt/numerics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/stage_values.h"
#include "core/eval/numbers/precise.h"
#include "core/hlo/float_types.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::debug {
namespace {

using hlo::ElementType;
using hlo::Literal;
using hlo::Opcode;

bool IsOfFloats(const Failure& failure) {
  return failure.kind == FailureKind::kDiffers &&
         std::ranges::all_of(failure.classes, [](const std::string& one) {
           return one.starts_with("float ") || one.starts_with("complex ");
         });
}

PreciseSides SidesOf(const RunReport& report) {
  constexpr double kFar = 64, kNear = 4;  // ULP
  PreciseSides sides;
  for (const RunOutput& output : report.outputs) {
    if (output.precise.size() != 2 || output.comparison.equal()) continue;
    const auto is_other = [](const PreciseSide& s) { return s.distance.class_mismatched > 0; };
    const auto is_far = [&](const PreciseSide& s) {
      return is_other(s) || s.distance.max_ulp > kFar;
    };
    const auto is_near = [&](const PreciseSide& s) {
      return !is_other(s) && s.distance.max_ulp <= kNear;
    };
    const PreciseSide &a = output.precise[0], &b = output.precise[1];
    if (is_far(a) && is_near(b)) sides.wrong = a.side;
    if (is_far(b) && is_near(a)) sides.wrong = b.side;
    sides.both_far |= is_other(a) && is_other(b);
  }
  return sides;
}

// Adds up or multiplies: rounds in proportion to its largest term, whatever comes out.
constexpr hlo::OpcodeSet kAddUp = {Opcode::kAdd,
                                   Opcode::kSubtract,
                                   Opcode::kMultiply,
                                   Opcode::kReduce,
                                   Opcode::kReduceWindow,
                                   Opcode::kScan,
                                   Opcode::kScatter,
                                   Opcode::kSelectAndScatter,
                                   Opcode::kDot,
                                   Opcode::kConvolution,
                                   Opcode::kFft,
                                   Opcode::kBatchNormGrad,
                                   Opcode::kBatchNormInference,
                                   Opcode::kBatchNormTraining,
                                   Opcode::kTriangularSolve};

bool Multiplies(Opcode opcode) {
  constexpr Opcode kMultiplying[] = {Opcode::kMultiply,           Opcode::kDot,
                                     Opcode::kConvolution,        Opcode::kBatchNormGrad,
                                     Opcode::kBatchNormInference, Opcode::kBatchNormTraining,
                                     Opcode::kTriangularSolve};
  return std::ranges::count(kMultiplying, opcode) > 0;
}

// The floats that a module takes and holds.
struct Numbers {
  double largest = 1;  // of the finite ones
  bool all_finite = true;

  void AddUpTo(int64_t count) { largest = std::max(largest, static_cast<double>(count)); }
  void Add(const Literal& literal) {
    const ElementType type = literal.shape().element_type();
    if (!hlo::IsFloat(type) && !hlo::IsComplex(type)) return;
    hlo::Shape wide = literal.shape().WithoutLayouts();
    wide.set_element_type(hlo::IsComplex(type) ? ElementType::kC128 : ElementType::kF64);
    const Literal converted = eval::ConvertLiteral(literal, wide);
    for (const double value : converted.data<double>()) {
      all_finite &= std::isfinite(value);
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  }
};

Numbers NumbersOf(const SmallFailure& small) {
  Numbers numbers;
  for (const Literal& argument : small.smallest.arguments) numbers.Add(argument);
  const hlo::Module& module = *small.smallest.module;
  for (const hlo::Instruction& i : module.instructions()) {
    if (i.opcode == Opcode::kIota) numbers.AddUpTo(module[i.shape].ElementCount().value_or(0));
    const auto* literal = module.Get<Literal>(i, hlo::AttributeKey::kConstantValue);
    if (literal != nullptr) numbers.Add(*literal);
  }
  return numbers;
}

// Leaves open what becomes of infinities and NaN: they meet zeros of padding, of the other part of
// a complex number, or of an algorithm.
bool OpensNonFinite(const hlo::Module& module, hlo::InstructionId id) {
  static constexpr hlo::OpcodeSet kOpen = {Opcode::kCholesky, Opcode::kConvolution, Opcode::kFft,
                                           Opcode::kTriangularSolve};
  if (kOpen.Has(module[id].opcode)) return true;
  return kAddUp.Has(module[id].opcode) &&
         std::ranges::any_of(module.shape(id).LeafShapes(), [](const hlo::Shape* leaf) {
           return hlo::IsComplex(leaf->element_type());
         });
}

bool IsNonFinite(const Failure& failure) {
  return std::ranges::none_of(failure.classes, [](const std::string& one) {
    return one.ends_with(" gross") || one.ends_with(" slight");
  });
}

// The step at one, and the largest number, of the narrowest type that the suspect computes in.
struct Precision {
  double step = 0, most = std::numeric_limits<double>::max();
};
Precision PrecisionOf(const SmallFailure& small) {
  Precision precision;
  for (const hlo::InstructionId id : small.suspect.instructions) {
    for (const hlo::Shape* leaf : small.smallest.module->shape(id).LeafShapes()) {
      const ElementType type = hlo::RealPart(leaf->element_type());
      Precision own;
      if (type == ElementType::kF64) own.step = std::numeric_limits<double>::epsilon();
      if (type == ElementType::kF32) {
        own = {std::numeric_limits<float>::epsilon(), std::numeric_limits<float>::max()};
      }
      for (const hlo::FloatFormat& format : hlo::kFloatFormats) {
        if (format.type != type) continue;
        own = {std::ldexp(1.0, -format.mantissa_bits),
               std::ldexp(1.0, (1 << format.exponent_bits) - 1 - format.bias)};
      }
      precision.step = std::max(precision.step, own.step);
      if (own.step > 0) precision.most = std::min(precision.most, own.most);
    }
  }
  return precision;
}

double LargestError(const RunReport& report) {
  double largest = 0;
  for (const RunOutput& output : report.outputs) {
    if (output.compared) largest = std::max(largest, output.comparison.max_abs_error);
  }
  return largest;
}

// How many numbers it multiplies, in an order that is its own; 1: it does not.
double Factors(const hlo::Module& module, hlo::InstructionId id) {
  if (!AppliesOneOf(module, id, {Opcode::kMultiply})) return 1;
  return static_cast<double>(module.shape(module.operands(id)[0]).ElementCount().value_or(1));
}

// What sums of such terms may be off by, or overflow to, depends on their order alone.
std::string ExplanationByTerms(const SmallFailure& small, double error) {
  constexpr double kTerms = 4096, kRoundings = 64;
  double multiplied = 1, factors = 1;
  for (const hlo::InstructionId id : small.suspect.instructions) {
    const Opcode opcode = (*small.smallest.module)[id].opcode;
    if (opcode == Opcode::kIota) continue;
    if (!kAddUp.Has(opcode)) return "";
    multiplied += Multiplies(opcode) ? 1 : 0;
    factors = std::max(factors, Factors(*small.smallest.module, id));
  }
  const double term = std::pow(NumbersOf(small).largest, multiplied);
  const double product = std::pow(NumbersOf(small).largest, factors);
  const Precision precision = PrecisionOf(small);
  if (IsNonFinite(small.failure))
    return std::max(product, term) * kTerms >= precision.most ? "overflow" : "";
  const bool is_within = error <= kRoundings * precision.step * term;
  return is_within ? std::string(KeyOf(Cause::kIllConditioned)) : "";
}

// True if the reference itself is as uncertain.
bool IsIllConditioned(const SmallFailure& small, const RunSpec& request, const RunReport& run,
                      const std::stop_token& stop) {
  const StageValues values(request, stop);
  const Result<Leaves> actual = LeavesOf(run);
  const Result<Leaves> expected = values.Plain(small.smallest.module);
  return actual && expected &&
         values.TryConditioning(small.smallest.module, *actual, *expected).closes == true;
}

}  // namespace

PreciseSides FindSides(const SmallFailure& small, const RunSpec& request,
                       const std::stop_token& stop) {
  if (small.failure.kind != FailureKind::kDiffers) return {};
  RunSpec precise = request;
  precise.inputs.arguments = small.smallest.arguments;
  precise.compare.precise = true;
  return SidesOf(RunModule(small.smallest.module, precise, stop));
}

std::string NumericalExplanation(const SmallFailure& small, const PreciseSides& sides,
                                 const RunSpec& request, const std::stop_token& stop) {
  if (!IsOfFloats(small.failure)) return "";
  if (sides.both_far) return "overflow";
  const bool is_open = std::ranges::any_of(small.suspect.instructions, [&](hlo::InstructionId id) {
    return OpensNonFinite(*small.smallest.module, id);
  });
  if (is_open && IsNonFinite(small.failure) && !NumbersOf(small).all_finite) {
    return "non_finite_operands";
  }
  RunSpec own = request;
  own.inputs.arguments = small.smallest.arguments;
  const RunReport run = RunModule(small.smallest.module, own, stop);
  if (std::string why = ExplanationByTerms(small, LargestError(run)); !why.empty()) return why;
  return IsIllConditioned(small, own, run, stop) ? std::string(KeyOf(Cause::kIllConditioned)) : "";
}

}  // namespace hloscope::debug
