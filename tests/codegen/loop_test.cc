// Kernels that are one loop: elementwise, and what moves elements.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

TEST(Loop, AddsAndMultiplies) {
  for (const std::string size :
       {"1", "2", "3", "7", "15", "16", "17", "31", "64", "1000", "40003"}) {
    const std::string s = "f32[" + size + "]";
    ExpectAsEvaluated(Fused(s + " " + s + " " + s,
                            "  m = " + s + " multiply(p1, p2)\n  ROOT r = " + s + " add(p0, m)",
                            s));
  }
}

TEST(Loop, RunsOverRowsWithABroadcast) {
  for (const std::string columns : {"1", "2", "3", "5", "8", "17", "64", "100"}) {
    const std::string s = "f32[13," + columns + "]";
    ExpectAsEvaluated(Fused(s + " f32[" + columns + "] f32[13]",
                            "  b = " + s + " broadcast(p1), dimensions={1}\n  c = " + s +
                                " broadcast(p2), dimensions={0}\n  m = " + s +
                                " multiply(p0, b)\n  ROOT r = " + s + " add(m, c)",
                            s));
  }
}

constexpr const char* kFloats[] = {
    "f32",      "f64",           "f16",        "bf16",       "f8e5m2",    "f8e4m3",  "f8e3m4",
    "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e8m0fnu", "f4e2m1fn"};
constexpr const char* kIntegers[] = {"s1", "s2", "s4", "s8", "s16", "s32", "s64",
                                     "u1", "u2", "u4", "u8", "u16", "u32", "u64"};

// One instruction, of these operand types, over 200 elements and over the first few lanes.
void ExpectOpcode(const std::string& opcode, const std::vector<std::string>& operands,
                  const std::string& result, const std::string& attributes = {}, Bound bound = {}) {
  for (const int count : {5, 1024}) {
    std::string parameters, names;
    for (size_t i = 0; i < operands.size(); ++i) {
      parameters += fmt::format("  p{0} = {1}[{2}] parameter({0})\n", i, operands[i], count);
      names += fmt::format("{}p{}", i == 0 ? "" : ", ", i);
    }
    ExpectAsEvaluated(fmt::format("HloModule m\nENTRY e {{\n{}  ROOT r = {}[{}] {}({}){}\n}}\n",
                                  parameters, result, count, opcode, names, attributes),
                      3, bound);
  }
}

// Several instructions in one kernel: each the type of its result and what stands behind it.
struct OneOf {
  std::string type, text;
};
void ExpectTogether(const std::vector<std::string>& operands, const std::vector<OneOf>& all,
                    Bound bound = {}) {
  for (const int count : {5, 1024}) {
    std::string parameters, body, results, names;
    for (const std::string& operand : operands) {
      parameters += fmt::format("{}{}[{}]", parameters.empty() ? "" : " ", operand, count);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string shape = fmt::format("{}[{}]", all[i].type, count);
      body += fmt::format("  r{} = {} {}\n", i, shape, all[i].text);
      results += (i == 0 ? "" : ", ") + shape;
      names += fmt::format("{}r{}", i == 0 ? "" : ", ", i);
    }
    ExpectAsEvaluated(
        Fused(parameters, body + fmt::format("  ROOT r = ({}) tuple({})", results, names),
              "(" + results + ")"),
        3, bound);
  }
}

TEST(Loop, ComputesFloatsExactly) {
  for (const std::string type : kFloats) {
    std::vector<OneOf> all;
    for (const std::string opcode : {"abs", "ceil", "copy", "floor", "negate", "round-nearest-afz",
                                     "round-nearest-even", "sign", "sqrt"}) {
      all.push_back({type, opcode + "(p0)"});
    }
    for (const std::string opcode :
         {"add", "divide", "maximum", "minimum", "multiply", "remainder", "subtract"}) {
      all.push_back({type, opcode + "(p0, p1)"});
    }
    all.push_back({"pred", "is-finite(p0)"});
    all.push_back({type, "clamp(p0, p1, p2)"});
    all.push_back({type, "select(p3, p1, p2)"});
    for (const int exponent : {2, 5, 8, 11}) {
      for (const int mantissa : {0, 3, 7, 10, 23, 52}) {
        all.push_back({type, fmt::format("reduce-precision(p0), exponent_bits={}, mantissa_bits={}",
                                         exponent, mantissa)});
      }
    }
    ExpectTogether({type, type, type, "pred"}, all);
  }
}

