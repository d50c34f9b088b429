// Our own GPU kernels on the simulated GPU: functions of f64 and f32, sorts, checks, hand-overs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <set>

#include "core/backends/make_platform.h"
#include "core/base/sealed_memory.h"
#include "core/hlo/float_types.h"
#include "core/replay/inputs/inputs.h"
#include "core/replay/platform.h"
#include "tests/hlo/parsed.h"
#include "tests/replay/checked_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

// Steps from one number to the other; as many as can be where only one is NaN.
template <typename T, typename Bits>
uint64_t StepsBetween(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0 : UINT64_MAX;
  const auto ordered = [](T x) {
    const auto bits = std::bit_cast<Bits>(x);
    return bits < 0 ? std::numeric_limits<Bits>::min() - bits : bits;
  };
  const Bits x = ordered(a), y = ordered(b);
  return x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
               : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
}

template <typename T>
std::vector<T> Numbers() {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<T> out = {0,
                        T(-0.0),
                        kInfinity,
                        -kInfinity,
                        std::numeric_limits<T>::quiet_NaN(),
                        T(1),
                        T(-1),
                        T(0.5),
                        T(-0.5),
                        std::numeric_limits<T>::denorm_min(),
                        T(1e6),
                        T(-3e7),
                        T(1e-30),
                        T(709.5),
                        T(-744.5),
                        T(2.9),
                        T(3.1),
                        std::numeric_limits<T>::max()};
  for (int i = 0; i < 400; ++i) {
    const double scale = std::exp2(0.5 * i - 100);
    out.push_back(static_cast<T>((i % 2 == 0 ? 1.37 : -1.91) * scale));
    out.push_back(static_cast<T>(0.037 * i - 7.3));
  }
  return out;
}

struct FunctionRow {
  const char* opcode;
  uint64_t steps;  // of f64 from libm's, which are off by one themselves
};
constexpr FunctionRow kUnary[] = {{"cosine", 1},
                                  {"sine", 1},
                                  {"tan", 3},
                                  {"exponential", 1},
                                  {"exponential-minus-one", 2},
                                  {"log", 1},
                                  {"log-plus-one", 1},
                                  {"logistic", 3},
                                  {"tanh", 3},
                                  {"sinh", 3},
                                  {"cosh", 3},
                                  {"asinh", 2},
                                  {"acosh", 2},
                                  {"atanh", 3},
                                  {"asin", 3},
                                  {"acos", 3},
                                  {"atan", 2},
                                  {"cbrt", 1},
                                  {"erf", 4}};
constexpr FunctionRow kBinary[] = {{"atan2", 2}, {"power", 8}, {"remainder", 0}};

template <typename T, typename Bits>
void ExpectFunction(const std::string& type, const FunctionRow& row, bool is_binary,
                    uint64_t allowed) {
  const std::vector<T> x = Numbers<T>();
  std::vector<T> y(x.rbegin(), x.rend());
  const auto n = static_cast<int64_t>(x.size());
  const std::string text = fmt::format(
      "HloModule m\nENTRY e {{\n  x = {0}[{1}] parameter(0)\n  y = {0}[{1}] parameter(1)\n"
      "  ROOT r = {0}[{1}] {2}(x{3})\n}}\n",
      type, n, row.opcode, is_binary ? ", y" : "");
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementTypeFromText(type), {n});
  const std::vector<Literal> inputs = {Literal::Of<T>(shape, x), Literal::Of<T>(shape, y)};
  const Ran gpu = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
  EXPECT_EQ(gpu.executed.kernels, 1) << row.opcode;
  EXPECT_TRUE(gpu.fallbacks.empty()) << row.opcode;
  ASSERT_EQ(gpu.results.size(), 1u);
  for (size_t i = 0; i < x.size(); ++i) {
    T a, m;
    std::memcpy(&a, gpu.results[0].bytes().data() + i * sizeof(T), sizeof(T));
    std::memcpy(&m, meant.results[0].bytes().data() + i * sizeof(T), sizeof(T));
    EXPECT_LE((StepsBetween<T, Bits>(a, m)), allowed)
        << type << " " << row.opcode << "(" << x[i] << ", " << y[i] << "): " << a << " for " << m;
  }
}

