// Products of elements of four to eight bits with and without scale factors, bit for bit as the
// second implementation has them; tcgen05.mma that makes them, and tcgen05.cp, which brings what
// they read.
#include "core/ptx/tensor/narrow.h"

#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "core/ptx/machine/rounding.h"
#include "core/ptx/reference/tensor_model.h"
#include "core/ptx/tensor/tensor.h"
#include "tests/ptx/group_kernel.h"

namespace hloscope::ptx {
namespace {

using enum Element;

int BitsOf(Element type) { return type == kE2m1 ? 4 : type == kE2m3 || type == kE3m2 ? 6 : 8; }

Bits Draw(std::mt19937& random, size_t count, int bits) {
  Bits drawn(count);
  for (uint64_t& value : drawn) value = random() % (1u << bits);
  return drawn;
}

std::vector<uint8_t> AsBytes(const Bits& bits) { return {bits.begin(), bits.end()}; }

const std::byte* Data(const std::vector<uint8_t>& bytes) {
  return reinterpret_cast<const std::byte*>(bytes.data());
}

struct TileCase {
  Element a, b;
  int k, block;  // 0: no factors
  bool is_ue4m3 = false;
};
constexpr TileCase kTiles[] = {
    {kE2m3, kE3m2, 32, 0},  {kE2m1, kE4m3, 32, 0},  {kE5m2, kE2m1, 32, 0},
    {kE4m3, kE4m3, 32, 32}, {kE5m2, kE2m3, 32, 32}, {kE3m2, kE2m1, 32, 32},
    {kE2m1, kE2m1, 64, 32}, {kE2m1, kE2m1, 64, 16}, {kE2m1, kE2m1, 64, 16, true}};

// `spread`: how far exponents of factors lie apart.
void CompareTile(std::mt19937& random, const TileCase& c, Element d_type, uint32_t spread) {
  TileForm form{TensorUnit::kTcgen05, 20, 16, c.k, c.a, c.b, d_type, false, 100};
  const auto m = static_cast<size_t>(form.m), n = static_cast<size_t>(form.n),
             k = static_cast<size_t>(form.k);
  const Bits a = Draw(random, m * k, BitsOf(c.a)), b = Draw(random, k * n, BitsOf(c.b));
  const size_t factors = c.block == 0 ? 1 : k / static_cast<size_t>(c.block);
  const auto scales_of = [&](size_t rows) {
    Bits scales(rows * factors);
    for (uint64_t& scale : scales) {
      scale = c.is_ue4m3 ? random() % 128 : 127 + random() % spread - spread / 2;
      if (random() % 97 == 0) scale = c.is_ue4m3 ? 127 : 255;
    }
    return scales;
  };
  const Bits a_scales = scales_of(m), b_scales = scales_of(n);
  const std::vector<uint8_t> a_scale_bytes = AsBytes(a_scales), b_scale_bytes = AsBytes(b_scales);
  const BlockScales scales{c.block, c.is_ue4m3, a_scale_bytes.data(), b_scale_bytes.data()};
  if (c.block != 0) form.scales = &scales;
  const Status status = CheckTile(form);
  ASSERT_TRUE(status.has_value()) << status.error().ToString();
  const size_t width = d_type == kF16 ? 2 : 4;
  std::vector<std::byte> d(m * n * width);
  Bits sums(m * n);
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = d_type == kF16
                  ? random() % 0x7c00
                  : std::bit_cast<uint32_t>(
                        static_cast<float>(static_cast<int>(random() % 2000) - 1000) / 64);
    std::memcpy(d.data() + i * width, &sums[i], width);
  }
  const std::vector<uint8_t> a_bytes = AsBytes(a), b_bytes = AsBytes(b);
  MultiplyTile(form, Data(a_bytes), Data(b_bytes), d.data(), d.data());
  const ReferenceRule rule{form.k, 25, 23};
  for (int i = 0; i < form.m; ++i) {
    for (int j = 0; j < form.n; ++j) {
      const size_t at = static_cast<size_t>(i) * n + static_cast<size_t>(j);
      uint64_t bits = 0;
      std::memcpy(&bits, d.data() + at * width, width);
      const uint64_t want =
          c.block == 0
              ? ReferenceSum(a, b, sums[at], i, j, form.n, form.k, c.a, c.b, d_type, false, rule)
              : ReferenceScaledSum(a, b, sums[at], i, j, form.n, form.k, c.a, c.b, d_type,
                                   {c.block, c.is_ue4m3, a_scales, b_scales}, rule);
      ASSERT_EQ(bits, want) << NameOf(c.a) << " " << NameOf(c.b) << " block " << c.block
                            << " spread " << spread << " at " << i << ", " << j;
    }
  }
}

TEST(PtxNarrow, TilesHaveTheBitsOfTheReference) {
  std::mt19937 random(5);
  for (const TileCase& c : kTiles) {
    for (const uint32_t spread : {1u, 6u, 40u, 250u}) {
      for (int i = 0; i < 5; ++i) CompareTile(random, c, kF32, spread);
    }
    if (c.block == 0) CompareTile(random, c, kF16, 1);
  }
}

// A code of a small number for each type: its bits, and what they are.
struct Code {
  uint32_t bits;
  float value;
};
std::vector<Code> CodesOf(Element type) {
  switch (type) {
    case kE2m1:
      return {{0, 0}, {2, 1}, {4, 2}, {5, 3}, {10, -1}, {12, -2}, {13, -3}};
    case kE2m3:
      return {{0, 0}, {8, 1}, {16, 2}, {20, 3}, {40, -1}, {48, -2}, {52, -3}};
    case kE3m2:
      return {{0, 0}, {12, 1}, {16, 2}, {18, 3}, {44, -1}, {48, -2}, {50, -3}};
    case kE5m2:
      return {{0, 0}, {0x3c, 1}, {0x40, 2}, {0x42, 3}, {0xbc, -1}, {0xc0, -2}, {0xc2, -3}};
    default:
      return {{0, 0}, {0x38, 1}, {0x40, 2}, {0x44, 3}, {0xb8, -1}, {0xc0, -2}, {0xc4, -3}};
  }
}

struct NarrowMatrix {
  Element type;
  uint32_t rows, depth;
  std::vector<Code> codes;  // [row][k]
  const Code& At(uint32_t row, uint32_t k) const { return codes[row * depth + k]; }
};

NarrowMatrix RandomMatrix(Element type, uint32_t rows, uint32_t depth, uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<Code> codes = CodesOf(type);
  NarrowMatrix m{type, rows, depth, {}};
  for (uint32_t i = 0; i < rows * depth; ++i) m.codes.push_back(codes[random() % codes.size()]);
  return m;
}

// Rows of 32 bytes without a swizzle: two chunks, each of sixteen elements of so many bits and
// what is left of 16 bytes, or of 32 elements of four bits.
constexpr uint32_t kRowStride = 256, kChunkStride = 128;
std::vector<std::byte> Image(const NarrowMatrix& m, size_t bytes) {
  std::vector<std::byte> image(bytes, std::byte{0xa5});
  const uint32_t per = m.depth / 2, bits = static_cast<uint32_t>(BitsOf(m.type));
  for (uint32_t row = 0; row < m.rows; ++row) {
    for (uint32_t k = 0; k < m.depth; ++k) {
      const size_t chunk = row / 8 * kRowStride + k / per * kChunkStride + row % 8 * 16;
      for (uint32_t bit = 0; bit < bits; ++bit) {
        const uint32_t at = k % per * bits + bit;
        std::byte& byte = image[chunk + at / 8];
        byte &= ~(std::byte{1} << at % 8);
        byte |= std::byte(m.At(row, k).bits >> bit & 1) << at % 8;
      }
    }
  }
  return image;
}

std::string DescriptorOf(const std::string& to, uint32_t offset, uint32_t leading,
                         uint32_t stride) {
  const uint64_t rest =
      uint64_t{leading / 16} << 16 | uint64_t{stride / 16} << 32 | uint64_t{1} << 46;
  return "add.s32 %r97, %r90, " + std::to_string(offset) +
         ";\nshr.u32 %r97, %r97, 4;\ncvt.u64.u32 " + to + ", %r97;\nor.b64 " + to + ", " + to +
         ", " + std::to_string(rest) + ";\n";
}

// Allocates 64 columns whose first is in %r82; %r83 is the same with the lanes of the warp; %p1 is
// the first warp, %p2 the first thread.
const std::string kAllocate =
    "add.s32 %r80, %r90, 65528;\nadd.s32 %r81, %r90, 65520;\nsetp.eq.s32 %p1, %r91, 0;\n"
    "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r80], 64;\n"
    "setp.eq.s32 %p2, %r1, 0;\n@%p2 mbarrier.init.shared::cta.b64 [%r81], 1;\nbar.sync 0;\n"
    "ld.shared.b32 %r82, [%r80];\nshl.b32 %r83, %r91, 21;\nadd.s32 %r83, %r83, %r82;\n";
// Waits for what %p2 issued.
const std::string kWait =
    "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r81];\n"
    "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r81], 0;\n@!%p4 bra wait;\n"
    "tcgen05.fence::after_thread_sync;\n";
const std::string kFree =
    "bar.sync 0;\n@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r82, 64;\n";

// Every thread stores `count` columns of its lane from `first` on.
std::string StoreColumns(uint32_t first, uint32_t count) {
  std::string text = "tcgen05.ld.sync.aligned.32x32b.x" + std::to_string(count) + ".b32 {" +
                     Registers(10, count) + "}, [%r83+" + std::to_string(first) +
                     "];\ntcgen05.wait::ld.sync.aligned;\nmul.wide.u32 %rd10, %r1, " +
                     std::to_string(4 * count) + ";\nadd.s64 %rd10, %rd3, %rd10;\n";
  for (uint32_t i = 0; i < count; ++i)
    text +=
        "st.global.b32 [%rd10+" + std::to_string(4 * i) + "], %r" + std::to_string(10 + i) + ";\n";
  return text;
}

struct ProductCase {
  const char* kind;
  Element a, b;
  uint32_t depth;
  uint32_t block = 0;  // 0: no factors
  bool is_ue4m3 = false;
  uint32_t a_byte = 0, b_byte = 0;  // of the factors in their cells
  bool in_memory = false;           // A in tensor memory
  bool a_negative = false;
  const char* modifiers = "";
};

uint32_t FormatOf(Element type) {
  return type == kE5m2 ? 1 : type == kE2m3 ? 3 : type == kE3m2 ? 4 : type == kE2m1 ? 5 : 0;
}

constexpr uint32_t kRows = 128, kColumns = 32;
// Offsets in shared memory: A, B, factors of A and of B; in tensor memory: D, A, factors.
constexpr uint32_t kB = 16384, kScalesA = 32768, kScalesB = 33280;
constexpr uint32_t kColumnOfA = 32, kColumnOfScalesA = 40, kColumnOfScalesB = 44;

void ExpectProduct(const ProductCase& c) {
  const NarrowMatrix a = RandomMatrix(c.a, kRows, c.depth, 3),
                     b = RandomMatrix(c.b, kColumns, c.depth, 4);
  std::vector<std::byte> image = Image(a, 65024);
  const std::vector<std::byte> b_image = Image(b, kRowStride * kColumns / 8);
  std::copy(b_image.begin(), b_image.end(), image.begin() + kB);
  // Factors of 2^0 to 2^3, or 1.5 times that; bytes that no row is to read are NaN.
  std::mt19937 random(6);
  const uint32_t factors = c.block == 0 ? 0 : c.depth / c.block;
  std::vector<float> scales[2];
  for (const bool is_b : {false, true}) {
    const uint32_t rows = is_b ? kColumns : kRows, base = is_b ? kScalesB : kScalesA;
    for (uint32_t i = 0; i < 512; ++i) image[base + i] = std::byte{0xff};
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t i = 0; i < factors; ++i) {
        const uint32_t power = random() % 4, half = c.is_ue4m3 ? random() % 2 : 0;
        scales[is_b].push_back(std::ldexp(half != 0 ? 1.5f : 1.0f, static_cast<int>(power)));
        image[base + row % 32 * 16 + row / 32 * 4 + (is_b ? c.b_byte : c.a_byte) + i] =
            std::byte(c.is_ue4m3 ? (7 + power) << 3 | half << 2 : 127 + power);
      }
    }
  }
  const bool is_mxf4 = c.depth == 64;
  uint32_t descriptor = (is_mxf4 ? 1u << 7 | 1u << 10 : FormatOf(c.a) << 7 | FormatOf(c.b) << 10) |
                        (c.a_negative ? 1u << 13 : 0) | kColumns / 8 << 17 | kRows / 16 << 24;
  descriptor |=
      c.block == 0 ? 1u << 4 : c.b_byte << 4 | c.a_byte << 29 | (c.is_ue4m3 ? 0 : 1u << 23);
  std::string text = kAllocate;
  std::vector<std::byte> second;
  if (c.in_memory) {
    // Elements of four and six bits have a byte each, but for pairs of four bits.
    std::vector<std::byte> rows(kRows * 32);
    for (uint32_t row = 0; row < kRows; ++row) {
      for (uint32_t k = 0; k < c.depth; ++k) {
        const uint32_t bits = a.At(row, k).bits;
        rows[row * 32 + (is_mxf4 ? k / 2 : k)] |= std::byte(is_mxf4            ? bits << k % 2 * 4
                                                            : BitsOf(c.a) == 4 ? bits << 2
                                                                               : bits);
      }
    }
    second = rows;
    text += "mul.wide.u32 %rd12, %r1, 32;\nadd.s64 %rd12, %rd2, %rd12;\n";
    for (uint32_t i = 0; i < 8; ++i)
      text += "ld.global.b32 %r" + std::to_string(50 + i) + ", [%rd12+" + std::to_string(4 * i) +
              "];\n";
    text += "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r83+" + std::to_string(kColumnOfA) + "], {" +
            Registers(50, 8) + "};\ntcgen05.wait::st.sync.aligned;\nbar.sync 0;\n";
  }
  text += DescriptorOf("%rd11", 0, kChunkStride, kRowStride) +
          DescriptorOf("%rd13", kB, kChunkStride, kRowStride) +
          DescriptorOf("%rd14", kScalesA, 0, 128) + DescriptorOf("%rd15", kScalesB, 0, 128);
  const std::string a_scales = std::to_string(kColumnOfScalesA),
                    b_scales = std::to_string(kColumnOfScalesB);
  if (c.block != 0) {
    text += "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r82+" + a_scales +
            "], %rd14;\n@%p2 tcgen05.cp.cta_group::1.warpx4.32x128b [%r82+" + b_scales +
            "], %rd15;\n";
  }
  text += "mov.b32 %r85, " + std::to_string(descriptor) + ";\nsetp.eq.s32 %p3, 0, 1;\n" +
          "@%p2 tcgen05.mma.cta_group::1.kind::" + c.kind + c.modifiers + " [%r82], " +
          (c.in_memory ? "[%r82+" + std::to_string(kColumnOfA) + "]" : "%rd11") +
          ", %rd13, %r85, " +
          (c.block != 0 ? "[%r82+" + a_scales + "], [%r82+" + b_scales + "], " : "") + "%p3;\n" +
          kWait + StoreColumns(0, kColumns) + kFree;
  const Ran ran = RunGroup(text, image, kRows * kColumns * 4, 128, "sm_100a", second);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<float>(2);
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t column = 0; column < kColumns; ++column) {
      float want = 0;
      for (uint32_t k = 0; k < c.depth; ++k) {
        float term = a.At(row, k).value * b.At(column, k).value;
        if (c.block != 0) {
          term *=
              scales[0][row * factors + k / c.block] * scales[1][column * factors + k / c.block];
        }
        want += c.a_negative ? -term : term;
      }
      ASSERT_EQ(out[row * kColumns + column], want)
          << c.kind << " " << NameOf(c.a) << " row " << row << " column " << column;
    }
  }
}

