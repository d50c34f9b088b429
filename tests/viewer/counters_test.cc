// Counters of a profile: their least and most, their lanes in the timeline, what the pointer reads
// and what CSV and SVG have of them.
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/base/jobs.h"
#include "profiler/event_store_builder.h"
#include "profiler/profile.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/counter_curve.h"
#include "viewer/facts/timeline_rows.h"

namespace hloscope::viewer {
namespace {

using profiler::EventStore;
using profiler::TimeRange;

constexpr int64_t kMicrosecond = 1'000'000;  // picoseconds

struct TimedValue {
  int64_t time;
  double value;
};

std::shared_ptr<const EventStore> StoreOf(const std::vector<TimedValue>& samples,
                                          std::string_view unit = "bytes", bool has_lane = true) {
  profiler::EventStoreBuilder builder;
  const uint32_t group = builder.AddGroup("host", false);
  if (has_lane) {
    const auto lane = builder.AddLane(group, "thread", profiler::LaneRole::kThread);
    EXPECT_TRUE(builder.Add(lane, 0, 10 * kMicrosecond, builder.Name("work")));
  }
  const auto counter = builder.AddCounter(group, "memory in use", unit);
  for (const TimedValue& sample : samples) {
    EXPECT_TRUE(builder.AddSample(counter, sample.time, sample.value));
  }
  Jobs alone(1);
  auto store = builder.Finish(alone);
  EXPECT_TRUE(store.has_value());
  return *store;
}

TEST(CounterCurveTest, LeastAndMostAreThoseOfAWalkOverAllSamples) {
  std::mt19937 random(7);
  std::vector<TimedValue> samples;
  int64_t time = 100;
  for (int i = 0; i < 9000; ++i) {
    const bool is_number = random() % 50 != 0;
    samples.push_back({time, is_number ? static_cast<double>(random() % 100'000)
                                       : std::numeric_limits<double>::quiet_NaN()});
    time += static_cast<int64_t>(random() % 5);
  }
  const auto store = StoreOf(samples);
  const CounterCurve curve(*store, store->counters()[0]);
  for (int trial = 0; trial < 2000; ++trial) {
    const int64_t begin = static_cast<int64_t>(random() % 20'000);
    const int64_t end = begin + 1 + static_cast<int64_t>(random() % (trial % 2 ? 20'000 : 50));
    std::optional<CounterCurve::Range> wanted;
    for (size_t i = 0; i < curve.times().size(); ++i) {
      const bool holds = i + 1 == curve.times().size() || curve.times()[i + 1] > begin;
      const double value = curve.values()[i];
      if (!holds || curve.times()[i] >= end || std::isnan(value)) continue;
      if (!wanted) wanted = {value, value};
      wanted = {std::min(wanted->low, value), std::max(wanted->high, value)};
    }
    ASSERT_EQ(curve.In({begin, end}), wanted) << begin << " " << end;
  }
  EXPECT_FALSE(curve.At(99));
  EXPECT_FALSE(curve.In({0, 50}));
}

TEST(CounterCurveTest, ValuesAreReadInTheirUnits) {
  EXPECT_EQ(CounterText(231'104'512, "bytes"), "231 MB");
  EXPECT_EQ(ExactCounterText(231'104'512, "bytes"), "231,104,512 bytes");
  EXPECT_EQ(CounterText(12.5, "%"), "12.5 %");
  EXPECT_EQ(CounterText(1604.97, "ms"), "1,605 ms");
  EXPECT_EQ(CounterText(-3, ""), "-3");
  EXPECT_EQ(CounterRangeText({0, 13'056}, "bytes"), "0 B to 13.1 kB");
  EXPECT_EQ(CounterRangeText({230'789'120, 231'104'512}, "bytes"), "231 MB + 315 kB");
  EXPECT_EQ(CounterRangeText({5, 5}, ""), "5");
}

TEST(TimelineRowsTest, CountersStandBehindTheLanesOfTheirGroup) {
  const auto store = StoreOf({{0, 1}, {5, 2}});
  TimelineRows rows;
  rows.Show({{0, store.get()}});
  ASSERT_EQ(rows.strips().size(), 3U);
  const TimelineStrip& strip = rows.strips()[2];
  EXPECT_EQ(strip.counter, 0U);
  EXPECT_FALSE(strip.is_head());
  EXPECT_EQ(rows.At(strip.y + TimelineRows::kCounterHeight - 1), &strip);
  EXPECT_EQ(rows.At(strip.y + TimelineRows::kCounterHeight + 1), nullptr) << "the gap";
  // Seen by its last pixel.
  EXPECT_EQ(rows.Between(strip.y + TimelineRows::kCounterHeight - 1, 1e6F).first, 2U);
  rows.Toggle(rows.strips()[0]);
  EXPECT_EQ(rows.strips().size(), 1U);
}

TEST(TimelineRowsTest, AGroupOfCountersAloneHasAHead) {
  const auto store = StoreOf({{0, 1}}, "", false);
  TimelineRows rows;
  rows.Show({{0, store.get()}});
  ASSERT_EQ(rows.strips().size(), 2U);
  EXPECT_TRUE(rows.strips()[0].is_head());
  EXPECT_EQ(rows.strips()[1].counter, 0U);
}

class CountersTest : public ReadingTest {
 protected:
  void Open(const std::vector<TimedValue>& samples) {
    profiler::Profile profile(FileView::FromBytes("", ""), profiler::ProfileFormat::kHloprof);
    profile.store = StoreOf(samples);
    const std::string path = Scratch("run.hloprof");
    ASSERT_TRUE(profiler::WriteProfile({profile, nullptr, path}));
    Start({path});
    Press("Ctrl+5");
  }
  std::string Exported(ExportFormat format) {
    const auto text = app().dock().Find("timeline")->view->Export(format, session());
    EXPECT_TRUE(text.has_value());
    return text.value_or("");
  }
};

TEST_F(CountersTest, ALaneSaysWhatItIsAndThePointerReadsIt) {
  Open({{0, 1000}, {2 * kMicrosecond, 4'000'000}, {8 * kMicrosecond, 500}});
  ExpectSeen("timeline", "memory in use");
  ExpectSeen("timeline", "500 B to 4.00 MB");
  const std::optional<SeenAt> name = FindSeen(Seen("timeline"), "500 B to 4.00 MB");
  ASSERT_TRUE(name.has_value());
  const Dock::Panel& panel = *app().dock().Find("timeline");
  std::string tooltip;
  Drive([&](ImGuiTestContext* context) {
    context->MouseMoveToPos(ImVec2(panel.x + panel.width / 2 + 95, name->y));
    context->Yield(2);
    tooltip = DrawnTooltip();
  });
  EXPECT_EQ(tooltip,
            "memory in use\n4.00 MB (4,000,000 bytes)\nfrom 2 µs to 8 µs\n2 of 3 samples\n");
}

TEST_F(CountersTest, CsvHasTheSamplesInSight) {
  Open({{0, 1000}, {2 * kMicrosecond, 4e6}, {8 * kMicrosecond, 500}});
  const std::string csv = Exported(ExportFormat::kCsv);
  EXPECT_EQ(csv,
            "lane,row,event,start_ps,duration_ps,value,unit\n"
            "\"thread\",0,\"work\",0,10000000,,\n"
            "\"memory in use\",,,0,2000000,1000,\"bytes\"\n"
            "\"memory in use\",,,2000000,6000000,4000000,\"bytes\"\n"
            "\"memory in use\",,,8000000,2000000,500,\"bytes\"\n");
}

}  // namespace
}  // namespace hloscope::viewer
