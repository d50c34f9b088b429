// Events on the right instructions: a real trace of a sample, and made-up ones with overlaps,
// copies and kernels.
#include "profiler/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/hlo/text/text.h"
#include "profiler/category_times.h"
#include "profiler/event_store_builder.h"
#include "tests/base/paths.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {
namespace {

const std::string kSample = SourcePath("samples/conv_net/");

std::shared_ptr<const hlo::Module> ParseFile(const std::string& path) {
  auto file = FileView::Open(path, Limits());
  EXPECT_TRUE(file.has_value());
  return hlo::ParseText(file->bytes(), Limits()).module;
}

std::shared_ptr<const hlo::Module> SmallModule(const std::string& name) {
  return hlo::ParseText("HloModule " + name + R"(
ENTRY main {
  p = f32[4] parameter(0)
  add.1 = f32[4] add(p, p)
  loop-mul.2 = f32[4] multiply(add.1, p)
  ROOT sub_3 = f32[4] subtract(loop-mul.2, add.1)
})",
                        Limits())
      .module;
}

// Self times in picoseconds by "module:instruction".
std::map<std::string, int64_t> SelfTimes(const Attribution& attribution) {
  std::map<std::string, int64_t> times;
  for (const InstructionTime& t : attribution.times()) {
    const AttributedModule& m = attribution.modules()[t.target.module];
    times[m.name + ":" + std::string(m.module->name(t.target.instruction))] = t.self;
  }
  return times;
}

struct Lanes {
  EventStoreBuilder builder;
  LaneId lane;
  Lanes(std::string_view group, bool is_device) {
    lane = builder.AddLane(builder.AddGroup(group, is_device), "lane",
                           is_device ? LaneRole::kStream : LaneRole::kThread);
  }
  void Add(int64_t start, int64_t duration, std::string_view name, std::string_view op = {},
           std::string_view module = "m", int64_t program = -1) {
    OperationId id;
    if (!op.empty()) {
      id = builder.AddOperation({builder.Name(module), builder.Name(op), program});
    }
    ASSERT_TRUE(builder.Add(lane, start, duration, builder.Name(name), id).has_value());
  }
  std::shared_ptr<const Attribution> Attribute(std::vector<AttributedModule> modules) {
    auto store = builder.Finish(SharedJobs(2));
    return *Attribution::Make(*store, std::move(modules), SharedJobs(2));
  }
};

// The share is checked against a sum of our own over the events that name an instruction of the
// module after optimization.
TEST(AttributionTest, ARealTraceLandsOnTheInstructionsThatRan) {
  auto ran = ParseFile(kSample + "module_0000.jit_conv_net.cpu_after_optimizations.txt");
  ASSERT_NE(ran, nullptr);
  for (const char* name : {"conv_net.xplane.pb.gz", "conv_net.trace.json.gz"}) {
    auto profile = OpenProfile(kSample + name, Limits(), SharedJobs(2));
    ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
    std::vector<std::string> warnings;
    std::vector<AttributedModule> modules = ReadEmbeddedModules(**profile, Limits(), warnings);
    // A trace in JSON carries none: they come from the XSpace of the same run beside it.
    const bool is_xplane = (*profile)->format == ProfileFormat::kXPlane;
    EXPECT_EQ((*profile)->modules_file.has_value(), !is_xplane);
    ASSERT_EQ(modules.size(), 1u);
    auto attribution = Attribution::Make((*profile)->store, modules, SharedJobs(2));
    ASSERT_TRUE(attribution.has_value());
    std::map<std::string, int64_t> expected;
    int64_t work = 0;
    const EventStore& store = *(*profile)->store;
    for (uint32_t i = 0; i < store.size(); ++i) {
      const OperationId o = store.operation(EventId(i));
      if (!o.valid()) continue;
      expected["jit_conv_net:" + std::string(store.text(store.operations()[o.index].name))] +=
          store.duration(EventId(i));
      work += store.duration(EventId(i));
    }
    EXPECT_EQ(SelfTimes(**attribution), expected);
    EXPECT_EQ(expected.size(), 12u);
    EXPECT_EQ((*attribution)->totals().work, work);
    EXPECT_EQ((*attribution)->totals().share(), 1);
    // Every instruction that took time is one of the dump of the same program.
    for (const InstructionTime& t : (*attribution)->times()) {
      const auto& m = *(*attribution)->modules()[t.target.module].module;
      const auto same = std::ranges::count_if(ran->instructions(), [&](const hlo::Instruction& i) {
        return (*ran)[i.name] == m.name(t.target.instruction) &&
               i.opcode == m[t.target.instruction].opcode;
      });
      EXPECT_EQ(same, 1) << m.name(t.target.instruction);
      EXPECT_EQ(t.count, 20);
      EXPECT_EQ((*attribution)->EventsOf(t.target.module, t.target.instruction).size(), 20u);
      EXPECT_EQ((*attribution)->TimeOf(t.target.module, t.target.instruction), &t);
    }
  }
}

