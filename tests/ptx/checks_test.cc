// Checks: races, what nobody wrote, and orders of blocks and warps.
#include <algorithm>
#include <set>
#include <tuple>

#include "core/ptx/checks/block_paths.h"
#include "core/ptx/checks/kernel_facts.h"
#include "core/ptx/checks/shadow_memory.h"
#include "core/ptx/checks/shuffle_order.h"
#include "core/ptx/module.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

const std::string kStore = "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;";

// Runs with all checks; memory 2 (the results) was never written, the others were.
std::vector<Finding> Check(const std::string& body, uint32_t threads = 32, uint32_t blocks = 1,
                           size_t out_bytes = 4096) {
  std::vector<std::byte> memory[3] = {std::vector<std::byte>(4096), std::vector<std::byte>(4096),
                                      std::vector<std::byte>(out_bytes)};
  ShadowMemory shadow;
  shadow.Add(memory[0], true);
  shadow.Add(memory[1], false);
  shadow.Add(memory[2], false);
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return {};
  LaunchRequest request{"k", {blocks, 1, 1}, {threads, 1, 1}, 1024, {}, 0};
  for (auto& m : memory) request.arguments.push_back({m, {}});
  LaunchOptions options;
  options.checks = {true, true, &shadow};
  const auto result = Launch(*module, request, options);
  EXPECT_TRUE(result.has_value()) << (result.has_value() ? "" : result.error().ToString());
  if (!result.has_value()) return {};
  EXPECT_FALSE(result->fault.has_value()) << result->fault->ToString();
  return result->findings;
}

std::string Only(const std::vector<Finding>& findings) {
  if (findings.size() != 1) return std::to_string(findings.size()) + " findings";
  return findings[0].ToString();
}

// Each thread writes its number to shared memory and reads that of its mirror image.
std::string Mirror(const std::string& barrier) {
  return "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\n"
         "st.shared.b32 [%r5], %r1;\n" +
         barrier + "\nsub.s32 %r6, 252, %r3;\nadd.s32 %r7, %r2, %r6;\nld.shared.b32 %r4, [%r7];" +
         kStore;
}

TEST(PtxChecks, ABarrierOrdersWarps) { EXPECT_EQ(Check(Mirror("bar.sync 0;"), 64).size(), 0u); }

TEST(PtxChecks, AMissingBarrierIsARace) {
  // The first warp reads what the second has not written yet, the second what the first wrote.
  const std::vector<Finding> findings = Check(Mirror(""), 64);
  ASSERT_GE(findings.size(), 1u);
  const Finding* race = nullptr;
  for (const Finding& f : findings) {
    if (f.kind == FindingKind::kRace) race = &f;
  }
  ASSERT_NE(race, nullptr);
  ASSERT_TRUE(race->other.has_value());
  EXPECT_NE(race->at.place.line, race->other->place.line);
  EXPECT_EQ(race->memory, "shared memory");
  EXPECT_GE(race->count, 1u);
  EXPECT_TRUE(race->what.ends_with(", with no barrier between lines 20 and 24")) << race->what;
}

TEST(PtxChecks, ABarrierThatIsMissingAtTheEndOfALoopIsLookedForThere) {
  const std::vector<Finding> findings = Check(
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\nsub.s32 %r6, 252, %r3;\n"
      "add.s32 %r7, %r2, %r6;\nmov.b32 %r8, 0;\nL:\nadd.s32 %r9, %r8, %r1;\n"
      "st.shared.b32 [%r5], %r9;\nbar.sync 0;\nld.shared.b32 %r4, [%r7];\nadd.s32 %r8, %r8, 1;\n"
      "setp.lt.u32 %p1, %r8, 3;\n@%p1 bra L;" +
          kStore,
      64);
  ASSERT_GE(findings.size(), 1u);
  EXPECT_TRUE(findings[0].what.ends_with(
      ", with no barrier after line 27 before a loop reaches line 25 again"))
      << findings[0].what;
}

