// Collectives between made-up GPUs by a made-up NCCL: values, what it does and what it does not,
// every way to be refused, and what goes wrong once it was asked.
#include <fmt/format.h>

#include "core/replay/run_targets.h"
#include "tests/base/paths.h"
#include "tests/replay/gpu_device_modules.h"
#include "tests/replay/gpu_library_runs.h"

namespace hloscope::replay {
namespace {

void SetDevices(const std::string& driver, const std::string& libraries) {
  SetLibraryFaults(libraries);
  SetFaults(driver);
}

// How often NCCL did an instruction; -1: our own way did it at least once.
int64_t ByNccl(const Outcome& gpu, std::string_view opcode, std::string_view reason = {}) {
  int64_t count = 0;
  for (const RunExecuted::Choice& choice : gpu.executed.choices) {
    if (choice.opcode != opcode || !choice.library.starts_with("NCCL")) continue;
    if (!choice.reason.empty()) {
      EXPECT_NE(choice.reason.find(reason), std::string::npos) << choice.reason;
      return -1;
    }
    count += choice.count;
  }
  return count;
}

constexpr const char* kOpcodes[] = {"all-reduce",         "all-gather",           "reduce-scatter",
                                    "collective-permute", "collective-broadcast", "all-to-all"};

TEST(GpuNccl, DoesCollectivesBetweenGpus) {
  SetDevices("", "");
  const auto inputs = EightFloats(4);
  const Outcome meant = RunOnDevices("interpreter", kOnFourDevices, inputs);
  SetDevices("devices=4", "");
  const Outcome gpu = RunOnDevices("gpu", kOnFourDevices, inputs, 3);
  ExpectSameBits(gpu, meant, "four GPUs");
  for (const char* const opcode : kOpcodes) {
    EXPECT_EQ(ByNccl(gpu, opcode), std::string_view(opcode) == "all-reduce" ? 16 : 4) << opcode;
  }
  EXPECT_TRUE(gpu.fallbacks.empty());
  ExpectNothingLeft("four GPUs");
}

// Pairs in a loop are on two GPUs, all four are not; nothing is the host's.
TEST(GpuNccl, WhereDevicesShareAGpuCopiesDoIt) {
  SetDevices("", "");
  const auto inputs = EightFloats(4);
  const Outcome meant = RunOnDevices("interpreter", kOnFourDevices, inputs);
  for (const char* const driver : {"devices=1", "devices=2", "devices=3"}) {
    SetDevices(driver, "");
    const Outcome gpu = RunOnDevices("gpu", kOnFourDevices, inputs, 3);
    ExpectSameBits(gpu, meant, driver);
    EXPECT_EQ(ByNccl(gpu, "all-gather", "are on one GPU, NCCL takes one of each"), -1) << driver;
    EXPECT_TRUE(gpu.fallbacks.empty()) << driver;
    ExpectNothingLeft(driver);
  }
  // Each call of theirs that fails is named, and ends the run.
  const struct {
    const char *driver, *message;
  } rows[] = {
      {"devices=1,cuStreamWaitEvent=400", "letting a device wait for another failed"},
      {"devices=2,cuMemcpyPeerAsync=719", "bytes from device 1 to device 0 failed"},
      {"devices=3,cuStreamWaitEvent@2=719", "letting a device wait for another failed"},
  };
  for (const auto& row : rows) {
    SetDevices(row.driver, "");
    const Outcome gpu = RunOnDevices("gpu", kOnFourDevices, inputs);
    ASSERT_TRUE(gpu.error.has_value()) << row.driver;
    EXPECT_NE(gpu.error->message.find(row.message), std::string::npos) << gpu.error->ToString();
    ExpectNothingLeft(row.driver);
  }
}

// Each collective in two parts, with work and control dependencies in between.
constexpr const char* kInTwoParts = R"(HloModule parts, replica_count=4, is_scheduled=true
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
scatter {
  q = f32[8] parameter(0)
  ROOT k = f32[2] reduce-scatter(q), replica_groups={}, dimensions={0}, to_apply=sum
}
exchange {
  q = f32[8] parameter(0)
  ROOT v = f32[8] all-to-all(q), replica_groups={{0,1},{2,3}}, dimensions={0}
}
ENTRY e {
  a = f32[8] parameter(0)
  id = u32[] replica-id()
  d = f32[] convert(id)
  ds = f32[8] broadcast(d), dimensions={}
  x = f32[8] multiply(a, ds)
  ars = f32[8] all-reduce-start(x), replica_groups={{0,1},{2,3}}, to_apply=sum
  ags = (f32[8], f32[32]) all-gather-start(x), replica_groups={}, dimensions={0}
  cps = (f32[8], f32[8], u32[], u32[]) collective-permute-start(x), source_target_pairs={{0,1},{1,2},{3,0}}
  rss = ((f32[8]), f32[2], s32[]) async-start(x), calls=scatter
  y = f32[8] subtract(x, a), control-predecessors={ars, cps}
  ats = ((f32[8]), f32[8], s32[]) async-start(y), calls=exchange
  ar = f32[8] all-reduce-done(ars), control-predecessors={y}
  ag = f32[32] all-gather-done(ags)
  cp = f32[8] collective-permute-done(cps)
  rsu = ((f32[8]), f32[2], s32[]) async-update(rss)
  rs = f32[2] async-done(rsu)
  at = f32[8] async-done(ats)
  m = f32[8] multiply(ar, cp)
  n = f32[8] add(m, at)
  ROOT t = (f32[8], f32[32], f32[2]) tuple(n, ag, rs)
}
)";

TEST(GpuNccl, DoesCollectivesInTwoParts) {
  SetDevices("", "");
  const auto inputs = EightFloats(4);
  const Outcome meant = RunOnDevices("interpreter", kInTwoParts, inputs);
  SetDevices("devices=4", "");
  const Outcome gpu = RunOnDevices("gpu", kInTwoParts, inputs, 2);
  ExpectSameBits(gpu, meant, "in two parts");
  for (const char* const opcode :
       {"all-reduce", "all-gather", "reduce-scatter", "collective-permute", "all-to-all"}) {
    EXPECT_EQ(ByNccl(gpu, opcode), 4) << opcode;
  }
  EXPECT_TRUE(gpu.fallbacks.empty());
  ExpectNothingLeft("in two parts");
}

// NCCL's own maximum would lose the NaN.
TEST(GpuNccl, GathersForReductionsThatItDoesNotHave) {
  constexpr const char* kMaximum = R"(HloModule most, replica_count=4
most {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}
ENTRY e {
  a = f32[8] parameter(0)
  id = u32[] replica-id()
  d = f32[] convert(id)
  two = f32[] constant(2)
  e = f32[] subtract(d, two)
  n = f32[] log(e)
  ns = f32[8] broadcast(n), dimensions={}
  x = f32[8] add(a, ns)
  m = f32[8] all-reduce(x), replica_groups={{0,1},{3,2}}, to_apply=most
  f = f32[8] all-reduce(a), replica_groups={}, to_apply=most
  lost = pred[8] compare(m, m), direction=NE
  ROOT t = (pred[8], f32[8]) tuple(lost, f)
}
)";
  SetDevices("", "");
  const auto inputs = EightFloats(4);
  const Outcome meant = RunOnDevices("interpreter", kMaximum, inputs);
  SetDevices("devices=4", "");
  const Outcome gpu = RunOnDevices("gpu", kMaximum, inputs, 2);
  ExpectSameBits(gpu, meant, "maximum");
  EXPECT_EQ(ByNccl(gpu, "all-gather"), 8);
  EXPECT_TRUE(gpu.fallbacks.empty());
  ExpectNothingLeft("maximum");
}

