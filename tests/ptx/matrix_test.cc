// mma.sync through registers: the fragments of the PTX ISA, written out here once more.
#include <bit>
#include <random>

#include "core/ptx/machine/rounding.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

// A and B as rows of small integers go in by the fragment layout of the PTX ISA; every product is
// exact.
template <typename A>
void ExpectProduct(const std::string& shape_and_types, uint32_t k, uint32_t bits,
                   uint32_t a_registers, bool integers, A encode) {
  std::mt19937 random(3);
  std::vector<int> a(16 * k), b(k * 8);
  for (int& v : a) v = static_cast<int>(random() % 7) - 3;
  for (int& v : b) v = static_cast<int>(random() % 7) - 3;
  const uint32_t per = 32 / bits, b_registers = a_registers / 2;
  std::vector<uint32_t> fragments(32 * 4), fragments_b(32 * 4);
  for (uint32_t l = 0; l < 32; ++l) {
    const uint32_t g = l / 4, t = l % 4;
    for (uint32_t r = 0; r < a_registers; ++r) {
      for (uint32_t p = 0; p < per; ++p) {
        const uint32_t row = r % 2 == 0 ? g : g + 8, column = t * per + p + (r >= 2 ? 4 * per : 0);
        fragments[l * 4 + r] |= encode(a[row * k + column]) << (bits * p);
        if (r < b_registers)
          fragments_b[l * 4 + r] |= encode(b[(t * per + p + r * 4 * per) * 8 + g]) << (bits * p);
      }
    }
  }
  std::string x = "{%r10", y = "{%r20";
  for (uint32_t r = 1; r < a_registers; ++r) x += ", %r1" + std::to_string(r);
  for (uint32_t r = 1; r < b_registers; ++r) y += ", %r2" + std::to_string(r);
  const Ran ran = RunKernel(
      "shl.b64 %rd5, %rd4, 2;\nadd.s64 %rd6, %rd1, %rd5;\nadd.s64 %rd7, %rd2, %rd5;\nadd.s64 %rd8, "
      "%rd3, %rd5;\n"
      "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd6];\nld.global.v4.b32 {%r20, %r21, %r22, "
      "%r23}, [%rd7];\nmov.b32 %r30, 0;\n"
      "mma.sync.aligned." +
          shape_and_types + " {%r40, %r41, %r42, %r43}, " + x + "}, " + y +
          "}, {%r30, %r30, %r30, %r30};\n"
          "st.global.v4.b32 [%rd8], {%r40, %r41, %r42, %r43};",
      Bytes(fragments), Bytes(fragments_b), 512, 32, 1, {},
      bits == 8 && !integers ? "sm_89" : "sm_90a");
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t row = l / 4 + (r >= 2 ? 8 : 0), column = l % 4 * 2 + r % 2;
      int want = 0;
      for (uint32_t i = 0; i < k; ++i) want += a[row * k + i] * b[i * 8 + column];
      const int got = integers ? static_cast<int>(out[l * 4 + r])
                               : static_cast<int>(std::bit_cast<float>(out[l * 4 + r]));
      ASSERT_EQ(got, want) << shape_and_types << " row " << row << " column " << column;
    }
  }
}

TEST(PtxMatrix, FragmentsOfEveryShape) {
  const auto f16 = [](int v) { return ToNarrow(v, kFormatF16); };
  const auto bf16 = [](int v) { return ToNarrow(v, kFormatBf16); };
  const auto tf32 = [](int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); };
  const auto e4m3 = [](int v) { return ToNarrow(v, kFormatE4m3); };
  const auto s8 = [](int v) { return static_cast<uint32_t>(v) & 0xff; };
  ExpectProduct("m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 4, false, f16);
  ExpectProduct("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 4, false, bf16);
  ExpectProduct("m16n8k8.row.col.f32.bf16.bf16.f32", 8, 16, 2, false, bf16);
  ExpectProduct("m16n8k8.row.col.f32.tf32.tf32.f32", 8, 32, 4, false, tf32);
  ExpectProduct("m16n8k4.row.col.f32.tf32.tf32.f32", 4, 32, 2, false, tf32);
  ExpectProduct("m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 8, 4, false, e4m3);
  ExpectProduct("m16n8k32.row.col.satfinite.s32.s8.s8.s32", 32, 8, 4, true, s8);
  ExpectProduct("m16n8k16.row.col.s32.s8.s8.s32", 16, 8, 2, true, s8);
}

}  // namespace
}  // namespace hloscope::ptx
