// Custom calls that factor matrices: our own kernels on the simulated GPU and by cuSOLVER on the
// platform gpu, made-up ones in tests, beside the interpreter's values.
#include "tests/replay/gpu_library_runs.h"

namespace hloscope::replay {
namespace {

struct FactorType {
  const char *name, *part;
  char letter;
  bool is_complex;
};
constexpr FactorType kTypes[] = {{"f32", "f32", 's', false},
                                 {"f64", "f64", 'd', false},
                                 {"c64", "f32", 'c', true},
                                 {"c128", "f64", 'z', true}};

// Matrices of `type` from numbers of f32, of which row and column are as in `sizes`.
std::string Begin(const FactorType& type, const std::string& sizes) {
  std::string text = fmt::format(
      "HloModule m\nENTRY e {{\n  r0 = f32[{0}] parameter(0)\n  i0 = f32[{0}] parameter(1)\n"
      "  x = {1}[{0}] convert(r0)\n  y = {1}[{0}] convert(i0)\n",
      sizes, type.part);
  return text + (type.is_complex ? fmt::format("  a = {}[{}] complex(x, y)\n", type.name, sizes)
                                 : fmt::format("  a = {}[{}] add(x, y)\n", type.name, sizes));
}

std::string CallText(const FactorType& type, const char* routine, const std::string& options) {
  return fmt::format(
      "custom_call_target=\"lapack_{}{}_ffi\", api_version=API_VERSION_TYPED_FFI, "
      "backend_config={{{}}}",
      type.letter, routine, options);
}

// What is as large as the left one's elements, about.
std::vector<Literal> Inputs(std::vector<int64_t> sizes, double diagonal = 0) {
  std::vector<Literal> out;
  for (const int seed : {7, 11}) {
    const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, sizes);
    std::vector<float> values(static_cast<size_t>(*shape.ElementCount()));
    const auto columns = static_cast<size_t>(sizes.back());
    const auto each = columns * static_cast<size_t>(sizes[sizes.size() - 2]);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(static_cast<float>(i * static_cast<size_t>(seed)) * 0.37F);
      if (i % each / columns == i % columns) values[i] += static_cast<float>(diagonal);
    }
    out.push_back(Literal::Of<float>(shape, values));
  }
  return out;
}

std::string LuText(const FactorType& type, int64_t rows, int64_t columns) {
  const int64_t less = std::min(rows, columns);
  return Begin(type, fmt::format("2,{},{}", rows, columns)) +
         fmt::format("  ROOT r = ({0}[2,{1},{2}], s32[2,{3}], s32[2]) custom-call(a), {4}\n}}\n",
                     type.name, rows, columns, less, CallText(type, "getrf", ""));
}

// Both triangles are of one matrix; the other one stays as it is.
std::string CholeskyText(const FactorType& type, int64_t n, bool lower) {
  return Begin(type, fmt::format("2,{0},{0}", n)) +
         fmt::format("  ROOT r = ({0}[2,{1},{1}], s32[2]) custom-call(a), {2}\n}}\n", type.name, n,
                     CallText(type, "potrf", lower ? "uplo = 76 : ui8" : "uplo = 85 : ui8"));
}

std::string QrText(const FactorType& type, int64_t rows, int64_t columns) {
  const int64_t less = std::min(rows, columns);
  const std::string matrix = fmt::format("{}[2,{},{}]", type.name, rows, columns);
  const std::string q = fmt::format("{}[2,{},{}]", type.name, rows, less);
  return Begin(type, fmt::format("2,{},{}", rows, columns)) +
         fmt::format(
             "  f = ({0}, {1}[2,{2}]) custom-call(a), {3}\n"
             "  v = {0} get-tuple-element(f), index=0\n"
             "  t = {1}[2,{2}] get-tuple-element(f), index=1\n"
             "  w = {4} slice(v), slice={{[0:2], [0:{5}], [0:{2}]}}\n"
             "  q = {4} custom-call(w, t), {6}\n"
             "  ROOT r = ({0}, {1}[2,{2}], {4}) tuple(v, t, q)\n}}\n",
             matrix, type.name, less, CallText(type, "geqrf", ""), q, rows,
             CallText(type, type.is_complex ? "ungqr" : "orgqr", ""));
}

