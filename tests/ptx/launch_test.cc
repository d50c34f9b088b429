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

// A function with a loop, memory of its own and two ways out, called twice by one kernel.
TEST(PtxLaunch, FunctionsRunInTheirCallers) {
  const std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n"
      ".func (.param .align 8 .b8 back[8]) power(.param .b32 power_0, .param .b32 power_1);\n"
      ".extern .func (.param .b32 x) elsewhere(.param .b32 y);\n"
      ".visible .entry k(.param .u64 .ptr .align 16 k_0)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
      "ld.param.b64 %rd1, [k_0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
      "add.s64 %rd3, %rd1, %rd2;\nmov.b32 %r2, 3;\n"
      "{ .param .b32 a; .param .b32 b; .param .align 8 .b8 c[8];\n"
      "st.param::func.b32 [a], %r2; st.param.b32 [b], %r1; call.uni (c), power, (a, b);\n"
      "ld.param::func.b32 %r3, [c+4]; }\n"
      "{ .param .b32 a; .param .b32 b; .param .align 8 .b8 c[8];\n"
      "st.param.b32 [a], %r3; st.param.b32 [b], 2; call (c), power, (a, b);\n"
      "ld.param.b32 %r4, [c+4]; }\n"
      "st.global.b32 [%rd3], %r4;\nret;\n}\n"
      ".func (.param .align 8 .b8 back[8]) power(.param .b32 power_0, .param .b32 power_1)\n{\n"
      ".local .align 4 .b8 kept[4];\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n"
      "mov.b64 %rd1, kept;\nld.param.b32 %r1, [power_0];\nld.param.b32 %r2, [power_1];\n"
      "mov.b32 %r3, 1;\nst.local.b32 [%rd1], %r3;\nsetp.eq.s32 %p1, %r2, 0;\n"
      "@%p1 st.param.b32 [back+4], %r3;\n@%p1 ret;\n"
      "again:\nld.local.b32 %r3, [%rd1];\nmul.lo.s32 %r3, %r3, %r1;\nst.local.b32 [%rd1], %r3;\n"
      "add.s32 %r2, %r2, -1;\nsetp.ne.s32 %p2, %r2, 0;\n@%p2 bra again;\n"
      "st.param::func.b32 [back+4], %r3;\nret;\n}\n";
  const auto module = Module::Parse(text, "k.ptx");
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  ASSERT_TRUE(module->entries()[0].unsupported.empty());
  std::vector<int32_t> out(5);
  LaunchRequest request;
  request.entry = "k";
  request.block = {5, 1, 1};
  request.arguments.push_back({std::as_writable_bytes(std::span(out)), {}});
  const auto ran = Launch(*module, request);
  ASSERT_TRUE(ran.has_value() && !ran->fault) << (ran ? ran->fault->ToString() : "");
  EXPECT_EQ(out, (std::vector<int32_t>{1, 9, 81, 729, 6561}));
}

TEST(PtxLaunch, CallsThatCannotBePutInAreNamed) {
  const auto text = [](const std::string& function, const std::string& callee) {
    return ".version 8.7\n.target sm_90a\n.address_size 64\n" + function +
           ".visible .entry k()\n{\n{ .param .b32 a;\ncall " + callee + ", (a); }\nret;\n}\n";
  };
  const auto outside =
      Module::Parse(text(".extern .func print(.param .b32 y);\n", "print"), "k.ptx");
  ASSERT_TRUE(outside.has_value()) << outside.error().ToString();
  ASSERT_EQ(outside->entries()[0].unsupported.size(), 1u);
  EXPECT_EQ(outside->entries()[0].unsupported[0].place.line, 8u);
  const auto endless = Module::Parse(
      text(".func f(.param .b32 y)\n{\n.param .b32 a;\ncall f, (a);\nret;\n}\n", "f"), "k.ptx");
  ASSERT_FALSE(endless.has_value());
  EXPECT_NE(endless.error().message.find("calls itself"), std::string::npos);
  const auto other = Module::Parse(text(".func f()\n{\nret;\n}\n", "f"), "k.ptx");
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("another number of parameters"), std::string::npos);
}

