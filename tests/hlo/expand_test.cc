// The table of custom calls, the reader of their configurations, and what Expand makes of them.
#include "core/hlo/expand/expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/scalar_literal.h"
#include "core/hlo/verify/verifier.h"
#include "tests/hlo/parsed.h"

namespace hloscope::hlo::expand {
namespace {

struct Row {
  std::string target;
  bool runs;
};
const Row kRows[] = {
#define CUSTOM_CALL(target, kernel, source) {target, true},
#define CUSTOM_CALL_EXPANDED CUSTOM_CALL
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix) {target, false},
#include "core/hlo/expand/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED
};

TEST(CustomCalls, NoRowHidesAnother) {
  for (const Row& row : kRows) {
    std::string example;
    for (char c : row.target) {
      if (c != '*') example.push_back(c == '?' ? 's' : c);
    }
    const CustomCallRow* found = FindCustomCall(example);
    ASSERT_NE(found, nullptr) << row.target;
    EXPECT_EQ(found->target, row.target) << example;
    EXPECT_EQ(found->runs(), row.runs) << row.target;
    EXPECT_FALSE(row.runs ? found->source.empty() : found->why.empty() || found->fix.empty());
  }
}

TEST(CustomCalls, PatternsFitWholeNames) {
  const struct {
    std::string target;
    bool runs, known;
  } cases[] = {
      {"lapack_zgesdd_ffi", true, true},
      {"lapack_zgesdd_ffi2", false, false},
      {"hipsolver_getrf_ffi", true, true},
      {"cusolver_gesvdj_batched", true, true},
      {"xla_ffi_partitioned_python_gpu_callback", false, true},
      {"__gpu$xla.gpu.triton", false, true},
      {"my_lapack_sgetrf", false, false},
      {"", false, false},
  };
  for (const auto& c : cases) {
    const CustomCallRow* row = FindCustomCall(c.target);
    EXPECT_EQ(row != nullptr, c.known) << c.target;
    EXPECT_EQ(row != nullptr && row->runs(), c.runs) << c.target;
  }
}

TEST(CallConfig, ReadsEverySpelling) {
  const struct {
    std::string text;
    int64_t n;
    std::string word;
    std::vector<int64_t> list;
    bool flag;
  } cases[] = {
      {R"({"n":3,"word":"AB","list":["1","2"],"flag":true})", 3, "AB", {1, 2}, true},
      {R"({n:3,word:AB,list:[1,2],flag:true})", 3, "AB", {1, 2}, true},
      {R"({n = 3 : i64, word = "AB", list = array<i64: 1, 2>, flag = true})",
       3,
       "AB",
       {1, 2},
       true},
      {R"({flag, list = [1 : i64, 2 : i64], n = 3 : ui8, word = "AB"})", 3, "AB", {1, 2}, true},
      {R"({list = dense<[1, 2]> : tensor<2xi64>, n = 3, word = "AB", flag = true})",
       3,
       "AB",
       {1, 2},
       true},
      {R"({"custom_call_config":{"attributes":"{n = 3 : i64, word = \"AB\", list = [1, 2], flag = true}"}})",
       3,
       "AB",
       {1, 2},
       true},
      {"opaque bytes", -1, "", {}, false},
      {"", -1, "", {}, false},
  };
  for (const auto& c : cases) {
    const auto config = CallConfig::Parse(c.text);
    ASSERT_TRUE(config.has_value()) << c.text;
    EXPECT_EQ(config->Integer("n", -1), c.n) << c.text;
    EXPECT_EQ(config->Text("word"), c.word) << c.text;
    EXPECT_EQ(config->Integers("list"), c.list) << c.text;
    EXPECT_EQ(config->Flag("flag"), c.flag) << c.text;
  }
}

TEST(CallConfig, RejectsWhatIsCutOffOrTooDeep) {
  const std::string texts[] = {
      "{",
      "{\"a\":",
      "{\"a\":1",
      "{\"a\":\"x",
      "{\"a\":[1}",
      "{a = array<i64: 1}",
      "{\"a\" 1}",
      "{} x",
      "{\"a\":\"\\",
      std::string(1000, '{'),
      "{a=" + std::string(100000, '['),
  };
  for (const std::string& text : texts) {
    EXPECT_FALSE(CallConfig::Parse(text).has_value()) << text.substr(0, 40);
  }
}

constexpr std::string_view kGemm =
    R"(backend_config={"alpha_real":1,"beta":0,"dot_dimension_numbers":{"lhs_batch_dimensions":[],"lhs_contracting_dimensions":["1"],"rhs_batch_dimensions":[],"rhs_contracting_dimensions":["0"]}})";

// Opcodes of the entry in order; "" where there is no expansion.
std::string Opcodes(const Module& module) {
  const Result<ModulePtr> expansion = Expand(module, Named(module, "c"));
  if (!expansion.has_value()) return expansion.error().message;
  if (*expansion == nullptr) return "";
  std::string opcodes;
  const Module& made = **expansion;
  for (uint32_t i = 0; i < made.entry().instruction_count; ++i) {
    const Opcode opcode = made[InstructionId(made.entry().first_instruction + i)].opcode;
    opcodes += (i == 0 ? "" : " ") + std::string(ToString(opcode));
  }
  return opcodes;
}

