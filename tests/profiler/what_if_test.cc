// What if: one trace of launches on two devices.
#include "profiler/what_if.h"

#include <gtest/gtest.h>

#include "core/base/jobs.h"
#include "profiler/event_store_builder.h"
#include "tests/hlo/parsed.h"

namespace hloscope::profiler {
namespace {

TEST(WhatIf, DetailsAreReadAsXlaWritesThem) {
  const std::vector<Argument> arguments = {
      {"kernel_details",
       std::string("regs:40 static_shared:1024 dynamic_shared:16 grid:12,2,1 block:128,1,1")}};
  const KernelDetails details = DetailsOf(arguments);
  EXPECT_EQ(details.registers, 40);
  EXPECT_EQ(details.shared_bytes, 1040);
  EXPECT_EQ(details.blocks, 24u);
  EXPECT_EQ(details.threads, 128u);
  EXPECT_EQ(DetailsOf({}).blocks, 0u);
  const std::vector<Argument> odd = {{"kernel_details", std::string("grid: block:,,")}};
  EXPECT_EQ(DetailsOf(odd).blocks, 0u);
}

DeviceFacts Device(double bytes_per_second, double flops_per_second) {
  DeviceFacts device;
  device.name = "made up";
  device.bytes_per_second = bytes_per_second;
  device.flops_per_second = flops_per_second;
  device.cores = 10;
  device.threads_per_core = 2048;
  device.registers_per_core = 65536;
  return device;
}

TEST(WhatIf, OccupancyCountsWhatAMultiprocessorHas) {
  DeviceFacts device = Device(1e12, 1e12);
  device.shared_bytes_per_core = 102400;
  EXPECT_EQ(Occupancy(device, 32, 0, 0), 1);
  device.blocks_per_core = 32;
  EXPECT_EQ(Occupancy(device, 32, 0, 0), 0.5) << "32 blocks of a warp";
  EXPECT_EQ(Occupancy(device, 128, 33, 0), 0.75) << "as 40 registers: 12 blocks";
  device.reserved_shared_bytes = 1024;
  EXPECT_EQ(Occupancy(device, 256, 0, 50176), 0.25) << "two blocks with what each has reserved";
  EXPECT_LT(Occupancy(DeviceFacts(), 32, 0, 0), 0);
}

// Place 1 moves much, place 2 computes much.
class Arguments : public ArgumentSource {
 public:
  std::vector<Argument> Read(uint64_t where) const override {
    if (where == 0) return {};
    std::vector<Argument> all = {
        {"kernel_details", std::string("regs:64 static_shared:0 grid:4,1,1 block:256,1,1")}};
    LaunchFigures figures;
    figures.touched_bytes = where == 1 ? 8'000'000 : 1000;
    figures.float_operations = where == 1 ? 1000 : 6'000'000;
    AppendFigures(figures, all);
    return all;
  }
};

TEST(WhatIf, EachDeviceHasItsOwnOrderAndBounds) {
  const auto module = hlo::Parsed(R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  moves = f32[4] negate(p)
  ROOT computes = f32[4] tanh(moves)
})");
  EventStoreBuilder builder;
  builder.set_arguments(std::make_shared<const Arguments>());
  const LaneId lane = builder.AddLane(builder.AddGroup("p", false), "device 0", LaneRole::kThread);
  int64_t at = 0;
  for (const auto& [name, where] : {std::pair("moves", 1), std::pair("computes", 2),
                                    std::pair("moves", 1), std::pair("p", 0)}) {
    const OperationId operation = builder.AddOperation(
        {.module = builder.Name("m"), .name = builder.Name(name), .program = 1});
    EXPECT_TRUE(
        builder
            .Add(lane, at += 100, 10, builder.Name(name), operation, static_cast<uint64_t>(where))
            .has_value());
  }
  Jobs jobs(1);
  const auto attribution = *Attribution::Make(*builder.Finish(jobs), {{1, "m", module, {}}}, jobs);
  // 8 us or 8000 us for each move; 6 us for what computes, on four of ten multiprocessors 15; a
  // launch of each.
  const auto all = WhatIfOn(*attribution, {Device(1e12, 1e12), Device(1e9, 1e12), DeviceFacts()});
  ASSERT_EQ(all.size(), 3u);
  const auto name = [&](const DeviceEstimate& estimate) {
    return module->name(attribution->times()[estimate.time].target.instruction);
  };
  ASSERT_EQ(all[0].estimates.size(), 2u);
  EXPECT_NEAR(all[0].us, 34, 1e-9);
  EXPECT_EQ(name(all[0].estimates[0]), "moves");
  EXPECT_EQ(all[0].estimates[0].launches, 2);
  EXPECT_EQ(all[0].estimates[0].bound, ModelBound::kMemory);
  EXPECT_NEAR(all[0].estimates[0].us, 18, 1e-9);
  EXPECT_EQ(all[0].estimates[1].bound, ModelBound::kArithmetic);
  // 64 registers · 256 threads: four blocks of a multiprocessor's registers.
  EXPECT_EQ(all[0].estimates[0].occupancy, 0.5);
  EXPECT_TRUE(all[0].estimates[0].counts_registers);
  EXPECT_EQ(all[0].estimates[0].multiprocessors, 4);
  EXPECT_NEAR(all[1].us, 16'018, 1e-6);
  // A device that nobody described has no model.
  EXPECT_EQ(all[2].us, 0);
  EXPECT_LT(all[2].estimates[0].occupancy, 0);
}

}  // namespace
}  // namespace hloscope::profiler
