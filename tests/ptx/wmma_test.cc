// wmma: products of whole numbers, which are exact, in all shapes and layouts, worked out here.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/ptx/machine/rounding.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

struct WmmaCase {
  std::string shape;
  uint32_t m, n, k;
  std::string factors, sums;
  uint32_t a_registers, b_registers;
};

uint32_t BytesOfType(const std::string& type) {
  return type == "s8" || type == "u8" ? 1 : type == "f16" || type == "bf16" ? 2 : 4;
}

std::string Vector(uint32_t first, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) text += (i > 0 ? ", %r" : "%r") + std::to_string(first + i);
  return text + "}";
}

uint32_t BitsOfNumber(const std::string& type, int value) {
  const auto number = static_cast<float>(value);
  if (type == "f16") return FloatToHalf(number);
  if (type == "bf16") return FloatToBf16(number);
  return type == "f32" || type == "tf32" ? std::bit_cast<uint32_t>(number)
                                         : static_cast<uint32_t>(value);
}

// Element (row, column) of a matrix that lies by rows or by columns, `gap` elements between them.
uint32_t Place(bool by_row, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns,
               uint32_t gap) {
  return by_row ? row * (columns + gap) + column : column * (rows + gap) + row;
}

void Put(std::vector<std::byte>& memory, size_t at, const std::string& type, int value) {
  const uint32_t bits = BitsOfNumber(type, value);
  std::memcpy(memory.data() + at, &bits, BytesOfType(type));
}

void Check(const WmmaCase& test, bool a_rows, bool b_rows, bool sums_by_row, uint32_t gap,
           const std::string& target, const std::string& limit = "") {
  SCOPED_TRACE(test.shape + " " + test.factors + " " + test.sums + limit);
  const bool is_integer = test.sums == "s32", is_signed = test.factors != "u8";
  const auto number = [&](uint32_t seed) {
    return static_cast<int>(seed * 2654435761u >> 28) - (is_signed ? 8 : 0);
  };
  const uint32_t each = BytesOfType(test.factors), sum_bytes = BytesOfType(test.sums);
  // Rows, or columns, begin at multiples of 16 bytes.
  const uint32_t a_pitch = ((a_rows ? test.k : test.m) + gap) * each,
                 b_pitch = ((b_rows ? test.n : test.k) + gap) * each;
  if (a_pitch % 16 != 0 || b_pitch % 16 != 0) return;
  // b begins at 0 and c at 4096 of the second argument.
  std::vector<std::byte> a(4096), b(16384);
  std::vector<int> sums(test.m * test.n);
  for (uint32_t i = 0; i < test.m; ++i) {
    for (uint32_t p = 0; p < test.k; ++p)
      Put(a, Place(a_rows, i, p, test.m, test.k, gap) * each, test.factors, number(i * 64 + p));
    for (uint32_t j = 0; j < test.n; ++j) {
      sums[i * test.n + j] = number(7777 + i * 64 + j);
      Put(b, 4096 + Place(sums_by_row, i, j, test.m, test.n, 8) * sum_bytes, test.sums,
          sums[i * test.n + j]);
      for (uint32_t p = 0; p < test.k; ++p)
        sums[i * test.n + j] += number(i * 64 + p) * number(99 + p * 64 + j);
    }
  }
  for (uint32_t p = 0; p < test.k; ++p) {
    for (uint32_t j = 0; j < test.n; ++j)
      Put(b, Place(b_rows, p, j, test.k, test.n, gap) * each, test.factors,
          number(99 + p * 64 + j));
  }
  const auto layout = [](bool by_row) {
    return by_row ? std::string(".row") : std::string(".col");
  };
  const auto stride = [](bool by_row, uint32_t rows, uint32_t columns, uint32_t between) {
    return between == 0 ? "" : ", " + std::to_string((by_row ? columns : rows) + between);
  };
  const uint32_t sum_registers = test.sums == "f16" ? 4 : 8;
  const std::string types =
      test.factors == "f16" ? test.sums + "." + test.sums
                            : test.sums + "." + test.factors + "." + test.factors + "." + test.sums;
  const std::string shape = "." + test.shape;
  const std::string sync = ".sync.aligned";
  const std::string body =
      "wmma.load.a" + sync + layout(a_rows) + shape + ".global." + test.factors + " " +
      Vector(10, test.a_registers) + ", [%rd1]" + stride(a_rows, test.m, test.k, gap) +
      ";\nwmma.load.b" + sync + layout(b_rows) + shape + "." + test.factors + " " +
      Vector(20, test.b_registers) + ", [%rd2]" + stride(b_rows, test.k, test.n, gap) +
      ";\nwmma.load.c" + sync + layout(sums_by_row) + shape + ".global." + test.sums + " " +
      Vector(30, sum_registers) + ", [%rd2+4096]" + stride(sums_by_row, test.m, test.n, 8) +
      ";\nwmma.mma" + sync + layout(a_rows) + layout(b_rows) + shape + "." + types + limit + " " +
      Vector(40, sum_registers) + ", " + Vector(10, test.a_registers) + ", " +
      Vector(20, test.b_registers) + ", " + Vector(30, sum_registers) + ";\nwmma.store.d" + sync +
      layout(!sums_by_row) + shape + ".global." + test.sums + " [%rd3], " +
      Vector(40, sum_registers) + ";";
  if (a_rows && !b_rows && std::system("ptxas --version > /dev/null 2>&1") == 0) {
    const auto path =
        std::filesystem::temp_directory_path() /
        ("hloscope_wmma_" + std::to_string(reinterpret_cast<uintptr_t>(&body)) + ".ptx");
    std::ofstream(path) << KernelText(body, target);
    EXPECT_EQ(
        std::system(("ptxas -arch=" + target + " " + path.string() + " -o /dev/null").c_str()), 0);
    std::filesystem::remove(path);
  }
  const Ran ran = RunKernel(body, a, b, test.m * test.n * sum_bytes, 32, 1, {}, target);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  for (uint32_t i = 0; i < test.m; ++i) {
    for (uint32_t j = 0; j < test.n; ++j) {
      uint32_t got = 0;
      std::memcpy(&got,
                  ran.memory[2].data() + Place(!sums_by_row, i, j, test.m, test.n, 0) * sum_bytes,
                  sum_bytes);
      ASSERT_EQ(got, BitsOfNumber(test.sums, sums[i * test.n + j])) << i << ", " << j;
    }
  }
  EXPECT_TRUE(is_integer || sum_bytes <= 4);
}

