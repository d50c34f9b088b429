// Speed of generated kernels on one thread, and of generating them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/codegen/generate.h"
#include "core/hlo/text/text.h"

namespace hloscope {
namespace {

constexpr const char* kComputations = R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
)";

struct Row {
  std::string name;
  std::vector<std::string> parameters;
  std::string body, result;  // of the fusion; the body has its ROOT
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"axpy_4m",
       {"f32[4194304]", "f32[4194304]", "f32[4194304]"},
       "m = f32[4194304] multiply(p1, p2) ROOT r = f32[4194304] add(p0, m)",
       "f32[4194304]"},
      {"sum_axpy_1k",
       {"f32[1024,1024]", "f32[1024,1024]", "f32[1024,1024]"},
       "z = f32[] constant(0) m = f32[1024,1024] multiply(p1, p2) a = f32[1024,1024] add(p0, m) "
       "ROOT r = f32[] reduce(a, z), dimensions={0,1}, to_apply=add",
       "f32[]"},
      {"sum_axpy_4m",
       {"f32[4194304]", "f32[4194304]", "f32[4194304]"},
       "z = f32[] constant(0) m = f32[4194304] multiply(p1, p2) a = f32[4194304] add(p0, m) "
       "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=add",
       "f32[]"},
      {"sum_tanh_exp_4m",
       {"f32[4194304]", "f32[4194304]"},
       "o = f32[] constant(1) ob = f32[4194304] broadcast(o), dimensions={} "
       "z = f32[] constant(0) m = f32[4194304] multiply(p0, p1) a = f32[4194304] add(m, ob) "
       "t = f32[4194304] tanh(a) n = f32[4194304] negate(p0) q = f32[4194304] multiply(n, p0) "
       "e = f32[4194304] exponential(q) w = f32[4194304] multiply(t, e) "
       "ROOT r = f32[] reduce(w, z), dimensions={0}, to_apply=add",
       "f32[]"},
      {"row_max_1k",
       {"f32[1024,1024]"},
       "z = f32[] constant(-inf) ROOT r = f32[1024] reduce(p0, z), dimensions={1}, to_apply=max",
       "f32[1024]"},
      {"row_sum_exp_1k",
       {"f32[1024,1024]", "f32[1024]"},
       "z = f32[] constant(0) b = f32[1024,1024] broadcast(p1), dimensions={0} "
       "s = f32[1024,1024] subtract(p0, b) e = f32[1024,1024] exponential(s) "
       "ROOT r = f32[1024] reduce(e, z), dimensions={1}, to_apply=add",
       "f32[1024]"},
      {"softmax_end_1k",
       {"f32[1024,1024]", "f32[1024]", "f32[1024]"},
       "b = f32[1024,1024] broadcast(p1), dimensions={0} c = f32[1024,1024] broadcast(p2), "
       "dimensions={0} "
       "s = f32[1024,1024] subtract(p0, b) e = f32[1024,1024] exponential(s) "
       "ROOT r = f32[1024,1024] divide(e, c)",
       "f32[1024,1024]"},
      {"column_sum_1k",
       {"f32[1024,1024]"},
       "z = f32[] constant(0) ROOT r = f32[1024] reduce(p0, z), dimensions={0}, to_apply=add",
       "f32[1024]"},
      {"column_sum_4k",
       {"f32[4096,1024]"},
       "z = f32[] constant(0) ROOT r = f32[1024] reduce(p0, z), dimensions={0}, to_apply=add",
       "f32[1024]"},
      {"transpose_1k",
       {"f32[1024,1024]"},
       "ROOT r = f32[1024,1024] transpose(p0), dimensions={1,0}",
       "f32[1024,1024]"},
      {"gelu_1k",
       {"f32[1024,1024]"},
       "h = f32[] constant(0.5) hb = f32[1024,1024] broadcast(h), dimensions={} "
       "o = f32[] constant(1) ob = f32[1024,1024] broadcast(o), dimensions={} "
       "c = f32[] constant(0.044715) cb = f32[1024,1024] broadcast(c), dimensions={} "
       "d = f32[] constant(0.797884583) db = f32[1024,1024] broadcast(d), dimensions={} "
       "x2 = f32[1024,1024] multiply(p0, p0) x3 = f32[1024,1024] multiply(x2, p0) "
       "t = f32[1024,1024] multiply(x3, cb) u = f32[1024,1024] add(p0, t) "
       "v = f32[1024,1024] multiply(u, db) w = f32[1024,1024] tanh(v) "
       "y = f32[1024,1024] add(w, ob) k = f32[1024,1024] multiply(p0, hb) "
       "ROOT r = f32[1024,1024] multiply(k, y)",
       "f32[1024,1024]"},
  };
  static const std::vector<Row> all = [] {
    std::vector<Row> with_functions = rows;
    for (const std::string opcode :
         {"exponential", "exponential-minus-one", "log", "log-plus-one", "tanh", "logistic", "erf",
          "rsqrt", "sine", "cosine", "cbrt", "power"}) {
      const bool two = opcode == "power";
      with_functions.push_back(
          {opcode + "_1k",
           two ? std::vector<std::string>{"f32[1048576]", "f32[1048576]"}
               : std::vector<std::string>{"f32[1048576]"},
           fmt::format("ROOT r = f32[1048576] {}(p0{})", opcode, two ? ", p1" : ""),
           "f32[1048576]"});
    }
    return with_functions;
  }();
  return all;
}

