// Checks of what threads do together and of what tensor cores read: shuffles and barriers of parts
// of a warp, registers and matrices that nobody wrote, findings of one cause.
#include <algorithm>

#include "core/ptx/checks/shadow_memory.h"
#include "core/ptx/ptx.h"
#include "tests/ptx/group_kernel.h"

namespace hloscope::ptx {
namespace {

const std::string kStore = "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;";

std::vector<Finding> Check(const std::string& body, uint32_t threads,
                           const std::string& target = "sm_90a") {
  std::vector<std::byte> memory[3];
  ShadowMemory shadow;
  for (auto& m : memory) {
    m.resize(65536);
    shadow.Add(m, &m != &memory[2]);
  }
  const auto module = Module::Parse(KernelText(body, target), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return {};
  LaunchRequest request{"k", {1, 1, 1}, {threads, 1, 1}, kGroupShared, {}, 0};
  for (auto& m : memory) request.arguments.push_back({m, {}});
  LaunchOptions options;
  options.checks = {true, true, &shadow};
  const auto result = Launch(*module, request, options);
  EXPECT_TRUE(result.has_value()) << (result.has_value() ? "" : result.error().ToString());
  if (!result.has_value()) return {};
  EXPECT_FALSE(result->fault.has_value()) << result->fault->ToString();
  return result->findings;
}

std::string Whats(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += std::string(ToString(finding.kind)) + ": " + finding.what + "\n";
  return text;
}

TEST(PtxSyncChecks, AShuffleFromALaneThatTakesNoPart) {
  const std::string kLane =
      "uninitialised: stores a value computed from a lane that takes no part in its shuffle\n";
  // All lanes do.
  EXPECT_EQ(Whats(Check("shfl.sync.idx.b32 %r4, %r1, 20, 31, -1;" + kStore, 32)), "");
  // The upper half has returned, is elsewhere, or is not named.
  EXPECT_EQ(Whats(Check("setp.ge.u32 %p1, %r1, 16;\n@%p1 ret;\n"
                        "shfl.sync.idx.b32 %r4, %r1, 20, 31, 0xffff;" +
                            kStore,
                        32)),
            kLane);
  EXPECT_EQ(Whats(Check("shfl.sync.idx.b32 %r4, %r1, 20, 31, 0xffff;\nsetp.lt.u32 %p1, %r1, 16;\n"
                        "add.s64 %rd7, %rd3, %rd4;\n@%p1 st.global.b32 [%rd7], %r4;",
                        32)),
            kLane);
  // Thrown away: a tree over sixteen lanes of a block of sixteen threads.
  EXPECT_EQ(Whats(Check("shfl.sync.down.b32 %r5, %r1, 8, 31, -1;\nsetp.lt.u32 %p1, %r1, 8;\n"
                        "mov.b32 %r4, 0;\n@%p1 mov.b32 %r4, %r5;" +
                            kStore,
                        16)),
            "");
}

TEST(PtxSyncChecks, ABarrierOfHalfAWarp) {
  const auto body = [](const std::string& barrier) {
    return "setp.ge.u32 %p1, %r1, 48;\n@%p1 bra out;\n" + barrier + "\nout:\nmov.b32 %r4, 1;" +
           kStore;
  };
  EXPECT_EQ(Whats(Check(body("bar.sync 1, 48;"), 64)),
            "barrier: is executed by 16 of the 32 threads of a warp: what it does then is "
            "undefined\n");
  EXPECT_EQ(Whats(Check(body("barrier.sync 1, 48;"), 64)), "") << "not aligned";
  EXPECT_EQ(Whats(Check("setp.ge.u32 %p1, %r1, 48;\n@%p1 bra out;\nbar.sync 0;\nmov.b32 %r4, 1;" +
                            kStore + "\nout:",
                        64)),
            "")
      << "the others do nothing more";
  EXPECT_EQ(Whats(Check(
                "setp.ge.u32 %p1, %r1, 48;\n@%p1 ret;\nbar.sync 0;\nmov.b32 %r4, 1;" + kStore, 64)),
            "")
      << "the others have returned";
}

TEST(PtxSyncChecks, ARegisterThatNothingWrote) {
  const std::string half = "setp.lt.u32 %p1, %r1, 16;\n@%p1 mov.b32 %r4, 5;\n";
  EXPECT_EQ(Whats(Check(half + kStore, 32)),
            "uninitialised: stores a value computed from a register that nothing has written\n");
  EXPECT_EQ(Whats(Check(half + "add.s64 %rd7, %rd3, %rd4;\n@%p1 st.global.b32 [%rd7], %r4;", 32)),
            "");
  EXPECT_EQ(
      Whats(Check("setp.eq.s32 %p2, %r50, 0;\n@%p2 bra out;\nout:\nmov.b32 %r4, 1;" + kStore, 32)),
      "uninitialised: branches on an uninitialised value\n");
  EXPECT_EQ(Whats(Check("mov.b32 %r51, %r50;\nmov.b32 %r4, 1;" + kStore, 32)), "") << "not used";
}

// D of four warps from a matrix A of which the last 8 rows of shared memory were not written: rows
// of 32 bytes by 8, two strides of 128 and 256 bytes.
std::string Wgmma(uint32_t a_bytes, const std::string& use) {
  return "mov.b32 %r90, dyn;\nshl.b32 %r91, %r1, 2;\nadd.s32 %r92, %r90, %r91;\n"
         "fill:\nsetp.ge.u32 %p8, %r91, " +
         std::to_string(a_bytes) +
         ";\n@%p8 bra filled;\nst.shared.b32 [%r92], 0;\nadd.s32 %r91, %r91, 512;\n"
         "add.s32 %r92, %r92, 512;\nbra fill;\nfilled:\nshl.b32 %r91, %r1, 2;\n"
         "setp.lt.u32 %p7, %r1, 64;\nadd.s32 %r93, %r90, %r91;\n"
         "@%p7 st.shared.b32 [%r93+8192], 0;\nfence.proxy.async;\nbar.sync 0;\n"
         "shr.u32 %r94, %r90, 4;\ncvt.u64.u32 %rd20, %r94;\n"
         "or.b64 %rd21, %rd20, " +
         std::to_string(uint64_t{128 / 16} << 16 | uint64_t{256 / 16} << 32) +
         ";\nadd.s64 %rd22, %rd21, 512;\nsetp.ne.s32 %p1, 0, 0;\n"
         "wgmma.fence.sync.aligned;\n"
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %rd21, "
         "%rd22, %p1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\n"
         "wgmma.wait_group.sync.aligned 0;\n" +
         use;
}

TEST(PtxSyncChecks, WgmmaReadsWhatNobodyWrote) {
  const std::string all = "or.b32 %r4, %r10, %r12;" + kStore;
  EXPECT_EQ(Whats(Check(Wgmma(2048, all), 128)), "");
  // Rows 56 to 63 are those of registers 2 and 3 of the last warp.
  const std::string kMemory = "uninitialised: stores a value computed from uninitialised memory\n";
  const auto findings = Check(Wgmma(2048 - 256, all), 128);
  ASSERT_EQ(Whats(findings), kMemory);
  EXPECT_EQ(findings[0].at.thread[0], 96u);
  EXPECT_EQ(findings[0].count, 32u);
  EXPECT_EQ(Whats(Check(Wgmma(2048 - 256, "mov.b32 %r4, %r10;" + kStore), 128)), "");
}

// Tensor memory: what tcgen05.st has not written is not there for tcgen05.ld.
TEST(PtxSyncChecks, TensorMemoryThatNobodyWrote) {
  const auto body = [](const std::string& store) {
    return "mov.b32 %r90, dyn;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r90], "
           "32;\nbar.sync 0;\nld.shared.b32 %r82, [%r90];\n" +
           store +
           "\ntcgen05.wait::st.sync.aligned;\n"
           "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r4, %r5}, [%r82];\n"
           "tcgen05.wait::ld.sync.aligned;\n"
           "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r82, 32;\n";
  };
  const std::string one = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r82], {%r1};",
                    two = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r82], {%r1, %r1};";
  EXPECT_EQ(Whats(Check(body(one) + kStore, 32, "sm_100a")), "");
  EXPECT_EQ(Whats(Check(body(two) + "add.s32 %r4, %r4, %r5;" + kStore, 32, "sm_100a")), "");
  EXPECT_EQ(Whats(Check(body(one) + "add.s32 %r4, %r4, %r5;" + kStore, 32, "sm_100a")),
            "uninitialised: stores a value computed from uninitialised memory\n");
}

// tcgen05.cp of what is written, or not, by chunks of 16 bytes.
TEST(PtxSyncChecks, ACopyToTensorMemoryOfWhatNobodyWrote) {
  const auto body = [](const std::string& store) {
    return "mov.b32 %r90, dyn;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r90], "
           "32;\nbar.sync 0;\nld.shared.b32 %r82, [%r90];\nadd.s32 %r97, %r90, 1024;\n"
           "shl.b32 %r96, %r1, 4;\nadd.s32 %r96, %r96, %r97;\nsetp.ne.s32 %p1, %r1, 5;\n" +
           store +
           "\nbar.sync 0;\nshr.u32 %r97, %r97, 4;\ncvt.u64.u32 %rd11, %r97;\n"
           "or.b64 %rd11, %rd11, 70403103916032;\nsetp.eq.s32 %p2, %r1, 0;\n"
           "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r82], %rd11;\nbar.sync 0;\n"
           "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%r82];\n"
           "tcgen05.wait::ld.sync.aligned;\n"
           "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r82, 32;\n";
  };
  const std::string store = "st.shared.v4.b32 [%r96], {%r1, %r1, %r1, %r1};";
  EXPECT_EQ(Whats(Check(body(store) + kStore, 32, "sm_100a")), "");
  EXPECT_EQ(Whats(Check(body("@%p1 " + store) + kStore, 32, "sm_100a")),
            "uninitialised: stores a value computed from uninitialised memory\n");
}

// A scale factor of mma.sync that nobody wrote spoils its rows; of lanes that hold none it does not
// matter.
TEST(PtxSyncChecks, ScaleFactorsThatNobodyWrote) {
  const auto body = [](const std::string& lane) {
    return "mov.b32 %r90, dyn;\nshl.b32 %r96, %r1, 2;\nadd.s32 %r96, %r96, %r90;\n"
           "and.b32 %r97, %r1, 3;\nsetp.ne.s32 %p1, %r97, " +
           lane +
           ";\nmov.b32 %r5, 0x7f7f7f7f;\n@%p1 st.shared.b32 [%r96], %r5;\nbar.sync 0;\n"
           "ld.shared.b32 %r6, [%r96];\nmov.b32 %r7, 0;\n"
           "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3."
           "e4m3.f32.ue8m0 {%r4, %r8, %r9, %r10}, {%r7, %r7, %r7, %r7}, {%r7, %r7}, {%r7, %r7, "
           "%r7, %r7}, %r6, {0, 0}, %r5, {0, 0};\n";
  };
  EXPECT_EQ(Whats(Check(body("3") + kStore, 32, "sm_120a")), "");
  EXPECT_EQ(Whats(Check(body("0") + kStore, 32, "sm_120a")),
            "uninitialised: stores a value computed from uninitialised memory\n");
}

TEST(PtxSyncChecks, OneMissingBarrierIsOneFinding) {
  // Four stores, four loads of the mirror image, no barrier between them.
  std::string body =
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 4;\nadd.s32 %r5, %r2, %r3;\n"
      "sub.s32 %r6, 1008, %r3;\nadd.s32 %r7, %r2, %r6;\nmov.b32 %r4, 0;\n";
  for (int i = 0; i < 4; ++i) body += "st.shared.b32 [%r5+" + std::to_string(4 * i) + "], %r1;\n";
  std::string loads;
  for (int i = 0; i < 4; ++i)
    loads += "ld.shared.b32 %r8, [%r7+" + std::to_string(4 * i) + "];\nadd.s32 %r4, %r4, %r8;\n";
  const auto findings = Check(body + loads + kStore, 64);
  ASSERT_GE(findings.size(), 1u);
  EXPECT_EQ(std::ranges::count(findings, FindingKind::kRace, &Finding::kind), 1);
  EXPECT_TRUE(
      Whats(findings).contains("(so do 3 more pairs of instructions: a barrier between "
                               "lines 26 and 27 orders them all)"))
      << Whats(findings);
  EXPECT_EQ(Whats(Check(body + "bar.sync 0;\n" + loads + kStore, 64)), "");
  // Two barriers that are missing are two.
  const auto two = Check(body + loads +
                             "bar.sync 0;\nst.shared.b32 [%r5], %r4;\n"
                             "ld.shared.b32 %r9, [%r7];\nadd.s32 %r4, %r4, %r9;" +
                             kStore,
                         64);
  EXPECT_EQ(std::ranges::count(two, FindingKind::kRace, &Finding::kind), 2);
}

TEST(PtxSyncChecks, ArrivalsOrderWhatCameBefore) {
  const auto body = [](const std::string& arrive) {
    return "setp.ge.u32 %p1, %r1, 32;\nmov.b32 %r2, sh;\nand.b32 %r3, %r1, 31;\n"
           "shl.b32 %r3, %r3, 2;\nadd.s32 %r5, %r2, %r3;\n@%p1 bra produce;\nbar.sync 1, 64;\n"
           "ld.shared.b32 %r4, [%r5];" +
           kStore + "\nret;\nproduce:\n" + arrive;
  };
  EXPECT_EQ(Whats(Check(body("st.shared.b32 [%r5], %r1;\nbar.arrive 1, 64;"), 64)), "");
  EXPECT_NE(Whats(Check(body("bar.arrive 1, 64;\nst.shared.b32 [%r5], %r1;"), 64)).find("race: "),
            std::string::npos);
}

// Threads that count in one word: no barrier between the load and the store helps.
TEST(PtxSyncChecks, AnUpdateThatIsNotAtomicIsOneFinding) {
  const auto races = [](const std::string& value) {
    return Whats(Check(
        "ld.global.b32 %r4, [%rd1];\nadd.s32 %r4, %r4, 1;\nst.global.b32 [%rd1], " + value + ";",
        96));
  };
  const std::string store =
      "race: writes what a thread of another warp wrote, and line 19 is in no loop: a barrier of "
      "all threads does not order them";
  EXPECT_EQ(races("%r4"), store +
                              " (so does 1 more pair of instructions: it updates what line 17 "
                              "reads, and not atomically)\n");
  // What it stores is not what it read: two causes.
  EXPECT_EQ(races("%r1"),
            "race: reads what a thread of another warp wrote, with no barrier between lines 17 and "
            "19\n" +
                store + "\n");
  // In a loop a barrier may be missing.
  EXPECT_TRUE(Whats(Check("mov.b32 %r4, 0;\nmov.b32 %r2, sh;\nloop:\nst.shared.b32 [%r2], %r1;\n"
                          "add.s32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 2;\n@%p1 bra loop;",
                          64))
                  .contains("with no barrier between two executions of line"));
}

// What a kernel writes by bulk copies and wmma alone is looked at like what it stores.
TEST(PtxSyncChecks, RacesOfWhatOnlyTilesWrite) {
  const std::string first =
      "shr.u32 %r5, %r1, 5;\nand.b32 %r6, %r1, 31;\nsetp.eq.u32 %p1, %r6, 0;\n"
      "mov.b32 %r2, sh;\nmad.lo.u32 %r2, %r5, 16, %r2;\n"
      "@%p1 st.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};\n";
  const std::string copy = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r2], 16;\n";
  const std::string race = "race: writes what a thread of another warp wrote";
  EXPECT_EQ(Whats(Check(first + copy, 64)).find(race), 0u) << Whats(Check(first + copy, 64));
  EXPECT_EQ(
      Whats(Check(first + "cvt.u64.u32 %rd9, %r5;\nmad.lo.u64 %rd3, %rd9, 16, %rd3;\n" + copy, 64)),
      "")
      << "each has its own bytes";
  std::string sums = "{%r5";
  for (int i = 1; i < 8; ++i) sums += ", %r5";
  const std::string store =
      "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd3], " + sums + "};\n";
  EXPECT_EQ(Whats(Check(first + store, 64)).find(race), 0u) << Whats(Check(first + store, 64));
  EXPECT_EQ(Whats(Check(first + store, 32)), "");
}

}  // namespace
}  // namespace hloscope::ptx