TEST(GpuSim, FunctionsOfDoublesAreCodeOfTheDevice) {
  for (const FunctionRow& row : kUnary)
    ExpectFunction<double, int64_t>("f64", row, false, row.steps);
  for (const FunctionRow& row : kBinary)
    ExpectFunction<double, int64_t>("f64", row, true, row.steps);
}

TEST(GpuSim, FunctionsOfFloatsAreRight) {
  for (const FunctionRow& row : kUnary) ExpectFunction<float, int32_t>("f32", row, false, 2);
  for (const FunctionRow& row : kBinary) ExpectFunction<float, int32_t>("f32", row, true, 1);
}

constexpr const char* kSort = R"(HloModule m
less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT
}
ENTRY e {
  keys = s32[3,37,2] parameter(0)
  numbers = s32[3,37,2] iota(), iota_dimension=1
  ROOT r = (s32[3,37,2], s32[3,37,2]) sort(keys, numbers), dimensions={1}, is_stable=true, to_apply=less
}
)";

TEST(GpuSim, SortsAreStableAndWriteEveryElement) {
  std::vector<int32_t> keys;
  for (int i = 0; i < 3 * 37 * 2; ++i) keys.push_back(i * 31 % 11 - 5);
  const std::vector<Literal> inputs = {
      Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, {3, 37, 2}), keys)};
  const Ran gpu = RunOn("gpu-sim", kSort, inputs), meant = RunOn("interpreter", kSort, inputs);
  ASSERT_EQ(gpu.results.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::ranges::equal(gpu.results[i].bytes(), meant.results[i].bytes())) << i;
  }
  EXPECT_TRUE(gpu.findings.empty());
}

// Values of a module on the simulated GPU, all of it run by kernels of ours without a finding,
// beside the interpreter's: within `allowed` of the largest, by type of numbers.
template <typename T>
void ExpectAsMeant(const std::string& text, double allowed) {
  SCOPED_TRACE(text);
  const auto module = hlo::Parsed(text);
  InputOptions how;
  how.seed = 3;
  const auto made = MakeInputs(*module, how);
  ASSERT_TRUE(made.has_value()) << made.error().ToString();
  const Ran gpu = RunOn("gpu-sim", text, made->literals),
            meant = RunOn("interpreter", text, made->literals);
  EXPECT_GT(gpu.executed.kernels, 0);
  EXPECT_TRUE(gpu.fallbacks.empty());
  EXPECT_TRUE(gpu.findings.empty());
  ASSERT_EQ(gpu.results.size(), meant.results.size());
  for (size_t i = 0; i < gpu.results.size(); ++i) {
    const size_t count = gpu.results[i].bytes().size() / sizeof(T);
    std::vector<T> a(count), m(count);
    std::memcpy(a.data(), gpu.results[i].bytes().data(), count * sizeof(T));
    std::memcpy(m.data(), meant.results[i].bytes().data(), count * sizeof(T));
    double largest = 0, worst = 0;
    for (size_t k = 0; k < count; ++k) {
      if (std::isnan(a[k]) && std::isnan(m[k])) continue;
      largest = std::max(largest, std::abs(static_cast<double>(m[k])));
      const double apart = std::abs(static_cast<double>(a[k]) - static_cast<double>(m[k]));
      worst = apart <= worst ? worst : apart;
    }
    EXPECT_LE(worst, allowed * largest) << "result " << i;
  }
}

