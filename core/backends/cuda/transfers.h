// Transfers: bytes between the host and a device through pinned memory, in parts, so that the copy
// of one part by the host and of another by the device overlap.
#pragma once

#include <array>
#include <cstddef>

#include "core/backends/cuda/handles.h"

namespace hloscope::replay::cuda {

// On one stream, for one thread at a time.
class Transfers {
 public:
  static Result<Transfers> Make(const std::shared_ptr<const Device>& device, StreamHandle stream);

  // Behind everything that the stream was given before; `from` is free at once.
  Status Upload(Address to, const std::byte* from, int64_t bytes);
  // Returns once the bytes are there.
  Status Download(std::byte* to, Address from, int64_t bytes);

 private:
  struct Part {
    PinnedMemory memory;
    Event copied;
    bool is_copying = false;
  };
  Transfers() = default;
  std::byte* Data(Part& part) const { return static_cast<std::byte*>(part.memory.get()); }
  Status Record(Part& part);
  Status Wait(Part& part);

  std::shared_ptr<const Device> device_;
  StreamHandle stream_ = nullptr;
  std::array<Part, 2> parts_;
};

}  // namespace hloscope::replay::cuda
