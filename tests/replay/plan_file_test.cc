// A .hloplan: written and run again on the platforms that take it, and whatever else may be in it.
#include "core/dump/plan_file.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/backends/compiled/codegen_entry.h"
#include "core/backends/compiled/plan_code.h"
#include "core/backends/make_platform.h"
#include "core/base/file.h"
#include "core/compile/plan/check_plan.h"
#include "core/dump/load.h"
#include "core/replay/platform.h"
#include "tests/base/paths.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/hlo/parsed.h"
#include "tests/replay/events.h"
#include "tests/replay/gpu_device_modules.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

// A constant, a fused kernel, a loop, and results in a tuple.
constexpr const char* kText = R"(HloModule planned
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4] sine(x)
  ROOT t = (s32[], f32[4]) tuple(j, y)
}
cond {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  x = f32[4] parameter(0)
  k = f32[4] constant({1, 2, 3, 4})
  m = f32[4] multiply(x, k)
  zero = s32[] constant(0)
  s = (s32[], f32[4]) tuple(zero, m)
  w = (s32[], f32[4]) while(s), condition=cond, body=body
  y = f32[4] get-tuple-element(w), index=1
  z = f32[] constant(0)
  t = f32[] reduce(y, z), dimensions={0}, to_apply=sum
  ROOT r = (f32[4], f32[]) tuple(y, t)
}
)";

std::vector<Literal> Inputs() {
  return {Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {4}),
                             std::vector<float>{0.5f, -1.0f, 2.0f, 0.25f})};
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

compile::Compilation Compiled(const char* text) {
  compile::CompileOptions how;
  how.library_calls = false;
  how.plan_collectives = true;
  auto compiled = compile::Compile(hlo::Parsed(text), how);
  EXPECT_TRUE(compiled.has_value());
  return *std::move(compiled);
}

compile::GpuCode CodeOf(const compile::Compilation& compiled, const char* target) {
  const auto generate = CodegenEntry<compile::GenerateGpuCodeFunction>(compile::kGenerateGpuCode);
  EXPECT_TRUE(generate.has_value());
  auto code = (*generate)(compiled.module, compiled.kernels, {.threads = 1, .target = target});
  EXPECT_TRUE(code.has_value());
  return *std::move(code);
}

std::string WritePlan(const char* target = "sm_80", const char* text = kText) {
  const compile::Compilation compiled = Compiled(text);
  auto bytes = ToPlanFile(compiled, target, CodeOf(compiled, target));
  EXPECT_TRUE(bytes.has_value()) << bytes.error().ToString();
  return *std::move(bytes);
}

class PlanFileTest : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("CUDA_FAKE");
    fake_cuda_restart();
    folder_ = std::filesystem::path(testing::TempDir()) / ("plans_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Put(const std::string& bytes) const {
    const std::string path = folder_ / "p.hloplan";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  static Result<std::vector<Literal>> Run(const std::string& path, std::string_view platform,
                                          const std::vector<Literal>& inputs = Inputs()) {
    HLOSCOPE_ASSIGN_OR_RETURN(const dump::LoadedModule loaded, dump::LoadSoundModule(path, {}));
    RunOptions options;
    options.load.module_file = path;
    options.budget.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    HLOSCOPE_ASSIGN_OR_RETURN(const auto made, MakePlatform(platform));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto executable, made->Load(loaded.module, options));
    Events events;
    HLOSCOPE_TRY(executable->Run({&inputs, 1}, options, events));
    std::vector<Literal> out;
    for (const LeafResult* leaf : events.Of<LeafResult>()) {
      HLOSCOPE_TRY(leaf->value);
      out.push_back(*leaf->value);
    }
    return out;
  }

  // What the module means, to the last bit of kernels that compute as the host does.
  static void ExpectMeant(const std::string& path, std::string_view platform) {
    const auto ran = Run(path, platform);
    ASSERT_TRUE(ran.has_value()) << platform << ": " << ran.error().ToString();
    const auto meant = Run(path, "interpreter");
    ASSERT_TRUE(meant.has_value()) << meant.error().ToString();
    ASSERT_EQ(ran->size(), meant->size());
    for (size_t i = 0; i < ran->size(); ++i) {
      const size_t count = (*ran)[i].bytes().size() / sizeof(float);
      for (size_t j = 0; j < count; ++j) {
        float a, b;
        std::memcpy(&a, (*ran)[i].bytes().data() + 4 * j, 4);
        std::memcpy(&b, (*meant)[i].bytes().data() + 4 * j, 4);
        EXPECT_NEAR(a, b, 1e-6) << platform << " leaf " << i << " element " << j;
      }
    }
  }

  std::filesystem::path folder_;
};

