// The platform gpu with NVIDIA's libraries, made-up ones over the made-up driver: values, what is
// said of each choice, every way to be refused, and nothing left behind.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/replay/libraries/library.h"
#include "core/replay/run_targets.h"
#include "tests/base/scratch.h"
#include "tests/replay/gpu_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using libraries::DeviceLibrary;
using libraries::Library;

// Small numbers whose products and sums are exact in every type.
Literal Numbers(std::vector<int64_t> dimensions) {
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, std::move(dimensions));
  std::vector<float> values(static_cast<size_t>(*shape.ElementCount()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 13) - 6;
  return Literal::Of<float>(shape, values);
}

void SetLibraryFaults(const std::string& faults) {
  setenv("LD_LIBRARY_PATH", HLOSCOPE_FAKE_LIBRARIES, 1);
  setenv("CUDA_FAKE_LIBRARIES", faults.c_str(), 1);
  SetFaults("");
}

std::string DotModule(const std::string& left, const std::string& right, const std::string& out,
                      const std::string& type, const std::string& attributes) {
  const bool is_complex = type[0] == 'c';
  const std::string part = type == "c128" ? "f64" : "f32";
  std::string text = "HloModule m\nENTRY e {\n";
  for (const auto& [name, number, dimensions] :
       {std::tuple("a", 0, &left), std::tuple("b", 1, &right)}) {
    text += fmt::format("  p{0} = f32{1} parameter({2})\n", name, *dimensions, number);
    if (is_complex) {
      text += fmt::format("  r{0} = {2}{1} convert(p{0})\n  i{0} = {2}{1} negate(r{0})\n", name,
                          *dimensions, part);
      text += fmt::format("  {0} = {2}{1} complex(r{0}, i{0})\n", name, *dimensions, type);
    } else {
      text += fmt::format("  {0} = {2}{1} convert(p{0})\n", name, *dimensions, type);
    }
  }
  return text + fmt::format("  ROOT d = {} dot(a, b), {}\n}}\n", out, attributes);
}

struct DotCase {
  const char *left, *right, *out, *type, *attributes;
  std::vector<int64_t> left_sizes, right_sizes;
};

std::vector<DotCase> DotCases() {
  const char* const plain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const char* const both_last = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
  const char* const both_first = "lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  const char* const batch =
      "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}";
  // Heads in the middle, as attention has them: the product is a loop around batches.
  const char* const heads =
      "lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, "
      "rhs_contracting_dims={3}";
  return {
      {"[64,72]", "[72,80]", "f32[64,80]", "f32", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[80,72]", "f32[64,80]", "f32", both_last, {64, 72}, {80, 72}},
      {"[72,64]", "[72,80]", "f32[64,80]", "f32", both_first, {72, 64}, {72, 80}},
      {"[64,72]", "[72,80]", "f64[64,80]", "f64", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "f16[64,80]", "f16", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "bf16[64,80]", "bf16", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "f32[64,80]", "bf16", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "c64[64,80]", "c64", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "c128[64,80]", "c128", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[80,72]", "s32[64,80]", "s8", both_last, {64, 72}, {80, 72}},
      {"[4,40,48]", "[4,48,56]", "f32[4,40,56]", "f32", batch, {4, 40, 48}, {4, 48, 56}},
      {"[2,20,3,64]",
       "[2,40,3,64]",
       "f32[2,3,20,40]",
       "f32",
       heads,
       {2, 20, 3, 64},
       {2, 40, 3, 64}},
  };
}

void ExpectChoice(const Outcome& ran, const char* library, const std::string& reason,
                  const std::string& of) {
  ASSERT_EQ(ran.executed.choices.size(), 1u) << of;
  const RunExecuted::Choice& choice = ran.executed.choices[0];
  EXPECT_TRUE(choice.library.starts_with(library)) << of << ": " << choice.library;
  EXPECT_EQ(choice.count, 1) << of;
  if (reason.empty()) {
    EXPECT_EQ(choice.reason, "") << of;
  } else {
    EXPECT_NE(choice.reason.find(reason), std::string::npos) << of << ": " << choice.reason;
  }
}

TEST(GpuLibraries, ProductsAreThoseOfTheInterpreter) {
  SetLibraryFaults("");
  for (const DotCase& each : DotCases()) {
    const std::string text = DotModule(each.left, each.right, each.out, each.type, each.attributes);
    const std::vector<Literal> inputs = {Numbers(each.left_sizes), Numbers(each.right_sizes)};
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 3);  // the last ones as a graph
    const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
    ASSERT_FALSE(gpu.error.has_value()) << text << gpu.error->ToString();
    ASSERT_EQ(gpu.results.size(), 1u);
    EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes())) << text;
    EXPECT_EQ(gpu.executed.library_calls, 1) << text;
    EXPECT_TRUE(gpu.fallbacks.empty());
    ExpectChoice(gpu, "cuBLASLt 13.0.0", "", text);
    ExpectNothingLeft(text);
  }
}

