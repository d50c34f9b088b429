// Unary operations that are exact: signs, bits, parts of complex numbers.
#include <bit>
#include <cmath>

#include "core/eval/loops/lane_templates.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;
using hlo::Opcode;

// The unsigned type of the same width.
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

struct Abs {
  static float Of(float x) { return std::fabs(x); }
  static double Of(double x) { return std::fabs(x); }
  static float Of(std::complex<float> z) {
    return static_cast<float>(std::hypot(static_cast<double>(z.real()), z.imag()));
  }
  static double Of(std::complex<double> z) { return std::hypot(z.real(), z.imag()); }
  template <std::integral T>
  static T Of(T x) {  // the smallest integer is its own absolute value
    if constexpr (std::is_signed_v<T>) {
      return x < 0 ? static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x)) : x;
    } else {
      return x;
    }
  }
};

struct Negate {
  template <typename T>
  static T Of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
    } else {
      return -x;
    }
  }
};

struct Sign {
  template <typename T>
  static T Of(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::isnan(x) || x == 0 ? x : std::copysign(T{1}, x);
    } else {
      return static_cast<T>((x > 0) - (x < 0));
    }
  }
};

struct Not {
  static bool Of(bool x) { return !x; }
  template <std::integral T>
  static T Of(T x) {
    return static_cast<T>(~x);
  }
};

struct CountLeadingZeros {
  template <typename T>
  static T Of(T x, int bits) {
    const uint64_t value = ZeroExtend(static_cast<uint64_t>(x), bits);
    return static_cast<T>(std::countl_zero(value) - (64 - bits));
  }
};

struct PopulationCount {
  template <typename T>
  static T Of(T x, int bits) {
    return static_cast<T>(std::popcount(ZeroExtend(static_cast<uint64_t>(x), bits)));
  }
};

struct IsFinite {
  template <typename T>
  static bool Of(T x) {
    return std::isfinite(x);
  }
};

struct Real {
  template <typename T>
  static auto Of(T x) {
    if constexpr (requires { x.real(); }) {
      return x.real();
    } else {
      return x;
    }
  }
};

struct Imag {
  template <typename T>
  static auto Of(T x) {
    if constexpr (requires { x.imag(); }) {
      return x.imag();
    } else {
      return T{0};
    }
  }
};

struct Identity {
  template <typename T>
  static T Of(T x) {
    return x;
  }
};

template <typename F>
LaneLoop AnyNumber(ElementType type) {
  return FirstOf(RealFloatLoop<Unary, F>(type), IntegerLoop<Unary, F>(type),
                 ComplexLoop<Unary, F>(type));
}

template <Opcode kOpcode>
LaneLoop RoundingLoop(ElementType type) {
  return FirstOf(FindFloatUnaryLoop(kOpcode, type), IntegerLoop<Unary, Identity>(type));
}

// What has loops of its own, besides those of functions of floats and complex numbers.
constexpr hlo::OpcodeTable<LaneLoop (*)(ElementType type)> kUnaryLoops = {
    {Opcode::kAbs, AnyNumber<Abs>},
    {Opcode::kCeil, RoundingLoop<Opcode::kCeil>},
    {Opcode::kClz, IntegerLoop<Unary, CountLeadingZeros>},
    {Opcode::kFloor, RoundingLoop<Opcode::kFloor>},
    {Opcode::kImag,
     [](ElementType type) {
       return FirstOf(RealFloatLoop<Unary, Imag>(type), ComplexLoop<Unary, Imag>(type));
     }},
    {Opcode::kIsFinite, RealFloatLoop<Unary, IsFinite>},
    {Opcode::kNegate, AnyNumber<Negate>},
    {Opcode::kNot,
     [](ElementType type) {
       return FirstOf(PredLoop<Unary, Not>(type), IntegerLoop<Unary, Not>(type));
     }},
    {Opcode::kPopulationCount, IntegerLoop<Unary, PopulationCount>},
    {Opcode::kReal,
     [](ElementType type) {
       return FirstOf(RealFloatLoop<Unary, Real>(type), ComplexLoop<Unary, Real>(type));
     }},
    {Opcode::kRoundNearestAfz, RoundingLoop<Opcode::kRoundNearestAfz>},
    {Opcode::kRoundNearestEven, RoundingLoop<Opcode::kRoundNearestEven>},
    {Opcode::kSign,
     [](ElementType type) {
       return FirstOf(RealFloatLoop<Unary, Sign>(type), IntegerLoop<Unary, Sign>(type),
                      FindComplexUnaryLoop(Opcode::kSign, type));
     }},
};

}  // namespace

LaneLoop FindUnaryLoop(Opcode opcode, ElementType type) {
  if (const auto find = kUnaryLoops[opcode]; find != nullptr) return find(type);
  return FirstOf(FindFloatUnaryLoop(opcode, type), FindComplexUnaryLoop(opcode, type));
}

}  // namespace hloscope::eval
