// Clusters of several blocks: what they see of each other, and what checks say of it. Results are
// worked out here, thread by thread.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/ptx/checks/shadow_memory.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

// %r2 is the address of sh, %r3 the rank of the block, %r5 the address of this thread's word, %p1
// holds of thread 0, %r20 is the thread's number in the grid and %rd7 the address of its result.
const std::string kStart =
    "mov.b32 %r2, sh;\nmov.u32 %r3, %cluster_ctarank;\nshl.b32 %r4, %r1, 2;\n"
    "add.s32 %r5, %r2, %r4;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r21, %ctaid.x;\n"
    "mov.u32 %r22, %ntid.x;\nmad.lo.u32 %r20, %r21, %r22, %r1;\nmul.wide.u32 %rd4, %r20, 4;\n"
    "add.s64 %rd7, %rd3, %rd4;\n";
const std::string kMeet = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n";

std::string ClusterText(const std::string& body, const std::string& cluster = "2, 1, 1",
                        const std::string& target = "sm_90a") {
  std::string text = KernelText(kStart + body, target);
  SeenTexts().insert(text);
  return text.replace(text.find(")\n{"), 3, ")\n.reqnctapercluster " + cluster + "\n{");
}

struct ClusterRun {
  std::vector<uint32_t> out;
  LaunchResult result;
  std::string error;
};

ClusterRun RunClusters(const std::string& body, uint32_t blocks = 4, uint32_t threads = 64,
                       const std::string& cluster = "2, 1, 1", LaunchOptions options = {},
                       const std::string& target = "sm_90a") {
  ClusterRun run;
  const auto module = Module::Parse(ClusterText(body, cluster, target), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().ToString());
  if (!module) return run;
  std::vector<std::byte> memory[3];
  std::vector<uint32_t> input(1024);
  for (uint32_t i = 0; i < input.size(); ++i) input[i] = 3 * i + 1;
  memory[0] = memory[1] = Bytes(input);
  memory[2].resize(size_t{4} * blocks * threads);
  LaunchRequest request;
  request.entry = "k";
  request.grid = {blocks, 1, 1};
  request.block = {threads, 1, 1};
  request.dynamic_shared_bytes = 1024;
  for (auto& bytes : memory) request.arguments.push_back({bytes, {}});
  ShadowMemory shadow;
  if (options.checks.any()) {
    shadow.Add(memory[0], true);
    shadow.Add(memory[2], false);
    options.checks.memory = &shadow;
  }
  auto result = Launch(*module, request, options);
  if (!result) {
    run.error = result.error().ToString();
    return run;
  }
  run.result = *std::move(result);
  run.out.resize(memory[2].size() / 4);
  std::memcpy(run.out.data(), memory[2].data(), memory[2].size());
  return run;
}

void ExpectResults(const ClusterRun& run, const std::function<uint32_t(uint32_t, uint32_t)>& value,
                   uint32_t threads = 64) {
  ASSERT_EQ(run.error, "");
  ASSERT_FALSE(run.result.fault.has_value()) << run.result.fault->ToString();
  for (uint32_t i = 0; i < run.out.size(); ++i)
    ASSERT_EQ(run.out[i], value(i / threads, i % threads))
        << "block " << i / threads << " thread " << i % threads;
}