constexpr const char* kTransforms[] = {
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  c = c64[40,45] complex(p, p)
  ROOT r = c64[40,45] fft(c), fft_type=FFT, fft_length={45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  c = c64[40,45] complex(p, p)
  ROOT r = c64[40,45] fft(c), fft_type=IFFT, fft_length={40,45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  q = f64[40,45] convert(p)
  c = c128[40,45] complex(q, q)
  ROOT r = c128[40,45] fft(c), fft_type=IFFT, fft_length={45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  ROOT r = c64[40,23] fft(p), fft_type=RFFT, fft_length={45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  w = f64[40,45] convert(p)
  q = f64[5,8,45] reshape(w)
  ROOT r = c128[5,8,23] fft(q), fft_type=RFFT, fft_length={5,8,45}
}
)",
};

struct ConvolutionCase {
  const char *type, *out, *attributes;
  std::vector<int64_t> input, filter;
};

std::vector<ConvolutionCase> ConvolutionCases() {
  const char* const nhwc = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
  return {
      {"f32", "f32[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"f16", "f16[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"bf16", "bf16[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"f64", "f64[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"f32",
       "f32[2,16,12,10]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
       {2, 8, 12, 10},
       {16, 8, 3, 3}},
      {"f32",
       "f32[4,16,14,12]",
       "window={size=3x2 stride=2x2 pad=2_3x1_0 rhs_dilate=2x1}, dim_labels=bf01_01io->bf01",
       {4, 8, 26, 24},
       {3, 2, 8, 16}},
      {"f32",
       "f32[4,16,20,12]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=2",
       {4, 16, 20, 16},
       {3, 3, 8, 12}},
      {"f32",
       "f32[4,200,16]",
       "window={size=5 pad=2_2}, dim_labels=b0f_0io->b0f",
       {4, 200, 8},
       {5, 8, 16}},
      {"f32",
       "f32[2,6,8,10,8]",
       "window={size=3x3x3 pad=1_1x1_1x1_1}, dim_labels=b012f_012io->b012f",
       {2, 6, 8, 10, 4},
       {3, 3, 3, 4, 8}},
  };
}

std::string ConvolutionText(const ConvolutionCase& of) {
  const auto sizes = [](const std::vector<int64_t>& all) {
    return fmt::format("[{}]", fmt::join(all, ","));
  };
  return fmt::format(R"(HloModule m
ENTRY e {{
  p = f32{1} parameter(0)
  q = f32{2} parameter(1)
  a = {0}{1} convert(p)
  b = {0}{2} convert(q)
  ROOT r = {3} convolution(a, b), {4}
}}
)",
                     of.type, sizes(of.input), sizes(of.filter), of.out, of.attributes);
}

TEST(GpuLibraries, ConvolutionsAreThoseOfTheInterpreter) {
  SetLibraryFaults("");
  for (const ConvolutionCase& each : ConvolutionCases()) {
    const std::string text = ConvolutionText(each);
    const std::vector<Literal> inputs = {Numbers(each.input), Numbers(each.filter)};
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 3);
    const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
    ASSERT_FALSE(gpu.error.has_value()) << text << gpu.error->ToString();
    EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes())) << text;
    ExpectChoice(gpu, "cuDNN 9.0.0", "", text);
    ExpectNothingLeft(text);
  }
}