TEST(GpuSim, TransformsAreKernels) {
  const auto text = [](const char* in, const char* out, const char* form) {
    return fmt::format(
        "HloModule m\nENTRY e {{\n  a = {} parameter(0)\n  ROOT r = {} fft(a), {}\n}}\n", in, out,
        form);
  };
  ExpectAsMeant<float>(text("c64[3,360]", "c64[3,360]", "fft_type=FFT, fft_length={360}"), 1e-6);
  ExpectAsMeant<float>(text("c64[2,143]", "c64[2,143]", "fft_type=IFFT, fft_length={143}"), 1e-6);
  ExpectAsMeant<float>(text("c64[64,6]", "c64[64,6]", "fft_type=FFT, fft_length={64,6}"), 1e-6);
  ExpectAsMeant<float>(text("f32[2,5,9]", "c64[2,5,5]", "fft_type=RFFT, fft_length={5,9}"), 1e-6);
  ExpectAsMeant<float>(text("c64[2,4,5,4]", "f32[2,4,5,7]", "fft_type=IRFFT, fft_length={4,5,7}"),
                       1e-6);
  ExpectAsMeant<float>(text("c64[1]", "c64[1]", "fft_type=FFT, fft_length={1}"), 1e-6);
  ExpectAsMeant<double>(text("c128[1024]", "c128[1024]", "fft_type=FFT, fft_length={1024}"), 1e-14);
}

TEST(GpuSim, MatricesAreFactoredAndSolved) {
  for (const std::string type : {"f32", "c64"}) {
    for (const std::string lower : {"true", "false"}) {
      // a·aᴴ + n of random numbers is positive definite.
      ExpectAsMeant<float>(fmt::format(R"(HloModule m
ENTRY e {{
  a = {0}[2,37,37] parameter(0)
  h = {0}[2,37,37] transpose(a), dimensions={{0,2,1}}
  d = {0}[2,37,37] dot(a, h), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
  i = s32[37,37] iota(), iota_dimension=0
  j = s32[37,37] iota(), iota_dimension=1
  c = pred[37,37] compare(i, j), direction=EQ
  u = f32[37,37] convert(c)
  v = {0}[37,37] convert(u)
  n = {0}[] constant({2})
  nb = {0}[37,37] broadcast(n), dimensions={{}}
  w = {0}[37,37] multiply(v, nb)
  wb = {0}[2,37,37] broadcast(w), dimensions={{1,2}}
  s = {0}[2,37,37] add(d, wb)
  ROOT r = {0}[2,37,37] cholesky(s), lower={1}
}}
)",
                                       type, lower, type == "f32" ? "80" : "(80, 0)"),
                           1e-5);
      for (const char* rest : {"left_side=true, transpose_a=NO_TRANSPOSE, unit_diagonal=true",
                               "left_side=false, transpose_a=ADJOINT, unit_diagonal=true",
                               "left_side=true, transpose_a=TRANSPOSE, unit_diagonal=false"}) {
        ExpectAsMeant<float>(fmt::format(R"(HloModule m
ENTRY e {{
  a = {0}[2,9,9] parameter(0)
  b = {0}[2,9,9] parameter(1)
  ROOT r = {0}[2,9,9] triangular-solve(a, b), lower={1}, {2}
}}
)",
                                         type, lower, rest),
                             1e-4);
      }
    }
  }
}

// As inputs come from another process.
TEST(GpuSim, ShuffledKernelsReadWriteProtectedMemory) {
  std::vector<int32_t> numbers(2048, 7);
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(numbers))};
  const auto sealed = SealBytes(parts, [] { return Status(); });
  ASSERT_TRUE(sealed.has_value());
  const auto shared = OpenSealed(*sealed, numbers.size() * sizeof(int32_t));
  ASSERT_TRUE(shared.has_value());
  const Ran ran = RunOn(
      "gpu-sim",
      "HloModule m\nENTRY e {\n  x = s32[2048] parameter(0)\n  ROOT y = s32[2048] add(x, x)\n}\n",
      {Literal::View(hlo::Shape::Array(hlo::ElementType::kS32, {2048}), shared->bytes,
                     shared->owner)},
      5);
  EXPECT_TRUE(ran.findings.empty());
  EXPECT_EQ(ran.executed.kernels, 1);
}

