// Modules whose kernels NVIDIA's libraries can compute, made-up ones in tests, and what is said of
// it.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/base/paths.h"
#include "tests/replay/gpu_runs.h"

namespace hloscope::replay {

using hlo::Literal;

// Small numbers whose products and sums are exact in every type.
inline Literal Numbers(std::vector<int64_t> dimensions) {
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, std::move(dimensions));
  std::vector<float> values(static_cast<size_t>(*shape.ElementCount()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 13) - 6;
  return Literal::Of<float>(shape, values);
}

inline void SetLibraryFaults(const std::string& faults) {
  setenv("LD_LIBRARY_PATH", FakeDriverFolder().c_str(), 1);
  setenv("CUDA_FAKE_LIBRARIES", faults.c_str(), 1);
  SetFaults("");
}

inline std::string DotModule(const std::string& left, const std::string& right,
                             const std::string& out, const std::string& type,
                             const std::string& attributes) {
  const bool is_complex = type[0] == 'c';
  const std::string part = type == "c128" ? "f64" : "f32";
  std::string text = "HloModule m\nENTRY e {\n";
  for (const auto& [name, number, dimensions] :
       {std::tuple("a", 0, &left), std::tuple("b", 1, &right)}) {
    text += fmt::format("  p{0} = f32{1} parameter({2})\n", name, *dimensions, number);
    if (is_complex) {
      text += fmt::format("  r{0} = {2}{1} convert(p{0})\n  i{0} = {2}{1} negate(r{0})\n", name,
                          *dimensions, part);
      text += fmt::format("  {0} = {2}{1} complex(r{0}, i{0})\n", name, *dimensions, type);
    } else {
      text += fmt::format("  {0} = {2}{1} convert(p{0})\n", name, *dimensions, type);
    }
  }
  return text + fmt::format("  ROOT d = {} dot(a, b), {}\n}}\n", out, attributes);
}

struct DotCase {
  const char *left, *right, *out, *type, *attributes;
  std::vector<int64_t> left_sizes, right_sizes;
};

inline std::vector<DotCase> DotCases() {
  const char* const plain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const char* const both_last = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
  const char* const both_first = "lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  const char* const batch =
      "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}";
  // Heads in the middle, as attention has them: the product is a loop around batches.
  const char* const heads =
      "lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, "
      "rhs_contracting_dims={3}";
  return {
      {"[64,72]", "[72,80]", "f32[64,80]", "f32", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[80,72]", "f32[64,80]", "f32", both_last, {64, 72}, {80, 72}},
      {"[72,64]", "[72,80]", "f32[64,80]", "f32", both_first, {72, 64}, {72, 80}},
      {"[64,72]", "[72,80]", "f64[64,80]", "f64", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "f16[64,80]", "f16", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "bf16[64,80]", "bf16", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "f32[64,80]", "bf16", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "c64[64,80]", "c64", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[72,80]", "c128[64,80]", "c128", plain, {64, 72}, {72, 80}},
      {"[64,72]", "[80,72]", "s32[64,80]", "s8", both_last, {64, 72}, {80, 72}},
      {"[64,72]", "[72,80]", "s32[64,80]", "s8", plain, {64, 72}, {72, 80}},
      {"[72,64]", "[72,80]", "s32[64,80]", "s8", both_first, {72, 64}, {72, 80}},
      {"[4,40,48]", "[4,48,56]", "s32[4,40,56]", "s8", batch, {4, 40, 48}, {4, 48, 56}},
      {"[2,20,3,64]", "[2,40,3,64]", "s32[2,3,20,40]", "s8", heads, {2, 20, 3, 64}, {2, 40, 3, 64}},
      {"[4,40,48]", "[4,48,56]", "f32[4,40,56]", "f32", batch, {4, 40, 48}, {4, 48, 56}},
      {"[2,20,3,64]",
       "[2,40,3,64]",
       "f32[2,3,20,40]",
       "f32",
       heads,
       {2, 20, 3, 64},
       {2, 40, 3, 64}},
  };
}

inline void ExpectChoice(const Outcome& ran, const char* library, const std::string& reason,
                         const std::string& of) {
  ASSERT_EQ(ran.executed.choices.size(), 1u) << of;
  const RunExecuted::Choice& choice = ran.executed.choices[0];
  EXPECT_TRUE(choice.library.starts_with(library)) << of << ": " << choice.library;
  EXPECT_EQ(choice.count, 1) << of;
  if (reason.empty()) {
    EXPECT_EQ(choice.reason, "") << of;
  } else {
    EXPECT_NE(choice.reason.find(reason), std::string::npos) << of << ": " << choice.reason;
  }
}

inline constexpr const char* kTransforms[] = {
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  c = c64[40,45] complex(p, p)
  ROOT r = c64[40,45] fft(c), fft_type=FFT, fft_length={45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  c = c64[40,45] complex(p, p)
  ROOT r = c64[40,45] fft(c), fft_type=IFFT, fft_length={40,45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  q = f64[40,45] convert(p)
  c = c128[40,45] complex(q, q)
  ROOT r = c128[40,45] fft(c), fft_type=IFFT, fft_length={45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  ROOT r = c64[40,23] fft(p), fft_type=RFFT, fft_length={45}
}
)",
    R"(HloModule m
ENTRY e {
  p = f32[40,45] parameter(0)
  w = f64[40,45] convert(p)
  q = f64[5,8,45] reshape(w)
  ROOT r = c128[5,8,23] fft(q), fft_type=RFFT, fft_length={5,8,45}
}
)",
};

struct ConvolutionCase {
  const char *type, *out, *attributes;
  std::vector<int64_t> input, filter;
};

inline std::vector<ConvolutionCase> ConvolutionCases() {
  const char* const nhwc = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
  return {
      {"f32", "f32[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"f16", "f16[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"bf16", "bf16[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"f64", "f64[2,12,10,16]", nhwc, {2, 12, 10, 8}, {3, 3, 8, 16}},
      {"f32",
       "f32[2,16,12,10]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
       {2, 8, 12, 10},
       {16, 8, 3, 3}},
      {"f32",
       "f32[4,16,14,12]",
       "window={size=3x2 stride=2x2 pad=2_3x1_0 rhs_dilate=2x1}, dim_labels=bf01_01io->bf01",
       {4, 8, 26, 24},
       {3, 2, 8, 16}},
      {"f32",
       "f32[4,16,20,12]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=2",
       {4, 16, 20, 16},
       {3, 3, 8, 12}},
      {"f32",
       "f32[4,200,16]",
       "window={size=5 pad=2_2}, dim_labels=b0f_0io->b0f",
       {4, 200, 8},
       {5, 8, 16}},
      {"f32",
       "f32[2,6,8,10,8]",
       "window={size=3x3x3 pad=1_1x1_1x1_1}, dim_labels=b012f_012io->b012f",
       {2, 6, 8, 10, 4},
       {3, 3, 3, 4, 8}},
  };
}

inline std::string ConvolutionText(const ConvolutionCase& of) {
  const auto sizes = [](const std::vector<int64_t>& all) {
    return fmt::format("[{}]", fmt::join(all, ","));
  };
  return fmt::format(R"(HloModule m
ENTRY e {{
  p = f32{1} parameter(0)
  q = f32{2} parameter(1)
  a = {0}{1} convert(p)
  b = {0}{2} convert(q)
  ROOT r = {3} convolution(a, b), {4}
}}
)",
                     of.type, sizes(of.input), sizes(of.filter), of.out, of.attributes);
}

// The largest distance of two numbers beside the largest number.
inline double Distance(const Literal& a, const Literal& b) {
  const auto parts = [](const Literal& of) {
    const size_t size = of.shape().element_type() == hlo::ElementType::kC128 ? 8 : 4;
    std::vector<double> out;
    for (size_t i = 0; i < of.bytes().size(); i += size) {
      float f = 0;
      double d = 0;
      if (size == 8) {
        std::memcpy(&d, of.bytes().data() + i, size);
      } else {
        std::memcpy(&f, of.bytes().data() + i, size);
      }
      out.push_back(size == 8 ? d : f);
    }
    return out;
  };
  const std::vector<double> x = parts(a), y = parts(b);
  double distance = x.size() == y.size() ? 0 : INFINITY, most = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    distance = std::max(distance, std::abs(x[i] - y[i]));
    most = std::max(most, std::abs(y[i]));
  }
  return distance / most;
}

}  // namespace hloscope::replay
