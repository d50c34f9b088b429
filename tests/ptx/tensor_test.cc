// Tensor-core instructions: bit for bit as a second implementation has them, and cases worked out
// by hand.
#include "core/ptx/tensor/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "core/ptx/reference/tensor_model.h"

namespace hloscope::ptx {
namespace {

using enum Element;
using Fragment = std::vector<std::array<uint32_t, 32>>;
using Registers = uint32_t (*)[32];

int WidthOf(Element type) {
  switch (type) {
    case kS4:
    case kU4:
      return 4;
    case kS8:
    case kU8:
    case kE4m3:
    case kE5m2:
      return 8;
    case kF16:
    case kBf16:
      return 16;
    case kF64:
      return 64;
    default:
      return 32;
  }
}

bool IsIntegerType(Element type) {
  return type == kS4 || type == kU4 || type == kS8 || type == kU8 || type == kS32;
}

// How the values of a case are spread.
enum class Spread {
  kAnyBits,
  kAroundOne,
  kSmallIntegers,
  kSpecials,
  kTiny,
  kHuge,
  kCancelling,
  kLargestFractions
};
constexpr Spread kSpreads[] = {
    Spread::kAnyBits, Spread::kAroundOne, Spread::kSmallIntegers, Spread::kSpecials,
    Spread::kTiny,    Spread::kHuge,      Spread::kCancelling,    Spread::kLargestFractions};

// The bits of an element near `value`: cut off where they are too many.
uint64_t BitsNear(double value, Element type) {
  if (IsIntegerType(type))
    return static_cast<uint64_t>(static_cast<int64_t>(value)) &
           ((uint64_t{1} << WidthOf(type)) - 1);
  if (type == kF64) return std::bit_cast<uint64_t>(value);
  const auto f32 = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == kF32 || type == kTf32) return f32;
  if (type == kBf16) return f32 >> 16;
  const int fraction = type == kF16 ? 10 : type == kE4m3 ? 3 : 2, bias = type == kE4m3 ? 7 : 15;
  const uint64_t sign = value < 0 ? uint64_t{1} << (WidthOf(type) - 1) : 0;
  if (value == 0) return 0;
  if (std::isinf(value)) return sign | (type == kF16 ? 0x7c00 : type == kE5m2 ? 0x7c : 0x7f);
  const int exponent = std::max(std::ilogb(value), 1 - bias);
  const auto significand = static_cast<uint64_t>(std::ldexp(std::fabs(value), fraction - exponent));
  const int shift = significand >> fraction != 0 ? exponent + bias - 1 : 0;
  const auto field = std::min<uint64_t>(static_cast<uint64_t>(shift), bias == 7 ? 13 : 29);
  return sign | ((field << fraction) + significand);
}

// Fields of exponent and fraction of a float.
std::pair<int, int> FieldsOf(Element type) {
  switch (type) {
    case kE4m3:
      return {4, 3};
    case kE5m2:
      return {5, 2};
    case kF16:
      return {5, 10};
    case kBf16:
      return {8, 7};
    case kF64:
      return {11, 52};
    default:
      return {8, 23};
  }
}

uint64_t WithExponent(std::mt19937_64& random, Element type, uint64_t lowest, uint64_t count) {
  const auto [exponent_bits, fraction] = FieldsOf(type);
  const uint64_t field = std::min(lowest + random() % count, (uint64_t{1} << exponent_bits) - 1);
  return (random() & 1) << (exponent_bits + fraction) | field << fraction |
         (random() & ((uint64_t{1} << fraction) - 1));
}

uint64_t Draw(std::mt19937_64& random, Element type, Spread spread) {
  const int width = WidthOf(type);
  const uint64_t any = width == 64 ? random() : random() & ((uint64_t{1} << width) - 1);
  if (IsIntegerType(type)) return random() % 4 == 0 ? uint64_t{1} << (width - 1) : any;
  const uint64_t fields = uint64_t{1} << FieldsOf(type).first, sign = (random() & 1) << (width - 1);
  switch (spread) {
    case Spread::kAnyBits:
      return any;
    case Spread::kAroundOne:
      return WithExponent(random, type, fields / 2 - 3, 5);
    case Spread::kSmallIntegers:
      return BitsNear(static_cast<double>(random() % 7) - 3, type);
    case Spread::kTiny:
      return random() % 3 == 0 ? sign : WithExponent(random, type, 0, 1 + fields / 3);
    case Spread::kHuge:
      return WithExponent(random, type, fields * 2 / 3, fields / 3 - 1);
    case Spread::kCancelling:
      return random() % 3 == 0 ? sign : WithExponent(random, type, fields / 4, fields / 2);
    case Spread::kLargestFractions:
      return (fields / 2 << FieldsOf(type).second) - 1;
    case Spread::kSpecials: {
      const uint64_t top = (fields - 1) << FieldsOf(type).second;
      const uint64_t specials[] = {
          0, top, top | 1, top - 1, 1, top | ((uint64_t{1} << FieldsOf(type).second) - 1)};
      return random() % 8 != 0 ? WithExponent(random, type, fields / 2 - 3, 5)
                               : sign | specials[random() % 6];
    }
  }
  return any;
}

ReferenceRule RuleFor(int sm, Element a, int k) {
  const int half = a == kTf32 ? 4 : a == kF16 || a == kBf16 ? 8 : 16;
  const bool is_f8 = a == kE4m3 || a == kE5m2;
  if (sm == 89 && is_f8) return {half, 13, 13};
  return sm < 90 ? ReferenceRule{half, 24, 23} : ReferenceRule{k, 25, 23};
}

void Put(Fragment& fragment, int lane, int i, int width, uint64_t bits) {
  if (width == 64) {
    fragment[static_cast<size_t>(2 * i)][static_cast<size_t>(lane)] = static_cast<uint32_t>(bits);
    fragment[static_cast<size_t>(2 * i + 1)][static_cast<size_t>(lane)] =
        static_cast<uint32_t>(bits >> 32);
    return;
  }
  const int per = 32 / width;
  fragment[static_cast<size_t>(i / per)][static_cast<size_t>(lane)] |=
      static_cast<uint32_t>(bits << (i % per * width));
}

uint64_t Get(const Fragment& fragment, int lane, int i, int width) {
  const auto at = [&](int r) -> uint64_t {
    return fragment[static_cast<size_t>(r)][static_cast<size_t>(lane)];
  };
  if (width == 64) return at(2 * i) | at(2 * i + 1) << 32;
  const int per = 32 / width;
  return at(i / per) >> (i % per * width) & ((uint64_t{1} << width) - 1);
}

using Place = std::pair<int, int> (*)(const MmaForm&, int, int);

Fragment FragmentOf(const MmaForm& form, MmaOperand operand, Place place, int columns, Element type,
                    const Bits& matrix) {
  Fragment fragment(static_cast<size_t>(RegistersOf(form, operand)));
  const int width = WidthOf(type), elements = static_cast<int>(fragment.size()) * 32 / width;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements; ++i) {
      const auto [row, column] = place(form, lane, i);
      Put(fragment, lane, i, width, matrix[static_cast<size_t>(row * columns + column)]);
    }
  }
  return fragment;
}

