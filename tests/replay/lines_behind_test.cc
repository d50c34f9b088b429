// The lines that an access comes from that a check found.
#include "core/backends/gpusim/lines_behind.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ptx/kernel.h"

namespace hloscope::replay {
namespace {

// Which of `texts` stand in lines that the words name.
std::vector<bool> Names(const std::string& words, const std::string& ptx,
                        const std::vector<std::string>& texts) {
  std::vector<bool> named;
  for (const std::string& text : texts) {
    const auto line =
        1 + std::count(ptx.begin(), ptx.begin() + static_cast<ptrdiff_t>(ptx.find(text)), '\n');
    const std::string number = " " + std::to_string(line);
    named.push_back(words.find(number + ",") != std::string::npos || words.ends_with(number));
  }
  return named;
}

struct Launched {
  std::string ptx;
  std::vector<std::byte> memory[3];
  ptx::LaunchRequest request;
  std::optional<ptx::Module> module;
  ptx::LaunchResult result;
};

void LaunchInto(const std::string& body, Launched& launched) {
  launched.ptx = ptx::KernelText(body);
  auto module = ptx::Module::Parse(launched.ptx, "k.ptx");
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  launched.module = *std::move(module);
  launched.request = {"k", {1, 1, 1}, {64, 1, 1}, 1024, {}, 0};
  for (auto& bytes : launched.memory) {
    bytes.resize(1024);
    launched.request.arguments.push_back({bytes, {}});
  }
  ptx::LaunchOptions options;
  options.checks.race = true;
  auto result = ptx::Launch(*launched.module, launched.request, options);
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  launched.result = *std::move(result);
}

TEST(LinesBehind, AnAccessBeyondMemoryHasItsAddressAndItsLoop) {
  Launched launched;
  LaunchInto(
      "mov.b32 %r5, 0;\nmov.b32 %r9, 3;\nL:\nadd.s64 %rd4, %rd4, 256;\nadd.s64 %rd7, %rd3, %rd4;\n"
      "add.s32 %r5, %r5, 1;\nst.global.b32 [%rd7], %r5;\nsetp.lt.u32 %p1, %r5, 40;\n@%p1 bra L;",
      launched);
  ASSERT_TRUE(launched.result.fault.has_value());
  launched.memory[2][8] = std::byte{77};
  const auto before = launched.memory[2];
  const std::string words =
      LinesBehind(*launched.result.fault, *launched.module, launched.request, {});
  const std::vector<bool> named{true, true, true, false};
  EXPECT_EQ(Names(words, launched.ptx, {"add.s64 %rd7", "@%p1 bra L", "setp.lt", "mov.b32 %r9"}),
            named)
      << words;
  EXPECT_EQ(launched.memory[2], before);
}

TEST(LinesBehind, ARaceHasThoseOfBothAccesses) {
  Launched launched;
  LaunchInto(
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\nst.shared.b32 [%r5], %r1;\n"
      "sub.s32 %r6, 252, %r3;\nadd.s32 %r7, %r2, %r6;\nld.shared.b32 %r4, [%r7];",
      launched);
  ASSERT_FALSE(launched.result.findings.empty());
  const std::string words =
      LinesBehind(launched.result.findings[0], *launched.module, launched.request, {});
  const std::vector<bool> named{true, true, true};
  EXPECT_EQ(Names(words, launched.ptx, {"add.s32 %r5", "add.s32 %r7", "sub.s32 %r6"}), named)
      << words;
}

TEST(LinesBehind, NoLinesWhereTheBlockDoesNotRepeatTheAccess) {
  Launched launched;
  // It reads what it has written: the second time its address is another.
  LaunchInto(
      "ld.global.b32 %r5, [%rd3];\nst.global.b32 [%rd3], 1;\nsetp.eq.u32 %p1, %r5, 0;\n"
      "add.s64 %rd7, %rd3, 1024;\n@%p1 st.global.b32 [%rd7], %r5;",
      launched);
  ASSERT_TRUE(launched.result.fault.has_value());
  EXPECT_EQ(LinesBehind(*launched.result.fault, *launched.module, launched.request, {}), "");
}

}  // namespace
}  // namespace hloscope::replay