TEST(AttributionTest, AMomentBelongsToTheInnermostEvent) {
  Lanes host("/host:CPU", false);
  host.Add(0, 100, "ThunkExecutor::Execute");
  host.Add(10, 50, "while", "sub_3");
  host.Add(20, 10, "add", "add.1");
  host.Add(25, 20, "mul", "loop-mul.2");  // begins inside add, ends after it
  host.Add(70, 10, "add", "add.1");
  host.Add(200, 5, "something else");
  auto attribution = host.Attribute({{-1, "m", SmallModule("m"), {}}});
  EXPECT_EQ(SelfTimes(*attribution), (std::map<std::string, int64_t>{
                                         {"m:sub_3", 25}, {"m:add.1", 15}, {"m:loop-mul.2", 20}}));
  EXPECT_EQ(attribution->totals().work, 60);
  EXPECT_EQ(attribution->totals().between, 40);
  EXPECT_EQ(attribution->TimeOf(0, attribution->times()[0].target.instruction)->total, 50);
}

// What running the body of a loop costs is the loop's; waiting for others is nobody's.
TEST(AttributionTest, AnExecutorInsideAnInstructionIsItsOwn) {
  Lanes host("/host:CPU", false);
  host.Add(0, 100, "ThunkExecutor::Execute");
  host.Add(10, 60, "while", "sub_3");
  host.Add(20, 30, "ThunkExecutor::Execute");
  host.Add(25, 10, "add", "add.1");
  host.Add(55, 5, "wait for other devices");
  host.Add(200, 40, "ThunkExecutor::Execute");
  host.Add(210, 10, "add", "add.1");
  auto attribution = host.Attribute({{-1, "m", SmallModule("m"), {}}});
  EXPECT_EQ(SelfTimes(*attribution),
            (std::map<std::string, int64_t>{{"m:sub_3", 45}, {"m:add.1", 20}}));
  EXPECT_EQ(attribution->totals().between, 75);
}

TEST(AttributionTest, OfADeviceTheStreamsCountAndTheHostDoesNot) {
  Lanes device("/device:GPU:0", true);
  device.Add(0, 10, "loop_mul_2");
  device.Add(20, 10, "cutlass_gemm", "add.1", "m", 4);
  device.Add(40, 30, "Thunk:#name=a/b,hlo_op=sub_3,unique_hlo_op_id=9#");
  device.Add(80, 10, "MemcpyH2D");
  device.Add(100, 10, "4/add.1");
  device.Add(120, 10, "made_kernel");
  const LaneId derived = device.builder.AddLane(0, "XLA Ops", LaneRole::kOperations);
  ASSERT_TRUE(device.builder.Add(derived, 0, 90, device.builder.Name("loop_mul_2")).has_value());
  const LaneId host =
      device.builder.AddLane(device.builder.AddGroup("/host:CPU", false), "t", LaneRole::kThread);
  ASSERT_TRUE(device.builder.Add(host, 0, 500, device.builder.Name("launch")).has_value());
  auto module = SmallModule("m");
  auto attribution =
      device.Attribute({{4, "m", module, {{"made_kernel", hlo::InstructionId(0u)}}}});
  EXPECT_EQ(SelfTimes(*attribution),
            (std::map<std::string, int64_t>{
                {"m:loop-mul.2", 10}, {"m:add.1", 20}, {"m:sub_3", 30}, {"m:p", 10}}));
  EXPECT_EQ(attribution->totals().work, 80);
  EXPECT_EQ(attribution->totals().attributed, 70);
  ASSERT_EQ(attribution->unattributed().size(), 1u);
  EXPECT_EQ(attribution->store().text(attribution->unattributed()[0].name), "MemcpyH2D");
}

