// wgmma and tcgen05.mma: every layout of a matrix in shared memory, A in registers and in tensor
// memory, signs, types; on small numbers, whose sums are exact.
#include <bit>
#include <random>

#include "core/ptx/machine/rounding.h"
#include "core/ptx/switches/switches.h"
#include "tests/ptx/group_kernel.h"

namespace hloscope::ptx {
namespace {

struct TypeCase {
  const char* text;
  uint32_t bytes;
  uint32_t (*encode)(int);
  bool integers = false;
};
constexpr TypeCase kF16{"f16", 2, [](int v) { return ToNarrow(v, kFormatF16); }};
constexpr TypeCase kBf16{"bf16", 2, [](int v) { return ToNarrow(v, kFormatBf16); }};
constexpr TypeCase kTf32{"tf32", 4,
                         [](int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }};
constexpr TypeCase kE4m3{"e4m3", 1, [](int v) { return ToNarrow(v, kFormatE4m3); }};
constexpr TypeCase kE5m2{"e5m2", 1, [](int v) { return ToNarrow(v, kFormatE5m2); }};
constexpr TypeCase kS8{"s8", 1, [](int v) { return static_cast<uint32_t>(v) & 0xff; }, true};

SmallMatrix Random(const TypeCase& type, uint32_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  SmallMatrix m{rows, 32 / type.bytes, type.bytes, {}, type.encode};
  for (uint32_t i = 0; i < rows * m.depth; ++i)
    m.values.push_back(static_cast<int>(random() % 7) - 3);
  return m;
}

int Dot(const SmallMatrix& a, uint32_t row, const SmallMatrix& b, uint32_t column) {
  int sum = 0;
  for (uint32_t k = 0; k < a.depth; ++k) sum += a.At(row, k) * b.At(column, k);
  return sum;
}

int ValueOf(uint32_t bits, bool integers) {
  return integers ? static_cast<int>(bits) : static_cast<int>(std::bit_cast<float>(bits));
}

// mov of a descriptor into a register of 64 bits; its start is added to the address in %r90.
std::string Descriptor(const std::string& to, uint32_t offset, const Placed& placed,
                       uint64_t constant_bits) {
  const uint64_t rest =
      constant_bits | uint64_t{placed.leading / 16} << 16 | uint64_t{placed.stride / 16} << 32;
  return "add.s32 %r97, %r90, " + std::to_string(offset) +
         ";\nshr.u32 %r97, %r97, 4;\ncvt.u64.u32 " + to + ", %r97;\nor.b64 " + to + ", " + to +
         ", " + std::to_string(static_cast<int64_t>(rest)) + ";\n";
}

uint64_t WgmmaMode(uint32_t swizzle_bytes) {
  const uint64_t mode = swizzle_bytes == 128  ? 1
                        : swizzle_bytes == 64 ? 2
                        : swizzle_bytes == 32 ? 3
                                              : 0;
  return mode << 62 | (mode == 0 ? uint64_t{4} << 49 : 0);
}

uint64_t Tcgen05Mode(uint32_t swizzle_bytes) {
  const uint64_t mode = swizzle_bytes == 128  ? 2
                        : swizzle_bytes == 64 ? 4
                        : swizzle_bytes == 32 ? 6
                                              : 0;
  // Without a swizzle it does not count where a pattern begins.
  return mode << 61 | uint64_t{1} << 46 | (mode == 0 ? uint64_t{4} << 49 : 0);
}

std::vector<std::byte> Images(const Placed& a, const Placed& b) {
  std::vector<std::byte> image = a.image;
  image.insert(image.end(), b.image.begin(), b.image.end());
  return image;
}

constexpr uint32_t kColumns = 32, kSums = kColumns / 2;

// Every thread stores its sums one after the other.
const std::string kStoreSums = [] {
  std::string text = "mul.wide.u32 %rd10, %r1, 64;\nadd.s64 %rd10, %rd3, %rd10;\n";
  for (uint32_t i = 0; i < kSums; ++i) {
    text +=
        "st.global.b32 [%rd10+" + std::to_string(4 * i) + "], %r" + std::to_string(10 + i) + ";\n";
  }
  return text;
}();

struct WgmmaCase {
  TypeCase type;
  bool a_transposed = false, b_transposed = false;
  uint32_t swizzle = 128;
  bool in_registers = false;
  int a_sign = 1, b_sign = 1;
  bool adds = false;
};

void ExpectWgmma(const WgmmaCase& c) {
  const SmallMatrix a = Random(c.type, 64, 1), b = Random(c.type, kColumns, 2);
  const Placed pa = Place(a, c.a_transposed, c.swizzle), pb = Place(b, c.b_transposed, c.swizzle);
  std::string text = "wgmma.fence.sync.aligned;\n";
  for (uint32_t i = 0; i < kSums; ++i)
    text +=
        "mov.b32 %r" + std::to_string(10 + i) + (c.type.integers ? ", 5;\n" : ", 0f40A00000;\n");
  std::string a_text = "%rd11";
  std::vector<std::byte> second;
  if (c.in_registers) {
    // Four registers of a thread: rows l / 4 and l / 4 + 8 of its warp's, bytes 4 * (l % 4) and
    // those 16 further.
    std::vector<uint32_t> fragments;
    for (uint32_t t = 0; t < 128; ++t) {
      for (uint32_t r = 0; r < 4; ++r) {
        const uint32_t row = t / 32 * 16 + t % 32 / 4 + (r % 2 == 1 ? 8 : 0);
        const uint32_t first = (t % 4 * 4 + (r >= 2 ? 16 : 0)) / c.type.bytes;
        uint32_t bits = 0;
        for (uint32_t p = 0; p < 4 / c.type.bytes; ++p)
          bits |= c.type.encode(a.At(row, first + p)) << (8 * c.type.bytes * p);
        fragments.push_back(bits);
      }
    }
    second = Bytes(fragments);
    text +=
        "shl.b64 %rd12, %rd4, 2;\nadd.s64 %rd12, %rd2, %rd12;\nld.global.v4.b32 {%r50, %r51, "
        "%r52, %r53}, [%rd12];\n";
    a_text = "{%r50, %r51, %r52, %r53}";
  } else {
    text += Descriptor("%rd11", 0, pa, WgmmaMode(c.swizzle));
  }
  text += Descriptor("%rd13", kGroupShared / 2, pb, WgmmaMode(c.swizzle));
  text += "setp.eq.s32 %p1, 0, " + std::string(c.adds ? "0" : "1") + ";\n";
  const bool is_half = c.type.bytes == 2;
  text += "wgmma.mma_async.sync.aligned.m64n32k" + std::to_string(32 / c.type.bytes) +
          (c.type.integers ? ".s32." : ".f32.") + c.type.text + "." + c.type.text + " {" +
          Registers(10, kSums) + "}, " + a_text + ", %rd13, %p1";
  if (!c.type.integers) text += ", " + std::to_string(c.a_sign) + ", " + std::to_string(c.b_sign);
  if (is_half && !c.in_registers) text += c.a_transposed ? ", 1" : ", 0";
  if (is_half) text += c.b_transposed ? ", 1" : ", 0";
  text += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" + kStoreSums;
  const Ran ran = RunGroup(text, Images(pa, pb), 128 * 64, 128, "sm_90a", second);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  for (uint32_t t = 0; t < 128; ++t) {
    for (uint32_t r = 0; r < kSums; ++r) {
      const uint32_t row = t / 32 * 16 + t % 32 / 4 + (r % 4 >= 2 ? 8 : 0);
      const uint32_t column = r / 4 * 8 + t % 4 * 2 + r % 2;
      const int want = c.a_sign * c.b_sign * Dot(a, row, b, column) + (c.adds ? 5 : 0);
      ASSERT_EQ(ValueOf(out[t * kSums + r], c.type.integers), want)
          << c.type.text << " row " << row << " column " << column << " swizzle " << c.swizzle;
    }
  }
}

TEST(PtxWarpGroup, MatricesOfEverySwizzle) {
  for (const uint32_t swizzle : {16u, 32u, 64u, 128u}) {
    ExpectWgmma({.type = kF16, .swizzle = swizzle});
    ExpectWgmma({.type = kBf16, .a_transposed = true, .swizzle = swizzle});
    ExpectWgmma({.type = kBf16, .b_transposed = true, .swizzle = swizzle});
    ExpectWgmma({.type = kTf32, .swizzle = swizzle});
    ExpectWgmma({.type = kE4m3, .swizzle = swizzle});
    ExpectWgmma({.type = kS8, .swizzle = swizzle});
  }
}

TEST(PtxWarpGroup, MatricesInRegistersSignsAndSums) {
  for (const TypeCase& type : {kF16, kBf16, kTf32, kE4m3, kE5m2, kS8})
    ExpectWgmma({.type = type, .in_registers = true, .adds = true});
  ExpectWgmma({.type = kF16, .b_transposed = true, .in_registers = true});
  ExpectWgmma({.type = kBf16, .a_sign = -1, .adds = true});
  ExpectWgmma({.type = kTf32, .b_sign = -1});
  ExpectWgmma({.type = kE5m2, .a_sign = -1, .b_sign = -1, .adds = true});
}

TEST(PtxWarpGroup, AllFourWarpsHaveToCome) {
  const Ran ran = RunGroup(
      "setp.eq.s32 %p1, %r91, 2;\n@%p1 ret;\nmov.b64 %rd11, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %rd11, %rd11, "
      "%p1, 1, 1, 0, 0;",
      {}, 4);
  ASSERT_TRUE(ran.result.fault.has_value());
  EXPECT_EQ(ran.result.fault->what, "a warp group whose four warps do not all arrive");
}

// 1 + 2^-20 is no tf32: products of tf32 lose it, those of f32 keep it.
TEST(PtxWarpGroup, ProductsOfTf32CanBeSwitchedToF32) {
  const TypeCase type{
      "tf32", 4, [](int v) { return std::bit_cast<uint32_t>(v == 0 ? 0.0f : 1.0f + 0x1p-20f); }};
  SmallMatrix a{64, 8, 4, std::vector<int>(64 * 8), type.encode};
  SmallMatrix b{kColumns, 8, 4, std::vector<int>(kColumns * 8), type.encode};
  for (uint32_t i = 0; i < 64; ++i) a.values[i * 8] = 1;
  for (uint32_t i = 0; i < kColumns; ++i) b.values[i * 8] = 1;
  const Placed pa = Place(a, false, 128), pb = Place(b, false, 128);
  const std::string text = Descriptor("%rd11", 0, pa, WgmmaMode(128)) +
                           Descriptor("%rd13", kGroupShared / 2, pb, WgmmaMode(128)) +
                           "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {" +
                           Registers(10, kSums) + "}, %rd11, %rd13, 0, 1, 1;\n" + kStoreSums;
  const SwitchedSteps wide(Switch::kTf32), exact(Switch::kTensorSums);
  LaunchOptions options;
  for (const auto& [changer, want] : {std::pair<const StepChanger*, float>{nullptr, 1.0f},
                                      {&exact, 1.0f},
                                      {&wide, (1.0f + 0x1p-20f) * (1.0f + 0x1p-20f)}}) {
    options.changer = changer;
    const Ran ran = RunGroup(text, Images(pa, pb), 128 * 64, 128, "sm_90a", {}, options);
    ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    for (const float got : ran.As<float>(2)) ASSERT_EQ(got, want);
  }
}

struct TensorCase {
  TypeCase type;
  uint32_t rows = 128;
  bool a_transposed = false, b_transposed = false;
  uint32_t swizzle = 128;
  bool in_memory = false;  // A in tensor memory
  bool a_negative = false, adds = false;
};

uint32_t InstructionDescriptor(const TensorCase& c) {
  const std::string type = c.type.text;
  const uint32_t format = type == "tf32" ? 2 : type == "bf16" || type == "e5m2" || type == "s8";
  return (c.type.integers ? 2u : 1u) << 4 | format << 7 | format << 10 |
         (c.a_negative ? 1u << 13 : 0) | (c.a_transposed ? 1u << 15 : 0) |
         (c.b_transposed ? 1u << 16 : 0) | kColumns / 8 << 17 | c.rows / 16 << 24;
}

// Each of the four warps reads the quarter of tensor memory that it reaches.
void ExpectTcgen05(const TensorCase& c) {
  const SmallMatrix a = Random(c.type, c.rows, 3), b = Random(c.type, kColumns, 4);
  const Placed pa = Place(a, c.a_transposed, c.swizzle), pb = Place(b, c.b_transposed, c.swizzle);
  const std::string five = c.type.integers ? "5" : "0f40A00000";
  std::string text =
      "add.s32 %r80, %r90, 65528;\nadd.s32 %r81, %r90, 65520;\nsetp.eq.s32 %p1, %r91, 0;\n"
      "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r80], 64;\n"
      "@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "setp.eq.s32 %p2, %r1, 0;\n@%p2 mbarrier.init.shared::cta.b64 [%r81], 1;\nbar.sync 0;\n"
      "ld.shared.b32 %r82, [%r80];\nshl.b32 %r83, %r91, 21;\nadd.s32 %r83, %r83, %r82;\n"
      "mov.b32 %r84, " +
      five + ";\ntcgen05.st.sync.aligned.32x32b.x32.b32 [%r83], {%r84";
  for (int i = 1; i < 32; ++i) text += ", %r84";
  text += "};\n";
  std::vector<std::byte> second;
  if (c.in_memory) {
    // A row of A lies in eight columns of a lane, behind the sums.
    std::vector<uint32_t> rows(128 * 8);
    for (uint32_t row = 0; row < c.rows; ++row) {
      const uint32_t lane = c.rows == 64 ? row / 16 * 32 + row % 16 : row;
      for (uint32_t k = 0; k < a.depth; ++k) {
        rows[lane * 8 + k * c.type.bytes / 4] |= c.type.encode(a.At(row, k))
                                                 << (8 * (k * c.type.bytes % 4));
      }
    }
    second = Bytes(rows);
    text += "mul.wide.u32 %rd12, %r1, 32;\nadd.s64 %rd12, %rd2, %rd12;\n";
    for (uint32_t i = 0; i < 8; ++i)
      text += "ld.global.b32 %r" + std::to_string(50 + i) + ", [%rd12+" + std::to_string(4 * i) +
              "];\n";
    text += "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r83+32], {" + Registers(50, 8) + "};\n";
  } else {
    text += Descriptor("%rd11", 0, pa, Tcgen05Mode(c.swizzle));
  }
  text += "tcgen05.wait::st.sync.aligned;\nbar.sync 0;\n";
  text += Descriptor("%rd13", kGroupShared / 2, pb, Tcgen05Mode(c.swizzle));
  const std::string kind = c.type.integers     ? "i8"
                           : c.type.bytes == 1 ? "f8f6f4"
                           : c.type.bytes == 4 ? "tf32"
                                               : "f16";
  text += "setp.eq.s32 %p3, 0, " + std::string(c.adds ? "0" : "1") + ";\nmov.b32 %r85, " +
          std::to_string(InstructionDescriptor(c)) +
          ";\n@%p2 tcgen05.mma.cta_group::1.kind::" + kind + " [%r82], " +
          (c.in_memory ? "[%r82+32]" : "%rd11") +
          ", %rd13, %r85, %p3;\n"
          "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r81];\n"
          "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r81], 0;\n@!%p4 bra wait;\n"
          "tcgen05.fence::after_thread_sync;\n"
          "tcgen05.ld.sync.aligned.32x32b.x32.b32 {" +
          Registers(10, 32) +
          "}, [%r83];\ntcgen05.wait::ld.sync.aligned;\n"
          "mul.wide.u32 %rd10, %r1, 128;\nadd.s64 %rd10, %rd3, %rd10;\n";
  for (uint32_t i = 0; i < kColumns; ++i)
    text +=
        "st.global.b32 [%rd10+" + std::to_string(4 * i) + "], %r" + std::to_string(10 + i) + ";\n";
  text += "bar.sync 0;\n@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r82, 64;\n";
  const Ran ran = RunGroup(text, Images(pa, pb), 128 * 128, 128, "sm_100a", second);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  for (uint32_t lane = 0; lane < 128; ++lane) {
    if (c.rows == 64 && lane % 32 >= 16) continue;
    const uint32_t row = c.rows == 64 ? lane / 32 * 16 + lane % 16 : lane;
    for (uint32_t n = 0; n < kColumns; ++n) {
      const int want = (c.a_negative ? -1 : 1) * Dot(a, row, b, n) + (c.adds ? 5 : 0);
      ASSERT_EQ(ValueOf(out[lane * kColumns + n], c.type.integers), want)
          << c.type.text << " row " << row << " column " << n << " swizzle " << c.swizzle;
    }
  }
}

TEST(PtxTensorMemory, ProductsOfEveryLayoutAndType) {
  for (const uint32_t rows : {64u, 128u}) {
    for (const uint32_t swizzle : {16u, 32u, 64u, 128u}) {
      ExpectTcgen05({.type = kF16, .rows = rows, .swizzle = swizzle});
      ExpectTcgen05({.type = kBf16,
                     .rows = rows,
                     .a_transposed = true,
                     .b_transposed = true,
                     .swizzle = swizzle,
                     .adds = true});
      ExpectTcgen05({.type = kE4m3, .rows = rows, .b_transposed = true, .swizzle = swizzle});
    }
    for (const TypeCase& type : {kF16, kBf16, kTf32, kE4m3, kE5m2, kS8}) {
      ExpectTcgen05({.type = type, .rows = rows, .adds = true});
      ExpectTcgen05({.type = type, .rows = rows, .in_memory = true});
    }
    ExpectTcgen05({.type = kTf32, .rows = rows, .a_negative = true, .adds = true});
  }
}

// What a shape stores is read back lane by lane: where each register went is what the figures of
// the PTX ISA say.
TEST(PtxTensorMemory, ShapesOfCopies) {
  struct Case {
    const char* shape;
    uint32_t repetitions, registers;
    std::pair<uint32_t, uint32_t> (*place)(uint32_t lane, uint32_t r);  // lane, column
    const char* operand = "";
  };
  const Case cases[] = {
      {"32x32b", 4, 4, [](uint32_t l, uint32_t r) { return std::pair(l, r); }},
      {"16x64b", 2, 2,
       [](uint32_t l, uint32_t r) { return std::pair(l / 4 + l / 2 % 2 * 8, 2 * r + l % 2); }},
      {"16x128b", 2, 4,
       [](uint32_t l, uint32_t r) { return std::pair(l / 4 + r % 2 * 8, r / 2 * 4 + l % 4); }},
      {"16x256b", 1, 4,
       [](uint32_t l, uint32_t r) { return std::pair(l / 4 + r / 2 * 8, l % 4 * 2 + r % 2); }},
      {"16x32bx2", 4, 4, [](uint32_t l, uint32_t r) { return std::pair(l % 16, r + l / 16 * 8); },
       ", 8"},
  };
  for (const Case& c : cases) {
    std::string text =
        "add.s32 %r80, %r90, 128;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r80], "
        "32;\nld.shared.b32 %r82, [%r80];\nmov.b32 %r10, 0;\n"
        "tcgen05.st.sync.aligned.32x32b.x16.b32 [%r82], {%r10";
    for (int i = 1; i < 16; ++i) text += ", %r10";
    text += "};\n";
    for (uint32_t r = 0; r < c.registers; ++r) {
      const std::string name = "%r" + std::to_string(20 + r);
      text += "shl.b32 " + name + ", %r92, 8;\nadd.s32 " + name + ", " + name + ", " +
              std::to_string(r + 1) + ";\n";
    }
    const std::string form = std::string(c.shape) + ".x" + std::to_string(c.repetitions) + ".b32";
    text += "tcgen05.st.sync.aligned." + form + " [%r82]" + c.operand + ", {" +
            Registers(20, c.registers) +
            "};\ntcgen05.wait::st.sync.aligned;\ntcgen05.ld.sync.aligned." + form + " {" +
            Registers(30, c.registers) + "}, [%r82]" + c.operand +
            ";\ntcgen05.ld.sync.aligned.32x32b.x16.b32 {" + Registers(40, 16) +
            "}, [%r82];\ntcgen05.wait::ld.sync.aligned;\nmul.wide.u32 %rd10, %r1, 80;\nadd.s64 "
            "%rd10, %rd3, %rd10;\n";
    for (uint32_t i = 0; i < 20; ++i) {
      if (i >= 16 && i - 16 >= c.registers) break;
      text += "st.global.b32 [%rd10+" + std::to_string(4 * i) + "], %r" +
              std::to_string(i < 16 ? 40 + i : 30 + i - 16) + ";\n";
    }
    text += "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r82, 32;\n";
    const Ran ran = RunGroup(text, {}, 32 * 80, 32, "sm_100a");
    ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    const auto out = ran.As<uint32_t>(2);
    for (uint32_t l = 0; l < 32; ++l) {
      for (uint32_t r = 0; r < c.registers; ++r) {
        const auto [lane, column] = c.place(l, r);
        EXPECT_EQ(out[lane * 20 + column], l << 8 | (r + 1)) << c.shape << " " << l << " " << r;
        EXPECT_EQ(out[l * 20 + 16 + r], l << 8 | (r + 1)) << c.shape;
      }
    }
  }
}

TEST(PtxTensorMemory, HalvesAreUnpackedAndPacked) {
  const Ran ran = RunGroup(
      "add.s32 %r80, %r90, 128;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r80], "
      "32;\nld.shared.b32 %r82, [%r80];\nmov.b32 %r10, 0x12345678;\n"
      "tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%r82], {%r10};\n"
      "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r11, %r12}, [%r82];\n"
      "tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {%r13}, [%r82];\n"
      "tcgen05.wait::ld.sync.aligned;\nst.global.b32 [%rd3], %r11;\nst.global.b32 [%rd3+4], "
      "%r12;\nst.global.b32 [%rd3+8], %r13;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %r82, "
      "32;",
      {}, 12, 32, "sm_100a");
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2), (std::vector<uint32_t>{0x5678, 0x1234, 0x12345678}));
}

TEST(PtxTensorMemory, WrongAccessesAreFaults) {
  const auto fault = [](const std::string& body) {
    const Ran ran = RunGroup(
        "add.s32 %r80, %r90, 128;\nsetp.eq.s32 %p1, %r91, 0;\n@%p1 "
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r80], 32;\nbar.sync "
        "0;\nld.shared.b32 %r82, [%r80];\n" +
            body,
        {}, 4, 64, "sm_100a");
    return ran.result.fault.has_value() ? ran.result.fault->what : "";
  };
  EXPECT_EQ(fault("@%p1 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r82+32];"),
            "columns of tensor memory that were not allocated");
  EXPECT_EQ(fault("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r82];"),
            "lanes of tensor memory that this warp does not reach: warp w of four has lanes 32 * w "
            "to 32 * w + 31");
  EXPECT_EQ(fault("@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r82, 64;"),
            "tensor memory that was not allocated like this");
  EXPECT_EQ(fault("@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r80], 512;"),
            "the block already holds so many of the 512 columns of tensor memory that it would "
            "wait forever");
}

}  // namespace
}  // namespace hloscope::ptx