TEST(PtxClusters, SpecialRegisters) {
  // A grid of 4 x 6 x 2 in clusters of 2 x 3 x 1.
  std::string body;
  const char* kNames[] = {"%clusterid.x",      "%clusterid.y",     "%nclusterid.x",
                          "%nclusterid.y",     "%nclusterid.z",    "%cluster_ctaid.x",
                          "%cluster_ctaid.y",  "%cluster_ctaid.z", "%cluster_nctaid.x",
                          "%cluster_nctaid.y", "%cluster_ctarank", "%cluster_nctarank"};
  body =
      "mov.u32 %r30, %ctaid.y;\nmov.u32 %r31, %ctaid.z;\nmad.lo.u32 %r32, %r31, 6, %r30;\n"
      "mad.lo.u32 %r32, %r32, 4, %r21;\nmul.wide.u32 %rd8, %r32, 48;\nadd.s64 %rd8, %rd3, %rd8;\n";
  for (size_t i = 0; i < std::size(kNames); ++i) {
    body += "mov.u32 %r33, " + std::string(kNames[i]) + ";\nst.global.b32 [%rd8+" +
            std::to_string(4 * i) + "], %r33;\n";
  }
  const auto module = Module::Parse(ClusterText(body, "2, 3"), "k.ptx");
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->entries()[0].required_cluster, (std::array<uint32_t, 3>{2, 3, 1}));
  std::vector<std::byte> memory(48 * 48), none(4);
  LaunchRequest request;
  request.entry = "k";
  request.grid = {4, 6, 2};
  request.dynamic_shared_bytes = 1024;
  request.arguments = {{none, {}}, {none, {}}, {memory, {}}};
  for (const int threads : {1, 3}) {
    LaunchOptions options;
    options.threads = threads;
    const auto result = Launch(*module, request, options);
    ASSERT_TRUE(result.has_value()) << result.error().ToString();
    for (uint32_t z = 0; z < 2; ++z) {
      for (uint32_t y = 0; y < 6; ++y) {
        for (uint32_t x = 0; x < 4; ++x) {
          uint32_t got[12];
          std::memcpy(got, memory.data() + 48 * (x + 4 * (y + 6 * z)), 48);
          const uint32_t expected[12] = {
              x / 2, y / 3, 2, 2, 2, x % 2, y % 3, 0, 2, 3, x % 2 + 2 * (y % 3), 6};
          for (int i = 0; i < 12; ++i) EXPECT_EQ(got[i], expected[i]) << kNames[i];
        }
      }
    }
  }
}

// Each block reads what the next one of its cluster has stored, by three ways.
TEST(PtxClusters, ReadTheSharedMemoryOfOthers) {
  const std::string next = "mad.lo.u32 %r6, %r20, 7, 5;\nst.shared.b32 [%r5], %r6;\n" + kMeet +
                           "add.u32 %r7, %r3, 1;\nrem.u32 %r7, %r7, 4;\n";
  const std::string end = kMeet + "st.global.b32 [%rd7], %r9;";
  const auto value = [](uint32_t block, uint32_t thread) {
    const uint32_t other = block / 4 * 4 + (block + 1) % 4;
    return (other * 64 + thread) * 7 + 5;
  };
  ExpectResults(RunClusters(next +
                                "mapa.shared::cluster.u32 %r8, %r5, %r7;\n"
                                "ld.shared::cluster.b32 %r9, [%r8];\n" +
                                end,
                            8, 64, "4, 1, 1"),
                value);
  ExpectResults(RunClusters(next +
                                "cvt.u64.u32 %rd8, %r5;\ncvta.shared.u64 %rd8, %rd8;\n"
                                "mapa.u64 %rd9, %rd8, %r7;\nld.b32 %r9, [%rd9];\n" +
                                end,
                            8, 64, "4, 1, 1"),
                value);
  ExpectResults(RunClusters(next +
                                "mapa.shared::cluster.u32 %r8, sh, %r7;\nadd.s32 %r8, %r8, %r4;\n"
                                "getctarank.shared::cluster.u32 %r10, %r8;\n"
                                "ld.shared::cluster.b32 %r9, [%r8];\n"
                                "sub.u32 %r10, %r10, %r7;\nadd.u32 %r9, %r9, %r10;\n" +
                                end,
                            8, 64, "4, 1, 1"),
                value);
}

