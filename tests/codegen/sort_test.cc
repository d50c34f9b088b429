// Kernels that sort.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

// What comparators begin with: the parameters a0, b0, a1, … of these types.
std::string Parameters(const std::vector<std::string>& types) {
  std::string text;
  for (size_t k = 0; k < types.size(); ++k) {
    text += fmt::format("  a{0} = {1}[] parameter({2})\n  b{0} = {1}[] parameter({3})\n", k,
                        types[k], 2 * k, 2 * k + 1);
  }
  return text;
}

// A sort of arrays of these types and sizes along a dimension by a comparator.
std::string SortText(const std::vector<std::string>& types, const std::string& sizes, int dimension,
                     const std::string& body) {
  std::string parameters, names, shapes;
  for (size_t k = 0; k < types.size(); ++k) {
    parameters += fmt::format("  x{} = {}[{}] parameter({})\n", k, types[k], sizes, k);
    names += fmt::format("{}x{}", k == 0 ? "" : ", ", k);
    shapes += fmt::format("{}{}[{}]", k == 0 ? "" : ", ", types[k], sizes);
  }
  if (types.size() > 1) shapes = "(" + shapes + ")";
  return fmt::format(
      "HloModule m\nc {{\n{}{}}}\nENTRY e {{\n{}  ROOT s = {} sort({}), dimensions={{{}}}, "
      "to_apply=c\n}}\n",
      Parameters(types), body, parameters, shapes, names, dimension);
}

const std::vector<std::pair<std::string, int>>& Sizes() {
  static const std::vector<std::pair<std::string, int>> sizes = {
      {"1", 0},       {"7", 0},     {"16", 0},     {"17", 0},    {"95", 0},
      {"100", 0},     {"70001", 0}, {"300,3", 1},  {"3,300", 1}, {"300,3", 0},
      {"5,120,7", 1}, {"2,200", 1}, {"200,1,2", 0}};
  return sizes;
}

std::string Less(const std::string& direction, const std::string& type) {
  return fmt::format("  ROOT r = pred[] compare(a0, b0), direction={}{}\n", direction,
                     type.empty() ? "" : ", type=" + type);
}

TEST(Sort, OneKeyOfEveryType) {
  for (const std::string type :
       {"f32", "f64", "bf16", "f16", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "pred",
        "s4", "u4", "s2", "f8e4m3fn", "f8e5m2", "f4e2m1fn"}) {
    const bool is_float = type[0] == 'f' || type[0] == 'b';
    for (const auto& [sizes, dimension] : Sizes()) {
      for (const char* direction : {"LT", "GT"}) {
        ExpectAsEvaluated(
            SortText({type}, sizes, dimension, Less(direction, is_float ? "TOTALORDER" : "")));
      }
    }
  }
}

// Of equal keys the places tell.
TEST(Sort, IsStable) {
  for (const std::string key : {"u8", "s64", "pred", "bf16"}) {
    for (const auto& [sizes, dimension] : Sizes()) {
      const bool is_float = key == "bf16";
      ExpectAsEvaluated(SortText({key, "s32", "f64"}, sizes, dimension,
                                 Less("GT", is_float ? "TOTALORDER" : "")));
    }
  }
}

// As JAX writes them: -0 is 0, NaN the last.
TEST(Sort, OfAFunctionOfTheElement) {
  const std::string body =
      "  most = f32[] constant(nan)\n  zero = f32[] constant(0)\n"
      "  an = pred[] compare(a0, a0), direction=NE\n  az = pred[] compare(a0, zero), direction=EQ\n"
      "  as = f32[] select(az, zero, a0)\n  ak = f32[] select(an, most, as)\n"
      "  bn = pred[] compare(b0, b0), direction=NE\n  bz = pred[] compare(b0, zero), direction=EQ\n"
      "  bs = f32[] select(bz, zero, b0)\n  bk = f32[] select(bn, most, bs)\n"
      "  ROOT r = pred[] compare(ak, bk), direction=LT, type=TOTALORDER\n";
  for (const auto& [sizes, dimension] : Sizes()) {
    ExpectAsEvaluated(SortText({"f32", "s32"}, sizes, dimension, body));
  }
}

TEST(Sort, SeveralKeys) {
  const std::string either =
      "  l1 = pred[] compare(a1, b1), direction=GT\n  l0 = pred[] compare(a0, b0), direction=LT\n"
      "  e0 = pred[] compare(a0, b0), direction=EQ\n  both = pred[] and(e0, l1)\n"
      "  ROOT r = pred[] or(l0, both)\n";
  const std::string chosen =
      "  l1 = pred[] compare(a1, b1), direction=GT\n  l0 = pred[] compare(b0, a0), direction=GT\n"
      "  e0 = pred[] compare(b0, a0), direction=NE\n  ROOT r = pred[] select(e0, l0, l1)\n";
  const std::vector<std::vector<std::string>> types = {
      {"u8", "s8", "f32"}, {"s8", "u64"}, {"s64", "s64"}, {"u8", "s32"}, {"pred", "s64", "u8"}};
  for (const auto& each : types) {
    for (const auto& [sizes, dimension] : Sizes()) {
      ExpectAsEvaluated(SortText(each, sizes, dimension, either));
      ExpectAsEvaluated(SortText(each, sizes, dimension, chosen));
    }
  }
}

// Orders that are not of keys, and comparators that are no order at all.
TEST(Sort, AnyOtherComparator) {
  const std::string remainder =
      "  seven = s32[] constant(7)\n  a = s32[] remainder(a0, seven)\n"
      "  b = s32[] remainder(b0, seven)\n  less = pred[] compare(a, b), direction=LT\n"
      "  ROOT r = pred[] xor(less, less)\n";
  const std::string apart =
      "  d = f32[] subtract(a0, b0)\n  zero = f32[] constant(0)\n"
      "  ROOT r = pred[] compare(d, zero), direction=LT\n";
  for (const auto& [sizes, dimension] : Sizes()) {
    ExpectAsEvaluated(SortText({"s32", "u8"}, sizes, dimension, remainder));
  }
  ExpectAsEvaluated(SortText({"f32"}, "16", 0, apart));
  // Lines of NaN among numbers, by a comparison that is not total.
  ExpectAsEvaluated(SortText({"f32", "s32"}, "50,16", 1, Less("LT", "")));
}

// Few elements are taken without sorting all: with ties, NaN, both signs of zero, of any width.
TEST(Sort, TakesTheFirstOfEachLine) {
  for (const std::string type :
       {"f32", "f64", "bf16", "s8", "u8", "s32", "u32", "s64", "u64", "f16", "f8e4m3fn"}) {
    for (const auto& [sizes, taken] :
         {std::pair("70001", 7), {"3,300", 37}, {"5,2,120", 1}, {"64,1000", 50}, {"8", 1}}) {
      const std::string all = sizes;
      const size_t last = all.rfind(',');
      const std::string wanted =
          (last == all.npos ? "" : all.substr(0, last + 1)) + std::to_string(taken);
      for (const char* largest : {"true", "false"}) {
        ExpectAsEvaluated(fmt::format(
            "HloModule m\nENTRY e {{\n  x = {0}[{1}] parameter(0)\n  ROOT t = ({0}[{2}], s32[{2}]) "
            "topk(x), k={3}, largest={4}\n}}\n",
            type, all, wanted, taken, largest));
      }
    }
  }
}

}  // namespace
}  // namespace hloscope::codegen
