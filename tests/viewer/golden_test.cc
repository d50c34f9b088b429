// Golden pictures of the screens, compared as blocks of luminance. HLOSCOPE_RENEW_GOLDEN=1
// (scripts/golden) writes them anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/base/file.h"
#include "tests/base/paths.h"
#include "viewer/frame/application.h"

namespace hloscope::viewer {
namespace {

constexpr int kWidth = 1600, kHeight = 1000, kBlock = 20;
constexpr int kColumns = kWidth / kBlock, kRows = kHeight / kBlock;
constexpr auto kBlocks = size_t{kColumns} * kRows;
constexpr int kTile = 10;  // blocks of a tile's side

// The mean luminance of each block, row by row.
using Blocks = std::vector<uint8_t>;

Blocks BlocksOf(const Picture& picture, int dx = 0, int dy = 0) {
  Blocks out;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (int i = 0; i < kBlock * kBlock; ++i) {
        const int x = std::clamp(column * kBlock + i % kBlock + dx, 0, picture.width - 1);
        const int y = std::clamp(row * kBlock + i / kBlock + dy, 0, picture.height - 1);
        const uint8_t* rgb = &picture.rgb[static_cast<size_t>(y * picture.width + x) * 3];
        sum += 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
      }
      out.push_back(static_cast<uint8_t>(std::lround(sum / (kBlock * kBlock))));
    }
  }
  return out;
}

// How far a tile is off: what differs, over what stands out from the tile's ground, in the golden
// or in the other. 0 is the same, 1 is all missing. A few shades of every block are nothing.
double Distance(const Blocks& golden, const Blocks& other, int tile_row, int tile_column) {
  std::array<int, 256> counts{};
  auto each = [&](auto visit) {
    for (int i = 0; i < kTile * kTile; ++i) {
      const int row = tile_row * kTile + i / kTile, column = tile_column * kTile + i % kTile;
      visit(size_t{kColumns} * static_cast<size_t>(row) + static_cast<size_t>(column));
    }
  };
  each([&](size_t at) { ++counts[golden[at]]; });
  const auto ground = std::ranges::max_element(counts) - counts.begin();
  double differs = 0, ink = 0, other_ink = 0;
  each([&](size_t at) {
    differs += std::max(0, std::abs(golden[at] - other[at]) - 1);
    ink += static_cast<double>(std::abs(golden[at] - ground));
    other_ink += static_cast<double>(std::abs(other[at] - ground));
  });
  constexpr double kMinInk = 150;  // of a tile that is nearly empty
  return differs / std::max({ink, other_ink, kMinInk});
}

// The tile that is farthest off.
double Worst(const Blocks& golden, const Blocks& other) {
  double worst = 0;
  for (int row = 0; row < kRows / kTile; ++row) {
    for (int column = 0; column < kColumns / kTile; ++column)
      worst = std::max(worst, Distance(golden, other, row, column));
  }
  return worst;
}

// Another release of a font moves edges by parts of a pixel; a panel that is missing or
// shows something else is off by half and more.
constexpr double kTolerance = 0.4;

struct Screen {
  const char *name, *screen, *select, *sample;
  bool is_dark = true;
};
constexpr Screen kScreens[] = {
    {"home", "home", "jit_attention_block:gemm_fusion_dot.3", "samples/attention_block_h100"},
    {"home-light", "home", "jit_attention_block:gemm_fusion_dot.3", "samples/attention_block_h100",
     false},
    {"graph", "graph", "jit_attention_block:gemm_fusion_dot", "samples/attention_block_h100"},
    {"passes", "passes", "jit_softmax:triton_softmax.2", "samples/softmax_passes_a100"},
    {"divergence", "divergence", "jit_mlp_train_step", "samples/mlp_train_step"},
    {"kernels", "kernels", "jit_conv_net:conv_general_dilated.3", "samples/conv_net"},
    {"memory", "memory", "jit_attention_block:gemm_fusion_dot", "samples/attention_block_h100"},
};

class GoldenTest : public ::testing::Test {
 protected:
  // Nothing where this machine has not the fonts.
  std::optional<Picture> Draw(const Screen& screen) {
    // The path is part of the picture.
    std::filesystem::current_path(SourcePath());
    ApplicationOptions options;
    options.theme = screen.is_dark ? "dark" : "light";
    options.surface = {
        .kind = SurfaceKind::kHeadless, .width = kWidth, .height = kHeight, .scale = 1};
    Result<std::unique_ptr<Application>> made = Application::Make(options);
    if (!made) {
      ADD_FAILURE() << made.error().ToString();
      return std::nullopt;
    }
    Application& application = **made;
    if (!application.session().messages.all().empty()) {
      why_not_ = application.session().messages.all().front().text;
      return std::nullopt;
    }
    application.dock().SetScreen(screen.screen);
    // Which platforms there are is no part of it.
    application.dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
    application.DrawFrame();
    application.SelectWhenOpen(screen.select);
    application.Open({screen.sample});
    while (!application.settled()) {
      application.DrawFrame();
      if (!application.session().idle()) application.surface().Wait(0.01);
    }
    panels_.clear();
    for (const Dock::Panel& panel : application.dock().panels()) {
      if (panel.width > 0)
        panels_.push_back(
            {std::string(panel.row->id), panel.x, panel.y, panel.width, panel.height});
    }
    return application.PictureOfFrame();
  }