// Threads that have returned are not waited for, and their arrivals do not count for others: the
// second warp of the first block stores last, and the first warp reads behind the barrier.
TEST(PtxClusters, BarriersAfterReturns) {
  const std::string slow =
      "setp.lt.u32 %p2, %r1, 32;\n@%p2 bra meet;\nmov.b32 %r10, 0;\nspin:\n"
      "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p3, %r10, 500;\n@%p3 bra spin;\n"
      "st.shared.b32 [%r5], %r20;\nmeet:\n";
  const std::string read =
      kMeet +
      "xor.b32 %r8, %r4, 128;\nadd.s32 %r8, %r2, %r8;\nld.shared.b32 %r9, [%r8];\n"
      "@!%p2 mov.b32 %r9, 7;\nst.global.b32 [%rd7], %r9;";
  const auto expected = [](uint32_t block, uint32_t thread) {
    return block % 2 != 0 ? 0u : thread < 32 ? block * 64 + thread + 32 : 7u;
  };
  const std::string of_second = "setp.eq.u32 %p4, %r3, 1;\n";
  ExpectResults(RunClusters(of_second + "@%p4 ret;\n" + slow + read), expected);
  ExpectResults(
      RunClusters(of_second + "@%p4 barrier.cluster.arrive.release;\n@%p4 ret;\n" + slow + read),
      expected);
  // One warp of the second block has returned; the other one is waited for.
  ExpectResults(RunClusters(of_second + "setp.ge.and.u32 %p5, %r1, 32, %p4;\n" +
                            "@%p5 barrier.cluster.arrive.release;\n@%p5 ret;\n" + slow +
                            "@%p4 bra "
                            "last;\n" +
                            read + "\nret;\nlast:\n" + kMeet),
                expected);
}

// All threads of the cluster add to a word of the first block, which tells all.
TEST(PtxClusters, AtomicsOnTheFirstBlock) {
  const auto run = RunClusters(
      "@%p1 st.shared.b32 [%r2], 0;\n" + kMeet +
      "mapa.shared::cluster.u32 %r8, %r2, 0;\n"
      "atom.shared::cluster.add.u32 %r9, [%r8], %r20;\nred.shared::cluster.add.u32 [%r8], 1;\n" +
      kMeet + "ld.shared::cluster.b32 %r9, [%r8];\n" + kMeet + "st.global.b32 [%rd7], %r9;");
  ExpectResults(run, [](uint32_t block, uint32_t) {
    uint32_t sum = 128;
    for (uint32_t i = 0; i < 128; ++i) sum += block / 2 * 128 + i;
    return sum;
  });
}

// The other block's mbarrier: bytes of st.async and red.async, and an arrival.
TEST(PtxClusters, AsynchronousStoresArriveThere) {
  const std::string start =
      "@%p1 mbarrier.init.shared::cta.b64 [%r2+2048], 1;\nst.shared.b32 [%r5], 100;\n"
      "xor.b32 %r7, %r3, 1;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n"
      "mapa.shared::cluster.u32 %r9, %r2, %r7;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+2048], 256;\n" +
      kMeet;
  const std::string end =
      "wait:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2+2048], 0;\n"
      "@!%p2 bra wait;\nld.shared.b32 %r11, [%r5];\nst.global.b32 [%rd7], %r11;\n" +
      kMeet;
  const auto other = [](uint32_t block, uint32_t thread) { return (block ^ 1) * 64 + thread; };
  ExpectResults(
      RunClusters(start +
                  "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r20, "
                  "[%r9+2048];\n" +
                  end),
      other);
  const auto reduced = [&](const std::string& operation) {
    return RunClusters(start +
                       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                       "bytes." +
                       operation + " [%r8], %r20, [%r9+2048];\n" + end);
  };
  ExpectResults(reduced("add.u32"), [&](uint32_t b, uint32_t t) { return 100 + other(b, t); });
  ExpectResults(reduced("max.s32"),
                [&](uint32_t b, uint32_t t) { return std::max(100u, other(b, t)); });
  ExpectResults(reduced("min.u32"),
                [&](uint32_t b, uint32_t t) { return std::min(100u, other(b, t)); });
  ExpectResults(reduced("xor.b32"), [&](uint32_t b, uint32_t t) { return 100 ^ other(b, t); });
  ExpectResults(reduced("and.b32"), [&](uint32_t b, uint32_t t) { return 100 & other(b, t); });
  ExpectResults(reduced("or.b32"), [&](uint32_t b, uint32_t t) { return 100 | other(b, t); });
  ExpectResults(reduced("inc.u32"),
                [&](uint32_t b, uint32_t t) { return 100 >= other(b, t) ? 0u : 101u; });
  ExpectResults(reduced("dec.u32"),
                [&](uint32_t b, uint32_t t) { return 100 > other(b, t) ? other(b, t) : 99u; });
  // Arrivals of the other block's threads, in turns of 64.
  ExpectResults(
      RunClusters(
          "@%p1 mbarrier.init.shared::cta.b64 [%r2+2048], 64;\nxor.b32 %r7, %r3, 1;\n"
          "mapa.shared::cluster.u32 %r8, %r5, %r7;\nmapa.shared::cluster.u32 %r9, %r2, %r7;\n" +
          kMeet +
          "st.shared::cluster.b32 [%r8], %r20;\n"
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9+2048];\n" +
          end),
      other);
}