TEST(GpuSim, LongSortsAreStable) {
  for (const int64_t length : {700, 5000, 9001}) {
    std::string text = kSort;
    for (size_t at; (at = text.find("3,37,2")) != std::string::npos;) {
      text.replace(at, 6, std::to_string(length));
    }
    text.replace(text.find("iota_dimension=1"), 16, "iota_dimension=0");
    text.replace(text.find("dimensions={1}"), 14, "dimensions={0}");
    std::vector<int32_t> keys;
    for (int64_t i = 0; i < length; ++i) keys.push_back(static_cast<int32_t>(i * 7919 % 311));
    const std::vector<Literal> inputs = {
        Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, {length}), keys)};
    const Ran gpu = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
    ASSERT_EQ(gpu.results.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(std::ranges::equal(gpu.results[i].bytes(), meant.results[i].bytes())) << length;
    }
    EXPECT_TRUE(gpu.findings.empty());
  }
}

TEST(GpuSim, FunctionsOfComplexNumbersAreCodeOfTheDevice) {
  // Of c128 these are the evaluator's: parts of infinite and huge numbers are not all right.
  const std::set<std::string> open_far_out = {"atan", "atan2", "atanh", "power"};
  for (const std::string type : {"c64", "c128"}) {
    for (const char* opcode :
         {"acos", "acosh", "asin", "asinh", "atanh", "cosine", "cosh", "exponential",
          "exponential-minus-one", "log", "log-plus-one", "logistic", "rsqrt", "sign", "sine",
          "sinh", "sqrt", "tan", "tanh"}) {
      const std::string text = fmt::format(
          "HloModule m\nENTRY e {{\n  a = {0}[200] parameter(0)\n  k = {0}[] constant((9, 2))\n"
          "  b = {0}[200] broadcast(k), dimensions={{}}\n  c = {0}[200] multiply(a, b)\n"
          "  ROOT r = {0}[200] {1}(c)\n}}\n",
          type, opcode);
      if (type == "c128" && open_far_out.contains(opcode)) continue;
      type == "c64" ? ExpectAsMeant<float>(text, 1e-7) : ExpectAsMeant<double>(text, 1e-14);
    }
    for (const char* opcode : {"atan2", "divide", "power"}) {
      const std::string text = fmt::format(
          "HloModule m\nENTRY e {{\n  a = {0}[200] parameter(0)\n  b = {0}[200] parameter(1)\n"
          "  ROOT r = {0}[200] {1}(a, b)\n}}\n",
          type, opcode);
      if (type == "c128" && open_far_out.contains(opcode)) continue;
      type == "c64" ? ExpectAsMeant<float>(text, 1e-7) : ExpectAsMeant<double>(text, 1e-14);
    }
  }
}

TEST(GpuSim, ComplexNumbersNearTheEndsOfTheirRangeAreAsMeant) {
  constexpr double kMax = std::numeric_limits<double>::max();
  constexpr double kMin = std::numeric_limits<double>::denorm_min();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto shape = hlo::Shape::Array(hlo::ElementType::kC128, {6});
  using Z = std::complex<double>;
  const std::vector<Z> x = {{kMax, 0.07},  {-kMax, kMin}, {5 * kMin, 3 * kMin},
                            {kMax, -kMax}, {1, 2},        {kMin, 1}};
  const std::vector<Z> y = {{kMax, 0.07}, {-kMax, kMax}, {3 * kMin, kMin},
                            {1, 1},       {kMax, kMax},  {1e-300, 1e-310}};
  const std::vector<Literal> pairs = {Literal::Of<Z>(shape, x), Literal::Of<Z>(shape, y)};
  const auto expect_close = [](const std::string& text, const std::vector<Literal>& inputs) {
    const Ran gpu = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
    ASSERT_EQ(gpu.results.size(), 1u);
    const auto is = gpu.results[0].data<double>(), wanted = meant.results[0].data<double>();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool is_same = is[i] == wanted[i] || (std::isnan(is[i]) && std::isnan(wanted[i]));
      EXPECT_TRUE(is_same || std::abs(is[i] - wanted[i]) <= 1e-14 * std::abs(wanted[i]))
          << text << i << ": " << is[i] << ", " << wanted[i];
    }
  };
  expect_close(
      "HloModule m\nENTRY e {\n  a = c128[6] parameter(0)\n  b = c128[6] parameter(1)\n"
      "  ROOT r = c128[6] divide(a, b)\n}\n",
      pairs);
  const std::vector<Z> endless = {{kInfinity, kInfinity}, {kInfinity, -kInfinity}, {-kInfinity, 1},
                                  {1, -kInfinity},        {kInfinity, 0},          {0, kInfinity}};
  for (const char* opcode : {"sine", "cosine", "sinh", "cosh"}) {
    expect_close(fmt::format("HloModule m\nENTRY e {{\n  a = c128[6] parameter(0)\n"
                             "  ROOT r = c128[6] {}(a)\n}}\n",
                             opcode),
                 {Literal::Of<Z>(shape, endless)});
  }
  for (const char* opcode : {"rsqrt", "sqrt"}) {
    for (const std::vector<Z>& inputs : {x, y, endless}) {
      expect_close(fmt::format("HloModule m\nENTRY e {{\n  a = c128[6] parameter(0)\n"
                               "  ROOT r = c128[6] {}(a)\n}}\n",
                               opcode),
                   {Literal::Of<Z>(shape, inputs)});
    }
  }
}