// Reducers of several instructions, whose order matters, of several arrays, of groups of one.
TEST(GpuNccl, GathersForAnyReducer) {
  constexpr const char* kText = R"(HloModule any, replica_count=3
half {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  d = f32[] subtract(a, b)
  h = f32[] constant(0.5)
  ROOT r = f32[] multiply(d, h)
}
most {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}
ENTRY e {
  a = f32[8] parameter(0)
  m = f32[2,4] reshape(a)
  s = f32[2,2] slice(m), slice={[0:2], [0:2]}
  two = (f32[8], f32[2,2]) all-reduce(a, s), replica_groups={{1,0,2}}, to_apply=half
  one = f32[8] all-reduce(a), replica_groups={{0},{1},{2}}, to_apply=most
  ROOT t = ((f32[8], f32[2,2]), f32[8]) tuple(two, one)
}
)";
  SetDevices("", "");
  const auto inputs = EightFloats(3);
  const Outcome meant = RunOnDevices("interpreter", kText, inputs);
  SetDevices("devices=3", "");
  const Outcome gpu = RunOnDevices("gpu", kText, inputs, 2);
  ExpectSameBits(gpu, meant, "any reducer");
  EXPECT_EQ(ByNccl(gpu, "all-gather"), 6);
  EXPECT_TRUE(gpu.fallbacks.empty());
}

