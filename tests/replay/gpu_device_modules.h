// Modules of several devices, for tests of the platform gpu.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/replay/gpu_runs.h"

namespace hloscope::replay {

// Kernels around each kind of collective, in a loop too, and what tells devices apart.
inline constexpr const char* kOnFourDevices = R"(HloModule four, replica_count=4
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  m = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=sum
  h = f32[] constant(0.5)
  half = f32[8] broadcast(h), dimensions={}
  y = f32[8] multiply(m, half)
  ROOT t = (s32[], f32[8]) tuple(j, y)
}
cond {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = f32[8] parameter(0)
  id = u32[] replica-id()
  d = f32[] convert(id)
  ds = f32[8] broadcast(d), dimensions={}
  b = f32[8] add(a, ds)
  r = f32[8] all-reduce(b), replica_groups={}, to_apply=sum
  p = f32[8] collective-permute(b), source_target_pairs={{0,1},{1,2},{2,3}}
  g = f32[32] all-gather(b), replica_groups={}, dimensions={0}
  k = f32[2] reduce-scatter(b), replica_groups={}, dimensions={0}, to_apply=sum
  v = f32[8] all-to-all(b), replica_groups={}, dimensions={0}
  q = f32[8] collective-broadcast(b), replica_groups={{2,1,0,3}}
  zero = s32[] constant(0)
  s = (s32[], f32[8]) tuple(zero, p)
  w = (s32[], f32[8]) while(s), condition=cond, body=body
  l = f32[8] get-tuple-element(w), index=1
  u = f32[8] multiply(r, v)
  o = f32[8] add(u, q)
  ROOT t = (f32[8], f32[32], f32[2], f32[8]) tuple(o, g, k, l)
}
)";

// Yet to be partitioned: parts that are cut in two ways, the last of them short, on devices in
// another order, values that each pair of devices has, what was computed outside, a layout that a
// bitcast sees, numbers of 16 bytes, and no elements.
inline constexpr const char* kManualRegions = R"(HloModule manual, num_partitions=4
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  a = f32[7,5] parameter(0), sharding={devices=[2,2]3,1,0,2}
  v = f32[6] parameter(1), sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  twice = f32[7,5] add(a, a), sharding={devices=[2,2]3,1,0,2}
  m = f32[4,3] custom-call(twice), custom_call_target="SPMDFullToShardShape", sharding={manual}
  n = f32[3] custom-call(v), custom_call_target="SPMDFullToShardShape", sharding={manual}
  id = u32[] partition-id()
  d = f32[] convert(id)
  ds = f32[4,3] broadcast(d), dimensions={}
  o = f32[4,3] add(m, ds)
  r = f32[3] all-reduce(n), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=sum
  whole = f32[7,5] custom-call(o), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,2]3,1,0,2}
  cut = f32[6] custom-call(n), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  same = f32[3] custom-call(r), custom_call_target="SPMDShardToFullShape", sharding={replicated}
  minus = f32[7,5] negate(whole)
  across = f32[7,5]{0,1} custom-call(o), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,2]3,1,0,2}
  flat = f32[35] bitcast(across)
  three = f32[3] slice(v), slice={[0:3]}
  c = c128[3] convert(three), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}
  l = c128[2] custom-call(c), custom_call_target="SPMDFullToShardShape", sharding={manual}
  long = c128[4] custom-call(l), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,2]<=[4] last_tile_dim_replicate}
  none = f32[0,5] slice(a), slice={[0:0], [0:5]}, sharding={devices=[2,2]<=[4]}
  no = f32[0,3] custom-call(none), custom_call_target="SPMDFullToShardShape", sharding={manual}
  ROOT t = (f32[7,5], f32[6], f32[3], f32[35], c128[4], f32[0,3]) tuple(minus, cut, same, flat, long, no)
}
)";
// The same in Shardy's words: several values at a border, and one axis of two that is manual.
inline constexpr const char* kNamedManualRegions =
    R"(HloModule named, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=2]>}}
