// Which values of double precision are no more exact than f32.
#include "core/hlo/analysis/single_precision.h"

#include <gtest/gtest.h>

#include "tests/hlo/parsed.h"

namespace hloscope::hlo {
namespace {

TEST(SinglePrecision, FollowsWhatWasRounded) {
  const auto module = Parsed(R"(HloModule m
inside {
  a = f32[4] parameter(0)
  e = f32[4] exponential(a)
  ROOT c = f64[4] convert(e)
}
body {
  t = (f64[4], f64[4]) parameter(0)
  u = f64[4] get-tuple-element(t), index=0
  v = f64[4] get-tuple-element(t), index=1
  w = f64[4] add(u, u)
  ROOT n = (f64[4], f64[4]) tuple(v, w)
}
go {
  t = (f64[4], f64[4]) parameter(0)
  ROOT p = pred[] constant(false)
}
ENTRY m {
  x = f32[4] parameter(0)
  d = f64[4] parameter(1)
  same = f64[4] convert(x)
  larger = f32[4] maximum(x, x)
  chosen = f64[4] convert(larger)
  s = f64[4] sine(d)
  f = f64[4] fusion(x), kind=kLoop, calls=inside
  scaled = f64[4] multiply(f, d)
  rounded = f32[4] convert(s)
  back = f64[4] convert(rounded)
  q = pred[4] compare(f, d), direction=LT
  picked = f64[4] select(q, d, s)
  init = (f64[4], f64[4]) tuple(f, d)
  loop = (f64[4], f64[4]) while(init), condition=go, body=body
  ROOT r = (f64[4], f64[4]) tuple(s, scaled)
})");
  const SinglePrecision single(*module);
  const auto of = [&](std::string_view name, size_t leaf = 0) {
    return single.Of(Named(*module, name), leaf);
  };
  for (const auto name : {"f", "scaled", "back"}) EXPECT_TRUE(of(name)) << name;
  for (const auto name : {"same", "chosen", "s", "d", "picked", "x", "rounded"})
    EXPECT_FALSE(of(name)) << name;
  EXPECT_TRUE(of("loop", 0) && of("loop", 1));  // they change places
  EXPECT_FALSE(of("r", 0));
  EXPECT_TRUE(of("r", 1));
}

}  // namespace
}  // namespace hloscope::hlo