TEST(GpuLibraries, OurOwnKernelConvolvesWhereCudnnRefuses) {
  const ConvolutionCase each = ConvolutionCases()[0];
  const std::string text = ConvolutionText(each);
  const std::vector<Literal> inputs = {Numbers(each.input), Numbers(each.filter)};
  for (const auto& [faults, reason] : {
           std::pair("cudnnCreate=1001", "cuDNN: not initialised: starting it failed"),
           std::pair("cudnnCreate=1008", "cuDNN: cannot be loaded: starting it failed"),
           std::pair("cudnnBackendFinalize:3=3003", "cuDNN: not supported: describing a tensor"),
           std::pair("cudnn.engines=0", "no engine of it has the same bits in every run"),
           std::pair("cudnn.engines=1", "no engine of it has the same bits in every run"),
           std::pair("cudnn.plan=3002", "cuDNN: not supported: planning a convolution failed"),
           std::pair("cudnnBackendExecute=5000", "cuDNN: launch failure: convolving failed with"),
           std::pair("cudnn.major=8", "cuDNN: version mismatch: it is 8.0.0, 9.0 or newer"),
       }) {
    SetLibraryFaults(faults);
    // What was loaded of another version is known by its folder.
    if (std::string_view(faults).starts_with("cudnn.major")) {
      setenv("LD_LIBRARY_PATH", HLOSCOPE_FAKE_LIBRARIES "/", 1);
    }
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 3);
    const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
    ASSERT_FALSE(gpu.error.has_value()) << faults << gpu.error->ToString();
    EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes())) << faults;
    EXPECT_EQ(gpu.executed.library_calls, 0) << faults;
    ExpectChoice(gpu, "cuDNN", reason, faults);
    ExpectNothingLeft(faults);
  }
}

// The largest distance of two numbers beside the largest number.
double Distance(const Literal& a, const Literal& b) {
  const auto parts = [](const Literal& of) {
    const size_t size = of.shape().element_type() == hlo::ElementType::kC128 ? 8 : 4;
    std::vector<double> out;
    for (size_t i = 0; i < of.bytes().size(); i += size) {
      float f = 0;
      double d = 0;
      if (size == 8) {
        std::memcpy(&d, of.bytes().data() + i, size);
      } else {
        std::memcpy(&f, of.bytes().data() + i, size);
      }
      out.push_back(size == 8 ? d : f);
    }
    return out;
  };
  const std::vector<double> x = parts(a), y = parts(b);
  double distance = x.size() == y.size() ? 0 : INFINITY, most = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    distance = std::max(distance, std::abs(x[i] - y[i]));
    most = std::max(most, std::abs(y[i]));
  }
  return distance / most;
}

TEST(GpuLibraries, TransformsAreThoseOfTheInterpreter) {
  SetLibraryFaults("");
  const std::vector<Literal> inputs = {Numbers({40, 45})};
  for (const char* const text : kTransforms) {
    const Outcome gpu = RunOn("gpu", text, inputs, 3);
    const Outcome meant = RunOn("interpreter", text, inputs);
    ASSERT_FALSE(gpu.error.has_value()) << text << gpu.error->ToString();
    EXPECT_LT(Distance(gpu.results[0], meant.results[0]), 2e-7) << text;
    ExpectChoice(gpu, "cuFFT 12.0.0", "", text);
    EXPECT_EQ(gpu.executed.library_calls, 1) << text;
    ExpectNothingLeft(text);
  }
}