TEST(Loop, ComputesIntegersExactly) {
  for (const std::string type : kIntegers) {
    std::vector<OneOf> all;
    for (const std::string opcode :
         {"abs", "copy", "count-leading-zeros", "negate", "not", "popcnt", "sign"}) {
      all.push_back({type, opcode + "(p0)"});
    }
    for (const std::string opcode :
         {"add", "and", "divide", "maximum", "minimum", "mulhi", "multiply", "or", "power",
          "remainder", "shift-left", "shift-right-arithmetic", "shift-right-logical", "subtract",
          "xor"}) {
      all.push_back({type, opcode + "(p0, p1)"});
    }
    all.push_back({type, "clamp(p0, p1, p2)"});
    all.push_back({type, "select(p3, p1, p2)"});
    ExpectTogether({type, type, type, "pred"}, all);
  }
  for (const std::string opcode : {"add", "and", "maximum", "minimum", "multiply", "or", "xor"}) {
    ExpectOpcode(opcode, {"pred", "pred"}, "pred");
  }
  ExpectOpcode("not", {"pred"}, "pred");
  ExpectOpcode("select", {"pred", "pred", "pred"}, "pred");
}

TEST(Loop, ComputesComplexNumbersExactly) {
  for (const std::string type : {"c64", "c128"}) {
    const std::string part = type == "c64" ? "f32" : "f64";
    std::vector<OneOf> all = {{part, "real(p0)"},
                              {part, "imag(p0)"},
                              {type, "complex(p2, p3)"},
                              {type, "negate(p0)"},
                              {"pred", "compare(p0, p1), direction=EQ"},
                              {"pred", "compare(p0, p1), direction=NE"},
                              {type, "convert(p2)"},
                              {type == "c64" ? "c128" : "c64", "convert(p0)"},
                              {"s32", "convert(p0)"},
                              {"pred", "convert(p0)"},
                              {"bf16", "convert(p0)"}};
    for (const std::string opcode : {"add", "subtract", "maximum", "minimum"}) {
      all.push_back({type, opcode + "(p0, p1)"});
    }
    ExpectTogether({type, type, part, part}, all);
    // Of c128: complex_function_test.cc.
    if (type == "c64")
      ExpectTogether({type, type}, {{part, "abs(p0)"}, {type, "multiply(p0, p1)"}});
  }
}

// The larger of NaN and 0 is NaN, of 0 and -0 it is 0.
// A part that is a zero because it is so small has the sign of its product or quotient.
TEST(Loop, KeepsSignsOfZerosByRealNumbers) {
  const auto numbers = [](const std::string& type, double small, double large) {
    return fmt::format(
        "  x = {0}[6] constant({{(-{1}, -1), (1, -{1}), (-{1}, 1), (-1, -{1}), (-0, 0), (0, "
        "-0)}})\n"
        "  s = {0}[6] constant({{({1}, 0), ({1}, 0), ({1}, 0), ({1}, 0), (-1, 0), (-1, 0)}})\n"
        "  l = {0}[6] constant({{({2}, 0), ({2}, 0), ({2}, 0), ({2}, 0), (-1, 0), (-1, 0)}})\n",
        type, small, large);
  };
  for (const auto& [type, part, small, large] :
       {std::tuple("c64", "f32", 1e-30, 1e30), std::tuple("c128", "f64", 1e-300, 1e300)}) {
    std::string text = numbers(type, small, large);
    for (const char* side : {"s", "l"}) {
      text += fmt::format("  r{0} = {1}[6] real({0})\n  c{0} = {2}[6] convert(r{0})\n", side, part,
                          type);
    }
    const std::string results = fmt::format("({0}[6], {0}[6], {0}[6])", type);
    ExpectAsEvaluated(Fused("f32[6]",
                            text + fmt::format("  m = {0}[6] multiply(x, cs)\n"
                                               "  n = {0}[6] multiply(cs, x)\n"
                                               "  d = {0}[6] divide(x, cl)\n"
                                               "  ROOT r = {1} tuple(m, n, d)",
                                               type, results),
                            results));
  }
}