// Values, and how far A·V is from V·w: vectors have signs and phases of their own.
std::string EigenText(const FactorType& type, int64_t n, bool lower) {
  const std::string matrix = fmt::format("{0}[2,{1},{1}]", type.name, n);
  std::string text = Begin(type, fmt::format("2,{0},{0}", n));
  text += fmt::format("  u = {0} transpose(a), dimensions={{0,2,1}}\n", matrix);
  if (type.is_complex) {
    text += fmt::format(
        "  re = {1}[2,{2},{2}] real(u)\n  im = {1}[2,{2},{2}] imag(u)\n"
        "  no = {1}[2,{2},{2}] negate(im)\n  h = {0} complex(re, no)\n",
        matrix, type.part, n);
  } else {
    text += fmt::format("  h = {0} copy(u)\n", matrix);
  }
  text += fmt::format(
      "  s = {0} add(a, h)\n"
      "  f = ({0}, {1}[2,{2}], s32[2]) custom-call(s), {3}\n"
      "  v = {0} get-tuple-element(f), index=0\n"
      "  e = {1}[2,{2}] get-tuple-element(f), index=1\n"
      "  i = s32[2] get-tuple-element(f), index=2\n"
      "  k = {4}[2,{2}] convert(e)\n"
      "  b = {0} broadcast(k), dimensions={{0,2}}\n"
      "  left = {0} dot(s, v), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
      "lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}\n"
      "  right = {0} multiply(v, b)\n"
      "  d = {0} subtract(left, right)\n"
      "  far = {1}[2,{2},{2}] abs(d)\n"
      "  long = {1}[2,{2},{2}] abs(v)\n"
      "  zero = {1}[] constant(0)\n"
      "  squares = {1}[2,{2},{2}] multiply(long, long)\n"
      "  lengths = {1}[2,{2}] reduce(squares, zero), dimensions={{1}}, to_apply=sum\n"
      "  ROOT r = ({1}[2,{2}], {1}[2,{2},{2}], {1}[2,{2}], s32[2]) tuple(e, far, lengths, i)\n}}\n",
      matrix, type.part, n,
      CallText(type, type.is_complex ? "heevd" : "syevd",
               lower ? "mode = 86 : ui8, uplo = 76 : ui8" : "mode = 86 : ui8, uplo = 85 : ui8"),
      type.name);
  const std::string sum = fmt::format(
      "sum {{\n  one = {0}[] parameter(0)\n  two = {0}[] parameter(1)\n"
      "  ROOT both = {0}[] add(one, two)\n}}\n",
      type.part);
  return text.insert(text.find("ENTRY"), sum);
}

std::vector<double> PartsOf(const Literal& of) {
  const hlo::ElementType type = hlo::RealPart(of.shape().element_type());
  std::vector<double> out;
  const auto read = [&]<typename T>(T value) {
    for (size_t at = 0; at < of.bytes().size(); at += sizeof value) {
      std::memcpy(&value, of.bytes().data() + at, sizeof value);
      out.push_back(static_cast<double>(value));
    }
  };
  type == hlo::ElementType::kF64 ? read(0.0) : read(0.0F);
  return out;
}

// The largest difference, beside the largest number or 1.
double FarApart(const Literal& a, const Literal& b) {
  const std::vector<double> x = PartsOf(a), y = PartsOf(b);
  double far = 0, largest = 1;
  for (size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    const double apart = std::abs(x[i] - y[i]);
    far = std::isnan(apart) ? INFINITY : std::max(far, apart);
  }
  return far / largest;
}

void ExpectNear(const Outcome& ran, const Outcome& meant, double bound, const std::string& text) {
  ASSERT_FALSE(ran.error.has_value()) << text << ran.error->ToString();
  ASSERT_FALSE(meant.error.has_value()) << text << meant.error->ToString();
  ASSERT_EQ(ran.results.size(), meant.results.size()) << text;
  EXPECT_TRUE(ran.fallbacks.empty()) << text << ran.fallbacks[0].reason;
  for (size_t i = 0; i < ran.results.size(); ++i) {
    if (hlo::IsInteger(ran.results[i].shape().element_type())) {
      EXPECT_TRUE(std::ranges::equal(ran.results[i].bytes(), meant.results[i].bytes())) << text;
    } else {
      EXPECT_LE(FarApart(ran.results[i], meant.results[i]), bound) << text << i;
    }
  }
}

