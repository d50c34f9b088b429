// Launches: who stored what.
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

// Block b stores element 31 - tid of its 32 elements; block 1 stores element 5 of block 0 as well.
const std::string kMirrored = KernelText(
    "mov.u32 %r2, %ctaid.x;\nshl.b32 %r3, %r2, 5;\nsub.s32 %r4, 31, %r1;\nadd.s32 %r5, %r3, %r4;\n"
    "mul.wide.u32 %rd5, %r5, 4;\nadd.s64 %rd6, %rd3, %rd5;\nst.global.b32 [%rd6], %r1;\n"
    "setp.ne.s32 %p1, %r2, 1;\nsetp.ne.s32 %p2, %r1, 7;\nor.pred %p1, %p1, %p2;\n"
    "@%p1 bra end;\nst.global.b32 [%rd3+20], %r1;\nend:");

TEST(PtxLaunch, TheLastWriterOfAByteIsFound) {
  const auto module = Module::Parse(kMirrored, "k.ptx");
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  std::vector<std::byte> memory(3 * 32 * 4);
  LaunchRequest request{"k", {2, 1, 1}, {32, 1, 1}, 0, {}, 0};
  request.arguments = {{memory, {}}, {std::span(memory).subspan(4), {}}, {memory, {}}};

  const auto once = FindWriter(*module, request, 2, 4 * 40 + 3);
  ASSERT_TRUE(once.has_value() && once->has_value());
  EXPECT_EQ((*once)->block, (std::array<uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ((*once)->thread, (std::array<uint32_t, 3>{23, 0, 0}));
  EXPECT_EQ((*once)->form, "st.global.b32");
  EXPECT_EQ((*once)->place.ToString(), "k.ptx:23:1");
  EXPECT_EQ((*once)->stores, 1u);

  // The same memory by another argument, and a byte that two threads store.
  const auto twice = FindWriter(*module, request, 1, 4 * 5 - 4);
  ASSERT_TRUE(twice.has_value() && twice->has_value());
  EXPECT_EQ((*twice)->block, (std::array<uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ((*twice)->thread, (std::array<uint32_t, 3>{7, 0, 0}));
  EXPECT_EQ((*twice)->place.line, 28u);
  EXPECT_EQ((*twice)->stores, 2u);

  const auto nobody = FindWriter(*module, request, 0, 4 * 64);
  ASSERT_TRUE(nobody.has_value());
  EXPECT_FALSE(nobody->has_value());
  EXPECT_FALSE(FindWriter(*module, request, 0, memory.size()).has_value());
}

}  // namespace
}  // namespace hloscope::ptx
