// Blocks and warps: divergence, barriers, shuffles, atomics, memory and its faults.
#include <numeric>

#include "core/ptx/module.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

const std::string kStore = "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;";

TEST(PtxMachine, DivergedLanesReconverge) {
  // Lane i goes round its loop i times; afterwards all shuffle together.
  const Ran ran = RunKernel(
      "mov.b32 %r2, 0;\nmov.b32 %r3, %r1;\nagain:\nsetp.eq.s32 %p1, %r3, 0;\n@%p1 bra out;\n"
      "add.s32 %r2, %r2, %r3;\nadd.s32 %r3, %r3, -1;\nbra again;\nout:\n"
      "shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;" +
          kStore,
      {}, {}, 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], (i ^ 1) * ((i ^ 1) + 1) / 2) << i;
}

TEST(PtxMachine, SpinningLanesLetOthersRun) {
  // Lane 0 waits in a loop laid out before the store that it waits for.
  const Ran ran = RunKernel(
      "mov.b32 %r5, 0;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra other;\nwait:\nld.volatile.global.b32 "
      "%r2, [%rd1];\n"
      "setp.eq.s32 %p2, %r2, 0;\n@%p2 bra wait;\nmov.b32 %r5, 9;\nbra done;\nother:\nmov.b32 %r3, "
      "1;\nst.global.b32 [%rd1], %r3;\ndone:\n"
      "mov.b32 %r4, %r5;" +
          kStore,
      Bytes(std::vector<uint32_t>(64)), {}, 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2)[0], 9u);
}

TEST(PtxMachine, BarriersOrderWarps) {
  // Each thread writes its number, and reads that of its mirror image.
  const Ran ran = RunKernel(
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\nst.shared.b32 [%r5], "
      "%r1;\nbar.sync 0;\n"
      "sub.s32 %r6, 1020, %r3;\nadd.s32 %r7, %r2, %r6;\nld.shared.b32 %r4, [%r7];" +
          kStore,
      {}, {}, 1024, 256);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  for (uint32_t i = 0; i < 256; ++i) ASSERT_EQ(out[i], 255 - i);
}

TEST(PtxMachine, ABarrierThatSomeNeverReachIsAFault) {
  const Ran ran = RunKernel("setp.lt.u32 %p1, %r1, 40;\n@%p1 bar.sync 1, 64;", {}, {}, 128, 64);
  ASSERT_TRUE(ran.result.fault.has_value());
  EXPECT_EQ(ran.result.fault->ToString(),
            "k.ptx:18:6: `bar.sync` a barrier that not all threads of the block reach; kernel k, "
            "block (0, 0, 0), thread (0, 0, 0)");
}

TEST(PtxMachine, Shuffles) {
  const auto run = [](const std::string& instruction) {
    return RunKernel(instruction + "\nselp.b32 %r5, 100, 0, %p1;\nadd.s32 %r4, %r4, %r5;" + kStore,
                     {}, {}, 128)
        .As<uint32_t>(2);
  };
  const auto up = run("shfl.sync.up.b32 %r4|%p1, %r1, 3, 0, -1;");
  const auto down = run("shfl.sync.down.b32 %r4|%p1, %r1, 5, 31, -1;");
  const auto index = run("shfl.sync.idx.b32 %r4|%p1, %r1, 2, 0x1c1f, -1;");
  const auto segments = run("shfl.sync.bfly.b32 %r4|%p1, %r1, 4, 0x181f, -1;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i >= 3 ? i - 3 + 100 : i);
    EXPECT_EQ(down[i], i + 5 < 32 ? i + 5 + 100 : i);
    EXPECT_EQ(index[i], (i & ~3u) + 2 + 100);
    EXPECT_EQ(segments[i], (i ^ 4) + 100);
  }
}