// By our own kernels, on the simulated GPU, which looks for races and reads of what nobody wrote.
void ExpectOurs(const std::string& text, const std::vector<Literal>& inputs, double bound) {
  RunOptions options;
  options.checks.races = options.checks.uninitialised = true;
  const Outcome ran = RunOn("gpu-sim", text.c_str(), inputs, 1, options);
  ExpectNear(ran, RunOn("interpreter", text.c_str(), inputs), bound, text);
  EXPECT_TRUE(ran.findings.empty()) << text << ran.findings[0].what;
}

// By cuSOLVER, on the platform gpu.
void ExpectLibrary(const std::string& text, const std::vector<Literal>& inputs, double bound) {
  const Outcome gpu = RunOn("gpu", text.c_str(), inputs);
  ExpectNear(gpu, RunOn("interpreter", text.c_str(), inputs), bound, text);
  const auto choice =
      std::ranges::find(gpu.executed.choices, "custom-call", &RunExecuted::Choice::opcode);
  ASSERT_NE(choice, gpu.executed.choices.end()) << text;
  EXPECT_EQ(choice->library, "cuSOLVER 12.0.0") << text;
  EXPECT_EQ(choice->reason, "") << text;
}

TEST(GpuFactors, OurKernelsMakeWhatTheInterpreterMakes) {
  const FactorType &f32 = kTypes[0], &f64 = kTypes[1], &c64 = kTypes[2], &c128 = kTypes[3];
  ExpectOurs(LuText(f32, 7, 4), Inputs({2, 7, 4}), 2e-6);
  ExpectOurs(LuText(c128, 4, 6), Inputs({2, 4, 6}), 1e-13);
  ExpectOurs(QrText(f64, 4, 6), Inputs({2, 4, 6}), 1e-13);
  ExpectOurs(QrText(c64, 7, 4), Inputs({2, 7, 4}), 2e-6);
  ExpectOurs(CholeskyText(f32, 6, false), Inputs({2, 6, 6}, 12), 1e-6);
  ExpectOurs(CholeskyText(c128, 6, true), Inputs({2, 6, 6}, 12), 1e-13);
  ExpectOurs(EigenText(f64, 5, false), Inputs({2, 5, 5}), 1e-13);
  ExpectOurs(EigenText(c64, 6, true), Inputs({2, 6, 6}), 4e-6);
  ExpectOurs(EigenText(f32, 1, true), Inputs({2, 1, 1}), 1e-6);
}

// Older calls have their options as operands, which have to be constants to be known, and
// workspaces behind their results.
TEST(GpuFactors, OlderCallsToo) {
  constexpr const char* kText = R"(HloModule m
ENTRY e {{
  a = f64[6,6] parameter(0)
  p = s32[] parameter(1)
  lower = s32[] constant({})
  one = s32[] constant(1)
  n = s32[] constant(6)
  ROOT r = (f64[6,6], s32[]{}) custom-call({}, one, n, a), custom_call_target="lapack_dpotrf"
}}
)";
  std::vector<double> values(36);
  for (size_t i = 0; i < 36; ++i) values[i] = i % 7 == 0 ? 9 : static_cast<double>(i * 5 % 7) / 7;
  const int32_t zero = 0;
  const std::vector<Literal> inputs = {
      Literal::Of<double>(hlo::Shape::Array(hlo::ElementType::kF64, {6, 6}), values),
      Literal::Of<int32_t>(hlo::Shape::Scalar(hlo::ElementType::kS32), std::span(&zero, 1))};
  ExpectOurs(fmt::format(kText, 0, ", u8[7]", "lower"), inputs, 1e-14);
  ExpectOurs(fmt::format(kText, 1, "", "lower"), inputs, 1e-14);
  const std::string unknown = fmt::format(kText, 1, "", "p");
  EXPECT_EQ(RunOn("gpu-sim", unknown.c_str(), inputs).fallbacks.size(), 1u);
}

