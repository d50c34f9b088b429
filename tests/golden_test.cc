// Runs every case of tests/golden/*.hlo on every platform: module, inputs and expected values stand
// in one file.
//
// Cases are separated by a line `// -----`. Lines of a case before its module:
//   // RUN: eval                what to do with it
//   // INPUT: {1, 2}            one line per parameter, a literal as in constant(); or with its
//   shape
//                                in front, `s32[2,4] = …`, where it is for several devices
//                                (PRODUCT)
//   // INPUT: [1,2] {{3, 4}}     of dynamic arrays (likewise EXPECT): live sizes, live elements
//   // EXPECT: {3, 4}           one line per leaf of the result, exact unless
//   // BOUND: 1e-6              both error bounds are this
//   // ERROR: text              or: the run fails, and the message holds this text
//   // NOT ON: simulated GPUs    so many launches that these take minutes under the sanitizers
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "core/backends/cuda/library_sizes.h"
#include "core/backends/make_platform.h"
#include "core/backends/plugins/cuda_files.h"
#include "core/compile/passes/pass.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/run/run_inputs.h"
#include "core/eval/machine/kernels.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/value_text.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/device_values.h"
#include "core/replay/platform.h"
#include "core/replay/run_targets.h"
#include "tests/base/paths.h"

namespace hloscope {
namespace {

struct GoldenCase {
  std::string name, module;
  std::vector<std::string> inputs, expected;
  std::string error;
  double bound = 0;
  bool on_gpus = true;
};

bool TakeDirective(std::string_view line, std::string_view key, std::string& value) {
  const std::string prefix = "// " + std::string(key) + ": ";
  if (!line.starts_with(prefix)) return false;
  value = line.substr(prefix.size());
  return true;
}

GoldenCase ReadCase(const std::string& name, const std::string& text) {
  GoldenCase result;
  result.name = name;
  std::istringstream lines(text);
  for (std::string line, value; std::getline(lines, line);) {
    if (TakeDirective(line, "INPUT", value)) {
      result.inputs.push_back(value);
    } else if (TakeDirective(line, "EXPECT", value)) {
      result.expected.push_back(value);
    } else if (TakeDirective(line, "BOUND", value)) {
      result.bound = std::stod(value);
    } else if (TakeDirective(line, "ERROR", value)) {
      result.error = value;
    } else if (TakeDirective(line, "NOT ON", value)) {
      result.on_gpus = false;
    } else {
      result.module += line + "\n";
    }
  }
  return result;
}

std::vector<GoldenCase> ReadCases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/golden"))) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<GoldenCase> cases;
  for (const auto& path : files) {
    std::ifstream file(path);
    std::string text, line;
    int number = 0;
    for (bool more = true; more;) {
      more = static_cast<bool>(std::getline(file, line));
      if (more && line != "// -----") {
        text += line + "\n";
        continue;
      }
      const std::string name = path.filename().string() + " case " + std::to_string(++number);
      if (text.find("HloModule") != std::string::npos) cases.push_back(ReadCase(name, text));
      text.clear();
    }
  }
  return cases;
}

// `shape` is used where the text gives none. What stands for a dynamic array is its live part, as
// in
// `[2] {1, 2}`.
hlo::Literal ReadValue(std::string text, hlo::Shape shape) {
  if (const size_t equals = text.find(" = "); equals != std::string::npos) {
    hlo::TextCursor given(std::string_view(text).substr(0, equals));
    shape = hlo::ReadShape(given, {}).value_or(shape);
    text = text.substr(equals + 3);
  } else if (text.starts_with('[') && shape.IsArray()) {
    std::istringstream sizes(text.substr(1, text.find(']') - 1));
    std::vector<int64_t> live;
    for (std::string size; std::getline(sizes, size, ',');) live.push_back(std::stoll(size));
    shape = hlo::Shape::Array(shape.element_type(), live);
    text = text.substr(text.find(']') + 1);
  }
  if (const size_t equals = text.find(" = "); equals != std::string::npos) {
    hlo::TextCursor given(std::string_view(text).substr(0, equals));
    shape = hlo::ReadShape(given, {}).value_or(shape);
    text = text.substr(equals + 3);
  }
  hlo::TextCursor cursor(text);
  auto literal = hlo::ReadLiteral(cursor, shape, {});
  EXPECT_TRUE(literal.has_value()) << text << " is no " << hlo::ToString(shape);
  return literal.has_value() ? *literal : hlo::Literal();
}

int64_t library_calls = 0;  // of all runs

class Collector : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override {
    if (const auto* executed = std::get_if<replay::RunExecuted>(&event)) {
      library_calls += executed->library_calls;
    }
    auto* result = std::get_if<replay::LeafResult>(&event);
    if (result == nullptr) return;
    const auto leaf = static_cast<size_t>(result->leaf);
    leaves.resize(std::max(leaves.size(), leaf + 1));
    leaves[leaf].push_back(std::move(result->value));
  }
  std::vector<std::vector<Result<hlo::Literal>>> leaves;  // each on all devices
};

