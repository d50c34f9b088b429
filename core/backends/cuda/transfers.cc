// Two parts take turns.
#include "core/backends/cuda/transfers.h"

#include <algorithm>
#include <cstring>

namespace hloscope::replay::cuda {
namespace {

constexpr int64_t kPartBytes = int64_t{4} << 20;

}  // namespace

Result<Transfers> Transfers::Make(const std::shared_ptr<const Device>& device,
                                  StreamHandle stream) {
  Transfers out;
  out.device_ = device;
  out.stream_ = stream;
  for (Part& part : out.parts_) {
    HLOSCOPE_ASSIGN_OR_RETURN(part.memory, AllocatePinned(device, kPartBytes));
    HLOSCOPE_ASSIGN_OR_RETURN(part.copied, MakeEvent(device));
  }
  return out;
}

Status Transfers::Record(Part& part) {
  HLOSCOPE_TRY(device_->driver().Check(device_->driver()->EventRecord(part.copied.get(), stream_),
                                       "marking the end of a copy"));
  part.is_copying = true;
  return {};
}

Status Transfers::Wait(Part& part) {
  if (!part.is_copying) return {};
  part.is_copying = false;
  return device_->driver().Check(device_->driver()->EventSynchronize(part.copied.get()),
                                 "waiting for kernels and the copy after them");
}

Status Transfers::Upload(Address to, const std::byte* from, int64_t bytes) {
  for (int64_t done = 0; done < bytes; done += kPartBytes) {
    Part& part = parts_[static_cast<size_t>(done / kPartBytes % 2)];
    const auto size = static_cast<size_t>(std::min(kPartBytes, bytes - done));
    HLOSCOPE_TRY(Wait(part));
    std::memcpy(Data(part), from + done, size);
    HLOSCOPE_TRY(device_->driver().Check(
        device_->driver()->CopyToDevice(to + static_cast<Address>(done), Data(part), size, stream_),
        "copying {} bytes to the device", size));
    HLOSCOPE_TRY(Record(part));
  }
  return {};
}

Status Transfers::Download(std::byte* to, Address from, int64_t bytes) {
  const auto take = [&](int64_t done) -> Status {
    Part& part = parts_[static_cast<size_t>(done / kPartBytes % 2)];
    HLOSCOPE_TRY(Wait(part));
    std::memcpy(to + done, Data(part), static_cast<size_t>(std::min(kPartBytes, bytes - done)));
    return {};
  };
  for (int64_t done = 0; done < bytes; done += kPartBytes) {
    Part& part = parts_[static_cast<size_t>(done / kPartBytes % 2)];
    const auto size = static_cast<size_t>(std::min(kPartBytes, bytes - done));
    // What was uploaded from there is on its way before, in the order of the stream.
    HLOSCOPE_TRY(device_->driver().Check(
        device_->driver()->CopyToHost(Data(part), from + static_cast<Address>(done), size, stream_),
        "copying {} bytes from the device", size));
    HLOSCOPE_TRY(Record(part));
    if (done > 0) HLOSCOPE_TRY(take(done - kPartBytes));
  }
  return bytes > 0 ? take((bytes - 1) / kPartBytes * kPartBytes) : Status();
}

}  // namespace hloscope::replay::cuda
