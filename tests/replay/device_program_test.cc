// What XLA:GPU's runtime does, read from dumps: launches, where arrays lie, what is copied.
#include "core/replay/simulated/device_program.h"

#include <gtest/gtest.h>

#include <set>

#include "core/replay/simulated/check_program.h"
#include "core/replay/simulated/loaded_program.h"

namespace hloscope::replay {
namespace {

DeviceProgram ReadSample(const std::string& name) {
  const auto dump = dump::DumpModel::Open(HLOSCOPE_SAMPLES "/" + name, Limits());
  EXPECT_TRUE(dump.has_value());
  auto program = ReadDeviceProgram(**dump, 0);
  EXPECT_TRUE(program.has_value()) << program.error().ToString();
  return *std::move(program);
}

const DeviceStep* Find(const DeviceProgram& program, std::string_view instruction) {
  for (const auto& sequence : program.sequences) {
    for (const DeviceStep& step : sequence) {
      if (program.module->name(step.id) == instruction) return &step;
    }
  }
  return nullptr;
}

TEST(DeviceProgramTest, EveryKernelIsLaunchedWithItsSizeAndItsSlices) {
  const DeviceProgram program = ReadSample("attention_block_h100");
  EXPECT_EQ(program.kernels, 14);
  EXPECT_EQ(program.code.size(), 14u);
  std::set<std::string> kernels;
  for (const DeviceStep& step : program.sequences[0]) {
    if (step.kind == DeviceStepKind::kNothing) continue;
    EXPECT_EQ(step.kind, DeviceStepKind::kKernels) << program.module->name(step.id);
    for (const KernelLaunch& launch : step.launches) {
      kernels.insert(launch.kernel);
      EXPECT_GT(launch.threads[0], 1);
      EXPECT_GE(launch.shared_bytes, 0);
      EXPECT_NE(program.code[static_cast<size_t>(launch.code)].text.find(".entry " + launch.kernel),
                std::string::npos);
    }
    EXPECT_TRUE(std::ranges::all_of(step.operands, &Slice::known));
    EXPECT_TRUE(std::ranges::all_of(step.results, &Slice::known));
  }
  EXPECT_EQ(kernels.size(), 14u);
}

TEST(DeviceProgramTest, NamesOfOtherValuesLieWhereTheseLie) {
  const DeviceProgram program = ReadSample("gpt_train_step_h100");
  const hlo::Module& module = *program.module;
  EXPECT_EQ(program.parameters.size(), module.Parameters(module.entry_id()).size());
  EXPECT_EQ(program.results.size(), module.shape(module.entry().root).Leaves().size());
  EXPECT_TRUE(std::ranges::all_of(program.results, &Slice::known));
}

TEST(DeviceProgramTest, ASliceThatTheDriverCopiesHasNoKernel) {
  const DeviceProgram program = ReadSample("gpt_train_step_h100");
  const DeviceStep* const step = Find(program, "wrapped_slice.1");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->kind, DeviceStepKind::kCopy);
  EXPECT_TRUE(step->launches.empty());
}

TEST(DeviceProgramTest, ADumpWithoutABufferAssignmentSaysWhatIsMissing) {
  const auto dump = dump::DumpModel::Open(
      HLOSCOPE_SAMPLES "/softmax_passes_a100/module_0000.jit_softmax.before_optimizations.txt",
      Limits());
  ASSERT_TRUE(dump.has_value());
  const auto program = ReadDeviceProgram(**dump, 0);
  ASSERT_FALSE(program.has_value());
  EXPECT_NE(program.error().message.find("no buffer assignment"), std::string::npos);
  EXPECT_FALSE(program.error().hint.empty());
}

TEST(DeviceProgramTest, KernelsTakeOperandsAndResultsOrEachSliceOnceOrResultsAlone) {
  const Slice a{0, 0, 64}, b{0, 64, 64}, c{1, 0, 64};
  DeviceStep step;
  step.operands = {a, b, a};
  step.results = {a, c};
  EXPECT_EQ(*ArgumentsOf(step, 5), (std::vector<Slice>{a, b, a, a, c}));
  EXPECT_EQ(*ArgumentsOf(step, 3), (std::vector<Slice>{a, b, c}));
  EXPECT_EQ(*ArgumentsOf(step, 2), (std::vector<Slice>{a, c}));
  const auto other = ArgumentsOf(step, 4);
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("4 arguments"), std::string::npos);
}

TEST(DeviceProgramTest, WhatAStrangersAssignmentSaysIsCheckedBeforeAnythingRuns) {
  const auto refused = [](DeviceProgram program) {
    const Status status = CheckProgram(program);
    return status.has_value() ? std::string() : status.error().message;
  };
  const DeviceProgram sound = ReadSample("softmax_passes_a100");
  EXPECT_EQ(refused(sound), "");
  DeviceProgram broken = sound;
  broken.allocations[0] = -1;
  EXPECT_NE(refused(broken).find("an allocation of -1 bytes"), std::string::npos);
  broken = sound;
  broken.parameters[0].offset = 1 << 20;
  EXPECT_NE(refused(broken).find("at 1048576 + "), std::string::npos);
  broken = sound;
  broken.results[0].bytes = 4;  // fewer than its shape takes
  EXPECT_NE(refused(broken).find("+ 4 bytes"), std::string::npos);
  broken = sound;
  for (auto& step : broken.sequences[0]) {
    for (KernelLaunch& launch : step.launches) launch.threads = {int64_t{1} << 32, 1, 1};
  }
  EXPECT_NE(refused(broken).find("which no GPU allows"), std::string::npos);
}

}  // namespace
}  // namespace hloscope::replay