  static std::string PathOf(std::string_view name) {
    return SourcePath("tests/viewer/golden/") + std::string(name) + ".pgm";
  }
  static std::string Head() {
    return "P5\n" + std::to_string(kColumns) + " " + std::to_string(kRows) + "\n255\n";
  }
  static Blocks ReadGolden(std::string_view name) {
    std::ifstream file(PathOf(name), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    if (!bytes.starts_with(Head()) || bytes.size() != Head().size() + kBlocks) {
      ADD_FAILURE() << PathOf(name) << ": no golden picture of " << kColumns << "×" << kRows
                    << "; scripts/golden makes it";
      return Blocks(kBlocks);
    }
    return {bytes.begin() + static_cast<ptrdiff_t>(Head().size()), bytes.end()};
  }
  // To be looked at.
  static std::string Keep(const Picture& picture, std::string_view name) {
    const std::string path = ::testing::TempDir() + "hloscope-" + std::string(name) + ".png";
    const Result<std::string> png = ToPng(picture);
    return png && WriteFileAtomically(path, *png) ? path : "(could not be kept)";
  }

  struct Rectangle {
    std::string view;
    float x, y, width, height;
  };
  std::vector<Rectangle> panels_;
  std::string why_not_;
};

// The picture without what stands in a panel.
Picture Without(Picture picture, float x, float y, float width, float height) {
  const auto left = static_cast<int>(x), top = static_cast<int>(y);
  for (int row = top; row < std::min(picture.height, top + static_cast<int>(height)); ++row) {
    for (int column = left; column < std::min(picture.width, left + static_cast<int>(width));
         ++column) {
      // The ground of the panel, as in its lower right corner.
      const size_t from = (static_cast<size_t>(top + static_cast<int>(height) - 3) *
                               static_cast<size_t>(picture.width) +
                           static_cast<size_t>(left + 3)) *
                          3;
      const size_t to = (static_cast<size_t>(row) * static_cast<size_t>(picture.width) +
                         static_cast<size_t>(column)) *
                        3;
      if (to == from) continue;
      std::copy_n(picture.rgb.begin() + static_cast<ptrdiff_t>(from), 3,
                  picture.rgb.begin() + static_cast<ptrdiff_t>(to));
    }
  }
  return picture;
}

TEST_F(GoldenTest, EveryScreenLooksAsItDid) {
  const char* renew = std::getenv("HLOSCOPE_RENEW_GOLDEN");
  for (const Screen& screen : kScreens) {
    SCOPED_TRACE(screen.name);
    const std::optional<Picture> picture = Draw(screen);
    if (!picture) GTEST_SKIP() << why_not_;
    const Blocks blocks = BlocksOf(*picture);
    if (renew != nullptr) {
      const std::string bytes = Head() + std::string(blocks.begin(), blocks.end());
      ASSERT_TRUE(WriteFileAtomically(PathOf(screen.name), bytes));
    }
    const Blocks golden = ReadGolden(screen.name);
    EXPECT_LT(Worst(golden, blocks), kTolerance)
        << "look at " << Keep(*picture, screen.name) << "; scripts/golden takes it over";
    // Half a pixel of a font is nothing.
    for (const auto& [dx, dy] : {std::pair(1, 0), std::pair(0, 1), std::pair(-1, -1)})
      EXPECT_LT(Worst(golden, BlocksOf(*picture, dx, dy)), kTolerance) << dx << " " << dy;
    // No panel may be missing, and no other screen passes for this one.
    for (const Rectangle& panel : panels_) {
      EXPECT_GT(
          Worst(golden, BlocksOf(Without(*picture, panel.x, panel.y, panel.width, panel.height))),
          kTolerance)
          << "without " << panel.view;
    }
    for (const Screen& other : kScreens) {
      if (&other == &screen) continue;
      EXPECT_GT(Worst(ReadGolden(other.name), blocks), kTolerance) << other.name;
    }
  }
}

}  // namespace
}  // namespace hloscope::viewer