TEST(PtxNarrow, ProductsInTensorMemory) {
  for (const bool in_memory : {false, true}) {
    for (const Element type : {kE2m1, kE2m3, kE3m2}) {
      ExpectProduct({.kind = "f8f6f4", .a = type, .b = kE4m3, .depth = 32, .in_memory = in_memory});
    }
    for (const Element type : {kE2m1, kE2m3, kE3m2, kE4m3, kE5m2}) {
      ExpectProduct({.kind = "mxf8f6f4",
                     .a = type,
                     .b = kE2m1,
                     .depth = 32,
                     .block = 32,
                     .a_byte = 1,
                     .b_byte = 3,
                     .in_memory = in_memory,
                     .modifiers = ".block_scale.scale_vec::1X"});
    }
    ExpectProduct({.kind = "mxf4",
                   .a = kE2m1,
                   .b = kE2m1,
                   .depth = 64,
                   .block = 32,
                   .a_byte = 2,
                   .in_memory = in_memory,
                   .modifiers = ".block_scale.scale_vec::2X"});
    ExpectProduct({.kind = "mxf4nvf4",
                   .a = kE2m1,
                   .b = kE2m1,
                   .depth = 64,
                   .block = 16,
                   .is_ue4m3 = true,
                   .in_memory = in_memory,
                   .modifiers = ".block_scale.scale_vec::4X"});
  }
  ExpectProduct({.kind = "f8f6f4",
                 .a = kE4m3,
                 .b = kE3m2,
                 .depth = 32,
                 .a_negative = true,
                 .modifiers = ".collector::a::lastuse"});
  ExpectProduct({.kind = "mxf8f6f4",
                 .a = kE2m1,
                 .b = kE5m2,
                 .depth = 32,
                 .block = 32,
                 .a_negative = true,
                 .modifiers = ".block_scale"});
  ExpectProduct({.kind = "mxf4nvf4",
                 .a = kE2m1,
                 .b = kE2m1,
                 .depth = 64,
                 .block = 32,
                 .b_byte = 2,
                 .modifiers = ".block_scale.block32.collector::a::fill"});
}

