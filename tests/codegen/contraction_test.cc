// Dots and convolutions as kernels: all types and forms, over small whole numbers whose sums are
// exact.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "core/hlo/float_types.h"
#include "core/linking/processor.h"
#include "tests/codegen/kernel_cases.h"
#include "tests/hlo/parsed.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

// From -2 to 2, or what the type has of them.
Literal SmallNumbers(const Shape& shape, std::mt19937_64& random) {
  const ElementType type = shape.element_type();
  if (hlo::IsComplex(type)) {
    const int64_t count = 2 * shape.ElementCount().value();
    const Literal parts = SmallNumbers(Shape::Array(hlo::RealPart(type), {count}), random);
    return Literal::Dense(shape, {parts.bytes().begin(), parts.bytes().end()});
  }
  const auto size = static_cast<size_t>(hlo::StorageBytes(type));
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ElementCount().value()) * size);
  for (size_t at = 0; at < bytes.size(); at += size) {
    const int number = static_cast<int>(random() % 5) - 2;
    auto bits = static_cast<uint64_t>(int64_t{number});
    if (type == ElementType::kF64) {
      bits = std::bit_cast<uint64_t>(static_cast<double>(number));
    } else if (type == ElementType::kF32) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    } else if (hlo::IsFloat(type)) {
      const bool has_sign = type != ElementType::kF8E8M0FNU;
      bits =
          hlo::EncodeFloat(*hlo::FindFloatFormat(type), has_sign ? number : std::abs(number) + 1);
    } else if (type == ElementType::kPred || hlo::IsUnsigned(type)) {
      bits = static_cast<uint64_t>(std::abs(number)) &
             (type == ElementType::kPred || hlo::BitWidth(type) == 1 ? 1 : 3);
    } else if (type == ElementType::kS1) {
      bits = number < 0 ? ~uint64_t{0} : 0;
    } else if (type == ElementType::kS2) {
      bits = static_cast<uint64_t>(int64_t{std::min(number, 1)});
    }
    std::memcpy(bytes.data() + at, &bits, size);
  }
  return Literal::Dense(shape, std::move(bytes));
}

void ExpectContraction(const std::string& left, const std::string& right, const std::string& result,
                       const std::string& opcode, const std::string& attributes) {
  const std::string text = fmt::format(
      "HloModule m\nENTRY e {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT r = {} {}(a, "
      "b), {}\n}}\n",
      left, right, result, opcode, attributes);
  const auto module = hlo::Parsed(text);
  ASSERT_NE(module, nullptr) << text;
  std::mt19937_64 random(left.size() + 7 * right.size());
  std::vector<Literal> arguments;
  for (const hlo::InstructionId parameter : module->Parameters(module->entry_id())) {
    arguments.push_back(SmallNumbers(module->shape(parameter), random));
  }
  ExpectAsEvaluated(text, arguments);
}

constexpr const char* kTypes[] = {
    "pred", "s1",  "s2",   "s4",     "s8",       "s16",        "s32",       "s64",     "u1",
    "u2",   "u4",  "u8",   "u16",    "u32",      "u64",        "f16",       "bf16",    "f32",
    "f64",  "c64", "c128", "f8e5m2", "f8e4m3fn", "f8e4m3fnuz", "f8e8m0fnu", "f4e2m1fn"};

