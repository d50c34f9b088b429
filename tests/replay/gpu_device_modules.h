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
