// What the driver gives and wants back: memory, streams, events, modules, graphs, each in the hands
// of an object that gives it back.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/cuda/device.h"

namespace hloscope::replay::cuda {

// One thing of the driver's, given back by one of its functions. Moved, not copied.
template <typename Handle, auto GiveBack>
class Owned {
 public:
  Owned() = default;
  Owned(std::shared_ptr<const Device> device, Handle handle)
      : device_(std::move(device)), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ == Handle{}) return;
    device_->Enter();
    // What it says of a device that is lost was said before.
    (device_->driver().operator->()->*GiveBack)(handle_);
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  std::shared_ptr<const Device> device_;
  Handle handle_{};
};

using DeviceMemory = Owned<Address, &Functions::MemFree>;
using PinnedMemory = Owned<void*, &Functions::MemFreeHost>;
using Stream = Owned<StreamHandle, &Functions::StreamDestroy>;
using Event = Owned<EventHandle, &Functions::EventDestroy>;
using LoadedModule = Owned<ModuleHandle, &Functions::ModuleUnload>;
using Link = Owned<LinkHandle, &Functions::LinkDestroy>;
using Graph = Owned<GraphHandle, &Functions::GraphDestroy>;
using GraphExec = Owned<GraphExecHandle, &Functions::GraphExecDestroy>;

// Of no bytes: null. An environment error says how much is needed and free where that is too much.
Result<DeviceMemory> AllocateOnDevice(const std::shared_ptr<const Device>& device, int64_t bytes);
Result<PinnedMemory> AllocatePinned(const std::shared_ptr<const Device>& device, int64_t bytes);
Result<Stream> MakeStream(const std::shared_ptr<const Device>& device);
Result<Event> MakeEvent(const std::shared_ptr<const Device>& device, unsigned flags = kNoTiming);
// Compiles a PTX text for the device; an error holds what the driver's compiler says of it.
Result<LoadedModule> LoadPtx(const std::shared_ptr<const Device>& device, const std::string& ptx);
// The same with the line table of the PTX's `.loc`; `cubin` gets the machine code that holds it.
Result<LoadedModule> LoadPtxWithLines(const std::shared_ptr<const Device>& device, std::string ptx,
                                      std::vector<std::byte>& cubin);

}  // namespace hloscope::replay::cuda
