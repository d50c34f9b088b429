// The platform gpu with several GPUs, all made up: values, where devices are placed, what is said
// of it, one GPU that fails, and nothing left behind.
#include <fmt/format.h>

#include <set>

#include "core/backends/make_platform.h"
#include "tests/replay/gpu_device_modules.h"

namespace hloscope::replay {
namespace {

TEST(GpuDevices, AreSpreadOverAllThatThereAre) {
  SetFaults("");
  const auto inputs = EightFloats(4);
  const Outcome meant = RunOnDevices("interpreter", kOnFourDevices, inputs);
  for (const int gpus : {1, 2, 3, 4, 6}) {
    SetFaults(fmt::format("devices={}", gpus));
    std::set<uint32_t> used;
    const FakeCudaListener listener{
        nullptr,
        [](void* user, const FakeCudaActivity* activity) {
          if (activity->kind != kFakeCudaKernel) return;
          static_cast<std::set<uint32_t>*>(user)->insert(activity->device);
        },
        &used, nullptr, 0};
    fake_cuda_listen(&listener);
    const Outcome gpu = RunOnDevices("gpu", kOnFourDevices, inputs, 2);
    fake_cuda_listen(nullptr);
    const std::string of = fmt::format("{} GPUs", gpus);
    ExpectSameBits(gpu, meant, of);
    EXPECT_EQ(std::ssize(used), std::min(4, gpus)) << of;
    EXPECT_EQ(gpu.executed.placement.devices, 4) << of;
    EXPECT_EQ(gpu.executed.placement.gpus, std::min(4, gpus)) << of;
    EXPECT_EQ(gpu.executed.placement.gpus_there, gpus) << of;
    ExpectNothingLeft(of);
  }
  SetFaults("devices=2");
  const Outcome one = RunOn("gpu", "HloModule m\nENTRY e {\n  ROOT a = f32[8] parameter(0)\n}\n",
                            EightFloats(1)[0]);
  EXPECT_EQ(one.executed.placement.devices, 0);
}

TEST(GpuDevices, OneThatFailsEndsTheRun) {
  const auto inputs = EightFloats(4);
  SetFaults("");
  const Outcome meant = RunOnDevices("interpreter", kOnFourDevices, inputs);
  const struct {
    const char *faults, *message;
  } rows[] = {
      {"devices=2,capability@1=75", "device capability too low: Made-up GPU has 7.5"},
      {"devices=2,kernel@1:1=719", "launch failure: "},
      {"devices=2,cuMemAlloc@1=2", "not enough device memory: "},
      {"devices=4,cuLaunchKernel@3:2=999", "device lost: "},
      {"devices=4,cuStreamSynchronize@2=709", "device lost: "},
      {"devices=4,cuModuleLoadDataEx@1=222", "version mismatch: loading our code"},
      {"devices=4,cuMemcpyDtoHAsync@1:2=214", "device lost: "},
  };
  for (const auto& row : rows) {
    SetFaults(row.faults);
    const Outcome gpu = RunOnDevices("gpu", kOnFourDevices, inputs, 2);
    ASSERT_TRUE(gpu.error.has_value()) << row.faults;
    EXPECT_TRUE(gpu.error->message.starts_with(row.message))
        << row.faults << ": " << gpu.error->ToString();
    ExpectNothingLeft(row.faults);
    SetFaults("devices=4");
    ExpectSameBits(RunOnDevices("gpu", kOnFourDevices, inputs), meant, row.faults);
  }
}

// The made-up driver is as late as CUDA may be: without one of these waits values are wrong.
TEST(GpuDevices, WaitsAreNeeded) {
  const auto inputs = EightFloats(4);
  SetFaults("");
  const Outcome meant = RunOnDevices("interpreter", kOnFourDevices, inputs);
  for (const char* function : {"cuStreamWaitEvent", "cuEventSynchronize"}) {
    SetFaults(fmt::format("devices=3,forgets_{}=1", function));
    const Outcome gpu = RunOnDevices("gpu", kOnFourDevices, inputs);
    ASSERT_FALSE(gpu.error.has_value()) << function << ": " << gpu.error->ToString();
    const bool are_same =
        std::ranges::equal(gpu.results, meant.results, [](const auto& one, const auto& other) {
          return std::ranges::equal(one.bytes(), other.bytes());
        });
    EXPECT_FALSE(are_same) << function;
    SetFaults("devices=3");
    ExpectSameBits(RunOnDevices("gpu", kOnFourDevices, inputs), meant, function);
  }
}

// Modules that have yet to be partitioned run by plans of all devices: nothing is handed over.
TEST(GpuDevices, TakeTheirPartsOfManualRegions) {
  const struct {
    const char* text;
    std::vector<hlo::Literal> inputs;
  } rows[] = {{kManualRegions, {Floats({7, 5}), Floats({6})}},
              {kNamedManualRegions, {Floats({8, 6})}},
              {kNestedManualRegions, {Floats({4})}}};
  for (const auto& row : rows) {
    const std::vector<std::vector<hlo::Literal>> inputs = {row.inputs};
    SetFaults("");
    const Outcome meant = RunOnDevices("interpreter", row.text, inputs);
    ASSERT_FALSE(meant.error.has_value()) << meant.error->ToString();
    for (const int gpus : {1, 4}) {
      SetFaults(fmt::format("devices={}", gpus));
      const std::string of = fmt::format("{} GPUs", gpus);
      const Outcome gpu = RunOnDevices("gpu", row.text, inputs);
      ExpectSameBits(gpu, meant, of);
      EXPECT_TRUE(gpu.fallbacks.empty()) << of << ": " << gpu.fallbacks[0].instruction;
      EXPECT_EQ(gpu.executed.placement.gpus, gpus) << of;
      ExpectNothingLeft(of);
    }
    // All values go to the host to be told: what devices hand over there is no hand-over to it.
    RunOptions all;
    all.capture.items = {{CaptureScope::kAll, CaptureForm::kStatistics, {}}};
    const Outcome told = RunOnDevices("gpu", row.text, inputs, 1, all);
    ExpectSameBits(told, meant, "captured");
    EXPECT_TRUE(told.fallbacks.empty()) << told.fallbacks[0].instruction;
  }
}

TEST(GpuDevices, RegionsInsideOthersHaveAWholeForEachPart) {
  SetFaults("");
  for (const char* platform : {"interpreter", "cpu", "gpu-sim"}) {
    const Outcome ran = RunOnDevices(platform, kNestedManualRegions, {{Floats({4})}});
    ASSERT_FALSE(ran.error.has_value()) << platform << ": " << ran.error->ToString();
    EXPECT_EQ(ran.results.at(0),
              hlo::Literal::Of<float>(ran.results[0].shape(), std::vector<float>{2, 13, 4, 15}))
        << platform;
  }
}

// A mesh that names a device twice and another one never says nothing about groups: all meet.
TEST(GpuDevices, MeshesThatLeaveDevicesOutMakeNoGroups) {
  SetFaults("");
  std::string text = kNamedManualRegions;
  const std::string mesh = R"("y"=2]>)";
  text.replace(text.find(mesh), mesh.size(), R"("y"=2], device_ids=[3,3,0,2]>)");
  const Outcome meant = RunOnDevices("interpreter", text.c_str(), {{Floats({8, 6})}});
  ASSERT_FALSE(meant.error.has_value()) << meant.error->ToString();
  EXPECT_EQ(meant.results.size(), 2u);
}

// Where a constant is made up it comes from the host, as inputs do.
TEST(GpuDevices, TakeGeneratedConstants) {
  SetFaults("");
  RunOptions options;
  options.load.fill_elided = 1;
  const Outcome gpu = RunOnDevices(
      "gpu",
      "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  c = f32[8] constant({...})\n"
      "  ROOT a = f32[8] add(p, c)\n}\n",
      EightFloats(1), 1, options);
  ASSERT_FALSE(gpu.error.has_value()) << gpu.error->ToString();
  EXPECT_TRUE(gpu.fallbacks.empty());
}

// What every device does is told of its own GPU, and counters are not mixed up.
TEST(GpuDevices, AreRecordedEachByItself) {
  SetFaults("devices=2");
  const auto inputs = EightFloats(4);
  RunOptions options;
  options.record.steps = 1 << 16;
  options.record.kernel_metrics = true;
  const auto loaded = (*MakePlatform("gpu"))->Load(hlo::Parsed(kOnFourDevices), options);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  Events events;
  ASSERT_TRUE((*loaded)->Run(inputs, options, events).has_value());
  const auto traces = events.Of<TraceFile>();
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_NE(traces[0]->bytes.find("GPU:1"), std::string::npos);
  EXPECT_NE(traces[0]->bytes.find("they are read of one GPU, and this run was on 2"),
            std::string::npos);
}

}  // namespace
}  // namespace hloscope::replay