// The leaves of one run, those of all devices put together, or the first error.
Result<std::vector<hlo::Literal>> Run(const replay::PlatformRow& row,
                                      const std::shared_ptr<const hlo::Module>& module,
                                      const std::vector<hlo::Literal>& arguments,
                                      const replay::RunOptions& options) {
  const replay::Placement placement(*module, {});
  HLOSCOPE_ASSIGN_OR_RETURN(const auto inputs,
                            debug::SpreadArguments(arguments, *module, placement));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto platform, replay::MakePlatform(row.name));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto executable, platform->Load(module, options));
  Collector sink;
  HLOSCOPE_TRY(executable->Run(inputs.lists, options, sink));
  std::vector<hlo::Literal> leaves;
  auto placements = placement.results();
  for (size_t i = 0; i < sink.leaves.size(); ++i) {
    std::vector<hlo::Literal> values;
    for (auto& value : sink.leaves[i]) {
      if (!value.has_value()) return std::unexpected(value.error());
      values.push_back(*value);
    }
    leaves.push_back(placement.Gather(placements[i], values).value);
  }
  return leaves;
}

// What platforms that are not the reference may be off by, relatively: two units in the last place
// of f32, one of what is narrower.
double TwoUlp(hlo::ElementType type) {
  switch (type) {
    case hlo::ElementType::kF32:
      return 0x1p-22;
    case hlo::ElementType::kF16:
      return 0x1p-10;
    case hlo::ElementType::kBF16:
      return 0x1p-7;
    case hlo::ElementType::kF64:
      return 0x1p-51;
    default:
      return 0;
  }
}

void Check(const GoldenCase& golden, const replay::PlatformRow& row,
           const std::string& disabled_pass = {}) {
  const bool on_gpu = row.Has(replay::kNeedsDriver) || row.Has(replay::kSimulatesGpu);
  if (on_gpu && !golden.on_gpus) return;
  SCOPED_TRACE(golden.name + " on " + std::string(row.name) + " without pass " + disabled_pass);
  replay::RunOptions options;
  options.budget.deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  if (!disabled_pass.empty()) {
    options.platform.xla_flags.emplace_back(replay::kDisablePassesFlag, disabled_pass);
  }
  const hlo::ParseResult parsed = hlo::ParseText(golden.module);
  ASSERT_TRUE(parsed.ok()) << (parsed.diagnostics.empty() ? "" : parsed.diagnostics[0].message);
  for (const hlo::Diagnostic& d : hlo::Verify(*parsed.module)) {
    ASSERT_NE(d.severity, hlo::Severity::kError) << d.message;
  }
  const auto shapes = replay::ParameterShapes(*parsed.module);
  std::vector<hlo::Literal> inputs;
  ASSERT_EQ(shapes.size(), golden.inputs.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(ReadValue(golden.inputs[i], shapes[i]));
  }
  const auto leaves = Run(row, parsed.module, inputs, options);
  if (!golden.error.empty()) {
    ASSERT_FALSE(leaves.has_value());
    EXPECT_NE(leaves.error().ToString().find(golden.error), std::string::npos)
        << leaves.error().ToString();
    return;
  }
  ASSERT_TRUE(leaves.has_value()) << leaves.error().ToString();
  ASSERT_EQ(leaves->size(), golden.expected.size());
  for (size_t i = 0; i < leaves->size(); ++i) {
    const hlo::Literal& actual = (*leaves)[i];
    const double bound = row.name == replay::ReferencePlatform().name
                             ? golden.bound
                             : std::max(golden.bound, TwoUlp(actual.shape().element_type()));
    const auto result =
        debug::CompareArrays(actual, ReadValue(golden.expected[i], actual.shape()), {bound, bound});
    std::string text;
    hlo::AppendLiteral(text, actual, false);
    EXPECT_TRUE(result.equal()) << "leaf " << i << " is " << text << "\nexpected "
                                << golden.expected[i];
  }
}