// Pieces along an inner dimension, several arrays at once, a piece for each, partitions.
constexpr const char* kPieces = R"(HloModule pieces, num_partitions=2
sum {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}
ENTRY e {
  a = f32[8] parameter(0)
  id = u32[] partition-id()
  d = s32[] convert(id)
  i = s32[8] convert(a)
  ds = s32[8] broadcast(d), dimensions={}
  b = s32[8] multiply(i, ds)
  m = s32[2,4] reshape(i)
  n = s32[2,4] reshape(b)
  s = s32[2,4] subtract(m, n)
  g = s32[2,8] all-gather(s), channel_id=1, replica_groups={{1,0}}, dimensions={1}, use_global_device_ids=true
  k = s32[2,2] reduce-scatter(s), channel_id=2, replica_groups={{0,1}}, dimensions={1}, to_apply=sum, use_global_device_ids=true
  v = s32[2,4] all-to-all(s), channel_id=3, replica_groups={{0,1}}, dimensions={1}
  two = (s32[2,4], s32[8]) all-reduce(s, b), channel_id=4, replica_groups={{0,1}}, to_apply=sum, use_global_device_ids=true
  each = (s32[8], s32[8]) all-to-all(i, b), channel_id=5, replica_groups={{0,1}}
  p = s32[8] collective-permute(b), channel_id=6, source_target_pairs={{1,0}}
  h = s16[8] convert(i)
  w = s16[16] all-gather(h), channel_id=7, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
  ROOT t = (s32[2,8], s32[2,2], s32[2,4], (s32[2,4], s32[8]), (s32[8], s32[8]), s32[8], s16[16]) tuple(g, k, v, two, each, p, w)
}
)";

TEST(GpuNccl, PutsPiecesTogether) {
  SetDevices("", "");
  const auto inputs = EightFloats(2);
  const Outcome meant = RunOnDevices("interpreter", kPieces, inputs);
  SetDevices("devices=2", "");
  const Outcome gpu = RunOnDevices("gpu", kPieces, inputs, 2);
  ExpectSameBits(gpu, meant, "pieces");
  EXPECT_EQ(ByNccl(gpu, "all-gather"), 4);
  EXPECT_EQ(ByNccl(gpu, "reduce-scatter"), 2);
  EXPECT_EQ(ByNccl(gpu, "all-to-all"), 4);
  EXPECT_EQ(ByNccl(gpu, "all-reduce"), 2);
  EXPECT_EQ(ByNccl(gpu, "collective-permute"), 2);
  ExpectNothingLeft("pieces");
  SetDevices("devices=1", "");
  const Outcome one = RunOnDevices("gpu", kPieces, inputs, 2);
  ExpectSameBits(one, meant, "pieces on one GPU");
  EXPECT_TRUE(one.fallbacks.empty());
  ExpectNothingLeft("pieces on one GPU");
}