// mma.sync of sm_120: elements and factors where the PTX ISA puts them in lanes.
struct WarpCase {
  const char* modifiers;
  const char* types;
  Element a, b;
  int depth, block;  // 0: no factors
  bool is_ue4m3 = false;
  uint32_t a_byte = 0, a_thread = 0, b_byte = 0, b_thread = 0;
};

void ExpectWarp(const WarpCase& c, uint32_t seed) {
  std::mt19937 random(seed);
  const bool pairs = c.depth == 64;
  const auto k = static_cast<size_t>(c.depth);
  const Bits a = Draw(random, 16 * k, BitsOf(c.a)), b = Draw(random, 8 * k, BitsOf(c.b));
  const int factors = c.block == 0 ? 0 : c.depth / c.block;
  const auto scales = [&](size_t rows) {
    Bits drawn(rows * static_cast<size_t>(std::max(factors, 1)));
    for (uint64_t& scale : drawn) scale = c.is_ue4m3 ? 0x20 + random() % 0x30 : 120 + random() % 14;
    return drawn;
  };
  const Bits a_scales = scales(16), b_scales = scales(8), sums = Draw(random, 16 * 8, 4);
  // Places of bytes, or of pairs as of integers of four bits.
  const Element place = pairs ? kS4 : kE4m3;
  const MmaForm form{16, 8, c.depth, place, place, kF32, kF32};
  std::vector<uint32_t> lanes(32 * 12);
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t* const own = &lanes[static_cast<size_t>(lane) * 12];
    const int per = pairs ? 8 : 4, width = 32 / per;
    const auto put = [&](uint32_t* registers, int count, bool is_b) {
      for (int e = 0; e < count * per; ++e) {
        const auto at = is_b ? PlaceInB(form, lane, e) : PlaceInA(form, lane, e);
        const int row = is_b ? at.second : at.first, l = is_b ? at.first : at.second;
        const Element type = is_b ? c.b : c.a;
        const auto bits = static_cast<uint32_t>(
            (is_b ? b : a)[static_cast<size_t>(row) * k + static_cast<size_t>(l)]);
        registers[e / per] |= (!pairs && type == kE2m1 ? bits << 2 : bits) << (e % per * width);
      }
    };
    put(own, 4, false);
    put(own + 4, 2, true);
    for (int e = 0; e < 4; ++e) {
      const auto at = PlaceInC(form, lane, e);
      own[6 + e] = std::bit_cast<uint32_t>(
          static_cast<float>(sums[static_cast<size_t>(at.first * 8 + at.second)]));
    }
    own[10] = own[11] = 0xffffffff;  // NaN where no row is to read
    const auto factor = [&](uint32_t& cell, const Bits& from, int row, uint32_t byte) {
      for (int i = 0; i < factors; ++i) {
        const uint32_t at = 8 * (byte + static_cast<uint32_t>(i));
        cell = (cell & ~(0xffu << at)) |
               static_cast<uint32_t>(from[static_cast<size_t>(row * factors + i)]) << at;
      }
    };
    if (lane % 4 / 2 == static_cast<int>(c.a_thread))
      factor(own[10], a_scales, lane / 4 + lane % 2 * 8, c.a_byte);
    if (lane % 4 == static_cast<int>(c.b_thread)) factor(own[11], b_scales, lane / 4, c.b_byte);
  }
  std::string text = "mul.wide.u32 %rd10, %r1, 48;\nadd.s64 %rd11, %rd2, %rd10;\n";
  for (uint32_t i = 0; i < 12; ++i)
    text +=
        "ld.global.b32 %r" + std::to_string(10 + i) + ", [%rd11+" + std::to_string(4 * i) + "];\n";
  text += std::string("mma.sync.aligned.m16n8k") + std::to_string(c.depth) + ".row.col." +
          c.modifiers + ".f32." + c.types + " {" + Registers(30, 4) + "}, {" + Registers(10, 4) +
          "}, {" + Registers(14, 2) + "}, {" + Registers(16, 4) + "}";
  if (c.block != 0) {
    text += ", %r20, {" + std::to_string(c.a_byte) + ", " + std::to_string(c.a_thread) +
            "}, %r21, {" + std::to_string(c.b_byte) + ", " + std::to_string(c.b_thread) + "}";
  }
  text += ";\nmul.wide.u32 %rd10, %r1, 16;\nadd.s64 %rd10, %rd3, %rd10;\n";
  for (uint32_t i = 0; i < 4; ++i)
    text +=
        "st.global.b32 [%rd10+" + std::to_string(4 * i) + "], %r" + std::to_string(30 + i) + ";\n";
  const Ran ran = RunGroup(text, {}, 32 * 16, 32, "sm_120a", Bytes(lanes));
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  Bits columns(8 * k);
  for (size_t n = 0; n < 8; ++n)
    for (size_t l = 0; l < k; ++l) columns[l * 8 + n] = b[n * k + l];
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < 4; ++e) {
      const auto [i, j] = PlaceInC(form, lane, e);
      const uint64_t sum =
          std::bit_cast<uint32_t>(static_cast<float>(sums[static_cast<size_t>(i * 8 + j)]));
      const ReferenceRule rule{c.depth, 25, 23};
      const uint64_t want =
          c.block == 0
              ? ReferenceSum(a, columns, sum, i, j, 8, c.depth, c.a, c.b, kF32, false, rule)
              : ReferenceScaledSum(a, columns, sum, i, j, 8, c.depth, c.a, c.b, kF32,
                                   {c.block, c.is_ue4m3, a_scales, b_scales}, rule);
      ASSERT_EQ(out[static_cast<size_t>(lane * 4 + e)], want) << c.modifiers << " " << c.types;
    }
  }
}

