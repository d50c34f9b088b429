// Critical paths of made-up traces where the answer is known.
#include "profiler/critical_path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/hlo/text/text.h"
#include "profiler/data_dependencies.h"
#include "profiler/event_store_builder.h"
#include "tests/base/paths.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {
namespace {

class Correlations : public ArgumentSource {
 public:
  std::vector<Argument> Read(uint64_t where) const override {
    if (where == 0) return {};
    return {{"correlation_id", static_cast<int64_t>(where)}};
  }
};

struct MadeTrace {
  EventStoreBuilder builder;
  std::map<std::string, uint32_t> groups;
  std::map<std::string, LaneId> lanes;

  MadeTrace() { builder.set_arguments(std::make_shared<Correlations>()); }

  // A lane is called GROUP/NAME; groups that begin with "gpu" are devices.
  LaneId Lane(const std::string& path) {
    const auto [lane, is_new_lane] = lanes.try_emplace(path);
    if (!is_new_lane) return lane->second;
    const size_t slash = path.find('/');
    const std::string group = path.substr(0, slash);
    const bool is_device = group.starts_with("gpu");
    const auto [entry, is_new] = groups.try_emplace(group, 0);
    if (is_new) entry->second = builder.AddGroup(group, is_device);
    lane->second = builder.AddLane(entry->second, path.substr(slash + 1),
                                   is_device ? LaneRole::kStream : LaneRole::kThread);
    return lane->second;
  }
  // `op`: the instruction of module m; empty: none.
  void Add(const std::string& lane, int64_t begin, int64_t end, std::string_view name,
           std::string_view op = {}, uint64_t correlation = 0) {
    OperationId id;
    if (!op.empty()) id = builder.AddOperation({builder.Name("m"), builder.Name(op), -1});
    ASSERT_TRUE(builder.Add(Lane(lane), begin, end - begin, builder.Name(name), id, correlation));
  }
  // "name begin-end wait link" of each step, then the sums.
  std::vector<std::string> Path(std::string_view hlo = {},
                                std::optional<TimeRange> range = std::nullopt) {
    std::vector<AttributedModule> modules;
    if (!hlo.empty()) modules.push_back({-1, "m", hlo::ParseText(hlo, Limits()).module, {}});
    auto store = builder.Finish(SharedJobs(2));
    auto attribution = *Attribution::Make(*store, std::move(modules), SharedJobs(2));
    auto path = FindCriticalPath(*attribution, range, SharedJobs(2));
    EXPECT_TRUE(path.has_value());
    std::vector<std::string> out;
    int64_t busy = 0, wait = path->last_wait;
    for (const PathStep& step : path->steps) {
      out.push_back(fmt::format("{} {}-{} {} {}", (*store)->text((*store)->name(step.event)),
                                step.begin, step.end, step.wait, ToString(step.link)));
      busy += step.duration();
      wait += step.wait;
    }
    // Every moment of the range is in one step or a wait.
    EXPECT_EQ(busy, path->busy);
    EXPECT_EQ(wait, path->wait);
    EXPECT_EQ(busy + wait, path->range.length());
    return out;
  }
};

using Steps = std::vector<std::string>;

constexpr std::string_view kDiamond = R"(HloModule m
ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] add(p, p)
  b = f32[4] multiply(p, p)
  pair = (f32[4], f32[4]) tuple(a, b)
  second = f32[4] get-tuple-element(pair), index=1
  c = f32[4] negate(second)
  ROOT d = f32[4] subtract(c, a)
})";

TEST(CriticalPathTest, OneLaneIsWalkedAlong) {
  MadeTrace trace;
  trace.Add("gpu0/s", 0, 10, "a");
  trace.Add("gpu0/s", 15, 20, "b");
  EXPECT_EQ(trace.Path(), (Steps{"a 0-10 0 first", "b 15-20 5 lane"}));
}

// c needs b, by the second element of a tuple; a is off the path though it stands before c in the
// lane, and x though it ends later.
TEST(CriticalPathTest, DataIsFollowedAcrossLanes) {
  MadeTrace trace;
  trace.Add("gpu0/s1", 0, 10, "k1", "a");
  trace.Add("gpu0/s2", 0, 30, "k2", "b");
  trace.Add("gpu0/s3", 0, 31, "x");
  trace.Add("gpu0/s1", 32, 40, "k3", "c");
  trace.Add("gpu0/s1", 40, 41, "k4", "d");
  EXPECT_EQ(trace.Path(kDiamond), (Steps{"k2 0-30 0 first", "k3 32-40 2 data", "k4 40-41 0 data"}));
}

