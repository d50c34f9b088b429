// Files of our own: written as a stream, cut off, damaged, and made to do harm.
#include <gtest/gtest.h>

#include <random>

#include "core/base/deflate.h"
#include "profiler/formats/hloprof_format.h"
#include "profiler/formats/hloprof_writer.h"
#include "tests/profiler/sample_profile.h"

namespace hloscope::profiler {
namespace {

using Texts = std::vector<std::string>;

std::string Recorded(int events, int flush_each = 1 << 30) {
  const ProfileFolder folder;
  const std::string path = folder.Path("r.hloprof");
  auto writer = HloprofWriter::Create(path).value();
  EXPECT_TRUE(std::filesystem::exists(path + ".part"));
  EXPECT_TRUE(writer->SetOrigin(1000));
  const uint32_t group = writer->AddGroup("/host:CPU", false);
  for (int i = 0; i < events; ++i) {
    // Lanes and names turn up as the run goes on.
    if (i % 40'000 == 0) writer->AddLane(group, "lane", LaneRole::kThread);
    const LaneId lane(static_cast<uint32_t>(i / 40'000));
    const NameId name = writer->Name("event " + std::to_string(i % 7 + i / 1000));
    const Argument argument{"i", int64_t{i}};
    EXPECT_TRUE(writer->AddSlice({lane, int64_t{i} * 1000, 900, name}, std::span(&argument, 1)));
    if (i % flush_each == flush_each - 1) {
      EXPECT_TRUE(writer->Flush());
    }
  }
  EXPECT_TRUE(writer->Finish());
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  return BytesOfFile(path);
}

TEST(HloprofTest, AStreamIsReadAsItWasWritten) {
  auto read = ReadBytes(Recorded(100'000));
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  const EventStore& store = *(*read)->store;
  EXPECT_EQ(LossesOf(**read), Texts());
  ASSERT_EQ(store.size(), 100'000u);
  EXPECT_EQ(store.lanes().size(), 3u);
  for (uint32_t i : {0u, 32'767u, 32'768u, 99'999u}) {
    const EventId e(i);
    EXPECT_EQ(store.start(e), int64_t{i} * 1000);
    EXPECT_EQ(store.text(store.name(e)), "event " + std::to_string(i % 7 + i / 1000));
    ASSERT_EQ(store.Arguments(e).size(), 1u);
    EXPECT_EQ(std::get<int64_t>(store.Arguments(e)[0].value), int64_t{i});
  }
}

// Of each kind that stays in memory, far more than the limit, in a small file.
TEST(HloprofTest, WhatStaysInMemoryKeepsToTheLimit) {
  constexpr int64_t kLimit = 1 << 20, kMany = 64;
  using Fill = void (*)(HloprofWriter& writer);
  const Fill fills[] = {[](HloprofWriter& writer) {
                          const std::string text(kLimit * kMany, ' ');
                          EmbeddedModule module;
                          module.name = "m";
                          module.hlo_text = text;
                          EXPECT_TRUE(writer.AddModule(module));
                        },
                        [](HloprofWriter& writer) {
                          for (int k = 0; k < kMany; ++k)
                            writer.Name(std::string(kLimit / 8, static_cast<char>(k)));
                        },
                        [](HloprofWriter& writer) {
                          for (int k = 0; k < kMany; ++k) {
                            EXPECT_TRUE(writer.AddEnvironment("k", std::string(kLimit / 8, ' ')));
                          }
                        },
                        [](HloprofWriter& writer) {
                          for (int64_t k = 0; k < kLimit / 16; ++k)
                            writer.AddOperation({.module = {}, .name = {}, .program = k});
                        }};
  for (const Fill fill : fills) {
    const ProfileFolder folder;
    const std::string path = folder.Path("r.hloprof");
    auto writer = HloprofWriter::Create(path).value();
    fill(*writer);
    EXPECT_TRUE(writer->Finish());
    Limits limits;
    limits.archive_bytes = kLimit;
    Jobs jobs(1);
    const auto refused = ReadProfile(FileView::Open(path, {}).value(), limits, jobs);
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().message.contains("more memory than the limit archive"))
        << refused.error().ToString();
    EXPECT_TRUE(ReadProfile(FileView::Open(path, {}).value(), {}, jobs).has_value());
  }
}

TEST(HloprofTest, WhatWasFlushedIsReadFromAPart) {
  const ProfileFolder folder;
  const std::string path = folder.Path("r.hloprof");
  auto writer = HloprofWriter::Create(path).value();
  const LaneId lane = writer->AddLane(writer->AddGroup("g", false), "l", LaneRole::kThread);
  EXPECT_TRUE(writer->AddSlice({lane, 0, 1, writer->Name("a")}));
  EXPECT_TRUE(writer->Flush());
  EXPECT_TRUE(writer->AddSlice({lane, 1, 1, writer->Name("b")}));
  auto read = ReadBytes(BytesOfFile(path + ".part"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(EventsOf(**read), Texts{"l|a|0|1"});
  EXPECT_EQ(LossesOf(**read),
            Texts{"1 end of the profile missing: it was cut off or is still being written"});
  EXPECT_FALSE(writer->AddSlice({lane, 0, -1, writer->Name("a")}));
  writer.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path(".")));
}

TEST(HloprofTest, ACutAnywhereGivesWhatCameBefore) {
  const std::string bytes = Recorded(10'000, 500);
  size_t before = 0;
  for (size_t size = 0; size < bytes.size(); size += 100) {
    auto read = ReadBytes(bytes.substr(0, size));
    if (size < hloprof::kHeaderBytes) {
      EXPECT_FALSE(read.has_value()) << size;
      continue;
    }
    ASSERT_TRUE(read.has_value()) << size << read.error().ToString();
    EXPECT_FALSE((*read)->losses.empty()) << size;
    EXPECT_GE((*read)->store->size(), before);
    before = (*read)->store->size();
  }
  EXPECT_GE(before, 9'500u);
}

TEST(HloprofTest, DamagedBlocksAreNamedAndTheOthersRead) {
  const std::string sound = Recorded(100'000);
  // A byte in the middle of the file, and the header of the block behind the first.
  for (size_t at : {sound.size() / 2, hloprof::kHeaderBytes + 30}) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    auto read = ReadBytes(bytes);
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE((*read)->losses.empty()) << at;
    EXPECT_GT((*read)->store->size(), 30'000u) << at;
  }
}

// A block with sound checksums and these bytes.
std::string BlockOf(uint32_t kind, std::string_view bytes, size_t claimed) {
  const std::string packed = Deflate(bytes, 9);
  const std::string_view stored = packed.empty() ? bytes : std::string_view(packed);
  std::string out;
  hloprof::AppendFixed32(out, kind);
  hloprof::AppendFixed32(out, static_cast<uint32_t>(stored.size()));
  hloprof::AppendFixed32(out, static_cast<uint32_t>(claimed));
  hloprof::AppendFixed32(out, Crc32(stored));
  hloprof::AppendFixed32(out, Crc32(out));
  return out + std::string(stored);
}

std::string Header(uint32_t version) {
  std::string out(hloprof::kMagic);
  hloprof::AppendFixed32(out, version);
  hloprof::AppendFixed32(out, Crc32(out));
  return out;
}

TEST(HloprofTest, CountsThatLieAndUnknownBlocksAreLosses) {
  const std::string zeros(1000, '\0'), large = "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  const std::string file =
      Header(1) + BlockOf(hloprof::kEvents, large, large.size()) +
      BlockOf(hloprof::kNames, "\x00" + large, large.size() + 1) +
      BlockOf(hloprof::kLanes, large + "\x01\x00\x00\x00", large.size() + 4) +
      BlockOf(hloprof::kEvents, std::string("\x7f\x00\x00\x7f", 4) + zeros, 1004) +
      BlockOf(hloprof::kNames, zeros, 5'000'000'00) +
      BlockOf(hloprof::kSamples, large, large.size()) +
      BlockOf(hloprof::kModule, large, large.size()) + BlockOf(hloprof::kFact, "\x09\x00\x00", 3) +
      BlockOf(hloprof::Kind("NEWS"), "soon", 4) + BlockOf(hloprof::kDone, "\x05\x00", 2);
  auto read = ReadBytes(file);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ((*read)->store->size(), 0u);
  EXPECT_FALSE((*read)->losses.empty());
  EXPECT_FALSE(ReadBytes(Header(2)).has_value());
  EXPECT_FALSE(ReadBytes(Header(0)).has_value());
  EXPECT_TRUE(ReadBytes(Header(1)).has_value());
}

}  // namespace
}  // namespace hloscope::profiler
