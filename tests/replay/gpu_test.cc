// The platform gpu over the made-up driver: values, hand-overs, graphs, every way to be refused,
// and nothing left behind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/backends/make_platform.h"
#include "core/replay/device_lost.h"
#include "tests/replay/gpu_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

constexpr const char* kAdd = R"(HloModule add
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  p = f32[8] multiply(a, b)
  ROOT r = f32[8] add(p, a)
}
)";
// A hand-over between two kernels.
constexpr const char* kHostFallback = R"(HloModule handed
ENTRY e {
  a = f32[4,4] parameter(0)
  b = f32[4,4] add(a, a)
  z = f32[4] constant({0, 0, 0, 0})
  c = f32[4,4] custom-call(a, z, b), custom_call_target="cusolver_ormqr_ffi"
  ROOT r = f32[4,4] multiply(c, c)
}
)";
// A loop that the host decides on.
constexpr const char* kLoop = R"(HloModule loop
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[8] add(x, x)
  ROOT t = (s32[], f32[8]) tuple(j, y)
}
cond {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[8]) tuple(zero, x)
  w = (s32[], f32[8]) while(s), condition=cond, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
}
)";

Literal Positive() {
  std::vector<float> values(16);
  for (size_t i = 0; i < 4; ++i) values[5 * i] = 2;
  return Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {4, 4}), values);
}

void ExpectSame(const Outcome& gpu, const Outcome& meant, const std::string& of) {
  ASSERT_FALSE(gpu.error.has_value()) << of << ": " << gpu.error->ToString();
  ASSERT_EQ(gpu.results.size(), meant.results.size()) << of;
  for (size_t i = 0; i < gpu.results.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(gpu.results[i].bytes(), meant.results[i].bytes())) << of;
  }
}

TEST(Gpu, RunsKernelsLoopsAndHostFallbacks) {
  SetFaults("");
  const struct {
    const char* text;
    std::vector<Literal> inputs;
  } cases[] = {
      {kAdd, {Floats({8}), Floats({8})}}, {kLoop, {Floats({8})}}, {kHostFallback, {Positive()}}};
  for (const auto& each : cases) {
    ExpectSame(RunOn("gpu", each.text, each.inputs), RunOn("interpreter", each.text, each.inputs),
               each.text);
    ExpectNothingLeft(each.text);
  }
}

TEST(Gpu, RunsAgainAsAGraph) {
  SetFaults("");
  const std::vector<Literal> inputs = {Floats({8}), Floats({8})};
  int launches = 0, graphs = 0;
  struct Counts {
    int launches = 0, graphs = 0, graph_kernels = 0, uploads = 0;
  } counts;
  const FakeCudaListener listener{
      [](void* user, const FakeCudaCall* call) {
        auto& all = *static_cast<Counts*>(user);
        if (call->has_ended != 0) return;
        all.launches += std::string_view(call->function) == "cuLaunchKernel" ? 1 : 0;
        all.graphs += std::string_view(call->function) == "cuGraphLaunch" ? 1 : 0;
      },
      [](void* user, const FakeCudaActivity* activity) {
        auto& all = *static_cast<Counts*>(user);
        all.graph_kernels += activity->kind == kFakeCudaKernel && activity->graph != 0 ? 1 : 0;
        all.uploads += activity->kind == kFakeCudaToDevice ? 1 : 0;
      },
      &counts, nullptr, 0};
  fake_cuda_listen(&listener);
  const Outcome gpu = RunOn("gpu", kAdd, inputs, 5);
  fake_cuda_listen(nullptr);
  ExpectSame(gpu, RunOn("interpreter", kAdd, inputs), "fifth run");
  EXPECT_EQ(gpu.executed.kernels, 1);
  EXPECT_EQ(counts.launches, 2);  // the first run, and the recording
  EXPECT_EQ(counts.graphs, 4);
  EXPECT_EQ(counts.graph_kernels, 4);
  EXPECT_EQ(counts.uploads, 2);  // inputs that are the same stay there
  EXPECT_EQ(launches + graphs, 0);
  ExpectNothingLeft("graphs");
}

