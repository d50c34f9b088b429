// Tests of shape inference: for every rule what it answers and what it refuses, and XLA's declared
// shapes over the corpus.
#include "core/hlo/shape/shape_inference.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/hlo/text/text.h"
#include "tests/base/paths.h"

namespace hloscope::hlo {
namespace {

// Computations the cases may call.
constexpr std::string_view kComputations = R"(
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
pair { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = (f32[], s32[]) tuple(b, j) }
next { a = f32[4] parameter(0)
  ROOT r = f32[4] negate(a) }
test { a = f32[4] parameter(0)
  ROOT r = pred[] constant(true) }
dynamic { a = f32[4] parameter(0)
  n = s32[] constant(2)
  ROOT r = f32[<=4] set-dimension-size(a, n), dimensions={0} }
floor { a = f32[] parameter(0)
  ROOT r = s32[] convert(a) }
step { a = f32[] parameter(0)
  c = f32[3] parameter(1)
  ROOT r = (s32[], f32[3]) tuple(a, c) }
)";

// Parameters p0, p1, … of the shapes in `parameters` (separated by blanks), and one instruction.
struct Case {
  std::string_view parameters;
  std::string_view instruction;
  std::string_view expected;     // the shape, or a part of the message
  std::string_view before = {};  // an instruction in front
};

std::string TextOf(const Case& c) {
  std::string text = "HloModule m\n" + std::string(kComputations) + "ENTRY e {\n";
  size_t number = 0;
  for (size_t at = 0; at < c.parameters.size(); ++number) {
    size_t end = std::min(c.parameters.find(' ', at), c.parameters.size());
    std::string n = std::to_string(number);
    text.append("  p").append(n).append(" = ").append(c.parameters.substr(at, end - at));
    text.append(" parameter(").append(n).append(")\n");
    at = end + 1;
  }
  text += c.before;
  return text + "\n  ROOT r = " + std::string(c.instruction) + "\n}\n";
}

Result<Shape> InferOf(const Module& module, InstructionId id, ProgramShapes& programs,
                      bool declared = true) {
  const Instruction& i = module[id];
  std::vector<const Shape*> operands;
  for (InstructionId operand : module.operands(i)) operands.push_back(&module.shape(operand));
  return InferShape({.module = module,
                     .opcode = i.opcode,
                     .operands = operands,
                     .attributes = module.attributes(i),
                     .declared = declared ? &module.shape(id) : nullptr,
                     .programs = &programs});
}

// The inferred shape of the case's instruction, or what is wrong with it.
std::string Answer(const Case& c) {
  ParseResult parsed = ParseText(TextOf(c));
  if (!parsed.ok()) return "unreadable: " + parsed.diagnostics[0].message;
  ProgramShapes programs;
  std::string_view first_word = c.instruction.substr(0, c.instruction.find('('));
  bool declared = !OpcodeFromText(first_word).has_value();
  auto shape = InferOf(*parsed.module, parsed.module->entry().root, programs, declared);
  return shape.has_value() ? ToString(*shape, false) : shape.error().message;
}

constexpr Case kGood[] = {
    // elementwise
    {"c64[2]", "abs(p0)", "f32[2]"},
    {"s32[<=5]", "negate(p0)", "s32[<=5]"},
    {"c128[2]", "imag(p0)", "f64[2]"},
    {"bf16[2]", "is-finite(p0)", "pred[2]"},
    {"f16[3] f32[3]", "add(p0, p1)", "f32[3]"},
    {"bf16[3] f16[3]", "add(p0, p1)", "bf16[3]"},
    {"f32[2,3] f32[]", "add(p0, p1)", "f32[2,3]"},
    {"f32[2,3] f32[1,3]", "add(p0, p1)", "f32[2,3]"},
    {"f32[?,3] f32[2,3]", "add(p0, p1)", "f32[2,3]"},
    {"f32[?] f32[<=3]", "add(p0, p1)", "f32[<=3]"},
    {"f32[3] f32[<=3]", "add(p0, p1)", "f32[<=3]"},
    {"f64[3] f64[3]", "complex(p0, p1)", "c128[3]"},
    {"s8[3] s8[3]", "compare(p0, p1), direction=EQ", "pred[3]"},
    {"f32[] f32[3] f32[]", "clamp(p0, p1, p2)", "f32[3]"},
    {"pred[] f32[3] f16[3]", "select(p0, p1, p2)", "f32[3]"},
    {"f32[2]", "s4[2] convert(p0)", "s4[2]"},
    {"f32[2]", "u8[2,4] bitcast-convert(p0)", "u8[2,4]"},
    {"u8[2,4]", "f32[2] bitcast-convert(p0)", "f32[2]"},
    {"f32[8]", "f32[2,4] bitcast(p0)", "f32[2,4]"},
    {"f32[2] u32[2]", "s8[2] stochastic-convert(p0, p1)", "s8[2]"},
    {"f32[2]", "f32[2] reduce-precision(p0), exponent_bits=5, mantissa_bits=10", "f32[2]"},
    // movement
    {"f32[3]", "f32[2,3] broadcast(p0), dimensions={1}", "f32[2,3]"},
    {"f32[3]", "broadcast(p0), dimensions={7}", "f32[7,3]"},
    {"f32[8,4]", "f32[32] reshape(p0)", "f32[32]"},
    {"f32[8] s32[] s32[]", "f32[<=2,4] dynamic-reshape(p0, p1, p2)", "f32[<=2,4]"},
    {"f32[2,<=3,4]", "transpose(p0), dimensions={2,0,1}", "f32[4,2,<=3]"},
    {"f32[2,3]", "reverse(p0), dimensions={1,0}", "f32[2,3]"},
    {"f32[10]", "f32[3] slice(p0), slice={[1:9:3]}", "f32[3]"},
    {"f32[<=10,4] s32[] s32[]", "f32[10,2] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={10,2}",
     "f32[<=10,2]"},
    {"f32[8] f32[2] s32[]", "f32[8] dynamic-update-slice(p0, p1, p2)", "f32[8]"},
    {"f32[4,?] f32[]", "pad(p0, p1), padding=1_-2_1x0_0", "f32[6,?]"},
    {"f32[2,3] bf16[2,<=4]", "concatenate(p0, p1), dimensions={1}", "f32[2,<=7]"},
    {"f32[2,<=5]", "get-dimension-size(p0), dimensions={1}", "s32[]"},
    {"f32[2,5] s32[]", "set-dimension-size(p0, p1), dimensions={1}", "f32[2,<=5]"},
    {"f32[3,4,5] s32[7,2]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={0,1}, "
     "index_vector_dim=1, slice_sizes={1,1,5}",
     "f32[7,5]"},
    {"f32[9,4] s32[9,2]",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,3}",
     "f32[9,2,3]"},
    // a batching dimension among the indexed ones
    {"f32[2,2] s32[2,1]",
     "gather(p0, p1), offset_dims={}, collapsed_slice_dims={1}, start_index_map={0}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,1}",
     "f32[2,1]"},
    {"f32[2,3,4] s32[2,1] f32[2,3]",
     "f32[2,3,4] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={2}, "
     "scatter_dims_to_operand_dims={0}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={0}, "
     "index_vector_dim=1, to_apply=add",
     "f32[2,3,4]"},
    {"f32[5,4] s32[2] f32[2,3]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
     "f32[5,4]"},
    // contraction
    {"bf16[9,2,3] bf16[9,3,5]",
     "f32[9,2,5] dot(p0, p1), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
     "rhs_contracting_dims={1}",
     "f32[9,2,5]"},
    {"f32[8,3] f32[2,3,5] s32[2]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "f32[8,5]"},
    {"f32[8,3] f32[3,5] s32[2]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={1}, rhs_group_dims={}",
     "f32[2,8,5]"},
    {"f8e4m3fn[4,32] f8e4m3fn[32,6] f8e8m0fnu[4,1] f8e8m0fnu[1,6]",
     "f32[4,6] scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[4,6]"},
    {"f32[1,<=8,8,4] f32[3,3,2,6]",
     "convolution(p0, p1), window={size=3x3 stride=2x1 pad=1_1x0_0 rhs_dilate=1x2}, "
     "dim_labels=b01f_01io->b01f, feature_group_count=2",
     "f32[1,<=4,4,6]"},
    {"f32[6,5,3] f32[2,3,4]",
     "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f, batch_group_count=2",
     "f32[3,4,4]"},
    {"f32[2,6]", "fft(p0), fft_type=RFFT, fft_length={6}", "c64[2,4]"},
    {"c64[2,4]", "fft(p0), fft_type=IRFFT, fft_length={6}", "f32[2,6]"},
    {"f32[2,3,3]", "cholesky(p0), lower=true", "f32[2,3,3]"},
    {"f32[3,3] f32[3,2]", "triangular-solve(p0, p1), left_side=true, transpose_a=NO_TRANSPOSE",
     "f32[3,2]"},
    // reduction
    {"bf16[2,<=3,4] f32[]", "reduce(p0, p1), dimensions={0,2}, to_apply=add", "f32[<=3]"},
    {"f32[2,3] s32[2,3] f32[] s32[]", "reduce(p0, p1, p2, p3), dimensions={1}, to_apply=pair",
     "(f32[2], s32[2])"},
    {"f32[10] f32[]", "reduce-window(p0, p1), window={size=3 stride=2 pad=1_0}, to_apply=add",
     "f32[5]"},
    {"f32[4,4] f32[2,2] f32[]",
     "select-and-scatter(p0, p1, p2), window={size=2x2 stride=2x2}, select=less, scatter=add",
     "f32[4,4]"},
    {"f32[5] f32[3]", "(s32[5], f32[3]) scan(p0, p1), dimensions={0}, num_carries=1, to_apply=step",
     "(s32[5], f32[3])"},
    {"f32[2,3]", "map(p0), dimensions={0,1}, to_apply=floor", "s32[2,3]"},
    {"f32[2,3]", "sort(p0), dimensions={1}, to_apply=less", "f32[2,3]"},
    {"f32[2,<=9]", "topk(p0), k=3, largest=true", "(f32[2,3], s32[2,3])"},
    {"f32[2,3] f32[3] f32[3]", "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "(f32[2,3], f32[3], f32[3])"},
    {"f32[2,3] f32[3] f32[3] f32[3] f32[3]",
     "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1", "f32[2,3]"},
    {"f32[2,3] f32[2] f32[2] f32[2] f32[2,3]",
     "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=0",
     "(f32[2,3], f32[2], f32[2])"},
    // control
    {"", "replica-id()", "u32[]"},
    {"f32[2]", "opt-barrier(p0)", "f32[2]"},
    {"f32[2] token[]", "add-dependency(p0, p1)", "f32[2]"},
    {"token[]", "after-all(p0)", "token[]"},
    {"f32[2] token[]", "after-all(p0, p1)", "token[]"},
    {"f32[2] s32[]", "tuple(p0, p1)", "(f32[2], s32[])"},
    {"(f32[2],s32[])", "get-tuple-element(p0), index=1", "s32[]"},
    {"f32[4]", "call(p0), to_apply=next", "f32[4]"},
    {"f32[4]", "f32[4] fusion(p0), kind=kLoop, calls=next", "f32[4]"},
    {"f32[4]", "while(p0), condition=test, body=next", "f32[4]"},
    {"s32[] f32[4] f32[4]", "conditional(p0, p1, p2), branch_computations={next, dynamic}",
     "f32[<=4]"},
    // asynchronous pairs and transfers
    {"f32[4]", "((f32[4]), f32[4], u32[]) async-start(p0), calls=next",
     "((f32[4]), f32[4], u32[])"},
    {"f32[4]", "((f32[4]), f32[4], u32[]) async-update(s)", "((f32[4]), f32[4], u32[])",
     "s = ((f32[4]), f32[4], u32[]) async-start(p0), calls=next"},
    {"f32[4]", "f32[4] async-done(s)", "f32[4]",
     "s = ((f32[4]), f32[4], u32[]) async-start(p0), calls=next"},
    {"f32[4]", "(f32[4], f32[4], u32[]) copy-start(p0)", "(f32[4], f32[4], u32[])"},
    {"(f32[4],f32[4],u32[])", "f32[4] copy-done(p0)", "f32[4]"},
    {"token[]", "(f32[3], token[]) infeed(p0)", "(f32[3], token[])"},
    {"f32[3] token[]", "token[] outfeed(p0, p1), outfeed_shape=f32[3]", "token[]"},
    {"f32[3] token[]", "(f32[3], u32[], token[]) send(p0, p1), channel_id=1",
     "(f32[3], u32[], token[])"},
    {"(f32[3],u32[],token[])", "token[] send-done(p0), channel_id=1", "token[]"},
    {"token[]", "(f32[3], u32[], token[]) recv(p0), channel_id=1", "(f32[3], u32[], token[])"},
    {"(f32[3],u32[],token[])", "(f32[3], token[]) recv-done(p0), channel_id=1",
     "(f32[3], token[])"},
    // collectives
    {"f32[2,3]", "f32[2,12] all-gather(p0), dimensions={1}, replica_groups={{0,1,2,3}}",
     "f32[2,12]"},
    {"f32[2]", "(f32[2], f32[4]) all-gather-start(p0), dimensions={0}, replica_groups={{0,1}}",
     "(f32[2], f32[4])"},
    {"(f32[2],f32[4])", "f32[4] all-gather-done(p0)", "f32[4]"},
    {"f32[2] s32[]", "(f32[2], s32[]) all-reduce(p0, p1), to_apply=add", "(f32[2], s32[])"},
    {"f32[8]", "f32[2] reduce-scatter(p0), dimensions={0}, to_apply=add", "f32[2]"},
    {"f32[8]", "f32[8] all-to-all(p0), dimensions={0}, replica_groups={{0,1}}", "f32[8]"},
    {"f32[8] f32[8]", "(f32[8], f32[8]) all-to-all(p0, p1), replica_groups={{0,1}}",
     "(f32[8], f32[8])"},
    {"f32[8] f32[16] s32[2] s32[2] s32[2] s32[2]",
     "f32[16] ragged-all-to-all(p0, p1, p2, p3, p4, p5), replica_groups={{0,1}}", "f32[16]"},
    {"f32[8]", "f32[8] collective-broadcast(p0), replica_groups={{0,1}}", "f32[8]"},
    {"f32[8]", "f32[8] collective-permute(p0), source_target_pairs={{0,1}}", "f32[8]"},
    {"f32[8]", "(f32[8], f32[8], u32[]) collective-permute-start(p0), source_target_pairs={{0,1}}",
     "(f32[8], f32[8], u32[])"},
    {"(f32[8],f32[8])", "f32[8] collective-permute-done(p0)", "f32[8]"},
};

constexpr Case kBad[] = {
    {"u32[2]", "u32[2] abs(p0)", "operand 0 of type u32"},
    {"s32[2]", "s32[2] imag(p0)", "operand 0 of type s32"},
    {"s32[2]", "pred[2] is-finite(p0)", "operand 0 of type s32"},
    {"f32[2] s32[2]", "f32[2] add(p0, p1)", "types f32 and s32"},
    {"f32[2] f32[3]", "f32[2] add(p0, p1)", "f32[2] and f32[3]"},
    {"f32[2] f32[2,2]", "f32[2,2] add(p0, p1)", "equal ranks"},
    {"pred[2] pred[2]", "pred[2] subtract(p0, p1)", "type pred"},
    {"f32[2] f64[2]", "c64[2] complex(p0, p1)", "both f32 or both f64"},
    {"f32[2] f32[3]", "pred[2] compare(p0, p1), direction=EQ", "f32[2] and f32[3]"},
    {"f32[2] f32[3] f32[]", "f32[3] clamp(p0, p1, p2)", "f32[2], f32[3] and f32[]"},
    {"s32[3] f32[3] f32[3]", "f32[3] select(p0, p1, p2)", "predicate s32[3]"},
    {"pred[2] f32[3] f32[3]", "f32[3] select(p0, p1, p2)", "predicate pred[2]"},
    {"f32[2]", "(f32[2]) convert(p0)", "expected an array"},
    {"f32[3]", "f64[2] bitcast-convert(p0)", "last dimension of size 2"},
    {"f32[2]", "c64[2] bitcast-convert(p0)", "complex"},
    {"f32[2] u16[2]", "s8[2] stochastic-convert(p0, p1)", "of the same width"},
    {"f32[2]", "f32[2] reduce-precision(p0), exponent_bits=0, mantissa_bits=1", "exponent_bits=0"},
    {"f32[3]", "f32[2,3] broadcast(p0), dimensions={2}", "dimensions={2} with 2 out of range"},
    {"f32[3]", "f32[2,3] broadcast(p0), dimensions={0}", "size 2 in result dimension 0"},
    {"f32[3,3]", "f32[3,3] broadcast(p0), dimensions={0,0}", "0 more than once"},
    {"f32[32]", "f32[31] reshape(p0)", "reshape has 31 elements, operand 32"},
    {"f32[8] s32[] f32[]", "f32[2,4] dynamic-reshape(p0, p1, p2)", "expected s32[]"},
    {"f32[2,3]", "f32[3,2] transpose(p0), dimensions={1,1}", "1 more than once"},
    {"f32[2,3]", "f32[3,2] transpose(p0), dimensions={1}", "expected 2 dimensions"},
    {"f32[2,3]", "f32[2,3] reverse(p0), dimensions={-1}", "-1 out of range for rank 2"},
    {"f32[10]", "f32[3] slice(p0), slice={[1:12:3]}", "beyond its size 10"},
    {"f32[10]", "f32[3] slice(p0), slice={[4:2]}", "start ≤ limit"},
    {"f32[8] s32[]", "f32[9] dynamic-slice(p0, p1), dynamic_slice_sizes={9}",
     "9 for dimension 0 of size 8"},
    {"f32[8] f32[]", "f32[2] dynamic-slice(p0, p1), dynamic_slice_sizes={2}", "expected integers"},
    {"f32[8] f32[9] s32[]", "f32[8] dynamic-update-slice(p0, p1, p2)", "larger than"},
    {"f32[4] f32[]", "f32[1] pad(p0, p1), padding=-3_-3", "the result is negative"},
    {"f32[4] f32[]", "f32[1] pad(p0, p1), padding=9223372036854775807_9223372036854775807",
     "the result overflows"},
    {"f32[4] s32[]", "f32[6] pad(p0, p1), padding=1_1", "expected f32[]"},
    {"f32[2,3] f32[3,4]", "f32[2,7] concatenate(p0, p1), dimensions={1}", "equal dimension 0"},
    {"f32[2]", "s32[] get-dimension-size(p0), dimensions={1}", "out of range for rank 1"},
    {"f32[2] s64[]", "f32[<=2] set-dimension-size(p0, p1), dimensions={0}", "expected s32[]"},
    {"f32[3,4] s32[7]",
     "f32[7,9] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,9}",
     "9 for dimension 1 of size 4"},
    {"f32[3,4] s32[7]",
     "f32[7,4] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=5, slice_sizes={1,4}",
     "index_vector_dim=5"},
    // What XLA refuses when it makes indices of batching dimensions.
    {"s32[2,3,4] s32[2,1] s32[2,3]",
     "s32[2,3,4] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={2}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={0}, "
     "index_vector_dim=1, to_apply=add",
     "dimension 0 in inserted_window_dims= and in input_batching_dims="},
    {"s32[1,2,1,1] s32[1,2]",
     "s32[1,2,1] gather(p0, p1), offset_dims={2}, collapsed_slice_dims={3}, start_index_map={0}, "
     "operand_batching_dims={1,3}, start_indices_batching_dims={1,0}, index_vector_dim=2, "
     "slice_sizes={1,1,1,1}",
     "dimension 3 in collapsed_slice_dims= and in operand_batching_dims="},
    {"f32[5,4] s32[2] f32[3,4]",
     "f32[5,4] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
     "dimension 0 of size 3, indices have 2"},
    {"f32[2,3] f32[4,5]",
     "f32[2,5] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "size 3"},
    {"f32[2,3] f32[3,5]",
     "f32[2,5] dot(p0, p1), lhs_contracting_dims={1,1}, rhs_contracting_dims={0,0}",
     "1 more than once"},
    {"f32[8,3] f32[2,3,5] s32[2]",
     "f32[8,5] ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0,1}, rhs_group_dims={0}",
     "expected 1 dimension"},
    {"f32[4,32] f32[32,6] f32[] f32[]",
     "f32[4,6] scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "two scalar scales"},
    {"f32[1,8,4] f32[3,4,6]",
     "f32[1,6,6] convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f", "window size 2"},
    {"f32[1,8,4] f32[3,3,6]",
     "f32[1,6,6] convolution(p0, p1), window={size=3}, dim_labels=b0f_0io->b0f",
     "4 features left in 1 group, 3 per group right"},
    {"f32[2,6]", "c64[2,4] fft(p0), fft_type=RFFT, fft_length={5}", "dimension 1 of operand"},
    {"f32[2,6]", "c64[2,4] fft(p0), fft_type=FFT, fft_length={6}", "expected complex numbers"},
    {"f32[2,3]", "f32[2,3] cholesky(p0)", "square matrices"},
    {"f32[3,3] f32[2,2]", "f32[2,2] triangular-solve(p0, p1), transpose_a=NO_TRANSPOSE",
     "dimension 1 of b"},
    {"f32[2] f32[]", "f32[] reduce(p0, p1), dimensions={0,0}, to_apply=add", "0 more than once"},
    {"f32[2] f32[]", "f32[] reduce(p0, p1), dimensions={0}, to_apply=less", "result pred[]"},
    {"s32[2] s32[]", "s32[] reduce(p0, p1), dimensions={0}, to_apply=add", "initial value s32[]"},
    {"f32[9] f32[]", "f32[9] reduce-window(p0, p1), window={size=3 stride=0}, to_apply=add",
     "positive size, stride and dilations"},
    {"f32[9] f32[]",
     "f32[9] reduce-window(p0, p1), window={size=3 pad=9223372036854775807_1}, to_apply=add",
     "overflows"},
    {"f32[9] f32[]", "f32[9] reduce-window(p0, p1), window={size=3x3}, to_apply=add",
     "window of 2 dimensions"},
    {"f32[4,4] f32[3,2] f32[]",
     "f32[4,4] select-and-scatter(p0, p1, p2), window={size=2x2 stride=2x2}, select=less, "
     "scatter=add",
     "has f32[2,2]"},
    {"f32[5] f32[3]", "(s32[5], f32[3]) scan(p0, p1), dimensions={1}, num_carries=1, to_apply=step",
     "along dimension 1"},
    {"f32[2,3]", "map(p0), dimensions={1,0}, to_apply=floor", "ascending"},
    {"f32[2]", "s32[2] map(p0), dimensions={0}, to_apply=add", "1 operand"},
    {"f32[2,3]", "f32[2,3] sort(p0), dimensions={2}, to_apply=less", "out of range for rank 2"},
    {"f32[2,3]", "f32[2,3] sort(p0), dimensions={0}, to_apply=add", "comparator with result f32[]"},
    {"f32[2]", "(f32[3], s32[3]) topk(p0), k=3", "k=3"},
    {"f32[2,3] f32[2] f32[3]",
     "(f32[2,3], f32[3], f32[3]) batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "operand 1 of shape f32[2], expected f32[3]"},
    {"f32[2,3] f32[3] f32[3] f32[3] f32[3]",
     "f32[2,3] batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=2",
     "feature_index=2"},
    {"f32[2,3] f32[2] f32[2] f32[2] f32[3,3]",
     "(f32[2,3], f32[2], f32[2]) batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=0",
     "gradient f32[3,3]"},
    {"f32[2] f32[]", "f32[2] add-dependency(p0, p1)", "expected token[]"},
    {"(f32[2],s32[])", "s32[] get-tuple-element(p0), index=2", "has 2 elements"},
    {"f32[2]", "s32[] get-tuple-element(p0), index=0", "expected a tuple"},
    {"f32[5]", "f32[5] call(p0), to_apply=next", "the computation's parameter f32[4]"},
    {"f32[5]", "f32[4] fusion(p0), kind=kLoop, calls=next", "the computation's parameter f32[4]"},
    {"f32[4]", "f32[4] while(p0), condition=next, body=next", "condition with result f32[4]"},
    {"f32[4]", "f32[4] while(p0), condition=test, body=test", "body result pred[]"},
    {"s32[] f32[4] f32[4]", "f32[4] conditional(p0, p1, p2), branch_computations={next, test}",
     "result pred[] of branch 1"},
    {"s32[] f32[5]", "f32[4] conditional(p0, p1), branch_computations={next}",
     "parameter of branch 0 f32[4]"},
    {"f32[5]", "((f32[4]), f32[4], u32[]) async-start(p0), calls=next",
     "operand 0 of shape f32[5]"},
    {"f32[4]", "f32[4] copy-done(p0)", "at least 2 elements"},
    {"f32[]", "(f32[3], token[]) infeed(p0)", "expected token[]"},
    {"f32[3] token[]", "token[] outfeed(p0, p1), outfeed_shape=f32[4]", "outfeed_shape=f32[4]"},
    {"f32[3] f32[]", "(f32[3], u32[], token[]) send(p0, p1), channel_id=1", "expected token[]"},
    {"f32[]", "(f32[3], u32[], token[]) recv(p0), channel_id=1", "expected token[]"},
    {"f32[3]", "(f32[3], token[]) recv-done(p0), channel_id=1", "expected a tuple"},
    {"f32[2]", "f32[4] all-gather(p0), dimensions={1}", "out of range for rank 1"},
    {"f32[2]", "f32[4] all-gather-start(p0), dimensions={0}", "expected a pair"},
    {"f32[2]", "f32[2] all-gather-done(p0)", "tuple of a start"},
    {"(f32[2])", "(f32[2]) all-reduce(p0), to_apply=add", "expected an array"},
    {"f32[7]", "f32[2] reduce-scatter(p0), dimensions={0}, to_apply=add", "multiple of 4"},
    {"f32[8] f32[7]", "(f32[8], f32[8]) all-to-all(p0, p1), replica_groups={{0,1}}",
     "equal shapes"},
    {"f32[8] f32[8] s32[2] s32[3] s32[2] s32[2]",
     "f32[8] ragged-all-to-all(p0, p1, p2, p3, p4, p5), replica_groups={{0,1}}", "operand 3"},
    {"(f32[8])", "(f32[8]) collective-broadcast(p0), replica_groups={{0,1}}", "expected an array"},
    {"", "f32[8] collective-permute(), source_target_pairs={{0,1}}", "no operands"},
};

TEST(ShapeInferenceTest, AnswersXlasShape) {
  for (const Case& c : kGood) EXPECT_EQ(Answer(c), c.expected) << c.instruction;
}

TEST(ShapeInferenceTest, SaysWhatIsWrong) {
  for (const Case& c : kBad) {
    std::string answer = Answer(c);
    EXPECT_NE(answer.find(c.expected), std::string::npos) << c.instruction << "\n  " << answer;
  }
}

TEST(ShapeInferenceTest, RefusesEndlessTuples) {
  std::string text = "HloModule m\nENTRY e {\n  t0 = f32[] parameter(0)\n";
  for (int i = 1; i < 60; ++i) {
    std::string last = "t" + std::to_string(i - 1);
    text += i == 59 ? "  ROOT t" : "  t";
    text.append(std::to_string(i)).append(" = tuple(").append(last).append(", ").append(last);
    text += ")\n";
  }
  ParseResult parsed = ParseText(text + "}\n");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.diagnostics[0].rule, "limit") << parsed.diagnostics[0].message;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// `text` with each of its numbers in turn replaced by one that a rule must not trust.
std::vector<std::string> WithHostileNumbers(std::string_view text) {
  std::vector<std::string> changed;
  for (size_t at = 0; at < text.size(); ++at) {
    size_t end = at;
    while (end < text.size() && IsDigit(text[end])) ++end;
    bool in_name = at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0;
    if (end == at || in_name) continue;
    for (std::string_view number :
         {"0", "1", "-1", "7", "2147483648", "9223372036854775807", "-9223372036854775808", ""}) {
      changed.emplace_back(text.substr(0, at)).append(number).append(text.substr(end));
    }
    at = end;
  }
  return changed;
}

// `parameters` with each shape in turn replaced by another.
std::vector<std::string> WithOtherShapes(std::string_view parameters) {
  std::vector<std::string> changed;
  for (size_t at = 0; at < parameters.size();) {
    size_t end = std::min(parameters.find(' ', at), parameters.size());
    for (std::string_view shape :
         {"f32[]", "token[]", "()", "f32[?,?]", "s32[<=3]", "f32[0,5,1]", "b(f32[4])",
          "((),(f32[2],s32[]))", "f32[9223372036854775807,9223372036854775807]"}) {
      changed.emplace_back(parameters.substr(0, at)).append(shape).append(parameters.substr(end));
    }
    at = end + 1;
  }
  return changed;
}

// That nothing crashes or overflows is for the sanitizers to see.
TEST(ShapeInferenceTest, AnswersHostileTexts) {
  size_t answers = 0;
  for (const Case& c : kGood) {
    for (const std::string& instruction : WithHostileNumbers(c.instruction)) {
      EXPECT_FALSE(Answer({c.parameters, instruction, "", c.before}).empty());
      ++answers;
    }
    for (const std::string& parameters : WithOtherShapes(c.parameters)) {
      EXPECT_FALSE(Answer({parameters, c.instruction, "", c.before}).empty());
      ++answers;
    }
  }
  EXPECT_GT(answers, 2500u);
}

std::filesystem::path CorpusPath() {
  if (const char* path = std::getenv("HLOSCOPE_CORPUS"); path != nullptr) return path;
  return SourcePath("../shared/corpus");
}

// Adds a failure for every instruction whose inferred shape is not the declared one, up to what XLA
// lets differ: layouts, dynamic marks and float precision. Answers the number of instructions.
size_t CompareDeclared(const std::filesystem::path& path) {
  auto file = FileView::Open(path.string(), Limits{});
  if (!file.has_value()) return 0;
  ParseResult parsed = ParseText(file->bytes());
  if (!parsed.ok()) return 0;
  const Module& module = *parsed.module;
  ProgramShapes programs;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    InstructionId id(i);
    auto shape = InferOf(module, id, programs);
    if (!shape.has_value()) {
      ADD_FAILURE() << path << ": " << module.name(id) << ": " << shape.error().message;
    } else if (!Compatible(*shape, module.shape(id),
                           {.float_precision = false, .dynamic_dimensions = false})) {
      ADD_FAILURE() << path << ": " << module.name(id) << ": inferred " << ToString(*shape, false);
    }
  }
  return module.instructions().size();
}

// XLA's tests verify these, so that every declared shape is XLA's own.
TEST(ShapeInferenceTest, AgreesWithVerifiedTextsOfXla) {
  std::filesystem::path suite = CorpusPath() / "xla-suite";
  std::ifstream index(suite / "index.json");
  if (!index.is_open()) GTEST_SKIP() << "corpus not present";
  size_t instructions = 0;
  for (const auto& entry : nlohmann::json::parse(index)) {
    if (entry["verified"] != "verified" || entry["expect"] != "ok") continue;
    if (entry["label"] != "accept" && entry["label"] != "version_skew") continue;
    std::string name = entry["name"];
    instructions += CompareDeclared(suite / "modules" / (name + ".hlo"));
  }
  EXPECT_GT(instructions, 5000u);
}

TEST(ShapeInferenceTest, AgreesWithDumps) {
  std::filesystem::path corpus = CorpusPath();
  if (!std::filesystem::exists(corpus)) GTEST_SKIP() << "corpus not present";
  size_t instructions = 0;
  for (const char* part : {"jax", "gpu", "exla", "reactant", "tensorflow", "torch_xla",
                           "xla-benchmarks", "handwritten"}) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(corpus / part)) {
      if (file.path().extension() != ".txt" && file.path().extension() != ".hlo") continue;
      instructions += CompareDeclared(file.path());
    }
  }
  EXPECT_GT(instructions, 100'000u);
}

}  // namespace
}  // namespace hloscope::hlo
