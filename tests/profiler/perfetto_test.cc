// Perfetto traces packet by packet: interned names, clocks of sequences, packed packets, lost
// state.
#include <gtest/gtest.h>
#include <zlib.h>

#include <functional>

#include "core/hlo/proto/wire_writer.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {
namespace {

using Texts = std::vector<std::string>;
using hlo::WireWriter;
using Fill = std::function<void(WireWriter&)>;

std::string Message(const Fill& fill) {
  WireWriter out;
  fill(out);
  return std::string(out.bytes());
}
// A TracePacket of a sequence, with what `fill` writes into it.
std::string Packet(uint64_t sequence, const Fill& fill) {
  const std::string packet = Message([&](WireWriter& out) {
    out.Varint(10, sequence);
    fill(out);
  });
  return Message([&](WireWriter& out) { out.Bytes(1, packet); });
}
std::string Named(uint64_t id, std::string_view name) {
  return Message([&](WireWriter& out) {
    out.Varint(1, id);
    out.Bytes(2, name);
  });
}
// A TrackEvent: type, track (0: none), interned name (0: none), and the rest.
std::string Event(uint64_t type, uint64_t track, uint64_t name, const Fill& rest = {}) {
  return Message([&](WireWriter& out) {
    out.Varint(9, type);
    if (track != 0) out.Varint(11, track);
    if (name != 0) out.Varint(10, name);
    if (rest) rest(out);
  });
}
std::string At(uint64_t sequence, uint64_t time, const std::string& event) {
  return Packet(sequence, [&](WireWriter& out) {
    out.Varint(8, time);
    out.Varint(13, 2);
    out.Bytes(11, event);
  });
}
std::string Cleared(uint64_t sequence, const std::vector<std::string>& names,
                    const Fill& more = {}) {
  return Packet(sequence, [&](WireWriter& out) {
    out.Varint(13, 1);
    out.Bytes(12, Message([&](WireWriter& interned) {
                for (size_t i = 0; i < names.size(); ++i) interned.Bytes(2, Named(i + 1, names[i]));
              }));
    if (more) more(out);
  });
}
std::string Track(const Fill& fill) {
  return Packet(1, [&](WireWriter& out) { out.Bytes(60, Message(fill)); });
}
std::string ThreadTrack(uint64_t uuid, int pid, int tid, std::string_view name) {
  return Track([&](WireWriter& out) {
    out.Varint(1, uuid);
    out.Bytes(4, Message([&](WireWriter& thread) {
                thread.Int(1, pid);
                thread.Int(2, tid);
                thread.Bytes(5, name);
              }));
  });
}

std::shared_ptr<const Profile> MustRead(const std::string& bytes) {
  auto profile = ReadBytes(bytes);
  EXPECT_TRUE(profile.has_value()) << profile.error().ToString();
  return profile ? *profile : nullptr;
}

TEST(PerfettoTest, EventsOfThreadsWithInternedNamesAndAnnotations) {
  const std::string bytes =
      Cleared(7, {"outer", "inner"},
              [](WireWriter& out) {
                out.Bytes(12, Message([](WireWriter& interned) {
                            interned.Bytes(3, Named(1, "hlo_op"));
                            interned.Bytes(3, Named(2, "list"));
                            interned.Bytes(29, Named(5, "dot.4"));
                          }));
              }) +
      At(7, 1000, Event(1, 11, 1)) +
      At(7, 1200,
         Event(1, 11, 2,
               [](WireWriter& out) {
                 out.Bytes(4, Message([](WireWriter& a) {
                             a.Varint(1, 1);
                             a.Varint(17, 5);
                           }));
                 out.Bytes(4, Message([](WireWriter& a) {
                             a.Bytes(10, "program_id");
                             a.Int(4, 14);
                           }));
                 out.Bytes(4, Message([](WireWriter& a) {
                             a.Varint(1, 2);
                             for (int64_t v : {3, 4})
                               a.Bytes(12, Message([&](WireWriter& e) { e.Int(4, v); }));
                           }));
               })) +
      At(7, 1300, Event(2, 11, 0)) + At(7, 1500, Event(2, 11, 0)) +
      At(7, 1600, Event(3, 11, 0, [](WireWriter& out) { out.Bytes(23, "mark"); })) +
      ThreadTrack(11, 42, 43, "main");
  const auto profile = MustRead(bytes);
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(EventsOf(*profile), (Texts{"main|outer|0|500000", "main|mark|600000|0",
                                       "main|inner|200000|100000|(14):dot.4"}));
  EXPECT_EQ(LossesOf(*profile), Texts());
  EXPECT_EQ(profile->store->origin_ns(), 1000);
  EXPECT_EQ(profile->store->text(profile->store->groups()[0].name), "process 42");
  const std::vector<Argument> arguments = profile->store->Arguments(EventId(2u));
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(std::get<std::string>(arguments[0].value), "dot.4");
  EXPECT_EQ(arguments[3].name, "list.1");
  EXPECT_EQ(std::get<int64_t>(arguments[3].value), 4);
}

TEST(PerfettoTest, ClocksThatCountOnAndDefaultsOfASequence) {
  const std::string snapshot = Message([](WireWriter& out) {
    out.Bytes(1, Message([](WireWriter& c) {
                c.Varint(1, 6);
                c.Varint(2, 5'000'000);
              }));
    out.Bytes(1, Message([](WireWriter& c) {
                c.Varint(1, 64);
                c.Varint(2, 100);
                c.Varint(3, 1);
                c.Varint(4, 1000);
              }));
  });
  const std::string defaults = Message([](WireWriter& out) {
    out.Varint(58, 64);
    out.Bytes(11, Message([](WireWriter& d) {
                d.Varint(11, 11);
                d.Varint(31, 12);
              }));
  });
  const std::string counter = Track([](WireWriter& out) {
    out.Varint(1, 12);
    out.Bytes(2, "memory");
    out.Bytes(8, Message([](WireWriter& c) {
                c.Varint(3, 3);
                c.Varint(4, 1024);
              }));
  });
  const auto profile =
      MustRead(ThreadTrack(11, 1, 1, "t") + counter +
               Cleared(3, {"a"},
                       [&](WireWriter& out) {
                         out.Bytes(6, snapshot);
                         out.Bytes(59, defaults);
                       }) +
               At(3, 10, Event(1, 0, 1)) +
               At(3, 5, Event(2, 0, 0, [](WireWriter& out) { out.Varint(12, 3); })));
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(EventsOf(*profile), Texts{"t|a|0|5000000"});
  EXPECT_EQ(profile->store->origin_ns(), 5'010'000);
  ASSERT_EQ(profile->store->counters().size(), 1u);
  const Counter& memory = profile->store->counters()[0];
  EXPECT_EQ(profile->store->text(memory.unit), "bytes");
  EXPECT_EQ(profile->store->values(memory)[0], 3072.0);
  EXPECT_EQ(profile->store->times(memory)[0], 5'000'000);
}

TEST(PerfettoTest, PackedPacketsAreReadAndThoseInsideNamed) {
  const std::string inner = Cleared(1, {"a"}) + At(1, 5, Event(3, 11, 1, [](WireWriter& out) {
                                                     out.Bytes(4, Message([](WireWriter& a) {
                                                                 a.Bytes(10, "n");
                                                                 a.Int(4, 8);
                                                               }));
                                                   }));
  auto packed = [](const std::string& bytes) {
    std::string out(compressBound(bytes.size()), '\0');
    uLongf size = out.size();
    compress(reinterpret_cast<Bytef*>(out.data()), &size,
             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    out.resize(size);
    const std::string packet = Message([&](WireWriter& p) { p.Bytes(50, out); });
    return Message([&](WireWriter& p) { p.Bytes(1, packet); });
  };
  auto profile = MustRead(ThreadTrack(11, 1, 1, "t") + packed(inner) + packed(packed(inner)));
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(EventsOf(*profile), Texts{"t|a|0|0"});
  EXPECT_EQ(LossesOf(*profile), Texts{"1 nested compressed packets"});
  ASSERT_EQ(profile->store->Arguments(EventId(0u)).size(), 1u);
  std::string broken = packed(inner);
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
  profile = MustRead(ThreadTrack(11, 1, 1, "t") + At(1, 5, Event(3, 11, 0)) + broken);
  ASSERT_NE(profile, nullptr);
  EXPECT_FALSE(profile->losses.empty());
}

TEST(PerfettoTest, EventsOutOfOrderAreSorted) {
  const auto profile =
      MustRead(Cleared(1, {"a", "b"}) + ThreadTrack(11, 1, 1, "t") + At(1, 0, Event(1, 11, 1)) +
               At(1, 5, Event(1, 11, 2)) + At(1, 3, Event(2, 11, 0)) + At(1, 9, Event(2, 11, 0)));
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(EventsOf(*profile), (Texts{"t|a|0|3000", "t|b|5000|4000"}));
  EXPECT_EQ(LossesOf(*profile), Texts());
}

TEST(PerfettoTest, WhatIsLostIsNamed) {
  const std::string legacy = Message([](WireWriter& out) {
    out.Varint(2, 'X');
    out.Varint(3, 2);
  });
  const auto profile =
      MustRead(At(9, 1, Event(1, 11, 1)) +  // needs a state that never was
               Cleared(1, {"a"}) + At(1, 10, Event(2, 11, 0)) + At(1, 20, Event(1, 11, 1)) +
               At(1, 25, Event(3, 11, 77)) +
               At(1, 30, Event(0, 11, 1, [&](WireWriter& out) { out.Bytes(6, legacy); })) +
               At(1, 30, Event(9, 11, 1)) + At(1, ~uint64_t{0}, Event(3, 11, 1)) +
               Packet(1, [](WireWriter& out) { out.Bytes(66, "sample"); }) +
               Packet(1, [](WireWriter& out) { out.Bytes(133, "zstd"); }) +
               Packet(1, [](WireWriter& out) { out.Varint(42, 1); }) + At(1, 40, Event(3, 11, 1)));
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(EventsOf(*profile), (Texts{"track 11|a|10000|10000", "track 11|a|20000|2000000",
                                       "track 11|(unnamed)|15000|0"}));
  EXPECT_EQ(
      LossesOf(*profile),
      (Texts{"2 packets whose interned names were lost with earlier packets",
             "1 end events without a begin event",
             "1 event names that are not interned in their sequence", "1 events of unknown type",
             "1 events with out-of-range timestamps", "1 packets of other sources of data",
             "1 packets compressed with zstd", "1 gaps where the recording dropped packets",
             "1 unterminated events, extended to the end of the trace"}));
}

// Parents that make a circle, and tracks that say they are their own.
TEST(PerfettoTest, CirclesOfTracksEnd) {
  std::string bytes = Cleared(1, {"a"});
  for (auto [uuid, parent] : {std::pair(11, 12), std::pair(12, 11), std::pair(13, 13)}) {
    bytes += Track([&](WireWriter& out) {
      out.Int(1, uuid);
      out.Int(5, parent);
    });
    bytes += At(1, 1, Event(3, static_cast<uint64_t>(uuid), 1));
  }
  const auto profile = MustRead(bytes);
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->store->size(), 3u);
}

}  // namespace
}  // namespace hloscope::profiler
