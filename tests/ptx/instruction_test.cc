// Single instructions against arithmetic of the host, on values that are easy to get wrong.
#include <cfenv>
#include <cmath>
#include <functional>
#include <random>

#include "core/ptx/machine/rounding.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

struct Pairs {
  std::vector<uint32_t> a, b;
};

// Every pair of the edge values, then random ones.
Pairs PairsOf(const std::vector<uint32_t>& edges, uint32_t seed) {
  Pairs pairs;
  for (const uint32_t x : edges) {
    for (const uint32_t y : edges) {
      pairs.a.push_back(x);
      pairs.b.push_back(y);
    }
  }
  std::mt19937 random(seed);
  for (int i = 0; i < 256; ++i) {
    pairs.a.push_back(static_cast<uint32_t>(random()));
    pairs.b.push_back(static_cast<uint32_t>(random()));
  }
  return pairs;
}

const std::vector<uint32_t> kIntegerEdges = {
    0,          1,          2,          31,         32,         33,        0x7fffffff,
    0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x0000ffff, 0x12345678};
const std::vector<uint32_t> kFloatEdges = {
    0,          0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001,
    0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7fc00000, 0x3f7fffff, 0x3f800001, 0x4b800000, 0x40490fdb, 0x33800000};

void ExpectSame(const std::string& instruction, const Pairs& pairs,
                const std::function<uint32_t(uint32_t, uint32_t)>& expected) {
  const auto got = RunOn32(instruction, pairs.a, pairs.b);
  ASSERT_EQ(got.size(), pairs.a.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], expected(pairs.a[i], pairs.b[i]))
        << instruction << " of " << std::hex << pairs.a[i] << ", " << pairs.b[i];
  }
}