// Threads of the host work as lanes where no device does.
TEST(CriticalPathTest, ThunksOfTheHostAreWork) {
  MadeTrace trace;
  trace.Add("host/t1", 0, 100, "python");
  trace.Add("host/t2", 10, 20, "k1", "a");
  trace.Add("host/t3", 12, 40, "k2", "b");
  trace.Add("host/t2", 41, 50, "k3", "c");
  EXPECT_EQ(trace.Path(kDiamond), (Steps{"k2 12-40 2 first", "k3 41-50 1 data"}));
}

TEST(CriticalPathTest, WithoutAModuleWhatEndedLastCameBefore) {
  MadeTrace trace;
  trace.Add("gpu0/s1", 0, 10, "a");
  trace.Add("gpu0/s2", 5, 18, "b");
  trace.Add("gpu0/s1", 20, 30, "c");
  EXPECT_EQ(trace.Path(), (Steps{"b 5-18 5 first", "c 20-30 2 time"}));
}

// The device is idle until the host launches: what the host did meanwhile is on the path.
TEST(CriticalPathTest, ALaunchLeadsToTheHost) {
  MadeTrace trace;
  trace.Add("gpu0/s", 0, 10, "k1", {}, 7);
  trace.Add("gpu0/s", 50, 60, "k2", {}, 8);
  trace.Add("gpu0/s", 60, 70, "k3", {}, 9);
  trace.Add("host/t", 1, 40, "python");
  trace.Add("host/t", 40, 49, "cuLaunchKernel", {}, 8);
  trace.Add("host/t", 51, 53, "cuLaunchKernel", {}, 9);
  EXPECT_EQ(trace.Path(), (Steps{"python 1-40 1 first", "cuLaunchKernel 40-49 0 lane",
                                 "k2 50-60 1 launch", "k3 60-70 0 lane"}));
}

// A host that waits for the device does nothing of its own: the path goes on on the device.
TEST(CriticalPathTest, AHostThatWaitsLeadsToTheDevice) {
  MadeTrace trace;
  trace.Add("host/t", 0, 5, "cuLaunchKernel", {}, 7);
  trace.Add("gpu0/s", 6, 30, "k1", {}, 7);
  trace.Add("host/t", 5, 33, "cuStreamSynchronize");
  trace.Add("host/t", 33, 40, "cuLaunchKernel", {}, 8);
  trace.Add("gpu0/s", 41, 50, "k2", {}, 8);
  EXPECT_EQ(
      trace.Path({}, TimeRange{0, 50}),
      (Steps{"cuLaunchKernel 0-5 0 first", "k1 6-30 1 launch", "cuStreamSynchronize 30-33 0 sync",
             "cuLaunchKernel 33-40 0 lane", "k2 41-50 1 launch"}));
}

// Both devices leave an all-reduce together; the one that came last is what counts.
TEST(CriticalPathTest, TheLastDeviceHoldsUpACollective) {
  constexpr std::string_view kReduce = R"(HloModule m
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] add(p, p)
  r = f32[4] all-reduce(a), replica_groups={{0,1}}, to_apply=sum
  ROOT b = f32[4] negate(r)
})";
  MadeTrace trace;
  trace.Add("gpu0/s", 0, 10, "fast", "a");
  trace.Add("gpu0/s", 10, 45, "reduce", "r");
  trace.Add("gpu0/s", 45, 60, "end", "b");
  trace.Add("gpu1/s", 0, 40, "slow", "a");
  trace.Add("gpu1/s", 40, 45, "reduce", "r");
  trace.Add("gpu1/s", 45, 50, "end", "b");
  EXPECT_EQ(trace.Path(kReduce),
            (Steps{"slow 0-40 0 first", "reduce 40-45 0 collective", "end 45-60 0 data"}));
}

