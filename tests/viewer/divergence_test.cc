// The screen Divergence: run, find a NaN, look at values, with keys and with clicks.
#include <imgui.h>
#include <imgui_te_context.h>

#include "core/base/file.h"
#include "tests/viewer/viewer_fixture.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kPanel = "//###divergence.divergence";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void ChooseInterpreter(ImGuiTestContext* context) {
  context->SetRef(kPanel);
  context->ComboClick("##platform/interpreter");
}

TEST_F(ViewerTest, DivergenceRunsNothingByItself) {
  Start({Sample("mlp_train_step")});
  Press("Ctrl+4");
  EXPECT_EQ(Lit("divergence"), "not run yet");
  EXPECT_EQ(Lit("values"), "no values");
  EXPECT_EQ(session().experiment.module(), nullptr);
}

TEST_F(ViewerTest, DivergenceComparesEveryInstruction) {
  Start({Sample("mlp_train_step")});
  Press("Ctrl+4");
  Drive(ChooseInterpreter);
  Click(std::string(kPanel) + "/Run");
  ASSERT_NE(session().experiment.report(), nullptr);
  EXPECT_TRUE(Lit("divergence").starts_with("same bits: ")) << Lit("divergence");
  EXPECT_EQ(std::ssize(session().experiment.findings()), session().experiment.expected_findings());
}

TEST_F(ViewerTest, FindsTheNanAndSelectsIt) {
  const std::string path = Scratch("module_0001.nan.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, R"(HloModule nan
ENTRY e {
  x = f32[4] parameter(0)
  zero = f32[4] subtract(x, x)
  ROOT born = f32[4] divide(zero, zero)
}
)"));
  Start({path});
  Press("Ctrl+4");
  Drive([](ImGuiTestContext* context) { context->WindowFocus(kPanel); });
  Press("Ctrl+Shift+N");
  EXPECT_TRUE(Has(Lit("divergence"), "the first NaN appears in born")) << Lit("divergence");
  Click(std::string(kPanel) + "/Select it");
  EXPECT_EQ(SelectedName(), "born");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###divergence.values"); });
  Press("V");
  EXPECT_TRUE(Has(Lit("values"), "values of born\nf32[4]")) << Lit("values");
}

}  // namespace
}  // namespace hloscope::viewer
