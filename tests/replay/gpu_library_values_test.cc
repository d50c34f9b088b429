// What NVIDIA's libraries compute on the platform gpu, made-up ones over the made-up driver, beside
// the interpreter's values.
#include <array>

#include "tests/replay/gpu_library_runs.h"

namespace hloscope::replay {
namespace {

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

}  // namespace
}  // namespace hloscope::replay