// The first block of four copies to those that the mask names; another copies its own on.
TEST(PtxClusters, BulkCopiesToOthers) {
  const std::string start =
      "st.shared.b32 [%r5], 9;\n@%p1 mbarrier.init.shared::cta.b64 [%r2+2048], 1;\n" + kMeet;
  const std::string wait =
      "wait:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2+2048], 0;\n"
      "@!%p2 bra wait;\n";
  const auto run =
      RunClusters(start +
                      "setp.ne.u32 %p3, %r3, 2;\nand.pred %p4, %p1, %p3;\n"
                      "@%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+2048], 256;\n" +
                      kMeet +
                      "setp.eq.and.u32 %p5, %r3, 0, %p1;\nmov.b16 %rs1, 11;\n"
                      "@%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                      "multicast::cluster [%r2], [%rd1], 256, [%r2+2048], %rs1;\n"
                      "@!%p3 bra done;\n" +
                      wait +
                      "done:\nld.shared.b32 %r11, [%r5];\n"
                      "st.global.b32 [%rd7], %r11;\n" +
                      kMeet,
                  8, 64, "4, 1, 1");
  ExpectResults(
      run, [](uint32_t block, uint32_t thread) { return block % 4 == 2 ? 9 : 3 * thread + 1; });
  EXPECT_EQ(run.result.counters.global_read_bytes, 2u * 256) << "once for each of two clusters";
  const auto on = RunClusters(
      start +
      "st.shared.b32 [%r5+1024], %r20;\nfence.proxy.async.shared::cta;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+2048], 256;\n" +
      kMeet +
      "xor.b32 %r7, %r3, 1;\nmapa.shared::cluster.u32 %r9, %r2, %r7;\nadd.u32 %r10, %r2, 1024;\n"
      "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [%r10], "
      "256, [%r9+2048];\n" +
      wait + "ld.shared.b32 %r11, [%r5];\nst.global.b32 [%rd7], %r11;\n" + kMeet);
  ExpectResults(on, [](uint32_t block, uint32_t thread) { return (block ^ 1) * 64 + thread; });
}

// One block commits its products to barriers of three of four; the third has its own thread arrive.
TEST(PtxClusters, CommitsToSeveralBlocks) {
  const auto run = RunClusters(
      "@%p1 mbarrier.init.shared::cta.b64 [%r2], 1;\n" + kMeet +
          "setp.eq.and.u32 %p5, %r3, 0, %p1;\nmov.b16 %rs1, 11;\n"
          "@%p5 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
          "multicast::cluster.b64 [%r2], %rs1;\n"
          "setp.eq.and.u32 %p6, %r3, 2, %p1;\n"
          "@%p6 mbarrier.arrive.shared::cta.b64 _, [%r2];\n"
          "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra wait;\n"
          "st.global.b32 [%rd7], %r20;\n" +
          kMeet,
      4, 64, "4, 1, 1", {}, "sm_100a");
  ExpectResults(run, [](uint32_t block, uint32_t thread) { return 64 * block + thread; });
}