TEST(GpuSim, RowsColumnsTilesAndProductsAreAsMeant) {
  const auto reduce = [](const char* in, const char* out, const char* dimensions) {
    return fmt::format(R"(HloModule m
f {{
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y)
}}
ENTRY e {{
  a = f32[{}] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[{}] reduce(a, z), dimensions={{{}}}, to_apply=f
}}
)",
                       in, out, dimensions);
  };
  ExpectAsMeant<float>(reduce("7,1000", "7", "1"), 1e-6);
  ExpectAsMeant<float>(reduce("5,3", "5", "1"), 1e-6);
  ExpectAsMeant<float>(reduce("1000,77", "77", "0"), 1e-6);
  ExpectAsMeant<float>(reduce("100000", "", "0"), 1e-5);
  ExpectAsMeant<float>(reduce("40,9,33", "9", "0,2"), 1e-6);
  ExpectAsMeant<float>(
      "HloModule m\nENTRY e {\n  a = f32[3,41,70] parameter(0)\n  b = f32[3,70,41] parameter(1)\n"
      "  t = f32[3,70,41] transpose(a), dimensions={0,2,1}\n"
      "  ROOT r = f32[3,70,41] add(t, b)\n}\n",
      0);
  for (const auto& [type, allowed] : {std::pair{"f32", 1e-6}, {"bf16", 1e-6}, {"f16", 1e-6}}) {
    ExpectAsMeant<float>(
        fmt::format("HloModule m\nENTRY e {{\n  a = {0}[2,70,48] parameter(0)\n"
                    "  b = {0}[2,83,48] parameter(1)\n  ROOT r = f32[2,70,83] dot(a, b), "
                    "lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
                    "rhs_contracting_dims={{2}}\n}}\n",
                    type),
        allowed);
  }
}

TEST(GpuSim, ProductsWithInfinitiesAndZerosAreAsMeant) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::string text = R"(HloModule m
ENTRY e {
  x = f64[8] parameter(0)
  y = f64[8] parameter(1)
  z = c128[8] complex(x, y)
  w = c128[8] constant({(1, 1), (1, 1), (0, 2), (2, 0), (1, -1), (0.1, 3), (-1, 2), (3, -2)})
  ROOT r = c128[8] multiply(z, w)
})";
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF64, {8});
  const std::vector<double> x = {0.07, kInf, 1, -kInf, 1e308, 0.3, 0, -0.0},
                            y = {kInf, 2, -kInf, 1, 1e308, 0.7, 0, 0};
  const std::vector<Literal> inputs = {Literal::Of<double>(shape, x),
                                       Literal::Of<double>(shape, y)};
  const Ran own = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
  ASSERT_EQ(own.results.size(), 1u);
  std::vector<double> a(16), b(16);
  std::memcpy(a.data(), own.results[0].bytes().data(), sizeof(double) * a.size());
  std::memcpy(b.data(), meant.results[0].bytes().data(), sizeof(double) * b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE((StepsBetween<double, int64_t>(a[i], b[i])), 2u) << i << ": " << a[i] << ' ' << b[i];
    EXPECT_TRUE(a[i] != 0 || std::signbit(a[i]) == std::signbit(b[i])) << i << ": " << a[i];
  }
}