TEST(PtxInstructions, Integers) {
  const Pairs pairs = PairsOf(kIntegerEdges, 1);
  using S = int32_t;
  const auto s = [](uint32_t x) { return static_cast<S>(x); };
  ExpectSame("add.s32 %r4, %r2, %r3;", pairs, [](uint32_t a, uint32_t b) { return a + b; });
  ExpectSame("sub.u32 %r4, %r2, %r3;", pairs, [](uint32_t a, uint32_t b) { return a - b; });
  ExpectSame("mul.lo.s32 %r4, %r2, %r3;", pairs, [](uint32_t a, uint32_t b) { return a * b; });
  ExpectSame("mul.hi.s32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(int64_t{s(a)} * s(b) >> 32);
  });
  ExpectSame("mul.hi.u32 %r4, %r2, %r3;", pairs,
             [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); });
  ExpectSame("mad.lo.s32 %r4, %r2, %r3, -7;", pairs,
             [](uint32_t a, uint32_t b) { return a * b - 7; });
  ExpectSame("div.u32 %r4, %r2, %r3;", pairs,
             [](uint32_t a, uint32_t b) { return b == 0 ? ~0u : a / b; });
  ExpectSame("div.s32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return b == 0 ? ~0u : static_cast<uint32_t>(int64_t{s(a)} / s(b));
  });
  ExpectSame("rem.s32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return b == 0 ? a : static_cast<uint32_t>(int64_t{s(a)} % s(b));
  });
  ExpectSame("min.s32 %r4, %r2, %r3;", pairs,
             [&](uint32_t a, uint32_t b) { return s(a) < s(b) ? a : b; });
  ExpectSame("max.u32 %r4, %r2, %r3;", pairs, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
  ExpectSame("shl.b32 %r4, %r2, %r3;", pairs,
             [](uint32_t a, uint32_t b) { return b > 31 ? 0 : a << b; });
  ExpectSame("shr.u32 %r4, %r2, %r3;", pairs,
             [](uint32_t a, uint32_t b) { return b > 31 ? 0 : a >> b; });
  ExpectSame("shr.s32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(s(a) >> std::min(b, 31u));
  });
  ExpectSame("shf.l.wrap.b32 %r4, %r2, %r3, 13;", pairs,
             [](uint32_t a, uint32_t b) { return b << 13 | a >> 19; });
  ExpectSame("shf.r.clamp.b32 %r4, %r2, %r3, 32;", pairs, [](uint32_t, uint32_t b) { return b; });
  ExpectSame("prmt.b32 %r4, %r2, %r3, 0x7650;", pairs,
             [](uint32_t a, uint32_t b) { return (b & 0xffffff00) | (a & 0xff); });
  ExpectSame("lop3.b32 %r4, %r2, %r3, %r2, 0x3c;", pairs,
             [](uint32_t a, uint32_t b) { return a ^ b; });
  ExpectSame("popc.b32 %r4, %r2;", pairs,
             [](uint32_t a, uint32_t) { return static_cast<uint32_t>(std::popcount(a)); });
  ExpectSame("clz.b32 %r4, %r2;", pairs,
             [](uint32_t a, uint32_t) { return static_cast<uint32_t>(std::countl_zero(a)); });
  ExpectSame("bfe.s32 %r4, %r2, 28, 8;", pairs,
             [&](uint32_t a, uint32_t) { return static_cast<uint32_t>(s(a) >> 28); });
  ExpectSame("bfe.u32 %r4, %r2, 4, 8;", pairs, [](uint32_t a, uint32_t) { return a >> 4 & 0xff; });
  ExpectSame("abs.s32 %r4, %r2;", pairs,
             [](uint32_t a, uint32_t) { return (a >> 31) != 0 ? 0 - a : a; });
  ExpectSame("add.sat.s32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(
        static_cast<S>(std::clamp<int64_t>(int64_t{s(a)} + s(b), INT32_MIN, INT32_MAX)));
  });
  ExpectSame("setp.lt.s32 %p1, %r2, %r3;\nselp.b32 %r4, 1, 2, %p1;", pairs,
             [&](uint32_t a, uint32_t b) { return s(a) < s(b) ? 1u : 2u; });
  ExpectSame("setp.hi.u32 %p1|%p2, %r2, %r3;\nselp.b32 %r4, 1, 2, %p2;", pairs,
             [](uint32_t a, uint32_t b) { return a > b ? 2u : 1u; });
  ExpectSame("add.cc.u32 %r5, %r2, %r3;\naddc.u32 %r4, 0, 0;", pairs,
             [](uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} + b) >> 32); });
  ExpectSame("sub.cc.u32 %r5, %r2, %r3;\nsubc.u32 %r4, %r2, 7;", pairs,
             [](uint32_t a, uint32_t b) { return a - 7 - (a < b ? 1 : 0); });
  ExpectSame("sub.cc.u32 %r5, %r2, %r3;\nsubc.cc.s32 %r5, %r2, %r2;\nsubc.u32 %r4, 0, 0;", pairs,
             [](uint32_t a, uint32_t b) { return a < b ? ~0u : 0u; });
  ExpectSame("cvt.u16.u32 %rs1, %r2;\ncvt.s32.s16 %r4, %rs1;", pairs, [](uint32_t a, uint32_t) {
    return static_cast<uint32_t>(int32_t{static_cast<int16_t>(a)});
  });
  ExpectSame("cvt.s8.s32 %r4, %r2;", pairs, [](uint32_t a, uint32_t) {
    return static_cast<uint32_t>(int32_t{static_cast<int8_t>(a)});
  });
  ExpectSame("mov.b32 {%rs1, %rs2}, %r2;\nmov.b32 %r4, {%rs2, %rs1};", pairs,
             [](uint32_t a, uint32_t) { return a >> 16 | a << 16; });
}

uint32_t HostFloat(int mode, const std::function<float(float, float)>& f, uint32_t a, uint32_t b) {
  std::fesetround(mode);
  volatile float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  volatile float r = f(x, y);
  std::fesetround(FE_TONEAREST);
  const float result = r;
  return result != result ? kNan32 : std::bit_cast<uint32_t>(result);
}

