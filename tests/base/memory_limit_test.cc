// What is charged to a memory limit, by whom, and what happens beyond it.
#include "core/base/memory_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/byte_buffer.h"
#include "core/base/jobs.h"
#include "core/base/parse_json.h"

namespace hloscope {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

Limits LimitsOf(int64_t bytes) {
  Limits limits;
  limits.file_memory_bytes = bytes;
  return limits;
}

// Reads what takes `bytes` and gives them back before it returns.
Result<int> Taking(int64_t bytes) {
  std::vector<char> taken(static_cast<size_t>(bytes), 'x');
  return taken.back();
}

TEST(MemoryLimitTest, RefusesWhatIsBeyondIt) {
  const Limits limits = LimitsOf(8 * kMiB);
  EXPECT_TRUE(WithinMemory(limits, "f", [] { return Taking(7 * kMiB); }));
  const auto refused = WithinMemory(limits, "f", [] { return Taking(9 * kMiB); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error_class, ErrorClass::kInput);
  EXPECT_EQ(refused.error().place.file, "f");
  EXPECT_EQ(refused.error().message,
            "reading it takes more memory than the limit file-memory, 8388608 bytes");
  EXPECT_EQ(refused.error().hint, "raise it with --limit file-memory=BYTES");
  EXPECT_TRUE(Taking(9 * kMiB)) << "no limit is in force any more";
}

TEST(MemoryLimitTest, CountsManySmallOnes) {
  const auto refused = WithinMemory(LimitsOf(8 * kMiB), "f", []() -> Result<int> {
    std::map<int, std::string> all;
    for (int i = 0; i < 10'000'000; ++i) all[i];
    return 0;
  });
  EXPECT_FALSE(refused);
}

TEST(MemoryLimitTest, GivesBackWhatIsFreed) {
  EXPECT_TRUE(WithinMemory(LimitsOf(8 * kMiB), "f", []() -> Result<int> {
    for (int i = 0; i < 100; ++i) HLOSCOPE_TRY(Taking(6 * kMiB));
    return 0;
  }));
}

// The error of the outer one names the outer file.
TEST(MemoryLimitTest, TheOuterOneHolds) {
  const auto read = WithinMemory(LimitsOf(8 * kMiB), "outer", [] {
    return WithinMemory(LimitsOf(64 * kMiB), "inner", [] { return Taking(16 * kMiB); });
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().place.file, "outer");
}

TEST(MemoryLimitTest, CountsWhatJobsTake) {
  Jobs jobs(2);
  const auto refused = WithinMemory(LimitsOf(8 * kMiB), "f", [&]() -> Result<int> {
    std::vector<std::vector<char>> taken(64);
    HLOSCOPE_TRY(jobs.ParallelFor(64, [&](int64_t i) {
      taken[static_cast<size_t>(i)].assign(static_cast<size_t>(kMiB), 'x');
    }));
    return 0;
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().hint, "raise it with --limit file-memory=BYTES");
  EXPECT_TRUE(jobs.ParallelFor(64, [&](int64_t) { (void)Taking(9 * kMiB); }))
      << "the threads are free of it again";
}

TEST(MemoryLimitTest, CountsByteBuffers) {
  const auto refused = WithinMemory(LimitsOf(8 * kMiB), "f", []() -> Result<int> {
    ByteBuffer buffer;
    size_t room = 0;
    while (buffer.Room(&room) != nullptr) buffer.Commit(room);
    EXPECT_LE(buffer.size(), static_cast<size_t>(8 * kMiB));
    return 0;
  });
  EXPECT_FALSE(refused);
}

// std::stable_sort asks for a buffer and does without.
TEST(MemoryLimitTest, IsNotExceededByWhatCanBeDoneWithout) {
  EXPECT_TRUE(WithinMemory(LimitsOf(8 * kMiB), "f", []() -> Result<int> {
    std::vector<int> values(static_cast<size_t>(5 * kMiB) / sizeof(int));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 7919 % 10007);
    std::ranges::stable_sort(values);
    return values.front();
  }));
}

TEST(MemoryLimitTest, HoldsForJson) {
  std::string text = "[[]";
  for (int i = 0; i < 1'000'000; ++i) text += ",[]";
  text += ']';
  const auto refused = ParseJson(text, LimitsOf(8 * kMiB));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().hint, "raise it with --limit file-memory=BYTES");
  EXPECT_TRUE(ParseJson(text));
}

// The destructor of a tree takes memory, on the way out and after.
TEST(MemoryLimitTest, HoldsForTheEndOfJson) {
  std::string text = "[0";
  for (int i = 0; i < 500'000; ++i) text += ",0";
  text += ']';
  int read = 0, refused = 0;
  for (int64_t limit = 1; limit <= 64; ++limit) {
    const auto size = WithinMemory(LimitsOf(limit * kMiB), "f", [&]() -> Result<size_t> {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto tree, ParseJson(text));
      return tree.size();
    });
    ++(size ? read : refused);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace hloscope
