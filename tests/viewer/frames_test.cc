// The work of a frame: that of what is in view, however large the module is, also with heat on, and
// however many files a dump has. Steps are allocations of the drawing thread, which no clock and no
// load change.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/work_count.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/heat.h"

namespace hloscope::viewer {
namespace {

// Layers of a product and of elementwise operations, in scopes.
std::string LayersText(int layers) {
  const std::string shape = "f32[64,64]{1,0}";
  std::string text = "HloModule layers\n\nENTRY main {\n  x0 = " + shape + " parameter(0)\n";
  for (int n = 0; n < layers; ++n) {
    const std::string layer = std::to_string(n);
    const std::string scope = ", metadata={op_name=\"jit(step)/stage_" + std::to_string(n / 50) +
                              "/layer_" + layer + "/op\"}\n";
    text += "  w" + layer + " = " + shape + " dot(x" + layer + ", x" + layer +
            "), lhs_contracting_dims={1}, rhs_contracting_dims={0}" + scope;
    text += "  a" + layer + " = " + shape + " add(w" + layer + ", x" + layer + ")" + scope;
    text += (n + 1 == layers ? "  ROOT x" : "  x") + std::to_string(n + 1) + " = " + shape +
            " tanh(a" + layer + ")" + scope;
  }
  return text + "}\n";
}

class FramesTest : public ViewerTest {
 protected:
  // The most steps of one frame while the pointer moves over the graph, the wheel turns, and
  // nothing happens. It is done twice and the second time counts: what is under the pointer first
  // is summed up once.
  uint64_t WorkOfAFrame(int layers, bool pictures) {
    const std::string path = Scratch("layers_" + std::to_string(layers) + ".hlo");
    std::ofstream(path) << LayersText(layers);
    Start({path});
    app().Run(Command::kScreenGraph);
    Settle();
    if (pictures) ShowPictures();
    app().Run(Command::kHeatBytes);
    Settle();
    EXPECT_EQ(MeasureInView(session()), HeatMeasure::kBytes);
    const Dock::Panel& panel = *app().dock().Find("graph");
    uint64_t most = 0;
    constexpr int kFrames = 120;
    for (int k = 0; k < 2 * kFrames; ++k) {
      const auto step = static_cast<float>(k % kFrames);
      ImGui::GetIO().AddMousePosEvent(panel.x + panel.width * 0.2f + step,
                                      panel.y + panel.height / 2 + step);
      if (k % 3 == 0)
        ImGui::GetIO().AddMouseWheelEvent(0, k % kFrames < kFrames / 2 ? -0.5f : 0.5f);
      const uint64_t before = WorkCount();
      app().DrawFrame();
      if (k >= kFrames) most = std::max(most, WorkCount() - before);
    }
    Stop();
    return most;
  }

  // The middle of the frames that Home draws while the facts of 200 modules are found.
  uint64_t WorkOfHomeWhileReading(int stages) {
    const std::string folder = Scratch("stages_" + std::to_string(stages));
    std::filesystem::create_directories(folder);
    const std::string text = LayersText(3);
    for (int m = 0; m < 200; ++m) {
      const std::string stem = fmt::format("{}/module_{:04}.layers", folder, m);
      std::ofstream(stem + ".before_optimizations.txt") << text;
      for (int s = 0; s < stages; ++s)
        std::ofstream(fmt::format("{}.{:04}.p.after_a{}.before_b{}.txt", stem, s, s, s)) << text;
      std::ofstream(stem + ".cpu_after_optimizations.txt") << text;
    }
    Start({});
    app().Open({folder});
    EXPECT_TRUE(DrawUntil([&] { return session().document.dump().ready(); }));
    std::vector<uint64_t> works;
    while (DumpFactsOf(session()) == nullptr && works.size() < 1000) {
      const uint64_t before = WorkCount();
      app().DrawFrame();
      works.push_back(WorkCount() - before);
    }
    Stop();
    if (works.empty()) return 0;
    std::ranges::nth_element(works, works.begin() + std::ssize(works) / 2);
    return works[works.size() / 2];
  }
};

// Also before all of a dump is known.
TEST_F(FramesTest, HomeTakesNoMoreWorkForADumpOfMoreFiles) {
  const uint64_t few = WorkOfHomeWhileReading(1), many = WorkOfHomeWhileReading(40);
  EXPECT_GT(few, 0u);
  EXPECT_LT(many, 2 * few) << few << " and " << many << " steps";
}

TEST_F(FramesTest, RowsWithHeatTakeNoMoreWorkForALargeModule) {
  const uint64_t small = WorkOfAFrame(400, false), large = WorkOfAFrame(8000, false);
  EXPECT_LT(large, 2 * small) << small << " and " << large << " steps";
}

TEST_F(FramesTest, GraphsWithHeatTakeNoMoreWorkForALargeModule) {
  const uint64_t small = WorkOfAFrame(400, true), large = WorkOfAFrame(8000, true);
  EXPECT_LT(large, 2 * small) << small << " and " << large << " steps";
}

}  // namespace
}  // namespace hloscope::viewer
