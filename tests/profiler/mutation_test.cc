// Every format with bytes changed, taken out and doubled, and cut off at every hundredth byte:
// nothing dies and what is lost is named. PROFILE_MUTATIONS sets how many changed files of each
// format are read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "tests/profiler/nsight_fixture.h"
#include "tests/profiler/sample_profile.h"

namespace hloscope::profiler {
namespace {

int Mutations() {
  const char* wanted = std::getenv("PROFILE_MUTATIONS");
  return wanted == nullptr ? 500 : std::atoi(wanted);
}

// A device with streams of several thousand events, threads and counters.
std::shared_ptr<Profile> ManyEvents() {
  EventStoreBuilder builder;
  builder.set_origin_ns(1'000'000);
  std::mt19937_64 random(5);
  for (int g = 0; g < 3; ++g) {
    const uint32_t group =
        builder.AddGroup(g == 0 ? "/device:GPU:0" : "/host:" + std::to_string(g), g == 0);
    const CounterId counter = builder.AddCounter(group, "bytes in use", "bytes");
    const LaneId lane =
        builder.AddLane(group, "lane", g == 0 ? LaneRole::kStream : LaneRole::kThread);
    for (int i = 0; i < 300; ++i) {
      const auto start = static_cast<int64_t>(random() % 1'000'000'000);
      const NameId name = builder.Name("kernel_" + std::to_string(random() % 20));
      (void)builder.Add(lane, start, static_cast<int64_t>(random() % 9'000'000), name);
      if (i % 10 == 0) (void)builder.AddSample(counter, start, static_cast<double>(i));
    }
  }
  auto profile = SampleProfile();
  profile->store = builder.Finish(SharedJobs(2)).value();
  return profile;
}

// Files of all formats by their names.
std::vector<std::pair<std::string, std::string>> Files() {
  std::vector<std::pair<std::string, std::string>> files;
  const auto profile = ManyEvents();
  for (const char* name : {"t.hloprof", "t.xplane.pb", "t.pftrace", "t.trace.json"})
    files.emplace_back(name, Written(*profile, name));
  files.emplace_back("t.sqlite", NsightExport(300));
  return files;
}

std::string Mutated(std::string bytes, std::mt19937_64& random) {
  for (uint64_t k = 0; k <= random() % 6; ++k) {
    const size_t at = random() % bytes.size(),
                 size = std::min<size_t>(random() % 64, bytes.size() - at);
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        if (bytes.size() > 1000) bytes.erase(at, size);
        break;
      case 3:
        bytes.insert(at, bytes.substr(random() % (bytes.size() - size), size));
        break;
      default:
        for (size_t i = 0; i < size; ++i)
          bytes[at + i] = static_cast<char>(random() % 2 == 0 ? 0xff : 0);
    }
  }
  return bytes;
}

void WalkOver(const Profile& profile) {
  const EventStore& store = *profile.store;
  size_t bytes = 0;
  for (uint32_t i = 0; i < store.size(); ++i) {
    bytes += store.text(store.name(EventId(i))).size();
    if (i % 16 == 0) bytes += store.Arguments(EventId(i)).size();
  }
  for (const Counter& counter : store.counters()) bytes += store.values(counter).size();
  EXPECT_GE(bytes, 0u);
}

TEST(MutationTest, ChangedFilesOfEveryFormatAreReadOrRefused) {
  for (const auto& [name, sound] : Files()) {
    SCOPED_TRACE(name);
    std::mt19937_64 random(17);
    int read_any = 0;
    for (int round = 0; round < Mutations(); ++round) {
      auto profile = ReadBytes(Mutated(sound, random));
      if (!profile) {
        EXPECT_FALSE(profile.error().message.empty());
        continue;
      }
      ++read_any;
      WalkOver(**profile);
      for (const Loss& loss : (*profile)->losses) EXPECT_FALSE(loss.what.empty());
    }
    EXPECT_GT(read_any, 0);
  }
}

// Checksums tell every change of a .hloprof that is not behind its end.
TEST(MutationTest, NoChangeOfAHloprofGoesUnnamed) {
  const auto profile = ManyEvents();
  const std::string sound = Written(*profile, "t.hloprof");
  std::mt19937_64 random(23);
  for (int round = 0; round < Mutations(); ++round) {
    const std::string bytes = Mutated(sound, random);
    if (bytes == sound) continue;
    auto read = ReadBytes(bytes);
    EXPECT_TRUE(!read || !(*read)->losses.empty()) << round;
  }
}

TEST(MutationTest, ACutAtEveryHundredthByteGivesWhatCameBefore) {
  for (const auto& [name, sound] : Files()) {
    SCOPED_TRACE(name);
    const auto whole = ReadBytes(sound);
    ASSERT_TRUE(whole.has_value());
    EXPECT_TRUE((*whole)->losses.empty());
    size_t most = 0, least_lost = sound.size();
    for (size_t size = 0; size < sound.size(); size += 100) {
      auto read = ReadBytes(sound.substr(0, size));
      if (!read) {
        EXPECT_FALSE(read.error().message.empty());
        continue;
      }
      EXPECT_FALSE((*read)->losses.empty()) << size;
      EXPECT_LE((*read)->store->size(), (*whole)->store->size());
      most = std::max(most, (*read)->store->size());
      least_lost = std::min(least_lost, size);
    }
    // Planes of an XSpace have their names behind their events, so one that is cut off is lost.
    EXPECT_GE(most * 3, (*whole)->store->size());
    EXPECT_LT(least_lost, sound.size()) << "none was read";
  }
}

}  // namespace
}  // namespace hloscope::profiler