TEST(Gpu, LaunchesOneByOneWhereAGraphIsRefused) {
  const std::vector<Literal> inputs = {Floats({8}), Floats({8})};
  SetFaults("");
  const Outcome meant = RunOn("interpreter", kAdd, inputs);
  for (const char* faults :
       {"cuStreamBeginCapture=801", "cuStreamBeginCapture=900", "cuStreamEndCapture=900",
        "cuStreamEndCapture=901", "cuGraphInstantiate=2", "cuGraphInstantiate=801",
        "cuLaunchKernel:2=900"}) {
    SetFaults(faults);
    const Outcome gpu = RunOn("gpu", kAdd, inputs, 3);
    ExpectSame(gpu, meant, faults);
    EXPECT_EQ(gpu.executed.kernels, 1) << faults;
    ASSERT_EQ(gpu.warnings.size(), 1u) << faults;  // of all runs together
    EXPECT_TRUE(
        gpu.warnings[0].starts_with("add is launched kernel by kernel, not as a CUDA graph: "))
        << gpu.warnings[0];
    ExpectNothingLeft(faults);
  }
}

// The limit is of what the host evaluates.
TEST(Gpu, HasNoBudgetOfElements) {
  SetFaults("");
  RunOptions options;
  options.limits.interpreter_steps = 1000;
  for (const char* small : {kLoop, kAdd}) {
    std::string text = small;
    for (size_t at = 0; (at = text.find("f32[8]", at)) != std::string::npos;) {
      text.replace(at, 6, "f32[131072]");
    }
    const std::vector<Literal> inputs(small == kAdd ? 2 : 1, Floats({131072}));
    EXPECT_TRUE(RunOn("interpreter", text.c_str(), inputs, 1, options).error.has_value());
    ExpectSame(RunOn("gpu", text.c_str(), inputs, 3, options),
               RunOn("interpreter", text.c_str(), inputs), text);
  }
}

TEST(Gpu, CopiesOfHostFallbacksAreCounted) {
  SetFaults("");
  const Outcome gpu = RunOn("gpu", kHostFallback, {Positive()});
  ASSERT_EQ(gpu.fallbacks.size(), 1u);
  EXPECT_EQ(gpu.fallbacks[0].opcode, "custom-call");
  EXPECT_EQ(gpu.fallbacks[0].bytes_moved, 2 * 16 * 4);
  EXPECT_EQ(gpu.executed.evaluated, 1);
}

// Where nothing is copied too.
TEST(Gpu, LibraryCallsOnTheEvaluatorAreReported) {
  SetFaults("");
  for (const char* const platform : {"cpu", "gpu-sim", "gpu"}) {
    const Outcome outcome = RunOn(platform, kHostFallback, {Positive()});
    ASSERT_EQ(outcome.fallbacks.size(), 1u) << platform;
    EXPECT_EQ(outcome.fallbacks[0].reason, "custom call that the platform does not implement")
        << platform;
    EXPECT_EQ(outcome.executed.evaluated, 1) << platform;
    EXPECT_EQ(outcome.executed.kernels, 2) << platform;
  }
}

// Calls that only hand values on, and kernels that wait for a value nobody has.
TEST(Gpu, AnnotationsAreNotHostFallbacks) {
  SetFaults("");
  constexpr const char* kNotes = R"(HloModule notes
ENTRY e {
  x = f32[4] parameter(0)
  s = f32[4] custom-call(x), custom_call_target="Sharding", custom_call_has_side_effect=true
  g = () custom-call(s), custom_call_target="xla.sdy.ShardingGroup", custom_call_has_side_effect=true
  ROOT n = f32[4] negate(s)
})";
  constexpr const char* kMissing = R"(HloModule missing