TEST(PtxChecks, StoringTheSameValueIsNotARace) {
  EXPECT_EQ(
      Check("mov.b32 %r2, sh;\nmov.b32 %r4, 7;\nst.shared.b32 [%r2], %r4;" + kStore, 64).size(),
      0u);
}

TEST(PtxChecks, ACopyIsThereWhenItWasWaitedFor) {
  const auto body = [](const std::string& wait) {
    return "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\nadd.s64 %rd5, %rd1, "
           "%rd4;\ncp.async.ca.shared.global [%r5], [%rd5], 4;\ncp.async.commit_group;\n" +
           wait + "\nld.shared.b32 %r4, [%r5];" + kStore;
  };
  EXPECT_EQ(Check(body("cp.async.wait_group 0;")).size(), 0u);
  EXPECT_EQ(Check(body("cp.async.wait_all;")).size(), 0u);
  const std::vector<Finding> findings = Check(body("cp.async.wait_group 1;"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what,
            "reads what a copy without a wait wrote, with no barrier between them");
}

TEST(PtxChecks, AsyncCopiesNeedABarrierAfterTheWait) {
  // Each thread reads what its mirror image copied.
  const auto body = [](const std::string& barrier) {
    return "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\nadd.s64 %rd5, %rd1, "
           "%rd4;\ncp.async.ca.shared.global [%r5], [%rd5], 4;\ncp.async.wait_all;\n" +
           barrier + "\nsub.s32 %r6, 252, %r3;\nadd.s32 %r7, %r2, %r6;\nld.shared.b32 %r4, [%r7];" +
           kStore;
  };
  EXPECT_EQ(Check(body("bar.sync 0;"), 64).size(), 0u);
  const std::vector<Finding> findings = Check(body(""), 64);
  std::string all;
  for (const Finding& finding : findings) all += finding.ToString() + "\n";
  EXPECT_NE(all.find("reads what a thread of another warp wrote, with no barrier between lines 22, "
                     "which waits for copies, and 26"),
            std::string::npos)
      << all;
}

// The second warp reads what the first wrote before it arrived at an mbarrier; `wait` stands before
// the read, `later` behind the arrival.
std::string Handed(const std::string& wait, const std::string& later, int arrivals = 32) {
  return "mov.b32 %r2, sh;\nadd.s32 %r3, %r2, 512;\nsetp.eq.s32 %p1, %r1, 0;\n"
         "@%p1 mbarrier.init.shared::cta.b64 [%r3], " +
         std::to_string(arrivals) +
         ";\nbar.sync 0;\nand.b32 %r5, %r1, 31;\n"
         "shl.b32 %r6, %r5, 2;\nadd.s32 %r7, %r2, %r6;\nsetp.ge.s32 %p2, %r1, 32;\n"
         "@%p2 bra second;\nadd.s32 %r8, %r1, 5;\nst.shared.b32 [%r7], %r8;\n"
         "mbarrier.arrive.shared::cta.b64 %rd8, [%r3];\n" +
         later + "\nret;\nsecond:\n" + wait + "\nld.shared.b32 %r4, [%r7];" + kStore;
}

TEST(PtxChecks, AnMbarrierOrdersWhatCameBeforeIt) {
  const std::string wait =
      "again:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0;\n@!%p3 bra again;";
  const auto races = [](const std::string& body) {
    return std::ranges::count(Check(body, 64), FindingKind::kRace, &Finding::kind);
  };
  EXPECT_EQ(races(Handed(wait, "")), 0);
  EXPECT_GT(races(Handed("", "")), 0);
  // What comes behind the arrival is not ordered by it.
  EXPECT_GT(races(Handed(wait, "add.s32 %r8, %r8, 1;\nst.shared.b32 [%r7], %r8;")), 0);
  // Who asks and goes on although an arrival is missing knows nothing, nor does who asks for the
  // phase before.
  const std::string once = "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0;";
  EXPECT_EQ(races(Handed(once, "")), 0);
  EXPECT_GT(races(Handed(once, "", 33)), 0);
  EXPECT_GT(races(Handed("mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 1;", "")), 0);
}

TEST(PtxChecks, BlocksHaveNoOrder) {
  // Every block stores its number to one place.
  EXPECT_EQ(Only(Check("mov.u32 %r4, %ctaid.x;\nst.global.b32 [%rd3], %r4;", 1, 2)),
            "k.ptx:18:1: race: `st.global.b32` writes what a thread of another block wrote, and "
            "blocks have no order, byte 0 of argument 2; kernel k, block (1, 0, 0), thread (0, 0, "
            "0); the other: k.ptx:18:1: `st.global.b32`, block (0, 0, 0), thread (0, 0, 0)");
  EXPECT_EQ(Check("mov.u32 %r4, %ctaid.x;\nmul.wide.u32 %rd5, %r4, 4;\nadd.s64 %rd6, %rd3, %rd5;\n"
                  "st.global.b32 [%rd6], %r4;",
                  1, 8)
                .size(),
            0u);
  EXPECT_EQ(Check("mov.b32 %r4, 1;\nred.global.add.u32 [%rd1], %r4;", 32, 8).size(), 0u);
}

TEST(PtxChecks, AnotherBlocksInputMustNotBeWritten) {
  // In place, one further than the own element.
  const std::string body =
      "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
      "ld.global.b32 %r3, [%rd6+4];\nadd.s32 %r3, %r3, 1;\nst.global.b32 [%rd6], %r3;";
  const std::vector<Finding> findings = Check(body, 1, 2);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what,
            "writes what a thread of another block read, and blocks have no order");
}

