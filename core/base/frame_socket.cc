// Frames over a stream socket: a header of fixed size, inline data, the fields; a memory file rides
// along with the header.
#include "core/base/frame_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "core/base/counted.h"
#include "core/base/system_error.h"

namespace hloscope {
namespace {

constexpr uint32_t kMagic = 0x48534652;
constexpr size_t kMaxInline = size_t{32} << 10;
constexpr size_t kReadStep = size_t{1} << 20;
// Read in one call where that much is there: most frames are short.
constexpr size_t kReadAhead = size_t{64} << 10;
// Descriptors that may wait for the frames they belong to.
constexpr size_t kMaxDescriptors = 64;

struct Header {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t head_bytes = 0;
  uint64_t inline_bytes = 0;
  uint64_t sealed_bytes = 0;  // in the memory file that comes along; 0: there is none
};

std::string Inlined(const OutgoingFrame& frame, size_t size) {
  std::string data(size, '\0');
  size_t at = 0;
  for (const auto& part : frame.parts) {
    if (!part.empty()) std::memcpy(data.data() + at, part.data(), part.size());
    at += AlignedUp(part.size());
  }
  return data;
}

bool IsGone(int code) { return code == EPIPE || code == ECONNRESET || code == ENOTCONN; }

// Bytes at an address that suits any element type.
SharedBytes Shared(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  return {std::as_bytes(std::span(*owner)), owner};
}

}  // namespace

FrameSocket::FrameSocket(UniqueFd fd, int64_t most) : fd_(std::move(fd)), most_(most) {
  fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
}

Result<FrameSocket::Step> FrameSocket::SendAll(std::string_view bytes, int fd, const Waiter& wait) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  while (!bytes.empty()) {
    iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &fd, sizeof(int));
    }
    const ssize_t n = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      fd = -1;  // went with the first byte
    } else if (n < 0 && errno == EAGAIN) {
      HLOSCOPE_TRY(wait(POLLOUT));
    } else if (n < 0 && IsGone(errno)) {
      return Step::kEnd;
    } else if (n < 0 && errno != EINTR) {
      return SystemFailure("send to another process");
    }
  }
  return Step::kDone;
}

Result<bool> FrameSocket::Send(const OutgoingFrame& frame, const Waiter& wait) {
  size_t data = 0;
  for (const auto& part : frame.parts) data += AlignedUp(part.size());
  Header header{.kind = frame.kind, .head_bytes = frame.head.size()};
  UniqueFd memory;
  std::string message;
  if (data <= kMaxInline) {
    header.inline_bytes = data;
    message = Inlined(frame, data);
  } else {
    header.sealed_bytes = data;
    HLOSCOPE_ASSIGN_OR_RETURN(memory, SealBytes(frame.parts, [&] { return wait(0); }));
  }
  if (std::cmp_greater(message.size() + frame.head.size(), most_)) {
    return EnvironmentError(
        fmt::format("a message of {} exceeds the limit worker-frame of {}",
                    Counted(message.size() + frame.head.size(), "byte"), Counted(most_, "byte")),
        "raise it with --limit worker-frame=BYTES");
  }
  message.insert(0, reinterpret_cast<const char*>(&header), sizeof(header));
  message += frame.head;
  HLOSCOPE_ASSIGN_OR_RETURN(const Step step, SendAll(message, memory.get(), wait));
  return step == Step::kDone;
}

// Takes over every descriptor that came, so that none leaks. They come in the order of the frames,
// no later than the frames' first bytes.
void FrameSocket::KeepDescriptors(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      descriptors_.emplace_back(fd);
    }
  }
  too_many_ |= (message.msg_flags & MSG_CTRUNC) != 0 || descriptors_.size() > kMaxDescriptors;
}

