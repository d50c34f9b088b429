// Every index runs once for any number of threads; errors and stops come back as values.
#include "core/base/jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <vector>

namespace hloscope {
namespace {

TEST(JobsTest, EveryIndexRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    Jobs jobs(threads);
    EXPECT_EQ(jobs.threads(), threads);
    for (int64_t n : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(n));
      ASSERT_TRUE(
          jobs.ParallelFor(n, [&](int64_t i) { ++runs[static_cast<size_t>(i)]; }).has_value());
      for (const auto& r : runs) ASSERT_EQ(r, 1);
    }
  }
}

TEST(JobsTest, ManyShortLoopsOnOneCrew) {
  Jobs jobs(4);
  std::atomic<int64_t> sum = 0;
  for (int round = 0; round < 2000; ++round) {
    ASSERT_TRUE(jobs.ParallelFor(5, [&](int64_t i) { sum += i; }).has_value());
  }
  EXPECT_EQ(sum, 2000 * 10);
}

TEST(JobsTest, TheErrorIsThatOfTheSmallestIndex) {
  for (int round = 0; round < 200; ++round) {
    const Status status = ParallelFor(64, 4, [](int64_t i) {
      if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
    });
    ASSERT_FALSE(status.has_value());
    ASSERT_EQ(status.error().message, "a job threw: 7");
    ASSERT_EQ(status.error().error_class, ErrorClass::kInternal);
  }
  const Status memory = ParallelFor(2, 2, [](int64_t) { throw std::bad_alloc(); });
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().ToString(), "out of memory");
  EXPECT_FALSE(ParallelFor(1, 1, [](int64_t) { throw 3; }).has_value());
}

TEST(JobsTest, StopEndsTheLoop) {
  for (int threads : {1, 4}) {
    std::stop_source source;
    std::atomic<int64_t> ran = 0;
    const Status status = ParallelFor(
        1000000, threads,
        [&](int64_t) {
          if (++ran >= 10) source.request_stop();
        },
        source.get_token());
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().error_class, ErrorClass::kCancelled);
    EXPECT_LT(ran, 10 + threads);
  }
}

TEST(JobsTest, NestedLoopsRunInPlace) {
  Jobs jobs(3);
  std::atomic<int64_t> ran = 0;
  const Status status = jobs.ParallelFor(10, [&](int64_t) {
    if (!jobs.ParallelFor(10, [&](int64_t) { ++ran; }).has_value())
      throw std::runtime_error("inner");
    if (!ParallelFor(10, 4, [&](int64_t) { ++ran; }).has_value()) throw std::runtime_error("inner");
  });
  EXPECT_TRUE(status.has_value());
  EXPECT_EQ(ran, 200);
}

TEST(JobsTest, PartsCoverTheWholeInOrder) {
  for (int64_t n : {0, 1, 5, 16, 17}) {
    for (int64_t parts : {1, 2, 5, 16}) {
      int64_t end = 0;
      for (int64_t part = 0; part < parts; ++part) {
        const IndexRange range = PartOf(n, parts, part);
        EXPECT_EQ(range.begin, end);
        EXPECT_GE(range.end - range.begin, n / parts);
        EXPECT_LE(range.end - range.begin, n / parts + 1);
        end = range.end;
      }
      EXPECT_EQ(end, n);
    }
  }
}

}  // namespace
}  // namespace hloscope