TEST(PtxWmma, Products) {
  for (const auto& [shape, m, n] :
       {std::tuple("m16n16k16", 16u, 16u), {"m32n8k16", 32u, 8u}, {"m8n32k16", 8u, 32u}}) {
    for (const uint32_t gap : {0u, 16u}) {
      for (const bool a_rows : {true, false}) {
        for (const bool b_rows : {true, false}) {
          const auto check = [&](const std::string& factors, const std::string& sums,
                                 const std::string& limit = "") {
            const uint32_t bits = 8 * BytesOfType(factors);
            const uint32_t a = factors == "f16" ? 8 : m * 16 * bits / 1024,
                           b = factors == "f16" ? 8 : n * 16 * bits / 1024;
            Check({shape, m, n, 16, factors, sums, a, b}, a_rows, b_rows, a_rows != b_rows, gap,
                  gap == 0 ? "sm_80" : "sm_90a", limit);
          };
          check("f16", "f32");
          check("f16", "f16");
          check("bf16", "f32");
          check("s8", "s32");
          check("u8", "s32", ".satfinite");
        }
      }
    }
  }
  Check({"m16n16k8", 16, 16, 8, "tf32", "f32", 4, 4}, true, false, true, 0, "sm_80");
  Check({"m16n16k8", 16, 16, 8, "tf32", "f32", 4, 4}, false, true, false, 16, "sm_100a");
}

