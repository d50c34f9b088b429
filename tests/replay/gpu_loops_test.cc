// Loops of the platform gpu as conditional nodes of one CUDA graph, over the made-up driver.
#include <fmt/format.h>

#include <functional>

#include "tests/replay/gpu_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

// A loop of so many turns as the input says, in each of which another one runs i times.
constexpr const char* kNested = R"(HloModule nested
inner_turn {
  s = (s32[], s32[], f32[8]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  x = f32[8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(k, one)
  y = f32[8] add(x, x)
  r = f32[8] reverse(y), dimensions={0}
  ROOT t = (s32[], s32[], f32[8]) tuple(j, n, r)
}
inner_goes_on {
  s = (s32[], s32[], f32[8]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT c = pred[] compare(k, n), direction=LT
}
turn {
  s = (s32[], s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  x = f32[8] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  before = (s32[], s32[], f32[8]) tuple(zero, i, x)
  w = (s32[], s32[], f32[8]) while(before), condition=inner_goes_on, body=inner_turn
  y = f32[8] get-tuple-element(w), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  z = f32[8] negate(y)
  ROOT t = (s32[], s32[], f32[8]) tuple(j, n, z)
}
goes_on {
  s = (s32[], s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  n = s32[] parameter(0)
  x = f32[8] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], s32[], f32[8]) tuple(zero, n, x)
  w = (s32[], s32[], f32[8]) while(s), condition=goes_on, body=turn
  ROOT r = f32[8] get-tuple-element(w), index=2
}
)";

std::vector<Literal> Inputs(int32_t turns) {
  return {Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, {}), {&turns, 1}),
          Floats({8})};
}

struct Calls {
  int launches = 0, graphs = 0, to_host = 0;
};
Calls CountedCalls(const std::function<void()>& run) {
  Calls calls;
  const FakeCudaListener listener{[](void* user, const FakeCudaCall* call) {
                                    auto& all = *static_cast<Calls*>(user);
                                    if (call->has_ended != 0) return;
                                    const std::string_view name = call->function;
                                    all.launches += name == "cuLaunchKernel" ? 1 : 0;
                                    all.graphs += name == "cuGraphLaunch" ? 1 : 0;
                                    all.to_host += name == "cuMemcpyDtoHAsync" ? 1 : 0;
                                  },
                                  [](void*, const FakeCudaActivity*) {}, &calls, nullptr, 0};
  fake_cuda_listen(&listener);
  run();
  fake_cuda_listen(nullptr);
  return calls;
}

void ExpectAsMeant(const Outcome& gpu, int32_t turns) {
  const Outcome meant = RunOn("interpreter", kNested, Inputs(turns));
  ASSERT_FALSE(gpu.error.has_value()) << gpu.error->ToString();
  ASSERT_EQ(gpu.results.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(gpu.results[0].bytes(), meant.results[0].bytes())) << turns;
}

TEST(GpuLoops, AreNodesOfTheGraph) {
  for (const int32_t turns : {0, 1, 4}) {
    SetFaults("");
    Outcome once, often;
    const Calls of_one = CountedCalls([&] { once = RunOn("gpu", kNested, Inputs(turns), 1); });
    const Calls of_four = CountedCalls([&] { often = RunOn("gpu", kNested, Inputs(turns), 4); });
    ExpectAsMeant(once, turns);
    ExpectAsMeant(often, turns);
    // Counted by the device, as the host counts them turn by turn.
    EXPECT_EQ(often.executed.kernels, once.executed.kernels) << turns;
    EXPECT_EQ(of_one.graphs, 0);
    EXPECT_EQ(of_four.graphs, 3);
    // What is recorded does not depend on the number of turns, and no turn asks the host.
    EXPECT_LE(of_four.launches - of_one.launches, 20) << turns;
    EXPECT_LE(of_four.to_host - of_one.to_host, 3 * 2) << turns;
    EXPECT_TRUE(often.warnings.empty());
    ExpectNothingLeft(fmt::format("{} turns", turns));
  }
}

// Other inputs than those that the graph was recorded with.
TEST(GpuLoops, TurnsAreDecidedByTheRunAtHand) {
  SetFaults("");
  RunOptions options;
  auto executable = (*MakePlatform("gpu"))->Load(hlo::Parsed(kNested), options);
  ASSERT_TRUE(executable.has_value());
  for (const int32_t turns : {2, 2, 5, 0, 3}) {
    Events events;
    const std::vector<std::vector<Literal>> inputs = {Inputs(turns)};
    ASSERT_TRUE((*executable)->Run(inputs, options, events).has_value());
    Outcome outcome;
    for (const LeafResult* leaf : events.Of<LeafResult>()) outcome.results.push_back(*leaf->value);
    ExpectAsMeant(outcome, turns);
  }
  executable->reset();
  ExpectNothingLeft("several inputs");
}

TEST(GpuLoops, AreDecidedByTheHostWhereTheirNodeIsRefused) {
  SetFaults("");
  const int64_t kernels = RunOn("gpu", kNested, Inputs(3)).executed.kernels;
  for (const char* const faults :
       {"cuGraphConditionalHandleCreate=801", "cuStreamGetCaptureInfo=1", "cuGraphAddNode=1",
        "cuGraphAddNode:2=801", "cuStreamUpdateCaptureDependencies=1",
        "cuStreamBeginCaptureToGraph=900", "cuStreamEndCapture:2=901", "cuGraphInstantiate=801",
        "cuMemAlloc:2=2"}) {
    SetFaults(faults);
    const Outcome gpu = RunOn("gpu", kNested, Inputs(3), 3);
    ExpectAsMeant(gpu, 3);
    EXPECT_EQ(gpu.executed.kernels, kernels) << faults;
    ASSERT_EQ(gpu.warnings.size(), 1u) << faults;
    EXPECT_TRUE(gpu.warnings[0].starts_with("nested is launched kernel by kernel")) << faults;
    ExpectNothingLeft(faults);
  }
}

// In all runs, whichever kernel it is: of a turn, or one that decides.
TEST(GpuLoops, AFaultOfATurnEndsTheRun) {
  for (const int number : {20, 60, 75, 90}) {
    SetFaults(fmt::format("kernel:{}=719", number));
    const Outcome gpu = RunOn("gpu", kNested, Inputs(3), 4);
    ASSERT_TRUE(gpu.error.has_value()) << number;
    EXPECT_EQ(gpu.error->error_class, ErrorClass::kCrashed) << gpu.error->ToString();
  }
  SetFaults("");
}

}  // namespace
}  // namespace hloscope::replay
