// Kernels that go through arrays row by row.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

struct Case {
  std::string array, row, type;
  std::string dimensions;  // of the values of rows in the array
  std::string reduced;
};

std::string Reducers(const std::string& type) {
  std::string text;
  for (const char* opcode : {"add", "maximum"}) {
    text += fmt::format(
        "{1} {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT r = {0}[] {1}(a, b)\n"
        "}}\n",
        type, opcode);
  }
  return text;
}

// The body with A for the array's shape, R for that of its rows, T for the type, D and X for the
// dimensions of both.
std::string Filled(std::string body, const Case& c) {
  const std::pair<std::string, std::string> words[] = {{"$A", c.type + "[" + c.array + "]"},
                                                       {"$R", c.type + "[" + c.row + "]"},
                                                       {"$T", c.type},
                                                       {"$D", "{" + c.dimensions + "}"},
                                                       {"$X", "{" + c.reduced + "}"}};
  for (const auto& [word, text] : words) {
    for (size_t at = 0; (at = body.find(word, at)) != std::string::npos; at += text.size()) {
      body.replace(at, word.size(), text);
    }
  }
  return body;
}

std::string Rows(const Case& c, const std::string& body, const std::string& result) {
  return Fused(c.type + "[" + c.array + "]", Filled(body, c), Filled(result, c), Reducers(c.type));
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {{"40,64", "40", "f32", "0", "1"},
                                          {"7,1000", "7", "f32", "0", "1"},
                                          {"3,37", "3", "f32", "0", "1"},
                                          {"1,300", "1", "f32", "0", "1"},
                                          {"300", "", "f32", "", "0"},
                                          {"4,5,96", "4,5", "f32", "0,1", "2"},
                                          {"6,1,100,1", "6,1", "f32", "0,1", "2,3"},
                                          {"20,128", "20", "f64", "0", "1"},
                                          {"9,65", "9", "bf16", "0", "1"},
                                          {"9,64", "9", "s32", "0", "1"}};
  return cases;
}

constexpr const char* kMaximumAndSum =
    "  low = $T[] constant(-100)\n  zero = $T[] constant(0)\n"
    "  m = $R reduce(p0, low), dimensions=$X, to_apply=maximum\n"
    "  mb = $A broadcast(m), dimensions=$D\n  d = $A subtract(p0, mb)\n";

TEST(Rows, ElementsDependOnTheMaximum) {
  for (const Case& c : Cases()) {
    ExpectAsEvaluated(
        Rows(c, std::string(kMaximumAndSum) + "  ROOT r = $A multiply(d, d)\n", "$A"));
  }
}

TEST(Rows, OneReduceDependsOnAnother) {
  for (const Case& c : Cases()) {
    ExpectAsEvaluated(Rows(c,
                           std::string(kMaximumAndSum) +
                               "  n = $A negate(d)\n"
                               "  k = $R reduce(n, low), dimensions=$X, to_apply=maximum\n"
                               "  ROOT r = ($R, $R, $A) tuple(m, k, n)\n",
                           "($R, $R, $A)"));
  }
}

// Quotients are kept for the last run through the row.
TEST(Rows, KeepsExpensiveOperations) {
  for (const Case& c : Cases()) {
    if (c.type == "s32") continue;
    ExpectAsEvaluated(Rows(c,
                           "  low = $T[] constant(-100)\n  one = $T[] constant(3)\n"
                           "  ones = $A broadcast(one), dimensions={}\n  q = $A divide(p0, ones)\n"
                           "  q2 = $A divide(q, ones)\n"
                           "  m = $R reduce(q2, low), dimensions=$X, to_apply=maximum\n"
                           "  mb = $A broadcast(m), dimensions=$D\n"
                           "  ROOT d = $A maximum(q2, mb)\n",
                           "$A"));
  }
}

// The same with a reader that takes it from elsewhere in the array.
TEST(Rows, WhatIsReadElsewhereIsNotKept) {
  for (const Case& c : Cases()) {
    if (c.type == "s32") continue;
    ExpectAsEvaluated(Rows(c,
                           "  low = $T[] constant(-100)\n  one = $T[] constant(3)\n"
                           "  ones = $A broadcast(one), dimensions={}\n  q = $A divide(p0, ones)\n"
                           "  q2 = $A divide(q, ones)\n  e = $A reverse(q2), dimensions={0}\n"
                           "  m = $R reduce(q2, low), dimensions=$X, to_apply=maximum\n"
                           "  mb = $A broadcast(m), dimensions=$D\n"
                           "  f = $A maximum(q2, e)\n  ROOT d = $A minimum(f, mb)\n",
                           "$A"));
  }
}

}  // namespace
}  // namespace hloscope::codegen