std::shared_ptr<const hlo::Module> LibraryModule(const std::string& name, int gemms) {
  std::string text = "HloModule " + name + "\nENTRY main {\n  p = f32[4,4] parameter(0)\n";
  for (int k = 1; k <= gemms; ++k) {
    text += "  gemm." + std::to_string(k) +
            " = f32[4,4] custom-call(p, p), custom_call_target=\"__cublas$gemm\"\n";
  }
  text +=
      "  sort.1 = f32[4,4] custom-call(p), custom_call_target=\"__cub$DeviceRadixSort\"\n"
      "  ROOT loop_add = f32[4,4] add(p, p)\n}\n";
  return hlo::ParseText(text, Limits()).module;
}

// Kernels of a command buffer name the buffer or nothing; of a library there is one call or
// several.
TEST(AttributionTest, ALibraryKernelIsConcludedWhereOneCallCanHaveLaunchedIt) {
  for (int gemms : {1, 2}) {
    Lanes lanes("/device:GPU:0", true);
    lanes.Add(0, 10, "ampere_sgemm_128x64_nn", "command_buffer_3");
    lanes.Add(10, 5, "loop_add", "command_buffer_3");
    lanes.Add(15, 7, "some_kernel_of_mine");
    const auto attribution = lanes.Attribute({{-1, "m", LibraryModule("m", gemms), {}}});
    std::map<std::string, int64_t> expected = {{"m:loop_add", 5}};
    if (gemms == 1) expected["m:gemm.1"] = 10;
    EXPECT_EQ(SelfTimes(*attribution), expected) << gemms;
    EXPECT_EQ(attribution->command_buffers().count, 2);
    EXPECT_EQ(attribution->command_buffers().self, 15);
    if (gemms != 1) continue;
    EXPECT_EQ(attribution->times()[0].target.reason, AttributionReason::kOnlyCandidate);
    EXPECT_EQ(CategoryTimes(*attribution).front().name, "custom call");
  }
  Lanes named("/device:GPU:0", true);
  named.Add(0, 10, "ampere_sgemm_128x64_nn", "gemm.1");
  named.Add(10, 10, "other_gemm_kernel");
  const auto attribution = named.Attribute({{-1, "m", LibraryModule("m", 1), {}}});
  EXPECT_EQ(attribution->command_buffers().count, 0);
  EXPECT_EQ(SelfTimes(*attribution), (std::map<std::string, int64_t>{{"m:gemm.1", 10}}))
      << "the call has its kernel";
}

TEST(AttributionTest, WhatTwoModulesHaveIsGuessedForNeither) {
  auto one = SmallModule("m"), two = SmallModule("m");
  Lanes host("/host:CPU", false);
  host.Add(0, 10, "a", "add.1", "m", 2);
  host.Add(20, 10, "b", "add.1", "m", -1);
  host.Add(40, 10, "c", "add.1", "m", 3);
  host.Add(60, 10, "d", "add.1", "n", 2);
  auto attribution = host.Attribute({{1, "m", one, {}}, {2, "m", two, {}}});
  ASSERT_EQ(attribution->times().size(), 1u);
  EXPECT_EQ(attribution->times()[0].target.module, 1u);
  EXPECT_EQ(attribution->times()[0].self, 10);
  EXPECT_EQ(attribution->totals().work, 40);
  EXPECT_EQ(attribution->unattributed().size(), 3u);
}

}  // namespace
}  // namespace hloscope::profiler
