// Heat: its figures against `info --json` and `profile --json`, its scale, and where it shows.
#include "viewer/facts/heat.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/memory/peak_scopes.h"
#include "viewer/frame/svg.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/treemap.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kProfile = "gpt_train_step/gpt_train_step.xplane.pb.gz";

// "#1a1f26" of 0xAABBGGRR.
std::string Hex(uint32_t color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color & 0xff, color >> 8 & 0xff, color >> 16 & 0xff);
}

class HeatTest : public ReadingTest {
 protected:
  nlohmann::json Printed(const std::string& arguments) {
    const std::string out = Scratch("printed.json");
    const std::string line = ProgramPath() + " " + arguments + " --json > '" + out + "' 2>&1";
    EXPECT_EQ(std::system(line.c_str()), 0) << line;
    std::ifstream file(out);
    std::string text;
    std::getline(file, text);
    return nlohmann::json::parse(text);
  }
  std::shared_ptr<const HeatFacts> Facts(HeatMeasure measure) {
    std::shared_ptr<const HeatFacts> facts;
    EXPECT_TRUE(DrawUntil([&] { return (facts = HeatFactsOf(session(), measure)) != nullptr; }));
    return facts;
  }
  void ExpectWork(const nlohmann::json& work, HeatMeasure measure) {
    const auto facts = Facts(measure);
    ASSERT_EQ(facts->missing, "");
    EXPECT_NEAR(facts->sum, work["sum"].get<double>(), 1e-9 * facts->sum);
    ASSERT_EQ(facts->hottest.size(), work["most"].size());
    for (size_t k = 0; k < facts->hottest.size(); ++k)
      EXPECT_DOUBLE_EQ(facts->Of(facts->hottest[k]), work["most"][k]["value"].get<double>());
    EXPECT_EQ(facts->of->name(facts->hottest[0]), work["most"][0]["instruction"]);
  }
};

TEST(HeatRamp, TextOnItCanBeReadAndLightnessIsMonotone) {
  for (const bool dark : {true, false}) {
    const Theme theme(dark);
    double before = 0;
    for (int k = 0; k <= 512; ++k) {
      const uint32_t color = HeatColor(theme, k / 512.0);
      EXPECT_GE(ContrastOf(InkOn(theme, color), color), 4.5) << k;
      // The hotter, the further from the background.
      const double contrast = ContrastOf(color, dark ? 0xff000000u : 0xffffffffu);
      EXPECT_GE(contrast, before - 0.02) << k;
      before = contrast;
    }
    EXPECT_NE(HeatColor(theme, 0), HeatColor(theme, 1));
  }
}

