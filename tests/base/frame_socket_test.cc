// Frames between two ends of a socket: what is sent arrives, what is no frame is refused.
#include "core/base/frame_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

namespace hloscope {
namespace {

constexpr int64_t kMax = 1 << 20;

size_t OpenDescriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

// Two ends; what `raw` is told to send comes out of `socket`.
struct Ends {
  explicit Ends(int64_t most = kMax) {
    auto ends = MakeSocketPair();
    raw = std::move(ends->first);
    socket = FrameSocket(std::move(ends->second), most);
  }
  void Write(std::string_view bytes) const {
    ASSERT_EQ(write(raw.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  }
  // With a descriptor that rides along.
  void WriteWith(std::string_view bytes, int fd, int copies = 1) const {
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(static_cast<size_t>(copies) * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(static_cast<size_t>(copies) * sizeof(int));
    for (int i = 0; i < copies; ++i) {
      std::memcpy(CMSG_DATA(rights) + static_cast<size_t>(i) * sizeof(int), &fd, sizeof(fd));
    }
    ASSERT_EQ(sendmsg(raw.get(), &message, 0), std::ssize(bytes));
  }
  Result<std::optional<Frame>> Receive() { return socket.Receive(&Wait); }

  static Status Wait(short) { return EnvironmentError("nothing comes"); }

  UniqueFd raw;
  FrameSocket socket;
};

std::string Header(uint64_t head, uint64_t inline_bytes, uint64_t sealed,
                   uint32_t magic = 0x48534652) {
  std::string text(32, '\0');
  const uint32_t kind = 7;
  std::memcpy(text.data(), &magic, 4);
  std::memcpy(text.data() + 4, &kind, 4);
  std::memcpy(text.data() + 8, &head, 8);
  std::memcpy(text.data() + 16, &inline_bytes, 8);
  std::memcpy(text.data() + 24, &sealed, 8);
  return text;
}

UniqueFd Memory(size_t size, int seals) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  EXPECT_TRUE(seals == 0 || fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_WRITE;

TEST(FrameSocket, CarriesSmallAndLargeData) {
  const size_t before = OpenDescriptors();
  for (const size_t size : {0u, 1u, 63u, 64u, 32'000u, 32'768u, 32'769u, 5'000'000u}) {
    auto ends = MakeSocketPair();
    FrameSocket from(std::move(ends->first), kMax), to(std::move(ends->second), kMax);
    std::string one(size, 'a'), two(3, 'b');
    OutgoingFrame frame{7, "fields", {}};
    frame.parts = {std::as_bytes(std::span(one)), std::as_bytes(std::span(two))};
    std::thread sender([&] {
      const auto patient = [&](short events) -> Status {
        pollfd fd{from.fd(), events, 0};
        if (events != 0) poll(&fd, 1, 10'000);
        return {};
      };
      const auto sent = from.Send(frame, patient);
      EXPECT_TRUE(sent.has_value() && *sent);
    });
    const auto patient = [&](short events) -> Status {
      pollfd fd{to.fd(), events, 0};
      poll(&fd, 1, 10'000);
      return {};
    };
    const auto received = to.Receive(patient);
    sender.join();
    ASSERT_TRUE(received.has_value() && received->has_value());
    EXPECT_EQ((*received)->kind, 7u);
    EXPECT_EQ((*received)->head, "fields");
    const auto bytes = (*received)->data.bytes;
    ASSERT_EQ(bytes.size(), AlignedUp(size) + AlignedUp(3));
    EXPECT_EQ(std::memcmp(bytes.data(), one.data(), size), 0);
    EXPECT_EQ(std::memcmp(bytes.data() + AlignedUp(size), "bbb", 3), 0);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(FrameSocket, ReceivedMemoryCannotBeChanged) {
  const std::string text(100'000, 'x');
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  const auto fd = SealBytes({&part, 1}, [] { return Status(); });
  ASSERT_TRUE(fd.has_value());
  EXPECT_LT(pwrite(fd->get(), "y", 1, 0), 0);
  EXPECT_LT(ftruncate(fd->get(), 10), 0);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0), MAP_FAILED);
  EXPECT_TRUE(OpenSealed(*fd, text.size()).has_value());
  EXPECT_FALSE(OpenSealed(*fd, 200'000).has_value());
}

TEST(FrameSocket, FillingMemoryCanBeGivenUp) {
  const size_t before = OpenDescriptors();
  const std::vector<char> text(100'000'000, 'x');
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  int asked = 0;
  const auto fd = SealBytes({&part, 1}, [&]() -> Status {
    if (++asked < 3) return {};
    return EnvironmentError("enough");
  });
  ASSERT_FALSE(fd.has_value());
  EXPECT_EQ(fd.error().message, "enough");
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(FrameSocket, RefusesMalformedFrames) {
  const auto refused = [](Ends& ends, std::string_view why) {
    const auto received = ends.Receive();
    ASSERT_FALSE(received.has_value()) << why;
    EXPECT_NE(received.error().message.find(why), std::string::npos) << received.error().message;
  };
  const size_t before = OpenDescriptors();
  {
    Ends ends;
    ends.Write(Header(4, 0, 0, 0x12345678));
    refused(ends, "malformed message");
  }
  for (const auto& [head, inlined] : {std::pair<uint64_t, uint64_t>{kMax + 1, 0},
                                      {0, kMax + 1},
                                      {kMax, 1},
                                      {~uint64_t{0}, ~uint64_t{0}},
                                      {2, ~uint64_t{0} - 1}}) {
    Ends ends;
    ends.Write(Header(head, inlined, 0));
    refused(ends, "exceeds the limit");
  }
  {
    Ends ends;  // exactly the limit is fine, and nothing is allocated before it comes
    ends.Write(Header(kMax, 0, 0));
    refused(ends, "nothing comes");
  }
  const struct {
    size_t size;
    int seals;
    uint64_t declared;
    std::string_view why;
  } kMemories[] = {
      {100'000, kAllSeals, 100'001, "smaller"},
      {100'000, 0, 100'000, "not sealed"},
      {100'000, F_SEAL_SHRINK | F_SEAL_GROW, 100'000, "not sealed"},
      {100'000, kAllSeals & ~F_SEAL_SHRINK, 100'000, "not sealed"},
      {0, kAllSeals, 1, "smaller"},
      {100'000, kAllSeals, ~uint64_t{0}, "smaller"},
  };
  for (const auto& memory : kMemories) {
    Ends ends;
    ends.WriteWith(Header(0, 0, memory.declared), Memory(memory.size, memory.seals).get());
    refused(ends, memory.why);
  }
  {
    Ends ends;  // said to be there, and is not
    ends.Write(Header(0, 0, 100));
    refused(ends, "wrong shared memory");
  }
  {
    Ends ends;  // there, and nobody said so
    ends.WriteWith(Header(0, 0, 0), Memory(100, kAllSeals).get());
    refused(ends, "wrong shared memory");
  }
  for (const int copies : {2, 4}) {
    Ends ends;
    ends.WriteWith(Header(0, 0, 100), Memory(100, kAllSeals).get(), copies);
    refused(ends, "wrong shared memory");
  }
  {
    Ends ends;  // a pipe is no memory
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
    ends.WriteWith(Header(0, 0, 100), read_end.get());
    refused(ends, "not sealed");
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(FrameSocket, TheEndIsNotAnError) {
  for (const size_t cut : {0u, 1u, 31u, 32u, 40u}) {
    Ends ends;
    const std::string frame = Header(10, 0, 0) + "0123456789";
    ends.Write(frame.substr(0, cut));
    ends.raw.Close();
    const auto received = ends.Receive();
    ASSERT_TRUE(received.has_value());
    EXPECT_FALSE(received->has_value()) << cut;
  }
}

TEST(FrameSocket, TooLongIsNotSent) {
  Ends ends(100);
  const auto sent = ends.socket.Send({1, std::string(101, 'x'), {}}, &Ends::Wait);
  ASSERT_FALSE(sent.has_value());
  EXPECT_NE(sent.error().hint.find("worker-frame"), std::string::npos);
  EXPECT_TRUE(ends.socket.Send({1, std::string(100, 'x'), {}}, &Ends::Wait).has_value());
}

TEST(FrameSocket, GarbageNeverHarms) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    Ends ends;
    std::string bytes = round % 2 == 0 ? Header(random() % 200, random() % 200, random() % 3) : "";
    while (bytes.size() < 300) bytes += static_cast<char>(random());
    ends.WriteWith(bytes.substr(0, random() % 300 + 1), ends.raw.get(), random() % 3 == 0 ? 2 : 1);
    ends.raw.Close();
    for (int frames = 0; frames < 20; ++frames) {
      const auto received = ends.Receive();
      if (!received.has_value() || !received->has_value()) break;
    }
  }
}

}  // namespace
}  // namespace hloscope
