// What computes a selection and what only reads it: in Selection, in the pictures, of one and of a
// set.
#include "core/graph/computed_by.h"

#include <algorithm>
#include <set>

#include "core/analysis/align/provenance.h"
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

}  // namespace
}  // namespace hloscope::viewer
