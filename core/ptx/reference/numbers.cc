// The processor's rounding modes do what the machine's steps do with sums rounded to odd.
#include "core/ptx/reference/numbers.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>

namespace hloscope::ptx {
namespace {

int ModeOf(Round round) {
  switch (round) {
    case Round::kRz:
      return FE_TOWARDZERO;
    case Round::kRm:
      return FE_DOWNWARD;
    case Round::kRp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

class Rounding {
 public:
  explicit Rounding(int mode) : saved_(std::fegetround()) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(saved_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  int saved_;
};

// Volatile: operations stay where the mode is set.
template <typename T>
T Computed(Sum operation, T a, T b, T c) {
  volatile T x = a, y = b, z = c, r = 0;
  switch (operation) {
    case Sum::kAdd:
      r = x + y;
      break;
    case Sum::kSub:
      r = x - y;
      break;
    case Sum::kMul:
      r = x * y;
      break;
    case Sum::kFma:
      r = std::fma(x, y, z);
      break;
  }
  return r;
}

struct Format {
  int fraction, exponent_bits;
  bool has_infinity;
};

Format FormatOf(Type type) {
  switch (type) {
    case Type::kF16:
      return {10, 5, true};
    case Type::kBf16:
      return {7, 8, true};
    case Type::kE4m3:
      return {3, 4, false};
    default:
      return {2, 5, true};
  }
}

// By the bits of the double: what is dropped decides, what is beyond the largest is infinity.
uint64_t Narrowed(double value, Format format, Round round, bool saturates) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int width = format.fraction + format.exponent_bits;
  const uint64_t sign = bits >> 63 << width;
  const uint64_t ones = (uint64_t{1} << width) - 1;
  const uint64_t infinity = format.has_infinity ? ones >> format.fraction << format.fraction : ones;
  if (std::isnan(value)) return ones;
  const uint64_t beyond = saturates ? infinity - 1 : infinity;
  if (std::isinf(value)) return sign | beyond;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (value == 0) return sign;
  uint64_t significand = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  int drop = 52 - format.fraction;
  int field = exponent + bias;
  if (field < 1) {
    drop += 1 - field;
    field = 1;
  }
  drop = std::min(drop, 62);
  const uint64_t rest = significand & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1);
  significand >>= drop;
  const bool away = round == (sign == 0 ? Round::kRp : Round::kRm);
  const bool cuts = round == Round::kRz || round == (sign == 0 ? Round::kRm : Round::kRp);
  if (!cuts && (away ? rest != 0 : rest > half || (rest == half && (significand & 1) != 0)))
    ++significand;
  const uint64_t magnitude = (static_cast<uint64_t>(field - 1) << format.fraction) + significand;
  if (magnitude < infinity) return sign | magnitude;
  return sign | (cuts ? infinity - 1 : beyond);
}

}  // namespace

__int128 IntegerOf(Type type, uint64_t bits) {
  const uint32_t width = RowOf(type).bits;
  unsigned __int128 value = bits;
  if (width < 64) value &= (static_cast<unsigned __int128>(1) << width) - 1;
  if (RowOf(type).kind != TypeKind::kSigned) return static_cast<__int128>(value);
  const bool negative = (value >> (width - 1) & 1) != 0;
  return static_cast<__int128>(value) - (negative ? static_cast<__int128>(1) << width : 0);
}

double NumberOf(Type type, uint64_t bits) {
  switch (type) {
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kF32:
    case Type::kTf32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Type::kBf16:
      return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
    default:
      break;
  }
  const Format format = FormatOf(type);
  const int width = format.fraction + format.exponent_bits;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto tail = static_cast<int>(bits & ((1u << format.fraction) - 1));
  const auto field = static_cast<int>(bits >> format.fraction & ((1u << format.exponent_bits) - 1));
  const bool last = field == (1 << format.exponent_bits) - 1;
  double value;
  if (last && format.has_infinity) {
    value = tail == 0 ? INFINITY : NAN;
  } else if (last && tail == (1 << format.fraction) - 1) {
    value = NAN;
  } else {
    const int significand = field == 0 ? tail : tail + (1 << format.fraction);
    value = std::ldexp(significand, std::max(field, 1) - bias - format.fraction);
  }
  return (bits >> width & 1) != 0 ? -value : value;
}

uint64_t BitsOf(Type type, double value, Round round, bool saturates) {
  if (type == Type::kF64) return std::bit_cast<uint64_t>(value);
  if (type != Type::kF32) {
    if (std::isnan(value) && (type == Type::kF16 || type == Type::kBf16)) return 0x7fff;
    return Narrowed(value, FormatOf(type), round, saturates);
  }
  if (std::isnan(value)) return 0x7fffffff;
  const Rounding mode(ModeOf(round));
  volatile double held = value;
  volatile float rounded = static_cast<float>(held);
  return std::bit_cast<uint32_t>(static_cast<float>(rounded));
}

uint64_t RoundedOnce(Sum operation, Type type, double a, double b, double c, Round round) {
  if (type == Type::kF32) {
    const Rounding mode(ModeOf(round));
    const float r = Computed<float>(operation, static_cast<float>(a), static_cast<float>(b),
                                    static_cast<float>(c));
    return std::isnan(r) ? 0x7fffffff : std::bit_cast<uint32_t>(r);
  }
  if (type == Type::kF64) {
    const Rounding mode(ModeOf(round));
    return std::bit_cast<uint64_t>(Computed<double>(operation, a, b, c));
  }
  // Towards zero, and the last bit set where something was dropped: rounding that again is right.
  double odd;
  {
    const Rounding mode(FE_TOWARDZERO);
    std::feclearexcept(FE_INEXACT);
    odd = Computed<double>(operation, a, b, c);
    if (std::fetestexcept(FE_INEXACT) != 0) {
      odd = std::bit_cast<double>(std::bit_cast<uint64_t>(odd) | 1);
    }
  }
  return BitsOf(type, odd, round);
}

}  // namespace hloscope::ptx