TEST(PtxMachine, VotesAndReductions) {
  const auto run = [](const std::string& instruction) {
    return RunKernel("setp.lt.u32 %p2, %r1, 5;\n" + instruction + kStore, {}, {}, 128)
        .As<uint32_t>(2)[7];
  };
  EXPECT_EQ(run("vote.sync.ballot.b32 %r4, %p2, -1;"), 31u);
  EXPECT_EQ(run("vote.sync.any.pred %p1, %p2, -1;\nselp.b32 %r4, 1, 0, %p1;"), 1u);
  EXPECT_EQ(run("vote.sync.all.pred %p1, !%p2, -1;\nselp.b32 %r4, 1, 0, %p1;"), 0u);
  EXPECT_EQ(run("redux.sync.add.s32 %r4, %r1, -1;"), 496u);
  EXPECT_EQ(run("redux.sync.max.u32 %r4, %r1, -1;"), 31u);
}

TEST(PtxMachine, AtomicsAreSerialised) {
  const std::string body =
      "atom.global.add.u32 %r4, [%rd1], 1;\nred.global.add.f32 [%rd2], 0f3F000000;" + kStore;
  const Ran ran =
      RunKernel(body, Bytes(std::vector<uint32_t>{100}), Bytes(std::vector<float>{0}), 256, 64);
  EXPECT_EQ(ran.As<uint32_t>(0)[0], 164u);
  EXPECT_EQ(ran.As<float>(1)[0], 32.0f);
  EXPECT_EQ(ran.As<uint32_t>(2)[63], 163u);
  const Ran swapped = RunKernel("atom.global.cas.b32 %r4, [%rd1], %r1, 77;" + kStore,
                                Bytes(std::vector<uint32_t>{5}), {}, 128);
  EXPECT_EQ(swapped.As<uint32_t>(0)[0], 77u);
}

TEST(PtxMachine, AccessesOutsideAreFaults) {
  const Ran ran = RunKernel("add.s64 %rd5, %rd1, %rd4;\nst.global.b32 [%rd5+100], %r1;",
                            Bytes(std::vector<uint32_t>(32)), {}, 128);
  ASSERT_TRUE(ran.result.fault.has_value());
  EXPECT_EQ(ran.result.fault->what, "writes 4 bytes at byte 128 of argument 0, which has 128");
  EXPECT_EQ(ran.result.fault->thread[0], 7u);
  EXPECT_EQ(ran.result.fault->argument, 0u);
  EXPECT_EQ(ran.result.fault->place.line, 18u);
  for (const std::string address :
       {"mov.b64 %rd5, 0;", "mov.b64 %rd5, -8;", "mov.b64 %rd5, 0x7fff00000000;"}) {
    EXPECT_TRUE(RunKernel(address + "\nld.b32 %r4, [%rd5];", {}, {}, 128).result.fault.has_value())
        << address;
  }
  EXPECT_TRUE(RunKernel("ld.global.b32 %r4, [%rd1+2];", Bytes(std::vector<uint32_t>(32)), {}, 128)
                  .result.fault.has_value());
  EXPECT_TRUE(RunKernel("ld.shared.b32 %r4, [sh+8192];", {}, {}, 128).result.fault.has_value());
}

TEST(PtxMachine, PaddingReadsAsPoison) {
  const Ran ran = RunKernel("ld.global.v4.b32 {%r2, %r3, %r5, %r4}, [%rd1];" + kStore,
                            Bytes(std::vector<uint32_t>{1, 2, 3}), {}, 128, 1);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2)[0], 0xffffffffu);
  EXPECT_EQ(ran.result.counters.padding_bytes, 4u);
  EXPECT_TRUE(
      RunKernel("ld.global.b32 %r4, [%rd1+256];", Bytes(std::vector<uint32_t>(3)), {}, 128, 1)
          .result.fault.has_value());
}

