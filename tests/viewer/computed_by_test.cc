// What computes a selection and what only reads it: in Selection, in the pictures, of one and of a
// set.
#include "core/graph/computed_by.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/analysis/align/provenance.h"
#include "core/base/file.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/graph/graph_data.h"
#include "viewer/graph/graph_kernels.h"

namespace hloscope::viewer {
namespace {

class ComputedByTest : public ReadingTest {
 protected:
  std::string Summary() {
    std::string text;
    for (const SummaryLine& line : SummarizeSelection(session())) text += line.text + "\n";
    return text;
  }
  hlo::InstructionId ByName(int32_t stage, std::string_view name) {
    session().data.Module(0, stage);
    Settle();
    const hlo::Module& module = *session().data.Module(0, stage);
    for (uint32_t i = 0; i < module.instructions().size(); ++i) {
      if (module.name(hlo::InstructionId(i)) == name) return hlo::InstructionId(i);
    }
    ADD_FAILURE() << "no " << name;
    return {};
  }
  void Select(Selection selection) {
    session().navigation.Select(std::move(selection));
    Settle();
  }
};

TEST_F(ComputedByTest, WhatOnlyReadsAValueDoesNotComputeIt) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+2");
  Settle();
  Select(Selection::OfInstruction(0, 0, ByName(0, "dot_general.6")));
  const std::string text = Summary();
  EXPECT_NE(text.find("computed by kernel gemm_fusion_dot,"), std::string::npos) << text;
  EXPECT_EQ(text.find("computed by kernel loop_slice"), std::string::npos) << text;
  EXPECT_NE(text.find("read by loop_slice_fusion"), std::string::npos) << text;
  EXPECT_EQ(session().navigation.counterparts().kernels.size(), 1u);
}

// The stage in view is of the texts: what was compiled stays in the pictures.
TEST_F(ComputedByTest, ASelectionInAnEarlierStageKeepsThePictures) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+2");
  Settle();
  Select(Selection::OfInstruction(0, 0, ByName(0, "dot_general.6")));
  ASSERT_EQ(session().navigation.stage(), 0);
  ExpectSeen("graph", "What you wrote: before_optimizations");
  ExpectSeen("graph", "What was fused: sm_9.0a_gpu_after_optimizations");
  ExpectSeen("graph", "Where it runs: ");
  ExpectSeen("graph", "14 kernels");
  ExpectSeen("graph", "Kernel: gemm_fusion_dot");
}

TEST_F(ComputedByTest, ASetIsItsHeadAndTheSumOfItsKernels) {
  Start({Sample("attention_block_h100")});
  // make_samples.py:57 is a product and what prepares it.
  Select(Selection::OfSourceLine("make_samples.py", 57, 0));
  std::string text = Summary();
  EXPECT_NE(text.find("computed by kernel"), std::string::npos) << text;
  EXPECT_EQ(text.find("no code"), std::string::npos) << text;
  // The value of a fusion, not a parameter inside of it.
  const dump::BufferTable& buffers = **session().document.dump()->Buffers(0);
  const auto value =
      std::ranges::find(buffers.values, "gemm_fusion_dot", &dump::BufferValue::instruction);
  ASSERT_NE(value, buffers.values.end());
  Select(Selection::OfBuffer(0, static_cast<int32_t>(value - buffers.values.begin())));
  const int32_t last = session().navigation.counterparts().final_stage;
  EXPECT_EQ(session().data.Module(0, last)->name(session().navigation.counterparts().In(last)),
            "gemm_fusion_dot");
  text = Summary();
  EXPECT_NE(text.find("computed by kernel gemm_fusion_dot,"), std::string::npos) << text;
}

// Of everything that was written: the colour in the picture is a kernel that Selection names too.
TEST_F(ComputedByTest, RibbonsLeadToWhatSelectionNames) {
  for (const char* sample :
       {"attention_block_h100", "softmax_passes_a100", "mlp_train_step", "conv_net"}) {
    SCOPED_TRACE(sample);
    auto dump = dump::DumpModel::Open(Sample(sample), Limits{});
    ASSERT_TRUE(dump);
    const analysis::Provenance provenance(*dump, 0);
    const int32_t last = provenance.final_stage();
    const auto first = provenance.lineage().Module(0), compiled = provenance.lineage().Module(last);
    ASSERT_TRUE(first && compiled);
    const graph::KernelMap map =
        graph::MapKernels(**compiled, analysis::PlacementIn(**dump, 0, **compiled));
    const auto each = graph::KernelOfEach(provenance.lineage(), 0, last, map);
    ASSERT_TRUE(each);
    size_t colored = 0;
    for (uint32_t i = 0; i < each->size(); ++i) {
      const auto facts = provenance.FactsOf(0, hlo::InstructionId(i));
      ASSERT_TRUE(facts);
      std::vector<hlo::InstructionId> computing;
      for (const analysis::LineageStep& step : facts->compiled)
        computing.push_back(step.instruction);
      const graph::KernelUses uses = graph::UsesOf(**compiled, map, computing);
      const std::string name((*first)->name(hlo::InstructionId(i)));
      if ((*each)[i] == graph::kNoKernel) {
        EXPECT_TRUE(uses.computed_by.empty()) << name;
      } else {
        ++colored;
        EXPECT_TRUE(std::ranges::binary_search(uses.computed_by, (*each)[i])) << name;
      }
    }
    EXPECT_GT(colored, 5u);
  }
}