ENTRY e {
  x = f32[64] parameter(0)
  c = f32[64] custom-call(x), custom_call_target="nobody_knows"
  e = f32[64] exponential(x)
  a = f32[64] add(e, c)
  n = f32[64] negate(e)
  ROOT r = (f32[64], f32[64]) tuple(a, n)
})";
  for (const char* const platform : {"cpu", "gpu-sim", "gpu"}) {
    const Outcome notes = RunOn(platform, kNotes, {Floats({4})});
    EXPECT_EQ(notes.executed.evaluated, 0) << platform;
    EXPECT_EQ(notes.fallbacks.size(), 0u) << platform;
    const auto missing = (*MakePlatform(platform))->Load(hlo::Parsed(kMissing), RunOptions());
    ASSERT_TRUE(missing.has_value()) << missing.error().ToString();
    Events events;
    const std::vector<Literal> inputs = {Floats({64})};
    ASSERT_TRUE((*missing)->Run({&inputs, 1}, RunOptions(), events).has_value()) << platform;
    const auto fallbacks = events.Of<RunFallback>();
    const auto with = [&](std::string_view reason) {
      return std::ranges::count(fallbacks, reason, &RunFallback::reason);
    };
    EXPECT_GT(with("an operand has no value"), 0) << platform;
    EXPECT_EQ(with("unsupported opcode"), 0) << platform;
  }
}

// Of whatever is in one kernel with it.
TEST(Gpu, AHostFallbackNamesTheInstructionWithoutCode) {
  SetFaults("");
  constexpr const char* kTogether = R"(HloModule together
ENTRY e {
  x = c128[17] parameter(0)
  y = f32[17] parameter(1)
  r = c128[17] atan(x)
  s = f32[17] rsqrt(y)
  ROOT o = (c128[17], f32[17]) tuple(r, s)
})";
  const hlo::Shape complex = hlo::Shape::Array(hlo::ElementType::kC128, {17});
  const Literal zeros = Literal::Dense(complex, std::vector<std::byte>(17 * 16));
  for (const char* const platform : {"gpu-sim", "gpu"}) {
    const Outcome ran = RunOn(platform, kTogether, {zeros, Floats({17})});
    ASSERT_FALSE(ran.fallbacks.empty()) << platform;
    for (const RunFallback& each : ran.fallbacks) {
      EXPECT_EQ(each.reason, "unsupported opcode") << platform << each.detail;
    }
  }
}

// An update in place writes the update, whatever the size of the array.
TEST(Gpu, UpdatesCountForWhatTheyWrite) {
  SetFaults("");
  const std::string updates = R"(HloModule updates
turn {
  s = (s32[], f32[4096]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4096] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  f = f32[] convert(j)
  u = f32[1] reshape(f)
  y = f32[4096] dynamic-update-slice(x, u, i)
  ROOT t = (s32[], f32[4096]) tuple(j, y)
}
goes_on {
  s = (s32[], f32[4096]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(300)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[4096] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[4096]) tuple(zero, x)
  w = (s32[], f32[4096]) while(s), condition=goes_on, body=turn
  ROOT r = f32[4096] get-tuple-element(w), index=1
)";
  RunOptions options;
  options.limits.interpreter_steps = 100'000;
  // With an effect there is no plan.
  for (const char* const rest :
       {"}", "  k = token[] after-all()\n  o = token[] outfeed(zero, k)\n}"}) {
    for (const char* const platform : {"interpreter", "cpu", "gpu"}) {
      const Outcome outcome =
          RunOn(platform, (updates + rest).c_str(), {Floats({4096})}, 1, options);
      ASSERT_FALSE(outcome.error.has_value()) << platform << ": " << outcome.error->ToString();
    }
  }
}

