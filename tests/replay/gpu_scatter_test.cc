// Scatters of many updates on the simulated GPU: by lists, in the order of the indices, and by
// exact sums, which have no order.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/hlo/float_types.h"
#include "tests/replay/checked_runs.h"
#include "tests/replay/model_times.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using hlo::Shape;

struct Scatter {
  std::string array, indices, updates;  // dimensions
  const char* attributes;
  const char* applied = "sum";
};
constexpr const char* kElements =
    "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}";
constexpr const char* kRows =
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}";
constexpr const char* kOverlapping =
    "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}";

std::string ModuleOf(const Scatter& each, const std::string& type) {
  return fmt::format(R"(HloModule scattered
sum {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] add(a, b)
}}
last {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] copy(b)
}}
less {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] subtract(b, a)
}}
ENTRY e {{
  array = {0}[{1}] parameter(0)
  indices = s32[{2}] parameter(1)
  updates = {0}[{3}] parameter(2)
  ROOT r = {0}[{1}] scatter(array, indices, updates), {4}, index_vector_dim=1, to_apply={5}
}}
)",
                     type, each.array, each.indices, each.updates, each.attributes, each.applied);
}

template <typename T>
Literal Filled(const Shape& shape, const std::function<T(size_t)>& number) {
  std::vector<T> numbers(static_cast<size_t>(*shape.ElementCount()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = number(i);
  return Literal::Of<T>(shape, numbers);
}

// From 0 to 2^32 - 1, without any order.
uint64_t Hash(size_t i) { return (i * 0x9E3779B97F4A7C15) >> 32; }

// Indices of all places and some outside; `often` of eight are one of the first three.
std::vector<Literal> InputsOf(const std::string& text, uint64_t places, uint64_t often) {
  const auto module = hlo::Parsed(text);
  const auto shape = [&](const char* name) { return module->shape(hlo::Named(*module, name)); };
  std::vector<Literal> inputs;
  const auto number = [](size_t i) {
    return std::ldexp(static_cast<double>(Hash(i) % 2001) - 1000,
                      static_cast<int>(Hash(i + 7) % 30) - 15);
  };
  const auto array = [&](const Shape& of) {
    switch (of.element_type()) {
      case hlo::ElementType::kF64:
        return Filled<double>(of, number);
      case hlo::ElementType::kBF16:
        return Filled<hlo::BF16>(
            of, [&](size_t i) { return hlo::BF16(static_cast<float>(number(i))); });
      case hlo::ElementType::kS16:
        return Filled<int16_t>(of, [&](size_t i) { return static_cast<int16_t>(Hash(i)); });
      default:
        return Filled<float>(of, [&](size_t i) { return static_cast<float>(number(i)); });
    }
  };
  inputs.push_back(array(shape("array")));
  inputs.push_back(Filled<int32_t>(shape("indices"), [&](size_t i) {
    const uint64_t range = Hash(i + 99) % 8 < often ? 3 : places + 2;
    return static_cast<int32_t>(Hash(3 * i + 1) % range) - (range == 3 ? 0 : 1);
  }));
  inputs.push_back(array(shape("updates")));
  return inputs;
}

void ExpectTheSameBits(const std::string& text, const std::vector<Literal>& inputs) {
  SCOPED_TRACE(text);
  const Ran own = RunOn("gpu-sim", text, inputs, 5), meant = RunOn("interpreter", text, inputs);
  ASSERT_EQ(own.results.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(own.results[0].bytes(), meant.results[0].bytes()));
  EXPECT_TRUE(own.findings.empty()) << own.findings[0].what;
  EXPECT_TRUE(own.fallbacks.empty());
}

// Lists that are short, empty, and longer than a thread goes through.
TEST(GpuScatter, ManyUpdatesKeepTheirOrder) {
  for (const char* const type : {"f32", "bf16", "f64", "s16"}) {
    const Scatter elements = {"20000", "40000,1", "40000", kElements, "less"};
    const uint64_t often = type == std::string_view("bf16") ? 1 : 0;
    ExpectTheSameBits(ModuleOf(elements, type), InputsOf(ModuleOf(elements, type), 20000, often));
    const Scatter rows = {"9000,3", "12000,1", "12000,3", kRows};
    ExpectTheSameBits(ModuleOf(rows, type), InputsOf(ModuleOf(rows, type), 9000, 0));
  }
  const Scatter last = {"30000", "40000,1", "40000", kElements, "last"};
  ExpectTheSameBits(ModuleOf(last, "f32"), InputsOf(ModuleOf(last, "f32"), 30000, 0));
}

TEST(GpuScatter, WindowsThatOverlapKeepTheOrderOfUpdates) {
  for (const char* const type : {"f32", "bf16"}) {
    const Scatter each = {"40,50", "90,2", "90,7,9", kOverlapping, "less"};
    ExpectTheSameBits(ModuleOf(each, type), InputsOf(ModuleOf(each, type), 35, 2));
  }
}

// Sums of whole numbers are exact in any order, whatever their size: those of a chunk, a range.
TEST(GpuScatter, ManySumsIntoFewElementsAreExact) {
  for (const auto& [array, updates] :
       {std::pair<int, int>{3, 40000}, {1000, 70000}, {9000, 90000}, {1, 33000}}) {
    const Scatter each = {fmt::to_string(array), fmt::format("{},1", updates),
                          fmt::to_string(updates), kElements};
    const std::string text = ModuleOf(each, "f32");
    std::vector<Literal> inputs = InputsOf(text, static_cast<uint64_t>(array), 1);
    for (const size_t i : {0U, 2U}) {
      inputs[i] = Filled<float>(inputs[i].shape(), [](size_t k) {
        return static_cast<float>(static_cast<int>(Hash(k) % 257) - 128) * 0.125F;
      });
    }
    ExpectTheSameBits(text, inputs);
  }
}

// What a sum of doubles gives, rounded once: numbers of very different sizes, subnormal ones.
TEST(GpuScatter, SumsAreRoundedOnce) {
  const Scatter each = {"50", "40000,1", "40000", kElements};
  const std::string text = ModuleOf(each, "f32");
  for (const int lowest : {-149, -20}) {
    std::vector<Literal> inputs = InputsOf(text, 50, 0);
    inputs[2] = Filled<float>(inputs[2].shape(), [&](size_t k) {
      return static_cast<float>(std::ldexp(static_cast<double>(Hash(k) % 65536) - 30000,
                                           lowest + static_cast<int>(Hash(k + 5) % 20)));
    });
    if (lowest == -149) {
      inputs[0] = Filled<float>(inputs[0].shape(), [](size_t) { return 1e-40F; });
    }
    const Ran own = RunOn("gpu-sim", text, inputs, 5);
    ASSERT_EQ(own.results.size(), 1u);
    std::vector<double> meant(50);
    for (size_t i = 0; i < meant.size(); ++i) meant[i] = inputs[0].data<float>()[i];
    const auto indices = inputs[1].data<int32_t>();
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= 50) continue;
      meant[static_cast<size_t>(indices[i])] += inputs[2].data<float>()[i];
    }
    for (size_t i = 0; i < meant.size(); ++i) {
      EXPECT_EQ(own.results[0].data<float>()[i], static_cast<float>(meant[i])) << i;
    }
  }
}

