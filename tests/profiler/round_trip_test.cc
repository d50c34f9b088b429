// What is written in a format and read again is the same, and what a format cannot hold is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "core/base/gzip.h"
#include "profiler/attribution.h"
#include "profiler/formats/hloprof_writer.h"
#include "tests/profiler/sample_profile.h"

namespace hloscope::profiler {
namespace {

using Texts = std::vector<std::string>;

struct FormatCase {
  std::string_view name;
  int64_t unit;  // picoseconds
  Texts lost;
};
const FormatCase kCases[] = {
    {"t.hloprof", 1, {}},
    {"t.xplane.pb",
     1,
     {"1 modules that are not an HloProto", "2 facts of the environment", "1 units of counters"}},
    {"t.xplane.pb.gz",
     1,
     {"1 modules that are not an HloProto", "2 facts of the environment", "1 units of counters"}},
    {"t.trace.json",
     1,
     {"1 modules", "3 names of hosts, errors and warnings of the profiler", "2 facts of devices",
      "1 units of counters"}},
    {"t.trace.json.gz",
     1,
     {"1 modules", "3 names of hosts, errors and warnings of the profiler", "2 facts of devices",
      "1 units of counters"}},
};

Texts InWords(const std::vector<Loss>& losses) {
  Texts texts;
  for (const Loss& loss : losses) texts.push_back(std::to_string(loss.count) + " " + loss.what);
  return texts;
}

Result<std::shared_ptr<const Profile>> ReadUnpacked(std::string bytes) {
  if (IsGzip(bytes)) bytes = std::string(Gunzip(bytes, Limits()).value().bytes());
  return ReadBytes(std::move(bytes));
}

TEST(RoundTripTest, EventsLanesCountersAndOperationsAreTheSame) {
  const auto profile = SampleProfile();
  for (const FormatCase& format : kCases) {
    SCOPED_TRACE(format.name);
    std::vector<Loss> lost;
    const std::string bytes = Written(*profile, std::string(format.name), &lost);
    EXPECT_EQ(InWords(lost), format.lost);
    auto read = ReadUnpacked(bytes);
    ASSERT_TRUE(read.has_value()) << read.error().ToString();
    EXPECT_EQ(LossesOf(**read), Texts());
    EXPECT_EQ(TextsOf(**read, format.unit), TextsOf(*profile, format.unit));
    EXPECT_EQ((*read)->store->rows().size(), profile->store->rows().size());
  }
}

// Two lanes of one name, a device that is not called so, a role that the name does not tell, times
// before the origin.
TEST(RoundTripTest, KeepsFactsThatNamesDoNotEncode) {
  EventStoreBuilder builder;
  builder.set_origin_ns(5);
  const uint32_t group = builder.AddGroup("accelerator", true);
  const LaneId first = builder.AddLane(group, "same", LaneRole::kStream);
  const LaneId second = builder.AddLane(group, "same", LaneRole::kThread);
  for (LaneId lane : {first, second}) {
    (void)builder.Add(lane, -2'000'001, 3'000'000, builder.Name("a"));
    (void)builder.Add(lane, -1'000'000, 3'000'000, builder.Name("overlaps"));
    (void)builder.Add(lane, 7'000'000, 0, builder.Name("\xff not UTF-8"));
  }
  Profile profile(FileView::FromBytes("made", ""), ProfileFormat::kHloprof);
  profile.store = builder.Finish(SharedJobs(2)).value();
  std::vector<Loss> lost;
  auto read = ReadBytes(Written(profile, "t.hloprof", &lost));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(InWords(lost), Texts());
  EXPECT_EQ(EventsOf(**read), EventsOf(profile));
  EXPECT_EQ(TextsOf(**read, 1), TextsOf(profile, 1));

  read = ReadBytes(Written(profile, "t.json", &lost));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(InWords(lost), (Texts{"1 strings that are not UTF-8, their bytes written as \\xNN"}));
  EXPECT_EQ((*read)->store->lanes().size(), 2u);
  EXPECT_EQ((*read)->store->lanes()[1].role, LaneRole::kThread);
  EXPECT_TRUE((*read)->store->groups()[0].is_device);

  read = ReadBytes(Written(profile, "t.xplane.pb", &lost));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ((*read)->store->size(), 6u);
  EXPECT_EQ(InWords(lost), (Texts{"1 device planes whose name is not /device:…, and the reverse",
                                  "1 roles of lanes"}));
}

// Every sum of an origin and a time is checked: nothing overflows, and what moved is named.
TEST(RoundTripTest, OriginsAtTheEndsOfTheClockAreWritten) {
  constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
  for (const int64_t origin : {kEarliest, kLatest}) {
    EventStoreBuilder builder;
    builder.set_origin_ns(origin);
    const LaneId lane = builder.AddLane(builder.AddGroup("g", false), "l", LaneRole::kThread);
    (void)builder.Add(lane, -2'000'000, 1'000'000, builder.Name("a"));
    (void)builder.Add(lane, 3'000'000, 1'000'000, builder.Name("b"));
    Profile profile(FileView::FromBytes("made", ""), ProfileFormat::kHloprof);
    profile.store = builder.Finish(SharedJobs(2)).value();
    for (const std::string name : {"t.hloprof", "t.xplane.pb", "t.trace.json", "t.pftrace"}) {
      SCOPED_TRACE(name + " from " + std::to_string(origin));
      std::vector<Loss> lost;
      const auto read = ReadBytes(Written(profile, name, &lost));
      ASSERT_TRUE(read.has_value()) << read.error().ToString();
      const EventStore& store = *(*read)->store;
      ASSERT_EQ(store.size(), 2u);
      EXPECT_EQ(store.start(EventId(1u)) - store.start(EventId(0u)), 5'000'000);
      const bool moves = name == "t.pftrace" || (name == "t.xplane.pb" && origin == kEarliest);
      EXPECT_EQ(std::ranges::count_if(
                    lost, [](const Loss& loss) { return loss.what.starts_with("clock origins"); }),
                moves ? 1 : 0);
    }
    EXPECT_FALSE(Written(profile, "t.csv").empty());
  }
}

TEST(RoundTripTest, ArgumentsAreKept) {
  const auto profile = SampleProfile();
  for (std::string_view name : {"t.hloprof", "t.pftrace", "t.trace.json", "t.xplane.pb"}) {
    SCOPED_TRACE(name);
    auto read = ReadBytes(Written(*profile, std::string(name)));
    ASSERT_TRUE(read.has_value());
    const EventStore& store = *(*read)->store;
    const EventId kernel(store.lanes()[0].first_event);
    std::vector<std::string> have;
    for (const Argument& argument : store.Arguments(kernel)) have.push_back(TextOf(argument));
    for (std::string_view wanted : {"correlation_id=-7", "bytes=18446744073709551615", "rate=2.5",
                                    "kernel_details=regs:32 grid:1,2,3 \"x\"\n"}) {
      EXPECT_NE(std::ranges::find(have, wanted), have.end()) << wanted;
    }
  }
}

TEST(RoundTripTest, HloprofKeepsModulesAndFacts) {
  const auto profile = SampleProfile();
  auto read = ReadBytes(Written(*profile, "t.hloprof"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ((*read)->environment, profile->environment);
  EXPECT_EQ((*read)->hosts, profile->hosts);
  EXPECT_EQ((*read)->errors, profile->errors);
  EXPECT_EQ((*read)->warnings, profile->warnings);
  ASSERT_EQ((*read)->modules.size(), 1u);
  EXPECT_EQ((*read)->modules[0].fingerprint, "0123456789abcdef");
  EXPECT_EQ((*read)->modules[0].hlo_text, profile->modules[0].hlo_text);
  EXPECT_EQ((*read)->store->groups()[0].facts.size(), 2u);
  std::vector<std::string> warnings;
  const auto modules = ReadEmbeddedModules(**read, Limits(), warnings);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0].name, "jit_f");
  EXPECT_EQ(warnings, Texts());
}

TEST(RoundTripTest, UnknownEndingsAndPackedHloprofAreRefused) {
  const auto profile = SampleProfile();
  const ProfileFolder folder;
  for (std::string_view name : {"t.txt", "t", "t.hloprof.gz", "no/such/folder/t.json"}) {
    auto written = WriteProfile({*profile, nullptr, folder.Path(std::string(name))});
    ASSERT_FALSE(written.has_value()) << name;
    EXPECT_EQ(written.error().error_class, ErrorClass::kInput);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path(".")));
}

TEST(RoundTripTest, CsvHasALineForEachEventAndSample) {
  const auto profile = SampleProfile();
  const std::string csv = Written(*profile, "t.csv");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 7 + 5 + 0);
  EXPECT_NE(csv.find("event,/host:CPU,\"main, with \"\"quotes\"\"\",ünicode call,"
                     "1722345678901234567,90000,,,,,\n"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",gemm_fusion_dot_4,1722345678901235567.500,2000.001,,jit_f,dot.4,14,\n"),
            std::string::npos)
      << csv;
}

}  // namespace
}  // namespace hloscope::profiler
