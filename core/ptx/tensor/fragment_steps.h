// mma.sync of floats on fragments where they lie, sixteen sums at a time; steps.cc includes it
// once, for vector units of 512 bits, so there is no guard. No function takes or returns a vector.
//
// Lane 4g + t: a register of C has sixteen lanes of four rows and every second column. A lane of A
// is broadcast to the four lanes of its row, one of B to all rows, so no fragment is transposed in
// memory.

using Floats16 = float __attribute__((vector_size(64)));
using Ints16 = int32_t __attribute__((vector_size(64)));
using Shorts32 = int16_t __attribute__((vector_size(64)));
using Words16 = uint32_t __attribute__((vector_size(64)));

// Elements of lanes, one of each lane's word.
struct LaneElements {
  Floats16 values;
  Ints16 exponents;
};

HLOSCOPE_STEP_TARGET inline void ExponentsOf16(const Floats16& values, int32_t smallest,
                                               Ints16& out) {
  const Words16 magnitude = Words16(values) & 0x7fffffffu;
  const Ints16 own = Ints16(magnitude >> 23) - 127;
  out = own > smallest ? own : Ints16{} + smallest;
  out = magnitude == 0 ? Ints16{} + kZeroExponent : out;
  out = magnitude >= 0x7f800000u ? Ints16{} + kSpecialExponent : out;
}

// Element `index` of each word. Infinity and NaN have their exponent alone, and any value.
// With the exponents of f32 they only move; a tf32 drops the low bits of one.
template <int kElements, bool kHasF32Exponents>
HLOSCOPE_STEP_TARGET inline void TakeApart16(const ElementRow& row, const Words16& words, int index,
                                             LaneElements& out) {
  constexpr int kBits = 32 / kElements, above = 32 - kBits;
  const Words16 word = words << (above - index * kBits);
  if constexpr (kHasF32Exponents) {
    out.values = Floats16(word & (kBits == 32 ? ~0x1fffu : ~0u << above));
    ExponentsOf16(out.values, -126, out.exponents);
    return;
  }
  const uint32_t rebias = static_cast<uint32_t>(127 - row.bias) << 23;
  const float unit =
      std::bit_cast<float>(static_cast<uint32_t>(128 - row.bias - row.mantissa_bits) << 23);
  const Words16 magnitude = word << 1 >> (above + 1);
  const Words16 normal = (magnitude << (23 - row.mantissa_bits)) + rebias;
  const Words16 subnormal = Words16(__builtin_convertvector(Ints16(magnitude), Floats16) * unit);
  const Words16 finite = magnitude >> row.mantissa_bits == 0 ? subnormal : normal;
  out.values = Floats16(finite | (word & 0x80000000u));
  ExponentsOf16(out.values, 1 - row.bias, out.exponents);
  out.exponents = magnitude >= row.first_special ? Ints16{} + kSpecialExponent : out.exponents;
}

// A block is the 16 bytes of a row, or column, that one register has of it. Exponents are those of
// even columns in the low halves of words, of odd ones in the high halves.
struct FragmentPanels {
  LaneElements a[2][2][2][4];  // [block][rows from 8][rows from 4][element of the word]
  Floats16 b[2][4][4][2];      // [block][lane of the group][element][odd columns]: in all rows
  Ints16 b_exponents[2][4][4];
};

template <int kElements, bool kHasF32Exponents>  // of a word
HLOSCOPE_STEP_TARGET inline void TakeFragmentsApart(const FragmentProduct& p,
                                                    FragmentPanels& panels) {
  const Ints16 columns = {0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24};
  const Ints16 next_columns = {4, 5, 6, 7, 4, 5, 6, 7, 12, 13, 14, 15, 12, 13, 14, 15};
  for (int block = 0; block < p.blocks; ++block) {
    for (int part = 0; part < 4; ++part) {
      Words16 words;
      std::memcpy(&words, p.a[2 * block + part / 2] + part % 2 * 16, sizeof words);
      for (int e = 0; e < kElements; ++e) {
        LaneElements& a = panels.a[block][part / 2][part % 2][e];
        TakeApart16<kElements, kHasF32Exponents>(p.a_row, words, e, a);
        a.exponents = (a.exponents & 0xffff) | (a.exponents << 16);
      }
    }
    Words16 words[2];
    std::memcpy(&words, p.b[block], sizeof words);
    for (int e = 0; e < kElements; ++e) {
      LaneElements low, high;
      TakeApart16<kElements, kHasF32Exponents>(p.b_row, words[0], e, low);
      TakeApart16<kElements, kHasF32Exponents>(p.b_row, words[1], e, high);
      for (LaneElements* const both : {&low, &high}) {
        const Ints16 odd = __builtin_shuffle(both->exponents, next_columns);
        both->exponents = (both->exponents & 0xffff) | (odd << 16);
      }
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) {
#pragma GCC unroll 2
        for (int odd = 0; odd < 2; ++odd)
          panels.b[block][t][e][odd] =
              __builtin_shuffle(low.values, high.values, columns + (t + 4 * odd));
        panels.b_exponents[block][t][e] =
            __builtin_shuffle(low.exponents, high.exponents, columns + t);
      }
    }
  }
}