TEST(PtxMachine, SharedAndLocalAddressesAreGenericToo) {
  const Ran ran = RunKernel(
      "mov.b64 %rd5, sh;\ncvta.shared.u64 %rd6, %rd5;\nst.b32 [%rd6+8], 42;\nld.shared.b32 %r4, "
      "[sh+8];\n"
      "{ .local .align 8 .b8 depot[16];\n.reg .b64 %SPL;\nmov.b64 %SPL, depot;\nst.local.b32 "
      "[%SPL+4], %r1;\n"
      "cvta.local.u64 %rd8, %SPL;\nld.b32 %r5, [%rd8+4];\nadd.s32 %r4, %r4, %r5; }" +
          kStore,
      {}, {}, 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2)[9], 51u);
}

TEST(PtxMachine, AsynchronousCopiesFillWithZeros) {
  const Ran ran = RunKernel(
      "mov.b32 %r2, dyn;\nmov.b32 %r3, 8;\ncp.async.cg.shared.global [%r2], [%rd1], 16, %r3;\n"
      "cp.async.commit_group;\ncp.async.wait_group 0;\nshl.b32 %r5, %r1, 2;\nadd.s32 %r5, %r5, "
      "%r2;\nld.shared.b32 %r4, [%r5];" +
          kStore,
      Bytes(std::vector<uint32_t>{1, 2, 3, 4}), {}, 16, 4);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2), (std::vector<uint32_t>{1, 2, 0, 0}));
}

TEST(PtxMachine, SameBitsForAnyNumberOfThreads) {
  const std::string body =
      "mov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r3, %r2, 64, %r1;\nmul.wide.u32 %rd5, %r3, 4;\nadd.s64 "
      "%rd6, %rd3, %rd5;\n"
      "cvt.rn.f32.u32 %r4, %r3;\nex2.approx.f32 %r5, %r4;\nst.global.b32 [%rd6], %r5;";
  LaunchOptions many;
  many.threads = 4;
  const Ran one = RunKernel(body, {}, {}, 4 * 64 * 50, 64, 50);
  const Ran four = RunKernel(body, {}, {}, 4 * 64 * 50, 64, 50, many);
  EXPECT_EQ(one.memory[2], four.memory[2]);
  EXPECT_EQ(one.result.counters.threads(), four.result.counters.threads());
  EXPECT_EQ(one.result.counters.global_written_bytes, 4u * 64 * 50);
}

TEST(PtxMachine, StepsAreBounded) {
  const auto module = Module::Parse(KernelText("x: bra x;"), "k.ptx");
  ASSERT_TRUE(module.has_value());
  LaunchRequest request;
  request.entry = "k";
  request.arguments.resize(3);
  LaunchOptions options;
  options.steps = 100'000;
  const auto result = Launch(*module, request, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(
      result.error().ToString(),
      "kernel k: the step limit was exceeded in block (0, 0, 0) near line 17, in a loop that ends "
      "at line 17 (raise the limit, or run fewer blocks)");
  // A counter that is never enough.
  const auto counting = Module::Parse(
      KernelText("mov.b32 %r2, 0;\nx:\nadd.s32 %r2, %r2, %r3;\nsetp.lt.s32 %p1, %r2, 5;\n@%p1 bra "
                 "x;"),
      "k.ptx");
  ASSERT_TRUE(counting.has_value());
  EXPECT_NE(Launch(*counting, request, options)
                .error()
                .message.find("in a loop that ends at line 21 (its condition comes from line 20, "
                              "line 17, line 19)"),
            std::string::npos)
      << Launch(*counting, request, options).error().message;
  request.arguments.resize(2);
  EXPECT_EQ(Launch(*module, request, options).error().message,
            "kernel k takes 3 arguments, given 2");
}

// Each block counts in shared memory, where it is read back each turn, and stores each turn's
// count: at an address that stays, and one word further each turn.
TEST(PtxMachine, AddressesThatStayTheSameInALoopAreKeptForOneBlock) {
  const std::string body =
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nxor.b32 %r3, %r3, 4;\nadd.s32 %r5, %r2, %r3;\n"
      "mov.u32 %r8, %ctaid.x;\nmul.wide.u32 %rd8, %r8, 128;\nadd.s64 %rd9, %rd3, %rd4;\n"
      "add.s64 %rd7, %rd9, %rd8;\nadd.s64 %rd10, %rd1, %rd8;\nmov.b32 %r4, %r8;\nmov.b32 %r6, 0;\n"
      "L:\nst.shared.b32 [%r5], %r4;\nld.shared.b32 %r7, [%r5];\nadd.s32 %r4, %r7, 1;\n"
      "st.global.b32 [%rd7], %r4;\nst.global.b32 [%rd10], %r4;\nadd.s64 %rd10, %rd10, 4;\n"
      "add.s32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 5;\n@%p1 bra L;";
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->contents().program.kernels[0].kept_accesses, 3u);
  const Ran ran = RunKernel(body, Bytes(std::vector<uint32_t>(128)), {}, 3 * 128, 32, 3);
  const auto counts = ran.As<uint32_t>(2), turns = ran.As<uint32_t>(0);
  for (uint32_t block = 0; block < 3; ++block) {
    EXPECT_EQ(counts[32 * block + 7], block + 5);
    for (uint32_t turn = 0; turn < 5; ++turn) EXPECT_EQ(turns[32 * block + turn], block + turn + 1);
  }
}

