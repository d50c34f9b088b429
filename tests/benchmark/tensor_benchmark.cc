// Products a second of tensor-core instructions on one core: mma.sync by type, one tile of wgmma.
#include <benchmark/benchmark.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {
namespace {

// Bits of elements whose values are around one.
std::vector<uint32_t> Words(Element element, size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) {
    const auto f32 = std::bit_cast<uint32_t>(normal(random));
    if (element == Element::kTf32) {
      word = f32;
    } else if (element == Element::kBf16) {
      word = (f32 & 0xffff0000) | f32 >> 16;
    } else if (element == Element::kF16) {  // 2^-8 to 2^8
      word = (random() & 0x9fff9fff) | 0x20002000;
    } else {
      word = random() & 0xbfbfbfbf;
    }
  }
  return words;
}

void CountProducts(benchmark::State& state, int m, int n, int k) {
  state.counters["products"] = benchmark::Counter(static_cast<double>(m) * n * k,
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void RunMma(benchmark::State& state, const MmaForm& form) {
  const auto a = Words(form.a, 128), b = Words(form.b, 64);
  uint32_t sums[4][32] = {};
  for (auto _ : state) {
    std::memset(sums, 0, sizeof sums);
    Mma(form, reinterpret_cast<const uint32_t(*)[32]>(a.data()),
        reinterpret_cast<const uint32_t(*)[32]>(b.data()), sums, sums);
    benchmark::DoNotOptimize(sums);
  }
  CountProducts(state, form.m, form.n, form.k);
}

void RunTile(benchmark::State& state, const TileForm& form) {
  const auto a = Words(form.a, 2048), b = Words(form.b, 4096);
  std::vector<std::byte> sums(static_cast<size_t>(form.m * form.n) * 4);
  for (auto _ : state) {
    MultiplyTile(form, reinterpret_cast<const std::byte*>(a.data()),
                 reinterpret_cast<const std::byte*>(b.data()), nullptr, sums.data());
    benchmark::DoNotOptimize(sums.data());
  }
  CountProducts(state, form.m, form.n, form.k);
}

void Register() {
  using enum Element;
  const std::pair<const char*, MmaForm> forms[] = {
      {"bf16_k16_sm_80", {16, 8, 16, kBf16, kBf16, kF32, kF32, false, 80}},
      {"bf16_k16_sm_90", {16, 8, 16, kBf16, kBf16, kF32, kF32, false, 90}},
      {"f16_k16_sm_90", {16, 8, 16, kF16, kF16, kF32, kF32, false, 90}},
      {"f16_f16_k16_sm_90", {16, 8, 16, kF16, kF16, kF16, kF16, false, 90}},
      {"tf32_k8_sm_90", {16, 8, 8, kTf32, kTf32, kF32, kF32, false, 90}},
      {"e4m3_k32_sm_89", {16, 8, 32, kE4m3, kE4m3, kF32, kF32, false, 89}},
      {"s8_k32_sm_90", {16, 8, 32, kS8, kS8, kS32, kS32, false, 90}},
  };
  for (const auto& [name, form] : forms) {
    benchmark::RegisterBenchmark(name, [form](benchmark::State& state) { RunMma(state, form); });
  }
  const TileForm tile = {TensorUnit::kWgmma, 64, 256, 16, kBf16, kBf16, kF32, false, 90};
  benchmark::RegisterBenchmark("wgmma_bf16_n256",
                               [tile](benchmark::State& state) { RunTile(state, tile); });
}

}  // namespace
}  // namespace hloscope::ptx

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  hloscope::ptx::Register();
  benchmark::RunSpecifiedBenchmarks();
}
