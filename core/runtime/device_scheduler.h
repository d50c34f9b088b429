// DeviceScheduler: the devices of a run, each on a stack of its own, all on one thread: only one
// runs at a time. What they share needs no locks, and the order in which they run is always the
// same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace hloscope::runtime {

class DeviceScheduler {
 public:
  explicit DeviceScheduler(int64_t devices);
  ~DeviceScheduler();
  DeviceScheduler(const DeviceScheduler&) = delete;
  DeviceScheduler& operator=(const DeviceScheduler&) = delete;

  int64_t devices() const;
  // Told of each time that a device handed over, when its turn comes again: nanoseconds of the
  // steady clock.
  void set_on_wait(std::function<void(int64_t device, int64_t start_ns, int64_t end_ns)> on_wait);

  // Calls body(device) once for each device, from 0 on, on the caller's thread, each on a stack of
  // `stack_bytes` (a single device on the caller's), and returns when all have ended. The first
  // error ends all others at their next Wait or Yield. Environment error: no memory for stacks.
  Status Run(int64_t stack_bytes, const std::function<Status(int64_t)>& body);

  // The functions below may be called only by the device whose turn it is, from inside Run.

  // Hands over until another device calls Wake(device). Died when no device can run any more: the
  // message names every device that waits and what `reason` says it waits for.
  Status Wait(int64_t device, std::function<std::string()> reason);
  void Wake(int64_t device);
  // Lets every other device that can run go first.
  Status Yield(int64_t device);
  // Hands over until another device calls Wake(device), or no other can run.
  Status Defer(int64_t device);
  // True once body(device) has returned.
  bool HasEnded(int64_t device) const;

 private:
  class Stage;
  std::unique_ptr<Stage> stage_;
};

}  // namespace hloscope::runtime
