// Verdict: the pass that changed the results, found on request or read from a kept verdict.
#include <imgui.h>
#include <imgui_te_context.h>

#include "core/base/file.h"
#include "core/debug/explain/diverge/read_verdict.h"
#include "tests/viewer/guilty_dump.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kPanel = "//###divergence.verdict";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class VerdictTest : public ReadingTest {
 protected:
  std::string Dump() { return GuiltyDump(Scratch("dump")); }
  void ShowVerdict() {
    Press("Ctrl+4");
    Drive([](ImGuiTestContext* context) { context->WindowFocus(kPanel); });
  }
  std::string StageInView() {
    const auto& modules = session().document.dump()->modules();
    return modules[0].stages[static_cast<size_t>(session().navigation.stage())].name;
  }
};

TEST_F(VerdictTest, ThePassIsFoundOnRequest) {
  Start({Dump()});
  ShowVerdict();
  EXPECT_EQ(HighlightedItems("verdict"), "");
  EXPECT_TRUE(GuiltyStages(session(), 0).empty());
  Click(std::string(kPanel) + "/Find the pass");
  ASSERT_TRUE(DrawUntil([&] { return !HighlightedItems("verdict").empty(); }));
  EXPECT_TRUE(Has(HighlightedItems("verdict"), "algsimp")) << HighlightedItems("verdict");
  ASSERT_EQ(GuiltyStages(session(), 0).size(), 1u);
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(session(), 0);
  ASSERT_NE(verdict, nullptr);
  Settle();
  SelectBlame(session(), 0, (*verdict)->passes[0]);
  Settle();
  EXPECT_TRUE(Has(StageInView(), "after_algsimp"));
  EXPECT_EQ(SelectedName(), "sum");
}

TEST_F(VerdictTest, AKeptVerdictIsShownAndNothingRuns) {
  const std::string dump = Dump(), file = Scratch("verdict.json");
  ASSERT_TRUE(WriteFileAtomically(
      file,
      R"({"module":")" + dump +
          R"(","status":"differs","pass":"algsimp","pipeline":"simplification",)"
          R"("file_before":"module_0001.m.0001.simplification.after_dce.before_algsimp.txt",)"
          R"("file_after":"module_0001.m.0002.simplification.after_algsimp.before_pipeline-end.txt",)"
          R"("instruction":"sum","computation":"e","cause":null,"cured_by":["algsimp","--xla_x=false"],)"
          R"("confirmed":true,"tries":[{"what":"without algsimp","closes":true},7],)"
          R"("verdict":"algsimp changed sum"})"));
  Start({file});
  ShowVerdict();
  EXPECT_EQ(session().document.path(), dump);
  EXPECT_EQ(SelectedName(), "sum");
  EXPECT_EQ(HighlightedItems("verdict"), "algsimp changed sum\nalgsimp");
  EXPECT_EQ(session().experiment.module(), nullptr);
  EXPECT_EQ(GuiltyStages(session(), 0).size(), 1u);
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(session(), 0);
  ASSERT_NE(verdict, nullptr);
  EXPECT_EQ((*verdict)->tries.size(), 1u);
  EXPECT_EQ((*verdict)->confirmed, true);
  // In the words of the command line: a flag that has a value is not disabled.
  ExpectSeen("verdict", "disabling algsimp or by --xla_x=false");
  // Another dump forgets it.
  app().Open({Sample("mlp_train_step")});
  Settle();
  EXPECT_EQ(HighlightedItems("verdict"), "");
}

TEST_F(VerdictTest, WhatIsNoVerdictIsSaid) {
  for (const std::string_view text : {"", "{", "[]", "{\"status\":\"odd\",\"cured_by\":[]}",
                                      "{\"status\":\"equal\"}", "{\"status\":1,\"cured_by\":{}}"}) {
    EXPECT_FALSE(debug::ReadVerdict(text)) << text;
  }
  const std::string deep = R"({"status":"differs","cured_by":[],"tries":)" +
                           std::string(150'000, '[') + std::string(150'000, ']') + "}";
  const auto read = debug::ReadVerdict(deep);
  ASSERT_FALSE(read.has_value());
  EXPECT_TRUE(Has(read.error().message, "nested deeper")) << read.error().message;
  const std::string file = Scratch("other.json");
  ASSERT_TRUE(WriteFileAtomically(file, "{}"));
  Start({Sample("mlp_train_step"), file});
  EXPECT_TRUE(Has(Messages(), "not a verdict")) << Messages();
  EXPECT_TRUE(session().document.dump().ready());
}

}  // namespace
}  // namespace hloscope::viewer