// A matrix that has a factor, of the array times its transpose and a large diagonal.
std::string FactorText(const std::string& type, bool lower) {
  const bool is_complex = type[0] == 'c';
  const std::string part = type == "f64" || type == "c128" ? "f64" : "f32";
  std::string text = fmt::format(R"(HloModule m
ENTRY e {{
  p = f32[2,80,80] parameter(0)
  x = {0}[2,80,80] convert(p)
  t = {0}[2,80,80] transpose(x), dimensions={{0,2,1}}
  s = {0}[2,80,80] add(x, t)
  i = s32[80,80] iota(), iota_dimension=0
  j = s32[80,80] iota(), iota_dimension=1
  is = pred[80,80] compare(i, j), direction=EQ
  large = {0}[] constant(2000)
  none = {0}[] constant(0)
  l = {0}[80,80] broadcast(large), dimensions={{}}
  n = {0}[80,80] broadcast(none), dimensions={{}}
  d = {0}[80,80] select(is, l, n)
  e = {0}[2,80,80] broadcast(d), dimensions={{1,2}}
  real = {0}[2,80,80] add(s, e)
)",
                                 part);
  if (is_complex) {
    text += fmt::format(
        "  imag = {0}[2,80,80] subtract(x, t)\n  a = {1}[2,80,80] complex(real, imag)\n", part,
        type);
  }
  return text + fmt::format("  ROOT r = {}[2,80,80] cholesky({}), lower={}\n}}\n", type,
                            is_complex ? "a" : "real", lower);
}

TEST(GpuLibraries, FactorsAreThoseOfTheInterpreter) {
  SetLibraryFaults("");
  const std::vector<Literal> inputs = {Numbers({2, 80, 80})};
  for (const char* const type : {"f32", "f64", "c64", "c128"}) {
    for (const bool lower : {true, false}) {
      const std::string text = FactorText(type, lower);
      const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 3);
      const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
      ASSERT_FALSE(gpu.error.has_value()) << text << gpu.error->ToString();
      EXPECT_LT(Distance(gpu.results[0], meant.results[0]), 2e-7) << text;
      ExpectChoice(gpu, "cuSOLVER 12.0.0", "", text);
      ExpectNothingLeft(text);
    }
  }
  // No factor: NaN throughout, as far as that matrix goes.
  std::string text = FactorText("f64", true);
  text.replace(text.find("constant(2000)"), 14, "constant(-9)");
  const Outcome gpu = RunOn("gpu", text.c_str(), inputs);
  const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
  ASSERT_FALSE(gpu.error.has_value()) << gpu.error->ToString();
  EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes()));
}

std::string SolveText(const std::string& type, bool left, bool lower, bool unit,
                      const char* transpose) {
  const bool is_complex = type[0] == 'c';
  const std::string part = type == "f64" || type == "c128" ? "f64" : "f32";
  const std::string size = left ? "2,70,9" : "2,9,70";
  std::string text = "HloModule m\nENTRY e {\n";
  for (const auto& [name, number, sizes] :
       {std::tuple("a", 0, std::string("2,70,70")), std::tuple("b", 1, size)}) {
    text += fmt::format("  p{0} = f32[{1}] parameter({2})\n  x{0} = {3}[{1}] convert(p{0})\n", name,
                        sizes, number, part);
    if (is_complex) {
      text += fmt::format("  {0} = {2}[{1}] complex(x{0}, x{0})\n", name, sizes, type);
    } else {
      text += fmt::format("  {0} = {2}[{1}] copy(x{0})\n", name, sizes, type);
    }
  }
  return text + fmt::format(
                    "  ROOT r = {}[{}] triangular-solve(a, b), left_side={}, lower={}, "
                    "unit_diagonal={}, transpose_a={}\n}}\n",
                    type, size, left, lower, unit, transpose);
}

TEST(GpuLibraries, SystemsAreSolvedAsByTheInterpreter) {
  SetLibraryFaults("");
  // A triangle that hardly couples, so that solutions stay small.
  std::vector<float> numbers(size_t{2} * 70 * 70);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i % 4900 / 70 == i % 70 ? 2 : (static_cast<float>(i * 37 % 13) - 6) / 512;
  }
  const Literal a =
      Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {2, 70, 70}), numbers);
  for (const char* const type : {"f32", "f64", "c64", "c128"}) {
    for (int form = 0; form < 8; ++form) {
      const bool left = (form & 1) != 0, lower = (form & 2) != 0, unit = (form & 4) != 0;
      const char* const transpose =
          std::array{"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}[static_cast<size_t>(
              (form + (type[0] == 'c' ? 2 : 0) + (type[1] == '6' ? 1 : 0)) % 3)];
      const std::string text = SolveText(type, left, lower, unit, transpose);
      const std::vector<Literal> inputs = {a, left ? Numbers({2, 70, 9}) : Numbers({2, 9, 70})};
      const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 2);
      const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
      ASSERT_FALSE(gpu.error.has_value()) << text << gpu.error->ToString();
      EXPECT_LT(Distance(gpu.results[0], meant.results[0]), 1e-6) << text;
      ExpectChoice(gpu, "cuBLAS 13.0.0", "", text);
    }
  }
  ExpectNothingLeft("solve");
}