// As Triton writes a load: what it gives where nothing is loaded, and a guard that always holds.
TEST(PtxMachine, DeadMovesAreSkipped) {
  const std::string body =
      "add.s64 %rd6, %rd1, %rd4;\nmov.b32 %r9, 7;\nmov.pred %p1, -1;\nmov.u32 %r2, %r9;\n"
      "@%p1 ld.global.b32 %r2, [%rd6];\n"  // line 17 + 4: no guard, r2 is lost
      "mov.u32 %r3, %r9;\n"                // read by the next
      "add.s32 %r3, %r3, %r2;\n"
      "mov.u32 %r4, %r9;\nsetp.lt.u32 %p1, %r1, 8;\n"  // p1 is known no more
      "@%p1 add.s32 %r4, %r3, 100;\nmov.pred %p2, 0;\n@!%p2 add.s32 %r4, %r4, 1;\n"
      "@%p2 mov.b32 %r4, 0;\n" +
      std::string("add.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;");
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  const Executable& code = module->contents().executables[0];
  const auto& instructions = code.kernel->instructions;
  std::string guarded, lost;  // lines from that of the body's first on
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const uint32_t line = instructions[i].position.line - 17;
    if (instructions[i].guard != Slot::kAbsent && code.straight_ends[i] == i)
      guarded += fmt::format(" {}", line);
    if (code.quick_steps[i] != code.steps[i]) lost += fmt::format(" {}", line);
  }
  EXPECT_EQ(guarded, " 9 12");
  EXPECT_EQ(lost, " 2 3");  // nobody asks for a guard that holds
  const Ran ran = RunKernel(body, Bytes(std::vector<uint32_t>(32, 5)), {}, 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(ran.As<uint32_t>(2)[lane], lane < 8 ? 113u : 8u);
}

TEST(PtxMachine, MatricesThroughSharedMemory) {
  // Stored transposed, loaded plainly: lane l holds elements (l / 4, l % 4 * 2) and the next of the
  // transposed matrix.
  const Ran ran = RunKernel(
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 4;\nadd.s32 %r3, %r2, %r3;\nshl.b32 %r5, %r1, "
      "1;\nadd.s32 %r6, %r5, 1;\nshl.b32 %r6, %r6, 16;\nor.b32 %r7, %r5, %r6;\n"
      "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r3], "
      "{%r7};\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3];" +
          kStore,
      {}, {}, 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint16_t>(2);
  for (uint32_t row = 0; row < 8; ++row) {
    for (uint32_t column = 0; column < 8; ++column)
      EXPECT_EQ(out[row * 8 + column], column * 8 + row);
  }
}

}  // namespace
}  // namespace hloscope::ptx
