// DeviceScheduler: one device at a time, in a fixed order; deadlocks named; one error ends all.
#include "core/runtime/device_scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "core/base/work_count.h"

namespace hloscope::runtime {
namespace {

constexpr int64_t kStack = 256 << 10;

TEST(DeviceScheduler, DevicesRunOneAfterAnotherAndYieldInTurn) {
  DeviceScheduler turns(3);
  std::vector<int64_t> order;
  ASSERT_TRUE(turns
                  .Run(kStack,
                       [&](int64_t device) -> Status {
                         for (int i = 0; i < 2; ++i) {
                           order.push_back(device);
                           HLOSCOPE_TRY(turns.Yield(device));
                         }
                         return {};
                       })
                  .has_value());
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
}

TEST(DeviceScheduler, AWokenDeviceGoesOn) {
  DeviceScheduler turns(2);
  std::vector<int64_t> order;
  const Status status = turns.Run(kStack, [&](int64_t device) -> Status {
    if (device == 0) HLOSCOPE_TRY(turns.Wait(0, [] { return "for device 1"; }));
    order.push_back(device);
    if (device == 1) turns.Wake(0);
    return {};
  });
  EXPECT_TRUE(status.has_value());
  EXPECT_EQ(order, (std::vector<int64_t>{1, 0}));
}

TEST(DeviceScheduler, ADeferringDeviceRunsWhenWokenOrLast) {
  DeviceScheduler turns(3);
  std::vector<int64_t> order;
  ASSERT_TRUE(turns
                  .Run(kStack,
                       [&](int64_t device) -> Status {
                         if (device == 0) HLOSCOPE_TRY(turns.Defer(0));
                         if (device == 1) HLOSCOPE_TRY(turns.Yield(1));
                         order.push_back(device);
                         if (device == 0) return {};
                         if (device == 2) return turns.Wait(2, [] { return "for device 0"; });
                         turns.Wake(0);
                         HLOSCOPE_TRY(turns.Yield(1));
                         HLOSCOPE_TRY(turns.Defer(1));
                         order.push_back(3);
                         turns.Wake(2);
                         return {};
                       })
                  .has_value());
  EXPECT_EQ(order, (std::vector<int64_t>{2, 1, 0, 3}));
}

TEST(DeviceScheduler, ADeadlockNamesEveryDeviceThatWaits) {
  DeviceScheduler turns(3);
  int ended = 0;
  const Status status = turns.Run(kStack, [&](int64_t device) -> Status {
    if (device == 1) return {};
    const Status waited = turns.Wait(device, [device] { return "at x" + std::to_string(device); });
    EXPECT_FALSE(waited.has_value());
    ++ended;
    return waited;
  });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().error_class, ErrorClass::kDeadlock);
  EXPECT_EQ(status.error().message, "deadlock: device 0 waits at x0; device 2 waits at x2");
  EXPECT_EQ(ended, 2);
}

TEST(DeviceScheduler, ASingleDeviceNeverWaits) {
  DeviceScheduler turns(1);
  const Status status =
      turns.Run(kStack, [&](int64_t) { return turns.Wait(0, [] { return "at y"; }); });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "deadlock: device 0 waits at y");
}

TEST(DeviceScheduler, TheFirstErrorEndsAllOthers) {
  DeviceScheduler turns(3);
  const Status status = turns.Run(kStack, [&](int64_t device) -> Status {
    if (device == 1) return InputError("device 1 has had enough");
    return turns.Wait(device, [] { return "for ever"; });
  });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "device 1 has had enough");
}

TEST(DeviceScheduler, AThousandDevicesAreScheduled) {
  constexpr int64_t kDevices = 1000;
  DeviceScheduler turns(kDevices);
  std::atomic<int> running = 0;
  int64_t sum = 0;
  const Status status = turns.Run(kStack, [&](int64_t device) -> Status {
    EXPECT_EQ(++running, 1);
    sum += device;
    --running;
    HLOSCOPE_TRY(turns.Yield(device));
    sum += 1;
    return {};
  });
  EXPECT_TRUE(status.has_value());
  EXPECT_EQ(sum, kDevices * (kDevices - 1) / 2 + kDevices);
}

// Each switch looked at all devices twice. A collective: all but the last wait, which wakes them.
TEST(DeviceScheduler, LooksAtDevicesGrowAsTheDevices) {
  const auto looks = [](int64_t devices) {
    DeviceScheduler turns(devices);
    const uint64_t before = WorkCount();
    const Status status = turns.Run(kStack, [&](int64_t device) -> Status {
      HLOSCOPE_TRY(turns.Yield(device));
      if (device + 1 < devices) return turns.Wait(device, [] { return "for the last"; });
      for (int64_t d = 0; d + 1 < devices; ++d) turns.Wake(d);
      return {};
    });
    EXPECT_TRUE(status.has_value());
    return WorkCount() - before;
  };
  const uint64_t one = looks(256), two = looks(512);
  EXPECT_GT(one, 256u);
  EXPECT_LT(two, one * 5 / 2);
}

}  // namespace
}  // namespace hloscope::runtime