body {
  a = f32[4,6] parameter(0)
  b = s8[2] parameter(1)
  id = u32[] partition-id()
  n = f32[] convert(id)
  two = f32[] constant(2)
  row = f32[] divide(n, two)
  floor = f32[] floor(row)
  ns = f32[4,6] broadcast(floor), dimensions={}
  c = f32[4,6] multiply(a, ns)
  ROOT t = (f32[4,6], s8[2]) tuple(c, b)
}
ENTRY e {
  a = f32[8,6] parameter(0)
  b = s8[4] constant({1, 2, 3, 4})
  l = (f32[4,6], s8[2]) custom-call(a, b), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>, <@mesh, [{\"x\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"x\"}>"}
  p = f32[4,6] get-tuple-element(l), index=0
  q = s8[2] get-tuple-element(l), index=1
  c = (f32[4,6], s8[2]) call(p, q), to_apply=body
  x = f32[4,6] get-tuple-element(c), index=0
  y = s8[2] get-tuple-element(c), index=1
  g = (f32[8,6], s8[4]) custom-call(x, y), custom_call_target="xla.sdy.LocalToGlobalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>, <@mesh, [{\"x\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"x\"}>"}
  u = f32[8,6] get-tuple-element(g), index=0
  r = f32[8,6] custom-call(u), custom_call_target="xla.sdy.FuncResultSharding", custom_call_has_side_effect=true
  z = s8[4] get-tuple-element(g), index=1
  ROOT both = (f32[8,6], s8[4]) tuple(r, z)
}
)";

// A region inside another one, as JAX nests them: inside it adds one, around it ten times the place
// along the inner axis, which is a region of its own. Outside of both, a sum of each alone.
inline constexpr const char* kNestedManualRegions = R"(HloModule nested, num_partitions=4
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] add(a, b)
  ROOT r = f32[] custom-call(c), custom_call_target="Sharding", sharding={replicated}
}
place {
  id = u32[] partition-id()
  two = u32[] constant(2)
  y = u32[] remainder(id, two)
  ROOT n = f32[] convert(y)
}
outer {
  a = f32[2] parameter(0)
  b = f32[2] custom-call(a), custom_call_target="Sharding", sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}
  c = f32[1] custom-call(b), custom_call_target="SPMDFullToShardShape", sharding={manual}
  one = f32[1] constant({1})
  d = f32[1] add(c, one)
  p = f32[] call(), to_apply=place
  q = f32[1] reshape(p)
  ten = f32[1] constant({10})
  s = f32[1] multiply(q, ten)
  e = f32[1] add(d, s)
  f = f32[1] custom-call(e), custom_call_target="Sharding", sharding={manual}
  ROOT g = f32[2] custom-call(f), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}
}
ENTRY e {
  v = f32[4] parameter(0)
  a = f32[4] custom-call(v), custom_call_target="Sharding", sharding={devices=[2,2]<=[4] last_tile_dim_replicate}
  b = f32[2] custom-call(a), custom_call_target="SPMDFullToShardShape", sharding={devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}
  c = f32[2] call(b), to_apply=outer
  d = f32[2] custom-call(c), custom_call_target="Sharding", sharding={devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}
  x = f32[4] custom-call(d), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,2]<=[4] last_tile_dim_replicate}
  ROOT r = f32[4] all-reduce(x), channel_id=1, replica_groups={{0},{1},{2},{3}}, use_global_device_ids=true, to_apply=sum
}
)";

inline std::vector<std::vector<hlo::Literal>> EightFloats(int devices) {
  std::vector<std::vector<hlo::Literal>> out;
  for (int d = 0; d < devices; ++d) {
    std::vector<float> values(8);
    for (size_t i = 0; i < 8; ++i) values[i] = static_cast<float>(static_cast<int>(i) * 3 - d);
    out.push_back(
        {hlo::Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {8}), values)});
  }
  return out;
}

inline void ExpectSameBits(const Outcome& gpu, const Outcome& meant, const std::string& of) {
  ASSERT_FALSE(gpu.error.has_value()) << of << ": " << gpu.error->ToString();
  ASSERT_FALSE(meant.error.has_value()) << of << ": " << meant.error->ToString();
  ASSERT_EQ(gpu.results.size(), meant.results.size()) << of;
  for (size_t i = 0; i < gpu.results.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(gpu.results[i].bytes(), meant.results[i].bytes()))
        << of << ", leaf " << i;
  }
}

}  // namespace hloscope::replay