// No cluster is canceled: each block asks, is told so, and does its own work.
TEST(PtxClusters, NoLaunchIsCanceled) {
  for (const std::string form : {"", ".multicast::cluster::all"}) {
    const bool all = !form.empty();
    const std::string body =
        ".reg .b128 %rq<2>;\n@%p1 mbarrier.init.shared::cta.b64 [%r2+2048], 1;\n"
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+2048], 16;\n" +
        kMeet + (all ? "setp.eq.and.u32 %p3, %r3, 0, %p1;\n" : "and.pred %p3, %p1, %p1;\n") +
        "add.u32 %r6, %r2, 2048;\n"
        "@%p3 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes" +
        form +
        ".b128 [%r2], [%r6];\nwait:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2+2048], 0;\n"
        "@!%p2 bra wait;\nld.shared.b128 %rq0, [%r2];\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %rq0;\n"
        "@%p4 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r10, %r11, %r12, "
        "%r13}, %rq0;\n@%p4 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r10, "
        "%rq0;\nselp.b32 %r11, 1000, 0, %p4;\nadd.u32 %r11, %r11, %r20;\n"
        "st.global.b32 [%rd7], %r11;\n" +
        kMeet;
    ExpectResults(RunClusters(body, 4, 64, "2, 1, 1", {}, "sm_100a"),
                  [](uint32_t block, uint32_t thread) { return block * 64 + thread; });
    if (std::system("ptxas --version > /dev/null 2>&1") != 0) continue;
    const auto path =
        std::filesystem::temp_directory_path() /
        ("hloscope_cancel_" + std::to_string(reinterpret_cast<uintptr_t>(&body)) + ".ptx");
    std::ofstream(path) << ClusterText(body, "2, 1, 1", "sm_100a");
    EXPECT_EQ(std::system(("ptxas -arch=sm_100a " + path.string() + " -o /dev/null").c_str()), 0);
    std::filesystem::remove(path);
  }
}

TEST(PtxClusters, WhatASpaceHolds) {
  const auto run = RunClusters(
      "cvt.u64.u32 %rd8, %r2;\ncvta.shared.u64 %rd8, %rd8;\nxor.b32 %r7, %r3, 1;\n"
      "mapa.u64 %rd9, %rd8, %r7;\nmapa.u64 %rd10, %rd8, %r3;\nmov.b32 %r9, 0;\n"
      "isspacep.shared::cluster %p2, %rd9;\n@%p2 or.b32 %r9, %r9, 1;\n"
      "isspacep.shared::cta %p2, %rd9;\n@%p2 or.b32 %r9, %r9, 2;\n"
      "isspacep.shared::cta %p2, %rd10;\n@%p2 or.b32 %r9, %r9, 4;\n"
      "isspacep.shared::cluster %p2, %rd8;\n@%p2 or.b32 %r9, %r9, 8;\n"
      "getctarank.u64 %r10, %rd9;\nshl.b32 %r10, %r10, 4;\nor.b32 %r9, %r9, %r10;\n"
      "getctarank.u64 %r10, %rd8;\nshl.b32 %r10, %r10, 8;\nor.b32 %r9, %r9, %r10;\n"
      "st.global.b32 [%rd7], %r9;");
  ExpectResults(run, [](uint32_t block, uint32_t) {
    const uint32_t rank = block % 2;
    return 1 | 4 | 8 | (rank ^ 1) << 4 | rank << 8;
  });
}