// The sums of mma.sync: of f16 on sm_80 two steps of eight products, each cut off.
TEST(PtxWmma, RoundsAsMmaDoes) {
  const auto first = [](const std::string& target) {
    // One row of a: 1, then 2^-13 eleven times; b is ones times 2^-11, so that the small products
    // lie beyond what a step keeps.
    std::vector<std::byte> a(512), b(512);
    for (uint32_t p = 0; p < 16; ++p) {
      const uint16_t small = FloatToHalf(p == 0 ? 1.0f : 0x1p-13f);
      std::memcpy(a.data() + 2 * p, &small, 2);
      const uint16_t factor = FloatToHalf(p == 0 ? 1.0f : 0x1.8p-11f);
      for (uint32_t j = 0; j < 16; ++j) std::memcpy(b.data() + 2 * (16 * p + j), &factor, 2);
    }
    std::string wmma = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + Vector(10, 8) +
                       ", [%rd1];\nwmma.load.b.sync.aligned.row.m16n16k16.global.f16 " +
                       Vector(20, 8) + ", [%rd2];\n";
    for (uint32_t i = 30; i < 38; ++i) wmma += "mov.b32 %r" + std::to_string(i) + ", 0;\n";
    wmma += "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 " + Vector(40, 8) + ", " +
            Vector(10, 8) + ", " + Vector(20, 8) + ", " + Vector(30, 8) +
            ";\nwmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd3], " + Vector(40, 8) + ";";
    const Ran by_wmma = RunKernel(wmma, a, b, 1024, 32, 1, {}, target);
    EXPECT_FALSE(by_wmma.result.fault.has_value());
    // The same element by mma.sync: lane 0 has row 0 of a and column 0 of b.
    std::string mma =
        "shl.b32 %r2, %r1, 0;\nand.b32 %r3, %r1, 3;\nshr.u32 %r4, %r1, 2;\n"
        "mad.lo.u32 %r5, %r4, 16, 0;\nshl.b32 %r6, %r3, 1;\nadd.u32 %r5, %r5, %r6;\n"
        "mul.wide.u32 %rd5, %r5, 2;\nadd.s64 %rd5, %rd1, %rd5;\nld.global.b32 %r10, [%rd5];\n"
        "ld.global.b32 %r11, [%rd5+256];\nld.global.b32 %r12, [%rd5+16];\n"
        "ld.global.b32 %r13, [%rd5+272];\nmad.lo.u32 %r7, %r6, 16, %r4;\n"
        "mul.wide.u32 %rd6, %r7, 2;\nadd.s64 %rd6, %rd2, %rd6;\nld.global.b16 %rs1, [%rd6];\n"
        "ld.global.b16 %rs2, [%rd6+32];\nld.global.b16 %rs3, [%rd6+256];\n"
        "ld.global.b16 %rs4, [%rd6+288];\nmov.b32 %r20, {%rs1, %rs2};\nmov.b32 %r21, {%rs3, "
        "%rs4};\n"
        "mov.b32 %r30, 0;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " +
        Vector(40, 4) + ", " + Vector(10, 4) + ", " + Vector(20, 2) +
        ", {%r30, %r30, %r30, %r30};\n"
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.b32 [%rd3], %r40;";
    const Ran by_mma = RunKernel(mma, a, b, 4, 32, 1, {}, target);
    EXPECT_FALSE(by_mma.result.fault.has_value());
    EXPECT_EQ(by_wmma.As<float>(2)[0], by_mma.As<float>(2)[0]);
    return by_wmma.As<float>(2)[0];
  };
  EXPECT_GE(first("sm_80"), 1.0f);
  EXPECT_GE(first("sm_90a"), 1.0f);
}

TEST(PtxWmma, FaultsAndRefusals) {
  const auto fault = [](const std::string& body) {
    const Ran ran = RunKernel(body, std::vector<std::byte>(4096), {}, 1024);
    return ran.result.fault.has_value() ? ran.result.fault->what : "none";
  };
  EXPECT_EQ(
      fault("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + Vector(10, 8) + ", [%rd1+16];"),
      "a matrix of wmma that is not 32-byte aligned, or whose rows are not 16-byte aligned");
  const auto module = Module::Parse(
      KernelText("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 " + Vector(40, 8) + ", " +
                 Vector(10, 8) + ", " + Vector(20, 8) + ", " + Vector(30, 4) + ";"),
      "k.ptx");
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->entries()[0].unsupported.size(), 1u);
}

}  // namespace
}  // namespace hloscope::ptx
