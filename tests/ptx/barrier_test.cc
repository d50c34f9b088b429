// mbarrier, bulk copies with and without tensor maps, brx, and what is refused by name.
#include <numeric>

#include "tests/ptx/group_kernel.h"

namespace hloscope::ptx {
namespace {

TEST(PtxBarrier, PhasesHandBuffersBackAndForth) {
  // Warp 0 writes 1, 2, …, 8 into one word, warp 1 adds each up; two barriers tell who may go on.
  const Ran ran = RunGroup(
      "add.s32 %r80, %r90, 128;\nadd.s32 %r81, %r90, 136;\nadd.s32 %r82, %r90, 144;\n"
      "setp.eq.s32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared::cta.b64 [%r80], 1;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [%r81], 1;\nfence.mbarrier_init.release.cluster;\n"
      "bar.sync 0;\nmov.b32 %r10, 0;\nmov.b32 %r11, 0;\nsetp.eq.s32 %p2, %r92, 0;\n"
      "setp.eq.s32 %p3, %r91, 1;\n@%p3 bra consumer;\n"
      "producer:\nand.b32 %r12, %r10, 1;\nxor.b32 %r12, %r12, 1;\n"
      "free:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r81], %r12;\n@!%p4 bra free;\n"
      "add.s32 %r10, %r10, 1;\n@%p2 st.shared.b32 [%r82], %r10;\n"
      "@%p2 mbarrier.arrive.shared::cta.b64 %rd10, [%r80];\n"
      "setp.lt.s32 %p5, %r10, 8;\n@%p5 bra producer;\nret;\n"
      "consumer:\nand.b32 %r12, %r10, 1;\n"
      "full:\nmbarrier.test_wait.parity.shared::cta.b64 %p4, [%r80], %r12;\n@!%p4 bra full;\n"
      "ld.shared.b32 %r13, [%r82];\nadd.s32 %r11, %r11, %r13;\nbar.warp.sync -1;\n"
      "@%p2 mbarrier.arrive.release.cta.shared::cta.b64 _, [%r81], 1;\n"
      "add.s32 %r10, %r10, 1;\nsetp.lt.s32 %p5, %r10, 8;\n@%p5 bra consumer;\n"
      "mul.wide.u32 %rd11, %r92, 4;\nadd.s64 %rd11, %rd3, %rd11;\nst.global.b32 [%rd11], %r11;",
      {}, 128, 64);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2), std::vector<uint32_t>(32, 36));
}

TEST(PtxBarrier, StatesAndBytes) {
  // A phase ends when its arrivals and its bytes have come, whichever is last.
  const Ran ran = RunGroup(
      "add.s32 %r80, %r90, 128;\nmbarrier.init.shared::cta.b64 [%r80], 2;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 %rd10, [%r80], 64;\n"
      "mbarrier.arrive.shared::cta.b64 %rd11, [%r80];\n"
      "mbarrier.test_wait.shared::cta.b64 %p1, [%r80], %rd10;\nselp.b32 %r10, 1, 0, %p1;\n"
      "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r80], 64;\n"
      "mbarrier.test_wait.shared::cta.b64 %p1, [%r80], %rd11;\nselp.b32 %r11, 2, 0, %p1;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r80], 1;\nselp.b32 %r12, 4, 0, %p1;\n"
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r80], 8;\n"
      "mbarrier.inval.shared::cta.b64 [%r80];\n"
      "add.s32 %r10, %r10, %r11;\nadd.s32 %r10, %r10, %r12;\nst.global.b32 [%rd3], %r10;",
      {}, 4, 1);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2)[0], 2u);
}

TEST(PtxBarrier, Faults) {
  const auto fault = [](const std::string& body) {
    const Ran ran = RunGroup("add.s32 %r80, %r90, 128;\n" + body, {}, 4, 1);
    return ran.result.fault.has_value() ? ran.result.fault->what : "";
  };
  const std::string init = "mbarrier.init.shared::cta.b64 [%r80], 1;\n";
  EXPECT_EQ(fault("mbarrier.arrive.shared::cta.b64 _, [%r80];"),
            "no mbarrier here: never initialised, invalidated or overwritten");
  EXPECT_EQ(fault(init + "mbarrier.inval.shared::cta.b64 [%r80];\nmbarrier.arrive.shared::cta.b64 "
                         "_, [%r80];"),
            "no mbarrier here: never initialised, invalidated or overwritten");
  EXPECT_EQ(fault(init + "mbarrier.arrive.shared::cta.b64 _, [%r80], 2;"),
            "more arrivals than the mbarrier has left in this phase, or none");
  EXPECT_EQ(fault(init + "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r80], 0;\n@!%p1 "
                         "bra wait;"),
            "waits for a phase of an mbarrier that never completes");
}