TEST(Golden, EveryCaseOnEveryPlatform) {
  const auto cases = ReadCases();
  ASSERT_GT(cases.size(), 40u);
  for (const GoldenCase& golden : cases) {
    for (const replay::PlatformRow& row : replay::PlatformRows()) {
      // XLA itself is what it is: the cases say where it differs, and some of them end or hang it.
      const bool is_xla = row.Has(replay::kNeedsPlugin) || row.Has(replay::kNeedsPython) ||
                          row.Has(replay::kRunsDumps);
      const bool is_here = !row.Has(replay::kNeedsDriver) || replay::CudaDriverIsThere();
      if (!is_xla && is_here) Check(golden, row);
    }
  }
}

// Whoever is asked for all they can do, however little it is: libraries and several GPUs, made up.
TEST(Golden, EveryCaseOnFourGpusWithLibraries) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const found = driver == nullptr ? nullptr : dlsym(driver, "fake_cuda_restart");
  if (found == nullptr) GTEST_SKIP() << "LD_LIBRARY_PATH does not name the made-up driver";
  const auto restart = [found](const char* faults) {
    setenv("CUDA_FAKE", faults, 1);
    reinterpret_cast<void (*)()>(found)();
  };
  restart("devices=4");
  const auto as_they_are =
      std::exchange(replay::cuda::library_sizes,
                    {.products = 0, .transformed = 0, .least_side = 1, .most_matrices = INT64_MAX});
  library_calls = 0;
  for (const GoldenCase& golden : ReadCases()) {
    for (const replay::PlatformRow& row : replay::PlatformRows()) {
      if (row.Has(replay::kNeedsDriver) && !row.Has(replay::kNeedsPlugin)) Check(golden, row);
    }
  }
  EXPECT_GT(library_calls, 10);
  replay::cuda::library_sizes = as_they_are;
  restart("");
}

// Every case without fusion and without one of the other passes, all of which come up in turn.
TEST(Golden, EveryCaseWithoutAPass) {
  size_t number = 0;
  for (const GoldenCase& golden : ReadCases()) {
    Check(golden, replay::DefaultPlatform(), "fusion");
    const auto passes = std::size(compile::kPasses);
    Check(golden, replay::DefaultPlatform(), std::string(compile::kPasses[number++ % passes].name));
  }
}

// Opcodes that need more than one device, or whose result is no definite value.
bool NeedsNoGolden(hlo::Opcode opcode) {
  return hlo::HasFlag(opcode, hlo::kFlagCollective) || hlo::HasFlag(opcode, hlo::kFlagDone) ||
         hlo::HasFlag(opcode, hlo::kFlagStart) || opcode == hlo::Opcode::kRng ||
         opcode == hlo::Opcode::kRngGetAndUpdateState || opcode == hlo::Opcode::kAsyncUpdate ||
         opcode == hlo::Opcode::kDomain;
}

TEST(Golden, EveryKernelHasACase) {
  std::set<hlo::Opcode> seen;
  for (const GoldenCase& golden : ReadCases()) {
    const hlo::ParseResult parsed = hlo::ParseText(golden.module);
    if (!parsed.ok()) continue;
    for (const hlo::Instruction& instruction : parsed.module->instructions()) {
      seen.insert(instruction.opcode);
    }
  }
  for (int k = 0; k < hlo::kOpcodeCount; ++k) {
    const auto opcode = static_cast<hlo::Opcode>(k);
    if (NeedsNoGolden(opcode)) continue;
    EXPECT_TRUE(seen.contains(opcode)) << hlo::ToString(opcode) << " has no golden case";
  }
}

}  // namespace
}  // namespace hloscope