TEST(PtxNarrow, ProductsOfWarps) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    ExpectWarp({"kind::f8f6f4", "e2m1.e3m2.f32", kE2m1, kE3m2, 32, 0}, seed);
    ExpectWarp({"kind::f8f6f4", "e2m3.e5m2.f32", kE2m3, kE5m2, 32, 0}, seed);
    ExpectWarp({"kind::mxf8f6f4.block_scale.scale_vec::1X", "e4m3.e2m1.f32.ue8m0", kE4m3, kE2m1, 32,
                32, false, 1, 1, 3, 2},
               seed);
    ExpectWarp(
        {"kind::mxf4.block_scale", "e2m1.e2m1.f32.ue8m0", kE2m1, kE2m1, 64, 32, false, 2, 0, 0, 3},
        seed);
    ExpectWarp({"kind::mxf4nvf4.block_scale.scale_vec::2X", "e2m1.e2m1.f32.ue8m0", kE2m1, kE2m1, 64,
                32, false, 0, 1, 2, 1},
               seed);
    ExpectWarp({"kind::mxf4nvf4.block_scale.scale_vec::4X", "e2m1.e2m1.f32.ue4m3", kE2m1, kE2m1, 64,
                16, true, 0, 1, 0, 0},
               seed);
  }
}

// Where each row of shared memory goes, and what becomes of packed elements.
TEST(PtxNarrow, CopiesToTensorMemory) {
  struct Case {
    const char* form;
    uint32_t rows, chunks;
    std::vector<uint32_t> (*lanes)(uint32_t row);
  };
  const Case cases[] = {
      {"128x256b", 128, 2, [](uint32_t r) { return std::vector{r}; }},
      {"4x256b", 4, 2, [](uint32_t r) { return std::vector{32 * r}; }},
      {"128x128b", 128, 1, [](uint32_t r) { return std::vector{r}; }},
      {"64x128b.warpx2::02_13", 64, 1, [](uint32_t r) { return std::vector{r, r + 64}; }},
      {"64x128b.warpx2::01_23", 64, 1,
       [](uint32_t r) { return std::vector{r / 32 * 64 + r % 32, r / 32 * 64 + r % 32 + 32}; }},
      {"32x128b.warpx4", 32, 1, [](uint32_t r) { return std::vector{r, r + 32, r + 64, r + 96}; }}};
  std::vector<std::byte> image(128 * 32);
  for (size_t i = 0; i < image.size(); ++i) image[i] = std::byte((i * 37 + i / 256) & 0xff);
  for (const Case& c : cases) {
    for (const uint32_t bits : {8u, 6u, 4u}) {
      const std::string packing = bits == 8   ? ""
                                  : bits == 6 ? ".b8x16.b6x16_p32"
                                              : ".b8x16.b4x16_p64";
      const Ran ran = RunGroup(
          kAllocate +
              "mov.b32 %r10, 0;\ntcgen05.st.sync.aligned.32x32b.x8.b32 [%r83], {%r10, "
              "%r10, %r10, %r10, %r10, %r10, %r10, %r10};\n"
              "tcgen05.wait::st.sync.aligned;\nbar.sync 0;\n" +
              DescriptorOf("%rd11", 0, kChunkStride, kRowStride) + "@%p2 tcgen05.cp.cta_group::1." +
              c.form + packing + " [%r82], %rd11;\n" + kWait + StoreColumns(0, 8) + kFree,
          image, 128 * 32, 128, "sm_100a");
      ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
      std::vector<std::byte> want(128 * 32);
      for (uint32_t row = 0; row < c.rows; ++row) {
        for (uint32_t chunk = 0; chunk < c.chunks; ++chunk) {
          const std::byte* from =
              &image[row / 8 * kRowStride + chunk * kChunkStride + row % 8 * 16];
          for (uint32_t i = 0; i < 16; ++i) {
            uint32_t element = 0;
            for (uint32_t bit = 0; bit < bits; ++bit) {
              const uint32_t at = i * bits + bit;
              element |= (static_cast<uint32_t>(from[at / 8]) >> at % 8 & 1) << bit;
            }
            for (const uint32_t lane : c.lanes(row))
              want[lane * 32 + chunk * 16 + i] = std::byte(bits == 4 ? element << 2 : element);
          }
        }
      }
      EXPECT_EQ(ran.As<std::byte>(2), want) << c.form << packing;
    }
  }
}

