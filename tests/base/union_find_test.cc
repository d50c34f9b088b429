// Sets that are joined have their smallest number, however they came together.
#include "core/base/sets/union_find.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hloscope {
namespace {

TEST(UnionFindTest, TheSmallestNumberStandsForItsSet) {
  UnionFind sets(4);
  EXPECT_EQ(sets.Add(), 4u);
  EXPECT_EQ(sets.size(), 5u);
  sets.Join(4, 3);
  sets.Join(2, 4);
  EXPECT_EQ(sets.Find(4), 2u);
  EXPECT_EQ(sets.Find(3), 2u);
  EXPECT_EQ(sets.Find(0), 0u);
  sets.Join(3, 0);
  sets.Join(0, 0);
  EXPECT_EQ(sets.Find(4), 0u);
  EXPECT_EQ(sets.Find(1), 1u);
}

// From the end on, each set is below the next: without shorter ways a search would be as long as
// the chain.
TEST(UnionFindTest, LongChainsAreShortened) {
  constexpr uint32_t kCount = 200'000;
  UnionFind sets(kCount);
  for (uint32_t i = kCount; --i > 0;) sets.Join(i, i - 1);
  for (uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(sets.Find(kCount - 1 - i), 0u);
}

}  // namespace
}  // namespace hloscope
