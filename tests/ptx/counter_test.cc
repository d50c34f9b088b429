// Counters of a launch: operations, products, sectors of global memory, conflicts of shared memory.
#include <fmt/format.h>

#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

Counters Counted(const std::string& body, uint32_t threads = 32, bool traffic = true,
                 const std::string& target = "sm_90a") {
  LaunchOptions options;
  options.count_traffic = traffic;
  const std::vector<std::byte> memory(1 << 14);
  return RunKernel(body, memory, memory, 1 << 14, threads, 1, options, target).result.counters;
}

// Lanes load `form` from the first argument, `stride` bytes apart, the first at byte `offset`.
uint64_t ReadSectors(const std::string& form, uint32_t stride, uint32_t offset = 0) {
  const std::string into = form.find("v4") != std::string::npos   ? "{%r10, %r11, %r12, %r13}"
                           : form.find("v2") != std::string::npos ? "{%r10, %r11}"
                                                                  : "%r10";
  return Counted(fmt::format("mul.wide.u32 %rd5, %r1, {};\nadd.s64 %rd6, %rd1, %rd5;\n"
                             "ld.global.{} {}, [%rd6+{}];",
                             stride, form, into, offset))
      .global_read_sectors;
}

TEST(PtxCounters, SectorsOfGlobalMemoryAreThoseThatAWarpTouches) {
  EXPECT_EQ(ReadSectors("b32", 4), 4u);
  EXPECT_EQ(ReadSectors("b32", 4, 4), 5u) << "one sector more where it does not begin with one";
  EXPECT_EQ(ReadSectors("b32", 0), 1u) << "all lanes read one word";
  EXPECT_EQ(ReadSectors("b32", 8), 8u);
  EXPECT_EQ(ReadSectors("b32", 32), 32u);
  EXPECT_EQ(ReadSectors("b32", 128), 32u);
  EXPECT_EQ(ReadSectors("v4.b32", 16), 16u);
  EXPECT_EQ(ReadSectors("v2.b32", 64), 32u);
}

TEST(PtxCounters, SectorsInAnyOrderOfLanesCountOnce) {
  // Lane i reads word i ^ 5: the same four sectors.
  EXPECT_EQ(Counted("xor.b32 %r2, %r1, 5;\nmul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd6, %rd1, "
                    "%rd5;\nld.global.b32 %r3, [%rd6];")
                .global_read_sectors,
            4u);
}

TEST(PtxCounters, OnlyActiveLanesTouchSectors) {
  const Counters counters = Counted(
      "setp.lt.u32 %p1, %r1, 8;\nadd.s64 %rd6, %rd3, %rd4;\n@%p1 st.global.b32 [%rd6], %r1;");
  EXPECT_EQ(counters.global_written_sectors, 1u);
  EXPECT_EQ(counters.global_written_bytes, 32u);
  EXPECT_EQ(counters.touched_bytes, 32u);
}

TEST(PtxCounters, LoadsOfGlobalMemoryAreCountedByWarp) {
  EXPECT_EQ(
      Counted("ld.global.b32 %r2, [%rd1];\nld.global.v2.b32 {%r3, %r4}, [%rd1];").global_loads, 2u);
  EXPECT_EQ(Counted("st.global.b32 [%rd3], %r1;").global_loads, 0u);
  EXPECT_EQ(Counted("atom.global.add.u32 %r2, [%rd3], 1;").global_loads, 1u);
}

TEST(PtxCounters, TouchedBytesAreAtMostThoseOfTheArgument) {
  LaunchOptions options;
  options.count_traffic = true;
  const Ran ran = RunKernel("ld.global.b32 %r2, [%rd1];\nld.global.b32 %r3, [%rd1+4];",
                            std::vector<std::byte>(8), {}, 0, 64, 10, options);
  EXPECT_EQ(ran.result.counters.global_read_bytes, 2u * 4 * 64 * 10);
  EXPECT_EQ(ran.result.counters.touched_bytes, 8u);
}

uint64_t Conflicts(const std::string& form, uint32_t stride) {
  const std::string into = form.find("v4") != std::string::npos    ? "{%r10, %r11, %r12, %r13}"
                           : form.find("b64") != std::string::npos ? "%rd10"
                                                                   : "%r10";
  return Counted(fmt::format("mov.b32 %r2, sh;\nmul.lo.s32 %r3, %r1, {};\nadd.s32 %r4, %r2, %r3;\n"
                             "ld.shared.{} {}, [%r4];",
                             stride, form, into))
      .shared_read_conflicts;
}