struct RefusalRow {
  bool is_dot;
  const char *faults, *reason;
};
constexpr RefusalRow kRefusals[] = {
    {true, "cublasLtCreate=1",
     "cuBLASLt: not initialised: starting it failed with CUBLAS_STATUS_NOT_INITIALIZED (1) (fix: "},
    {true, "cublasLtCreate=3", "cuBLASLt: not enough memory: starting it"},
    {true, "cublasLtMatmulDescCreate=7", "cuBLASLt: refused by the library: describing a product"},
    {true, "cublasLtMatrixLayoutCreate:2=3", "cuBLASLt: not enough memory: describing a matrix"},
    {true, "cublasLtMatmulPreferenceCreate=3", "choosing an algorithm failed with"},
    {true, "cublasLtMatmulAlgoGetHeuristic=15", "cuBLASLt: not supported: choosing an algorithm"},
    {true, "cublasLtMatmulAlgoGetHeuristic=8", "cuBLASLt: device capability too low"},
    {true, "cublasLt.algorithms=0", "cuBLASLt: not supported: it has no algorithm"},
    {true, "cublasLtMatmul=13",
     "cuBLASLt: launch failure: multiplying failed with CUBLAS_STATUS_EXECUTION_FAILED (13)"},
    {true, "cublasLtMatmul=77", "cuBLASLt: refused by the library: multiplying failed with 77"},
    {false, "cufftCreate=7", "cuFFT: not initialised: starting it failed with CUFFT_SETUP_FAILED"},
    {false, "cufftMakePlanMany64=8", "cuFFT: not supported: planning a transform"},
    {false, "cufftMakePlanMany64=2", "cuFFT: not enough memory: planning a transform"},
    {false, "cufftSetWorkArea=13", "cuFFT: no workspace: taking memory failed"},
    {false, "cufftExecC2C=6", "cuFFT: launch failure: transforming failed"},
};

TEST(GpuLibraries, OurOwnKernelRunsWhereALibraryRefuses) {
  const DotCase dot = DotCases()[0];
  const std::string product = DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes);
  const std::vector<Literal> factors = {Numbers(dot.left_sizes), Numbers(dot.right_sizes)},
                             array = {Numbers({40, 45})};
  for (const RefusalRow& row : kRefusals) {
    SetLibraryFaults(row.faults);
    const std::string text = row.is_dot ? product : std::string(kTransforms[0]);
    const auto& inputs = row.is_dot ? factors : array;
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 3);
    ASSERT_FALSE(gpu.error.has_value()) << row.faults << gpu.error->ToString();
    const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
    if (row.is_dot) {
      EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes()))
          << row.faults;
    } else {
      EXPECT_LT(Distance(gpu.results[0], meant.results[0]), 2e-6) << row.faults;
    }
    EXPECT_EQ(gpu.executed.library_calls, 0) << row.faults;
    EXPECT_TRUE(gpu.fallbacks.empty()) << row.faults;
    ExpectChoice(gpu, row.is_dot ? "cuBLASLt" : "cuFFT", row.reason, row.faults);
    ExpectNothingLeft(row.faults);
  }
}

// A library that refuses while launches are recorded spoils the recording, not the run.
TEST(GpuLibraries, WhatCannotBeRecordedIsLaunchedOneByOne) {
  const DotCase dot = DotCases()[0];
  const std::string text = DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes);
  const std::vector<Literal> inputs = {Numbers(dot.left_sizes), Numbers(dot.right_sizes)};
  SetLibraryFaults("");
  const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
  SetLibraryFaults("cublasLt.waits=1");
  const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 4);
  ASSERT_FALSE(gpu.error.has_value()) << gpu.error->ToString();
  EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes()));
  ExpectChoice(gpu, "cuBLASLt", "", "recording");
  SetLibraryFaults("cublasLtMatmul:2=15");  // the second run's: it is recorded
  const Outcome later = RunOn("gpu", text.c_str(), inputs, 4);
  ASSERT_FALSE(later.error.has_value()) << later.error->ToString();
  EXPECT_TRUE(std::ranges::equal(later.results[0].bytes(), meant.results[0].bytes()));
  ExpectChoice(later, "cuBLASLt", "not supported", "second run");
}