Registers Of(Fragment& fragment) { return reinterpret_cast<Registers>(fragment.data()); }

// D of dense matrices by Mma.
Bits RunMma(const MmaForm& form, const Bits& a, const Bits& b, const Bits& c) {
  Fragment fa = FragmentOf(form, MmaOperand::kA, PlaceInA, form.k, form.a, a);
  Fragment fb = FragmentOf(form, MmaOperand::kB, PlaceInB, form.n, form.b, b);
  Fragment fc = FragmentOf(form, MmaOperand::kC, PlaceInC, form.n, form.c, c);
  Fragment fd(static_cast<size_t>(RegistersOf(form, MmaOperand::kD)));
  Mma(form, Of(fa), Of(fb), Of(fc), Of(fd));
  Bits d(static_cast<size_t>(form.m * form.n));
  const int width = WidthOf(form.d);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < static_cast<int>(fd.size()) * 32 / width; ++i) {
      const auto [row, column] = PlaceInC(form, lane, i);
      d[static_cast<size_t>(row * form.n + column)] = Get(fd, lane, i, width);
    }
  }
  return d;
}

Bits DrawAll(std::mt19937_64& random, int count, Element type, Spread spread) {
  Bits bits(static_cast<size_t>(count));
  for (uint64_t& element : bits) element = Draw(random, type, spread);
  return bits;
}