// Argmax, and argmin as JAX writes it: along rows, along columns, in parts, with many ties, whose
// first or last one counts.
TEST(GpuSim, ChoicesKeepTheirOrder) {
  constexpr const char* kReducers[] = {
      R"(g = pred[] compare(a, b), direction=GE
  x = f32[] select(g, a, b)
  k = s32[] select(g, i, j))",
      R"(g = pred[] compare(a, b), direction=LT
  n = pred[] compare(a, a), direction=NE
  p = pred[] or(g, n)
  q = pred[] compare(a, b), direction=EQ
  l = pred[] compare(i, j), direction=LT
  t = pred[] and(q, l)
  u = pred[] or(p, t)
  x = f32[] select(p, a, b)
  k = s32[] select(u, i, j))"};
  const struct {
    const char *dimensions, *array, *result;
    int reduced;
  } rows[] = {{"1", "3,1", "3", 1},     {"1", "5,31", "5", 1},     {"1", "2,1025", "2", 1},
              {"0", "257,3", "3", 0},   {"0", "1000,40", "40", 0}, {"1", "1,70001", "1", 1},
              {"0", "70001,1", "1", 0}, {"1", "300,129", "300", 1}};
  for (const char* reducer : kReducers) {
    for (const auto& row : rows) {
      const std::string text = fmt::format(
          R"(HloModule choice
choose {{
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  {0}
  ROOT r = (f32[], s32[]) tuple(x, k)
}}
ENTRY e {{
  arg = f32[{1}] parameter(0)
  c = s32[{1}] convert(arg)
  s = s32[] constant(5)
  m = s32[{1}] broadcast(s), dimensions={{}}
  d = s32[{1}] remainder(c, m)
  v = f32[{1}] convert(d)
  n = s32[{1}] iota(), iota_dimension={2}
  z = f32[] constant({3})
  o = s32[] constant(0)
  ROOT r = (f32[{4}], s32[{4}]) reduce(v, n, z, o), dimensions={{{5}}}, to_apply=choose
}}
)",
          reducer, row.array, row.reduced, reducer == kReducers[0] ? "-inf" : "inf", row.result,
          row.dimensions);
      const auto module = hlo::Parsed(text);
      const hlo::Shape shape = module->shape(hlo::Named(*module, "arg"));
      std::vector<float> values(static_cast<size_t>(*shape.ElementCount()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1013);
      const std::vector<Literal> inputs = {Literal::Of<float>(shape, values)};
      const Ran own = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
      ASSERT_EQ(own.results.size(), meant.results.size()) << text;
      for (size_t i = 0; i < own.results.size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(own.results[i].bytes(), meant.results[i].bytes())) << text;
      }
      EXPECT_TRUE(own.findings.empty()) << text;
      EXPECT_TRUE(own.fallbacks.empty()) << text;
    }
  }
}