TEST(PtxBulk, PlainCopiesThereAndBack) {
  std::vector<uint32_t> values(64);
  std::iota(values.begin(), values.end(), 100);
  const Ran ran = RunGroup(
      "add.s32 %r80, %r90, 1024;\nadd.s32 %r81, %r90, 2048;\n"
      "mbarrier.init.shared::cta.b64 [%r80], 1;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r80], 256;\n"
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r81], [%rd2], 256, [%r80];\n"
      "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r80], 0;\n@!%p1 bra wait;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r81], 256;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;",
      {}, 256, 1, "sm_90a", Bytes(values));
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2), values);
}

// A kernel of two tensor maps: box from the one, swizzled, to shared memory, out as it lies there
// and through the other map back.
constexpr char kMapKernel[] =
    R"(.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 dyn[];
.visible .entry k(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128],
                  .param .u64 .ptr .align 16 raw, .param .u32 x, .param .u32 y)
{
.reg .pred %p<9>;
.reg .b32 %r<99>;
.reg .b64 %rd<99>;
ld.param.b64 %rd3, [raw];
ld.param.b32 %r10, [x];
ld.param.b32 %r11, [y];
mov.b64 %rd1, from;
cvta.param.u64 %rd1, %rd1;
mov.b64 %rd2, to;
cvta.param.u64 %rd2, %rd2;
mov.b32 %r1, dyn;
add.s32 %r2, %r1, 8192;
mbarrier.init.shared::cta.b64 [%r2], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r10, %r11}], [%r2];
wait:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
@!%p1 bra wait;
mov.b32 %r3, 0;
copy:
add.s32 %r4, %r1, %r3;
ld.shared.b32 %r5, [%r4];
cvt.u64.u32 %rd4, %r3;
add.s64 %rd4, %rd3, %rd4;
st.global.b32 [%rd4], %r5;
add.s32 %r3, %r3, 4;
setp.lt.s32 %p1, %r3, 512;
@%p1 bra copy;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r10, %r11}], [%r1];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ret;
}
)";

struct MapRun {
  std::vector<uint16_t> raw, back;
  LaunchResult result;
};

MapRun RunMaps(const TensorMap& map, int32_t x, int32_t y, std::vector<uint16_t> values) {
  MapRun run;
  run.raw.resize(256);
  run.back.resize(values.size(), 7);
  const auto module = Module::Parse(kMapKernel, "k.ptx");
  EXPECT_TRUE(module.has_value()) << module.error().ToString();
  LaunchRequest request;
  request.entry = "k";
  request.dynamic_shared_bytes = 16384;
  const auto bytes_of = [](auto& v) { return std::as_writable_bytes(std::span(v)); };
  const auto number = [](int32_t v) {
    Argument argument;
    argument.value = Bytes(std::vector<int32_t>{v});
    return argument;
  };
  request.arguments = {{bytes_of(values), {}, map},
                       {bytes_of(run.back), {}, map},
                       {bytes_of(run.raw), {}, {}},
                       number(x),
                       number(y)};
  LaunchOptions options;
  options.count_traffic = true;
  auto result = Launch(*module, request, options);
  EXPECT_TRUE(result.has_value()) << (result.has_value() ? "" : result.error().ToString());
  if (result.has_value()) run.result = *std::move(result);
  return run;
}

// 10 rows of 40 halves, boxes of 8 rows of 32, 64 bytes.
TensorMap MapOf(Swizzle swizzle) { return {2, {40, 10}, {80}, {32, 8}, {1, 1}, swizzle}; }

TEST(PtxBulk, BoxesAreSwizzledAndZeroOutside) {
  std::vector<uint16_t> values(400);
  std::iota(values.begin(), values.end(), uint16_t{1});
  for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k64, Swizzle::k128}) {
    for (const auto& [x, y] : {std::pair(0, 0), std::pair(8, 2), std::pair(24, 6),
                               std::pair(-8, -3), std::pair(48, 0)}) {
      const MapRun run = RunMaps(MapOf(swizzle), x, y, values);
      ASSERT_FALSE(run.result.fault.has_value()) << run.result.fault->ToString();
      std::vector<uint16_t> back(400, 7);
      uint64_t copied = 0;
      for (int row = 0; row < 8; ++row) {
        for (int i = 0; i < 32; ++i) {
          // Eight chunks of 16 bytes make a line of 128; the line's number turns their order.
          const int byte = row * 64 + i * 2, line = byte / 128;
          const int turn = swizzle == Swizzle::k128  ? line % 8
                           : swizzle == Swizzle::k64 ? line % 4
                                                     : 0;
          const int at = (byte / 16 ^ turn) * 16 + byte % 16;
          const int column = x + i, wanted_row = y + row;
          const bool inside = column >= 0 && column < 40 && wanted_row >= 0 && wanted_row < 10;
          const auto index = static_cast<size_t>(wanted_row * 40 + column);
          ASSERT_EQ(run.raw[static_cast<size_t>(at / 2)], inside ? values[index] : 0)
              << x << "," << y << " row " << row << " column " << i;
          if (inside) back[index] = values[index];
          copied += inside ? 2 : 0;
        }
      }
      EXPECT_EQ(run.back, back);
      // Of the box what lies in the array is read and written, all of it comes to shared memory,
      // and the kernel copies its 512 bytes from there to `raw`. The barrier has 8 bytes.
      const Counters& counters = run.result.counters;
      EXPECT_EQ(counters.global_read_bytes, copied);
      EXPECT_EQ(counters.global_written_bytes, copied + 512);
      EXPECT_EQ(counters.shared_read_bytes, copied + 512 + 2 * 8);
      EXPECT_EQ(counters.shared_written_bytes, 512 + 2 * 8);
      EXPECT_EQ(counters.touched_bytes, 2 * copied + 512);
    }
  }
}

