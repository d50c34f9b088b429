// Placement: which arrays a module of several devices takes, what each device gets of them, and how
// results become one array again.
#include "core/replay/device_values.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "core/debug/run/run_module.h"
#include "core/debug/run/run_results.h"
#include "core/hlo/text/text.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using hlo::Shape;

struct Loaded {
  std::shared_ptr<const hlo::Module> module;
  Placement placement;
};

Loaded Load(const std::string& text) {
  const hlo::ParseResult parsed = hlo::ParseText(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return {parsed.module, Placement(*parsed.module, {})};
}

Literal Iota(std::vector<int64_t> dimensions) {
  const Shape shape = Shape::Array(hlo::ElementType::kS32, std::move(dimensions));
  std::vector<int32_t> values(static_cast<size_t>(*shape.ElementCount()));
  std::iota(values.begin(), values.end(), 0);
  return Literal::Of<int32_t>(shape, values);
}

std::vector<int32_t> Elements(const Literal& literal) {
  const auto data = literal.data<int32_t>();
  return {data.begin(), data.end()};
}

const char kPartitioned[] = R"(HloModule m, is_scheduled=true, replica_count=2, num_partitions=4
ENTRY e {
  x = s32[2,2] parameter(0), sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  id = u32[] partition-id()
  ROOT r = s32[2,2] negate(x)
})";

TEST(Placement, TakesTheFormsPRODUCTNames) {
  const Loaded m = Load(kPartitioned);
  const LeafPlacement& leaf = m.placement.parameters()[0];
  EXPECT_EQ(m.placement.lists(), 8);
  const struct {
    std::vector<int64_t> dimensions;
    bool accepted;
  } cases[] = {{{2, 2}, true},    {{2, 4}, true},  {{2, 3}, true},     {{2, 2, 2}, true},
               {{2, 2, 4}, true}, {{4, 2}, false}, {{3, 2, 2}, false}, {{2, 5}, false}};
  for (const auto& c : cases) {
    EXPECT_EQ(m.placement.Accepts(leaf, c.dimensions), c.accepted)
        << hlo::ToString(Shape::Array(hlo::ElementType::kS32, c.dimensions));
    EXPECT_EQ(m.placement.Spread(leaf, Iota(c.dimensions)).has_value(), c.accepted);
  }
  EXPECT_EQ(m.placement.Accepted(leaf), "s32[2,2] or s32[2,4] or s32[2,2,4] or s32[2,2,2]");
}

TEST(Placement, CutsByTheShardingAndPutsTogetherAgain) {
  const Loaded m = Load(kPartitioned);
  LeafPlacement leaf = m.placement.parameters()[0];
  const Literal whole = Iota({2, 2, 4});
  const auto values = m.placement.Spread(leaf, whole);
  ASSERT_TRUE(values.has_value());
  // Partitions 0 and 2 hold the left half: the tiles vary fastest in the transposed iota.
  const std::vector<int32_t> left = {0, 1, 4, 5}, right = {2, 3, 6, 7};
  EXPECT_EQ(Elements((*values)[0]), left);
  EXPECT_EQ(Elements((*values)[1]), right);
  EXPECT_EQ(Elements((*values)[2]), left);
  EXPECT_EQ(Elements((*values)[3]), right);
  EXPECT_EQ(Elements((*values)[4]), (std::vector<int32_t>{8, 9, 12, 13}));
  const auto gathered = m.placement.Gather(leaf, *values);
  EXPECT_EQ(gathered.value, whole);
  EXPECT_EQ(gathered.warning, "");
}

TEST(Placement, SaysWhereDevicesThatShouldAgreeDoNot) {
  const Loaded m = Load(kPartitioned);
  LeafPlacement leaf = m.placement.parameters()[0];
  auto values = *m.placement.Spread(leaf, Iota({2, 4}));
  values[2] = Iota({2, 2});
  EXPECT_EQ(m.placement.Gather(leaf, values).warning,
            "partitions 0 and 2 should be equal but differ");
}