// In double precision: 1 + 2^-30 in f32 is what its steps would drop.
TEST(PtxNarrow, SumsCanBeSwitchedToDoublePrecision) {
  TileForm form{TensorUnit::kTcgen05, 1, 8, 32, kE2m3, kE4m3, kF32, false, 100};
  std::vector<uint8_t> a(32), b(32 * 8), of_a{127}, of_b(8, 127);
  a[0] = a[1] = 8;  // 1
  for (int n = 0; n < 8; ++n) {
    b[static_cast<size_t>(n)] = 0x7e;      // 448
    b[static_cast<size_t>(8 + n)] = 0x01;  // 2^-9
  }
  float sums[8];
  std::fill_n(sums, 8, -448.0f);
  const auto run = [&](auto multiply) {
    std::vector<std::byte> d(32);
    multiply(form, Data(a), Data(b), reinterpret_cast<const std::byte*>(sums), d.data());
    float first;
    std::memcpy(&first, d.data(), sizeof first);
    return first;
  };
  EXPECT_EQ(run(MultiplyTile), 0x1p-9f);
  EXPECT_EQ(run(MultiplyNarrowTileExactly), 0x1p-9f);
  of_a[0] = 100;  // both products times 2^-27: below the last bit that a step keeps
  const BlockScales scales{32, false, of_a.data(), of_b.data()};
  form.scales = &scales;
  EXPECT_EQ(run(MultiplyNarrowTileExactly), static_cast<float>(-448 + 448.001953125 * 0x1p-27));
}