// `count` functions, each of which calls the one before it `times` times; the first adds 1.
std::string ChainOfCalls(int count, int times) {
  std::string text = ".version 8.7\n.target sm_90a\n.address_size 64\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format(".func (.param .b32 back) f{0}(.param .b32 x)\n{{\n.reg .b32 %r<3>;\n", i);
    text += ".reg .pred %p<2>;\nld.param.b32 %r1, [x];\n";
    if (i == 0) text += "add.s32 %r1, %r1, 1;\n";
    for (int call = 0; i > 0 && call < times; ++call) {
      text += "setp.eq.s32 %p1, %r1, 5;\n";
      text += "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r1;\nst.param.b32 [b], 7;\n";
      text += fmt::format("@!%p1 call (b), f{}, (a);\nld.param.b32 %r1, [b]; }}\n", i - 1);
    }
    text += "st.param.b32 [back], %r1;\nret;\n}\n";
  }
  return text + fmt::format(
                    ".visible .entry k(.param .u64 .ptr .align 16 k_0)\n{{\n.reg .b32 %r<9>;\n"
                    ".reg .b64 %rd<2>;\nld.param.b64 %rd1, [k_0];\nld.global.b32 %r1, [%rd1];\n"
                    "{{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r1;\n"
                    "call (b), f{}, (a);\nld.param.b32 %r2, [b]; }}\nst.global.b32 [%rd1], %r2;\n"
                    "ret;\n}}\n",
                    count - 1);
}

TEST(PtxLaunch, CallsInsideCalls) {
  const auto module = Module::Parse(ChainOfCalls(3, 2), "k.ptx");
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  // From 0: 1, 2, 3, 4. From 2: 3, 4, 5, which is not called with and becomes 7.
  for (const auto& [in, expected] : {std::pair(0, 4), std::pair(10, 14), std::pair(3, 7)}) {
    std::vector<int32_t> memory = {in};
    LaunchRequest request;
    request.entry = "k";
    request.arguments.push_back({std::as_writable_bytes(std::span(memory)), {}});
    const auto ran = Launch(*module, request);
    ASSERT_TRUE(ran.has_value() && !ran->fault) << (ran ? ran->fault->ToString() : "");
    EXPECT_EQ(memory[0], expected) << in;
  }
}

TEST(PtxLaunch, CallsThatBecomeTooMuchAreRefusedBeforeTheyAreCopied) {
  const auto deep = Module::Parse(ChainOfCalls(10'000, 1), "k.ptx");
  ASSERT_FALSE(deep.has_value());
  EXPECT_NE(deep.error().message.find("calls inside 256 calls"), std::string::npos);
  EXPECT_GT(deep.error().place.line, 0);
  // Half of a chain is measured before the whole.
  std::string halves = ChainOfCalls(400, 1);
  halves.insert(halves.find(".visible .entry"),
                ".visible .entry half()\n{\n{ .param .b32 a; .param .b32 b;\n"
                "call (b), f200, (a); }\nret;\n}\n");
  const auto joined = Module::Parse(halves, "k.ptx");
  ASSERT_FALSE(joined.has_value());
  EXPECT_NE(joined.error().message.find("calls inside 256 calls"), std::string::npos);
  const auto doubled = Module::Parse(ChainOfCalls(100, 2), "k.ptx");
  ASSERT_FALSE(doubled.has_value());
  EXPECT_NE(doubled.error().message.find("too many statements"), std::string::npos);
}

// Few bytes of text declare many registers: of one entry, of all, and of copies of one function.
TEST(PtxLaunch, RegistersOfAModuleAreBounded) {
  const std::string head = ".version 8.7\n.target sm_90a\n.address_size 64\n";
  const auto entries = [](int count, const std::string& body) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += ".visible .entry k" + std::to_string(i) + "()\n{\n" + body + "ret;\n}\n";
    return text;
  };
  const auto error = [&](const std::string& text) {
    const auto module = Module::Parse(head + text, "k.ptx", {.module_registers = 16'000});
    return module.has_value() ? "" : module.error().ToString();
  };
  const std::string many = ".reg .b32 %r<1000>;\n";
  EXPECT_EQ(error(entries(2, many)), "");
  EXPECT_EQ(error(entries(20, many)),
            "k.ptx:84:17: more than 16000 registers in a module (the limit guards against "
            "malicious files)");
  const std::string function = ".func f()\n{\n.reg .b32 %r<900>;\nret;\n}\n";
  EXPECT_EQ(error(function + entries(2, "call f;\n")), "");
  EXPECT_TRUE(error(function + entries(20, "call f;\n"))
                  .contains("calls that become too many statements, registers or variables"));
}

TEST(PtxLaunch, AWordThatEndsPastAnArgumentMayBeSwappedIfItKeepsItsBytes) {
  const auto ran = [](const char* mask) {
    return RunKernel("ld.global.b32 %r3, [%rd3+4];\nxor.b32 %r4, %r3, " + std::string(mask) +
                         ";\natom.global.cas.b32 %r5, [%rd3+4], %r3, %r4;",
                     {}, {}, 5, 1);
  };
  const Ran inside = ran("0x0f");
  ASSERT_FALSE(inside.result.fault) << inside.result.fault->ToString();
  EXPECT_EQ(inside.As<uint8_t>(2), (std::vector<uint8_t>{0, 0, 0, 0, 0x0f}));
  ASSERT_TRUE(ran("0xf00").result.fault.has_value());
}

}  // namespace
}  // namespace hloscope::ptx