TEST(PtxChecks, NarrowNeighboursAreNotARace) {
  EXPECT_EQ(Check("mov.u32 %r2, %ctaid.x;\ncvt.u64.u32 %rd5, %r2;\nadd.s64 %rd6, %rd3, %rd5;\n"
                  "cvt.u16.u32 %rs1, %r2;\nst.global.b8 [%rd6], %rs1;",
                  1, 8)
                .size(),
            0u);
}

TEST(PtxChecks, UninitialisedBranchConditionsAreFound) {
  const std::string load = "add.s64 %rd5, %rd2, %rd4;\nld.global.b32 %r4, [%rd5];\n";
  EXPECT_EQ(Only(Check(load + "add.s32 %r4, %r4, 1;" + kStore)),
            "k.ptx:21:1: uninitialised: `st.global.b32` stores a value computed from uninitialised "
            "memory, byte 0 of argument 2; kernel k, block (0, 0, 0), thread (0, 0, 0); 32 times");
  EXPECT_EQ(Check(load + "mov.b32 %r4, 1;" + kStore).size(), 0u) << "thrown away";
  EXPECT_EQ(Check(load + "setp.lt.u32 %p1, %r1, 99;\nselp.b32 %r4, 5, %r4, %p1;" + kStore).size(),
            0u)
      << "not chosen";
  EXPECT_EQ(Check(load + "setp.eq.s32 %p1, %r4, 1;\n@%p1 bra out;\nout:").size(), 0u)
      << "no lane branches";
  const std::vector<Finding> branch = Check(load + "setp.ne.s32 %p1, %r4, 1;\n@%p1 bra out;\nout:");
  ASSERT_EQ(branch.size(), 1u);
  EXPECT_EQ(branch[0].what, "branches on an uninitialised value");
  const std::vector<Finding> address =
      Check(load +
            "and.b32 %r4, %r4, 4;\ncvt.u64.u32 %rd6, %r4;\nadd.s64 %rd6, %rd1, %rd6;\n"
            "ld.global.b32 %r4, [%rd6];");
  ASSERT_EQ(address.size(), 1u);
  EXPECT_EQ(address[0].what, "loads from an uninitialised address");
}