TEST(Placement, PayloadsOfNansSayNothing) {
  const Loaded m = Load(R"(HloModule m, is_scheduled=true, num_partitions=2
ENTRY e {
  x = f32[2] parameter(0), sharding={replicated}
  id = u32[] partition-id()
  ROOT r = f32[2] negate(x)
})");
  LeafPlacement leaf = m.placement.parameters()[0];
  const auto floats = [](uint32_t first, uint32_t second) {
    return Literal::Of<float>(Shape::Array(hlo::ElementType::kF32, {2}),
                              {{std::bit_cast<float>(first), std::bit_cast<float>(second)}});
  };
  const Literal nan = floats(0x7fc00000, 0x3f800000), other_nan = floats(0xffc12345, 0x3f800000);
  const Literal zero = floats(0, 0x3f800000), minus_zero = floats(0x80000000, 0x3f800000);
  EXPECT_EQ(m.placement.Gather(leaf, std::vector{nan, other_nan}).warning, "");
  EXPECT_NE(m.placement.Gather(leaf, std::vector{nan, zero}).warning, "");
  EXPECT_NE(m.placement.Gather(leaf, std::vector{zero, minus_zero}).warning, "");
}

TEST(Placement, PutsTogetherWhatIsWantedWhereNothingSaysHow) {
  const Loaded m = Load(R"(HloModule m, is_scheduled=true, num_partitions=4
ENTRY e {
  x = s32[1] parameter(0)
  id = u32[] partition-id()
  ROOT r = s32[1] negate(x)
})");
  const std::vector<Literal> values = {
      Literal::Of<int32_t>(Shape::Array(hlo::ElementType::kS32, {1}), {{5}}),
      Literal::Of<int32_t>(Shape::Array(hlo::ElementType::kS32, {1}), {{6}}),
      Literal::Of<int32_t>(Shape::Array(hlo::ElementType::kS32, {1}), {{7}}),
      Literal::Of<int32_t>(Shape::Array(hlo::ElementType::kS32, {1}), {{8}})};
  LeafPlacement wanted = m.placement.results()[0], stacked = wanted, same = wanted;
  const Literal whole = Iota({4});
  EXPECT_EQ(Elements(m.placement.Gather(wanted, values, &whole).value),
            (std::vector<int32_t>{5, 6, 7, 8}));
  const Literal permuted =
      Literal::Of<int32_t>(Shape::Array(hlo::ElementType::kS32, {4}), {{5, 7, 6, 8}});
  LeafPlacement closest = m.placement.results()[0];
  EXPECT_EQ(m.placement.Gather(closest, values, &permuted).value, permuted);
  const auto stack = m.placement.Gather(stacked, values);
  EXPECT_EQ(stack.value.shape().rank(), 2u);
  EXPECT_NE(stack.warning, "");
  const std::vector<Literal> alike(4, values[0]);
  EXPECT_EQ(m.placement.Gather(same, alike).value, values[0]);
}

TEST(Placement, UnpartitionedModulesTakeAndGiveGlobalArrays) {
  const Loaded m = Load(R"(HloModule m, replica_count=2, num_partitions=4
ENTRY e {
  x = s32[8] parameter(0), sharding={devices=[4]<=[4]}
  ROOT r = s32[8] custom-call(x), custom_call_target="Sharding", sharding={devices=[4]<=[4]}
})");
  EXPECT_TRUE(m.placement.topology().unpartitioned);
  EXPECT_EQ(m.placement.lists(), 2);
  EXPECT_FALSE(m.placement.Accepts(m.placement.parameters()[0], std::vector<int64_t>{32}));
  EXPECT_TRUE(m.placement.Accepts(m.placement.parameters()[0], std::vector<int64_t>{2, 8}));
}