// The second half of a row undoes the first but for its last bits.
void Cancel(std::mt19937_64& random, Bits& a, Bits& b, int m, int n, int k, Element type) {
  for (int l = 0; l < k / 2; ++l) {
    const auto other = static_cast<size_t>(k - 1 - l);
    for (size_t i = 0; i < static_cast<size_t>(m); ++i) {
      a[i * static_cast<size_t>(k) + other] =
          a[i * static_cast<size_t>(k) + static_cast<size_t>(l)] ^
          uint64_t { 1 } << (WidthOf(type) - 1) ^ (random() % 4 == 0 ? 1 : 0);
    }
    for (size_t j = 0; j < static_cast<size_t>(n); ++j) {
      b[other * static_cast<size_t>(n) + j] =
          b[static_cast<size_t>(l) * static_cast<size_t>(n) + j];
    }
  }
}

std::vector<MmaForm> Forms() {
  std::vector<MmaForm> forms = {
      {16, 8, 8, kF16, kF16, kF32, kF32},   {16, 8, 16, kF16, kF16, kF32, kF32},
      {16, 8, 8, kF16, kF16, kF16, kF16},   {16, 8, 16, kF16, kF16, kF16, kF16},
      {16, 8, 8, kBf16, kBf16, kF32, kF32}, {16, 8, 16, kBf16, kBf16, kF32, kF32},
      {16, 8, 4, kTf32, kTf32, kF32, kF32}, {16, 8, 8, kTf32, kTf32, kF32, kF32},
      {8, 8, 4, kF64, kF64, kF64, kF64},    {16, 8, 4, kF64, kF64, kF64, kF64},
      {16, 8, 8, kF64, kF64, kF64, kF64},   {16, 8, 16, kF64, kF64, kF64, kF64}};
  for (const int k : {16, 32}) {
    for (const auto& [a, b] : {std::pair{kE4m3, kE4m3}, {kE5m2, kE4m3}, {kE5m2, kE5m2}}) {
      for (const Element d : {kF16, kF32}) forms.push_back({16, 8, k, a, b, d, d});
    }
    for (const auto& [a, b] : {std::pair{kS8, kS8}, {kU8, kS8}, {kU8, kU8}}) {
      for (const bool saturate : {false, true})
        forms.push_back({16, 8, k, a, b, kS32, kS32, saturate});
    }
  }
  forms.push_back({8, 8, 16, kS8, kU8, kS32, kS32});
  forms.push_back({8, 8, 32, kS4, kU4, kS32, kS32});
  forms.push_back({16, 8, 32, kU4, kS4, kS32, kS32, true});
  forms.push_back({16, 8, 64, kS4, kS4, kS32, kS32});
  return forms;
}

std::string NameOfForm(const MmaForm& form) {
  return "m" + std::to_string(form.m) + "k" + std::to_string(form.k) + " " +
         std::string(NameOf(form.a)) + " " + std::string(NameOf(form.b)) + " " +
         std::string(NameOf(form.d)) + " sm_" + std::to_string(form.sm);
}

// How many sums of one drawn product are held against the reference.
int CompareMma(std::mt19937_64& random, const MmaForm& form, Spread spread) {
  Bits a = DrawAll(random, form.m * form.k, form.a, spread),
       b = DrawAll(random, form.k * form.n, form.b, spread);
  if (spread == Spread::kCancelling) Cancel(random, a, b, form.m, form.n, form.k, form.a);
  const Bits c =
      DrawAll(random, form.m * form.n, form.c, random() % 2 == 0 ? spread : Spread::kTiny);
  const Bits d = RunMma(form, a, b, c);
  for (int i = 0; i < form.m; ++i) {
    for (int j = 0; j < form.n; ++j) {
      const auto at = static_cast<size_t>(i * form.n + j);
      const bool is_f8 = form.a == kE4m3 || form.a == kE5m2;
      const uint64_t expected =
          is_f8 && form.sm >= 90 && form.sm < 120
              ? ReferenceWidened(a, b, c[at], i, j, form.n, form.k, form.a, form.b, form.d)
              : ReferenceSum(a, b, c[at], i, j, form.n, form.k, form.a, form.b, form.d,
                             form.saturate, RuleFor(form.sm, form.a, form.k));
      EXPECT_EQ(d[at], expected) << std::hex << NameOfForm(form) << " spread "
                                 << static_cast<int>(spread) << " c " << c[at];
      if (d[at] != expected) return 1;
    }
  }
  return form.m * form.n;
}