TEST(PtxChecks, PoisonIsFollowedByBytes) {
  // Two of four bytes were written; only those are used.
  const std::string body =
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\nmov.b16 %rs1, 7;\n"
      "st.shared.b16 [%r5], %rs1;\nld.shared.b32 %r6, [%r5];\n";
  EXPECT_EQ(Check(body + "mov.b32 {%rs2, %rs3}, %r6;\ncvt.u32.u16 %r4, %rs2;" + kStore).size(), 0u);
  EXPECT_EQ(Check(body + "mov.b32 {%rs2, %rs3}, %r6;\ncvt.u32.u16 %r4, %rs3;" + kStore).size(), 1u);
  EXPECT_EQ(Check(body + "and.b32 %r4, %r6, 65535;" + kStore).size(), 0u);
  EXPECT_EQ(Check(body + "shr.u32 %r4, %r6, 16;" + kStore).size(), 1u);
  EXPECT_EQ(Check(body + "shl.b32 %r4, %r6, 16;" + kStore).size(), 0u);
  EXPECT_EQ(Check(body + "prmt.b32 %r4, %r6, %r1, 0x5410;" + kStore).size(), 0u);
  EXPECT_EQ(Check(body + "bfe.u32 %r4, %r6, 4, 12;" + kStore).size(), 0u);
}

TEST(PtxChecks, APaddingReadIsPoison) {
  const std::string load =
      "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd3];\n";  // of 12 bytes that the kernel wrote
  const std::string write =
      "mov.b32 %r6, 1;\nst.global.b32 [%rd3], %r6;\nst.global.b32 [%rd3+4], %r6;\n"
      "st.global.b32 [%rd3+8], %r6;\n";
  EXPECT_EQ(Check(write + load + "st.global.b32 [%rd1], %r4;", 1, 1, 12).size(), 0u);
  EXPECT_EQ(Check(write + load + "st.global.b32 [%rd1], %r5;", 1, 1, 12).size(), 1u);
}

TEST(PtxChecks, ShufflesTakePoisonAlong) {
  const std::string body =
      "mov.b32 %r4, 1;\nadd.s64 %rd5, %rd2, %rd4;\nsetp.eq.s32 %p1, %r1, 3;\n@%p1 ld.global.b32 "
      "%r4, [%rd5];\nshfl.sync.idx.b32 %r4, %r4, ";
  EXPECT_EQ(Check(body + "2, 31, -1;" + kStore).size(), 0u);
  EXPECT_EQ(Check(body + "3, 31, -1;" + kStore).size(), 1u);
}

// The blocks of these go the same way; only the first is looked at whole.
TEST(PtxChecks, OtherValuesOfALaterBlockMakeARace) {
  // Both warps store 0 in the first block.
  const std::string product =
      "mov.u32 %r5, %ctaid.x;\nmul.lo.s32 %r4, %r5, %r1;\nmov.b32 %r2, sh;\n"
      "st.shared.b32 [%r2], %r4;\n";
  EXPECT_EQ(Check(product, 64, 1).size(), 0u);
  const std::vector<Finding> findings = Check(product, 64, 3);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].at.block[0], 1u);
  EXPECT_EQ(findings[0].count, 2u);
}

TEST(PtxChecks, ARaceOfEveryBlockIsCountedInEach) {
  const std::vector<Finding> once = Check(Mirror(""), 64, 1), thrice = Check(Mirror(""), 64, 3);
  ASSERT_GE(once.size(), 1u);
  ASSERT_GE(thrice.size(), once.size());
  EXPECT_EQ(thrice[0].count, 3 * once[0].count);
}

TEST(PtxChecks, WhereALaterBlockStoresMakesARace) {
  // The second block stores all at one place.
  const std::string places =
      "mov.u32 %r5, %ctaid.x;\nsetp.eq.s32 %p1, %r5, 0;\nselp.b32 %r6, %r1, 0, %p1;\n"
      "shl.b32 %r6, %r6, 2;\nmov.b32 %r2, sh;\nadd.s32 %r2, %r2, %r6;\n"
      "st.shared.b32 [%r2], %r1;\n";
  EXPECT_EQ(Check(places, 64, 1).size(), 0u);
  EXPECT_EQ(Check(places, 64, 2).size(), 1u);
}