TEST(Loop, FindsTheLargerAndSmallerOfAllSpecialNumbers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double special[] = {0.0, -0.0, 1, -1, kInfinity, -kInfinity, std::nan(""), 1e-40, 6e4, 0.5};
  std::vector<double> left, right;
  for (const double x : special) {
    for (const double y : special) {
      left.push_back(x);
      right.push_back(y);
    }
  }
  const auto count = static_cast<int64_t>(left.size());
  const auto shape = hlo::Shape::Array(hlo::ElementType::kF64, {count});
  const std::string of = fmt::format("[{}]", count), f64 = "f64" + of;
  for (const std::string type : kFloats) {
    for (const char* opcode : {"maximum", "minimum"}) {
      ExpectAsEvaluated(
          Fused(f64 + " " + f64,
                fmt::format("  x = {0} convert(p0)\n  y = {0} convert(p1)\n  r = {0} {1}(x, y)\n"
                            "  ROOT c = {2} convert(r)",
                            type + of, opcode, f64),
                f64),
          {hlo::Literal::Of<double>(shape, left), hlo::Literal::Of<double>(shape, right)});
    }
  }
}

std::vector<std::string> AllTypes() {
  std::vector<std::string> types = {"pred"};
  types.insert(types.end(), std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  return types;
}

TEST(Loop, ComparesAllTypes) {
  for (const std::string& type : AllTypes()) {
    std::vector<OneOf> all;
    for (const std::string direction : {"EQ", "NE", "GE", "GT", "LE", "LT"}) {
      all.push_back({"pred", "compare(p0, p1), direction=" + direction});
      if (type[0] != 'f' && type[0] != 'b') continue;
      all.push_back({"pred", all.back().text + ", type=TOTALORDER"});
    }
    ExpectTogether({type, type}, all);
  }
}

TEST(Loop, ConvertsBetweenAllTypes) {
  for (const std::string& from : AllTypes()) {
    std::vector<OneOf> all;
    for (const std::string& to : AllTypes()) all.push_back({to, "convert(p0)"});
    ExpectTogether({from}, all);
  }
  ExpectOpcode("bitcast-convert", {"f32"}, "s32");
  ExpectOpcode("bitcast-convert", {"u16"}, "bf16");
  ExpectOpcode("bitcast-convert", {"f16"}, "u16");
  ExpectOpcode("bitcast-convert", {"u64"}, "f64");
  ExpectOpcode("bitcast-convert", {"s4"}, "u4");
  ExpectOpcode("bitcast-convert", {"u8"}, "f8e4m3fn");
  const std::vector<std::vector<std::string>> narrow = {
      {"s1", "u1"}, {"s2", "u2"}, {"s4", "u4", "f4e2m1fn"}, {"f6e2m3fn", "f6e3m2fn"}};
  for (const std::vector<std::string>& types : narrow) {
    for (const std::string& from : types) {
      for (const std::string& to : types) ExpectOpcode("bitcast-convert", {from}, to);
    }
  }
}

TEST(Loop, ComputesFunctions) {
  for (const std::string type : kFloats) {
    std::vector<OneOf> all;
    for (const std::string opcode :
         {"acos", "acosh",        "asin",     "asinh", "atan",        "atanh",
          "cbrt", "cosine",       "cosh",     "erf",   "exponential", "exponential-minus-one",
          "log",  "log-plus-one", "logistic", "rsqrt", "sine",        "sinh",
          "tan",  "tanh"}) {
      all.push_back({type, opcode + "(p0)"});
    }
    all.push_back({type, "atan2(p0, p1)"});
    all.push_back({type, "power(p0, p1)"});
    // Both sides of f64 are within 2 ulp of the true value.
    ExpectTogether({type, type}, all, {type == "f64" ? 3.0 : type == "f32" ? 2.0 : 1.0, 0});
  }
}

TEST(Loop, MovesElements) {
  const auto expect = [](const std::string& operands, const std::string& instruction,
                         const std::string& result, const std::string& type) {
    std::string parameters, typed;
    for (size_t at = 0; at < operands.size();) {
      const size_t end = std::min(operands.find(' ', at), operands.size());
      const std::string shape = operands.substr(at, end - at);
      parameters += (parameters.empty() ? "" : " ") + (shape[0] == '[' ? type + shape : shape);
      at = end + 1;
    }
    ExpectAsEvaluated(Fused(parameters,
                            "  x = " + type + result + " " + instruction + "\n  ROOT r = " + type +
                                result + " maximum(x, x)",
                            type + result));
  };
  for (const std::string type : {"f32", "u8", "s64", "bf16", "s4", "f8e4m3"}) {
    expect("[33,70]", "transpose(p0), dimensions={1,0}", "[70,33]", type);
    expect("[5,7,40]", "transpose(p0), dimensions={0,2,1}", "[5,40,7]", type);
    expect("[5,7,40]", "transpose(p0), dimensions={1,0,2}", "[7,5,40]", type);
    expect("[5,7,40]", "transpose(p0), dimensions={2,1,0}", "[40,7,5]", type);
    expect("[33,70]", "slice(p0), slice={[3:30],[1:70:3]}", "[27,23]", type);
    expect("[33,70]", "slice(p0), slice={[3:30],[0:70]}", "[27,70]", type);
    expect("[33,70]", "reverse(p0), dimensions={1}", "[33,70]", type);
    expect("[33,70]", "reverse(p0), dimensions={0,1}", "[33,70]", type);
    expect("[33,70]", "reshape(p0)", "[70,33]", type);
    expect("[33,70]", "reshape(p0)", "[11,3,7,10]", type);
    expect("[4,8,16]", "reshape(p0)", "[32,16]", type);
    expect("[33,70]", "reshape(p0)", "[2310]", type);
    expect("[33,70] []", "pad(p0, p1), padding=1_2x3_0", "[36,73]", type);
    expect("[33,70] []", "pad(p0, p1), padding=-1_2x-3_5", "[34,72]", type);
    expect("[33,20] []", "pad(p0, p1), padding=-1_2_1x1_-2_2", "[66,57]", type);
    expect("[33,70] [33,5] [33,20]", "concatenate(p0, p1, p2), dimensions={1}", "[33,95]", type);
    expect("[33,70] [2,70] [20,70]", "concatenate(p0, p1, p2), dimensions={0}", "[55,70]", type);
    expect("[33,70] s32[] s64[]", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={5,64}", "[5,64]",
           type);
    expect("[100,70] s32[40,1]",
           "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
           "index_vector_dim=1, slice_sizes={1,70}",
           "[40,70]", type);
    expect("[100,70] u8[2,40]",
           "gather(p0, p1), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={0,1}, "
           "index_vector_dim=0, slice_sizes={7,3}",
           "[7,3,40]", type);
    expect("[6,100,7] u64[6,40]",
           "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
           "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
           "slice_sizes={1,1,7}",
           "[6,40,7]", type);
    // More places in the indices than in the array, and fewer.
    expect("[3,100,7] u64[6,40]",
           "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
           "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
           "slice_sizes={1,1,7}",
           "[6,40,7]", type);
    expect("[3,100,7] u64[6,40]",
           "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
           "operand_batching_dims={0}, start_indices_batching_dims={1}, index_vector_dim=2, "
           "slice_sizes={1,1,7}",
           "[6,40,7]", type);
    expect("[7]", "broadcast(p0), dimensions={1}", "[4,7,9]", type);
    expect("[]", "broadcast(p0), dimensions={}", "[4,7,9]", type);
    expect("[]", "iota(), iota_dimension=1", "[4,300]", type);
    expect("[]", "iota(), iota_dimension=0", "[4,300]", type);
  }
}

// Stages that take an array of three parts apart and put it together.
std::string Stages(int count, const std::string& type, int64_t part) {
  std::string body, last = "p0";
  for (int k = 0; k < count; ++k) {
    for (int d = 0; d < 3; ++d) {
      body += fmt::format("  s_{0}_{1} = {2}[{3}] slice({4}), slice={{[{5}:{6}]}}\n", k, d, type,
                          part, last, d * part, (d + 1) * part);
    }
    body += fmt::format(
        "  x_{0} = {1}[{2}] subtract(s_{0}_1, s_{0}_0)\n"
        "  y_{0} = {1}[{2}] multiply(s_{0}_0, s_{0}_2)\n  z_{0} = {1}[{2}] add(s_{0}_1, s_{0}_2)\n"
        "  c_{0} = {1}[{3}] concatenate(x_{0}, y_{0}, z_{0}), dimensions={{0}}\n"
        "  {4}v_{0} = {1}[{3}] add(c_{0}, {5})\n",
        k, type, part, 3 * part, k + 1 == count ? "ROOT " : "", last);
    last = fmt::format("v_{}", k);
  }
  return body;
}

// Computed once each, in registers; read at one index after the other they would be 3^9.
TEST(Loop, UnrollsSmallArrays) {
  for (const std::string type : {"f32", "f64", "s32", "c64"}) {
    ExpectAsEvaluated(Fused(type + "[3]", Stages(9, type, 1), type + "[3]"));
    ExpectAsEvaluated(Fused(type + "[15]", Stages(9, type, 5), type + "[15]"));
  }
  // All that moves elements, results of several arrays, a scalar and an index known at run time.
  ExpectAsEvaluated(
      Fused("f32[2,3] f32[4] s32[]",
            "  t = f32[3,2] transpose(p0), dimensions={1,0}\n  f = f32[6] reshape(t)\n"
            "  z = f32[] constant(7)\n  a = f32[9] pad(f, z), padding=1_2\n"
            "  v = f32[9] reverse(a), dimensions={0}\n  d = f32[3] dynamic-slice(v, p2), "
            "dynamic_slice_sizes={3}\n  c = f32[16] concatenate(d, v, p1), dimensions={0}\n"
            "  i = f32[16] iota(), iota_dimension=0\n  m = f32[16] multiply(c, i)\n"
            "  e = pred[16] compare(m, c), direction=GT\n"
            "  ROOT r = (f32[16], pred[16]) tuple(m, e)",
            "(f32[16], pred[16])"));
}

// Windows that are put together are copied where their rows lie.
TEST(Loop, ConcatenatesManySlices) {
  struct Case {
    const char *array, *part, *attributes, *as, *result;
    int dimension;
  };
  const Case cases[] = {
      {"[9,60]", "[9,40]", "[0:9], [{}:{}]", "[9,1,40]", "[9,6,40]", 1},
      {"[9,60]", "[9,40]", "[0:9], [{}:{}]", "[9,40]", "[9,240]", 1},
      {"[60,7]", "[40,7]", "[{}:{}], [0:7]", "[1,40,7]", "[6,40,7]", 0},
      {"[4,60,3]", "[4,40,1]", "[0:4], [{}:{}], [2:3]", "[4,40]", "[4,240]", 1},
      {"[60,4,5]", "[40,2,3]", "[{}:{}], [1:3], [2:5]", "[40,2,3]", "[40,12,3]", 1},
      {"[2,60,5]", "[2,40,5]", "[0:2], [{}:{}], [0:5]", "[2,40,1,5]", "[2,40,6,5]", 2},
  };
  for (const std::string type : {"f32", "bf16", "c128", "pred"}) {
    for (const Case& each : cases) {
      std::string body, parts;
      for (int k = 0; k < 6; ++k) {
        const std::string bounds = fmt::format(fmt::runtime(each.attributes), 3 * k, 3 * k + 40);
        body += fmt::format(
            "  w_{0} = {1}{2} slice(p{3}), slice={{{4}}}\n  r_{0} = {1}{5} reshape(w_{0})\n", k,
            type, each.part, k % 2, bounds, each.as);
        parts += fmt::format("{}r_{}", k == 0 ? "" : ", ", k);
      }
      ExpectAsEvaluated(Fused(fmt::format("{0}{1} {0}{1}", type, each.array),
                              body + fmt::format("  ROOT r = {}{} concatenate({}), "
                                                 "dimensions={{{}}}",
                                                 type, each.result, parts, each.dimension),
                              type + each.result));
    }
  }
}

TEST(Loop, ConcatenatesManyArrays) {
  const struct {
    std::string type, shape, result;
    int dimension, count;
  } cases[] = {{"f32", "[5]", "[200]", 0, 40},       {"f64", "[3,4,2]", "[3,160,2]", 1, 40},
               {"s8", "[7,1]", "[7,300]", 1, 300},   {"c64", "[2,2]", "[2,20]", 1, 10},
               {"f32", "[70000]", "[420000]", 0, 6}, {"bf16", "[3,50000]", "[3,350000]", 1, 7}};
  for (const auto& each : cases) {
    std::string parameters, names;
    for (int k = 0; k < each.count; ++k) {
      parameters += fmt::format("  p{0} = {1}{2} parameter({0})\n", k, each.type, each.shape);
      names += fmt::format("{}p{}", k == 0 ? "" : ", ", k);
    }
    ExpectAsEvaluated(fmt::format(
        "HloModule m\nENTRY e {{\n{}  ROOT r = {}{} concatenate({}), dimensions={{{}}}\n}}\n",
        parameters, each.type, each.result, names, each.dimension));
  }
  // Parts of different lengths, one of them twice.
  ExpectAsEvaluated(
      "HloModule m\nENTRY e {\n  a = f32[9,3] parameter(0)\n  b = f32[9,40] parameter(1)\n"
      "  c = f32[9,1] parameter(2)\n"
      "  ROOT r = f32[9,128] concatenate(a, b, c, b, c, a, b), dimensions={1}\n}\n");
}

TEST(Loop, YieldsSeveralArrays) {
  ExpectAsEvaluated(
      Fused("f32[40,50] f32[50]",
            "  b = f32[40,50] broadcast(p1), dimensions={1}\n"
            "  s = f32[40,50] add(p0, b)\n  c = pred[40,50] compare(s, b), direction=GT\n"
            "  d = f64[40,50] convert(s)\n"
            "  ROOT r = (f32[40,50], pred[40,50], f64[40,50]) tuple(s, c, d)",
            "(f32[40,50], pred[40,50], f64[40,50])"));
}

TEST(Loop, UpdatesInPlace) {
  ExpectAsEvaluated(Fused("f32[40,50] f32[7,50] s32[] s32[]",
                          "  n = f32[7,50] negate(p1)\n"
                          "  ROOT r = f32[40,50] dynamic-update-slice(p0, n, p2, p3)",
                          "f32[40,50]"));
  ExpectAsEvaluated(Fused("f32[4,9,5,8] f32[2,1,5,8] s32[] s32[] s32[] s32[]",
                          "  ROOT r = f32[4,9,5,8] dynamic-update-slice(p0, p1, p2, p3, p4, p5)",
                          "f32[4,9,5,8]"));
  ExpectAsEvaluated(Fused("f32[] f32[]", "  ROOT r = f32[] dynamic-update-slice(p0, p1)", "f32[]"));
  ExpectAsEvaluated(
      "HloModule m\nENTRY e {\n  a = s8[9,3,50] parameter(0)\n  u = s8[2,1,33] parameter(1)\n"
      "  i = s32[] parameter(2)\n  j = u8[] parameter(3)\n  k = s64[] parameter(4)\n"
      "  ROOT r = s8[9,3,50] dynamic-update-slice(a, u, i, j, k)\n}\n");
}

}  // namespace
}  // namespace hloscope::codegen