TEST(PtxClusters, FaultsAreNamed) {
  const auto fault = [](const std::string& body) {
    const ClusterRun run = RunClusters(body, 4, 32);
    return run.result.fault.has_value() ? run.result.fault->what : "no fault: " + run.error;
  };
  EXPECT_EQ(fault("mapa.shared::cluster.u32 %r8, %r2, 2;"), "block 2 of a cluster of 2");
  // The first block has ended when the second one reads.
  EXPECT_EQ(fault("setp.eq.u32 %p2, %r3, 0;\n@%p2 ret;\nmapa.shared::cluster.u32 %r8, %r2, 0;\n"
                  "ld.shared::cluster.b32 %r9, [%r8];"),
            "reads 4 bytes of the shared memory of block 0 of its cluster, which has ended");
  EXPECT_EQ(fault("xor.b32 %r7, %r3, 1;\nmapa.shared::cluster.u32 %r8, %r2, %r7;\n"
                  "ld.shared.b32 %r9, [%r8];\n" +
                  kMeet),
            "reads 4 bytes of the shared memory of block 1 of its cluster, which only "
            ".shared::cluster and generic addresses reach");
  EXPECT_EQ(fault("setp.eq.u32 %p2, %r3, 0;\n@%p2 barrier.cluster.arrive;\n"
                  "@%p2 barrier.cluster.wait;\nbar.sync 1, 64;"),
            "a barrier that not all threads of the block reach");
  EXPECT_EQ(fault("@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                  "multicast::cluster [%r2], [%rd1], 256, [%r2+2048], %rs1;\n"
                  "mov.b16 %rs1, 4;\n@%p1 cp.async.bulk.shared::cluster.global.mbarrier::"
                  "complete_tx::bytes.multicast::cluster [%r2], [%rd1], 256, [%r2+2048], %rs1;\n" +
                  kMeet),
            "a multicast to a block that its cluster does not have");
}

TEST(PtxClusters, LaunchesThatNoDeviceMakes) {
  EXPECT_NE(RunClusters("", 3, 32).error.find("3 blocks, which is not a multiple of the 2 of its"),
            std::string::npos);
  LaunchOptions checked;
  checked.checks.race = true;
  EXPECT_NE(RunClusters("", 2, 1024, "2, 1, 1", checked).error.find("more than 32 warps"),
            std::string::npos);
  const auto module = Module::Parse(ClusterText(""), "k.ptx");
  LaunchRequest request;
  request.entry = "k";
  request.grid = {4, 1, 1};
  request.cluster = {4, 1, 1};
  std::vector<std::byte> memory(4);
  request.arguments = {{memory, {}}, {memory, {}}, {memory, {}}};
  const auto result = Launch(*module, request);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find(".reqnctapercluster"), std::string::npos);
}

// A cluster size of the launch alone.
TEST(PtxClusters, TheLaunchMaySayTheSize) {
  const auto module = Module::Parse(
      KernelText(kStart + "mov.u32 %r9, %cluster_nctarank;\nst.global.b32 [%rd7], %r9;"), "k.ptx");
  LaunchRequest request;
  request.entry = "k";
  request.grid = {6, 1, 1};
  request.cluster = {3, 1, 1};
  request.dynamic_shared_bytes = 1024;
  std::vector<std::byte> memory(24), none(4);
  request.arguments = {{none, {}}, {none, {}}, {memory, {}}};
  const auto result = Launch(*module, request);
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  for (int i = 0; i < 6; ++i) {
    uint32_t blocks;
    std::memcpy(&blocks, memory.data() + 4 * i, 4);
    EXPECT_EQ(blocks, 3u);
  }
}

std::vector<std::string> Found(const std::string& body, bool race, bool uninitialised,
                               const std::string& cluster = "2, 1, 1") {
  LaunchOptions options;
  options.checks.race = race;
  options.checks.uninitialised = uninitialised;
  const ClusterRun run = RunClusters(body, 4, 64, cluster, options);
  EXPECT_EQ(run.error, "");
  if (run.result.fault.has_value()) ADD_FAILURE() << run.result.fault->ToString();
  std::vector<std::string> texts;
  for (const Finding& finding : run.result.findings) texts.push_back(finding.ToString());
  return texts;
}