TEST(PtxChecks, PoisonOfALaterBlockGoesThroughSharedMemory) {
  // The first block reads memory 0, the others memory 1, which nobody wrote.
  const std::string body =
      "mov.u32 %r5, %ctaid.x;\nsetp.eq.s32 %p1, %r5, 0;\nselp.b64 %rd5, %rd1, %rd2, %p1;\n"
      "add.s64 %rd6, %rd5, %rd4;\nld.global.b32 %r6, [%rd6];\nmov.b32 %r2, sh;\n"
      "shl.b32 %r3, %r1, 2;\nadd.s32 %r2, %r2, %r3;\nst.shared.b32 [%r2], %r6;\nbar.sync 0;\n"
      "xor.b32 %r7, %r3, 4;\nmov.b32 %r8, sh;\nadd.s32 %r8, %r8, %r7;\nld.shared.b32 %r4, [%r8];\n"
      "shl.b32 %r9, %r5, 7;\ncvt.u64.u32 %rd8, %r9;\nadd.s64 %rd3, %rd3, %rd8;" +
      kStore;
  EXPECT_EQ(Check(body, 32, 1).size(), 0u);
  const std::vector<Finding> findings = Check(body, 32, 3);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingKind::kUninitialised);
  EXPECT_EQ(findings[0].at.block[0], 1u);
  EXPECT_EQ(findings[0].count, 64u);
}

TEST(PtxChecks, AnAddressBelowSharedMemoryIsAFault) {
  // Seen from the end of all addresses, its bytes end at 0.
  for (const std::string access : {"st.shared.b64 [%rd5], %rd1;", "ld.shared.b64 %rd6, [%rd5];"}) {
    const auto module = Module::Parse(KernelText("mov.b64 %rd5, -8;\n" + access), "k.ptx");
    ASSERT_TRUE(module.has_value());
    std::vector<std::byte> memory(4096);
    for (const uint32_t threads : {1u, 32u}) {
      LaunchRequest request{"k", {2, 1, 1}, {threads, 1, 1}, 1024, {}, 0};
      for (int i = 0; i < 3; ++i) request.arguments.push_back({memory, {}});
      LaunchOptions options;
      options.checks = {true, true, nullptr};
      const auto result = Launch(*module, request, options);
      ASSERT_TRUE(result.has_value()) << result.error().ToString();
      EXPECT_TRUE(result->fault.has_value());
    }
  }
}

bool GoTheSameWay(const std::string& body) {
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  return module.has_value() && PathsOf(*module->contents().executables[0].kernel).are_the_same;
}

// What a launch of many blocks leaves, on so many threads: findings, memory, what is unwritten.
struct Checked {
  std::string findings;
  std::vector<std::byte> out;
  std::optional<uint64_t> first_unwritten;
  bool was_undone = false;
  bool operator==(const Checked&) const = default;
};

Checked CheckMany(const std::string& body, int threads, uint32_t blocks = 64) {
  std::vector<std::byte> memory[3] = {std::vector<std::byte>(65536), std::vector<std::byte>(65536),
                                      std::vector<std::byte>(65536)};
  ShadowMemory shadow;
  for (auto& m : memory) shadow.Add(m, &m != &memory[2]);
  shadow.Written(std::span(memory[2]).first(1024));
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return {};
  LaunchRequest request{"k", {blocks, 1, 1}, {256, 1, 1}, 0, {}, 0};
  for (auto& m : memory) request.arguments.push_back({m, {}});
  LaunchOptions options;
  options.threads = threads;
  options.checks = {true, true, &shadow};
  const auto result = Launch(*module, request, options);
  EXPECT_TRUE(result.has_value()) << (result.has_value() ? "" : result.error().ToString());
  if (!result.has_value()) return {};
  Checked out{"", memory[2], shadow.FirstUnwritten(memory[2]),
              shadow.IsUndone(module->contents().program.kernels[0])};
  for (const Finding& finding : result->findings)
    out.findings += finding.ToString() + " x" + std::to_string(finding.count) + "\n";
  if (result->fault) out.findings += result->fault->ToString();
  return out;
}

