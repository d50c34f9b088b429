// No text lies on another, on any screen and in both themes; thoroughly in three sizes of the
// window.
#include <algorithm>
#include <cmath>

#include "tests/base/thorough.h"
#include "tests/viewer/screen_text.h"
#include "tests/viewer/viewer_fixture.h"

namespace hloscope::viewer {
namespace {

struct Size {
  int width, height;
  float scale;
};
constexpr Size kSizes[] = {{1024, 700, 1}, {1600, 1000, 1}, {3200, 2000, 2}};

class GeometryTest : public ViewerTest {
 protected:
  // Pairs of characters of labels whose pens stand nearer than those of neighbours in a word, with
  // what is written around them. Code is left out: graphs and timelines draw it on grounds of its
  // own, above other code.
  static std::vector<std::string> Overlaps(const Size& size) {
    std::vector<SeenCharacter> seen =
        CharactersIn(0, 0, static_cast<float>(size.width), static_cast<float>(size.height));
    std::erase_if(seen, [](const SeenCharacter& c) { return c.is_code; });
    std::vector<std::string> found;
    for (size_t i = 0; i < seen.size(); ++i) {
      for (size_t k = i + 1; k < seen.size() && seen[k].y - seen[i].y < 7 * size.scale; ++k) {
        if (std::abs(seen[k].x - seen[i].x) >= 2 * size.scale) continue;
        std::string text;
        for (size_t n = i >= 12 ? i - 12 : 0; n < std::min(seen.size(), i + 12); ++n)
          text += seen[n].text;
        found.push_back(text + " at " + std::to_string(static_cast<int>(seen[i].x)) + ", " +
                        std::to_string(static_cast<int>(seen[i].y)));
      }
    }
    return found;
  }

  void CheckEveryScreen(const char* sample, const char* select) {
    for (const Size& size : Swept(kSizes)) {
      for (const char* theme : {"dark", "light"}) {
        surface_ = {.kind = SurfaceKind::kHeadless,
                    .width = size.width,
                    .height = size.height,
                    .scale = size.scale};
        Start({});
        if (app().theme().dark() != (theme == std::string_view("dark"))) Press("Ctrl+T");
        app().SelectWhenOpen(select);
        app().Open({Sample(sample)});
        Settle();
        for (const ScreenRow& screen : ScreenRows()) {
          app().dock().SetScreen(screen.id);
          Settle();
          const std::vector<std::string> found = Overlaps(size);
          // One may be a line that the edge of a panel cuts.
          EXPECT_LE(found.size(), 1u)
              << sample << ", " << screen.id << ", " << size.width << "×" << size.height << ", "
              << theme << ": " << found.size() << " characters lie on others: " << found.front();
        }
        Stop();
      }
    }
  }
};

TEST_F(GeometryTest, NoLabelLiesOnAnotherInADumpForAGpu) {
  CheckEveryScreen("attention_block_h100", "jit_attention_block:gemm_fusion_dot.3");
}

TEST_F(GeometryTest, NoLabelLiesOnAnotherInADumpWithAProfile) {
  CheckEveryScreen("conv_net", "jit_conv_net:conv_general_dilated.3");
}

}  // namespace
}  // namespace hloscope::viewer
