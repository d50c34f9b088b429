// Kernels of Triton that make their tensor maps themselves (kernels/descriptors.py.txt), whole.
#include <fstream>
#include <random>

#include "tests/base/paths.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

constexpr size_t kRows = 40, kColumns = 100;

std::vector<float> Values(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(kRows * kColumns);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 64 - 15;
  return values;
}

Argument Number(int32_t number) {
  Argument argument;
  argument.value = Bytes(std::vector<int32_t>{number});
  return argument;
}

// Runs a kernel whose last two parameters are memory for its maps and for a profiler.
void Execute(const std::string& name, const std::string& entry, std::array<uint32_t, 3> grid,
             std::vector<Argument> arguments) {
  std::ifstream file(SourcePath("tests/ptx/kernels/") + name);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  SeenTexts().insert(text);
  const auto module = Module::Parse(text, name);
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  std::vector<std::byte> maps(size_t{256} * grid[0] * grid[1]), profile(16);
  LaunchRequest request;
  request.entry = entry;
  request.grid = grid;
  request.block = {128, 1, 1};
  request.dynamic_shared_bytes = 2056;
  request.arguments = std::move(arguments);
  request.arguments.push_back({maps, {}, {}});
  request.arguments.push_back({profile, {}, {}});
  LaunchOptions options;
  options.threads = 2;
  options.checks.race = options.checks.uninitialised = true;
  const auto result = Launch(*module, request, options);
  ASSERT_TRUE(result.has_value()) << result.error().ToString();
  ASSERT_FALSE(result->fault.has_value()) << result->fault->ToString();
  EXPECT_TRUE(result->findings.empty());
}

TEST(PtxDescriptors, AddBoxes) {
  std::vector<float> x = Values(1), out = Values(2), want = out;
  for (size_t i = 0; i < x.size(); ++i) want[i] += x[i];
  Execute("descriptor_add_sm90.ptx", "add_kernel", {3, 4, 1},
          {{std::as_writable_bytes(std::span(x)), {}, {}},
           {std::as_writable_bytes(std::span(out)), {}, {}},
           Number(kRows),
           Number(kColumns)});
  EXPECT_EQ(out, want);
}

TEST(PtxDescriptors, GatherRows) {
  constexpr size_t kTaken = 32, kWidth = 16;
  std::vector<float> x = Values(3), out(kTaken * kWidth), want(kTaken * kWidth);
  std::vector<int32_t> rows(kTaken);
  for (size_t i = 0; i < kTaken; ++i) {
    rows[i] = static_cast<int32_t>(i * 7 % kRows);
    for (size_t j = 0; j < kWidth; ++j)
      want[i * kWidth + j] = x[static_cast<size_t>(rows[i]) * kColumns + j];
  }
  Execute("descriptor_gather_sm100.ptx", "gather_kernel", {1, 1, 1},
          {{std::as_writable_bytes(std::span(x)), {}, {}},
           {std::as_writable_bytes(std::span(rows)), {}, {}},
           {std::as_writable_bytes(std::span(out)), {}, {}},
           Number(kRows),
           Number(kColumns)});
  EXPECT_EQ(out, want);
}

}  // namespace
}  // namespace hloscope::ptx