TEST(Contraction, MultipliesAllTypes) {
  for (const std::string type : kTypes) {
    ExpectContraction(type + "[6,11]", type + "[11,19]", type + "[6,19]", "dot",
                      "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  }
}

TEST(Contraction, MultipliesMixedTypes) {
  const char* const kMixed[][3] = {
      {"s8", "s8", "s32"},           {"u8", "s8", "s32"},    {"s4", "s4", "s32"},
      {"u4", "s8", "s16"},           {"s8", "s8", "f32"},    {"bf16", "bf16", "f32"},
      {"f16", "f16", "f32"},         {"f32", "bf16", "f32"}, {"f32", "f32", "f64"},
      {"f8e4m3fn", "f8e5m2", "f32"}, {"f32", "s32", "f32"},  {"f32", "c64", "c64"},
      {"s32", "s32", "pred"},        {"u32", "s32", "s64"},  {"f32", "f32", "s8"}};
  for (const auto& [left, right, result] : kMixed) {
    ExpectContraction(fmt::format("{}[7,9]", left), fmt::format("{}[9,33]", right),
                      fmt::format("{}[7,33]", result), "dot",
                      "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  }
}

// Sums of a run in f32 hold the largest products of 8 bits.
TEST(Contraction, SumsUpTheLargestProductsOfBytesExactly) {
  constexpr int64_t kDepth = 700;
  for (const auto& [type, value] : {std::pair("u8", 0xff), std::pair("s8", 0x80)}) {
    const auto filled = [&](int64_t rows, int64_t columns) {
      const Shape shape = Shape::Array(hlo::ElementTypeFromText(type), {rows, columns});
      return Literal::Dense(shape, std::vector<std::byte>(static_cast<size_t>(rows * columns),
                                                          static_cast<std::byte>(value)));
    };
    ExpectAsEvaluated(
        fmt::format("HloModule m\nENTRY e {{\n  a = {0}[5,{1}] parameter(0)\n  b = {0}[{1},35] "
                    "parameter(1)\n  ROOT r = s32[5,35] dot(a, b), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}}\n}}\n",
                    type, kDepth),
        {filled(5, kDepth), filled(kDepth, 35)});
  }
}

// Groups of four bytes, the last of a row cut short; both kinds on both sides; runs, blocks and
// units that are not full.
TEST(Contraction, MultipliesBytes) {
  constexpr const char* kByteTypes[] = {"s8", "u8"};
  struct Sizes {
    int rows, depth, columns;
  };
  const Sizes kSizes[] = {{3, 4, 4},    {4, 5, 16},   {5, 7, 17},    {6, 64, 31},
                          {64, 33, 64}, {67, 9, 130}, {9, 1030, 20}, {130, 2049, 5}};
  for (const std::string left : kByteTypes) {
    for (const std::string right : kByteTypes) {
      for (const auto& [rows, depth, columns] : kSizes) {
        const auto shape = [](const std::string& type, int a, int b) {
          return fmt::format("{}[{},{}]", type, a, b);
        };
        const auto module = [](const std::string& a, const std::string& b, const std::string& r,
                               const std::string& attributes) {
          return fmt::format(
              "HloModule m\nENTRY e {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT r = "
              "{} dot(a, b), {}\n}}\n",
              a, b, r, attributes);
        };
        const std::string result = shape("s32", rows, columns);
        ExpectAsEvaluated(module(shape(left, rows, depth), shape(right, depth, columns), result,
                                 "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
        ExpectAsEvaluated(module(shape(left, rows, depth), shape(right, columns, depth), result,
                                 "lhs_contracting_dims={1}, rhs_contracting_dims={1}"));
        ExpectAsEvaluated(module(shape(left, depth, rows), shape(right, depth, columns), result,
                                 "lhs_contracting_dims={0}, rhs_contracting_dims={0}"));
      }
      ExpectAsEvaluated(fmt::format(
          "HloModule m\nENTRY e {{\n  a = {}[3,5,2,6,11] parameter(0)\n  b = {}[3,2,11,20] "
          "parameter(1)\n  ROOT r = s32[3,5,6,20] dot(a, b), lhs_batch_dims={{0}}, "
          "rhs_batch_dims={{0}}, lhs_contracting_dims={{2,4}}, rhs_contracting_dims={{1,2}}\n}}\n",
          left, right));
    }
  }
  if (!linking::HasByteProducts()) GTEST_SKIP() << "in vectors of bytes: this processor has none";
}

TEST(Contraction, MultipliesInEveryForm) {
  struct Form {
    const char *left, *right, *result, *attributes;
  };
  const Form kForms[] = {
      {"[700]", "[700]", "[]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
      {"[5]", "[7]", "[5,7]", "lhs_contracting_dims={}, rhs_contracting_dims={}"},
      {"[1,1000]", "[1000,3]", "[1,3]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"[1,300]", "[300,301]", "[1,301]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"[2,300]", "[300,101]", "[2,101]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"[9,300]", "[300,67]", "[9,67]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"[130,70]", "[70,150]", "[130,150]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"[70,13]", "[45,70]", "[13,45]", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"},
      {"[3,5,7]", "[3,7,40]", "[3,5,40]",
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={1}"},
      {"[5,3,7]", "[7,40,3]", "[3,5,40]",
       "lhs_batch_dims={1}, rhs_batch_dims={2}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={0}"},
      {"[4,6,5,7]", "[7,6,11,3]", "[4,5,11,3]",
       "lhs_contracting_dims={3,1}, rhs_contracting_dims={0,1}"},
      {"[2,5,3,7]", "[9,3,11,2,4]", "[2,3,5,7,9,11,4]",
       "lhs_batch_dims={0,2}, rhs_batch_dims={3,1}"},
      {"[5,600,2]", "[17,2,600]", "[5,17]",
       "lhs_contracting_dims={1,2}, rhs_contracting_dims={2,1}"}};
  for (const std::string type : {"f32", "s8", "c64"}) {
    for (const Form& form : kForms) {
      ExpectContraction(type + form.left, type + form.right, type + form.result, "dot",
                        form.attributes);
    }
  }
}

TEST(Contraction, ConvolvesAllTypes) {
  for (const std::string type : kTypes) {
    ExpectContraction(type + "[2,7,6,3]", type + "[3,2,3,5]", type + "[2,7,6,5]", "convolution",
                      "window={size=3x2 pad=1_1x0_1}, dim_labels=b01f_01io->b01f");
  }
}

TEST(Contraction, ConvolvesInEveryForm) {
  struct Form {
    const char *input, *kernel, *result, *attributes;
  };
  const Form kForms[] = {
      {"[2,3]", "[3,20]", "[2,20]", "dim_labels=bf_io->bf"},
      {"[1,70,3]", "[5,3,2]", "[1,70,2]", "window={size=5 pad=2_2}, dim_labels=b0f_0io->b0f"},
      {"[2,3,17]", "[4,3,5]", "[2,4,17]", "window={size=5 pad=2_2}, dim_labels=bf0_oi0->bf0"},
      {"[2,3,40]", "[4,3,5]", "[2,4,18]", "window={size=5 stride=2}, dim_labels=bf0_oi0->bf0"},
      {"[2,3,9]", "[4,3,3]", "[2,4,19]",
       "window={size=3 pad=2_2 lhs_dilate=2}, dim_labels=bf0_oi0->bf0"},
      {"[2,9,3]", "[3,3,20]", "[2,19,20]",
       "window={size=3 pad=2_2 lhs_dilate=2}, dim_labels=b0f_0io->b0f"},
      {"[2,3,21]", "[4,3,3]", "[2,4,13]",
       "window={size=3 pad=-1_-1 rhs_dilate=3 rhs_reversal=1}, dim_labels=bf0_oi0->bf0"},
      {"[9,8,2,3]", "[4,3,3,20]", "[6,10,2,20]",
       "window={size=4x3 pad=0_0x2_2}, dim_labels=01bf_01io->01bf"},
      {"[2,8,8,6]", "[3,3,1,6]", "[2,8,8,6]",
       "window={size=3x3 pad=1_1x1_1}, feature_group_count=6, dim_labels=b01f_01io->b01f"},
      {"[2,8,8,6]", "[3,3,3,40]", "[2,8,8,40]",
       "window={size=3x3 pad=1_1x1_1}, feature_group_count=2, dim_labels=b01f_01io->b01f"},
      {"[6,8,8,4]", "[3,3,4,9]", "[2,8,8,9]",
       "window={size=3x3 pad=1_1x1_1}, batch_group_count=3, dim_labels=b01f_01io->b01f"},
      {"[3,3,5,9]", "[2,2,3,40]", "[2,4,40,9]",
       "window={size=2x2 stride=2x1 pad=0_1x0_0}, dim_labels=f01b_01io->01fb"},
      {"[1,2,3,4,5,2]", "[2,1,2,2,2,3]", "[1,1,3,3,4,3]",
       "window={size=2x1x2x2}, dim_labels=b0123f_0123io->b0123f"}};
  for (const std::string type : {"f32", "s8", "c64"}) {
    for (const Form& form : kForms) {
      ExpectContraction(type + form.input, type + form.kernel, type + form.result, "convolution",
                        form.attributes);
    }
  }
}

}  // namespace
}  // namespace hloscope::codegen