// Updates of one element come in the order of the indices, of which some lie outside: many of few
// elements, rows that are short, long, in parts, that overlap, several arrays, what only keeps the
// last one.
TEST(GpuSim, ScattersKeepTheOrderOfUpdates) {
  const struct {
    const char *array, *indices, *updates, *attributes, *applied;
  } rows[] = {
      {"f32[7]", "s32[1000,1]", "f32[1000]",
       "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}", "sum"},
      {"f32[70001]", "s32[3000,1]", "f32[3000]",
       "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}", "sum"},
      {"f32[9,5]", "s32[520,2]", "f32[520]",
       "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0}",
       "last"},
      {"f32[6,3]", "s32[300,1]", "f32[300,3]",
       "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}", "sum"},
      {"f32[3,6]", "s32[300,1]", "f32[3,300]",
       "update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}",
       "last"},
      {"f32[2,5000]", "s32[40,1]", "f32[40,5000]",
       "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}", "sum"},
      {"f32[20,10]", "s32[530,1]", "f32[530,4,10]",
       "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}",
       "sum"},
      {"bf16[300,40]", "s32[257,1]", "bf16[257,40]",
       "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}", "sum"},
  };
  for (const auto& row : rows) {
    const std::string array = row.array, type = array.substr(0, array.find('['));
    const std::string text = fmt::format(
        R"(HloModule scattered
sum {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] add(a, b)
}}
last {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] copy(b)
}}
ENTRY e {{
  array = {1} parameter(0)
  indices = {2} parameter(1)
  updates = {3} parameter(2)
  twice = {3} add(updates, updates)
  ROOT r = {1} scatter(array, indices, twice), {4}, index_vector_dim=1, to_apply={5}
}}
)",
        type, row.array, row.indices, row.updates, row.attributes, row.applied);
    const auto module = hlo::Parsed(text);
    std::vector<Literal> inputs;
    for (const hlo::InstructionId id : module->Parameters(module->entry_id())) {
      const hlo::Shape& shape = module->shape(id);
      std::vector<int32_t> numbers(static_cast<size_t>(*shape.ElementCount()));
      std::vector<float> floats(numbers.size());
      std::vector<hlo::BF16> halves(numbers.size());
      for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<int32_t>(i * 7919 % 1013 % 11) - 1;
        floats[i] = static_cast<float>(i * 104729 % 2039) * 1.1f;
        halves[i] = hlo::BF16(floats[i]);
      }
      inputs.push_back(shape.element_type() == hlo::ElementType::kS32
                           ? Literal::Of<int32_t>(shape, numbers)
                       : type == "bf16" ? Literal::Of<hlo::BF16>(shape, halves)
                                        : Literal::Of<float>(shape, floats));
    }
    const Ran own = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
    ASSERT_EQ(own.results.size(), 1u) << text;
    EXPECT_TRUE(std::ranges::equal(own.results[0].bytes(), meant.results[0].bytes())) << text;
    EXPECT_TRUE(own.findings.empty()) << text;
    EXPECT_TRUE(own.fallbacks.empty()) << text;
  }
}

// Integers are combined by atomic operations: the same bits in any order of the blocks.
TEST(GpuSim, ScattersOfIntegersAreExactInAnyOrder) {
  for (const char* const type : {"s32", "u32", "s64", "u64", "s16"}) {
    for (const char* const opcode : {"add", "and", "or", "xor", "maximum", "minimum", "multiply"}) {
      for (const bool is_short : {false, true}) {
        const std::string text = fmt::format(
            R"(HloModule scattered
f {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] {1}(b, a)
}}
ENTRY e {{
  array = {0}[20,40] parameter(0)
  updates = {0}[{2}] parameter(1)
  i = s32[700,1] iota(), iota_dimension=0
  m = s32[] constant(13)
  ms = s32[700,1] broadcast(m), dimensions={{}}
  k = s32[700,1] multiply(i, ms)
  n = s32[] constant(23)
  ns = s32[700,1] broadcast(n), dimensions={{}}
  j = s32[700,1] remainder(k, ns)
  ROOT r = {0}[20,40] scatter(array, j, updates), {3}, scatter_dims_to_operand_dims={{0}},
    index_vector_dim=1, to_apply=f
}}
)",
            type, opcode, is_short ? "700,40" : "700,3,40",
            is_short ? "update_window_dims={1}, inserted_window_dims={0}"
                     : "update_window_dims={1,2}, inserted_window_dims={}");
        InputOptions how;
        how.seed = 3;
        const auto made = MakeInputs(*hlo::Parsed(text), how);
        ASSERT_TRUE(made.has_value());
        const std::vector<Literal>& inputs = made->literals;
        const Ran own = RunOn("gpu-sim", text, inputs, 5),
                  meant = RunOn("interpreter", text, inputs);
        ASSERT_EQ(own.results.size(), 1u) << text;
        EXPECT_TRUE(std::ranges::equal(own.results[0].bytes(), meant.results[0].bytes())) << text;
        EXPECT_TRUE(own.findings.empty()) << text;
        EXPECT_TRUE(own.fallbacks.empty()) << text;
      }
    }
  }
}