// 8 TiB an operand: no element of them is needed.
TEST(Expand, GoesByShapesAlone) {
  const auto module = Parsed(
      "HloModule m\nENTRY e {\n"
      "  x = f64[1048576,1048576] parameter(0)\n"
      "  ROOT c = f64[1048576,1048576] custom-call(x, x), "
      "custom_call_target=\"__cublas$gemm\", " +
      std::string(kGemm) + "\n}");
  EXPECT_EQ(Opcodes(*module), "parameter parameter dot");
}

TEST(Expand, ATopKOfTwoResultsIsThatInstruction) {
  const auto module = Parsed(R"(HloModule m
ENTRY e {
  x = f32[4,9] parameter(0)
  ROOT c = (f32[4,3], s32[4,3]) custom-call(x), custom_call_target="TopK"
})");
  EXPECT_EQ(Opcodes(*module), "parameter topk");
}

TEST(Expand, OptionsAmongTheOperandsAreConstants) {
  for (const auto& [left, opcodes] :
       {std::pair("constant(1)", true), std::pair("parameter(3)", false)}) {
    const auto module = Parsed(std::string(R"(HloModule m
ENTRY e {
  a = f64[4,4] parameter(0)
  b = f64[4,2] parameter(1)
  alpha = f64[] parameter(2)
  zero = s32[] constant(0)
  one = s32[] constant(1)
  left = s32[] )") + left + R"(
  ROOT c = f64[4,2] custom-call(left, one, zero, zero, one, one, one, alpha, a, b), custom_call_target="blas_dtrsm"
})");
    EXPECT_EQ(Opcodes(*module).find("triangular-solve") != std::string::npos, opcodes) << left;
    EXPECT_EQ(Opcodes(*module).empty(), !opcodes) << left;
  }
}

TEST(Expand, SaysWhatIsWrong) {
  const auto module = Parsed(R"(HloModule m
ENTRY e {
  x = f32[] parameter(0)
  ROOT c = (f32[4], s32[4]) custom-call(x), custom_call_target="TopK"
})");
  EXPECT_EQ(Opcodes(*module),
            "c: custom-call (f32[4], s32[4]) cannot be evaluated: its operand has no dimension");
}

// Whatever the golden cases expand to passes the verifier.
TEST(Expand, MakesValidModules) {
  std::ifstream file(HLOSCOPE_GOLDEN_CUSTOM_CALLS);
  std::string line, text;
  int expanded = 0;
  const auto check = [&] {
    const ParseResult parsed =
        ParseText(text.substr(std::min(text.find("HloModule"), text.size())));
    text.clear();
    if (parsed.module == nullptr) return;
    for (uint32_t i = 0; i < parsed.module->instructions().size(); ++i) {
      const Result<ModulePtr> expansion = Expand(*parsed.module, InstructionId(i));
      if (!expansion.has_value() || *expansion == nullptr) continue;
      ++expanded;
      for (const Diagnostic& d : Verify(**expansion)) {
        EXPECT_EQ(d.severity, Severity::kWarning)
            << parsed.module->GetString((*parsed.module)[InstructionId(i)],
                                        AttributeKey::kCustomCallTarget)
            << ": " << d.message;
      }
    }
  };
  while (std::getline(file, line)) {
    if (line == "// -----") {
      check();
    } else {
      text += line + '\n';
    }
  }
  check();
  EXPECT_GT(expanded, 30);
}

TEST(ScalarLiteral, RoundsOnceAndStaysInRange) {
  const auto bits = [](ElementType type, double value) {
    const Literal literal = ScalarLiteral(type, value);
    uint64_t low = 0;
    std::memcpy(&low, literal.bytes().data(), std::min<size_t>(8, literal.bytes().size()));
    return low;
  };
  EXPECT_EQ(bits(ElementType::kS8, 1000), 127u);
  EXPECT_EQ(bits(ElementType::kS8, -1000), 128u);
  EXPECT_EQ(bits(ElementType::kS8, -2.9), 254u);
  EXPECT_EQ(bits(ElementType::kS4, -100), 0xf8u);
  EXPECT_EQ(bits(ElementType::kS1, -1), 0xffu);
  EXPECT_EQ(bits(ElementType::kU4, 100), 15u);
  EXPECT_EQ(bits(ElementType::kU64, 1e30), ~uint64_t{0});
  EXPECT_EQ(bits(ElementType::kS64, -1e30), uint64_t{1} << 63);
  EXPECT_EQ(bits(ElementType::kU32, -1), 0u);
  EXPECT_EQ(bits(ElementType::kS32, std::numeric_limits<double>::quiet_NaN()), 0u);
  EXPECT_EQ(bits(ElementType::kPred, 0.5), 1u);
  EXPECT_EQ(bits(ElementType::kBF16, 1.5), 0x3fc0u);
  EXPECT_EQ(bits(ElementType::kF32, 1.5), 0x3fc00000u);
  EXPECT_EQ(bits(ElementType::kF64, -0.0), uint64_t{1} << 63);
  EXPECT_EQ(bits(ElementType::kC64, 1.5), 0x3fc00000u);
  // Between two f16, and nearer to the upper one only beyond the bits of an f32.
  EXPECT_EQ(bits(ElementType::kF16, 1 + 0x1p-11 + 0x1p-40), 0x3c01u);
}

}  // namespace
}  // namespace hloscope::hlo::expand