TEST(Tensor, MmaHasTheBitsOfTheReference) {
  std::mt19937_64 random(1);
  int sums = 0;
  for (MmaForm form : Forms()) {
    for (const int sm : {80, 89, 90, 100, 120}) {
      form.sm = sm;
      if (!CheckMma(form)) continue;
      for (const Spread spread : kSpreads) sums += CompareMma(random, form, spread);
    }
  }
  EXPECT_GT(sums, 100'000);
}

std::vector<std::byte> Dense(const Bits& bits, Element type) {
  const auto width = static_cast<size_t>(WidthOf(type) / 8);
  std::vector<std::byte> bytes(bits.size() * width);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(bytes.data() + i * width, &bits[i], width);
  return bytes;
}

void CompareTile(std::mt19937_64& random, const TileForm& form, Spread spread, ReferenceRule rule) {
  ASSERT_TRUE(CheckTile(form).has_value()) << CheckTile(form).error().ToString();
  const Bits a = DrawAll(random, form.m * form.k, form.a, spread),
             b = DrawAll(random, form.k * form.n, form.b, spread);
  const bool has_c = random() % 4 != 0;
  const Bits c = has_c ? DrawAll(random, form.m * form.n, form.d, spread)
                       : Bits(static_cast<size_t>(form.m * form.n));
  std::vector<std::byte> d = Dense(c, form.d);
  MultiplyTile(form, Dense(a, form.a).data(), Dense(b, form.b).data(), has_c ? d.data() : nullptr,
               d.data());
  const auto width = static_cast<size_t>(WidthOf(form.d) / 8);
  for (int i = 0; i < form.m; ++i) {
    for (int j = 0; j < form.n; ++j) {
      const auto at = static_cast<size_t>(i * form.n + j);
      uint64_t bits = 0;
      std::memcpy(&bits, d.data() + at * width, width);
      ASSERT_EQ(bits, ReferenceSum(a, b, c[at], i, j, form.n, form.k, form.a, form.b, form.d,
                                   form.saturate, rule))
          << NameOf(form.a) << " " << NameOf(form.d) << " sm_" << form.sm << " spread "
          << static_cast<int>(spread);
    }
  }
}

TEST(Tensor, TilesHaveTheBitsOfTheReference) {
  std::mt19937_64 random(2);
  const std::tuple<Element, Element, Element, int> rows[] = {
      {kF16, kF16, kF32, 16},  {kF16, kF16, kF16, 16},   {kBf16, kBf16, kF32, 16},
      {kTf32, kTf32, kF32, 8}, {kE4m3, kE5m2, kF32, 32}, {kE5m2, kE4m3, kF16, 32},
      {kS8, kU8, kS32, 32}};
  for (const auto& [a, b, d, k] : rows) {
    for (const int sm : {90, 100}) {
      const TileForm form = {
          sm == 90 ? TensorUnit::kWgmma : TensorUnit::kTcgen05, 37, 24, k, a, b, d, a == kS8, sm};
      const bool is_narrow = sm == 90 && k == 32;
      for (const Spread spread : kSpreads) {
        CompareTile(random, form, spread,
                    is_narrow ? ReferenceRule{k, 13, 13} : ReferenceRule{k, 25, 23});
      }
    }
  }
}

// D[0][0] of an mma whose row 0 of A is `row` and whose B is `column` throughout, as bits.
uint64_t FirstSum(MmaForm form, const std::vector<double>& row, uint64_t c, double column = 1) {
  Bits a(static_cast<size_t>(form.m * form.k)),
      b(static_cast<size_t>(form.k * form.n), BitsNear(column, form.b));
  for (size_t l = 0; l < row.size(); ++l) a[l] = BitsNear(row[l], form.a);
  Bits sums(static_cast<size_t>(form.m * form.n));
  sums[0] = c;
  return RunMma(form, a, b, sums)[0];
}

MmaForm Bf16(int k, int sm) { return {16, 8, k, kBf16, kBf16, kF32, kF32, false, sm}; }
uint32_t F32(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

TEST(Tensor, TermsAreTruncatedBeforeTheyAreAdded) {
  const std::vector<double> row = {1, 0x1p-25, 0x1p-25, 0x1p-25, 0x1p-25};
  EXPECT_EQ(FirstSum(Bf16(8, 80), row, 0), F32(1));  // 24 bits are kept
  EXPECT_EQ(FirstSum(Bf16(8, 90), row, 0), F32(1 + 0x1p-23));
  EXPECT_EQ(
      FirstSum(Bf16(8, 90), {1, 0x1p-26, 0x1p-26, 0x1p-26, 0x1p-26, 0x1p-26, 0x1p-26, 0x1p-26}, 0),
      F32(1));
}

TEST(Tensor, SumsAreRoundedTowardsZero) {
  EXPECT_EQ(FirstSum(Bf16(8, 90), {1, 0x1p-24, 0x1p-25}, 0), F32(1));
  EXPECT_EQ(FirstSum(Bf16(8, 90), {-1, -0x1p-24, -0x1p-25}, 0), F32(-1));
  MmaForm half = {16, 8, 8, kF16, kF16, kF16, kF16, false, 90};  // to nearest even
  EXPECT_EQ(FirstSum(half, {1, 0x1p-11}, 0), 0x3c00u);
  EXPECT_EQ(FirstSum(half, {1, 0x1p-10, 0x1p-11}, 0), 0x3c02u);
  EXPECT_EQ(FirstSum(half, {32768, 32752}, 0), 0x7c00u);
}

TEST(Tensor, ExponentsAreThoseOfTheFormat) {
  // Beside a subnormal sum, whose exponent is -14, 24 bits end at 2^-38: 2^-40 is no more, and a
  // tie stays one.
  const MmaForm half = {16, 8, 8, kF16, kF16, kF16, kF16, false, 80};
  EXPECT_EQ(FirstSum(half, {0x1p-9, 0x1p-24}, 2, 0x1p-16), 2u);
  EXPECT_EQ(FirstSum(half, {0x1p-9, 0x1p-21}, 2, 0x1p-16), 3u);
}

TEST(Tensor, AmpereTakesSixteenProductsInTwoSteps) {
  std::vector<double> row(16);
  row[0] = 0x1p30, row[1] = -0x1p30, row[8] = 1;
  EXPECT_EQ(FirstSum(Bf16(16, 80), row, 0), F32(1));
  EXPECT_EQ(FirstSum(Bf16(16, 90), row, 0), 0u);  // one step: 1 is below the unit of 2^5
}

TEST(Tensor, OrderInsideAStepDoesNotMatter) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> row(16);
    for (double& value : row)
      value =
          std::ldexp(static_cast<double>(random() % 255) - 127, static_cast<int>(random() % 40));
    const uint64_t sum = FirstSum(Bf16(16, 90), row, F32(3));
    std::ranges::shuffle(row, random);
    EXPECT_EQ(FirstSum(Bf16(16, 90), row, F32(3)), sum);
  }
}