// Element i of 50 gets the odd number i % 8 once, or all that it gets are zeros.
TEST(GpuScatter, SumsOfZerosInfinitiesAndNanAreThoseOfTheInterpreter) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kMost = std::numeric_limits<float>::max();
  const Scatter each = {"50", "40000,1", "40000", kElements};
  const std::string text = ModuleOf(each, "f32");
  for (const float array : {-0.0F, 0.0F, kInf, -kInf, kNan, 1.0F}) {
    std::vector<Literal> inputs = InputsOf(text, 50, 0);
    inputs[0] = Filled<float>(inputs[0].shape(), [&](size_t) { return array; });
    inputs[1] =
        Filled<int32_t>(inputs[1].shape(), [](size_t i) { return static_cast<int32_t>(i % 49); });
    inputs[2] = Filled<float>(inputs[2].shape(), [&](size_t i) {
      const size_t turn = i / 49, kind = i % 49 % 8;
      if (kind == 0) return -0.0F;
      if (kind == 1) return turn == 3 ? 0.0F : -0.0F;
      if (kind == 2) return turn == 5 ? kInf : 2.0F;
      if (kind == 3) return turn == 5 ? -kInf : 2.0F;
      if (kind == 4) return turn == 5 ? kInf : turn == 700 ? -kInf : 1.0F;
      if (kind == 5) return turn == 600 ? kNan : 1.0F;
      if (kind == 6) return turn == 0 ? 3.0F : turn == 1 ? -3.0F : -0.0F;
      return turn < 2 ? kMost : 0.0F;
    });
    const Ran own = RunOn("gpu-sim", text, inputs, 5), meant = RunOn("interpreter", text, inputs);
    ASSERT_EQ(own.results.size(), 1u);
    EXPECT_TRUE(own.findings.empty());
    for (size_t i = 0; i < 50; ++i) {
      const float x = own.results[0].data<float>()[i], y = meant.results[0].data<float>()[i];
      EXPECT_TRUE((x == y && std::signbit(x) == std::signbit(y)) ||
                  (std::isnan(x) && std::isnan(y)))
          << i << ' ' << array << ": " << x << ' ' << y;
    }
  }
}

// A thread for each index in each of 128 blocks took 250 us of a million updates.
TEST(GpuScatter, ManyUpdatesDoNotGoThroughEveryBlock) {
  const auto time = [](const Scatter& each, const char* type, uint64_t places) {
    const std::string text = ModuleOf(each, type);
    return ModelTimeOf(text, InputsOf(text, places, 0));
  };
  EXPECT_LE(time({"200000", "200000,1", "200000", kElements}, "f32", 200000), 20);
  EXPECT_LE(time({"200000", "200000,1", "200000", kElements}, "bf16", 200000), 20);
  EXPECT_LE(time({"1000", "200000,1", "200000", kElements}, "f32", 1000), 10);
  EXPECT_LE(time({"40,50", "2000,2", "2000,3,3", kOverlapping}, "f32", 35), 30);
}

}  // namespace
}  // namespace hloscope::replay
