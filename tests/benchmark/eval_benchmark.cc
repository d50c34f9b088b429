// Speed of the reference evaluator: elements (or operations) per second of single instructions on
// big arrays, on one thread and on all.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/jobs.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/text/text.h"
#include "core/replay/inputs/inputs.h"

namespace hloscope {
namespace {

struct Row {
  std::string name;
  double items;  // elements of the result or the operand, whichever are more; for products: FLOP
  std::string parameters, result, operation;  // ROOT r = RESULT OPERATION, p0 … being parameters
};

constexpr const char* kComputations = R"(
add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
add_s32 { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
add_bf16 { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }
max_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
ge_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }
less_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
less_keyed {
  a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT
}
argmax {
  a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT eq = pred[] compare(a, b), direction=EQ lt = pred[] compare(i, j), direction=LT
  both = pred[] and(eq, lt) left = pred[] or(gt, both)
  v = f32[] select(left, a, b) k = s32[] select(left, i, j) ROOT r = (f32[], s32[]) tuple(v, k)
}
axpy { a = f32[] parameter(0) b = f32[] parameter(1) t = f32[] multiply(a, b) ROOT r = f32[] add(t, a) }
chain { p0 = f32[4194304] parameter(0) p1 = f32[4194304] parameter(1)
  a = f32[4194304] multiply(p0, p1) b = f32[4194304] add(a, p0) c = f32[4194304] subtract(b, p1)
  d = f32[4194304] maximum(c, p0) ROOT r = f32[4194304] multiply(d, b) }
)";

constexpr double k4M = 4194304, k1M = 1048576;

std::string Parameters(std::initializer_list<std::string> shapes) {
  std::string text;
  int i = 0;
  for (const std::string& shape : shapes) {
    text += fmt::format("  p{0} = {1} parameter({0})\n", i++, shape);
  }
  return text;
}

void AddElementwise(std::vector<Row>& rows) {
  for (const std::string type : {"f32", "f64", "bf16", "f16", "f8e4m3fn", "s32", "c64"}) {
    const std::string shape = type + "[4194304]";
    rows.push_back({"add_" + type, k4M, Parameters({shape, shape}), shape, "add(p0, p1)"});
  }
  const std::string f32 = "f32[4194304]";
  for (const std::string op : {"multiply", "divide", "maximum", "power", "remainder", "atan2"}) {
    rows.push_back({op + "_f32", k4M, Parameters({f32, f32}), f32, op + "(p0, p1)"});
  }
  for (const std::string op : {"exponential", "exponential-minus-one", "log", "log-plus-one",
                               "tanh", "sine", "cosine", "tan", "sqrt", "rsqrt", "cbrt", "logistic",
                               "erf", "floor", "round-nearest-even", "negate", "sign"}) {
    rows.push_back({op + "_f32", k4M, Parameters({f32}), f32, op + "(p0)"});
  }
  const std::string bf16 = "bf16[4194304]", f64 = "f64[1048576]";
  rows.push_back({"exponential_bf16", k4M, Parameters({bf16}), bf16, "exponential(p0)"});
  rows.push_back({"exponential_f64", k1M, Parameters({f64}), f64, "exponential(p0)"});
  const std::string pred = "pred[4194304]";
  rows.push_back(
      {"compare_f32", k4M, Parameters({f32, f32}), pred, "compare(p0, p1), direction=LT"});
  rows.push_back({"select_f32", k4M, Parameters({pred, f32, f32}), f32, "select(p0, p1, p2)"});
  rows.push_back({"clamp_f32", k4M, Parameters({"f32[]", f32, "f32[]"}), f32, "clamp(p0, p1, p2)"});
  rows.push_back(
      {"chain5_f32", k4M, Parameters({f32, f32}), f32, "fusion(p0, p1), kind=kLoop, calls=chain"});
  rows.push_back({"map_axpy_f32", k4M, Parameters({f32, f32}), f32,
                  "map(p0, p1), dimensions={0}, to_apply=axpy"});
  const std::pair<std::string, std::string> conversions[] = {
      {"f32", "bf16"},     {"bf16", "f32"},     {"f32", "f16"}, {"f16", "f32"},
      {"f32", "f8e4m3fn"}, {"f8e4m3fn", "f32"}, {"f32", "s32"}, {"s32", "f32"},
      {"f32", "f64"},      {"s8", "s32"},       {"pred", "f32"}};
  for (const auto& [from, to] : conversions) {
    rows.push_back({fmt::format("convert_{}_{}", from, to), k4M, Parameters({from + "[4194304]"}),
                    to + "[4194304]", "convert(p0)"});
  }
}

void AddMovement(std::vector<Row>& rows) {
  const std::string m = "f32[2048,2048]", v = "f32[4194304]";
  rows.push_back({"transpose_2d", k4M, Parameters({m}), m, "transpose(p0), dimensions={1,0}"});
  rows.push_back({"transpose_0213", k4M, Parameters({"f32[16,64,64,64]"}), "f32[16,64,64,64]",
                  "transpose(p0), dimensions={0,2,1,3}"});
  rows.push_back({"transpose_0231", k4M, Parameters({"f32[16,64,64,64]"}), "f32[16,64,64,64]",
                  "transpose(p0), dimensions={0,2,3,1}"});
  rows.push_back({"transpose_bf16", k4M, Parameters({"bf16[2048,2048]"}), "bf16[2048,2048]",
                  "transpose(p0), dimensions={1,0}"});
  rows.push_back(
      {"broadcast_scalar", k4M, Parameters({"f32[]"}), m, "broadcast(p0), dimensions={}"});
  rows.push_back(
      {"broadcast_row", k4M, Parameters({"f32[2048]"}), m, "broadcast(p0), dimensions={1}"});
  rows.push_back(
      {"broadcast_column", k4M, Parameters({"f32[2048]"}), m, "broadcast(p0), dimensions={0}"});
  rows.push_back({"iota", k4M, "", "s32[4194304]", "iota(), iota_dimension=0"});
  rows.push_back({"reverse", k4M, Parameters({v}), v, "reverse(p0), dimensions={0}"});
  rows.push_back({"slice_strided", k4M / 2, Parameters({v}), "f32[2097152]",
                  "slice(p0), slice={[0:4194304:2]}"});
  rows.push_back({"pad_interior", k4M, Parameters({"f32[2097152]", "f32[]"}), "f32[4194303]",
                  "pad(p0, p1), padding=0_0_1"});
  rows.push_back({"concatenate", k4M, Parameters({"f32[2048,1024]", "f32[2048,1024]"}), m,
                  "concatenate(p0, p1), dimensions={1}"});
  rows.push_back({"gather_scalars", k1M, Parameters({"f32[1048576]", "s32[1048576,1]"}),
                  "f32[1048576]",
                  "gather(p0, p1), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
                  "index_vector_dim=1, slice_sizes={1}"});
  rows.push_back({"gather_rows64", k4M, Parameters({"f32[65536,64]", "s32[65536,1]"}),
                  "f32[65536,64]",
                  "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                  "index_vector_dim=1, slice_sizes={1,64}"});
  for (const std::string type : {"f32", "s32", "bf16"}) {
    rows.push_back({"scatter_add_" + type, k1M,
                    Parameters({type + "[1048576]", "s32[1048576,1]", type + "[1048576]"}),
                    type + "[1048576]",
                    "scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0}, "
                    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_" +
                        type});
  }
  rows.push_back({"scatter_rows64", k4M,
                  Parameters({"f32[65536,64]", "s32[65536,1]", "f32[65536,64]"}), "f32[65536,64]",
                  "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32"});
}

void AddReductions(std::vector<Row>& rows) {
  const std::string m = "f32[2048,2048]", v = "f32[1048576]";
  rows.push_back({"reduce_all", k4M, Parameters({"f32[4194304]", "f32[]"}), "f32[]",
                  "reduce(p0, p1), dimensions={0}, to_apply=add_f32"});
  rows.push_back({"reduce_rows", k4M, Parameters({m, "f32[]"}), "f32[2048]",
                  "reduce(p0, p1), dimensions={1}, to_apply=add_f32"});
  rows.push_back({"reduce_rows16", k4M, Parameters({"f32[262144,16]", "f32[]"}), "f32[262144]",
                  "reduce(p0, p1), dimensions={1}, to_apply=add_f32"});
  rows.push_back({"reduce_columns", k4M, Parameters({m, "f32[]"}), "f32[2048]",
                  "reduce(p0, p1), dimensions={0}, to_apply=add_f32"});
  rows.push_back({"reduce_columns64", k4M, Parameters({"f32[65536,64]", "f32[]"}), "f32[64]",
                  "reduce(p0, p1), dimensions={0}, to_apply=add_f32"});
  rows.push_back({"reduce_middle", k4M, Parameters({"f32[64,1024,64]", "f32[]"}), "f32[64,64]",
                  "reduce(p0, p1), dimensions={1}, to_apply=add_f32"});
  rows.push_back({"reduce_max", k4M, Parameters({m, "f32[]"}), "f32[2048]",
                  "reduce(p0, p1), dimensions={1}, to_apply=max_f32"});
  rows.push_back({"reduce_bf16", k4M, Parameters({"bf16[2048,2048]", "bf16[]"}), "bf16[2048]",
                  "reduce(p0, p1), dimensions={1}, to_apply=add_bf16"});
  rows.push_back({"argmax", k4M, Parameters({m, "s32[2048,2048]", "f32[]", "s32[]"}),
                  "(f32[2048], s32[2048])",
                  "reduce(p0, p1, p2, p3), dimensions={1}, to_apply=argmax"});
  rows.push_back({"cumsum", k1M, Parameters({v, "f32[]"}), v,
                  "reduce-window(p0, p1), window={size=1048576 pad=1048575_0}, to_apply=add_f32"});
  rows.push_back({"cumsum_reverse", 65536, Parameters({"f32[65536]", "f32[]"}), "f32[65536]",
                  "reduce-window(p0, p1), window={size=65536 pad=0_65535}, to_apply=add_f32"});
  rows.push_back({"window64", k1M, Parameters({v, "f32[]"}), v,
                  "reduce-window(p0, p1), window={size=64 pad=31_32}, to_apply=add_f32"});
  rows.push_back({"maxpool_nhwc", 8 * 112 * 112 * 64.0, Parameters({"f32[8,112,112,64]", "f32[]"}),
                  "f32[8,56,56,64]",
                  "reduce-window(p0, p1), window={size=1x3x3x1 stride=1x2x2x1 "
                  "pad=0_0x0_1x0_1x0_0}, to_apply=max_f32"});
  rows.push_back({"maxpool_nchw", 8 * 112 * 112 * 64.0, Parameters({"f32[8,64,112,112]", "f32[]"}),
                  "f32[8,64,56,56]",
                  "reduce-window(p0, p1), window={size=1x1x3x3 stride=1x1x2x2 "
                  "pad=0_0x0_0x0_1x0_1}, to_apply=max_f32"});
  rows.push_back({"select_and_scatter", 8 * 56 * 56 * 64.0,
                  Parameters({"f32[8,56,56,64]", "f32[8,28,28,64]", "f32[]"}), "f32[8,56,56,64]",
                  "select-and-scatter(p0, p1, p2), window={size=1x2x2x1 stride=1x2x2x1}, "
                  "select=ge_f32, scatter=add_f32"});
  rows.push_back(
      {"sort_f32", k1M, Parameters({v}), v, "sort(p0), dimensions={0}, to_apply=less_f32"});
  rows.push_back({"sort_pairs", k1M, Parameters({v, "s32[1048576]"}),
                  "(f32[1048576], s32[1048576])",
                  "sort(p0, p1), dimensions={0}, to_apply=less_keyed"});
  rows.push_back({"sort_lines", k1M, Parameters({"f32[16384,64]"}), "f32[16384,64]",
                  "sort(p0), dimensions={1}, to_apply=less_f32"});
  rows.push_back({"sort_columns", k1M, Parameters({"f32[64,16384]"}), "f32[64,16384]",
                  "sort(p0), dimensions={0}, to_apply=less_f32"});
  rows.push_back({"topk", k1M, Parameters({"f32[16,65536]"}), "(f32[16,8], s32[16,8])",
                  "topk(p0), k=8, largest=true"});
}

void AddProducts(std::vector<Row>& rows) {
  for (const std::string type : {"f32", "bf16", "f64", "s32"}) {
    const std::string m = type + "[512,512]";
    rows.push_back({"dot512_" + type, 2.0 * 512 * 512 * 512, Parameters({m, m}), m,
                    "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}"});
  }
  rows.push_back({"dot512_transposed", 2.0 * 512 * 512 * 512,
                  Parameters({"f32[512,512]", "f32[512,512]"}), "f32[512,512]",
                  "dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={1}"});
  rows.push_back({"dot_vector", 2.0 * 2048 * 2048, Parameters({"f32[2048,2048]", "f32[2048]"}),
                  "f32[2048]", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}"});
  rows.push_back({"dot_batched", 2.0 * 64 * 256 * 64 * 256,
                  Parameters({"f32[64,256,64]", "f32[64,64,256]"}), "f32[64,256,256]",
                  "dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                  "rhs_contracting_dims={1}"});
  rows.push_back(
      {"conv3x3_nhwc", 2.0 * 8 * 56 * 56 * 64 * 64 * 9,
       Parameters({"f32[8,56,56,64]", "f32[3,3,64,64]"}), "f32[8,56,56,64]",
       "convolution(p0, p1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"});
  rows.push_back(
      {"conv3x3_nchw", 2.0 * 8 * 56 * 56 * 64 * 64 * 9,
       Parameters({"f32[8,64,56,56]", "f32[64,64,3,3]"}), "f32[8,64,56,56]",
       "convolution(p0, p1), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01"});
  rows.push_back({"conv_depthwise", 2.0 * 8 * 56 * 56 * 64 * 9,
                  Parameters({"f32[8,56,56,64]", "f32[3,3,1,64]"}), "f32[8,56,56,64]",
                  "convolution(p0, p1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
                  "feature_group_count=64"});
  rows.push_back({"fft_1M", k1M, Parameters({"c64[1048576]"}), "c64[1048576]",
                  "fft(p0), fft_type=FFT, fft_length={1048576}"});
  rows.push_back({"fft_lines", k1M, Parameters({"c64[1024,1024]"}), "c64[1024,1024]",
                  "fft(p0), fft_type=FFT, fft_length={1024}"});
  rows.push_back({"fft_1000", 1024 * 1000, Parameters({"c64[1024,1000]"}), "c64[1024,1000]",
                  "fft(p0), fft_type=FFT, fft_length={1000}"});
  rows.push_back({"cholesky_512", 512.0 * 512 * 512 / 3, Parameters({"f32[512,512]"}),
                  "f32[512,512]", "cholesky(p0), lower=true"});
  rows.push_back(
      {"triangular_solve_512", 512.0 * 512 * 512, Parameters({"f32[512,512]", "f32[512,512]"}),
       "f32[512,512]",
       "triangular-solve(p0, p1), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"});
  for (const std::string how : {"rng_three_fry", "rng_philox"}) {
    rows.push_back({how, k4M, Parameters({how == "rng_philox" ? "u64[3]" : "u64[2]"}),
                    how == "rng_philox" ? "(u64[3], u32[4194304])" : "(u64[2], u32[4194304])",
                    "rng-bit-generator(p0), algorithm=" + how});
  }
  rows.push_back({"batch_norm", k4M, Parameters({"f32[64,32,32,64]", "f32[64]", "f32[64]"}),
                  "(f32[64,32,32,64], f32[64], f32[64])",
                  "batch-norm-training(p0, p1, p2), epsilon=0.001, feature_index=3"});
}

[[noreturn]] void Fail(const std::string& name, const std::string& why) {
  fmt::print(stderr, "{}: {}\n", name, why);
  std::exit(1);
}

void RunRow(benchmark::State& state, const Row& row, int threads) {
  const std::string text = fmt::format("HloModule m\n{}\nENTRY e {{\n{}  ROOT r = {} {}\n}}\n",
                                       kComputations, row.parameters, row.result, row.operation);
  const hlo::ParseResult parsed = hlo::ParseText(text);
  if (!parsed.ok()) Fail(row.name, parsed.diagnostics.front().message);
  const auto arguments = replay::MakeInputs(*parsed.module, {});
  if (!arguments.has_value()) Fail(row.name, arguments.error().message);
  eval::EvaluateOptions options;
  options.threads = threads;
  while (state.KeepRunning()) {
    auto made = eval::Evaluate(*parsed.module, arguments->literals, options);
    if (!made.has_value()) Fail(row.name, made.error().message);
    if (made->result.is_missing()) Fail(row.name, made->result.error().message);
  }
  state.counters["M/s"] = benchmark::Counter(
      row.items / 1e6 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace hloscope

int main(int argc, char** argv) {
  using namespace hloscope;
  std::vector<Row> rows;
  AddElementwise(rows);
  AddMovement(rows);
  AddReductions(rows);
  AddProducts(rows);
  // On one thread processor time is what counts, on several the time until they are all done.
  for (const Row& row : rows) {
    benchmark::RegisterBenchmark((row.name + "/1").c_str(), [row](benchmark::State& state) {
      RunRow(state, row, 1);
    })->Unit(benchmark::kMillisecond);
    const int all = AvailableCpus();
    if (all == 1) continue;
    benchmark::RegisterBenchmark(fmt::format("{}/{}", row.name, all).c_str(),
                                 [row, all](benchmark::State& state) { RunRow(state, row, all); })
        ->Unit(benchmark::kMillisecond)
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
