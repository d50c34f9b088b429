// Traces whose bytes are not kept: arguments are read from the file again, unless it was changed.
#include "profiler/formats/source_bytes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/profiler/sample_profile.h"

namespace hloscope::profiler {
namespace {

using Texts = std::vector<std::string>;

class SourceBytesTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.Path(name), std::ios::binary) << bytes;
    return folder_.Path(name);
  }

 private:
  const ProfileFolder folder_;
};

Texts ArgumentsOf(const Profile& profile) {
  Texts texts;
  for (uint32_t i = 0; i < profile.store->size(); ++i) {
    std::string text;
    for (const Argument& argument : profile.store->Arguments(EventId(i))) text += TextOf(argument);
    texts.push_back(text);
  }
  return texts;
}

TEST_F(SourceBytesTest, ArgumentsAreReadFromTheFileAgain) {
  const auto profile = SampleProfile();
  for (const std::string name : {"t.trace.json", "t.pftrace"}) {
    SCOPED_TRACE(name);
    const std::string bytes = Written(*profile, name);
    const std::string path = Write(name, bytes);
    const auto whole = ReadBytes(bytes).value();
    const auto opened = OpenProfile(path, Limits(), SharedJobs(2)).value();
    EXPECT_EQ(whole->file.bytes().size(), bytes.size());
    EXPECT_EQ(opened->file.bytes(), "");
    EXPECT_EQ(ArgumentsOf(*opened), ArgumentsOf(*whole));
    EXPECT_NE(ArgumentsOf(*whole), Texts(whole->store->size()));
    // One that takes its place is another file.
    std::filesystem::rename(path, path + ".old");
    Write(name, "other");
    EXPECT_EQ(ArgumentsOf(*opened), ArgumentsOf(*whole));
    Write(name + ".old", bytes + " ");
    const std::vector<Argument> gone = opened->store->Arguments(EventId(0u));
    ASSERT_EQ(gone.size(), 1u);
    EXPECT_EQ(std::get<std::string>(gone[0].value), kFileChanged);
  }
}

TEST_F(SourceBytesTest, WhatWasPackedIsKept) {
  const std::string bytes = Written(*SampleProfile(), "t.trace.json.gz");
  const auto opened = OpenProfile(Write("t.trace.json.gz", bytes), Limits(), SharedJobs(2)).value();
  EXPECT_GT(opened->file.bytes().size(), bytes.size());
}

TEST_F(SourceBytesTest, LongPartsAreReadInEverLargerSteps) {
  std::string bytes(300'000, 'x');
  bytes[290'000] = '!';
  SourceBytes source(FileView::Open(Write("long", bytes), Limits()).value());
  ASSERT_TRUE(source.Release());
  EXPECT_EQ(source.file().bytes(), "");
  size_t reads = 0, found = 0;
  EXPECT_TRUE(source.ReadFrom(1000, [&](std::string_view window) {
    ++reads;
    found = window.find('!');
    return found != window.npos;
  }));
  EXPECT_EQ(found, 289'000u);
  EXPECT_EQ(reads, 4u);
  EXPECT_TRUE(source.ReadFrom(1'000'000, [](std::string_view window) { return window.empty(); }));
}

TEST_F(SourceBytesTest, AFileThatIsNotTheSameIsKept) {
  const std::string path = Write("a", "first");
  SourceBytes source(FileView::Open(path, Limits()).value());
  Write("a", "other");
  EXPECT_FALSE(source.Release());
  EXPECT_EQ(source.file().bytes(), "first");
}

}  // namespace
}  // namespace hloscope::profiler
