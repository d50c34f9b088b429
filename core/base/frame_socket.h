// FrameSocket: messages between two processes, with bulk data in sealed memory beside them.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/sealed_memory.h"
#include "core/base/unique_fd.h"

namespace hloscope {

// A message: what it is, its fields, and data that are not worth copying. The parts of the data
// begin at multiples of kPartAlignment.
struct OutgoingFrame {
  uint32_t kind = 0;
  std::string head;
  std::vector<std::span<const std::byte>> parts;
};
struct Frame {
  uint32_t kind = 0;
  std::string head;
  SharedBytes data;
};

// One end of a connection. Small data go through the socket, large ones in a memory file, of which
// the other end checks seals and size before it looks. One sender and one receiver at a time.
class FrameSocket {
 public:
  // Waits until the socket can do `events` (of poll) or there is a reason to give up. Without
  // events it only looks for a reason.
  using Waiter = std::function<Status(short events)>;

  FrameSocket() = default;
  // `most` bytes of a frame's fields are taken, and sent. Makes the socket non-blocking.
  FrameSocket(UniqueFd fd, int64_t most);

  int fd() const { return fd_.get(); }
  void Close() { fd_.Close(); }

  // False if the other end is gone. Errors: the frame is too long, no memory, the waiter's.
  Result<bool> Send(const OutgoingFrame& frame, const Waiter& wait);
  // Nullopt if the other end is gone. Input errors: what comes is no frame, or too long; others as
  // Send. Nothing is allocated by a size that a frame declares.
  Result<std::optional<Frame>> Receive(const Waiter& wait);

 private:
  // What one call of the system gave: all, nothing yet, or the end.
  enum class Step : uint8_t { kDone, kEnd };
  Result<Step> SendAll(std::string_view bytes, int fd, const Waiter& wait);
  Result<size_t> ReceiveSome(std::span<std::byte> bytes, const Waiter& wait);
  Result<Step> ReceiveAll(std::span<std::byte> bytes, const Waiter& wait);
  Result<Step> ReceiveInto(std::string& text, uint64_t size, const Waiter& wait);
  void KeepDescriptors(msghdr& message);
  Status TakeMemory(uint64_t size, Frame& frame);

  UniqueFd fd_;
  int64_t most_ = 0;
  std::vector<std::byte> ahead_;  // what was read already is in [next_, end_)
  size_t next_ = 0, end_ = 0;
  std::vector<UniqueFd> descriptors_;  // that came along, not yet asked for
  bool too_many_ = false;
};

// Two connected ends.
Result<std::pair<UniqueFd, UniqueFd>> MakeSocketPair();

}  // namespace hloscope
