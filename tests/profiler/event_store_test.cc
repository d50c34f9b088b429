// The event store beside plain loops over the same events: nothing is lost, hidden or counted
// twice.
#include "profiler/event_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "profiler/event_store_builder.h"
#include "profiler/formats/export.h"
#include "profiler/range_statistics.h"
#include "profiler/saturating_add.h"

namespace hloscope::profiler {
namespace {

struct Made {
  int64_t start, duration;
};

std::shared_ptr<const EventStore> StoreOf(const std::vector<Made>& events) {
  EventStoreBuilder builder;
  const uint32_t group = builder.AddGroup("plane", false);
  const LaneId lane = builder.AddLane(group, "line", LaneRole::kThread);
  for (size_t i = 0; i < events.size(); ++i) {
    const NameId name = builder.Name("e" + std::to_string(i % 7));
    EXPECT_TRUE(builder.Add(lane, events[i].start, events[i].duration, name).has_value());
  }
  Jobs jobs(1);
  auto store = builder.Finish(jobs);
  EXPECT_TRUE(store.has_value());
  return *store;
}

std::vector<Made> RandomEvents(uint64_t seed, size_t count, int64_t span, int64_t longest) {
  std::mt19937_64 random(seed);
  std::vector<Made> events;
  for (size_t i = 0; i < count; ++i) {
    const int64_t start = static_cast<int64_t>(random() % static_cast<uint64_t>(span));
    // Many short ones, few long ones, some without any length.
    const int64_t limit = 1 + longest / static_cast<int64_t>(1 + random() % 100);
    events.push_back({start, static_cast<int64_t>(random() % static_cast<uint64_t>(limit))});
  }
  return events;
}

// The rows of `store` hold each event once, in order, and no two of a row share a moment.
void ExpectRowsSound(const EventStore& store) {
  size_t seen = 0;
  for (const Row& row : store.rows()) {
    EXPECT_EQ(row.first_event, seen);
    seen += row.event_count;
    for (uint32_t i = row.first_event + 1; i < seen; ++i) {
      const EventId before(i - 1), e(i);
      EXPECT_LE(store.end(before), store.start(e));
      EXPECT_LT(store.start(before), store.start(e)) << "two at one moment are in two rows";
    }
  }
  EXPECT_EQ(seen, store.size());
}

TEST(EventStoreTest, RowsHideNothingWhateverOverlaps) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Made> events =
        RandomEvents(seed, 400, 1000, 1 + static_cast<int64_t>(seed) * 20);
    auto store = StoreOf(events);
    ExpectRowsSound(*store);
    std::multiset<std::pair<int64_t, int64_t>> expected, found;
    for (const Made& e : events) expected.emplace(e.start, e.duration);
    for (uint32_t i = 0; i < store->size(); ++i) {
      found.emplace(store->start(EventId(i)), store->duration(EventId(i)));
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(EventStoreTest, ALaneHasNoMoreRowsThanEventsAtOneMoment) {
  const std::vector<Made> events = RandomEvents(5, 300, 500, 60);
  auto store = StoreOf(events);
  size_t most = 0;
  for (int64_t t = 0; t < 600; ++t) {
    most = std::max(most, static_cast<size_t>(std::ranges::count_if(events, [&](const Made& e) {
                      return e.start <= t && t < e.start + std::max<int64_t>(e.duration, 1);
                    })));
  }
  EXPECT_EQ(store->rows().size(), most);
}

TEST(EventStoreTest, CallsInsideCallsStandAtTheirDepth) {
  auto store = StoreOf({{10, 5}, {0, 100}, {16, 20}, {17, 3}, {50, 50}, {99, 1}, {100, 10}});
  std::map<int64_t, uint32_t> row_of;
  for (uint32_t i = 0; i < store->size(); ++i) {
    row_of[store->start(EventId(i))] = store->RowOf(EventId(i));
  }
  EXPECT_EQ(row_of, (std::map<int64_t, uint32_t>{
                        {0, 0}, {10, 1}, {16, 1}, {17, 2}, {50, 1}, {99, 2}, {100, 0}}));
  const EventId inner = store->EventAt(2, 17, 0);
  ASSERT_TRUE(inner.valid());
  EXPECT_EQ(store->start(store->ParentOf(inner)), 16);
  EXPECT_FALSE(store->ParentOf(store->EventAt(0, 100, 0)).valid());
  EXPECT_EQ(store->range(), (TimeRange{0, 110}));
}

TEST(EventStoreTest, EverythingAtOnceIsLaidOutToo) {
  auto store = StoreOf(std::vector<Made>(100'000, {5, 7}));
  EXPECT_EQ(store->rows().size(), 100'000u);
  EXPECT_EQ(store->EventAt(99'999, 5, 0), EventId(99'999u));
}

TEST(EventStoreTest, SlicesCoverEveryEventOnceAndNoMoreThanThePixels) {
  const std::vector<Made> events = RandomEvents(9, 5000, 1'000'000, 3000);
  auto store = StoreOf(events);
  for (const auto& [range, resolution] :
       std::vector<std::pair<TimeRange, int64_t>>{{{0, 1'003'000}, 1000},
                                                  {{300'000, 400'000}, 100},
                                                  {{500'000, 500'200}, 1},
                                                  {{7, 7}, 1}}) {
    for (uint32_t row = 0; row < store->rows().size(); ++row) {
      std::vector<Slice> slices;
      store->AppendSlices(row, range, resolution, slices);
      EXPECT_LE(static_cast<int64_t>(slices.size()), 2 * range.length() / resolution + 2);
      const int64_t begin = range.begin / resolution * resolution;
      auto [next, last] = store->EventsIn(row, {begin, range.end});
      for (const Slice& slice : slices) {
        ASSERT_EQ(slice.first, next);
        int64_t busy = 0;
        EventId longest = next;
        for (uint32_t i = 0; i < slice.count; ++i, ++next.index) {
          busy += store->duration(next);
          if (store->duration(next) > store->duration(longest)) longest = next;
          EXPECT_TRUE(slice.count == 1 || store->duration(next) < resolution);
        }
        EXPECT_EQ(slice.busy, busy);
        EXPECT_EQ(slice.longest, longest);
        EXPECT_EQ(slice.begin, store->start(slice.first));
        EXPECT_EQ(slice.end, store->end(EventId(next.index - 1)));
      }
      EXPECT_EQ(next, last);
    }
  }
}

TEST(EventStoreTest, ThePointedAtIsFound) {
  auto store = StoreOf({{0, 10}, {20, 10}, {40, 0}});
  EXPECT_EQ(store->EventAt(0, 9, 0), EventId(0u));
  EXPECT_FALSE(store->EventAt(0, 10, 0).valid() && store->EventAt(0, 13, 2).valid());
  EXPECT_EQ(store->EventAt(0, 12, 3), EventId(0u));
  EXPECT_EQ(store->EventAt(0, 18, 3), EventId(1u));
  EXPECT_EQ(store->EventAt(0, 40, 0), EventId(2u));
  EXPECT_FALSE(store->EventAt(0, 60, 5).valid());
  EXPECT_EQ(store->Neighbour(EventId(0u), true), EventId(1u));
  EXPECT_EQ(store->Neighbour(EventId(2u), false), EventId(1u));
  EXPECT_FALSE(store->Neighbour(EventId(2u), true).valid());
  EXPECT_FALSE(store->Neighbour(EventId(0u), false).valid());
}

TEST(EventStoreTest, StatisticsAreThoseOfAPlainLoop) {
  auto store = StoreOf(RandomEvents(3, 3000, 100'000, 900));
  const TimeRange range{20'000, 60'500};
  std::map<uint32_t, std::vector<int64_t>> durations;
  std::map<uint32_t, int64_t> inside;
  for (uint32_t i = 0; i < store->size(); ++i) {
    const EventId e(i);
    const bool before = store->start(e) < range.begin && store->end(e) <= range.begin;
    if (before || store->start(e) >= range.end) continue;
    durations[store->name(e).index].push_back(store->duration(e));
    inside[store->name(e).index] +=
        std::min(store->end(e), range.end) - std::max(store->start(e), range.begin);
  }
  Jobs jobs(2);
  auto found = Statistics(*store, {.range = range, .lanes = {}, .key = StatisticsKey::kName}, jobs);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), durations.size());
  for (const DurationStatistics& s : *found) {
    std::vector<int64_t>& own = durations[s.key];
    std::ranges::sort(own);
    auto at = [&](size_t percent) { return own[(own.size() * percent + 99) / 100 - 1]; };
    EXPECT_EQ(s.count, static_cast<int64_t>(own.size()));
    EXPECT_EQ(s.inside, inside[s.key]);
    EXPECT_EQ(s.total, std::accumulate(own.begin(), own.end(), int64_t{0}));
    EXPECT_EQ(std::vector({s.min, s.p50, s.p90, s.p99, s.max}),
              std::vector({own.front(), at(50), at(90), at(99), own.back()}));
    EXPECT_EQ(store->duration(s.longest), s.max);
  }
  EXPECT_TRUE(std::ranges::is_sorted(*found, std::greater<>(), &DurationStatistics::inside));
}

TEST(EventStoreTest, ImpossibleTimesAreRefused) {
  EventStoreBuilder builder;
  const LaneId lane = builder.AddLane(builder.AddGroup("p", false), "l", LaneRole::kThread);
  const NameId name = builder.Name("e");
  EXPECT_FALSE(builder.Add(lane, kLongestTime + 1, 0, name).has_value());
  EXPECT_FALSE(builder.Add(lane, -kLongestTime - 1, 0, name).has_value());
  EXPECT_FALSE(builder.Add(lane, 0, -1, name).has_value());
  EXPECT_FALSE(builder.Add(lane, 0, kLongestTime + 1, name).has_value());
  EXPECT_TRUE(builder.Add(lane, -kLongestTime, kLongestTime, name).has_value());
  EXPECT_EQ(builder.AddOperation({name, name, 3}), builder.AddOperation({name, name, 3}));
  EXPECT_NE(builder.AddOperation({name, name, 3}), builder.AddOperation({name, name, 4}));
  Jobs jobs(1);
  auto store = builder.Finish(jobs);
  ASSERT_TRUE(store.has_value());
  EXPECT_EQ((*store)->size(), 1u);
}

TEST(EventStoreTest, AnEmptyStoreAnswers) {
  EventStoreBuilder builder;
  builder.AddLane(builder.AddGroup("p", false), "l", LaneRole::kThread);
  Jobs jobs(1);
  auto store = builder.Finish(jobs);
  ASSERT_TRUE(store.has_value());
  EXPECT_EQ((*store)->range(), TimeRange{});
  EXPECT_TRUE((*store)->rows().empty());
  EXPECT_TRUE(Statistics(**store, {.range = {0, 1}, .lanes = {}}, jobs)->empty());
}

TEST(SaturatingAddTest, StaysAtTheEnds) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(SaturatingAdd<int64_t>(2, -5), -3);
  EXPECT_EQ(SaturatingAdd<int64_t>(kMax - 1, 1), kMax);
  EXPECT_EQ(SaturatingAdd<int64_t>(kMax, 1), kMax);
  EXPECT_EQ(SaturatingAdd<int64_t>(kMin, -1), kMin);
  EXPECT_EQ(SaturatingAdd<int64_t>(kMin, kMax), -1);
}

// Each event of a lane to the first stack whose innermost open event holds it.
TEST(EventStoreTest, OverlappingEventsGoToTheFirstStackThatHoldsThem) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto store = StoreOf(RandomEvents(seed, 300, 200, seed < 10 ? 3 : 80));
    const Stacks stacks(*store, store->lanes()[0]);
    std::vector<std::vector<int64_t>> open;
    for (const auto& [event, stack] : stacks.events()) {
      size_t expected = 0;
      for (; expected < open.size(); ++expected) {
        auto& ends = open[expected];
        while (!ends.empty() && ends.back() <= store->start(event)) ends.pop_back();
        if (ends.empty() || store->end(event) <= ends.back()) break;
      }
      if (expected == open.size()) open.emplace_back();
      open[expected].push_back(store->end(event));
      ASSERT_EQ(stack, expected) << "seed " << seed;
    }
    EXPECT_EQ(stacks.count(), open.size());
  }
}

// As many stacks as events, none of which ends before all have begun.
TEST(EventStoreTest, AStaircaseOfEvents) {
  constexpr int kEvents = 50'000;
  std::vector<Made> events;
  for (int i = 0; i < kEvents; ++i) events.push_back({i, kEvents});
  const auto store = StoreOf(events);
  EXPECT_EQ(Stacks(*store, store->lanes()[0]).count(), static_cast<uint32_t>(kEvents));
}

}  // namespace
}  // namespace hloscope::profiler
