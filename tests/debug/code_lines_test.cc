// Lines of code inside a kernel: by debug information, by names, and what is said without either.
#include "core/analysis/align/code_lines.h"

#include <gtest/gtest.h>

namespace hloscope::debug {
namespace {

std::string TextOf(const std::vector<analysis::CodeLine>& lines) {
  std::string text;
  for (const analysis::CodeLine& line : lines)
    text += std::to_string(line.line) + " " + std::string(KeyOf(line.reason)) + " ";
  return text;
}

constexpr std::string_view kLlvm = R"(; ModuleID = 'm'
define ptr @add_fusion(ptr %0) {
  call void @add_fusion_wrapped(ptr %0)
  ret ptr null
}
define internal void @add_fusion_wrapped(ptr %0) {
  %add.3 = fadd float 1.0, 2.0, !dbg !4
  %add.35 = fadd float 1.0, 2.0
  %add.3.typed = bitcast float %add.3 to i32
  br label %reduce.5.loop_body
reduce.5.loop_body:                               ; preds = %0
  %"add.3" = fadd float %add.3, 1.0
  %7 = fadd float %add.3, 1.0, !dbg !5
exit:
  ret void
}
define internal void @other(ptr %0) {
  %add.3 = fadd float 1.0, 2.0
  ret void
}
!2 = !DIFile(filename: "model/train.py", directory: "/src")
!3 = distinct !DISubprogram(name: "f", file: !2)
!4 = !DILocation(line: 12, scope: !3)
!5 = !DILocation(line: 13, scope: !3)
)";

TEST(CodeLinesTest, NamesTieLinesOfLlvm) {
  const dump::TextRange range{0, 2, 5};
  analysis::CodeSigns signs;
  analysis::WantedCode add{"add.3", {"reduce.5"}, {}, 1};
  EXPECT_EQ(TextOf(analysis::FindLlvmLines(kLlvm, range, add, signs)),
            "7 value_name 9 derived_name 12 value_name ");
  EXPECT_TRUE(signs.value_names);
  analysis::WantedCode reduce{"reduce.5", {"add.3"}, {}, 1};
  EXPECT_EQ(TextOf(analysis::FindLlvmLines(kLlvm, range, reduce, signs)),
            "11 block_name 12 block_name 13 block_name ");
}

TEST(CodeLinesTest, DebugInformationTiesLinesOfLlvm) {
  const dump::TextRange range{0, 2, 5};
  analysis::CodeSigns signs;
  analysis::WantedCode wanted{"x", {"y"}, {{"/home/me/model/train.py", "f", 13}}, 2};
  auto lines = analysis::FindLlvmLines(kLlvm, range, wanted, signs);
  ASSERT_EQ(TextOf(lines), "13 debug_info ");
  EXPECT_FLOAT_EQ(lines[0].confidence, 0.45f) << "two instructions share the source line";
  EXPECT_TRUE(signs.debug_info);
  EXPECT_FALSE(signs.value_names);
  wanted.frames = {{"/home/me/mymodel/train.py", "f", 13}};
  EXPECT_TRUE(analysis::FindLlvmLines(kLlvm, range, wanted, signs).empty()) << "another file";
}

TEST(CodeLinesTest, PtxHasDebugLinesAndNamesOfBlocks) {
  constexpr std::string_view kPtx = R"(.version 8.4
.visible .entry add_fusion(
)
{
	.loc	1 13 3
	add.f32 %f1, %f2, %f3;
$L__BB0_1:                              // %reduce.5.loop_body
                                        // =>This Inner Loop Header
	add.f32 %f1, %f1, %f3;
$L__BB0_2:                              // %exit
	ret;
}
.file 1 "/src/model/train.py"
)";
  const dump::TextRange range{0, 2, 12};
  analysis::CodeSigns signs;
  analysis::WantedCode wanted{"reduce.5", {}, {{"model/train.py", "", 13}}, 1};
  auto lines = analysis::FindPtxLines(kPtx, range, wanted, signs);
  EXPECT_EQ(TextOf(lines), "5 debug_info 7 block_name 8 block_name 9 block_name ");
}

TEST(CodeLinesTest, AnonymousCodeSaysNothing) {
  constexpr std::string_view kText =
      "define void @f(ptr %0) {\n  %1 = load float, ptr %0\n  ret void\n}\n";
  analysis::CodeSigns signs;
  EXPECT_TRUE(
      analysis::FindLlvmLines(kText, {0, 1, 4}, {"add.3", {"add.4"}, {}, 1}, signs).empty());
  EXPECT_FALSE(signs.debug_info);
  EXPECT_FALSE(signs.value_names);
}

}  // namespace
}  // namespace hloscope::debug