TEST(PtxBulk, StepsTakeEverySecondRow) {
  std::vector<uint16_t> values(40 * 20);
  std::iota(values.begin(), values.end(), uint16_t{1});
  TensorMap map{2, {40, 20}, {80}, {32, 16}, {1, 2}, Swizzle::kNone};
  const MapRun run = RunMaps(map, 0, 1, values);
  ASSERT_FALSE(run.result.fault.has_value()) << run.result.fault->ToString();
  for (size_t row = 0; row < 8; ++row)
    EXPECT_EQ(run.raw[row * 32], values[(1 + 2 * row) * 40]) << row;
}

TEST(PtxBulk, MapsThatNoDriverTakesAreRefused) {
  const auto why = [](const TensorMap& map) {
    const Status status = CheckTensorMap(map, 800);
    return status.has_value() ? std::string() : status.error().message;
  };
  EXPECT_EQ(why(MapOf(Swizzle::k64)), "");
  TensorMap map = MapOf(Swizzle::k32);
  EXPECT_EQ(why(map), "a tensor map whose box is wider than its swizzle");
  map = MapOf(Swizzle::kNone);
  map.strides = {90};
  EXPECT_EQ(why(map), "a tensor map with a stride that is not a multiple of 16 bytes");
  map = MapOf(Swizzle::kNone);
  map.sizes[1] = 11;
  EXPECT_EQ(why(map), "a tensor map of an array of 880 bytes over memory of 800");
  map = MapOf(Swizzle::kNone);
  map.box[0] = 300;
  EXPECT_EQ(why(map), "a tensor map with a box of 0 or over 256 elements");
  map = {2, {256, 256, 256}, {512, 131072}, {256, 256, 256}, {1, 1, 1}, Swizzle::kNone};
  const Status status = CheckTensorMap(map, 1 << 30);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "a tensor map whose box is larger than shared memory");
}

TEST(PtxBranch, EachLaneTakesItsTarget) {
  const Ran ran = RunGroup(
      "table:\n.branchtargets zero, one, two;\nrem.u32 %r10, %r1, 3;\nbrx.idx %r10, table;\n"
      "zero:\nmov.b32 %r11, 100;\nbra done;\none:\nmov.b32 %r11, 200;\nbra done;\n"
      "two:\nmov.b32 %r11, 300;\ndone:\nadd.s32 %r11, %r11, %r1;\n"
      "add.s64 %rd10, %rd3, %rd4;\nst.global.b32 [%rd10], %r11;",
      {}, 128, 32);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 100 * (i % 3 + 1) + i);
}

TEST(PtxBranch, AnIndexBeyondTheListIsAFault) {
  const Ran ran = RunGroup("table:\n.branchtargets done;\nbrx.idx %r1, table;\ndone:", {}, 4, 32);
  ASSERT_TRUE(ran.result.fault.has_value());
  EXPECT_EQ(ran.result.fault->what, "an index beyond the list of branch targets");
}

TEST(PtxBarrier, WhatIsNotExecutedIsNamed) {
  const auto why = [](const std::string& body) {
    const auto module = Module::Parse(KernelText(body, "sm_100a"), "k.ptx");
    if (!module.has_value()) return module.error().ToString();
    const auto& unsupported = module->entries()[0].unsupported;
    return unsupported.empty() ? std::string("executed") : unsupported[0].ToString();
  };
  const std::string none = "no form of this opcode has these modifiers and types";
  EXPECT_EQ(why("tcgen05.mma.cta_group::2.kind::f16 [%r2], %rd5, %rd6, %r3, %p1;"),
            "k.ptx:17:1: `tcgen05.mma.cta_group::2.kind::f16`: " + none +
                " (kernels with it are not executed)");
  for (const char* form :
       {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r2], %rd5, %rd6, [%r4], %r3, %p1;",
        "tcgen05.mma.ws.cta_group::1.kind::f16 [%r2], %rd5, %rd6, %r3, %p1;",
        "tcgen05.shift.cta_group::1.down [%r2];",
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r2], "
        "[%rd5, {%r3, %r3, %r3, %r3}], [%r4], {%rs1, %rs2};"}) {
    EXPECT_NE(why(form).find("kernels with it are not executed"), std::string::npos) << form;
  }
}

}  // namespace
}  // namespace hloscope::ptx