TEST(PtxInstructions, FloatsInEveryRoundingMode) {
  const Pairs pairs = PairsOf(kFloatEdges, 2);
  const std::pair<const char*, int> modes[] = {
      {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (const auto& [text, mode] : modes) {
    const std::string m = text;
    const auto host = [mode = mode](auto f) {
      return [mode, f](uint32_t a, uint32_t b) { return HostFloat(mode, f, a, b); };
    };
    using V = volatile float;
    ExpectSame("add." + m + ".f32 %r4, %r2, %r3;", pairs, host([](float a, float b) {
                 V x = a, y = b;
                 return x + y;
               }));
    ExpectSame("sub." + m + ".f32 %r4, %r2, %r3;", pairs, host([](float a, float b) {
                 V x = a, y = b;
                 return x - y;
               }));
    ExpectSame("mul." + m + ".f32 %r4, %r2, %r3;", pairs, host([](float a, float b) {
                 V x = a, y = b;
                 return x * y;
               }));
    ExpectSame("fma." + m + ".f32 %r4, %r2, %r3, %r2;", pairs, host([](float a, float b) {
                 V x = a, y = b;
                 return std::fma(x, y, x);
               }));
    ExpectSame("div." + m + ".f32 %r4, %r2, %r3;", pairs, host([](float a, float b) {
                 V x = a, y = b;
                 return x / y;
               }));
    ExpectSame("sqrt." + m + ".f32 %r4, %r2;", pairs, host([](float a, float) {
                 V x = a;
                 return std::sqrt(x);
               }));
  }
}

TEST(PtxInstructions, FlushingSaturationAndNan) {
  const Pairs pairs = PairsOf(kFloatEdges, 3);
  const auto f = [](uint32_t x) { return std::bit_cast<float>(x); };
  const auto flush = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  const auto bits = [](float x) { return x != x ? kNan32 : std::bit_cast<uint32_t>(x); };
  ExpectSame("add.rn.ftz.f32 %r4, %r2, %r3;", pairs,
             [&](uint32_t a, uint32_t b) { return bits(flush(flush(f(a)) + flush(f(b)))); });
  ExpectSame("add.rn.sat.f32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    const float r = f(a) + f(b);
    return bits(r > 0 ? std::min(r, 1.0f) : 0.0f);
  });
  ExpectSame("max.f32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    if (f(a) != f(a)) return f(b) != f(b) ? kNan32 : b;
    if (f(b) != f(b)) return a;
    if (f(a) == f(b)) return a & b;
    return f(a) > f(b) ? a : b;
  });
  ExpectSame("min.NaN.f32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    if (f(a) != f(a) || f(b) != f(b)) return kNan32;
    if (f(a) == f(b)) return a | b;
    return f(a) < f(b) ? a : b;
  });
  ExpectSame("setp.ltu.f32 %p1, %r2, %r3;\nselp.b32 %r4, 1, 2, %p1;", pairs,
             [&](uint32_t a, uint32_t b) { return f(a) >= f(b) ? 2u : 1u; });
  ExpectSame("setp.ne.f32 %p1, %r2, %r3;\nselp.b32 %r4, 1, 2, %p1;", pairs,
             [&](uint32_t a, uint32_t b) { return f(a) < f(b) || f(a) > f(b) ? 1u : 2u; });
  ExpectSame("neg.f32 %r4, %r2;", pairs, [](uint32_t a, uint32_t) { return a ^ 0x80000000; });
  ExpectSame("copysign.f32 %r4, %r2, %r3;", pairs,
             [](uint32_t a, uint32_t b) { return (a & 0x80000000) | (b & 0x7fffffff); });
  ExpectSame("max.f32 %r4, %r2, %r3, 0f40400000;", pairs, [&](uint32_t a, uint32_t b) {
    const float x = std::fmax(std::fmax(f(a), f(b)), 3.0f);
    return std::bit_cast<uint32_t>(x);
  });
}

