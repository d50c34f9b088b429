// Runs the sample of the conformance table (sample.tsv, made by conformance.py from true values) on
// the interpreter: bits must be the expected ones, or as many units in the last place away at most
// as the row allows. On our own compiler 2 units of f32 and wider types and 1 of narrower ones are
// allowed, and what it is made for is never left to the evaluator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "core/backends/make_platform.h"
#include "core/hlo/float_types.h"
#include "core/hlo/text/text.h"
#include "core/replay/platform.h"
#include "tests/base/paths.h"

namespace hloscope {
namespace {

// A row: name, allowed distance, module, then inputs and expected results as hexadecimal bytes.
struct SampleRow {
  std::string name, module;
  uint64_t allowed = 0;
  std::vector<std::string> inputs, expected;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<SampleRow> ReadRows() {
  std::ifstream file(SourcePath("tests/conformance/sample.tsv"));
  std::vector<SampleRow> rows;
  for (std::string line; std::getline(file, line);) {
    const auto fields = Split(line, '\t');
    if (fields.size() != 5) continue;
    rows.push_back({fields[0], fields[2], std::stoull(fields[1]), Split(fields[3], ' '),
                    Split(fields[4], ' ')});
  }
  return rows;
}

// "-" stands for no bytes.
std::vector<std::byte> Bytes(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

class Leaves : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override {
    if (auto* result = std::get_if<replay::LeafResult>(&event)) {
      values.push_back(std::move(result->value));
    }
    if (auto* executed = std::get_if<replay::RunExecuted>(&event)) {
      for (const auto& op : executed->evaluated_ops) evaluated.push_back(op.opcode);
    }
  }
  std::vector<Result<hlo::Literal>> values;
  std::vector<std::string> evaluated;  // opcodes that were handed to the evaluator
};

// Floats in order, one apart where they are neighbours; both zeros are 0.
template <typename Float, typename Signed>
int64_t Place(const std::byte* bytes) {
  Signed bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  constexpr Signed kMax = std::numeric_limits<Signed>::max();
  return bits < 0 ? -static_cast<int64_t>(bits & kMax) : bits;
}

template <typename Float>
bool BothNan(const std::byte* a, const std::byte* b) {
  Float x, y;
  std::memcpy(&x, a, sizeof(x));
  std::memcpy(&y, b, sizeof(y));
  return std::isnan(x) && std::isnan(y);
}

template <typename Float, typename Signed>
bool PartsAgree(std::span<const std::byte> actual, std::span<const std::byte> expected,
                uint64_t allowed) {
  for (size_t i = 0; i < actual.size(); i += sizeof(Float)) {
    const std::byte *a = actual.data() + i, *b = expected.data() + i;
    if (BothNan<Float>(a, b) || std::memcmp(a, b, sizeof(Float)) == 0) continue;
    const int64_t distance = Place<Float, Signed>(a) - Place<Float, Signed>(b);
    if (distance == 0 || static_cast<uint64_t>(std::abs(distance)) > allowed) return false;
  }
  return true;
}

// Floats of up to two bytes, each as it is or at most `allowed` neighbours away.
bool NarrowPartsAgree(hlo::ElementType type, std::span<const std::byte> actual,
                      std::span<const std::byte> expected, uint64_t allowed) {
  const hlo::FloatFormat& format = *hlo::FindFloatFormat(type);
  const auto size = static_cast<size_t>(hlo::StorageBytes(type));
  for (size_t i = 0; i < actual.size(); i += size) {
    uint32_t a = 0, b = 0;
    std::memcpy(&a, actual.data() + i, size);
    std::memcpy(&b, expected.data() + i, size);
    if (a == b || (format.IsNan(a) && format.IsNan(b))) continue;
    const auto place = [&](uint32_t bits) {
      const auto magnitude = static_cast<int64_t>(bits & format.magnitude_mask());
      return (bits & format.sign_mask()) != 0 ? -magnitude : magnitude;
    };
    const int64_t distance = place(a) - place(b);
    if (distance == 0 || static_cast<uint64_t>(std::abs(distance)) > allowed) return false;
  }
  return true;
}

bool Agree(hlo::ElementType type, std::span<const std::byte> actual,
           std::span<const std::byte> expected, uint64_t allowed) {
  if (actual.size() != expected.size()) return false;
  switch (type) {
    case hlo::ElementType::kF32:
    case hlo::ElementType::kC64:
      return PartsAgree<float, int32_t>(actual, expected, allowed);
    case hlo::ElementType::kF64:
    case hlo::ElementType::kC128:
      return PartsAgree<double, int64_t>(actual, expected, allowed);
    default:  // the rows hold no NaN in these types
      if (allowed > 0 && hlo::IsFloat(type)) {
        return NarrowPartsAgree(type, actual, expected, allowed);
      }
      return std::ranges::equal(actual, expected);
  }
}

Result<Leaves> RunRow(const SampleRow& row, std::string_view platform_name) {
  const hlo::ParseResult parsed = hlo::ParseText(row.module);
  if (!parsed.ok()) return InputError("the module does not parse");
  std::vector<hlo::Literal> inputs;
  const auto shapes = replay::ParameterShapes(*parsed.module);
  for (size_t i = 0; i < shapes.size(); ++i) {
    auto bytes = Bytes(row.inputs.at(i));
    if (std::cmp_not_equal(bytes.size(), shapes[i].ByteSize().value_or(-1))) {
      return InputError("an input has another size than its parameter");
    }
    inputs.push_back(hlo::Literal::Dense(shapes[i], std::move(bytes)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto platform, replay::MakePlatform(platform_name));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto executable, platform->Load(parsed.module, {}));
  Leaves sink;
  HLOSCOPE_TRY(executable->Run({&inputs, 1}, {}, sink));
  return sink;
}

uint64_t AllowedOfCompiled(hlo::ElementType type) {
  if (!hlo::IsFloat(type) && !hlo::IsComplex(type)) return 0;
  return hlo::StorageBytes(type) >= 4 ? 2 : 1;
}

void ExpectRow(const SampleRow& row, const Leaves& leaves, bool is_compiled) {
  ASSERT_EQ(leaves.values.size(), row.expected.size()) << row.name;
  for (size_t i = 0; i < leaves.values.size(); ++i) {
    const auto& leaf = leaves.values[i];
    ASSERT_TRUE(leaf.has_value()) << row.name << ": " << leaf.error().ToString();
    const hlo::ElementType type = leaf->shape().element_type();
    const uint64_t allowed =
        is_compiled ? std::max(row.allowed, AllowedOfCompiled(type)) : row.allowed;
    EXPECT_TRUE(Agree(type, leaf->bytes(), Bytes(row.expected[i]), allowed))
        << row.name << ", result " << i;
  }
}

TEST(Conformance, SampleOnTheInterpreter) {
  const auto rows = ReadRows();
  ASSERT_GT(rows.size(), 300u);
  for (const SampleRow& row : rows) {
    const auto leaves = RunRow(row, "interpreter");
    ASSERT_TRUE(leaves.has_value()) << row.name << ": " << leaves.error().ToString();
    ExpectRow(row, *leaves, false);
  }
}

void ExpectSample(std::string_view platform, bool (*may_be_evaluated)(std::string_view opcode)) {
  for (const SampleRow& row : ReadRows()) {
    const auto leaves = RunRow(row, platform);
    ASSERT_TRUE(leaves.has_value()) << row.name << ": " << leaves.error().ToString();
    ExpectRow(row, *leaves, true);
    for (const std::string& opcode : leaves->evaluated) {
      EXPECT_TRUE(may_be_evaluated(opcode)) << row.name << ": " << opcode;
    }
  }
}

bool IsNeverHandedOver(std::string_view opcode) {
  constexpr std::string_view kOurs[] = {
      "dot",           "convolution", "reduce",  "reduce-window",    "select-and-scatter",
      "gather",        "scatter",     "sort",    "fusion",           "convert",
      "dynamic-slice", "map",         "compare", "rng-bit-generator"};
  return std::ranges::find(kOurs, opcode) != std::end(kOurs);
}

TEST(Conformance, SampleOnOurCompiler) {
  ExpectSample("cpu", [](std::string_view opcode) { return !IsNeverHandedOver(opcode); });
}

TEST(Conformance, SampleOnOurGpuKernels) {
  ExpectSample("gpu-sim", [](std::string_view opcode) { return !IsNeverHandedOver(opcode); });
}

// Over the made-up driver: modules, launches, copies and streams as on a device.
TEST(Conformance, SampleOnAGpu) {
  ExpectSample("gpu", [](std::string_view opcode) { return !IsNeverHandedOver(opcode); });
}

// One feature of bf16: no number behind a window is multiplied with it, were it by zero.
TEST(Conformance, ConvolutionsOfBf16SeeTheirWindowsAlone) {
  const SampleRow row = {.name = "convolution",
                         .module =
                             "HloModule m\nENTRY e {\n  x = bf16[1,5,1] parameter(0)\n"
                             "  k = bf16[3,1,1] parameter(1)\n  ROOT r = bf16[1,3,1] "
                             "convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f\n}",
                         .allowed = 0,
                         .inputs = {"803f803f803f803f807f", "803f803f803f"},
                         .expected = {"40404040807f"}};
  const auto leaves = RunRow(row, "cpu");
  ASSERT_TRUE(leaves.has_value()) << leaves.error().ToString();
  ExpectRow(row, *leaves, true);
}

// The comparison itself: one place too far, the other zero and a number for NaN are seen.
TEST(Conformance, TheSampleCanFail) {
  const auto differ = [](float a, float b, uint64_t allowed) {
    return !Agree(hlo::ElementType::kF32, std::as_bytes(std::span(&a, 1)),
                  std::as_bytes(std::span(&b, 1)), allowed);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const float next = std::nextafter(1.0f, 2.0f);
  EXPECT_FALSE(differ(1.0f, next, 1));
  EXPECT_TRUE(differ(1.0f, next, 0));
  EXPECT_TRUE(differ(0.0f, -0.0f, 4));
  EXPECT_TRUE(differ(1.0f, kNan, 4));
  EXPECT_FALSE(differ(-kNan, kNan, 0));
}

}  // namespace
}  // namespace hloscope
