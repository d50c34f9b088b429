// What our own compiler made, on the screens.
#include <imgui.h>
#include <imgui_te_context.h>

#include "core/base/file.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/dump_data.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kPanel = "//###divergence.divergence";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class OwnDumpTest : public ViewerTest {
 protected:
  // Presses the button behind a run, and waits for the dump.
  void ShowCompiled() {
    Press("Ctrl+4");
    const uint64_t before = session().document.generation();
    Click(std::string(kPanel) + "/Compile with cpu");
    ASSERT_TRUE(DrawUntil([&] { return session().document.generation() != before; })) << Messages();
    Settle();
  }
  const dump::DumpModel& dump() { return *session().document.dump(); }
  // The first fusion of the module that runs.
  Selection FirstFusion() {
    const int32_t stage = dump().FinalStage(0);
    const auto module = *dump().Module(0, stage);
    for (uint32_t i = 0; i < module->instructions().size(); ++i) {
      const hlo::InstructionId id(i);
      if ((*module)[id].opcode == hlo::Opcode::kFusion) {
        return Selection::OfInstruction(0, stage, id);
      }
    }
    return {};
  }
};

TEST_F(OwnDumpTest, OneActionShowsWhatWasCompiledWithItsTimes) {
  Start({Sample("mlp_train_step")}, Scratch("state"));
  ShowCompiled();
  const std::string folder = Scratch("state/compiled/jit_mlp_train_step.cpu.1.dump");
  EXPECT_EQ(session().document.path(), folder);
  EXPECT_TRUE(Has(Messages(), "cpu compiled ")) << Messages();
  EXPECT_TRUE(Has(Messages(), folder)) << Messages();
  EXPECT_EQ(app().dock().screen(), "graph");
  ASSERT_EQ(dump().modules().size(), 1U);
  EXPECT_GT(dump().modules()[0].stages.size(), 3U);
  EXPECT_TRUE(dump().warnings().empty());
  // Its plan, kernels with code, and times that are tied to what ran.
  const auto buffers = dump().Buffers(0);
  ASSERT_TRUE(buffers.has_value());
  EXPECT_FALSE((*buffers)->values.empty());
  const Pending<ProfileModel>* profile = ProfileOf(session());
  ASSERT_TRUE(profile != nullptr && profile->ready());
  const Selection fusion = FirstFusion();
  ASSERT_TRUE(fusion.instruction.valid());
  ASSERT_EQ((*profile)->places, (std::vector<ProfileModel::Place>{{0, dump().FinalStage(0)}}));
  const profiler::InstructionTime* time = (*profile)->attribution->TimeOf(0, fusion.instruction);
  ASSERT_NE(time, nullptr);
  EXPECT_GT(time->count, 0);
  session().navigation.Select(fusion);
  Press("Ctrl+5");
  Press("Ctrl+K");
  EXPECT_TRUE(Has(HighlightedItems("code"), ".ir-with-opt.ll:")) << HighlightedItems("code");
  EXPECT_TRUE(Has(HighlightedItems("code"), "Assembly ")) << HighlightedItems("code");
  EXPECT_TRUE(Has(HighlightedItems("kernels"), SelectedName())) << HighlightedItems("kernels");
}

TEST_F(OwnDumpTest, ASelectionSaysWhyItWasFusedAndWhatWasLeftApart) {
  Start({Sample("mlp_train_step")}, Scratch("state"));
  ShowCompiled();
  session().navigation.Select(FirstFusion());
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("selection"), "used: ")) << HighlightedItems("selection");
  EXPECT_TRUE(Has(HighlightedItems("selection"), " moved less")) << HighlightedItems("selection");
}

TEST_F(OwnDumpTest, NothingOfItIsSaidToBeOfXla) {
  Start({Sample("mlp_train_step")}, Scratch("state"));
  ShowCompiled();
  EXPECT_TRUE(dump().missing().empty());
  EXPECT_TRUE((*dump().Module(0, dump().FinalStage(0)))->header().is_scheduled);
}

TEST_F(OwnDumpTest, WithoutAFolderItLastsAsLongAsTheWindow) {
  Start({Sample("power_iteration")});
  ShowCompiled();
  const std::string folder = session().document.path();
  EXPECT_TRUE(std::filesystem::exists(folder));
  EXPECT_TRUE(Has(Messages(), "deleted on exit")) << Messages();
  Stop();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(OwnDumpTest, WhatCannotBeCompiledSaysSoAndLeavesTheDumpOpen) {
  worker_program_ = "/bin/false";
  Start({Sample("power_iteration")});
  Press("Ctrl+4");
  Click(std::string(kPanel) + "/Compile with cpu");
  ASSERT_TRUE(DrawUntil([&] { return !Messages().empty(); }));
  EXPECT_TRUE(Has(Messages(), "not compiled: ")) << Messages();
  EXPECT_EQ(session().document.path(), Sample("power_iteration"));
}

}  // namespace
}  // namespace hloscope::viewer