// Two losses sum with computations of their own, a pass lets both use the first, and fusions copy
// it.
constexpr std::string_view kSums = R"(sum_a {
  a0 = f32[] parameter(0)
  a1 = f32[] parameter(1)
  ROOT add_a = f32[] add(a0, a1)
}
)";
constexpr std::string_view kWritten = R"(sum_b {
  b0 = f32[] parameter(0)
  b1 = f32[] parameter(1)
  ROOT add_b = f32[] add(b0, b1)
}
ENTRY e {
  x = f32[64] parameter(0)
  y = f32[32] parameter(1)
  zero = f32[] constant(0)
  loss_a = f32[] reduce(x, zero), dimensions={0}, to_apply=sum_a
  loss_b = f32[] reduce(y, zero), dimensions={0}, to_apply=sum_b
  ROOT t = (f32[], f32[]) tuple(loss_a, loss_b)
}
)";
constexpr std::string_view kMerged = R"(ENTRY e {
  x = f32[64] parameter(0)
  y = f32[32] parameter(1)
  zero = f32[] constant(0)
  loss_a = f32[] reduce(x, zero), dimensions={0}, to_apply=sum_a
  loss_b = f32[] reduce(y, zero), dimensions={0}, to_apply=sum_a
  ROOT t = (f32[], f32[]) tuple(loss_a, loss_b)
}
)";
constexpr std::string_view kCompiled = R"(fused_a {
  p = f32[64] parameter(0)
  zero_a = f32[] constant(0)
  ROOT loss_a.1 = f32[] reduce(p, zero_a), dimensions={0}, to_apply=sum_a
}
fused_b {
  p.1 = f32[32] parameter(0)
  zero_b = f32[] constant(0)
  ROOT loss_b.1 = f32[] reduce(p.1, zero_b), dimensions={0}, to_apply=sum_a
}
ENTRY e {
  x = f32[64] parameter(0)
  y = f32[32] parameter(1)
  loss_a = f32[] fusion(x), kind=kInput, calls=fused_a
  loss_b = f32[] fusion(y), kind=kInput, calls=fused_b
  ROOT t = (f32[], f32[]) tuple(loss_a, loss_b)
}
)";

TEST_F(ComputedByTest, AReducerIsComputedWhereItsReductionIs) {
  const std::string folder = Scratch("merged") + "/";
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& stage, std::string_view text) {
    ASSERT_TRUE(WriteFileAtomically(
        folder + "module_0001.jit_f." + stage + ".txt",
        "HloModule jit_f, is_scheduled=true\n" + std::string(kSums) + std::string(text)));
  };
  write("before_optimizations", kWritten);
  write("0001.p.after_computation-deduplicator.before_end", kMerged);
  write("sm_9.0_gpu_after_optimizations", kCompiled);
  auto dump = dump::DumpModel::Open(folder, Limits{});
  ASSERT_TRUE(dump);
  const analysis::Provenance provenance(*dump, 0);
  const int32_t last = provenance.final_stage();
  const auto first = provenance.lineage().Module(0), compiled = provenance.lineage().Module(last);
  ASSERT_TRUE(first && compiled);
  const graph::KernelMap map =
      graph::MapKernels(**compiled, analysis::PlacementIn(**dump, 0, **compiled));
  const auto each = graph::KernelOfEach(provenance.lineage(), 0, last, map);
  ASSERT_TRUE(each);
  for (const auto& [name, fusion] : {std::pair("add_a", "loss_a"), std::pair("add_b", "loss_b")}) {
    uint32_t at = 0;
    while ((*first)->name(hlo::InstructionId(at)) != name) ++at;
    const hlo::InstructionId id(at);
    const auto facts = provenance.FactsOf(0, id);
    ASSERT_TRUE(facts) << name;
    std::vector<hlo::InstructionId> computing;
    for (const analysis::LineageStep& step : facts->compiled) computing.push_back(step.instruction);
    const graph::KernelUses uses = graph::UsesOf(**compiled, map, computing);
    ASSERT_EQ(uses.computed_by.size(), 1u) << name;
    EXPECT_EQ((*compiled)->name(map.kernels[uses.computed_by[0]].instruction), fusion) << name;
    EXPECT_EQ((*each)[id.index], uses.computed_by[0]) << name;
  }
}

}  // namespace
}  // namespace hloscope::viewer