struct FaultRow {
  const char* faults;
  ErrorClass error_class;
  const char* message;  // a part of it
  const char* hint;     // likewise
};
constexpr FaultRow kFaultRows[] = {
    {"capability=60", ErrorClass::kUnsupported, "device capability too low: Made-up GPU has 6.0",
     "A100"},
    {"capability=75", ErrorClass::kUnsupported, "has 7.5, our code needs 8.0", "gpu-sim"},
    {"memory=100", ErrorClass::kEnvironment, "not enough device memory: ", "nvidia-smi"},
    {"cuMemAlloc=2,memory=7000", ErrorClass::kEnvironment, "free of 7000 on Made-up GPU",
     "smaller inputs"},
    {"cuMemAlloc=46", ErrorClass::kEnvironment, "device busy: allocating", "nvidia-smi"},
    {"cuDeviceGet=101", ErrorClass::kEnvironment, "no device: taking GPU 0",
     "CUDA_VISIBLE_DEVICES"},
    {"cuDevicePrimaryCtxRetain=2", ErrorClass::kEnvironment,
     "not enough device memory: making the context", "nvidia-smi"},
    {"cuDevicePrimaryCtxRetain=46", ErrorClass::kEnvironment, "device busy: making the context of",
     "another program"},
    {"cuDevicePrimaryCtxRetain=102", ErrorClass::kEnvironment, "DEVICE_NOT_LICENSED", "licence"},
    {"cuDevicePrimaryCtxRetain=802", ErrorClass::kEnvironment, "SYSTEM_NOT_READY", "fabricmanager"},
    {"cuDevicePrimaryCtxRetain=805", ErrorClass::kEnvironment, "MPS_CONNECTION_FAILED", "MPS"},
    {"cuModuleLoadDataEx=222", ErrorClass::kEnvironment, "version mismatch: loading our code",
     "update NVIDIA's driver"},
    {"cuModuleLoadDataEx=221", ErrorClass::kEnvironment, "JIT_COMPILER_NOT_FOUND",
     "ptxjitcompiler"},
    {"cuModuleLoadDataEx=218", ErrorClass::kInternal, "code refused: loading our code", ""},
    {"cuModuleLoadDataEx=223", ErrorClass::kEnvironment, "JIT_COMPILATION_DISABLED",
     "CUDA_DISABLE_PTX_JIT"},
    {"cuModuleLoadDataEx=209", ErrorClass::kUnsupported, "device capability too low: loading our",
     "sm_80"},
    {"cuModuleGetFunction=500", ErrorClass::kInternal, "code refused: finding the kernel", ""},
    {"cuStreamCreate=2", ErrorClass::kEnvironment, "not enough device memory: making a stream", ""},
    {"cuMemHostAlloc=2", ErrorClass::kEnvironment, "pinning 4194304 bytes", ""},
    {"cuEventCreate=999", ErrorClass::kEnvironment, "device lost: making an event", "run again"},
    {"cuMemcpyHtoDAsync=1", ErrorClass::kInternal, "copying 32 bytes to the device", ""},
    {"cuMemcpyDtoHAsync:1=214", ErrorClass::kEnvironment, "device lost: copying 32 bytes from",
     "ECC"},
    {"cuEventRecord=400", ErrorClass::kInternal, "marking the end of a copy", ""},
    {"cuLaunchKernel=701", ErrorClass::kInternal, "launch failure: launching", ""},
    {"cuLaunchKernel=719", ErrorClass::kCrashed, "CUDA_ERROR_LAUNCH_FAILED (719)", "gpu-sim"},
    {"cuLaunchKernel=1", ErrorClass::kInternal, "CUDA_ERROR_INVALID_VALUE", ""},
    {"kernel:1=700", ErrorClass::kCrashed,
     "launch failure: ", "names instruction, thread and line"},
    {"kernel:1=702", ErrorClass::kCrashed, "LAUNCH_TIMEOUT", "watchdog"},
    {"kernel:1=714", ErrorClass::kCrashed, "HARDWARE_STACK_ERROR", "gpu-sim"},
    {"kernel:1=715", ErrorClass::kCrashed, "ILLEGAL_INSTRUCTION", "gpu-sim"},
    {"kernel:1=716", ErrorClass::kCrashed, "MISALIGNED_ADDRESS", "gpu-sim"},
    {"kernel:1=719", ErrorClass::kCrashed, "LAUNCH_FAILED", "gpu-sim"},
    {"kernel:1=999", ErrorClass::kEnvironment, "device lost: ", "dmesg"},
    {"kernel:2=719", ErrorClass::kCrashed, "LAUNCH_FAILED", "gpu-sim"},  // in a graph
    {"cuStreamSynchronize=709", ErrorClass::kCrashed, "device lost: waiting for the kernels of add",
     "run again"},
    {"cuGraphLaunch=46", ErrorClass::kEnvironment, "launching the graph of add", ""},
    {"cuCtxSetCurrent=201", ErrorClass::kInternal, "entering the context of Made-up GPU", ""},
    {"cuDeviceGetName=4", ErrorClass::kEnvironment, "device lost: asking for the device's name",
     ""},
    {"cuMemAlloc=12345", ErrorClass::kEnvironment, "an error that it has no name for (12345)",
     "doctor"},
};