TEST(Tensor, InfinityAndNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(FirstSum(Bf16(8, 90), {infinity, 1}, 0), 0x7f800000u);
  EXPECT_EQ(FirstSum(Bf16(8, 90), {infinity, -infinity}, 0), 0x7fffffffu);
  EXPECT_EQ(FirstSum(Bf16(8, 90), {-infinity}, 0x7f800000), 0x7fffffffu);
  EXPECT_EQ(FirstSum(Bf16(8, 90), {1}, 0xffc00001), 0x7fffffffu);
  EXPECT_EQ(FirstSum(Bf16(8, 90), {0x1p127, 0x1p127}, 0), 0x7f800000u);  // overflow
  EXPECT_EQ(FirstSum({16, 8, 8, kF16, kF16, kF16, kF16, false, 80}, {infinity, -infinity}, 0),
            0x7fffu);
  EXPECT_EQ(FirstSum(Bf16(8, 90), {-0x1p-133}, 0), 0x80010000u);  // subnormals stay
  EXPECT_EQ(FirstSum(Bf16(8, 90), {}, 0x80000000), 0u);           // a sum of zeros is +0
}

TEST(Tensor, F8OnAdaKeepsThirteenBits) {
  MmaForm form = {16, 8, 16, kE4m3, kE4m3, kF32, kF32, false, 89};
  EXPECT_EQ(FirstSum(form, {1}, F32(0x1p-13)), F32(1 + 0x1p-13));
  EXPECT_EQ(FirstSum(form, {1}, F32(0x1p-14)), F32(1));
  form.sm = 120;
  EXPECT_EQ(FirstSum(form, {1}, F32(0x1p-14)), F32(1 + 0x1p-14));
}