std::string Reduction(std::string_view type, std::string_view reducer, std::string_view opcode) {
  const bool scatters = opcode == "reduce-scatter";
  return fmt::format(
      R"(HloModule m, replica_count=2
red {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT s = {0}[] {1}(a, b)
}}
ENTRY e {{
  p = f32[8] parameter(0)
  {3}
  r = {0}[{4}] {2}(x), replica_groups={{}}, to_apply=red{5}
  ROOT q = {6}
}}
)",
      type, reducer, opcode,
      type == "pred"   ? "z = f32[] constant(0)\n  y = f32[8] broadcast(z), "
                         "dimensions={}\n  x = pred[8] compare(p, y), direction=GT"
      : type[0] == 'c' ? fmt::format("x = {}[8] complex({})", type, type == "c64" ? "p, p" : "p, p")
                       : fmt::format("x = {}[8] convert(p)", type),
      scatters ? 4 : 8, scatters ? ", dimensions={0}" : "",
      type[0] == 'c' ? fmt::format("f32[{}] real(r)", scatters ? 4 : 8)
                     : fmt::format("f32[{}] convert(r)", scatters ? 4 : 8));
}

TEST(GpuNccl, ReducesWhatItHas) {
  const auto inputs = EightFloats(2);
  // By a gather and a kernel of ours.
  enum By : uint8_t { kNccl, kGather };
  const struct {
    const char *type, *reducer;
    By by;
  } rows[] = {
      {"f32", "add", kNccl},        {"f64", "add", kNccl},       {"f16", "add", kNccl},
      {"bf16", "add", kNccl},       {"s8", "add", kNccl},        {"u8", "maximum", kNccl},
      {"s32", "minimum", kNccl},    {"u32", "multiply", kNccl},  {"s64", "maximum", kNccl},
      {"u64", "add", kNccl},        {"pred", "and", kNccl},      {"pred", "or", kNccl},
      {"c64", "add", kNccl},        {"f32", "multiply", kNccl},  {"f32", "maximum", kGather},
      {"bf16", "minimum", kGather}, {"s16", "add", kGather},     {"s32", "and", kGather},
      {"f8e4m3fn", "add", kGather}, {"c64", "multiply", kGather}};
  for (const auto& row : rows) {
    for (const char* const opcode : {"all-reduce", "reduce-scatter"}) {
      const std::string text = Reduction(row.type, row.reducer, opcode);
      const std::string of = fmt::format("{} {} {}", opcode, row.type, row.reducer);
      SetDevices("devices=2", "");
      const Outcome meant = RunOnDevices("interpreter", text.c_str(), inputs);
      const Outcome gpu = RunOnDevices("gpu", text.c_str(), inputs);
      ExpectSameBits(gpu, meant, of);
      if (row.by == kGather) {
        EXPECT_EQ(ByNccl(gpu, "all-gather"), 2) << of;
        EXPECT_TRUE(gpu.fallbacks.empty()) << of;
        continue;
      }
      EXPECT_EQ(ByNccl(gpu, opcode, "NCCL has no "), 2) << of;
      // On one GPU the kernel of ours does.
      SetDevices("devices=1", "");
      const Outcome one = RunOnDevices("gpu", text.c_str(), inputs);
      ExpectSameBits(one, meant, of + " on one GPU");
      EXPECT_TRUE(one.fallbacks.empty()) << of;
    }
  }
}

