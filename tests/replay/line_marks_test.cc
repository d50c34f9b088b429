// `.loc` in our PTX: where it stands, and that the assembler makes the same code with it.
#include "core/backends/cuda/line_marks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/backends/sass/machine_code.h"

namespace hloscope::replay {
namespace {

constexpr std::string_view kPtx = R"(//
.version 7.8
.target sm_80
.address_size 64

	// .globl	k
.visible .entry k(
	.param .u64 .ptr .align 16 k_param_0
)
.reqntid 32, 1, 1
{
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<3>;

	ld.param.u64 	%rd1, [k_param_0];
	cvta.to.global.u64 	%rd2, %rd1;  // a comment; with more
	mov.u32 	%r1, %tid.x;
$L__BB0_1:
	{ // a block
	.reg .b32 %x;
	add.s32 	%r2,
		%r1,
		%r1;
	}
	{ .reg .b32 tmp; mov.b64 	{%r3, tmp}, %rd2; }
	st.global.b32 	[%rd2], %r2;
	ret;

}
)";

TEST(LineMarks, EachInstructionHasThatOfItsOwnLine) {
  const std::string marked = cuda::WithLineMarks(kPtx);
  std::vector<std::string_view> lines, own;
  const auto split = [](std::string_view text, std::vector<std::string_view>& out) {
    for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
      out.push_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
  };
  split(marked, lines);
  split(kPtx, own);
  std::vector<std::string_view> left, said;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == ".file\t1 \"kernels.ptx\"") continue;
    if (!lines[i].starts_with("\t.loc\t1 ")) {
      left.push_back(lines[i]);
      continue;
    }
    // The next is that line of the text.
    const size_t number = std::stoul(std::string(lines[i].substr(8)));
    ASSERT_LT(i + 1, lines.size());
    EXPECT_EQ(lines[i + 1], own[number - 1]);
    said.push_back(own[number - 1]);
  }
  EXPECT_EQ(left, own);
  ASSERT_EQ(said.size(), 7u);
  EXPECT_TRUE(said[3].starts_with("\tadd.s32"));
  EXPECT_TRUE(said[4].starts_with("\t{ .reg"));
  EXPECT_TRUE(said[6].starts_with("\tret"));
}

TEST(LineMarks, TheAssemblerMakesTheSameCode) {
  const CudaTools tools = FindCudaTools();
  if (tools.ptxas.empty() || tools.nvdisasm.empty()) GTEST_SKIP() << "no ptxas and nvdisasm here";
  const std::string marked = cuda::WithLineMarks(kPtx);
  const auto plain = MakeMachineCode({.kernel = "k", .ptx = kPtx, .object = {}}, tools);
  const auto lined = MakeMachineCode({.kernel = "k", .ptx = marked, .object = {}}, tools);
  ASSERT_TRUE(plain.has_value()) << plain.error().ToString();
  ASSERT_TRUE(lined.has_value()) << lined.error().ToString();
  ASSERT_EQ(plain->lines.size(), lined->lines.size());
  for (size_t i = 0; i < plain->lines.size(); ++i) {
    EXPECT_EQ(plain->lines[i].offset, lined->lines[i].offset);
    EXPECT_EQ(plain->lines[i].text, lined->lines[i].text);
  }
}

}  // namespace
}  // namespace hloscope::replay