std::shared_ptr<const hlo::Module> ModuleOf(const Row& row) {
  std::string inner, entry, call;
  for (size_t i = 0; i < row.parameters.size(); ++i) {
    inner += fmt::format("  p{0} = {1} parameter({0})\n", i, row.parameters[i]);
    entry += fmt::format("  a{0} = {1} parameter({0})\n", i, row.parameters[i]);
    call += fmt::format("{}a{}", i == 0 ? "" : ", ", i);
  }
  return hlo::ParseText(fmt::format("{}f {{\n{}{}\n}}\nENTRY e {{\n{}ROOT r = {} fusion({}), "
                                    "kind=kLoop, calls=f\n}}\n",
                                    kComputations, inner, row.body, entry, row.result, call))
      .module;
}

std::vector<std::byte> Numbers(size_t bytes) {
  std::vector<std::byte> out(bytes);
  auto* numbers = reinterpret_cast<float*>(out.data());
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    numbers[i] = 0.1f + static_cast<float>(i * 2654435761u % 4096) / 1024;
  }
  return out;
}

void RunKernel(benchmark::State& state, const Row& row) {
  const auto module = ModuleOf(row);
  const hlo::InstructionId root = module->entry().root;
  const hlo::InstructionId kernels[] = {root};
  const auto library = codegen::GenerateKernels(module, kernels, {});
  if (!library || (*library)->Find(root) == nullptr) return state.SkipWithError("no code");
  const compile::KernelCode& code = *(*library)->Find(root);
  std::vector<std::vector<std::byte>> memory;
  std::vector<const std::byte*> operands;
  int64_t bytes = 0;
  for (const hlo::InstructionId operand : module->operands(root)) {
    bytes += *module->shape(operand).ByteSize();
    memory.push_back(Numbers(static_cast<size_t>(*module->shape(operand).ByteSize())));
    operands.push_back(memory.back().data());
  }
  bytes += *module->shape(root).ByteSize();
  std::vector<std::byte> result(static_cast<size_t>(*module->shape(root).ByteSize())),
      scratch(static_cast<size_t>(code.scratch_bytes) + 64);
  std::byte* results[] = {result.data()};
  for (auto _ : state) {
    code.run(operands.data(), results, scratch.data(), 0, code.grains);
    if (code.finish != nullptr) code.finish(operands.data(), results, scratch.data(), 0, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

// What memory gives: the sum of three arrays of 4 M numbers each, read as fast as may be, in as
// many streams. sum_axpy_4m reads the same bytes.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) float SumOf(
    const float* x, const float* y, const float* z, size_t count) {
  constexpr size_t kLanes = 64;
  float sums[kLanes] = {};
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) sums[k] += x[i + k] + (y[i + k] + z[i + k]);
  }
  float sum = 0;
  for (const float each : sums) sum += each;
  return sum;
}

void ReadSum(benchmark::State& state) {
  constexpr size_t kCount = 4194304, kBytes = kCount * sizeof(float);
  const std::vector<std::byte> arrays[] = {Numbers(kBytes), Numbers(kBytes), Numbers(kBytes)};
  const auto numbers = [&](size_t i) { return reinterpret_cast<const float*>(arrays[i].data()); };
  for (auto _ : state) {
    benchmark::DoNotOptimize(SumOf(numbers(0), numbers(1), numbers(2), kCount));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(3 * kBytes));
}

void Generate(benchmark::State& state, const Row& row) {
  const auto module = ModuleOf(row);
  const hlo::InstructionId kernels[] = {module->entry().root};
  for (auto _ : state) benchmark::DoNotOptimize(codegen::GenerateKernels(module, kernels, {}));
}

}  // namespace
}  // namespace hloscope

int main(int argc, char** argv) {
  for (const hloscope::Row& row : hloscope::Rows()) {
    benchmark::RegisterBenchmark(("run/" + row.name).c_str(), hloscope::RunKernel, row)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("generate/" + row.name).c_str(), hloscope::Generate, row)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("read_sum_3x4m", hloscope::ReadSum)->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