// All numbers of eight bits and fewer are bf16.
TEST(PtxNarrow, AsBf16) {
  for (const auto& [name, format, bits] : {std::tuple{"e4m3x2", kFormatE4m3, 8},
                                           {"e5m2x2", kFormatE5m2, 8},
                                           {"e2m3x2", kFormatE2m3, 6},
                                           {"e3m2x2", kFormatE3m2, 6}}) {
    const auto module = Module::Parse(
        KernelText("mov.b32 %r2, %r1;\nshl.b32 %r3, %r1, 8;\nor.b32 %r2, %r2, %r3;\n"
                   "cvt.u16.u32 %rs1, %r2;\ncvt.rn.bf16x2." +
                       std::string(name) +
                       " %r4, %rs1;\nmul.wide.u32 %rd10, %r1, 4;\nadd.s64 %rd10, %rd3, %rd10;\n"
                       "st.global.b32 [%rd10], %r4;",
                   "sm_120a"),
        "k.ptx");
    ASSERT_TRUE(module.has_value());
    std::vector<uint32_t> out(size_t{1} << bits);
    std::vector<std::byte> none[2];
    LaunchRequest request;
    request.entry = "k";
    request.block = {static_cast<uint32_t>(out.size()), 1, 1};
    for (auto& memory : none) request.arguments.push_back({memory, {}});
    request.arguments.push_back({std::as_writable_bytes(std::span(out)), {}});
    const auto result = Launch(*module, request, {});
    ASSERT_TRUE(result.has_value()) << result.error().ToString();
    ASSERT_FALSE(result->fault.has_value()) << result->fault->ToString();
    for (uint32_t i = 0; i < out.size(); ++i) {
      const double value = FromNarrow(i, format);
      const auto half = std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
      const uint32_t want = value != value ? 0x7fff : half;
      EXPECT_EQ(out[i], want << 16 | want) << name << " " << i;
    }
  }
}