// The element of each thread of the grid: %rd7 is where it is in the results, %r4 what is there.
const std::string kOwnElement =
    "mov.u32 %r2, %ctaid.x;\nshl.b32 %r3, %r2, 8;\nadd.s32 %r3, %r3, %r1;\n"
    "mul.wide.u32 %rd5, %r3, 4;\nadd.s64 %rd7, %rd3, %rd5;\n";

TEST(PtxChecks, ThreadsThatFindNothingFindWhatOneFinds) {
  const std::string body = kOwnElement + "st.global.b32 [%rd7], %r3;";
  const Checked one = CheckMany(body, 1), four = CheckMany(body, 4);
  EXPECT_EQ(one, four);
  EXPECT_EQ(one.findings, "");
  EXPECT_EQ(one.first_unwritten, std::nullopt);
  EXPECT_FALSE(four.was_undone);
  // Half of the blocks: the other half is still what nobody wrote.
  const Checked half = CheckMany(body, 4, 32);
  EXPECT_EQ(half, CheckMany(body, 1, 32));
  EXPECT_EQ(half.first_unwritten, 32768u);
}

TEST(PtxChecks, WhatThreadsFindIsUndoneAndFoundByOne) {
  const struct {
    const char* body;
    const char* found;
  } kRows[] = {
      // Adds one to its element, and the last thread of a block to the first element of the next.
      {"ld.global.b32 %r4, [%rd7+1024];\nadd.s32 %r4, %r4, 1;\nsetp.eq.u32 %p1, %r1, 255;\n"
       "setp.lt.u32 %p2, %r2, 62;\nand.pred %p1, %p1, %p2;\n@%p1 st.global.b32 [%rd7+4], %r4;\n"
       "st.global.b32 [%rd7], %r4;",
       "stores a value computed from uninitialised memory"},
      // All blocks store their number at one place.
      {"st.global.b32 [%rd7], %r3;\nbar.sync 0;\nst.global.b32 [%rd3], %r2;",
       "writes what a thread of another block wrote"},
      // A block far away reads what is written here.
      {"sub.s32 %r5, 63, %r2;\nshl.b32 %r5, %r5, 8;\nadd.s32 %r5, %r5, %r1;\n"
       "mul.wide.u32 %rd6, %r5, 4;\nadd.s64 %rd8, %rd3, %rd6;\nst.global.b32 [%rd7], %r3;\n"
       "bar.sync 0;\nld.global.b32 %r6, [%rd8];",
       "writes what a thread of another block read"},
      // The last block leaves its memory.
      {"setp.eq.u32 %p1, %r2, 63;\nst.global.b32 [%rd7], %r3;\n@%p1 st.global.b32 "
       "[%rd7+65536], %r3;",
       "writes 4 bytes at byte 130048"},
  };
  for (const auto& row : kRows) {
    const Checked one = CheckMany(kOwnElement + row.body, 1);
    Checked four = CheckMany(kOwnElement + row.body, 4);
    EXPECT_TRUE(four.was_undone) << row.body;
    four.was_undone = false;
    EXPECT_EQ(one.findings, four.findings);
    EXPECT_TRUE(one.findings.contains(row.found)) << one.findings;
    EXPECT_TRUE(one.out == four.out) << row.body;
    EXPECT_EQ(one.first_unwritten, four.first_unwritten);
  }
}

