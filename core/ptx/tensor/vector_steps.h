// The loops of VectorSteps on vectors of eight; steps.cc includes them once for each generation of
// vector units, so there is no guard. No function takes or returns a vector: how they are passed
// depends on the generation.

using Floats = float __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));
using Words = uint32_t __attribute__((vector_size(32)));
using Halves = uint16_t __attribute__((vector_size(16)));
using Octets = uint8_t __attribute__((vector_size(8)));
using FourFloats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));
using Longs = int64_t __attribute__((vector_size(32)));

HLOSCOPE_STEP_TARGET inline void LoadWords(const std::byte* from, int bytes, Words& out) {
  if (bytes == 1) {
    Octets octets;
    std::memcpy(&octets, from, sizeof octets);
    out = __builtin_convertvector(octets, Words);
  } else if (bytes == 2) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    out = __builtin_convertvector(halves, Words);
  } else {
    std::memcpy(&out, from, sizeof out);
  }
}

// Exponents of values whose format has none below `smallest`.
HLOSCOPE_STEP_TARGET inline void ExponentsOf(const Floats& values, int32_t smallest, Ints& out) {
  const Words magnitude = Words(values) & 0x7fffffffu;
  const Ints field = Ints(magnitude >> 23);
  const Ints own = field - 127;
  out = own > smallest ? own : Ints{} + smallest;
  out = magnitude == 0 ? Ints{} + kZeroExponent : out;
  out = field == 255 ? Ints{} + kSpecialExponent : out;
}

HLOSCOPE_STEP_TARGET void Decode(const ElementRow& row, const std::byte* bits, int count,
                                 float* values, int32_t* exponents) {
  const int bytes = row.bits / 8, shift = 23 - row.mantissa_bits;
  const uint32_t sign = 1u << (row.bits - 1);
  const uint32_t kept = row.bits == 32 ? ~0x1fffu : ~0u;  // tf32 drops the low bits of an f32
  const bool has_infinity = (row.first_special & ((1u << row.mantissa_bits) - 1)) == 0;
  // Formats with the exponents of f32 only move. Of others, normal numbers change their bias, and
  // subnormals come from integers.
  const bool has_f32_exponents = row.bias == 127;
  const uint32_t rebias = static_cast<uint32_t>(127 - row.bias) << 23;
  const uint32_t last = has_f32_exponents ? 0 : (1u << row.mantissa_bits) - 1;  // subnormal
  const float unit =
      std::bit_cast<float>(static_cast<uint32_t>(128 - row.bias - row.mantissa_bits) << 23);
  for (int i = 0; i < count; i += 8) {
    Words word;
    LoadWords(bits + i * bytes, bytes, word);
    const Words magnitude = word & (sign - 1) & kept;
    const Words normal = (magnitude << shift) + rebias;
    const Words subnormal = Words(__builtin_convertvector(Ints(magnitude), Floats) * unit);
    const Words finite = magnitude > last ? normal : has_f32_exponents ? magnitude : subnormal;
    const Words nan = Words{} + 0x7fffffffu,
                infinity = Words{} + (has_infinity ? 0x7f800000u : 0x7fffffffu);
    const Words special = magnitude == row.first_special ? infinity : nan;
    const Words number = magnitude >= row.first_special ? special : finite;
    const Floats value = Floats(number | (word & sign) << (32 - row.bits));
    Ints exponent;
    ExponentsOf(value, 1 - row.bias, exponent);
    std::memcpy(values + i, &value, sizeof value);
    std::memcpy(exponents + i, &exponent, sizeof exponent);
  }
}

// Largest exponents of the products of `row` from `first` to `end` and of the sums.
HLOSCOPE_STEP_TARGET inline void LargestExponents(const FloatProduct& p, int row, int first,
                                                  int end, Ints& largest) {
  const int32_t* a = p.a.exponents + row * p.depth;
  const int32_t* panel = p.b.exponents + first * kPanelColumns;
  for (int k = first; k < end; ++k, panel += kPanelColumns) {
    Ints b;
    std::memcpy(&b, panel, sizeof b);
    const Ints exponent = b + a[k];
    largest = exponent > largest ? exponent : largest;
  }
}

HLOSCOPE_STEP_TARGET inline void AddToDoubles(const Ints& sum, Doubles& low, Doubles& high) {
  low += __builtin_convertvector(__builtin_shufflevector(sum, sum, 0, 1, 2, 3), Doubles);
  high += __builtin_convertvector(__builtin_shufflevector(sum, sum, 4, 5, 6, 7), Doubles);
}

// Adds up the products in units of 1 / scale. Sixteen of them are below 2^31: each factor is below
// two, and at most 25 bits are kept.
HLOSCOPE_STEP_TARGET inline void AddProducts(const FloatProduct& p, int row, int first, int end,
                                             const Floats& scale, Doubles& low, Doubles& high) {
  const float* a = p.a.values + row * p.depth;
  const float* panel = p.b.values + first * kPanelColumns;
  for (int k = first; k < end;) {
    Words sum = {};
    for (const int stop = std::min(k + 16, end); k < stop; ++k, panel += kPanelColumns) {
      Floats b;
      std::memcpy(&b, panel, sizeof b);
      sum += Words(__builtin_convertvector(b * a[k] * scale, Ints));
    }
    AddToDoubles(Ints(sum), low, high);
  }
}