TEST(PtxClusters, RacesBetweenBlocks) {
  const std::string stores = "st.shared.b32 [%r5], %r20;\n",
                    loads =
                        "xor.b32 %r7, %r3, 1;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n"
                        "ld.shared::cluster.b32 %r9, [%r8];\nst.global.b32 [%rd7], %r9;\n";
  EXPECT_TRUE(Found(stores + kMeet + loads + kMeet, true, true).empty());
  const auto missing = Found(stores + loads + kMeet, true, false);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_NE(missing[0].find("a thread of another block of its cluster"), std::string::npos)
      << missing[0];
  EXPECT_NE(missing[0].find("with no barrier.cluster between"), std::string::npos) << missing[0];
  // A barrier of each block is none between them.
  EXPECT_EQ(Found(stores + "bar.sync 0;\n" + loads + kMeet, true, false).size(), 1u);
  // What the other overwrites afterwards.
  EXPECT_EQ(Found(stores + kMeet + loads + "st.shared.b32 [%r5], 7;\n" + kMeet, true, false).size(),
            1u);
}

TEST(PtxClusters, WaitsForTheBytesOfOthers) {
  const std::string start =
      "@%p1 mbarrier.init.shared::cta.b64 [%r2+2048], 1;\nxor.b32 %r7, %r3, 1;\n"
      "mapa.shared::cluster.u32 %r8, %r5, %r7;\nmapa.shared::cluster.u32 %r9, %r2, %r7;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+2048], 256;\n" +
      kMeet +
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r20, [%r9+2048];\n";
  const std::string wait =
      "wait:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2+2048], 0;\n"
      "@!%p2 bra wait;\n";
  const std::string end = "ld.shared.b32 %r11, [%r5];\nst.global.b32 [%rd7], %r11;\n" + kMeet;
  EXPECT_TRUE(Found(start + wait + end, true, true).empty());
  EXPECT_FALSE(Found(start + end, true, false).empty());
}

TEST(PtxClusters, UninitialisedMemoryOfOthers) {
  const std::string loads =
      "xor.b32 %r7, %r3, 1;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n"
      "ld.shared::cluster.b32 %r9, [%r8];\nst.global.b32 [%rd7], %r9;\n" +
      kMeet;
  EXPECT_EQ(Found("@%p1 st.shared.b32 [%r5], 1;\n" + kMeet + loads, false, true).size(), 1u);
  // Of the other block alone: it is as good as written.
  EXPECT_TRUE(Found("xor.b32 %r7, %r3, 1;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n"
                    "st.shared::cluster.b32 [%r8], %r20;\n" +
                        kMeet + "ld.shared.b32 %r9, [%r5];\nst.global.b32 [%rd7], %r9;\n",
                    true, true)
                  .empty());
}

TEST(PtxClusters, TheAssemblerTakesThem) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no ptxas here";
  const std::string text = ClusterText(
      kMeet +
      "mapa.shared::cluster.u32 %r8, %r5, 1;\nmapa.u64 %rd9, %rd8, %r7;\n"
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r8], %rd9, "
      "[%r8];\nred.async.relaxed.cluster.mbarrier::complete_tx::bytes.dec.u32 [%r8], %r9, [%r8];\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8], 2;\n"
      "getctarank.shared::cluster.u32 %r10, %r8;\n");
  const auto path =
      std::filesystem::temp_directory_path() /
      ("hloscope_cluster_" + std::to_string(reinterpret_cast<uintptr_t>(&text)) + ".ptx");
  std::ofstream(path) << text;
  EXPECT_EQ(std::system(("ptxas -arch=sm_90a " + path.string() + " -o /dev/null").c_str()), 0);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hloscope::ptx