// Whether stores are made is decided by what memory holds, as in sorts: by the fourth block alone,
// or by all but that.
std::string DecidedStores(const std::string& when, const std::string& distance,
                          const std::string& fill, const std::string& branch) {
  return "mov.u32 %r2, %ctaid.x;\nmov.b32 %r3, sh;\nshl.b32 %r4, %r1, 3;\nadd.s32 %r5, %r3, %r4;\n"
         "ld.global.b32 %r6, [%rd1];\nadd.s32 %r9, %r6, %r2;\n" +
         fill + "bar.sync 0;\nld.shared.b32 %r7, [%r5];\nsetp." + when + ".b32 %p1, %r9, 3;\n" +
         branch + "st.shared.b32 [%r5], %r1;\nst.shared.b32 [%r5+" + distance +
         "], %r2;\nx:\nbar.sync 0;\nld.shared.b32 %r10, [%r5+4];\nshl.b32 %r8, %r2, 8;\n"
         "cvt.u64.u32 %rd5, %r8;\nadd.s64 %rd6, %rd3, %rd5;\nadd.s64 %rd6, %rd6, %rd4;\n"
         "st.global.b32 [%rd6], %r10;";
}

TEST(PtxChecks, StoresThatOneBlockMakesAndAnotherDoesNot) {
  const std::string one = "st.shared.b32 [%r5], 1;\n", both = one + "st.shared.b32 [%r5+4], 2;\n";
  // Around the stores, or to them and else around.
  for (const auto& [leaves_out, makes, branch] :
       {std::tuple("ne", "eq", "@%p1 bra x;\n"),
        std::tuple("eq", "ne", "@%p1 bra y;\nbra.uni x;\ny:\n")}) {
    const auto decided = [&](const char* when, const char* distance, const std::string& fill) {
      return DecidedStores(when, distance, fill, branch);
    };
    EXPECT_TRUE(GoTheSameWay(decided(leaves_out, "4", both)));
    EXPECT_EQ(Check(decided(leaves_out, "4", both), 64, 5).size(), 0u);
    EXPECT_EQ(Check(decided(makes, "4", both), 64, 5).size(), 0u);
    // The fourth block alone stores to what another warp stores to.
    const std::vector<Finding> race = Check(decided(leaves_out, "8", both), 64, 5);
    ASSERT_FALSE(race.empty());
    EXPECT_EQ(race[0].memory, "shared memory");
    EXPECT_EQ(race[0].at.block[0], 3u);
    // It alone reads what its stores would have written.
    const std::vector<Finding> unwritten = Check(decided(makes, "4", one), 64, 5);
    ASSERT_EQ(unwritten.size(), 1u);
    EXPECT_EQ(unwritten[0].kind, FindingKind::kUninitialised);
    EXPECT_EQ(unwritten[0].at.block[0], 3u);
  }
}

TEST(PtxChecks, BlocksThatStoreTheSameAreCheckedByOne) {
  const std::string body = kOwnElement + "st.global.b32 [%rd7], %r3;\nst.global.b32 [%rd3], 0;";
  const Checked one = CheckMany(body, 1), four = CheckMany(body, 4);
  EXPECT_EQ(one.findings, four.findings);
  EXPECT_TRUE(one.out == four.out);
  EXPECT_EQ(four.findings, "");
}