// By hand: the first two of each four along k are added up, the others to them, that to C.
TEST(Tensor, F8OnHopperIsWidened) {
  const MmaForm form = {16, 8, 32, kE4m3, kE4m3, kF32, kF32, false, 90};
  // 1 and C are rounded to nearest in the last sum: a tie goes to even, one bit more goes up.
  EXPECT_EQ(FirstSum(form, {1}, F32(0x1p-24)), F32(1));
  EXPECT_EQ(FirstSum(form, {1}, F32(0x1p-24 + 0x1p-40)), F32(1 + 0x1p-23));
  // 448 is in the second product: -448 in the first cancels it, what is below 25 bits is lost
  // first.
  EXPECT_EQ(FirstSum(form, {-448, 0, 448, 0x1p-9}, 0), F32(0x1p-9));
  const MmaForm halves = {16, 8, 32, kE4m3, kE4m3, kF16, kF16, false, 90};
  EXPECT_EQ(FirstSum(halves, {1}, 0x3c00), 0x4000u);
}

TEST(Tensor, IntegersSaturateOnceAtTheEnd) {
  MmaForm form = {16, 8, 32, kS8, kS8, kS32, kS32, true, 80};
  EXPECT_EQ(FirstSum(form, {100, 27}, INT32_MAX - 126), static_cast<uint32_t>(INT32_MAX));
  EXPECT_EQ(FirstSum(form, {100, -100}, INT32_MAX), static_cast<uint32_t>(INT32_MAX));
  EXPECT_EQ(FirstSum(form, {-128}, 0x80000000), 0x80000000u);
  form.saturate = false;
  EXPECT_EQ(FirstSum(form, {1}, INT32_MAX), 0x80000000u);
}

TEST(Tensor, WhatIsNotSupportedIsNamed) {
  const auto message = [](const MmaForm& form) {
    const Status status = CheckMma(form);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(message({16, 8, 16, kBf16, kBf16, kF32, kF32, false, 100}), "");
  EXPECT_EQ(message({16, 8, 16, kF16, kF16, kF32, kF32, false, 75}),
            "mma.sync on sm_75, expected sm_80 to sm_129");
  EXPECT_EQ(message({16, 8, 16, kF16, kBf16, kF32, kF32, false, 80}),
            "a product of f16 and bf16 on tensor cores, expected elements of one family");
  EXPECT_EQ(message({16, 8, 16, kBf16, kBf16, kF16, kF16, false, 80}),
            "products of bf16 added up in f16, expected f32");
  EXPECT_EQ(message({16, 8, 16, kF16, kF16, kF16, kF32, false, 80}),
            "mma.sync with c in f16 and d in f32, expected one type");
  EXPECT_EQ(message({8, 8, 4, kF16, kF16, kF32, kF32, false, 80}),
            "mma.sync.m8n8k4 of f16, expected m16n8k8 m16n8k16");
  EXPECT_EQ(message({16, 8, 32, kE4m3, kE4m3, kF32, kF32, false, 80}),
            "products of e4m3 on sm_80: how its tensor cores add them up is not known");
  EXPECT_EQ(message({16, 8, 8, kTf32, kTf32, kF32, kF32, true, 80}),
            ".satfinite on products of tf32, expected integers");
  EXPECT_FALSE(CheckTile({TensorUnit::kWgmma, 64, 8, 16, kF16, kF16, kF32, false, 100}));
  EXPECT_FALSE(CheckTile({TensorUnit::kTcgen05, 128, 8, 32, kF16, kF16, kF32, false, 100}));
  EXPECT_TRUE(CheckTile({TensorUnit::kTcgen05, 128, 8, 16, kF16, kF16, kF32, false, 100}));
}

TEST(Tensor, ElementsHaveTheirNamesInPtx) {
  EXPECT_EQ(ElementOf("e4m3"), kE4m3);
  EXPECT_EQ(ElementOf("s32"), kS32);
  EXPECT_EQ(ElementOf("b16"), std::nullopt);
  EXPECT_EQ(RegistersOf({16, 8, 16, kBf16, kBf16, kF32, kF32, false, 80}, MmaOperand::kA), 4);
  EXPECT_EQ(RegistersOf({8, 8, 4, kF64, kF64, kF64, kF64, false, 80}, MmaOperand::kC), 4);
}

}  // namespace
}  // namespace hloscope::ptx