TEST(GpuSim, WindowsChooseAndAddInTheirOrder) {
  for (const char* const window :
       {"size=1x2x2x1 stride=1x2x2x1", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0",
        "size=1x3x2x1 pad=0_0x2_0x0_1x0_0", "size=1x2x2x1 stride=1x3x3x1"}) {
    for (const char* const type : {"f32", "bf16"}) {
      const std::string shape = std::string(window).starts_with("size=1x2x2x1 stride=1x2")
                                    ? "2,4,5,3"
                                : std::string(window).contains("pad=0_0x1_1") ? "2,4,5,3"
                                : std::string(window).contains("stride=1x3")  ? "2,3,3,3"
                                                                              : "2,8,10,3";
      const std::string text = fmt::format(
          R"(HloModule chosen
ge {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}}
sum {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] add(a, b)
}}
ENTRY e {{
  x = f32[2,8,10,3] parameter(0)
  n = {0}[2,8,10,3] convert(x)
  v = f32[{1}] iota(), iota_dimension=2
  w = {0}[{1}] convert(v)
  z = {0}[] constant(0.1)
  ROOT r = {0}[2,8,10,3] select-and-scatter(n, w, z), window={{{2}}}, select=ge, scatter=sum
}}
)",
          type, shape, window);
      std::vector<float> values(480);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 13);
      const std::vector<Literal> inputs = {
          Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {2, 8, 10, 3}), values)};
      const Ran own = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
      ASSERT_EQ(own.results.size(), 1u) << text;
      ASSERT_EQ(meant.results.size(), 1u) << text;
      EXPECT_TRUE(std::ranges::equal(own.results[0].bytes(), meant.results[0].bytes())) << text;
      EXPECT_TRUE(own.findings.empty()) << text;
      EXPECT_TRUE(own.fallbacks.empty()) << text;
    }
  }
}

TEST(GpuSim, DevicesThatAreTooOldAreRefused) {
  RunOptions options;
  options.load.gpu_target = "v100";
  const auto executable = (*MakePlatform("gpu-sim"))->Load(hlo::Parsed(kSort), options);
  ASSERT_FALSE(executable.has_value());
  EXPECT_NE(executable.error().ToString().find("v100"), std::string::npos);
}

// A recorded run tells what each launch was counted to do, and what a model of the device says.
TEST(GpuSim, RecordedStepsHaveTheirLaunches) {
  const auto platform = *MakePlatform("gpu-sim");
  RunOptions options;
  options.record.steps = 1000;
  auto executable = platform->Load(hlo::Parsed(R"(HloModule m
ENTRY e {
  p = f32[4096] parameter(0)
  q = f32[4096] parameter(1)
  ROOT a = f32[4096] add(p, q)
}
)"),
                                   options);
  ASSERT_TRUE(executable.has_value()) << executable.error().ToString();
  const std::vector<float> ones(4096, 1);
  const Literal one = Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {4096}), ones);
  const std::vector<Literal> inputs = {one, one};
  Events events;
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE((*executable)->Run({&inputs, 1}, options, events).has_value());
  }
  const auto steps = events.Of<TraceSteps>();
  ASSERT_EQ(steps.size(), 2u);
  for (const TraceSteps* told : steps) {
    ASSERT_EQ(told->launches.size(), 1u);
    const TracedLaunch& launch = told->launches[0];
    EXPECT_TRUE(told->steps.steps.at(launch.step).instruction.valid());
    EXPECT_EQ(launch.figures.touched_bytes, 3u * 4 * 4096);
    EXPECT_EQ(launch.figures.float_operations, 4096u);
    EXPECT_GT(launch.model_us, 0);
    EXPECT_NE(told->model_device.find("H100"), std::string::npos) << told->model_device;
    const TracedKernel& kernel = told->kernels.at(launch.kernel);
    EXPECT_FALSE(kernel.name.empty());
    EXPECT_GT(kernel.line, 0);
    EXPECT_GE(kernel.blocks[0] * kernel.threads[0] * 16, 4096u / 4);
  }
}

}  // namespace
}  // namespace hloscope::replay