// One step, of the blocks from `first` to `end`, for four rows: sums of even and of odd columns.
// Makes those negative that 32 bits do not hold, or floats do not do, as AddStep of vector_steps.h
// has it. The products of a block are below 2^31 with C: each factor is below two, of eight bits at
// most 1.875 where there are sixteen, and at most 25 bits are kept.
template <int kElements>
HLOSCOPE_STEP_TARGET inline void AddBlocks(const FragmentProduct& p, const FragmentPanels& panels,
                                           int part, int first, int end, Floats16 (&sums)[2],
                                           Ints16& is_hard) {
  constexpr int32_t kSmallest = -100, kLargest = 126, kLargestOfZeros = -1500;
  const Ints16 rows = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  Ints16 largest[2];
#pragma GCC unroll 2
  for (int odd = 0; odd < 2; ++odd) ExponentsOf16(sums[odd], -126, largest[odd]);
  auto both = Shorts32((largest[0] & 0xffff) | (largest[1] << 16));
  for (int block = first; block < end; ++block) {
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      for (int e = 0; e < kElements; ++e) {
        const auto a =
            Shorts32(__builtin_shuffle(panels.a[block][part / 2][part % 2][e].exponents, rows + t));
        const Shorts32 exponents = a + Shorts32(panels.b_exponents[block][t][e]);
        both = exponents > both ? exponents : both;
      }
    }
  }
  largest[0] = Ints16(both) << 16 >> 16;
  largest[1] = Ints16(both) >> 16;
  Floats16 scale[2], unit[2];
  Ints16 total[2];
#pragma GCC unroll 2
  for (int odd = 0; odd < 2; ++odd) {
    const Ints16& most = largest[odd];
    is_hard |= (kLargest - most) | ((most - kSmallest) & (kLargestOfZeros - most));
    Ints16 bounded = most > kLargest ? Ints16{} + kLargest : most;
    bounded = bounded < kSmallest ? Ints16{} + kSmallest : bounded;
    const Ints16 power = p.rule.fraction_bits - bounded;
    scale[odd] = Floats16((power + 127) << 23);
    unit[odd] = Floats16((127 - power) << 23);
    total[odd] = __builtin_convertvector(sums[odd] * scale[odd], Ints16);
  }
  for (int block = first; block < end; ++block) {
    Words16 sum[2] = {};
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      for (int e = 0; e < kElements; ++e) {
        const Floats16 a =
            __builtin_shuffle(panels.a[block][part / 2][part % 2][e].values, rows + t);
#pragma GCC unroll 2
        for (int odd = 0; odd < 2; ++odd) {
          const Floats16 product = a * panels.b[block][t][e][odd] * scale[odd];
          sum[odd] += Words16(__builtin_convertvector(product, Ints16));
        }
      }
    }
#pragma GCC unroll 2
    for (int odd = 0; odd < 2; ++odd) {
      const Ints16 added = Ints16(Words16(total[odd]) + sum[odd]);
      is_hard |= (added ^ total[odd]) & (added ^ Ints16(sum[odd]));
      total[odd] = added;
    }
  }
  const Words16 kept = Words16{} + (~0u << (23 - p.rule.mantissa_bits));
#pragma GCC unroll 2
  for (int odd = 0; odd < 2; ++odd) {
    const auto rounded = Floats16(_mm512_maskz_cvt_roundepi32_ps(
        0xffff, __m512i(total[odd]), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));  // to 24 bits
    sums[odd] = Floats16(Words16(rounded) & kept) * unit[odd];
  }
}

template <int kElements, bool kHasF32Exponents>
HLOSCOPE_STEP_TARGET bool MultiplyFragmentsOf(const FragmentProduct& p) {
  FragmentPanels panels;
  TakeFragmentsApart<kElements, kHasF32Exponents>(p, panels);
  const int blocks_of_step = p.rule.step_bytes / 16;
  Ints16 is_hard = {};
  Floats16 sums[4][2];
  for (int part = 0; part < 4; ++part) {
#pragma GCC unroll 2
    for (int odd = 0; odd < 2; ++odd)
      std::memcpy(&sums[part][odd], p.c[part / 2 * 2 + odd] + part % 2 * 16, sizeof(Floats16));
    for (int first = 0; first < p.blocks; first += blocks_of_step) {
      const int end = first + blocks_of_step < p.blocks ? first + blocks_of_step : p.blocks;
      AddBlocks<kElements>(p, panels, part, first, end, sums[part], is_hard);
    }
  }
  for (int lane = 0; lane < 16; ++lane) {
    if (is_hard[lane] < 0) return false;
  }
  for (int part = 0; part < 4; ++part) {
#pragma GCC unroll 2
    for (int odd = 0; odd < 2; ++odd)
      std::memcpy(p.d[part / 2 * 2 + odd] + part % 2 * 16, &sums[part][odd], sizeof(Floats16));
  }
  return true;
}

HLOSCOPE_STEP_TARGET bool MultiplyFragments(const FragmentProduct& p) {
  if (p.a_row.bits == 32) return MultiplyFragmentsOf<1, true>(p);
  if (p.a_row.bits == 8) return MultiplyFragmentsOf<4, false>(p);
  return p.a_row.bias == 127 ? MultiplyFragmentsOf<2, true>(p) : MultiplyFragmentsOf<2, false>(p);
}