TEST_F(PlanFileTest, RunsOnEveryPlatformThatTakesIt) {
  const std::string path = Put(WritePlan());
  for (const std::string_view platform : {"gpu-sim", "gpu", "cpu"}) ExpectMeant(path, platform);
}

// Inputs and results are whole arrays, as they were before the borders of regions were written.
TEST_F(PlanFileTest, ManualRegionsOfSeveralDevices) {
  const std::string path = Put(WritePlan("sm_80", kNamedManualRegions));
  const std::vector<Literal> inputs = {Floats({8, 6})};
  const auto on_gpu = Run(path, "gpu", inputs), meant = Run(path, "interpreter", inputs);
  ASSERT_TRUE(on_gpu.has_value()) << on_gpu.error().ToString();
  ASSERT_TRUE(meant.has_value()) << meant.error().ToString();
  ASSERT_EQ(on_gpu->size(), 2u);
  EXPECT_EQ(on_gpu->at(0).shape().dimension(0), 8);
  EXPECT_EQ(*on_gpu, *meant);
}

// The first version that was ever written: this file is never made again.
TEST_F(PlanFileTest, VersionOneStaysReadable) {
  const std::string path = SourcePath("tests/replay/version_1.hloplan");
  const std::string bytes = BytesOf(path);
  const auto parts = dump::OpenPlanFile(bytes);
  ASSERT_TRUE(parts.has_value()) << parts.error().ToString();
  EXPECT_EQ(parts->version, 1u);
  for (const std::string_view platform : {"gpu-sim", "gpu"}) ExpectMeant(path, platform);
}

TEST_F(PlanFileTest, NewerVersionsAreNamed) {
  std::string bytes = WritePlan();
  bytes[8] = 9;
  const auto ran = Run(Put(bytes), "gpu-sim");
  ASSERT_FALSE(ran.has_value());
  EXPECT_NE(ran.error().ToString().find("of version 9, expected 1"), std::string::npos);
}

TEST_F(PlanFileTest, AnotherModuleIsRefused) {
  RunOptions options;
  options.load.module_file = Put(WritePlan());
  const auto loaded =
      (*MakePlatform("gpu-sim"))
          ->Load(hlo::Parsed("HloModule o\nENTRY e { ROOT a = f32[4] parameter(0) }"), options);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("another module"), std::string::npos);
}