TEST(GpuFactors, CusolverMakesWhatTheInterpreterMakes) {
  SetLibraryFaults("");
  const FactorType &f32 = kTypes[0], &c128 = kTypes[3];
  for (const FactorType& type : kTypes) {
    ExpectLibrary(QrText(type, 66, 64), Inputs({2, 66, 64}), 2e-5);
  }
  ExpectLibrary(LuText(f32, 66, 64), Inputs({2, 66, 64}), 2e-5);
  ExpectLibrary(LuText(c128, 64, 66), Inputs({2, 64, 66}), 1e-12);
  ExpectLibrary(CholeskyText(c128, 64, false), Inputs({2, 64, 64}, 90), 1e-13);
  ExpectLibrary(EigenText(c128, 64, true), Inputs({2, 64, 64}), 1e-13);
  ExpectNothingLeft("cuSOLVER");
}

// What has no factor says so, wherever it is done; matrices without one are of use to nobody.
TEST(GpuFactors, InfosAreThoseOfTheInterpreter) {
  SetLibraryFaults("");
  const auto only_info = [](std::string text, int leaf) {
    text.replace(text.find("ROOT r"), 6, "f");
    return text.insert(text.rfind('}'),
                       fmt::format("  ROOT r = s32[2] get-tuple-element(f), index={}\n", leaf));
  };
  for (const int n : {6, 64}) {
    const auto expect = n == 6 ? &ExpectOurs : &ExpectLibrary;
    std::vector<Literal> zeros = Inputs({2, n, n});
    std::vector<float> values(static_cast<size_t>(2 * n * n));
    for (int i = 0; i < n; ++i) values[static_cast<size_t>(i * n + i)] = i == 3 ? 0.0F : 1.0F;
    for (Literal& each : zeros) each = Literal::Of<float>(each.shape(), values);
    expect(only_info(LuText(kTypes[1], n, n), 2), zeros, 0);
    expect(only_info(CholeskyText(kTypes[1], n, true), 1), zeros, 0);
    expect(only_info(CholeskyText(kTypes[3], n, false), 1), Inputs({2, n, n}), 0);
  }
}

// Of a matrix with NaN eigenvalues are NaN, and say so as LAPACK does; pivots go by what is
// compared.
TEST(GpuFactors, NansAreThoseOfTheInterpreter) {
  for (const int64_t n : {1, 5}) {
    std::vector<Literal> inputs = Inputs({2, n, n});
    std::vector<float> values(static_cast<size_t>(2 * n * n), 0.5F);
    values[static_cast<size_t>(n * n / 2)] = NAN;
    inputs[0] = Literal::Of<float>(inputs[0].shape(), values);
    std::string lu = LuText(kTypes[1], n, n);
    lu.replace(lu.find("ROOT r"), 6, "f");
    lu.insert(lu.rfind('}'),
              fmt::format("  ROOT r = s32[2,{}] get-tuple-element(f), index=1\n", n));
    std::string eigen = EigenText(kTypes[1], n, true);
    eigen.replace(eigen.find("ROOT r"), 6, "t");
    eigen.insert(eigen.rfind('}'), "  ROOT r = s32[2] copy(i)\n");
    for (const std::string& text : {lu, eigen}) ExpectOurs(text, inputs, 0);
  }
}

// A library that refuses leaves it to our own kernel, with its words.
TEST(GpuFactors, WhatCusolverRefusesOurKernelDoes) {
  const std::vector<Literal> inputs = Inputs({2, 64, 64});
  const std::string text = LuText(kTypes[0], 64, 64);
  const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
  for (const char* const fault : {"cusolverDnXgetrf_bufferSize=9", "cusolverDnXgetrf=6"}) {
    SetLibraryFaults(fault);
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs);
    ExpectNear(gpu, meant, 2e-5, text);
    ASSERT_EQ(gpu.executed.choices.size(), 1u);
    EXPECT_NE(gpu.executed.choices[0].reason.find("CUSOLVER_STATUS"), std::string::npos) << fault;
    EXPECT_EQ(gpu.executed.kernels, 2) << fault;
  }
}

}  // namespace
}  // namespace hloscope::replay