TEST(BlockPaths, WhatDecidesComesFromTheThreadAlone) {
  const std::string block = "mov.u32 %r2, %ctaid.x;\n", held = "ld.global.b32 %r2, [%rd1];\n";
  const std::string turns = "setp.eq.s32 %p1, %r2, 0;\n@%p1 bra x;\nmov.b32 %r3, 1;\nx:\n";
  const std::string store = "mov.b32 %r4, sh;\nadd.s32 %r4, %r4, %r2;\nst.shared.b32 [%r4], %r1;\n";
  EXPECT_TRUE(GoTheSameWay("mov.u32 %r2, %tid.x;\n" + turns + store));
  EXPECT_TRUE(GoTheSameWay(block + held + "st.shared.b32 [sh], %r2;\n"));
  for (const std::string& differs : {block, held, std::string("ld.shared.b32 %r2, [sh];\n")}) {
    EXPECT_FALSE(GoTheSameWay(differs + turns));
    EXPECT_FALSE(GoTheSameWay(differs + store));
    // Whether a store is made may differ, not where, nor what else is led past.
    const std::string decides = differs + "setp.eq.s32 %p1, %r2, 0;\n";
    EXPECT_TRUE(GoTheSameWay(decides + "@%p1 st.shared.b32 [sh], %r1;\n"));
    EXPECT_TRUE(GoTheSameWay(decides + "@%p1 bra x;\nst.shared.b32 [sh], %r1;\nx:\n"));
    EXPECT_TRUE(
        GoTheSameWay(decides + "@%p1 bra y;\nbra.uni x;\ny:\nst.shared.b32 [sh], %r1;\nx:\n"));
    EXPECT_FALSE(GoTheSameWay(decides + "@%p1 bra y;\nbra.uni x;\ny:\nmov.b32 %r6, 1;\nx:\n"));
    EXPECT_FALSE(GoTheSameWay(decides + "@%p1 st.shared.b32 [%r2], %r1;\n"));
    EXPECT_FALSE(GoTheSameWay(decides + "@%p1 bra x;\nld.shared.b32 %r3, [sh];\nx:\n"));
    EXPECT_FALSE(GoTheSameWay(decides + "@%p1 bra x;\nst.shared.b32 [%r2], %r1;\nx:\n"));
    EXPECT_FALSE(GoTheSameWay(differs + "setp.eq.s32 %p1, %r2, 0;\n@%p1 bar.sync 0;\n"));
    EXPECT_FALSE(GoTheSameWay(differs + "setp.eq.s32 %p1, %r2, 0;\nmov.b32 %r5, 0;\n"
                                        "@%p1 mov.b32 %r5, 4;\nst.shared.b32 [%r5], %r1;\n"));
  }
  EXPECT_FALSE(GoTheSameWay("st.b32 [%rd1], %r1;\n"));
}

TEST(PtxChecks, OrdersArePermutations) {
  for (const uint64_t count : {1u, 2u, 3u, 31u, 32u, 1000u}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = ShuffledIndex(i, count, 7);
      EXPECT_LT(at, count);
      seen.insert(at);
    }
    EXPECT_EQ(seen.size(), count);
  }
  EXPECT_NE(ShuffledLanes(1), ShuffledLanes(2));
}

TEST(PtxChecks, AShuffledOrderIsSeen) {
  // The last block that stores wins.
  const auto last = [](std::optional<uint64_t> seed) {
    LaunchOptions options;
    options.shuffle = seed;
    return RunKernel("mov.u32 %r4, %ctaid.x;\nst.global.b32 [%rd3], %r4;", {}, {}, 4, 1, 64,
                     options)
        .As<uint32_t>(2)[0];
  };
  EXPECT_EQ(last({}), 63u);
  EXPECT_NE(last(1), 63u);
  EXPECT_EQ(last(1), last(1));
}

// What one block leaves where others add to it is not what it computes.
TEST(PtxChecks, KnowWhatSeveralBlocksUpdate) {
  const auto updates = [](const std::string& body) {
    const auto module = Module::Parse(KernelText(body), "k.ptx");
    EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
    if (!module.has_value()) return false;
    const auto kernel = KernelOf(*module, "k");
    return kernel.has_value() && FactsOf(**kernel).updates_global;
  };
  EXPECT_FALSE(updates("st.global.b32 [%rd3], %r1;"));
  EXPECT_FALSE(updates("mov.b32 %r2, sh;\natom.shared.add.u32 %r3, [%r2], %r1;"));
  EXPECT_TRUE(updates("red.global.add.u32 [%rd3], %r1;"));
  EXPECT_TRUE(
      updates("mov.b32 %r2, sh;\ncp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
              "[%rd3], [%r2], 16;"));
}

}  // namespace
}  // namespace hloscope::ptx
