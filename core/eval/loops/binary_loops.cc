// Binary operations. Integers wrap in their type; division by zero gives all ones, remainder the
// dividend; shifts by the width or more give zeros or signs. Maximum and minimum give NaN if either
// side is.
#include <cmath>

#include "core/eval/loops/lane_templates.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;
using hlo::Opcode;

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
concept WrappingInteger = std::integral<T> && !std::same_as<T, bool>;

// 64-bit modular arithmetic holds that of every narrower type.
template <WrappingInteger T>
constexpr uint64_t Modular(T x) {
  return static_cast<uint64_t>(x);
}

struct Add {
  static bool Of(bool x, bool y) { return x || y; }
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (WrappingInteger<T>) {
      return static_cast<T>(static_cast<Unsigned<T>>(x) + static_cast<Unsigned<T>>(y));
    } else {
      return x + y;
    }
  }
};

struct Subtract {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (WrappingInteger<T>) {
      return static_cast<T>(static_cast<Unsigned<T>>(x) - static_cast<Unsigned<T>>(y));
    } else {
      return x - y;
    }
  }
};

struct Multiply {
  static bool Of(bool x, bool y) { return x && y; }
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (WrappingInteger<T>) {
      return static_cast<T>(Modular(x) * Modular(y));
    } else {
      return x * y;
    }
  }
};

struct Divide {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (WrappingInteger<T>) {
      if (y == 0) return static_cast<T>(-1);
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) {
        return static_cast<T>(uint64_t{0} - Modular(x));
      }
      return static_cast<T>(x / y);
    } else {
      return x / y;
    }
  }
};

struct Remainder {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(x, y);
    } else {
      if (y == 0) return x;
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;
      return static_cast<T>(x % y);
    }
  }
};

struct Maximum {
  static bool Of(bool x, bool y) { return x || y; }
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x)) return x;
      if (x == y) return std::signbit(x) ? y : x;
      return x > y ? x : y;  // y where y is NaN
    } else {
      return x > y ? x : y;
    }
  }
};

struct Minimum {
  static bool Of(bool x, bool y) { return x && y; }
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x)) return x;
      if (x == y) return std::signbit(x) ? x : y;
      return x < y ? x : y;
    } else {
      return x < y ? x : y;
    }
  }
};

// A square is rounded once, to the nearest, which pow of libm is not always.
struct Power {
  static double Of(double x, double y) { return y == 2 ? x * x : std::pow(x, y); }
};

// By repeated squaring; a negative exponent is 1/x^|y| rounded towards zero.
struct IntegerPower {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (std::is_signed_v<T>) {
      if (y < 0) return x == 1 ? T{1} : x == -1 ? static_cast<T>((y & 1) != 0 ? -1 : 1) : T{0};
    }
    uint64_t result = 1, base = Modular(x);
    for (uint64_t e = Modular(y); e != 0; e >>= 1, base *= base) {
      if ((e & 1) != 0) result *= base;
    }
    return static_cast<T>(result);
  }
};

struct Atan2 {
  static double Of(double y, double x) { return std::atan2(y, x); }
};