TEST(Treemap, AreasAreInProportionAndFillTheWhole) {
  const std::vector<double> weights = {6, 6, 4, 3, 2, 2, 1};
  const auto areas = Squarify(weights, {0, 0, 600, 400});
  ASSERT_EQ(areas.size(), weights.size());
  double sum = 0;
  for (size_t k = 0; k < areas.size(); ++k) {
    EXPECT_NEAR(areas[k].width() * areas[k].height(), weights[k] * 10'000, 1);
    EXPECT_GE(areas[k].left, -0.01f);
    EXPECT_LE(areas[k].right, 600.01f);
    EXPECT_LE(areas[k].bottom, 400.01f);
    sum += areas[k].width() * areas[k].height();
  }
  EXPECT_NEAR(sum, 240'000, 1);
  // The example of Bruls, Huizing and van Wijk: 3×2 and 3×2 at the left.
  EXPECT_NEAR(areas[0].width(), 300, 0.1);
  EXPECT_NEAR(areas[1].top, 200, 0.1);
}

TEST_F(HeatTest, WorkIsThatOfInfo) {
  for (const char* sample : {"gpt_train_step_h100", "conv_net", "power_iteration"}) {
    SCOPED_TRACE(sample);
    const nlohmann::json info = Printed("info '" + Sample(sample) + "'");
    const nlohmann::json& work = info["modules"][0]["work"];
    Start({Sample(sample)});
    ExpectWork(work["bytes"], HeatMeasure::kBytes);
    ExpectWork(work["flops"], HeatMeasure::kFlops);
    if (work["estimate_ps"].is_null()) {
      EXPECT_NE(Facts(HeatMeasure::kEstimate)->missing, "");
    } else {
      ExpectWork(work["estimate_ps"], HeatMeasure::kEstimate);
    }
    Stop();
  }
}

// [8192,1024] by [1024,32000] in bf16: 2·8192·1024·32000 operations, which take 0.543 ms on an
// H100 with 989.4 Tflop/s.
TEST_F(HeatTest, AMatrixProductCountsByHand) {
  Start({Sample("gpt_train_step_h100")});
  const auto flops = Facts(HeatMeasure::kFlops), time = Facts(HeatMeasure::kEstimate);
  const hlo::InstructionId id = flops->hottest.front();
  EXPECT_EQ(flops->of->name(id), "gemm_fusion_dot.216");
  EXPECT_DOUBLE_EQ(flops->Of(id), 2.0 * 8192 * 1024 * 32000);
  EXPECT_NEAR(time->Of(id) / 1e9, 2.0 * 8192 * 1024 * 32000 / 989.4e12 * 1e3, 1e-3);
}

TEST_F(HeatTest, TimesAreThoseOfProfile) {
  const std::string dump = Sample("gpt_train_step"), trace = Sample(kProfile);
  const nlohmann::json profile =
      Printed("profile '" + trace + "' --module '" + dump + "' --top 10");
  Start({dump, trace});
  EXPECT_EQ(MeasureInView(session()), HeatMeasure::kTime);
  const auto facts = Facts(HeatMeasure::kTime);
  ASSERT_EQ(facts->hottest.size(), 10u);
  for (size_t k = 0; k < 10; ++k) {
    const nlohmann::json& row = profile["instructions"][k];
    EXPECT_EQ(facts->of->name(facts->hottest[k]), row["instruction"]);
    EXPECT_NEAR(facts->Of(facts->hottest[k]), 1e3 * row["self_ns"].get<double>(), 1e3);
  }
}

TEST_F(HeatTest, PeakIsThatOfInfoMemory) {
  const std::string dump = Sample("gpt_train_step_h100");
  const nlohmann::json memory = Printed("info '" + dump + "' --memory")["modules"][0];
  Start({dump});
  const auto facts = Facts(HeatMeasure::kPeak);
  EXPECT_EQ(facts->sum, memory["live_peak_bytes"].get<double>());
  for (size_t k = 0; k < 3; ++k)
    EXPECT_EQ(facts->Of(facts->hottest[k]), memory["holders"][k]["bytes"].get<double>());
  const Pending<PeakScope>* scopes = nullptr;
  ASSERT_TRUE(DrawUntil([&] {
    scopes = PeakScopesOf(session(), 0);
    return scopes != nullptr && scopes->ready();
  }));
  EXPECT_EQ((*scopes)->bytes, memory["live_peak_bytes"].get<int64_t>());
  const auto bytes_of = [&](std::string_view name) {
    const auto found = std::ranges::find((*scopes)->inside, name, &PeakScope::name);
    return found == (*scopes)->inside.end() ? -1 : found->bytes;
  };
  // The moments of Adam are as large as the parameters.
  EXPECT_GT(bytes_of("params"), 0);
  EXPECT_EQ(bytes_of("mean"), bytes_of("square"));
}

// As in the window: the hottest box is filled all over, what is written on it can be read, and
// there is no stripe of its kernel.
TEST_F(HeatTest, ThePictureInAFileIsFilledByHeat) {
  Start({Sample("attention_block_h100")});
  app().Run(Command::kHeatBytes);
  Press("Ctrl+2");
  Settle();
  const auto facts = Facts(HeatMeasure::kBytes);
  const Theme theme(true);
  const uint32_t hottest = HeatColor(theme, 1), ink = InkOn(theme, hottest);
  const std::string svg =
      app().dock().Find("graph")->view->Export(ExportFormat::kSvg, session()).value_or("");
  const std::string name(facts->of->name(facts->hottest[0]));
  size_t found = 0;
  for (size_t at = 0; (at = svg.find("<title>" + name + "\n", at)) != std::string::npos; ++at) {
    const std::string node = svg.substr(at, svg.find("</g>", at) - at);
    EXPECT_NE(node.find("fill=\"" + Hex(hottest) + "\""), std::string::npos) << node;
    EXPECT_NE(node.find("style=\"fill:" + Hex(ink)), std::string::npos) << node;
    EXPECT_EQ(node.find("width=\"4\""), std::string::npos) << node;
    ++found;
  }
  EXPECT_EQ(found, 2u);  // as what was fused, and where it runs
  app().Run(Command::kGraphHeat);
  Settle();
  const std::string cold =
      app().dock().Find("graph")->view->Export(ExportFormat::kSvg, session()).value_or("");
  EXPECT_EQ(cold.find(Hex(hottest)), std::string::npos);
}

// The number of a line of text stands on the heat of what the line defines.
TEST_F(HeatTest, LinesOfTextHaveTheirHeat) {
  Start({Sample("attention_block_h100")});
  const auto facts = Facts(HeatMeasure::kBytes);
  const hlo::InstructionId hottest = facts->hottest[0];
  session().navigation.Select(Selection::OfInstruction(0, facts->stage, hottest));
  Press("Ctrl+3");
  app().dock().Focus("text");
  Settle();
  // How many areas have the hottest colour; one of them is in the legend.
  const auto hot = [this](std::string_view view) {
    const Dock::Panel& panel = *app().dock().Find(view);
    const std::string svg =
        SvgOfFrame(panel.x, panel.y, panel.width, panel.height, 0x14171c).value_or("");
    const std::string color = Hex(HeatColor(Theme(true), 1));
    size_t count = 0;
    for (size_t at = 0; (at = svg.find(color, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(hot("text"), 0u);
  app().Run(Command::kHeatBytes);
  Settle();
  ExpectSeen("text", "bytes moved (estimate): 0");
  EXPECT_GE(hot("text"), 2u);
  app().dock().Focus("changes");
  Settle();
  EXPECT_GE(hot("changes"), 2u);
}

TEST_F(HeatTest, TheListSelectsAndTheMenuChooses) {
  Start({Sample("gpt_train_step_h100")});
  EXPECT_EQ(MeasureInView(session()), HeatMeasure::kOff);
  app().Run(Command::kHeatFlops);
  Press("Ctrl+2");
  Settle();
  ExpectSeen("graph", "Hottest: FLOPs (estimate)");
  ExpectSeen("graph", "gemm_fusion_dot.216");
  ClickOn("graph", "gemm_fusion_dot.217");
  EXPECT_TRUE(SelectedName().starts_with("gemm_fusion_dot.21")) << SelectedName();
  app().Run(Command::kHeatNext);
  EXPECT_EQ(MeasureInView(session()), HeatMeasure::kError);
  Settle();
  ExpectSeen("graph", "no values compared");
  app().Run(Command::kGraphHeat);
}

}  // namespace
}  // namespace hloscope::viewer