TEST(PtxCounters, BanksGiveOneWordATurn) {
  EXPECT_EQ(Conflicts("b32", 4), 0u);
  EXPECT_EQ(Conflicts("b32", 0), 0u) << "one word for all";
  EXPECT_EQ(Conflicts("b32", 8), 1u);
  EXPECT_EQ(Conflicts("b32", 16), 3u);
  EXPECT_EQ(Conflicts("b32", 128), 31u);
  EXPECT_EQ(Conflicts("b32", 124), 0u) << "an odd number of words apart";
  EXPECT_EQ(Conflicts("b64", 8), 0u);
  EXPECT_EQ(Conflicts("b64", 16), 2u) << "each half of the warp one turn more";
  EXPECT_EQ(Conflicts("v4.b32", 16), 0u);
  EXPECT_EQ(Conflicts("v4.b32", 32), 4u) << "each quarter of the warp one turn more";
}

TEST(PtxCounters, RowsOfMatricesConflict) {
  const auto counted = [](uint32_t stride) {
    return Counted(
               fmt::format(
                   "mov.b32 %r2, sh;\nmul.lo.s32 %r3, %r1, {};\nadd.s32 %r4, %r2, %r3;\n"
                   "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r4];",
                   stride))
        .shared_read_conflicts;
  };
  EXPECT_EQ(counted(16), 0u);
  EXPECT_EQ(counted(128), 4u * 7) << "eight rows of each matrix in the same banks";
}

TEST(PtxCounters, OperationsOfFloatsAndProductsOfTensorCores) {
  const Counters floats = Counted(
      "mov.b32 %r2, 0f3f800000;\nfma.rn.f32 %r3, %r2, %r2, %r2;\nadd.rn.f32 %r4, %r3, %r2;\n"
      "max.f32 %r5, %r4, %r2;\nmov.b64 %rd5, 0d3ff0000000000000;\nmul.rn.f64 %rd6, %rd5, %rd5;");
  EXPECT_EQ(floats.float_operations, 3u * 32) << "a maximum is none";
  EXPECT_EQ(floats.double_operations, 32u);
  const Counters product = Counted(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r10, %r11, %r12, %r13}, {%r2, %r3, "
      "%r4, %r5}, {%r6, %r7}, {%r20, %r21, %r22, %r23};");
  EXPECT_EQ(product.products_16bit, 16u * 8 * 16);
  EXPECT_EQ(product.products_tf32 + product.products_8bit + product.products_f64, 0u);
  EXPECT_EQ(product.tensor, 32u);
}

TEST(PtxCounters, ParametersAreNotLocalMemory) { EXPECT_EQ(Counted("").local_bytes, 0u); }

// What is counted changes neither results nor the other counts.
TEST(PtxCounters, TrafficIsCountedOnlyWhenItIsAskedFor) {
  const std::string body =
      "add.s64 %rd5, %rd1, %rd4;\nld.global.b32 %r2, [%rd5];\nadd.s64 %rd6, %rd3, "
      "%rd4;\nst.global.b32 [%rd6], %r2;";
  const Counters with = Counted(body, 64), without = Counted(body, 64, false);
  EXPECT_EQ(with.threads(), without.threads());
  EXPECT_EQ(with.warp_instructions, without.warp_instructions);
  EXPECT_EQ(with.global_read_bytes, without.global_read_bytes);
  EXPECT_EQ(with.global_read_sectors, 8u);
  EXPECT_EQ(without.global_read_sectors, 0u);
  EXPECT_EQ(without.touched_bytes, 0u);
}

TEST(PtxCounters, TrafficIsTheSameForAnyNumberOfThreads) {
  const auto run = [](int threads) {
    LaunchOptions options;
    options.count_traffic = true;
    options.threads = threads;
    return RunKernel("add.s64 %rd5, %rd3, %rd4;\nst.global.b32 [%rd5], %r1;", {}, {}, 4 * 96, 96, 9,
                     options)
        .result.counters;
  };
  EXPECT_EQ(run(1).global_written_sectors, 9u * 12);
  EXPECT_EQ(run(4).global_written_sectors, 9u * 12);
  EXPECT_EQ(run(4).touched_bytes, 4u * 96);
}

}  // namespace
}  // namespace hloscope::ptx