struct And {
  template <typename T>
  static T Of(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct Or {
  template <typename T>
  static T Of(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct Xor {
  template <typename T>
  static T Of(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};

// True if the shift amount, read as unsigned, is at least the width.
template <typename T>
bool TooFar(T amount, int bits) {
  return ZeroExtend(Modular(amount), bits) >= static_cast<uint64_t>(bits);
}

struct ShiftLeft {
  template <typename T>
  static T Of(T x, T amount, int bits) {
    return TooFar(amount, bits) ? T{0} : static_cast<T>(Modular(x) << amount);
  }
};
struct ShiftRightLogical {
  template <typename T>
  static T Of(T x, T amount, int bits) {
    return TooFar(amount, bits) ? T{0} : static_cast<T>(ZeroExtend(Modular(x), bits) >> amount);
  }
};
struct ShiftRightArithmetic {
  template <typename T>
  static T Of(T x, T amount, int bits) {
    const int64_t wide = SignExtend(static_cast<int64_t>(x), bits);
    return static_cast<T>(wide >> (TooFar(amount, bits) ? 63 : static_cast<int>(amount)));
  }
};

// The upper half of the product, `bits` wide.
struct Mulhi {
  template <typename T>
  static T Of(T x, T y, int bits) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>((static_cast<__int128>(x) * y) >> bits);
    } else {
      return static_cast<T>((static_cast<unsigned __int128>(x) * y) >> bits);
    }
  }
};

struct MakeComplex {
  template <typename T>
  static std::complex<T> Of(T real, T imag) {
    return {real, imag};
  }
};

template <typename F>
LaneLoop Numbers(ElementType type) {
  return FirstOf(RealFloatLoop<Binary, F>(type), IntegerLoop<Binary, F>(type),
                 ComplexLoop<Binary, F>(type));
}
template <typename F>
LaneLoop RealNumbers(ElementType type) {
  return FirstOf(RealFloatLoop<Binary, F>(type), IntegerLoop<Binary, F>(type));
}
template <typename F>
LaneLoop PredAndIntegers(ElementType type) {
  return FirstOf(PredLoop<Binary, F>(type), IntegerLoop<Binary, F>(type));
}
template <typename F>
UpdateLoop UpdatesOf(ElementType type) {
  return FirstOf(PredLoop<Update, F>(type), RealFloatLoop<Update, F>(type),
                 IntegerLoop<Update, F>(type));
}
template <typename F>
UpdateLoop BitUpdatesOf(ElementType type) {
  return FirstOf(PredLoop<Update, F>(type), IntegerLoop<Update, F>(type));
}
template <typename F>
LaneLoop WideFloats(ElementType type) {
  return RealFloatLoop<Binary, ComputedWide<F>>(type);
}

constexpr LoopRow<UpdateLoop> kUpdateLoops[] = {
    {Opcode::kAdd, UpdatesOf<Add>},         {Opcode::kMultiply, UpdatesOf<Multiply>},
    {Opcode::kMaximum, UpdatesOf<Maximum>}, {Opcode::kMinimum, UpdatesOf<Minimum>},
    {Opcode::kAnd, BitUpdatesOf<And>},      {Opcode::kOr, BitUpdatesOf<Or>},
    {Opcode::kXor, BitUpdatesOf<Xor>},
};

// The loop of an opcode for a type; null where there is none.
constexpr hlo::OpcodeTable<LaneLoop (*)(ElementType type)> kBinaryLoops = {
    {Opcode::kAdd,
     [](ElementType type) { return FirstOf(PredLoop<Binary, Add>(type), Numbers<Add>(type)); }},
    {Opcode::kAnd, PredAndIntegers<And>},
    {Opcode::kAtan2,
     [](ElementType type) {
       return FirstOf(WideFloats<Atan2>(type), FindComplexBinaryLoop(Opcode::kAtan2, type));
     }},
    {Opcode::kComplex, RealFloatLoop<Binary, MakeComplex>},
    {Opcode::kDivide,
     [](ElementType type) {
       return FirstOf(RealNumbers<Divide>(type), FindComplexBinaryLoop(Opcode::kDivide, type));
     }},
    {Opcode::kMaximum,
     [](ElementType type) {
       return FirstOf(PredLoop<Binary, Maximum>(type), RealNumbers<Maximum>(type),
                      FindComplexBinaryLoop(Opcode::kMaximum, type));
     }},
    {Opcode::kMinimum,
     [](ElementType type) {
       return FirstOf(PredLoop<Binary, Minimum>(type), RealNumbers<Minimum>(type),
                      FindComplexBinaryLoop(Opcode::kMinimum, type));
     }},
    {Opcode::kMulhi, IntegerLoop<Binary, Mulhi>},
    {Opcode::kMultiply,
     [](ElementType type) {
       return FirstOf(PredLoop<Binary, Multiply>(type), RealNumbers<Multiply>(type),
                      FindComplexBinaryLoop(Opcode::kMultiply, type));
     }},
    {Opcode::kOr, PredAndIntegers<Or>},
    {Opcode::kPower,
     [](ElementType type) {
       return FirstOf(WideFloats<Power>(type), IntegerLoop<Binary, IntegerPower>(type),
                      FindComplexBinaryLoop(Opcode::kPower, type));
     }},
    {Opcode::kRemainder, RealNumbers<Remainder>},
    {Opcode::kShiftLeft, IntegerLoop<Binary, ShiftLeft>},
    {Opcode::kShiftRightArithmetic, IntegerLoop<Binary, ShiftRightArithmetic>},
    {Opcode::kShiftRightLogical, IntegerLoop<Binary, ShiftRightLogical>},
    {Opcode::kSubtract, Numbers<Subtract>},
    {Opcode::kXor, PredAndIntegers<Xor>},
};

}  // namespace

LaneLoop FindBinaryLoop(Opcode opcode, ElementType type) {
  const auto find = kBinaryLoops[opcode];
  return find == nullptr ? nullptr : find(type);
}

UpdateLoop FindUpdateLoop(Opcode opcode, ElementType type) {
  return FindLoop(kUpdateLoops, opcode, type);
}

}  // namespace hloscope::eval
