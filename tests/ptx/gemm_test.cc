// Whole kernels of XLA with forced tiles (kernels/*.ptx): every element has the bits that the
// second implementation of the tensor cores' model gives, product after product in order of k.
#include <bit>
#include <fstream>
#include <iterator>
#include <random>

#include "core/ptx/machine/rounding.h"
#include "core/ptx/reference/tensor_model.h"
#include "tests/base/paths.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kM = 128, kN = 64, kK = 128;

// Numbers whose products differ much in size, so that what a sum drops is seen.
std::vector<uint32_t> Elements(uint32_t count, uint32_t seed, NarrowFormat format) {
  std::mt19937 random(seed);
  std::vector<uint32_t> bits;
  for (uint32_t i = 0; i < count; ++i) {
    const double value = (static_cast<double>(random() % 2001) - 1000) / 1000;
    bits.push_back(ToNarrow(std::ldexp(value, static_cast<int>(random() % 9) - 4), format));
  }
  return bits;
}

std::vector<std::byte> Narrowed(const std::vector<uint32_t>& bits, size_t bytes) {
  std::vector<std::byte> out(bits.size() * bytes);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(out.data() + i * bytes, &bits[i], bytes);
  return out;
}

struct GemmKernel {
  const char* file;
  uint32_t threads;
  uint64_t shared_bytes;
  TensorMap a, b, d;
  Element element;
  NarrowFormat format;
  uint32_t bytes;
  ReferenceRule rule;
};

void ExpectModel(const GemmKernel& kernel) {
  std::ifstream file(SourcePath("tests/ptx/kernels/") + kernel.file);
  const auto module =
      Module::Parse(std::string(std::istreambuf_iterator<char>(file), {}), kernel.file);
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  const auto a = Elements(kM * kK, 1, kernel.format), b = Elements(kK * kN, 2, kernel.format);
  auto a_bytes = Narrowed(a, kernel.bytes), b_bytes = Narrowed(b, kernel.bytes);
  std::vector<float> d(kM * kN);
  LaunchRequest request;
  request.entry = "gemm_fusion_dot_general_1";
  request.grid = {4, 1, 1};
  request.block = {kernel.threads, 1, 1};
  request.dynamic_shared_bytes = kernel.shared_bytes;
  request.arguments = {{a_bytes, {}, kernel.a},
                       {b_bytes, {}, kernel.b},
                       {std::as_writable_bytes(std::span(d)), {}, kernel.d}};
  LaunchOptions options;
  options.threads = 2;
  const auto result = Launch(*module, request, options);
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  ASSERT_FALSE(result->fault.has_value()) << result->fault->ToString();

  const uint64_t products = result->counters.products_16bit + result->counters.products_8bit;
  EXPECT_EQ(products, uint64_t{kM} * kN * kK);
  // Each of the four blocks has half of A and half of B.
  EXPECT_EQ(result->counters.global_read_bytes, 2 * (a_bytes.size() + b_bytes.size()));
  EXPECT_EQ(result->counters.global_written_bytes, d.size() * 4);

  const auto depth = 32 / kernel.bytes;
  const Bits rows(a.begin(), a.end()), columns(b.begin(), b.end());
  for (uint32_t i = 0; i < kM; ++i) {
    for (uint32_t j = 0; j < kN; ++j) {
      uint64_t sum = 0;
      for (uint32_t k = 0; k < kK; k += depth) {
        const Bits row(rows.begin() + i * kK + k, rows.begin() + i * kK + k + depth);
        const Bits part(columns.begin() + k * kN, columns.begin() + (k + depth) * kN);
        sum = ReferenceSum(row, part, sum, 0, static_cast<int>(j), kN, static_cast<int>(depth),
                           kernel.element, kernel.element, Element::kF32, false, kernel.rule);
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(d[i * kN + j]), sum) << kernel.file << " " << i << " " << j;
    }
  }
}

// As core/replay makes them of the tiles in kernels/*.ttir.txt.
TEST(PtxGemm, WarpSpecializedWithTensorMaps) {
  ExpectModel({"warp_specialized_b200.ptx",
               256,
               24764,
               TensorMap{2, {kK, kM}, {2 * kK}, {64, 64}, {1, 1}, Swizzle::k128},
               TensorMap{2, {kN, kK}, {2 * kN}, {32, 64}, {1, 1}, Swizzle::k64},
               TensorMap{4, {kN, kM}, {4 * kN}, {32, 64}, {1, 1}, Swizzle::k128},
               Element::kBf16,
               kFormatBf16,
               2,
               {16, 25, 23}});
}

