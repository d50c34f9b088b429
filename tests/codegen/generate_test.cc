// What is asked of code generation beside the code: other processors, equal kernels once, texts.
#include "core/codegen/generate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/linking/kernel_objects.h"
#include "tests/codegen/kernel_cases.h"
#include "tests/hlo/parsed.h"

namespace hloscope::codegen {
namespace {

using compile::CodegenOptions;

std::vector<hlo::InstructionId> AllOf(const hlo::Module& module, hlo::Opcode opcode) {
  std::vector<hlo::InstructionId> found;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    if (module[hlo::InstructionId(i)].opcode == opcode) found.emplace_back(i);
  }
  return found;
}

TEST(Generate, WritesForOtherProcessors) {
  for (const std::string& target : RunnableTargets()) {
    SetTarget(target);
    for (uint64_t seed = 1; seed < 40 && !HasFailure(); ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", target, seed));
      ExpectAsEvaluated(RandomFusion(seed), seed);
    }
    for (const std::string opcode : {"exponential", "tanh", "sine", "sqrt", "floor", "cbrt"}) {
      ExpectAsEvaluated(
          fmt::format(
              "HloModule m\nENTRY e {{\n x = f16[99] parameter(0)\n ROOT r = f16[99] {}(x)\n}}\n",
              opcode),
          1, {1, 0});
    }
  }
  SetTarget({});
}

TEST(Generate, RefusesUnknownProcessors) {
  const auto module = hlo::Parsed(
      "HloModule m\nENTRY e {\n x = f32[9] parameter(0)\n ROOT r = f32[9] negate(x)\n}\n");
  CodegenOptions options;
  options.target = "abacus";
  const hlo::InstructionId kernels[] = {module->entry().root};
  const auto library = GenerateKernels(module, kernels, options);
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(library.error().message.find("abacus"), std::string::npos);
}

// Names, operands' names and metadata do not tell kernels apart; constants, types and which operand
// is which do.
TEST(Generate, WritesEqualKernelsOnce) {
  const auto module = hlo::Parsed(R"(HloModule m
f { p = f32[9] parameter(0) q = f32[9] parameter(1) ROOT s = f32[9] subtract(p, q) }
g { a = f32[9] parameter(0) b = f32[9] parameter(1) ROOT c = f32[9] subtract(a, b), metadata={op_name="x"} }
h { a = f32[9] parameter(0) b = f32[9] parameter(1) ROOT c = f32[9] subtract(b, a) }
i { a = f32[9] parameter(0) b = f32[9] parameter(1) t = f32[] constant(1) u = f32[9] broadcast(t), dimensions={} ROOT c = f32[9] subtract(b, u) }
j { a = f32[9] parameter(0) b = f32[9] parameter(1) t = f32[] constant(2) u = f32[9] broadcast(t), dimensions={} ROOT c = f32[9] subtract(b, u) }
k { a = s32[9] parameter(0) b = s32[9] parameter(1) ROOT c = s32[9] subtract(a, b) }
ENTRY e {
  x = f32[9] parameter(0)
  y = f32[9] parameter(1)
  z = s32[9] parameter(2)
  r0 = f32[9] fusion(x, y), kind=kLoop, calls=f
  r1 = f32[9] fusion(y, x), kind=kLoop, calls=g
  r2 = f32[9] fusion(x, y), kind=kLoop, calls=h
  r3 = f32[9] fusion(x, y), kind=kLoop, calls=i
  r4 = f32[9] fusion(x, y), kind=kLoop, calls=j
  r5 = s32[9] fusion(z, z), kind=kLoop, calls=k
  ROOT t = (f32[9], f32[9], f32[9], f32[9], f32[9], s32[9]) tuple(r0, r1, r2, r3, r4, r5)
}
)");
  const auto kernels = AllOf(*module, hlo::Opcode::kFusion);
  ASSERT_EQ(kernels.size(), 6u);
  std::string llvm_ir, assembly;
  CodegenOptions options;
  options.llvm_ir = &llvm_ir;
  options.assembly = &assembly;
  const auto library = GenerateKernels(module, kernels, options);
  ASSERT_TRUE(library.has_value()) << library.error().ToString();
  EXPECT_EQ((*library)->function_count(), 5);
  EXPECT_EQ((*library)->Find(kernels[0]), (*library)->Find(kernels[1]));
  EXPECT_NE((*library)->Find(kernels[0]), (*library)->Find(kernels[2]));
  EXPECT_EQ((*library)->Find(module->entry().root), nullptr);
  const std::string name = (*library)->Find(kernels[0])->name;
  EXPECT_NE(llvm_ir.find("define void @" + name), std::string::npos);
  EXPECT_NE(assembly.find(name + ":"), std::string::npos);
  EXPECT_NE(assembly.find("subps"), std::string::npos);
}

// Only loops that know where they read next do, over arrays that are larger than caches.
TEST(Generate, ReadsAheadInLargeArrays) {
  const auto reads_ahead = [](const std::string& shape, const std::string& out, int dimension) {
    const auto module = hlo::Parsed(
        fmt::format("HloModule m\nc {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                    " ROOT r = f32[] add(a, b)\n}}\nENTRY e {{\n x = f32[{}] parameter(0)\n"
                    " i = f32[] parameter(1)\n ROOT r = f32[{}] reduce(x, i), dimensions={{{}}}, "
                    "to_apply=c\n}}\n",
                    shape, out, dimension));
    std::string llvm_ir;
    CodegenOptions options;
    options.llvm_ir = &llvm_ir;
    const hlo::InstructionId kernels[] = {module->entry().root};
    EXPECT_TRUE(GenerateKernels(module, kernels, options).has_value());
    return llvm_ir.find("call void @llvm.prefetch") != std::string::npos;
  };
  EXPECT_TRUE(reads_ahead("4194304", "", 0));
  EXPECT_FALSE(reads_ahead("65536", "", 0));
  // Rows as they lie: the processor reads ahead by itself.
  EXPECT_FALSE(reads_ahead("4096,1024", "1024", 0));
  EXPECT_FALSE(reads_ahead("1024,256,4", "1024,4", 1));
}

// A row that is taken out of a large array, and is the same along the rows of the results, does not
// turn the others.
TEST(Generate, RowsOfLargeArraysTurnNothing) {
  const auto module = hlo::Parsed(R"(HloModule m
f {
  p = f32[64,16] parameter(0)
  q = f32[500,64] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  row = f32[1,64] dynamic-slice(q, i, z), dynamic_slice_sizes={1,64}
  flat = f32[64] reshape(row)
  b = f32[64,16] broadcast(flat), dimensions={0}
  ROOT m = f32[64,16] multiply(p, b)
}
ENTRY e {
  x = f32[64,16] parameter(0)
  y = f32[500,64] parameter(1)
  n = s32[] parameter(2)
  ROOT r = f32[64,16] fusion(x, y, n), kind=kLoop, calls=f
}
)");
  std::string llvm_ir;
  CodegenOptions options;
  options.llvm_ir = &llvm_ir;
  const hlo::InstructionId kernels[] = {module->entry().root};
  ASSERT_TRUE(GenerateKernels(module, kernels, options).has_value());
  EXPECT_EQ(llvm_ir.find("masked.gather"), std::string::npos) << llvm_ir;
}

// Partial results, rows and parts: the same bits however grains are called.
TEST(Generate, GivesTheSameBitsForAnyRangesOfGrains) {
  const auto module = hlo::Parsed(
      "HloModule m\nc {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, "
      "b)\n}\n"
      "ENTRY e {\n x = f32[700001] parameter(0)\n i = f32[] parameter(1)\n"
      " ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=c\n}\n");
  const hlo::InstructionId kernels[] = {module->entry().root};
  const auto library = GenerateKernels(module, kernels, {});
  ASSERT_TRUE(library.has_value());
  const compile::KernelCode& code = *(*library)->Find(kernels[0]);
  ASSERT_GT(code.grains, 3);
  std::vector<float> values(700001), scratch(static_cast<size_t>(code.scratch_bytes));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / static_cast<float>(i + 1);
  const float init = 0;
  const std::byte* operands[] = {reinterpret_cast<const std::byte*>(values.data()),
                                 reinterpret_cast<const std::byte*>(&init)};
  const auto sum = [&](int64_t step) {
    float result = 0;
    std::byte* results[] = {reinterpret_cast<std::byte*>(&result)};
    auto* room = reinterpret_cast<std::byte*>(scratch.data());
    for (int64_t begin = 0; begin < code.grains; begin += step) {
      code.run(operands, results, room, begin, std::min(code.grains, begin + step));
    }
    code.finish(operands, results, room, 0, 1);
    return result;
  };
  const float whole = sum(code.grains);
  EXPECT_NEAR(whole, 14.036, 0.001);
  EXPECT_EQ(whole, sum(1));
  EXPECT_EQ(whole, sum(3));
}

// A fusion that reads its first value at 3^9 indices, and is too large to be unrolled.
TEST(Generate, CompilesInPiecesWhatIsTooLarge) {
  std::string body, last = "p";
  for (int k = 0; k < 9; ++k) {
    body += fmt::format(
        "  a_{0} = f32[1000] slice({1}), slice={{[0:1000]}}\n"
        "  b_{0} = f32[1000] slice({1}), slice={{[1000:2000]}}\n"
        "  c_{0} = f32[1000] slice({1}), slice={{[2000:3000]}}\n"
        "  x_{0} = f32[1000] subtract(b_{0}, a_{0})\n  y_{0} = f32[1000] multiply(a_{0}, c_{0})\n"
        "  z_{0} = f32[1000] add(x_{0}, y_{0})\n"
        "  d_{0} = f32[3000] concatenate(x_{0}, y_{0}, z_{0}), dimensions={{0}}\n"
        "  v_{0} = f32[3000] add(d_{0}, {1})\n",
        k, last);
    last = fmt::format("v_{}", k);
  }
  const auto module = hlo::Parsed(fmt::format(
      "HloModule m\nf {{\n  p = f32[3000] parameter(0)\n{}  ROOT r = f32[3000] negate({})\n}}\n"
      "ENTRY e {{\n  x = f32[3000] parameter(0)\n"
      "  ROOT k = f32[3000] fusion(x), kind=kLoop, calls=f\n}}\n",
      body, last));
  const hlo::InstructionId kernels[] = {module->entry().root};
  std::string image;
  const auto library = GenerateKernels(module, kernels, {.image = &image});
  ASSERT_TRUE(library.has_value()) << library.error().ToString();
  EXPECT_EQ((*library)->Find(kernels[0]), nullptr);
  for (const hlo::Opcode opcode : {hlo::Opcode::kNegate, hlo::Opcode::kConcatenate}) {
    for (const hlo::InstructionId id : AllOf(*module, opcode)) {
      EXPECT_NE((*library)->Find(id), nullptr) << module->name(id);
    }
  }
  // So does what was kept of it.
  const auto kept = linking::LoadKernels(std::as_bytes(std::span(image)));
  ASSERT_TRUE(kept.has_value()) << kept.error().ToString();
  EXPECT_NE((*kept)->Find(AllOf(*module, hlo::Opcode::kNegate)[0]), nullptr);
}

}  // namespace
}  // namespace hloscope::codegen
