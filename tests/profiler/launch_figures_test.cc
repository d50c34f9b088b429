// Figures of launches: in the event arguments and back, summed by instruction, and the model of
// a device beside them.
#include "profiler/launch_figures.h"

#include <gtest/gtest.h>

#include "profiler/event_store_builder.h"
#include "profiler/launch_sums.h"
#include "tests/hlo/parsed.h"

namespace hloscope::profiler {
namespace {

TEST(LaunchFiguresTest, FiguresAreTheArgumentsAgain) {
  LaunchFigures figures;
  uint64_t next = 0;
#define LAUNCH_FIGURE(field, name, metric) figures.field = ++next;
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE
  std::vector<Argument> arguments = {{"kernel", std::string("k")}};
  AppendFigures(figures, arguments);
  EXPECT_EQ(arguments.size(), 1 + next);
  const auto again = FiguresOf(arguments);
  ASSERT_TRUE(again.has_value());
#define LAUNCH_FIGURE(field, name, metric) EXPECT_EQ(again->field, figures.field) << name;
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE
  EXPECT_FALSE(FiguresOf(std::span(arguments).first(1)).has_value());
  // Formats may give integers as signed.
  const std::vector<Argument> is_signed = {{"instructions_executed", int64_t{7}}};
  EXPECT_EQ(FiguresOf(is_signed)->warp_instructions, 7u);
}

TEST(LaunchFiguresTest, SharesAreOfWhatCouldBe) {
  LaunchFigures figures;
  EXPECT_EQ(figures.active_lanes(), 1);
  EXPECT_EQ(figures.coalesced(), 1);
  figures.warp_instructions = 10;
  figures.arithmetic = 120;
  figures.memory = 40;
  EXPECT_EQ(figures.active_lanes(), 0.5);
  figures.global_read_sectors = 8;
  figures.global_read_bytes = 64;
  EXPECT_EQ(figures.coalesced(), 0.25);
  figures.global_read_bytes = 1 << 20;
  EXPECT_EQ(figures.coalesced(), 1) << "all lanes read one word";
}

// A device of 10 multiprocessors at 1 GHz: 40 G instructions of warps a second.
DeviceFacts Device() {
  return FactsFromTarget(R"(gpu_device_info {
  core_count: 10
  fpus_per_core: 100
  clock_rate_ghz: 1
  memory_bandwidth: 1000000000
  scalar_unit_description {
    rate_infos { key: 12 value { clock_rate_ghz: 1 units_per_core: 4 ops_per_clock: 1 } }  # f64
  }
  matrix_unit_description {
    rate_infos { key: 11 value { clock_rate_ghz: 1 units_per_core: 4 ops_per_clock: 25 } }
    rate_infos { key: 10 value { clock_rate_ghz: 1 units_per_core: 4 ops_per_clock: 50 } }
  }
}
device_description_str: "A device"
)");
}

KernelDetails Blocks(uint64_t blocks, uint64_t threads = 128) {
  return {.blocks = blocks, .threads = threads};
}

TEST(LaunchFiguresTest, TheModelTakesWhatTakesLongest) {
  const DeviceFacts device = Device();
  EXPECT_EQ(device.name, "A device");
  EXPECT_EQ(device.flops_per_second, 2e12);
  EXPECT_EQ(device.doubles_per_second, 8e10);
  EXPECT_EQ(device.products_tf32, 1e12);
  EXPECT_EQ(device.products_16bit, 2e12);
  EXPECT_EQ(device.products_8bit, 0) << "not said";
  constexpr double kLaunch = 1e-6;
  const KernelDetails ten = Blocks(10);
  LaunchFigures figures;
  EXPECT_EQ(ModelOf(figures, ten, device).seconds, kLaunch);
  EXPECT_EQ(ToString(ModelOf(figures, ten, device).bound), "launch");
  figures.touched_bytes = 1'000'000;
  EXPECT_DOUBLE_EQ(ModelOf(figures, ten, device).seconds, kLaunch + 1e-3);
  EXPECT_EQ(ModelOf(figures, ten, device).peak_seconds, 1e-3);
  EXPECT_EQ(ModelOf(figures, ten, device).bound, ModelBound::kMemory);
  figures.products_tf32 = 1'000'000'000;
  figures.products_16bit = 2'000'000'000;
  EXPECT_DOUBLE_EQ(ModelOf(figures, ten, device).seconds, kLaunch + 2e-3)
      << "one type after the other";
  EXPECT_EQ(ToString(ModelOf(figures, ten, device).bound), "tensor cores");
  figures.float_operations = 6'000'000'000;
  EXPECT_EQ(ModelOf(figures, ten, device).bound, ModelBound::kArithmetic);
  figures.warp_instructions = 40'000'000;
  EXPECT_DOUBLE_EQ(ModelOf(figures, Blocks(1), device).peak_seconds, 1e-2)
      << "one block is on one multiprocessor";
  EXPECT_EQ(ModelOf(figures, Blocks(1000), device).bound, ModelBound::kArithmetic);
  EXPECT_EQ(ModelOf(figures, Blocks(1000), {}).seconds, 0) << "of a device that is not known";
}

TEST(LaunchFiguresTest, TheModelCountsWavesAndLatency) {
  DeviceFacts device = Device();
  device.threads_per_core = 256;  // two blocks of 128
  const auto beyond_launch = [&](const LaunchFigures& figures, const KernelDetails& details) {
    return 1e9 * ModelOf(figures, details, device).seconds - 1000;  // in clocks
  };
  LaunchFigures figures;
  figures.warp_instructions = 11 * 4 * 100;
  // Eleven blocks: one multiprocessor has two of them, at four instructions a clock; a warp's 100
  // take two clocks each.
  EXPECT_NEAR(beyond_launch(figures, Blocks(11)), 200, 1e-6);
  EXPECT_NEAR(1e9 * ModelOf(figures, Blocks(11), device).peak_seconds, 110, 1e-6);
  // A wave of one block each, then one of the eleventh alone.
  device.threads_per_core = 128;
  EXPECT_NEAR(beyond_launch(figures, Blocks(11)), 400, 1e-6);
  // Seven loads of each warp: six at once and one.
  device.threads_per_core = 256;
  figures.global_loads = 11 * 4 * 7;
  EXPECT_NEAR(beyond_launch(figures, Blocks(11)), 200 + 2 * 478.8, 1e-6);
  EXPECT_EQ(ToString(ModelOf(figures, Blocks(11), device).bound), "latency");
  EXPECT_EQ(ModelOf(figures, {}, device).bound, ModelBound::kLaunch) << "nothing is known of waves";
  // One warp cannot keep four schedulers busy; its instructions wait for one another.
  LaunchFigures one;
  one.warp_instructions = 1000;
  EXPECT_NEAR(beyond_launch(one, Blocks(1, 32)), 2000, 1e-6);
  EXPECT_NEAR(beyond_launch(one, Blocks(1, 256)), 250, 1e-6);
  // L1 and shared memory: 128 bytes a clock, a conflict is a clock.
  LaunchFigures data;
  data.global_read_sectors = 40'000;
  data.shared_read_bytes = 128 * 10'000;
  data.shared_written_conflicts = 10'000;
  EXPECT_NEAR(beyond_launch(data, Blocks(10)), 3000, 1e-6);
  EXPECT_EQ(ModelOf(data, Blocks(10), device).bound, ModelBound::kData);
  EXPECT_NEAR(beyond_launch(data, Blocks(5)), 6000, 1e-6) << "half of the multiprocessors idle";
}

class Arguments : public ArgumentSource {
 public:
  std::vector<Argument> Read(uint64_t where) const override {
    if (where == 0) return {};
    LaunchFigures figures;
    figures.warp_instructions = where;
    std::vector<Argument> all;
    AppendFigures(figures, all);
    all.push_back({std::string(kModelTimeArgument), 0.5});
    all.push_back({std::string(kModelPeakArgument), 0.25});
    all.push_back({std::string(kModelBoundArgument), std::string("memory")});
    return all;
  }
};

TEST(LaunchFiguresTest, LaunchesAreSummedByInstruction) {
  const auto module = hlo::Parsed(R"(HloModule m
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] negate(a)
  ROOT c = f32[4] add(a, b)
})");
  EventStoreBuilder builder;
  builder.set_arguments(std::make_shared<const Arguments>());
  const LaneId lane = builder.AddLane(builder.AddGroup("p", false), "device 0", LaneRole::kThread);
  const auto add = [&](int64_t start, std::string_view name, uint64_t where) {
    const OperationId operation = builder.AddOperation(
        {.module = builder.Name("m"), .name = builder.Name(name), .program = 1});
    EXPECT_TRUE(builder.Add(lane, start, 10, builder.Name(name), operation, where).has_value());
  };
  add(0, "b", 3);
  add(10, "b", 4);
  add(20, "c", 0);
  Jobs jobs(1);
  const auto attribution = *Attribution::Make(*builder.Finish(jobs), {{1, "m", module, {}}}, jobs);
  const auto sums = *LaunchSumsOf(*attribution);
  ASSERT_EQ(sums.size(), attribution->times().size());
  int64_t launches = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto name = module->name(attribution->times()[i].target.instruction);
    launches += sums[i].launches;
    EXPECT_EQ(sums[i].figures.warp_instructions, name == "b" ? 7u : 0u) << name;
    EXPECT_EQ(sums[i].model_us, name == "b" ? 1.0 : 0.0);
    EXPECT_EQ(sums[i].model_peak_us, name == "b" ? 0.5 : 0.0);
    EXPECT_EQ(sums[i].bound, name == "b" ? "memory" : "");
  }
  EXPECT_EQ(launches, 2);
}

}  // namespace
}  // namespace hloscope::profiler