// Rounds four sums of so many units; none is a subnormal f32.
HLOSCOPE_STEP_TARGET inline void RoundSums(const FloatProduct& p, const Doubles& units,
                                           const FourFloats& unit, FourFloats& out) {
  const Doubles exact = units * __builtin_convertvector(unit, Doubles);
  if (!p.has_f16_sums) {
    const int64_t kept = -(int64_t{1} << (52 - p.rule.mantissa_bits));
    out = __builtin_convertvector(Doubles(Longs(exact) & kept), FourFloats);
    return;
  }
  // Adding 1.5·2^52 units in the last place of the f16 and taking them away rounds to nearest even.
  const Longs field = (Longs(exact) & int64_t{0x7ff} << 52);
  const Longs smallest = Longs{} + (int64_t{1023 - 14} << 52);
  const Longs exponent = field > smallest ? field : smallest;
  const Doubles magic = Doubles(exponent + (int64_t{42} << 52)) * 1.5;
  const Doubles rounded = (exact + magic) - magic;
  const Doubles infinity = Doubles((Longs(rounded) & INT64_MIN) | int64_t{0x7ff} << 52);
  const Longs size = Longs(rounded) & INT64_MAX;
  out =
      __builtin_convertvector(size >= (int64_t{1023 + 16} << 52) ? infinity : rounded, FourFloats);
}

// One step of eight sums. Floats do where no product or scale leaves their normal range except into
// what truncation drops anyway; the other sums, and those with infinity and NaN, are done one by
// one.
HLOSCOPE_STEP_TARGET inline void AddStep(const FloatProduct& p, int row, int first, int end,
                                         Floats& sums) {
  constexpr int32_t kSmallest = -100, kLargest = 126, kLargestOfZeros = -1500;
  Ints largest;
  ExponentsOf(sums, p.has_f16_sums ? -14 : -126, largest);
  LargestExponents(p, row, first, end, largest);
  const Ints is_hard = (largest > kLargest) | ((largest < kSmallest) & (largest > kLargestOfZeros));
  Ints bounded = largest > kLargest ? Ints{} + kLargest : largest;
  bounded = bounded < kSmallest ? Ints{} + kSmallest : bounded;
  const Ints power = p.rule.fraction_bits - bounded;
  const Floats scale = Floats((power + 127) << 23), unit = Floats((127 - power) << 23);
  Doubles low = {}, high = {};
  AddToDoubles(__builtin_convertvector(sums * scale, Ints), low, high);
  AddProducts(p, row, first, end, scale, low, high);
  FourFloats rounded[2];
  RoundSums(p, low, __builtin_shufflevector(unit, unit, 0, 1, 2, 3), rounded[0]);
  RoundSums(p, high, __builtin_shufflevector(unit, unit, 4, 5, 6, 7), rounded[1]);
  Floats result = __builtin_shufflevector(rounded[0], rounded[1], 0, 1, 2, 3, 4, 5, 6, 7);
  uint64_t hard[4];
  std::memcpy(hard, &is_hard, sizeof hard);
  if ((hard[0] | hard[1] | hard[2] | hard[3]) != 0) [[unlikely]] {
    for (int j = 0; j < kPanelColumns; ++j) {
      if (is_hard[j] != 0) result[j] = AddOneSum(p, row, j, first, sums[j]);
    }
  }
  sums = result;
}

HLOSCOPE_STEP_TARGET void AddFloats(const FloatProduct& p) {
  for (int row = 0; row < p.rows; ++row) {
    Floats sums;
    std::memcpy(&sums, p.sums + row * kPanelColumns, sizeof sums);
    for (int first = 0; first < p.depth; first += p.step) {
      AddStep(p, row, first, std::min(first + p.step, p.depth), sums);
    }
    std::memcpy(p.sums + row * kPanelColumns, &sums, sizeof sums);
  }
}

HLOSCOPE_STEP_TARGET void AddIntegers(const IntegerProduct& p) {
  for (int row = 0; row < p.rows; ++row) {
    Ints products = {};  // at most 64 of 2^16
    for (int k = 0; k < p.depth; ++k) {
      Ints b;
      std::memcpy(&b, p.b + k * kPanelColumns, sizeof b);
      products += b * p.a[row * p.depth + k];
    }
    for (int j = 0; j < kPanelColumns; ++j) {
      int32_t& sum = p.sums[row * kPanelColumns + j];
      const int64_t exact = int64_t{sum} + products[j];
      sum = static_cast<int32_t>(p.saturate ? std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX)
                                            : exact);
    }
  }
}

constexpr VectorSteps kSteps = {Decode, AddFloats, AddIntegers};