TEST(Gpu, EveryRefusalIsNamedWithTheFix) {
  SetFaults("");
  const std::vector<Literal> inputs = {Floats({8}), Floats({8})};
  const Outcome meant = RunOn("interpreter", kAdd, inputs);
  for (const FaultRow& row : kFaultRows) {
    SetFaults(row.faults);
    const Outcome gpu = RunOn("gpu", kAdd, inputs, 3);
    ASSERT_TRUE(gpu.error.has_value()) << row.faults;
    EXPECT_EQ(gpu.error->error_class, row.error_class) << row.faults << gpu.error->ToString();
    EXPECT_NE(gpu.error->message.find(row.message), std::string::npos)
        << row.faults << ": " << gpu.error->ToString();
    EXPECT_NE(gpu.error->hint.find(row.hint), std::string::npos)
        << row.faults << ": " << gpu.error->ToString();
    ExpectNothingLeft(row.faults);
    // As a new process.
    SetFaults("");
    ExpectSame(RunOn("gpu", kAdd, inputs, 2), meant, row.faults);
    ExpectNothingLeft(row.faults);
  }
  EXPECT_TRUE(IsDeviceLost());
}

TEST(Gpu, TenThousandLaunchesUnderFaults) {
  SetFaults("");
  const std::vector<Literal> inputs = {Floats({8}), Floats({8})};
  const Outcome meant = RunOn("interpreter", kAdd, inputs);
  const uint64_t first = fake_cuda_launches();
  int good = 0, refused = 0;
  for (int round = 0; fake_cuda_launches() < first + 10'000; ++round) {
    // Kernels, copies, memory and graphs fail in turn, at other times in each round.
    SetFaults(
        fmt::format("kernel%{}=719,cuMemcpyDtoHAsync%{}=214,cuMemAlloc%{}=2,cuGraphLaunch%{}=46",
                    301 + 7 * round, 211 + 5 * round, 5, 97 + round));
    auto executable = (*MakePlatform("gpu"))->Load(hlo::Parsed(kAdd), RunOptions());
    ASSERT_TRUE(executable.has_value()) << executable.error().ToString();
    for (int run = 0; run < 500; ++run) {
      Events events;
      const auto ran = (*executable)->Run({&inputs, 1}, RunOptions(), events);
      if (!ran.has_value()) {
        ++refused;
        EXPECT_FALSE(ran.error().message.empty());
        if (ran.error().error_class == ErrorClass::kCrashed ||
            ran.error().message.starts_with("device lost")) {
          break;
        }
        continue;
      }
      ++good;
      for (const LeafResult* leaf : events.Of<LeafResult>()) {
        ASSERT_TRUE(leaf->value.has_value());
        ASSERT_TRUE(std::ranges::equal(leaf->value->bytes(), meant.results[0].bytes()));
      }
    }
    executable->reset();
    ExpectNothingLeft(fmt::format("round {}", round));
  }
  EXPECT_GT(good, 8'000);
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace hloscope::replay