TEST_F(PlanFileTest, ValuesInsideAreRefusedByName) {
  const std::string path = Put(WritePlan());
  const auto loaded = dump::LoadSoundModule(path, {});
  RunOptions options;
  options.load.module_file = path;
  options.capture.items.push_back({.scope = CaptureScope::kAll});
  const auto executable = (*MakePlatform("gpu-sim"))->Load(loaded->module, options);
  ASSERT_FALSE(executable.has_value());
  EXPECT_EQ(executable.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(executable.error().hint.find("that it was compiled from"), std::string::npos);
}

TEST_F(PlanFileTest, OtherTargetsAreRefusedWithTheFix) {
  const std::string path = Put(WritePlan("sm_90"));
  const auto on = [&](std::string_view platform, const char* target) {
    const auto loaded = dump::LoadSoundModule(path, {});
    RunOptions options;
    options.load.module_file = path;
    options.load.gpu_target = target;
    return (*MakePlatform(platform))->Load(loaded->module, options);
  };
  const auto older = on("gpu-sim", "a100");
  ASSERT_FALSE(older.has_value());
  EXPECT_EQ(older.error().message,
            "this .hloplan holds code for sm_90, --target a100 asks for sm_80");
  EXPECT_NE(older.error().hint.find("--emit plan --target sm_80"), std::string::npos);
  EXPECT_TRUE(on("gpu-sim", "h100").has_value());
  setenv("CUDA_FAKE", "capability=80", 1);
  fake_cuda_restart();
  const auto device = on("gpu", "");
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(device.error().message.find("device capability too low"), std::string::npos);
  EXPECT_NE(device.error().hint.find("--emit plan --target sm_80"), std::string::npos);
}

// Cut off anywhere, or with any byte changed: the checksum tells.
TEST_F(PlanFileTest, DamagedFilesAreErrors) {
  const std::string bytes = WritePlan();
  for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 500) {
    EXPECT_FALSE(dump::OpenPlanFile(bytes.substr(0, at)).has_value()) << at;
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    EXPECT_FALSE(dump::OpenPlanFile(changed).has_value()) << at;
  }
}

// Made to do harm, with the right checksum: an error or a run, nothing else. PLAN_MUTANTS: how
// many.
TEST_F(PlanFileTest, FalsePlansAreErrors) {
  const std::string bytes = WritePlan();
  const auto parts = dump::OpenPlanFile(bytes);
  ASSERT_TRUE(parts.has_value());
  const std::string proto(reinterpret_cast<const char*>(parts->module.data()),
                          parts->module.size());
  const std::string rest(reinterpret_cast<const char*>(parts->rest.data()), parts->rest.size());
  std::mt19937_64 random(20);
  int refused = 0;
  const char* const asked = getenv("PLAN_MUTANTS");
  const int mutants = asked != nullptr ? atoi(asked) : 300;
  for (int i = 0; i < mutants; ++i) {
    // A number somewhere becomes another one, small, huge or negative. Texts of kernels lie in the
    // middle: the ends are where the numbers are.
    std::string changed = rest;
    const size_t span = std::min<size_t>(rest.size(), 4096);
    const size_t at = random() % span;
    const size_t place = random() % 2 == 0 ? at : rest.size() - 1 - at;
    constexpr std::array<uint8_t, 6> kBytes = {0, 1, 2, 0x7f, 0x80, 0xff};
    changed[place] = static_cast<char>(kBytes[random() % kBytes.size()]);
    if (random() % 8 == 0) changed.resize(random() % changed.size());
    if (changed == rest) continue;
    if (!Run(Put(dump::WritePlanFile(proto, changed)), "gpu-sim").has_value()) ++refused;
  }
  EXPECT_GT(refused, mutants / 4);
}

// A kernel that updates in place is not led to memory that holds something else.
TEST_F(PlanFileTest, UpdatesInPlaceAreHeldToTheirMemory) {
  const compile::Compilation compiled = Compiled(R"(HloModule updates
ENTRY e {
  x = f32[64] parameter(0)
  u = f32[2] parameter(1)
  i = s32[] parameter(2)
  y = f32[64] dynamic-update-slice(x, u, i)
  z = f32[64] sine(y)
  ROOT t = (f32[64], f32[64]) tuple(z, x)
})");
  const compile::GpuCode code = CodeOf(compiled, "sm_80");
  ASSERT_NE(compiled.plan, nullptr) << compiled.why_no_plan;
  ASSERT_TRUE(compile::CheckGpuCode(*compiled.module, code));
  ASSERT_TRUE(compile::CheckPlan(*compiled.plan, code));
  compile::Plan changed = *compiled.plan;
  const size_t copies = std::erase_if(changed.sequences[0], [](const compile::PlannedStep& step) {
    return step.kind == compile::StepKind::kCopy;
  });
  ASSERT_GE(copies, 1u);
  EXPECT_FALSE(compile::CheckPlan(changed, code));
}

}  // namespace
}  // namespace hloscope::replay