TEST(PtxInstructions, Conversions) {
  const Pairs pairs = PairsOf(kFloatEdges, 4);
  const auto f = [](uint32_t x) { return std::bit_cast<float>(x); };
  ExpectSame("cvt.rzi.s32.f32 %r4, %r2;", pairs, [&](uint32_t a, uint32_t) {
    if (f(a) != f(a)) return 0u;
    return static_cast<uint32_t>(
        static_cast<int32_t>(std::clamp<double>(std::trunc(f(a)), INT32_MIN, INT32_MAX)));
  });
  ExpectSame("cvt.rni.u32.f32 %r4, %r2;", pairs, [&](uint32_t a, uint32_t) {
    if (f(a) != f(a)) return 0u;
    return static_cast<uint32_t>(std::clamp<double>(std::nearbyint(f(a)), 0, UINT32_MAX));
  });
  ExpectSame("cvt.rn.f32.s32 %r4, %r2;", pairs, [](uint32_t a, uint32_t) {
    return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(a)));
  });
  ExpectSame("cvt.rn.bf16.f32 %rs1, %r2;\ncvt.u32.u16 %r4, %rs1;", pairs,
             [&](uint32_t a, uint32_t) {
               if (f(a) != f(a)) return 0x7fffu;
               return (a + 0x7fff + (a >> 16 & 1)) >> 16;
             });
  ExpectSame("cvt.rn.f16.f32 %rs1, %r2;\ncvt.f32.f16 %r4, %rs1;", pairs, [&](uint32_t a, uint32_t) {
    const float x = f(a);
    if (x != x) return kNan32;
    if (std::fabs(x) >= 65520.0f) return std::bit_cast<uint32_t>(std::copysign(INFINITY, x));
    const float step = std::fabs(x) < 0x1p-14f ? 0x1p-24f : std::ldexp(1.0f, std::ilogb(x) - 10);
    return std::bit_cast<uint32_t>(std::copysign(std::nearbyint(x / step) * step, x));
  });
  ExpectSame("cvt.sat.f32.f32 %r4, %r2;", pairs, [&](uint32_t a, uint32_t) {
    return std::bit_cast<uint32_t>(f(a) > 0 ? std::min(f(a), 1.0f) : 0.0f);
  });
  ExpectSame("cvt.rna.tf32.f32 %r4, %r2;", pairs, [&](uint32_t a, uint32_t) {
    if (f(a) != f(a)) return kNan32;
    return (a & 0x7fffffff) == 0x7f800000 ? a : (a + 0x1000) & ~0x1fffu;
  });
  ExpectSame("cvt.rn.bf16x2.f32 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return uint32_t{FloatToBf16(f(a))} << 16 | FloatToBf16(f(b));
  });
}

// Sums and products of narrow types: exact in a double, rounded once.
TEST(PtxInstructions, NarrowFloats) {
  Pairs pairs;
  std::mt19937 random(5);
  for (int i = 0; i < 512; ++i) {
    pairs.a.push_back(static_cast<uint32_t>(random()));
    pairs.b.push_back(static_cast<uint32_t>(random()));
  }
  const auto narrow = [](double v, NarrowFormat format) {
    return v != v ? 0x7fffu : ToNarrow(v, format);
  };
  const auto each = [&](uint32_t a, uint32_t b, NarrowFormat format, auto op) {
    uint32_t r = 0;
    for (int p = 0; p < 32; p += 16)
      r |= narrow(op(FromNarrow(a >> p & 0xffff, format), FromNarrow(b >> p & 0xffff, format)),
                  format)
           << p;
    return r;
  };
  const auto halves = [](uint32_t a, uint32_t b, auto f) {
    return uint32_t{static_cast<uint16_t>(f(a, b))} |
           uint32_t{static_cast<uint16_t>(f(a >> 16, b >> 16))} << 16;
  };
  ExpectSame("min.s16x2 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return halves(a, b, [](uint32_t x, uint32_t y) {
      return std::min(static_cast<int16_t>(x), static_cast<int16_t>(y));
    });
  });
  ExpectSame("max.u16x2 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return halves(a, b, [](uint32_t x, uint32_t y) { return std::max(x & 0xffff, y & 0xffff); });
  });
  ExpectSame("add.u16x2 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return halves(a, b, [](uint32_t x, uint32_t y) { return x + y; });
  });
  ExpectSame("add.rn.f16x2 %r4, %r2, %r3;", pairs,
             [&](uint32_t a, uint32_t b) { return each(a, b, kFormatF16, std::plus<double>()); });
  ExpectSame("mul.rn.bf16x2 %r4, %r2, %r3;", pairs, [&](uint32_t a, uint32_t b) {
    return each(a, b, kFormatBf16, std::multiplies<double>());
  });
}

