// The platform gpu over the made-up driver: nothing runs on the host unless that was asked for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/backends/make_platform.h"
#include "core/debug/pieces/fallback_platform.h"
#include "core/hlo/fallback_reasons.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/hlo/parsed.h"
#include "tests/replay/events.h"

namespace hloscope::debug {
namespace {

using replay::Events;
using replay::RunFallback;

constexpr const char* kHostFallback = R"(HloModule handed
ENTRY e {
  a = f32[4,4] parameter(0)
  b = f32[4,4] add(a, a)
  z = f32[4] constant({0, 0, 0, 0})
  c = f32[4,4] custom-call(a, z, b), custom_call_target="cusolver_ormqr_ffi"
  d = f32[4,4] add(c, a)
  k = f32[4,4] custom-call(a, z, d), custom_call_target="cusolver_ormqr_ffi"
  ROOT r = f32[4,4] multiply(k, c)
}
)";

struct Outcome {
  Status status;
  Events events;
};

void RunOn(std::string_view name, Fallback fallback, const std::string& faults, Outcome& out) {
  setenv("CUDA_FAKE", faults.c_str(), 1);
  fake_cuda_restart();
  const auto platform = WithFallback(
      *replay::MakePlatform(name), [] { return replay::MakePlatform("interpreter"); }, fallback);
  const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, {4, 4});
  const std::vector<hlo::Literal> inputs = {
      hlo::Literal::Of<float>(shape, std::vector<float>(16, 2.0f))};
  auto loaded = platform->Load(hlo::Parsed(kHostFallback), replay::RunOptions());
  if (!loaded.has_value()) {
    out.status = std::unexpected(loaded.error());
    return;
  }
  const auto ran = (*loaded)->Run({&inputs, 1}, replay::RunOptions(), out.events);
  if (!ran.has_value()) out.status = std::unexpected(ran.error());
}

TEST(GpuFallback, ByDefaultNothingIsHandedOver) {
  for (const Fallback fallback : {Fallback::kError, Fallback::kNone}) {
    Outcome out;
    RunOn("gpu", fallback, "", out);
    ASSERT_FALSE(out.status.has_value());
    EXPECT_EQ(out.status.error().error_class, ErrorClass::kUnsupported);
    EXPECT_EQ(out.status.error().message,
              "c (custom-call): custom call that the platform does not implement: our compiler "
              "generates no code "
              "for it; and 1 more, k");
    EXPECT_EQ(out.status.error().hint, "--fallback cpu runs them on the host");
    EXPECT_TRUE(out.events.Of<replay::LeafResult>().empty());
  }
}

TEST(GpuFallback, AskedForItIsCounted) {
  Outcome out;
  RunOn("gpu", Fallback::kHost, "", out);
  ASSERT_TRUE(out.status.has_value()) << out.status.error().ToString();
  ASSERT_EQ(out.events.Of<replay::LeafResult>().size(), 1u);
  const auto told = out.events.Of<RunFallback>();
  ASSERT_EQ(told.size(), 2u);
  for (const RunFallback* each : told) {
    EXPECT_EQ(each->reason, "custom call that the platform does not implement");
    EXPECT_EQ(each->bytes_moved, 2 * 64);
    EXPECT_GT(each->time_us, 0);
  }
}

TEST(GpuFallback, TheSimulatedDeviceNeedsNoFlag) {
  Outcome out;
  RunOn("gpu-sim", Fallback::kError, "", out);
  EXPECT_TRUE(out.status.has_value()) << out.status.error().ToString();
}

// What the device as a whole refuses is said once, and runs on the host where that was asked for.
TEST(GpuFallback, ReasonsOfTheDeviceAreSaidOnce) {
  const struct {
    const char *faults, *reason, *message;
  } rows[] = {
      {"capability=60", "device capability too low",
       "device capability too low: Made-up GPU has 6.0, our code needs 8.0"},
      {"memory=100", "not enough device memory", "not enough device memory: "},
      {"cuDevicePrimaryCtxRetain=3", "no driver", "no driver: making the context of Made-up GPU"},
      {"cuDeviceGet=101", "no driver", "no driver: no device: taking GPU 0"},
  };
  for (const auto& row : rows) {
    Outcome refused;
    RunOn("gpu", Fallback::kError, row.faults, refused);
    ASSERT_FALSE(refused.status.has_value()) << row.faults;
    const Error& error = refused.status.error();
    EXPECT_TRUE(error.message.starts_with(row.message)) << error.message;
    const size_t first = error.message.find(row.reason);
    EXPECT_EQ(error.message.find(row.reason, first + 1), std::string::npos) << error.message;
    EXPECT_TRUE(error.hint.ends_with("--fallback cpu runs the module on the host")) << error.hint;
    Outcome on_host;
    RunOn("gpu", Fallback::kHost, row.faults, on_host);
    ASSERT_TRUE(on_host.status.has_value()) << row.faults << on_host.status.error().ToString();
    const auto told = on_host.events.Of<RunFallback>();
    ASSERT_FALSE(told.empty()) << row.faults;
    for (const RunFallback* each : told) {
      EXPECT_EQ(each->reason, row.reason);
      EXPECT_EQ(each->detail.find(row.reason), std::string::npos) << each->detail;
    }
  }
}

// The constant is what is missing, not a plan for the collective.
TEST(GpuFallback, ElidedConstantsOfSeveralDevicesAreNamed) {
  setenv("CUDA_FAKE", "devices=2", 1);
  fake_cuda_restart();
  const auto module = hlo::Parsed(R"(HloModule elided, replica_count=2
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  p = f32[4] parameter(0)
  c = f32[4] constant({...})
  q = f32[4] add(p, c)
  ROOT r = f32[4] all-reduce(q), replica_groups={}, to_apply=sum
}
)");
  const auto platform = WithFallback(
      *replay::MakePlatform("gpu"), [] { return replay::MakePlatform("interpreter"); },
      Fallback::kError);
  const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, {4});
  const std::vector<std::vector<hlo::Literal>> inputs(
      2, {hlo::Literal::Of<float>(shape, std::vector<float>(4, 2.0f))});
  auto loaded = platform->Load(module, replay::RunOptions());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  Events events;
  const auto ran = (*loaded)->Run(inputs, replay::RunOptions(), events);
  ASSERT_TRUE(ran.has_value()) << ran.error().ToString();
  ASSERT_EQ(events.Of<replay::LeafResult>().size(), 2u);
  for (const replay::LeafResult* each : events.Of<replay::LeafResult>()) {
    ASSERT_FALSE(each->value.has_value());
    EXPECT_EQ(each->value.error().error_class, ErrorClass::kInput);
    EXPECT_TRUE(each->value.error().message.starts_with("c: the value of constant f32[4]"));
  }
}

TEST(GpuFallback, WithoutReasonTakesOnlyTheReasonAway) {
  using hlo::FallbackReason;
  using hlo::WithoutReason;
  EXPECT_EQ(hlo::WithoutReason(hlo::FallbackReason::kNoDriver, "no driver: gone"), "gone");
  EXPECT_EQ(hlo::WithoutReason(hlo::FallbackReason::kNoDriver, "no drivers"), "no drivers");
  EXPECT_EQ(hlo::WithoutReason(hlo::FallbackReason::kNone, ": text"), ": text");
}

}  // namespace
}  // namespace hloscope::debug
