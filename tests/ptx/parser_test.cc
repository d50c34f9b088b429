// PTX text: what is read, and what is said about text that is malformed.
#include "core/ptx/text/parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hloscope::ptx {
namespace {

constexpr std::string_view kHead = ".version 8.7\n.target sm_90a\n.address_size 64\n";

std::string InEntry(std::string_view body) {
  return std::string(kHead) + ".visible .entry f(.param .u64 .ptr .align 16 f_param_0)\n{\n" +
         std::string(body) + "\n}\n";
}

std::string ErrorOf(std::string text) {
  const auto syntax = ParseText(std::move(text), "k.ptx");
  return syntax.has_value() ? "no error" : syntax.error().ToString();
}

TEST(PtxParser, ReadsAModule) {
  const auto syntax = ParseText(
      std::string(kHead) +
          ".extern .shared .align 16 .b8 global_smem[];\n"
          ".global .align 4 .b32 table[3] = {1, 0x3340U, 0b11};\n"
          ".visible .entry k(\n.param .u64 .ptr .align 256 k_0,\n.param .align 64 .b8 map[128]\n)\n"
          ".reqntid 64, 2\n{\n.reg .pred %p<2>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<3>;\n"
          "ld.param::entry.b64 %rd1, [k_0+-8];\n@!%p1 bra $L__BB0_1;\n"
          "// begin inline asm\n@%p1 ld.global.v4.b32 { %r1, %r2,\n _, %r4 }, [ %rd1 + 16 ];\n"
          ".loc 1 2 3\n$L__BB0_1:\nshfl.sync.up.b32 %r1|%p1, %r2, 0f3F800000, 31, -1;\nret;\n}\n",
      "k.ptx");
  ASSERT_TRUE(syntax.has_value()) << syntax.error().ToString();
  EXPECT_EQ(syntax->version, 87u);
  EXPECT_EQ(syntax->target, "sm_90a");
  ASSERT_EQ(syntax->variables.size(), 2u);
  EXPECT_TRUE(syntax->variables[0].is_extern);
  EXPECT_EQ(syntax->variables[1].initial,
            (std::vector<uint8_t>{1, 0, 0, 0, 0x40, 0x33, 0, 0, 3, 0, 0, 0}));
  const Entry& entry = syntax->entries.at(0);
  EXPECT_EQ(entry.parameters[0].pointer_align, 256u);
  EXPECT_EQ(entry.parameters[1].bytes, 128u);
  EXPECT_EQ(entry.required_threads[1], 2u);
  ASSERT_EQ(entry.statements.size(), 5u);
  EXPECT_EQ(entry.statements[0].Form(), "ld.param::entry.b64");
  EXPECT_EQ(entry.statements[0].operands[1].offset, -8);
  EXPECT_EQ(entry.labels[entry.statements[1].operands[0].index].statement, 3u);
  EXPECT_EQ(entry.statements[2].operands[0].parts[2].kind, OperandKind::kSink);
  EXPECT_EQ(entry.statements[3].operands[0].kind, OperandKind::kPair);
  EXPECT_EQ(entry.statements[3].operands[4].bits, ~uint64_t{0});
}

TEST(PtxParser, ScopesHaveTheirOwnRegistersAndLabels) {
  const auto syntax = ParseText(InEntry(".reg .b32 r;\n{ .reg .b32 r; w: bra w; mov.b32 r, 1; }\n"
                                        "{ w: bra w; bra out; }\nmov.b32 r, 2;\nout: ret;"),
                                "k.ptx");
  ASSERT_TRUE(syntax.has_value()) << syntax.error().ToString();
  const Entry& entry = syntax->entries[0];
  const auto target = [&](size_t i) {
    return entry.labels[entry.statements[i].operands[0].index].statement;
  };
  EXPECT_EQ(target(0), 0u);
  EXPECT_EQ(target(2), 2u);
  EXPECT_EQ(target(3), 5u);
  EXPECT_NE(entry.statements[1].operands[0].index, entry.statements[4].operands[0].index);
}

TEST(PtxParser, NamesWhatIsWrong) {
  EXPECT_EQ(
      ErrorOf(InEntry("mov.b32 r1, 2;")),
      "k.ptx:6:9: `r1` is not declared (declare a register, a variable or a label of this name)");
  EXPECT_EQ(ErrorOf(InEntry("mov.b32 2 3;")),
            "k.ptx:6:11: found `3`, expected ',' or `;` after an operand (write the missing token, "
            "or remove the one before it)");
  EXPECT_EQ(
      ErrorOf(InEntry("mov.f32 0f3F8, 3;")),
      "k.ptx:6:9: an f32 constant needs 8 hexadecimal digits after 0f (expected a register, a "
      "number, a name, [address] or {vector})");
  EXPECT_EQ(ErrorOf(InEntry("@%q bra x;")),
            "k.ptx:6:2: `%q` is not a predicate register (declare it with .reg .pred)");
  EXPECT_EQ(ErrorOf(std::string(kHead) + ".func f() {} .func f() {}"),
            "k.ptx:4:20: function `f` has two bodies (rename one of them)");
}

// As ptxas does.
TEST(PtxParser, ParametersTakeNoMoreThanTheVersionAllows) {
  const auto module = [](const char* version, int bytes) {
    return fmt::format(
        ".version {}\n.target sm_90\n.address_size 64\n.entry k(.param .b8 a, .param .align 8 .b8 "
        "b[{}]) {{ ret; }}\n",
        version, bytes - 8);
  };
  EXPECT_EQ(ErrorOf(module("7.8", 4352)), "no error");
  EXPECT_EQ(
      ErrorOf(module("7.8", 4353)),
      "k.ptx:4:8: entry `k` has 4353 bytes of parameters, 4352 are the most (`.version 8.1` or "
      "newer allows 32764)");
  EXPECT_EQ(ErrorOf(module("8.1", 32764)), "no error");
  EXPECT_EQ(ErrorOf(module("8.1", 32765)),
            "k.ptx:4:8: entry `k` has 32765 bytes of parameters, 32764 are the most");
}

TEST(PtxParser, HostileSizesAreRefused) {
  EXPECT_NE(ErrorOf(InEntry(".reg .b32 %r<4294967296>;")), "no error");
  EXPECT_NE(ErrorOf(InEntry(std::string(1000, '{'))), "no error");
  EXPECT_NE(ErrorOf(std::string(kHead) + ".global .b64 x[18446744073709551615];"), "no error");
  EXPECT_NE(ErrorOf(std::string(kHead) + ".global .b8 x[99999999999];"), "no error");
  EXPECT_NE(ErrorOf(InEntry("mov.b32 " + std::string(100'000, '['))), "no error");
}

}  // namespace
}  // namespace hloscope::ptx
