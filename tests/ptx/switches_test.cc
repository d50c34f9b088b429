// Arithmetic done otherwise: what each switch changes, and what it leaves.
#include "core/ptx/switches/switches.h"

#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

std::vector<float> RunSwitched(const std::string& instruction, const std::vector<float>& a,
                               const std::vector<float>& b, std::optional<Switch> which) {
  LaunchOptions options;
  std::optional<SwitchedSteps> steps;
  if (which) options.changer = &steps.emplace(*which);
  return RunKernel(
             "add.s64 %rd5, %rd1, %rd4;\nld.global.b32 %r2, [%rd5];\nadd.s64 %rd6, %rd2, "
             "%rd4;\nld.global.b32 %r3, [%rd6];\n" +
                 instruction + "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;",
             Bytes(a), Bytes(b), 128, 32, 1, options)
      .As<float>(2);
}

std::vector<float> Equal(float value) { return std::vector<float>(32, value); }

const std::string kTf32Product =
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r4, %r10, %r11, %r12}, "
    "{%r2, %r2, %r2, %r2}, {%r3, %r3}, {%r20, %r21, %r22, %r23};";

TEST(PtxSwitches, Tf32) {
  const float a = 1 + 0x1p-20f;
  EXPECT_EQ(RunSwitched(kTf32Product, Equal(a), Equal(3), {})[0], 24.0f);
  EXPECT_EQ(RunSwitched(kTf32Product, Equal(a), Equal(3), Switch::kTf32)[0], 24 * a);
  EXPECT_EQ(RunSwitched(kTf32Product, Equal(a), Equal(3), Switch::kTensorSums)[0], 24.0f);
  EXPECT_EQ(RunSwitched("cvt.rna.tf32.f32 %r4, %r2;", Equal(a), Equal(3), Switch::kTf32)[0], a);
}

TEST(PtxSwitches, WideProductsHaveTheirPlaces) {
  // Products whose operands fit into tf32 are the same with and without, at every place.
  std::vector<float> a, b;
  for (int i = 0; i < 32; ++i) {
    a.push_back(static_cast<float>(i));
    b.push_back(static_cast<float>(3 * i % 17 - 5));
  }
  for (const char* form : {"f32.tf32.tf32.f32", "f32.bf16.bf16.f32"}) {
    const bool is_tf32 = form[4] == 't';
    const std::string product = std::string("mma.sync.aligned.m16n8k") + (is_tf32 ? "8" : "16") +
                                ".row.col." + form +
                                " {%r13, %r10, %r11, %r12}, {%r2, %r3, %r3, %r2}, {%r3, %r2}, "
                                "{%r2, %r3, %r2, %r2};\n";
    for (const char* sum : {"%r13", "%r10", "%r11", "%r12"}) {
      const std::string body = product + "mov.b32 %r4, " + sum + ";";
      EXPECT_EQ(RunSwitched(body, a, b, {}), RunSwitched(body, a, b, Switch::kTensorSums)) << body;
    }
  }
}

TEST(PtxSwitches, SumsOfTensorCores) {
  // The first row is 1 twice and six terms that the machine drops, being below the last bit it
  // keeps.
  std::vector<float> a = Equal(0x1.8p-25f);
  a[0] = 1;
  EXPECT_EQ(RunSwitched(kTf32Product, a, Equal(1), {})[0], 2.0f);
  EXPECT_EQ(RunSwitched(kTf32Product, a, Equal(1), Switch::kTensorSums)[0], 2 + 0x1p-22f);
}

TEST(PtxSwitches, FmaApart) {
  const float a = 1 + 0x1p-12f;
  const std::string fma = "neg.f32 %r5, %r3;\nfma.rn.f32 %r4, %r2, %r2, %r5;";
  EXPECT_EQ(RunSwitched(fma, Equal(a), Equal(a * a), {})[0], 0x1p-24f);
  EXPECT_EQ(RunSwitched(fma, Equal(a), Equal(a * a), Switch::kFma)[0], 0.0f);
}

TEST(PtxSwitches, Subnormals) {
  const std::string sum = "add.rn.ftz.f32 %r4, %r2, %r3;";
  EXPECT_EQ(RunSwitched(sum, Equal(0x1p-130f), Equal(0), {})[0], 0.0f);
  EXPECT_EQ(RunSwitched(sum, Equal(0x1p-130f), Equal(0), Switch::kDenormals)[0], 0x1p-130f);
}

TEST(PtxSwitches, ApproximationsAtTheirBounds) {
  const std::string exp = "ex2.approx.f32 %r4, %r2;";
  EXPECT_EQ(RunSwitched(exp, Equal(3), Equal(0), Switch::kApproximationsUp)[0], 8 + 2 * 0x1p-20f);
  EXPECT_EQ(RunSwitched(exp, Equal(3), Equal(0), Switch::kApproximationsDown)[0], 8 - 2 * 0x1p-20f);
  const std::string exact = "rcp.rn.f32 %r4, %r2;";
  EXPECT_EQ(RunSwitched(exact, Equal(3), Equal(0), Switch::kApproximationsUp)[0], 1 / 3.0f);
}

TEST(PtxSwitches, TheLinesThatOneChanges) {
  const auto module = Module::Parse(
      KernelText("fma.rn.f32 %r4, %r2, %r2, %r5;\nfma.rn.f32 %r6, %r4, %r2, %r5;"), "k.ptx");
  ASSERT_TRUE(module.has_value());
  const std::vector<uint32_t> lines = SwitchedLines(*module, "k", Switch::kFma);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], lines[0] + 1);
  EXPECT_TRUE(SwitchedLines(*module, "k", Switch::kTf32).empty());
}

}  // namespace
}  // namespace hloscope::ptx