TEST(GpuNccl, OurOwnWayIsTakenWhereItRefuses) {
  SetDevices("", "");
  const auto inputs = EightFloats(2);
  const std::string text = Reduction("f32", "add", "all-reduce");
  const Outcome meant = RunOnDevices("interpreter", text.c_str(), inputs);
  const struct {
    const char *faults, *reason;
  } rows[] = {
      {"ncclCommInitAll=1", "NCCL: the driver failed in it: bringing 2 GPUs together"},
      {"ncclCommInitAll=2", "/dev/shm"},
      {"ncclCommInitAll=5", "ncclInvalidUsage (5)"},
      {"ncclAllReduce=4",
       "reducing failed with ncclInvalidArgument (4), in all-reduce r of device 0"},
      {"ncclAllReduce:2=3", "of device 1"},
      {"ncclGroupStart=3", "beginning all-reduce r"},
      {"ncclGroupEnd=1", "starting all-reduce r on 2 GPUs"},
      {"nccl.version=2400", "NCCL: version mismatch: it is 2.4.0, 2.10 or newer is needed"},
  };
  for (const auto& row : rows) {
    SetDevices("devices=2", row.faults);
    if (std::string_view(row.faults).starts_with("nccl.version")) {
      setenv("LD_LIBRARY_PATH", (FakeDriverFolder() + "///").c_str(), 1);
    }
    const Outcome gpu = RunOnDevices("gpu", text.c_str(), inputs, 2);
    ExpectSameBits(gpu, meant, row.faults);
    EXPECT_EQ(ByNccl(gpu, "all-reduce", row.reason), -1) << row.faults;
    EXPECT_TRUE(gpu.fallbacks.empty()) << row.faults;
    ExpectNothingLeft(row.faults);
  }
  SetDevices("devices=2", "");
  setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  const Outcome none = RunOnDevices("gpu", text.c_str(), inputs);
  ExpectSameBits(none, meant, "no library");
  EXPECT_TRUE(none.fallbacks.empty());
  SetDevices("devices=2", "");
  RunOptions options;
  options.platform.xla_flags = {{std::string(kDisablePassesFlag), "nccl"}};
  const Outcome left_out = RunOnDevices("gpu", text.c_str(), inputs, 1, options);
  ExpectSameBits(left_out, meant, "flag");
  EXPECT_EQ(ByNccl(left_out, "all-reduce", "NCCL is left out by a flag"), -1);
}

TEST(GpuNccl, WhatFailsLaterIsNamedAndEndsTheRun) {
  SetDevices("", "");
  const auto inputs = EightFloats(2);
  const std::string text = Reduction("f32", "add", "all-reduce");
  const Outcome meant = RunOnDevices("interpreter", text.c_str(), inputs);
  const struct {
    const char *driver, *faults, *message;
  } rows[] = {
      {"devices=2", "nccl.asynchronous=6",
       "NCCL: another device failed: all-reduce r failed with ncclRemoteError (6), on device 0 "
       "(GPU 0)"},
      {"devices=2", "nccl.asynchronous=1,nccl.rank=1", "on device 1 (GPU 1)"},
      {"devices=2,cuStreamQuery@1:1=719", "", "waiting for all-reduce r failed with"},
      {"devices=2,cuStreamQuery=600", "ncclCommGetAsyncError:4=2", "the system failed in it"},
      {"devices=2,cuStreamQuery@0=600,cuStreamQuery@1=719", "", "waiting for all-reduce r"},
  };
  for (const auto& row : rows) {
    SetDevices(row.driver, row.faults);
    const Outcome gpu = RunOnDevices("gpu", text.c_str(), inputs);
    ASSERT_TRUE(gpu.error.has_value()) << row.driver << row.faults;
    EXPECT_EQ(gpu.error->error_class, ErrorClass::kCrashed) << row.driver << row.faults;
    EXPECT_NE(gpu.error->message.find(row.message), std::string::npos) << gpu.error->ToString();
    ExpectNothingLeft(fmt::format("{} {}", row.driver, row.faults));
    SetDevices("devices=2", "");
    ExpectSameBits(RunOnDevices("gpu", text.c_str(), inputs, 2), meant, row.message);
  }
  // One that never comes: the run's deadline ends it.
  SetDevices("devices=2,cuStreamQuery=600", "");
  RunOptions options;
  options.budget.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  const Outcome late = RunOnDevices("gpu", text.c_str(), inputs, 1, options);
  ASSERT_TRUE(late.error.has_value());
  EXPECT_NE(late.error->message.find("waited for others in all-reduce r"), std::string::npos)
      << late.error->ToString();
  ExpectNothingLeft("deadline");
}

}  // namespace
}  // namespace hloscope::replay