TEST(PtxGemm, NarrowSumsOfHopper) {
  ExpectModel({"f8_h100.ptx",
               128,
               12312,
               TensorMap{1, {kK, kM}, {kK}, {64, 64}, {1, 1}, Swizzle::k64},
               TensorMap{1, {kN, kK}, {kN}, {32, 64}, {1, 1}, Swizzle::k32},
               TensorMap{4, {kN, kM}, {4 * kN}, {32, 64}, {1, 1}, Swizzle::k128},
               Element::kE4m3,
               kFormatE4m3,
               1,
               {32, 13, 13}});
}

// Products with scale factors as Triton writes them (kernels/scaled_dot.py.txt): where each element
// and each factor has to lie is what Triton's compiler takes from the PTX ISA.
struct ScaledKernel {
  const char* file;
  uint64_t shared_bytes;
  Element a, b;
  int block;
  bool is_ue4m3;
  int depth;  // of one instruction
};

void ExpectScaled(const ScaledKernel& kernel) {
  constexpr int kRows = 128, kColumns = 32, kDepth = 256;
  std::ifstream file(SourcePath("tests/ptx/kernels/") + kernel.file);
  const auto module =
      Module::Parse(std::string(std::istreambuf_iterator<char>(file), {}), kernel.file);
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  std::mt19937 random(7);
  // Two elements of four bits a byte; a byte of eight bits is no NaN and no infinity.
  const auto elements = [&](Element type, int rows, std::vector<std::byte>& bytes) {
    Bits bits(static_cast<size_t>(rows * kDepth));
    const bool pairs = type == Element::kE2m1;
    bytes.resize(bits.size() / (pairs ? 2 : 1));
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = pairs ? random() % 16 : random() % 0x78 | (random() % 2) << 7;
      bytes[pairs ? i / 2 : i] |= std::byte(bits[i] << (pairs ? i % 2 * 4 : 0));
    }
    return bits;
  };
  const auto factors = [&](int rows, std::vector<std::byte>& bytes) {
    Bits bits(static_cast<size_t>(rows * kDepth / kernel.block));
    for (uint64_t& scale : bits) {
      scale = kernel.is_ue4m3 ? 0x20 + random() % 0x30 : 120 + random() % 14;
      bytes.push_back(std::byte(scale));
    }
    return bits;
  };
  std::vector<std::byte> bytes[4], scratch[2];
  const Bits a = elements(kernel.a, kRows, bytes[0]), a_scales = factors(kRows, bytes[1]);
  const Bits b = elements(kernel.b, kColumns, bytes[2]), b_scales = factors(kColumns, bytes[3]);
  std::vector<float> d(kRows * kColumns);
  LaunchRequest request;
  request.entry = "scaled_dot";
  request.block = {128, 1, 1};
  request.dynamic_shared_bytes = kernel.shared_bytes;
  for (auto& argument : bytes) request.arguments.push_back({argument, {}});
  request.arguments.push_back({std::as_writable_bytes(std::span(d)), {}});
  for (auto& argument : scratch) {
    argument.resize(128);
    request.arguments.push_back({argument, {}});
  }
  const auto result = Launch(*module, request, {});
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  ASSERT_FALSE(result->fault.has_value()) << result->fault->ToString();
  const auto part = [](const Bits& all, int row, int columns, int first, int count) {
    const auto begin = all.begin() + row * columns + first;
    return Bits(begin, begin + count);
  };
  const int step = kernel.depth, own = step / kernel.block, all = kDepth / kernel.block;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      uint64_t sum = 0;
      for (int k = 0; k < kDepth; k += step) {
        const Bits x = part(a_scales, i, all, k / kernel.block, own),
                   y = part(b_scales, j, all, k / kernel.block, own);
        sum = ReferenceScaledSum(part(a, i, kDepth, k, step), part(b, j, kDepth, k, step), sum, 0,
                                 0, 1, step, kernel.a, kernel.b, Element::kF32,
                                 {kernel.block, kernel.is_ue4m3, x, y}, {step, 25, 23});
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(d[static_cast<size_t>(i * kColumns + j)]), sum)
          << kernel.file << " " << i << " " << j;
    }
  }
}

TEST(PtxGemm, ScaleFactorsOfTriton) {
  ExpectScaled({"scaled_dot_mxf8_sm100.ptx", 42112, Element::kE4m3, Element::kE5m2, 32, false, 32});
  ExpectScaled(
      {"scaled_dot_mxf8_f4_sm100.ptx", 42112, Element::kE4m3, Element::kE2m1, 32, false, 32});
  ExpectScaled({"scaled_dot_mxf4_sm100.ptx", 21632, Element::kE2m1, Element::kE2m1, 32, false, 64});
  ExpectScaled({"scaled_dot_nvf4_sm100.ptx", 22784, Element::kE2m1, Element::kE2m1, 16, true, 64});
}

}  // namespace
}  // namespace hloscope::ptx