TEST(PtxNarrow, WhatTheyCannotDoIsAFault) {
  const auto fault = [](const std::string& body) {
    const Ran ran = RunGroup(kAllocate + body, {}, 4, 128, "sm_100a");
    return ran.result.fault.has_value() ? ran.result.fault->what : "";
  };
  const std::string tile = DescriptorOf("%rd11", 0, kChunkStride, kRowStride);
  const auto scaled = [&](uint32_t descriptor, const std::string& kind) {
    return fault(tile + "mov.b32 %r85, " + std::to_string(descriptor) +
                 ";\nsetp.eq.s32 %p3, 0, 1;\n@%p2 tcgen05.mma.cta_group::1.kind::" + kind +
                 " [%r82], %rd11, %rd11, %r85, [%r82+40], [%r82+44], %p3;\n");
  };
  const uint32_t shape = 32 / 8 << 17 | 128 / 16 << 24, ue8m0 = 1u << 23;
  EXPECT_EQ(scaled(shape, "mxf8f6f4.block_scale"),
            "tcgen05.mma with scale factors of this format for so many elements");
  EXPECT_EQ(scaled(shape | ue8m0 | 4, "mxf8f6f4.block_scale"),
            "tcgen05.mma of sparse matrices is not executed");
  EXPECT_EQ(scaled(shape | ue8m0 | 1u << 7 | 1u << 10 | 1u << 31, "mxf4.block_scale"),
            "tcgen05.mma of e2m1 with transposed matrices, or 96 elements along k");
  EXPECT_EQ(scaled(shape | ue8m0 | 1u << 7 | 1u << 10 | 1u << 29, "mxf4.block_scale"),
            "the scale factors of a row start at a byte that is not a multiple of their number");
  // Lane 0 of the first quarter alone.
  EXPECT_EQ(fault("mov.b32 %r10, 0x7f7f7f7f;\n@%p1 tcgen05.st.sync.aligned.32x32b.x1.b32 "
                  "[%r82+40], {%r10};\nbar.sync 0;\n" +
                  tile + "mov.b32 %r85, " + std::to_string(shape | ue8m0) +
                  ";\nsetp.eq.s32 %p3, 0, 1;\n@%p2 tcgen05.mma.cta_group::1.kind::mxf8f6f4."
                  "block_scale [%r82], %rd11, %rd11, %r85, [%r82+40], [%r82+44], %p3;\n"),
            "scale factors that are not the same in all quarters of tensor memory");
  EXPECT_EQ(fault(tile + "@%p2 tcgen05.cp.cta_group::1.128x128b [%r82+64], %rd11;"),
            "columns of tensor memory that were not allocated");
  EXPECT_EQ(fault(tile + "add.s32 %r84, %r82, 0x200000;\n"
                         "@%p2 tcgen05.cp.cta_group::1.128x128b [%r84], %rd11;"),
            "a copy that goes beyond the 128 lanes of tensor memory");
}

}  // namespace
}  // namespace hloscope::ptx
