// Scatters: of elements and of windows, in every form of indices, with what makes them inside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

struct Case {
  std::string array, indices, updates;  // dimensions
  std::string attributes;
};

// Indices are from -3 to 60, so that some lie outside of most arrays.
std::string Scattered(const Case& c, const std::string& type, const std::string& index_type,
                      const std::string& opcode) {
  const std::string before = fmt::format(
      "c {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n"
      "  ROOT r = {0}[] {1}(a, b)\n}}\n",
      type, opcode);
  const std::string body = fmt::format(
      "  m = {0}[] constant(63)\n  mb = {0}[{1}] broadcast(m), dimensions={{}}\n"
      "  l = {0}[] constant(3)\n  lb = {0}[{1}] broadcast(l), dimensions={{}}\n"
      "  n = {0}[{1}] and(p1, mb)\n  i = {0}[{1}] subtract(n, lb)\n"
      "  ROOT s = {2}[{3}] scatter(p0, i, p2), {4}, to_apply=c",
      index_type, c.indices, type, c.array, c.attributes);
  return Fused(
      fmt::format("{0}[{1}] {2}[{3}] {0}[{4}]", type, c.array, index_type, c.indices, c.updates),
      body, fmt::format("{}[{}]", type, c.array), before);
}

const std::vector<Case>& Elements() {
  static const std::vector<Case> cases = {
      {"50", "1000", "1000",
       "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
       "index_vector_dim=1"},
      {"5000", "3,1", "3",
       "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
       "index_vector_dim=1"},
      {"20,40", "700,2", "700",
       "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0}, "
       "index_vector_dim=1"},
      {"20,40", "13,2,9", "13,9",
       "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, "
       "index_vector_dim=1"},
      {"1,40", "16,5", "16,1,5",
       "update_window_dims={1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
       "index_vector_dim=2"},
      {"7,40", "7,33,1", "7,33",
       "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
       "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2"},
      // More places in the indices than in the array.
      {"5,40", "7,33,1", "7,33",
       "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
       "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2"},
      {"9,40", "7,33,1", "7,33",
       "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
       "input_batching_dims={0}, scatter_indices_batching_dims={1}, index_vector_dim=2"},
      {"40", "1", "",
       "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
       "index_vector_dim=0"},
  };
  return cases;
}

TEST(Scatter, OfElements) {
  for (const Case& c : Elements()) {
    for (const std::string type : {"f32", "bf16", "f64", "s8", "u4", "s64"}) {
      for (const std::string index_type : {"s32", "u8", "s64"}) {
        ExpectAsEvaluated(Scattered(c, type, index_type, "add"));
      }
    }
    ExpectAsEvaluated(Scattered(c, "c64", "s32", "add"));
    ExpectAsEvaluated(Scattered(c, "c128", "s32", "add"));
    ExpectAsEvaluated(Scattered(c, "pred", "s32", "or"));
    ExpectAsEvaluated(Scattered(c, "f32", "s8", "subtract"));
  }
}

TEST(Scatter, OnOtherProcessors) {
  for (const std::string& target : RunnableTargets()) {
    SetTarget(target);
    for (const Case& c : Elements()) ExpectAsEvaluated(Scattered(c, "f32", "s32", "add"));
  }
  SetTarget({});
}

TEST(Scatter, OfWindows) {
  const Case cases[] = {
      {"50,40", "70,1", "70,40",
       "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
       "index_vector_dim=1"},
      {"33,50", "70,1", "70,33",
       "update_window_dims={1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
       "index_vector_dim=1"},
      {"50,60", "30,2", "30,3,17",
       "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, "
       "index_vector_dim=1"},
      {"4,50,9", "6,30", "6,30,5",
       "update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
       "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2"},
      {"6,50,9", "6,30", "6,30,5",
       "update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
       "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2"},
  };
  for (const Case& c : cases) {
    for (const std::string type : {"f32", "bf16", "s8", "f64", "c64"}) {
      ExpectAsEvaluated(Scattered(c, type, "s32", "add"));
      ExpectAsEvaluated(Scattered(c, type, "u64", "multiply"));
    }
  }
}

TEST(Scatter, OfSeveralArrays) {
  ExpectAsEvaluated(R"(HloModule m
c {
  a = f32[] parameter(0)
  b = s16[] parameter(1)
  x = f32[] parameter(2)
  y = s16[] parameter(3)
  s = f32[] add(a, x)
  m = s16[] maximum(b, y)
  ROOT t = (f32[], s16[]) tuple(s, m)
}
ENTRY e {
  p = f32[60] parameter(0)
  q = s16[60] parameter(1)
  i = u8[777,1] parameter(2)
  x = f32[777] parameter(3)
  y = s16[777] parameter(4)
  ROOT r = (f32[60], s16[60]) scatter(p, q, i, x, y), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=c
}
)");
}

}  // namespace
}  // namespace hloscope::codegen
