// Thread instructions and tensor-core products a second on one core: kernels that XLA:GPU wrote,
// out of the PTX files of the corpus. A kernel whose file is not there is left out.
#include <benchmark/benchmark.h>

#include <cstring>
#include <optional>
#include <random>

#include "core/ptx/ptx.h"
#include "tests/ptx/corpus.h"

namespace hloscope::ptx {
namespace {

struct Row {
  const char* name;
  const char* folder;  // part of the path
  const char* entry;
  uint32_t blocks, threads;
  uint64_t shared_bytes;  // dynamic
  double products = 0;    // of one tensor-core instruction
};

// Grids and shared memory as the thunks of these modules say.
constexpr Row kRows[] = {
    {"elementwise_gelu", "/gemm_bf16_bias_gelu/", "loop_multiply_fusion", 768, 128, 0},
    {"elementwise_threefry", "/rng_dropout/", "loop_add_fusion", 1024, 128, 0},
    {"elementwise_add", "/transformer_bf16/", "loop_add_fusion", 512, 128, 0},
    {"elementwise_pad", "/mlp_train_f32/", "loop_pad_fusion", 800, 128, 0},
    {"row_reduce", "/reduce_fma/", "input_reduce_fusion", 256, 256, 0},
    {"softmax", "/softmax_f32/", "triton_softmax_2", 512, 128, 2048},
    {"layernorm", "/layernorm_bf16/", "fusion_6", 128, 128, 4096},
    {"transpose_shared", "/transformer_bf16/", "input_transpose_fusion_1", 16, 128, 0},
    {"sort_shared", "/sort_topk/", "sort_14_1", 64, 1024, 0},
    {"gemm_bf16", "/gemm_bf16_bias_gelu/", "gemm_fusion_dot", 1024, 64, 768, 2048},
    {"gemm_bf16_wide", "/transformer_bf16/", "gemm_fusion_dot_9", 1024, 64, 768, 2048},
    {"gemm_tf32", "/mlp_train_f32/", "gemm_fusion_dot_3", 1024, 64, 1536, 1024},
    {"small_launch", "/mlp_train_f32/", "loop_negate_fusion", 1, 1, 0},
};

std::optional<Module> Find(const Row& row) {
  for (const std::string& file : CorpusFiles()) {
    if (file.find(row.folder) == std::string::npos) continue;
    std::string text = ReadAll(file);
    if (text.find(std::string("entry ") + row.entry + "(") == std::string::npos) continue;
    auto module = Module::Parse(std::move(text), file);
    if (module.has_value()) return *std::move(module);
  }
  return std::nullopt;
}

// Numbers around one, as f32 and as pairs of bf16.
std::vector<std::byte> Numbers() {
  std::vector<std::byte> bytes(32 << 20);
  std::mt19937 random(1);
  for (size_t i = 0; i < bytes.size(); i += 4) {
    const uint32_t half = (random() & 0x80ff) + 0x3f00;
    const uint32_t word = half << 16 | half;
    std::memcpy(bytes.data() + i, &word, 4);
  }
  return bytes;
}

void Run(benchmark::State& state, const Row& row, const Module& module, bool counts_traffic) {
  LaunchOptions options;
  options.count_traffic = counts_traffic;
  LaunchRequest request{row.entry, {row.blocks, 1, 1}, {row.threads, 1, 1}, row.shared_bytes, {}};
  std::vector<std::vector<std::byte>> memory;
  for (const EntryInfo& entry : module.entries()) {
    if (entry.name == row.entry) memory.assign(entry.parameters.size(), Numbers());
  }
  for (auto& bytes : memory) request.arguments.push_back({bytes, {}});
  Counters counters;
  for (auto _ : state) {
    const auto result = Launch(module, request, options);
    if (!result.has_value() || result->fault.has_value()) {
      return state.SkipWithError(
          (result.has_value() ? result->fault->ToString() : result.error().ToString()).c_str());
    }
    counters = result->counters;
  }
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["instructions"] =
      benchmark::Counter(static_cast<double>(counters.threads()), rate);
  if (row.products > 0) {
    state.counters["products"] =
        benchmark::Counter(static_cast<double>(counters.tensor) / 32 * row.products, rate);
  }
}

void Parse(benchmark::State& state, const std::string& file) {
  const std::string text = ReadAll(file);
  for (auto _ : state) benchmark::DoNotOptimize(Module::Parse(text, file));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void RegisterAll() {
  for (const Row& row : kRows) {
    const auto module = Find(row);
    if (!module.has_value()) continue;
    for (const bool counts : {false, true}) {
      benchmark::RegisterBenchmark(
          (std::string(counts ? "counted/" : "") + row.name).c_str(),
          [row, module, counts](benchmark::State& state) { Run(state, row, *module, counts); });
    }
  }
  for (const std::string& file : CorpusFiles()) {
    if (file.find("/sort_topk/") == std::string::npos || ReadAll(file).size() < 100'000) continue;
    benchmark::RegisterBenchmark("parse", [file](benchmark::State& state) { Parse(state, file); });
    break;
  }
}

}  // namespace
}  // namespace hloscope::ptx

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  hloscope::ptx::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
