// XSpaces made with the generated classes, read from their wire format; cut, mutated and hostile
// ones.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "profiler/xplane.pb.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {
namespace {

using Texts = std::vector<std::string>;

void SetStat(proto::XStat& stat, int64_t name, std::string_view text) {
  stat.set_metadata_id(name);
  stat.set_str_value(std::string(text));
}

// A plane of a GPU with a stream of two overlapping kernels and a copy, and one of the host.
proto::XSpace GpuSpace() {
  proto::XSpace space;
  space.add_hostnames("host");
  space.add_warnings("3 events were dropped");
  proto::XPlane& host = *space.add_planes();
  host.set_name("/host:CPU");
  proto::XPlane& plane = *space.add_planes();
  plane.set_name("/device:GPU:0");
  const Texts stats = {"hlo_op", "hlo_module", "program_id", "loop_add_fusion.3", "occ", "bytes"};
  for (size_t i = 0; i < stats.size(); ++i) {
    auto& entry = (*plane.mutable_stat_metadata())[static_cast<int64_t>(i) + 1];
    entry.set_id(static_cast<int64_t>(i) + 1);
    entry.set_name(stats[i]);
  }
  auto& add = (*plane.mutable_event_metadata())[7];
  add.set_id(7);
  add.set_name("loop_add_fusion_3");
  // What all events of a name have in common.
  SetStat(*add.add_stats(), 2, "jit_f");
  auto& copy = (*plane.mutable_event_metadata())[int64_t{1} << 40];
  copy.set_name("MemcpyD2H");
  proto::XLine& line = *plane.add_lines();
  line.set_id(14);
  line.set_name("Stream #14(Compute)");
  line.set_timestamp_ns(2'000);
  for (int i = 0; i < 2; ++i) {
    proto::XEvent& event = *line.add_events();
    event.set_metadata_id(7);
    event.set_offset_ps(1'000 + 600 * i);
    event.set_duration_ps(1'000);
    proto::XStat& operation = *event.add_stats();
    operation.set_metadata_id(1);
    operation.set_ref_value(4);
    proto::XStat& program = *event.add_stats();
    program.set_metadata_id(3);
    i == 0 ? program.set_int64_value(12) : program.set_uint64_value(12);
    proto::XStat& occupancy = *event.add_stats();
    occupancy.set_metadata_id(5);
    occupancy.set_double_value(62.5);
  }
  proto::XEvent& event = *line.add_events();
  event.set_metadata_id(int64_t{1} << 40);
  event.set_duration_ps(50);
  proto::XLine& derived = *plane.add_lines();
  derived.set_name("XLA Ops");
  derived.set_timestamp_ns(1'500);
  derived.add_events()->set_metadata_id(7);
  proto::XStat& memory = *plane.add_stats();
  memory.set_metadata_id(6);
  memory.set_uint64_value(80);
  return space;
}

TEST(XPlaneTest, EventsNamesAndOperationsAreRead) {
  auto profile = ReadBytes(GpuSpace().SerializeAsString());
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  const EventStore& store = *(*profile)->store;
  EXPECT_EQ(EventsOf(**profile),
            (Texts{"Stream #14(Compute)|MemcpyD2H|500000|50",
                   "Stream #14(Compute)|loop_add_fusion_3|501000|1000|jit_f(12):loop_add_fusion.3",
                   "Stream #14(Compute)|loop_add_fusion_3|501600|1000|jit_f(12):loop_add_fusion.3",
                   "XLA Ops|loop_add_fusion_3|0|0"}));
  EXPECT_EQ(store.origin_ns(), 1'500);
  EXPECT_EQ((*profile)->hosts, Texts{"host"});
  EXPECT_EQ((*profile)->warnings, Texts{"3 events were dropped"});
  EXPECT_TRUE((*profile)->losses.empty());
  ASSERT_EQ(store.groups().size(), 1u) << "a plane without lines and facts is no group";
  EXPECT_TRUE(store.groups()[0].is_device);
  EXPECT_EQ(std::get<uint64_t>(store.groups()[0].facts.at(0).value), 80u);
  EXPECT_EQ(store.lanes()[0].role, LaneRole::kStream);
  EXPECT_EQ(store.lanes()[1].role, LaneRole::kOperations);
  const std::vector<Argument> arguments = store.Arguments(EventId(1u));
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_EQ(arguments[0].name, "hlo_op");
  EXPECT_EQ(std::get<std::string>(arguments[0].value), "loop_add_fusion.3");
  EXPECT_EQ(std::get<double>(arguments[2].value), 62.5);
}

TEST(XPlaneTest, ModulesOfTheTraceAreFound) {
  proto::XSpace space;
  proto::XPlane& plane = *space.add_planes();
  plane.set_name("/host:metadata");
  (*plane.mutable_stat_metadata())[1].set_name("HLO Proto");
  auto& module = (*plane.mutable_event_metadata())[31];
  module.set_name("jit_f(31)");
  module.add_stats()->set_metadata_id(1);
  module.mutable_stats(0)->set_bytes_value("module");
  auto profile = ReadBytes(space.SerializeAsString());
  ASSERT_TRUE(profile.has_value());
  ASSERT_EQ((*profile)->modules.size(), 1u);
  EXPECT_EQ((*profile)->modules[0].program, 31);
  EXPECT_EQ((*profile)->modules[0].hlo_proto, "module");
}

TEST(XPlaneTest, ImpossibleEventsAreCountedNotTaken) {
  proto::XSpace space = GpuSpace();
  proto::XLine& line = *space.mutable_planes(1)->mutable_lines(0);
  line.mutable_events(0)->set_duration_ps(-5);
  line.mutable_events(1)->set_offset_ps(std::numeric_limits<int64_t>::max());
  line.mutable_events(2)->set_metadata_id(99);
  line.add_events()->set_num_occurrences(4);
  proto::XLine& other = *space.mutable_planes(1)->add_lines();
  other.set_timestamp_ns(std::numeric_limits<int64_t>::max());
  other.add_events();
  auto profile = ReadBytes(space.SerializeAsString());
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(EventsOf(**profile),
            (Texts{"Stream #14(Compute)|(unnamed)|500000|50", "XLA Ops|loop_add_fusion_3|0|0"}));
  EXPECT_EQ(LossesOf(**profile), (Texts{"3 events with out-of-range timestamps",
                                        "1 events without a name in the tables of their plane",
                                        "1 aggregated events, which have no timestamp"}));
}

// Bytes that were overwritten leave messages that can be read and names that nobody wrote.
TEST(XPlaneTest, DamagedNamesAndFieldsAreNamed) {
  const std::string names = "1 names that are damaged or missing";
  const auto losses_of = [](auto damage) {
    proto::XSpace space = GpuSpace();
    damage(*space.mutable_planes(1));
    auto profile = ReadBytes(space.SerializePartialAsString());
    return profile ? LossesOf(**profile) : Texts{profile.error().ToString()};
  };
  EXPECT_EQ(losses_of([](proto::XPlane&) {}), Texts{});
  EXPECT_EQ(losses_of([](proto::XPlane& plane) {
              (*plane.mutable_event_metadata())[7].set_name("loop_\xff\xfe");
            }),
            Texts{names});
  EXPECT_EQ(losses_of([](proto::XPlane& plane) {
              (*plane.mutable_stat_metadata())[4].set_name("loop_\xff");
            }),
            Texts{names});
  EXPECT_EQ(losses_of([](proto::XPlane& plane) { (*plane.mutable_stat_metadata())[4].Clear(); }),
            Texts{names});
  EXPECT_EQ(losses_of([](proto::XPlane& plane) {
              plane.mutable_lines(0)->mutable_events(0)->mutable_stats(0)->set_ref_value(99);
            }),
            Texts{names});
  EXPECT_EQ(losses_of([](proto::XPlane& plane) {
              proto::XEvent& event = *plane.mutable_lines(0)->mutable_events(0);
              event.GetReflection()->MutableUnknownFields(&event)->AddVarint(5'000, 1);
            }),
            Texts{"1 events with fields that no XEvent has, which may be damaged"});
  EXPECT_EQ(losses_of([](proto::XPlane& plane) {
              proto::XEvent& event = *plane.mutable_lines(0)->mutable_events(0);
              event.GetReflection()->MutableUnknownFields(&event)->AddVarint(9, 1);
            }),
            Texts{})
      << "a field of a later version";
}

TEST(XPlaneTest, EveryCutIsNamed) {
  const std::string whole = GpuSpace().SerializeAsString();
  int read = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    auto profile = ReadBytes(whole.substr(0, size));
    if (!profile) {
      EXPECT_EQ(profile.error().error_class, ErrorClass::kInput);
      continue;
    }
    ++read;
    // Between two planes a file that was cut is a whole one.
    const bool is_whole = proto::XSpace().ParseFromString(whole.substr(0, size));
    EXPECT_NE((*profile)->losses.empty(), !is_whole) << size;
  }
  EXPECT_GT(read, 0) << "cuts behind the planes lose no event";
}

TEST(XPlaneTest, MutatedBytesKillNothing) {
  const std::string whole = GpuSpace().SerializeAsString();
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = whole;
    for (uint64_t k = 0; k <= random() % 4; ++k) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    auto profile = ReadBytes(bytes);
    if (!profile) continue;
    const EventStore& store = *(*profile)->store;
    for (uint32_t i = 0; i < store.size(); ++i) store.Arguments(EventId(i));
    EXPECT_TRUE(Attribution::Make((*profile)->store, {}, SharedJobs(2)).has_value());
  }
}

TEST(XPlaneTest, AModuleIsNotATrace) {
  // An HloModuleProto begins with its name in field 1.
  EXPECT_FALSE(IsXSpace("\x0a\x05jit_f\x12\x04main"));
  EXPECT_FALSE(IsXSpace(""));
  EXPECT_FALSE(IsXSpace("HloModule m"));
  EXPECT_TRUE(IsXSpace(GpuSpace().SerializeAsString()));
}

}  // namespace
}  // namespace hloscope::profiler
