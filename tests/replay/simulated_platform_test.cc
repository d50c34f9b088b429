// XLA:GPU's kernels of a dump as a platform: values inside, kernels against what they mean, several
// devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/backends/gpusim/kernel_meanings.h"
#include "core/backends/make_platform.h"
#include "core/dump/dump_model.h"
#include "core/replay/inputs/inputs.h"
#include "core/replay/platform.h"
#include "tests/base/paths.h"
#include "tests/replay/events.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

// A stage of the only module of a sample, loaded beside its kernels.
struct Loaded {
  std::shared_ptr<const hlo::Module> module;
  std::unique_ptr<Executable> executable;

  static Loaded Stage(const std::string& sample, bool is_last) {
    const auto dump = *dump::DumpModel::Open(SourcePath("samples/") + sample, Limits());
    const int32_t stage = is_last ? dump->FinalStage(0) : 0;
    Loaded loaded{*dump->Module(0, stage), nullptr};
    RunOptions options;
    options.load.module_file = dump->FullPath(dump->FindFile(0, dump::FileRole::kThunkSequence));
    const auto platform = *MakePlatform(PlatformWith(kRunsDumps)->name);
    auto executable = platform->Load(loaded.module, options);
    EXPECT_TRUE(executable.has_value()) << executable.error().ToString();
    loaded.executable = *std::move(executable);
    return loaded;
  }
};

std::vector<Literal> Generated(const hlo::Module& module) {
  std::vector<Literal> leaves;
  for (const hlo::Shape& shape : ParameterShapes(module)) {
    const auto count = static_cast<size_t>(*shape.ElementCount());
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = 0.25f * static_cast<float>(i % 7) - 0.7f;
    leaves.push_back(Literal::Of<float>(shape, values));
  }
  return leaves;
}

TEST(SimulatedPlatform, EveryKernelIsHeldToWhatItsInstructionMeans) {
  const Loaded loaded = Loaded::Stage("data_parallel_step_b200", false);
  RunOptions options;
  options.capture.search = SearchRequest{std::string(kKernelMeaningsSearch), {}};
  const std::vector<std::vector<Literal>> inputs = {Generated(*loaded.module)};
  Events events;
  const auto run = loaded.executable->Run(inputs, options, events);
  ASSERT_TRUE(run.has_value()) << run.error().ToString();
  std::set<std::pair<int64_t, std::string>> seen;
  for (const SearchFinding* finding : events.Of<SearchFinding>()) {
    const auto meaning = ReadKernelMeaning(*finding);
    ASSERT_TRUE(meaning.has_value());
    EXPECT_FALSE(meaning->actual.is_missing()) << meaning->instruction;
    EXPECT_FALSE(meaning->meant.is_missing()) << meaning->instruction;
    EXPECT_FALSE(meaning->kernels.empty());
    EXPECT_TRUE(seen.emplace(meaning->device, meaning->instruction).second);
  }
  EXPECT_EQ(seen.size(), 4u * 5u);  // devices × kernels
}

TEST(SimulatedPlatform, DevicesRendezvousInCollectivesAndResultsAreComplete) {
  const Loaded loaded = Loaded::Stage("data_parallel_step_b200", false);
  const auto reference = *(*MakePlatform(ReferencePlatform().name))->Load(loaded.module, {});
  const std::vector<std::vector<Literal>> inputs = {Generated(*loaded.module)};
  Events actual, expected;
  ASSERT_TRUE(loaded.executable->Run(inputs, {}, actual).has_value());
  ASSERT_TRUE(reference->Run(inputs, {}, expected).has_value());
  const auto ours = actual.Of<LeafResult>(), right = expected.Of<LeafResult>();
  ASSERT_EQ(ours.size(), right.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_TRUE(ours[i]->value.has_value());
    const auto a = ours[i]->value->data<float>(), b = right[i]->value->data<float>();
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 5e-3) << i << " " << k;
  }
}

TEST(SimulatedPlatform, ValuesInsideAreThoseOfTheOptimisedModule) {
  CapturePlan plan;
  plan.items.push_back({.scope = CaptureScope::kFusionBoundaries});
  RunOptions options;
  options.capture = plan;
  const Loaded last = Loaded::Stage("softmax_passes_a100", true);
  const std::vector<std::vector<Literal>> inputs = {Generated(*last.module)};
  Events events;
  ASSERT_TRUE(last.executable->Run(inputs, options, events).has_value());
  const auto captured = events.Of<CapturedValue>();
  ASSERT_FALSE(captured.empty());
  for (const CapturedValue* value : captured) {
    EXPECT_LT(value->key.instruction.index, last.module->instructions().size());
    EXPECT_TRUE(std::holds_alternative<Literal>(value->value));
  }
  const Loaded first = Loaded::Stage("softmax_passes_a100", false);
  const auto refused = first.executable->Run(inputs, options, events);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(refused.error().hint.find("optimised"), std::string::npos);
}

}  // namespace
}  // namespace hloscope::replay