TEST(Placement, CountsTheDevicesThatGroupsNameWhereTheHeaderSaysOne) {
  const struct {
    const char* instruction;
    hlo::DeviceCounts counts;
  } cases[] = {
      {"all-gather(x), replica_groups={{0,1},{2,3}}, dimensions={0}", {4, 1}},
      {"all-gather(x), replica_groups={}, dimensions={0}", {2, 1}},
      {"all-gather(x), channel_id=1, replica_groups={{0,1},{2,3}}, dimensions={0}, "
       "use_global_device_ids=true",
       {1, 4}},
  };
  for (const auto& c : cases) {
    const Loaded m = Load(std::string("HloModule m\nENTRY e {\n  x = s32[2] parameter(0)\n"
                                      "  ROOT r = s32[4] ") +
                          c.instruction + "\n}");
    EXPECT_EQ(m.placement.topology().counts, c.counts) << c.instruction;
    EXPECT_NE(m.placement.topology().note, "");
  }
}

TEST(Placement, GeneratedValuesAreEqualOnReplicatedDevices) {
  const Loaded m = Load(R"(HloModule m, is_scheduled=true, replica_count=2, num_partitions=2
ENTRY e {
  x = s32[2] parameter(0), sharding={devices=[2]<=[2]}
  y = s32[2] parameter(1), sharding={replicated}
  z = s32[2] parameter(2), parameter_replication={true}
  n = s32[] parameter(3)
  id = u32[] partition-id()
  ROOT r = s32[2] add(x, y)
})");
  const auto generate = [](uint64_t seed) -> Result<std::vector<Literal>> {
    const auto value = static_cast<int32_t>(seed % 1000003);
    const auto pair =
        Literal::Of<int32_t>(Shape::Array(hlo::ElementType::kS32, {2}), {{value, value}});
    return std::vector<Literal>{
        pair, pair, pair, Literal::Of<int32_t>(Shape::Scalar(hlo::ElementType::kS32), {{value}})};
  };
  const auto lists = GenerateInputLists(m.placement, 7, generate);
  ASSERT_TRUE(lists.has_value());
  const auto same = [&](size_t leaf, size_t a, size_t b) {
    return (*lists)[a][leaf] == (*lists)[b][leaf];
  };
  EXPECT_FALSE(same(0, 0, 1));
  EXPECT_FALSE(same(0, 0, 2));
  EXPECT_TRUE(same(1, 0, 1));
  EXPECT_FALSE(same(1, 0, 2));
  EXPECT_TRUE(same(2, 0, 2));
  EXPECT_TRUE(same(3, 0, 3));
}

// A platform's results are not taken at their word.
TEST(ResultCollector, ShapesOfAllDevicesAreChecked) {
  const Loaded m = Load(kPartitioned);
  for (const bool fits : {true, false}) {
    debug::RunReport report;
    debug::ResultCollector collector(report);
    for (int64_t device = 0; device < m.placement.lists(); ++device) {
      const bool odd = device == 5 && !fits;
      collector.Take(
          LeafResult{device, 0, Iota(odd ? std::vector<int64_t>{1} : std::vector<int64_t>{2, 2})});
    }
    auto leaves = m.placement.results();
    const auto gathered = collector.Gather(m.placement, leaves, nullptr);
    ASSERT_EQ(gathered.has_value(), fits);
    if (fits) continue;
    EXPECT_EQ(gathered.error().message, "out0 of device 5 came back as s32[1], not s32[2,2]");
  }
}

// Repetitions of a run say the same again.
TEST(ResultCollector, AWarningIsKeptOnce) {
  debug::RunReport report;
  debug::ResultCollector collector(report);
  for (const char* text : {"one", "two", "one"}) collector.Take(RunWarning{text});
  EXPECT_EQ(report.warnings, (std::vector<std::string>{"one", "two"}));
}

}  // namespace
}  // namespace hloscope::replay