// The devices of a run on the host are lanes of one process. A device that waits is not busy, but
// for what the device that came last does meanwhile.
TEST(CriticalPathTest, WaitsInsideACollectiveAreNoWork) {
  constexpr std::string_view kReduce = R"(HloModule m
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] add(p, p)
  r = f32[4] all-reduce(a), replica_groups={{0,1}}, to_apply=sum
  ROOT b = f32[4] negate(r)
})";
  MadeTrace trace;
  trace.Add("cpu/device 0", 0, 10, "fast", "a");
  trace.Add("cpu/device 0", 10, 60, "reduce", "r");
  trace.Add("cpu/device 0", 12, 55, "wait for other devices");
  trace.Add("cpu/device 0", 60, 70, "end", "b");
  trace.Add("cpu/device 1", 0, 40, "slow", "a");
  trace.Add("cpu/device 1", 40, 45, "reduce", "r");
  trace.Add("cpu/device 1", 46, 50, "end", "b");
  EXPECT_EQ(trace.Path(kReduce), (Steps{"slow 0-40 0 first", "reduce 40-45 0 collective",
                                        "reduce 55-60 10 collective", "end 60-70 0 data"}));
}

TEST(CriticalPathTest, NestedEventsAndRangesAreCut) {
  MadeTrace trace;
  trace.Add("gpu0/s", 0, 100, "outer");
  trace.Add("gpu0/s", 20, 40, "inner");
  trace.Add("gpu0/s", 100, 200, "next");
  EXPECT_EQ(trace.Path({}, TimeRange{10, 150}),
            (Steps{"outer 10-20 0 first", "inner 20-40 0 lane", "outer 40-100 0 lane",
                   "next 100-150 0 lane"}));
}

TEST(CriticalPathTest, AnEmptyRangeHasNoPath) {
  MadeTrace trace;
  trace.Add("host/t", 0, 10, "python");
  EXPECT_EQ(trace.Path(), Steps{});
  MadeTrace later;
  later.Add("gpu0/s", 0, 10, "a");
  EXPECT_EQ(later.Path({}, TimeRange{50, 60}), Steps{});
}

// In a loop a value comes from the start or the iteration before, element by element.
TEST(DataDependenciesTest, LoopsAreFollowedByElement) {
  auto module = hlo::ParseText(R"(HloModule m
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4] multiply(x, x)
  ROOT t = (s32[], f32[4]) tuple(next, y)
}
condition {
  state = (s32[], f32[4]) parameter(0)
  count = s32[] get-tuple-element(state), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(count, ten), direction=LT
}
ENTRY main {
  p = f32[4] parameter(0)
  zero = s32[] constant(0)
  begin = f32[4] negate(p)
  start = (s32[], f32[4]) tuple(zero, begin)
  loop = (s32[], f32[4]) while(start), condition=condition, body=body
  out = f32[4] get-tuple-element(loop), index=1
  ROOT last = f32[4] negate(out)
})",
                               Limits())
                    .module;
  ASSERT_NE(module, nullptr);
  std::vector<bool> ran(module->instructions().size());
  std::map<std::string, hlo::InstructionId> ids;
  for (uint32_t k = 0; k < ran.size(); ++k) {
    ids[std::string(module->name(hlo::InstructionId(k)))] = hlo::InstructionId(k);
  }
  for (const char* name : {"next", "y", "less", "begin", "last"}) ran[ids[name].index] = true;
  DataDependencies dependencies(*module, ran);
  auto of = [&](const char* name) {
    std::set<std::string> names;
    for (hlo::InstructionId id : dependencies.Of(ids[name])) names.emplace(module->name(id));
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(of("y"), (Names{"y", "begin", "less"}));
  EXPECT_EQ(of("next"), (Names{"next", "less"}));
  EXPECT_EQ(of("less"), (Names{"next", "less"}));
  EXPECT_EQ(of("last"), (Names{"y", "begin", "less"}));
  EXPECT_EQ(of("begin"), Names{});
}

TEST(CriticalPathTest, ARealTraceAddsUp) {
  const std::string path = SourcePath("samples/conv_net/conv_net.xplane.pb.gz");
  auto profile = OpenProfile(path, Limits(), SharedJobs(2));
  ASSERT_TRUE(profile.has_value());
  std::vector<std::string> warnings;
  auto attribution = *Attribution::Make(
      (*profile)->store, ReadEmbeddedModules(**profile, Limits(), warnings), SharedJobs(2));
  auto found = FindCriticalPath(*attribution, std::nullopt, SharedJobs(2));
  ASSERT_TRUE(found.has_value());
  ASSERT_FALSE(found->steps.empty());
  EXPECT_EQ(found->busy + found->wait, found->range.length());
  int64_t last = found->range.begin;
  for (const PathStep& step : found->steps) {
    EXPECT_EQ(step.begin - last, step.wait);
    last = step.end;
  }
  EXPECT_GT(found->links[static_cast<size_t>(PathLink::kData)], 0);
}

}  // namespace
}  // namespace hloscope::profiler