TEST(GpuLibraries, RulesAndFlagsLeaveLibrariesOut) {
  SetLibraryFaults("");
  const DotCase dot = DotCases()[0];
  const std::string text = DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes);
  RunOptions options;
  options.xla_flags = {{std::string(kDisablePassesFlag), "cublaslt,cufft"}};
  const Outcome left_out =
      RunOn("gpu", text.c_str(), {Numbers(dot.left_sizes), Numbers(dot.right_sizes)}, 1, options);
  ASSERT_FALSE(left_out.error.has_value()) << left_out.error->ToString();
  ExpectChoice(left_out, "cuBLASLt", "cuBLASLt is left out by a flag", "flag");
  EXPECT_EQ(left_out.executed.kernels, 1);

  const std::string small = DotModule("[8,8]", "[8,8]", "f32[8,8]", "f32", dot.attributes);
  ExpectChoice(RunOn("gpu", small.c_str(), {Numbers({8, 8}), Numbers({8, 8})}), "cuBLASLt",
               "so small", "small");
  const std::string other = DotModule("[64,72]", "[72,80]", "f32[64,80]", "f16", dot.attributes);
  std::string odd = other;
  odd.replace(odd.find("b = f16"), 7, "b = f32");
  ExpectChoice(RunOn("gpu", odd.c_str(), {Numbers({64, 72}), Numbers({72, 80})}), "cuBLASLt",
               "no product of f16 and f32", "types");
  const char* const back = R"(HloModule m
ENTRY e {
  p = f32[64,33] parameter(0)
  c = c64[64,33] complex(p, p)
  ROOT r = f32[64,64] fft(c), fft_type=IRFFT, fft_length={64}
}
)";
  ExpectChoice(RunOn("gpu", back, {Numbers({64, 33})}), "cuFFT", "not Hermitian", "inverse");
  options.xla_flags[0].second = "cublas_lt";
  const Outcome wrong =
      RunOn("gpu", text.c_str(), {Numbers(dot.left_sizes), Numbers(dot.right_sizes)}, 1, options);
  ASSERT_TRUE(wrong.error.has_value());
  EXPECT_NE(wrong.error->message.find("there is no pass `cublas_lt`"), std::string::npos);
}

TEST(GpuLibraries, FilesThatAreNoneAreNamed) {
  const Scratch scratch;
  SetLibraryFaults("cublasLt.major=11");
  const auto load = [](DeviceLibrary library, const std::string& file) {
    return Library::LoadFirst(libraries::RowOf(library), std::vector{file}, "the fix");
  };
  const struct {
    DeviceLibrary library;
    std::string file, message;
  } rows[] = {
      {DeviceLibrary::kCufft, "libnowhere.so.99", "cuFFT: no library: libnowhere.so.99: cannot"},
      {DeviceLibrary::kCufft, scratch.Write("libcufft.so.12", "text"), "cuFFT: cannot be loaded: "},
      {DeviceLibrary::kCufft, HLOSCOPE_NO_LIBRARY,
       "cuFFT: version mismatch: it has no cufftCreate, 11.0 or newer is needed: "},
      {DeviceLibrary::kCublasLt, HLOSCOPE_FAKE_LIBRARIES "/libcublasLt.so.13",
       "cuBLASLt: version mismatch: it is 11.0.0, 12.0 or newer is needed: "},
  };
  for (const auto& row : rows) {
    const auto loaded = load(row.library, row.file);
    ASSERT_FALSE(loaded.has_value()) << row.message;
    EXPECT_TRUE(loaded.error().message.starts_with(row.message)) << loaded.error().message;
    EXPECT_EQ(loaded.error().hint, "the fix");
  }
  // One that cannot be loaded hides none that can.
  SetLibraryFaults("");
  const auto loaded =
      Library::LoadFirst(libraries::RowOf(DeviceLibrary::kCufft),
                         std::vector{scratch.Path("libcufft.so.12"),
                                     std::string(HLOSCOPE_FAKE_LIBRARIES "/libcufft.so.12")},
                         "");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ((*loaded)->version(), "12.0.0");
}

}  // namespace
}  // namespace hloscope::replay