// How many bytes came, at least one; 0 at the end.
Result<size_t> FrameSocket::ReceiveSome(std::span<std::byte> bytes, const Waiter& wait) {
  for (;;) {
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
    iovec piece{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t n = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    if (n > 0) {
      KeepDescriptors(message);
      return static_cast<size_t>(n);
    }
    if (n == 0 || IsGone(errno)) return 0;
    if (errno == EAGAIN) {
      HLOSCOPE_TRY(wait(POLLIN));
    } else if (errno != EINTR) {
      return SystemFailure("receive from another process");
    }
  }
}

Result<FrameSocket::Step> FrameSocket::ReceiveAll(std::span<std::byte> bytes, const Waiter& wait) {
  while (!bytes.empty()) {
    if (next_ < end_) {
      const size_t n = std::min(bytes.size(), end_ - next_);
      std::memcpy(bytes.data(), ahead_.data() + next_, n);
      next_ += n;
      bytes = bytes.subspan(n);
      continue;
    }
    const bool direct = bytes.size() >= kReadAhead;
    ahead_.resize(kReadAhead);
    HLOSCOPE_ASSIGN_OR_RETURN(const size_t n,
                              ReceiveSome(direct ? bytes : std::span(ahead_), wait));
    if (n == 0) return Step::kEnd;
    if (direct) {
      bytes = bytes.subspan(n);
    } else {
      next_ = 0;
      end_ = n;
    }
  }
  return Step::kDone;
}

// The memory that a frame says it comes with.
Status FrameSocket::TakeMemory(uint64_t size, Frame& frame) {
  if (too_many_ || descriptors_.empty()) {
    return InputError("malformed message from another process: wrong shared memory");
  }
  const UniqueFd memory = std::move(descriptors_.front());
  descriptors_.erase(descriptors_.begin());
  HLOSCOPE_ASSIGN_OR_RETURN(frame.data, OpenSealed(memory, size));
  return {};
}

Result<FrameSocket::Step> FrameSocket::ReceiveInto(std::string& text, uint64_t size,
                                                   const Waiter& wait) {
  while (text.size() < size) {
    const size_t at = text.size();
    text.resize(std::min<uint64_t>(size, at + kReadStep));
    HLOSCOPE_ASSIGN_OR_RETURN(
        const Step step, ReceiveAll(std::as_writable_bytes(std::span(text).subspan(at)), wait));
    if (step == Step::kEnd) return step;
  }
  return Step::kDone;
}

Result<std::optional<Frame>> FrameSocket::Receive(const Waiter& wait) {
  Header header;
  HLOSCOPE_ASSIGN_OR_RETURN(Step step,
                            ReceiveAll(std::as_writable_bytes(std::span(&header, 1)), wait));
  if (step == Step::kEnd) return std::nullopt;
  const auto most = static_cast<uint64_t>(most_);
  if (header.magic != kMagic) return InputError("malformed message from another process");
  if (header.head_bytes > most || header.inline_bytes > most - header.head_bytes) {
    return InputError("a message from another process exceeds the limit worker-frame of " +
                          Counted(most_, "byte"),
                      "raise it with --limit worker-frame=BYTES");
  }
  Frame frame{header.kind, {}, {}};
  std::string data;
  HLOSCOPE_ASSIGN_OR_RETURN(step, ReceiveInto(data, header.inline_bytes, wait));
  if (step == Step::kEnd) return std::nullopt;
  HLOSCOPE_ASSIGN_OR_RETURN(step, ReceiveInto(frame.head, header.head_bytes, wait));
  if (step == Step::kEnd) return std::nullopt;
  if (header.sealed_bytes != 0) {
    HLOSCOPE_TRY(TakeMemory(header.sealed_bytes, frame));
  } else {
    frame.data = Shared(std::move(data));
  }
  // All that came has been used up by now, or belongs to a frame that has begun to come.
  if (too_many_ || (header.sealed_bytes != 0 && header.inline_bytes != 0) ||
      (next_ == end_ && !descriptors_.empty())) {
    return InputError("malformed message from another process: wrong shared memory");
  }
  return frame;
}

Result<std::pair<UniqueFd, UniqueFd>> MakeSocketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return SystemFailure("connect two processes");
  }
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

}  // namespace hloscope