TEST(PtxInstructions, ApproximationsKeepTheirBounds) {
  std::vector<uint32_t> a;
  for (int i = -120; i < 120; ++i)
    a.push_back(std::bit_cast<uint32_t>(static_cast<float>(i) * 0.37f + 0.001f));
  const std::vector<uint32_t> b(a.size(), 0);
  const auto check = [&](const std::string& instruction, auto exact, double bound) {
    const auto got = RunOn32(instruction, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const double want = exact(double{std::bit_cast<float>(a[i])});
      if (!std::isfinite(want)) continue;
      EXPECT_LE(std::fabs(std::bit_cast<float>(got[i]) - want), bound * std::fabs(want))
          << instruction << " " << std::bit_cast<float>(a[i]);
    }
  };
  check("ex2.approx.ftz.f32 %r4, %r2;", [](double x) { return std::exp2(x); }, 0x1p-22);
  check("rcp.approx.f32 %r4, %r2;", [](double x) { return 1 / x; }, 0x1p-23);
  check(
      "rsqrt.approx.f32 %r4, %r2;", [](double x) { return x < 0 ? NAN : 1 / std::sqrt(x); },
      0x1p-22);
  check("tanh.approx.f32 %r4, %r2;", [](double x) { return std::tanh(x); }, 0x1p-11);
}

// The upper half of the bits of the operand and of the result, no subnormals.
TEST(PtxInstructions, GrossFunctionsOf64BitsGiveTheUpperHalf) {
  const double a[] = {3, -0.1, 1e300, 4e-310, INFINITY};
  const auto run = [&](const char* instruction) {
    return RunKernel(
               "mul.wide.u32 %rd5, %r1, 8;\nadd.s64 %rd6, %rd1, %rd5;\nadd.s64 %rd7, %rd3, "
               "%rd5;\nld.global.b64 %rd8, [%rd6];\n" +
                   std::string(instruction) + " %rd9, %rd8;\nst.global.b64 [%rd7], %rd9;",
               Bytes(std::vector<double>(a, a + 5)), {}, 40, 5)
        .As<double>(2);
  };
  const std::vector<double> inverse = run("rcp.approx.ftz.f64"), root = run("rsqrt.approx.ftz.f64");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::bit_cast<uint64_t>(inverse[i]) & 0xffffffff, 0u);
    EXPECT_NEAR(inverse[i] * a[i], 1, 0x1p-19);
    if (a[i] > 0) {
      EXPECT_NEAR(root[i] * root[i] * a[i], 1, 0x1p-18);
    }
  }
  EXPECT_EQ(inverse[3], INFINITY);
  EXPECT_EQ(inverse[4], 0);
}

// A form is not taken for its neighbour.
TEST(PtxInstructions, FormsAreStrict) {
  const auto why = [](const std::string& body) {
    const auto module = Module::Parse(KernelText(body), "k.ptx");
    if (!module.has_value()) return module.error().ToString();
    const auto& unsupported = module->entries()[0].unsupported;
    return unsupported.empty() ? std::string("executed") : unsupported[0].message;
  };
  EXPECT_EQ(why("max.f32 %r2, %r3, %r4, %r5;"), "executed");
  EXPECT_EQ(why("max.s32 %r2, %r3, %r4, %r5;"), "`max.s32`: it has more operands than its form");
  EXPECT_EQ(why("add.rn.f32 %r2, %r3;"), "`add.rn.f32`: it has fewer operands than its form");
  EXPECT_EQ(why("add.s32 %r2, %rd3, %r4;"),
            "`add.s32`: register %rd3 has 64 bits where its form has 32");
  EXPECT_EQ(why("add.rn.f32.f64 %r2, %r3, %r4;"),
            "`add.rn.f32.f64`: no form of this opcode has these modifiers and types");
  EXPECT_EQ(why("vadd.s32.s32.s32 %r2, %r2, %r2;"),
            "`vadd.s32.s32.s32`: this opcode is not executed");
  EXPECT_EQ(why("mov.u32 %r2, %clock;"), "`mov.u32`: register %clock is not known");
  EXPECT_EQ(why("ld.global.v2.b32 %r2, [%rd1];"),
            "`ld.global.v2.b32`: an operand needs 2 parts in { }");
  EXPECT_EQ(why("cvt.s32.f32 %r2, %r3;"), "`cvt.s32.f32`: this form is not executed");
}

}  // namespace
}  // namespace hloscope::ptx
