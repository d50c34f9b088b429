// Bytes, sectors and touched bytes of every way to access memory, worked out by hand, and that
// accesses.def has a row for each operation.
#include <fmt/format.h>

#include <set>
#include <sstream>

#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

struct Row {
  std::string operation, modifiers, operands;
};

TEST(PtxAccesses, EveryOperationThatHasAnAddressHasARow) {
  const std::set<std::string> known = {
#define ACCESSES(operation, ...) #operation,
#define NO_ACCESS(operation, why) #operation,
#include "core/ptx/ir/accesses.def"
#undef ACCESSES
#undef NO_ACCESS
  };
  std::set<std::string> wanted = {
#define OPERATION(enumerator, counted) \
  std::string_view(#counted) == "kMemory" ? #enumerator : "kNop",
#include "core/ptx/ir/operations.def"
#undef OPERATION
      // Their operands are descriptors.
      "kWarpGroupMultiply", "kWarpGroupMultiplyRegisters"};
  const std::vector<Row> rows = {
#define FORM(operation, opcode, modifiers, types, sources, operands) \
  {#operation, modifiers, operands},
#include "core/ptx/ir/opcodes.def"
#undef FORM
  };
  for (const Row& row : rows) {
    std::istringstream operands(row.operands);
    for (std::string operand; operands >> operand;)
      if (operand == "m" || operand == "t") wanted.insert(row.operation);
  }
  EXPECT_EQ(known, wanted);
}

Counters Counted(const std::string& body, uint32_t threads = 32,
                 const std::string& target = "sm_90a") {
  LaunchOptions options;
  options.count_traffic = true;
  const std::vector<std::byte> memory(1 << 14);
  const LaunchResult result =
      RunKernel(body, memory, memory, 1 << 14, threads, 1, options, target).result;
  EXPECT_FALSE(result.fault.has_value()) << result.fault->ToString();
  return result.counters;
}

// Bytes of global and shared memory, and what the sectors and arguments have of them.
struct Wanted {
  uint64_t global_read = 0, global_written = 0, shared_read = 0, shared_written = 0;
  uint64_t read_sectors = 0, written_sectors = 0, touched = 0;
};

void ExpectCounts(const Counters& counters, const Wanted& wanted, const std::string& what) {
  EXPECT_EQ(counters.global_read_bytes, wanted.global_read) << what;
  EXPECT_EQ(counters.global_written_bytes, wanted.global_written) << what;
  EXPECT_EQ(counters.shared_read_bytes, wanted.shared_read) << what;
  EXPECT_EQ(counters.shared_written_bytes, wanted.shared_written) << what;
  EXPECT_EQ(counters.global_read_sectors, wanted.read_sectors) << what;
  EXPECT_EQ(counters.global_written_sectors, wanted.written_sectors) << what;
  EXPECT_EQ(counters.touched_bytes, wanted.touched) << what;
}

constexpr char kRows[] = "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 4;\nadd.s32 %r3, %r2, %r3;\n";
constexpr char kFirst[] = "mov.b32 %r2, sh;\nsetp.eq.u32 %p1, %r1, 0;\n";
// A barrier at %r2, the copies behind it at %r3.
constexpr char kBarrier[] =
    "mov.b32 %r2, sh;\nadd.s32 %r3, %r2, 1024;\nsetp.eq.u32 %p1, %r1, 0;\n"
    "@%p1 mbarrier.init.shared::cta.b64 [%r2], 2;\n";

TEST(PtxAccesses, MatricesInRows) {
  const auto of = [](const std::string& instruction, const std::string& target = "sm_100a") {
    return Counted(kRows + instruction, 32, target);
  };
  // A row of 16 bytes for each of eight lanes a matrix.
  ExpectCounts(of("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];"),
               {.shared_read = 512}, "x4");
  ExpectCounts(of("cvt.u64.u32 %rd5, %r3;\ncvta.shared.u64 %rd5, %rd5;\n"
                  "ldmatrix.sync.aligned.m8n8.x1.b16 {%r10}, [%rd5];"),
               {.shared_read = 128}, "a generic address");
  ExpectCounts(of("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r10};"),
               {.shared_written = 128}, "stored");
  ExpectCounts(of("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r10, %r11, %r12, %r13}, "
                  "[%r3];"),
               {.shared_read = 512}, "two of 16 rows");
  ExpectCounts(of("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r10};"),
               {.shared_written = 128}, "eight columns of bytes");
}

TEST(PtxAccesses, TilesOfWmma) {
  const std::string a = "{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}";
  const auto load = [&](const std::string& rest) {
    return Counted("wmma.load.a.sync.aligned.row.m16n16k16" + rest);
  };
  ExpectCounts(load(".global.f16 " + a + ", [%rd1];"),
               {.global_read = 512, .read_sectors = 16, .touched = 512}, "side by side");
  ExpectCounts(load(".global.f16 " + a + ", [%rd1], 64;"),
               {.global_read = 512, .read_sectors = 16, .touched = 512}, "rows of 32 bytes");
  ExpectCounts(load(".global.f16 " + a + ", [%rd1], 24;"),
               {.global_read = 512, .read_sectors = 24, .touched = 512},
               "every other row begins in the middle of a sector");
  EXPECT_EQ(load(".global.f16 " + a + ", [%rd1];").global_loads, 1u);
  ExpectCounts(Counted("mov.b32 %r2, sh;\nwmma.store.d.sync.aligned.col.m16n16k16.shared.f32 "
                       "[%r2], " +
                       a + ";"),
               {.shared_written = 1024}, "sums");
  const auto products = [&](const std::string& shape, const std::string& types, uint32_t factors) {
    std::string names = "%r10";
    for (uint32_t i = 1; i < factors; ++i) names += fmt::format(", %r{}", 10 + i);
    return Counted(fmt::format("wmma.mma.sync.aligned.row.col.{}.{} {}, {{{}}}, {{{}}}, {};", shape,
                               types, a, names, names, a));
  };
  EXPECT_EQ(products("m16n16k16", "f32.f32", 8).products_16bit, 4096u);
  EXPECT_EQ(products("m8n32k16", "f32.f32", 8).products_16bit, 4096u);
  EXPECT_EQ(products("m16n16k16", "s32.s8.s8.s32", 2).products_8bit, 4096u);
  EXPECT_EQ(products("m16n16k8", "f32.tf32.tf32.f32", 4).products_tf32, 2048u);
}

TEST(PtxAccesses, CopiesOfLanesReadWhatTheyAreTold) {
  const std::string start =
      kRows + std::string("shl.b64 %rd5, %rd4, 2;\nadd.s64 %rd5, %rd1, %rd5;\n");
  const auto copy = [&](const std::string& rest) {
    return Counted(start + "cp.async.cg.shared.global [%r3], [%rd5], 16" + rest);
  };
  ExpectCounts(copy(";"),
               {.global_read = 512, .shared_written = 512, .read_sectors = 16, .touched = 512},
               "all");
  // Triton's mask: lanes that are out of bounds read nothing and write zeros.
  ExpectCounts(Counted(start + "setp.lt.u32 %p1, %r1, 8;\nselp.b32 %r4, 16, 0, %p1;\n"
                               "cp.async.cg.shared.global [%r3], [%rd5], 16, %r4;"),
               {.global_read = 128, .shared_written = 512, .read_sectors = 4, .touched = 128},
               "eight lanes");
  ExpectCounts(Counted(start + "setp.ge.u32 %p1, %r1, 8;\n"
                               "cp.async.cg.shared.global [%r3], [%rd5], 16, %p1;"),
               {.global_read = 128, .shared_written = 512, .read_sectors = 4, .touched = 128},
               "the others are ignored");
  ExpectCounts(copy(", 4;"),
               {.global_read = 128, .shared_written = 512, .read_sectors = 16, .touched = 128},
               "four bytes each");
}

TEST(PtxAccesses, BulkCopies) {
  // Two threads arrive; the first tells of the bytes. 8 bytes each: set up, arrived at, asked for.
  const std::string wait =
      "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];\nbar.sync 0;\n"
      "@%p1 mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n";
  const auto load = [&](const std::string& bytes, const std::string& copy) {
    return Counted(kBarrier +
                   ("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + bytes + ";\n") +
                   copy + wait);
  };
  ExpectCounts(load("256",
                    "@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], "
                    "[%rd1+16], 256, [%r2];\n"),
               {.global_read = 256,
                .shared_read = 3 * 8,
                .shared_written = 256 + 3 * 8,
                .read_sectors = 9,
                .touched = 256},
               "from the middle of a sector");
  ExpectCounts(load("64",
                    "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                    "[%r3], [%r3+512], 64, [%r2];\n"),
               {.shared_read = 64 + 3 * 8, .shared_written = 64 + 3 * 8}, "in shared memory");
  ExpectCounts(load("8",
                    "@%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3], "
                    "{77, 78}, [%r2];\n"),
               {.shared_read = 3 * 8, .shared_written = 8 + 3 * 8}, "st.async");
  ExpectCounts(load("4",
                    "@%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
                    ".add.u32 [%r3], %r1, [%r2];\n"),
               {.shared_read = 4 + 3 * 8, .shared_written = 4 + 3 * 8}, "red.async");
  ExpectCounts(load("128",
                    "@%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx"
                    "::bytes.add.u32 [%r3], [%r3+512], 128, [%r2];\n"),
               {.shared_read = 256 + 3 * 8, .shared_written = 128 + 3 * 8}, "sums of one block");
  EXPECT_EQ(load("16",
                 "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx"
                 "::bytes.b128 [%r3], [%r2];\n")
                .shared_written_bytes,
            16u + 3 * 8);
  ExpectCounts(Counted(kFirst + std::string("@%p1 cp.async.bulk.global.shared::cta.bulk_group "
                                            "[%rd3], [%r2], 512;\n")),
               {.global_written = 512, .shared_read = 512, .written_sectors = 16, .touched = 512},
               "to global memory");
  ExpectCounts(
      Counted(kFirst + std::string("@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group"
                                   ".add.f32 [%rd3], [%r2], 512;\n")),
      {.global_read = 512,
       .global_written = 512,
       .shared_read = 512,
       .read_sectors = 16,
       .written_sectors = 16,
       .touched = 1024},
      "added to global memory");
  ExpectCounts(Counted(kFirst + std::string("@%p1 st.bulk.weak.shared::cta [%r2], 1024, 0;\n"), 32,
                       "sm_100a"),
               {.shared_written = 1024}, "st.bulk");
}

// wgmma: 64 rows of A and the columns of B, 32 bytes each. tcgen05.alloc writes an address.
TEST(PtxAccesses, MatricesOfDescriptors) {
  std::string sums = "%r10";
  for (int i = 1; i < 16; ++i) sums += fmt::format(", %r{}", 10 + i);
  const auto product = [&](const std::string& a, const std::string& rest) {
    return Counted(
        "mov.b64 %rd11, 0;\nsetp.eq.s32 %p1, 0, 1;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {" +
            sums + "}, " + a + ", %rd11, %p1, 1, 1, " + rest + ";",
        128);
  };
  ExpectCounts(product("%rd11", "0, 0"), {.shared_read = 64 * 32 + 32 * 32}, "both");
  ExpectCounts(product("{%r50, %r51, %r52, %r53}", "0"), {.shared_read = 32 * 32}, "B alone");
  ExpectCounts(
      Counted(kFirst + std::string("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
                                   " [%r2], 32;\nld.shared.b32 %r4, [%r2];\n"
                                   "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, "
                                   "32;"),
              32, "sm_100a"),
      {.shared_read = 32 * 4, .shared_written = 4}, "tcgen05.alloc");
  // f32 += f16 x f16 of 128 rows and 32 columns.
  const uint32_t shape = 1 << 4 | 32 / 8 << 17 | 128 / 16 << 24;
  const Counters tensor = Counted(
      kFirst +
          fmt::format("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;\n"
                      "ld.shared.b32 %r4, [%r2];\nmov.b64 %rd11, {};\nmov.b32 %r5, {};\n"
                      "setp.eq.s32 %p2, 0, 1;\n"
                      "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r4], %rd11, %rd11, %r5, %p2;\n"
                      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;",
                      uint64_t{1} << 46, shape),
      32, "sm_100a");
  EXPECT_EQ(tensor.products_16bit, 128u * 32 * 16);
  EXPECT_EQ(tensor.shared_read_bytes, (128 + 32) * 32u + 32 * 4);
}

}  // namespace
}  // namespace hloscope::ptx
