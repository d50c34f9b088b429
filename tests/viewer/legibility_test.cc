// Whether the pictures of a graph can be read: size of their text, labels that are cut or lie on
// what they do not belong to, how much of a pane is used, how much of the window the pictures have.
// Of the samples, thoroughly of the corpus too where it is there; the table is printed.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/base/thorough.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/viewer_fixture.h"

namespace hloscope::viewer {
namespace {

struct Size {
  int width, height;
  float scale;
};
constexpr Size kSizes[] = {{1600, 1000, 1}, {1024, 700, 1}, {3200, 2000, 2}, {2048, 1400, 2}};

constexpr size_t kSamples = 8;
constexpr const char* kDumps[] = {
    "samples/attention_block",
    "samples/attention_block_h100",
    "samples/conv_net",
    "samples/data_parallel_step_b200",
    "samples/gpt_train_step",
    "samples/gpt_train_step_h100",
    "samples/mlp_train_step",
    "samples/softmax_passes_a100",
    "jax/control_flow_nested",
    "jax/flax_optax_cnn",
    "jax/fdtd_maxwell",
    "jax/large_gpt_96layer_adamw",
    "jax/lstm_scan",
    "jax/moe_top2_dispatch",
    "jax/passes_small_attention",
    "jax/pure_callback_host",
    "jax/spmd_megatron_mlp_2x2",
    "jax/transformer_adam_step",
    "jax/transformer_decoder_fwd",
    "gpu/convnet_f32",
    "gpu/gemm_bf16_bias_gelu",
    "gpu/layernorm_bf16",
    "gpu/softmax_f32",
    "gpu/transformer_bf16",
    "gpu/while_newton",
    "tensorflow/keras_fit_jit",
    "tensorflow/tf_convnet_jit",
    "torch_xla/torch_cnn_train_step",
    "torch_xla/torch_transformer_encoder",
    "reactant/reactant_matmul_column_major",
};

float WidthOf(const Box& box) { return box.right - box.left; }
float HeightOf(const Box& box) { return box.bottom - box.top; }
bool Overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
bool Holds(const Box& outer, const Box& inner) {
  constexpr float kSlack = 3;
  return outer.left <= inner.left + kSlack && inner.right <= outer.right + kSlack &&
         outer.top <= inner.top + kSlack && inner.bottom <= outer.bottom + kSlack;
}

struct Legibility {
  float smallest = 1000;  // text, in logical pixels
  int labels = 0, cut = 0, outside = 0;
  float width = 1, height = 1;  // of the pane that is used least, the share that nodes cover
  bool has_enough = false;      // to fill the height of a pane; `height` is of those then
  float pictures = 0;           // share of the window
};

std::string CorpusPath(std::string_view dump) {
  const char* corpus = std::getenv("HLOSCOPE_CORPUS");
  return (corpus == nullptr ? SourcePath("../shared/corpus") : std::string(corpus)) + "/" +
         std::string(dump);
}

class LegibilityTest : public ViewerTest {
 protected:
  static bool IsPicture(const DrawnControl& control) {
    return control.label == "##source" || control.label == "##fusions" ||
           control.label == "##devices" || control.label == "##rows";
  }

  static Legibility Measure(const Size& size) {
    Legibility found;
    const std::vector<DrawnText> texts = DrawnTexts();
    const std::vector<DrawnArea> areas = DrawnAreas();
    std::vector<DrawnControl> panes = DrawnControls();
    // Rows, and lanes as a list, fill their windows.
    for (const char* label : {"##rows", "##devices"}) {
      const auto rows = std::ranges::find_if(areas, [&](const DrawnArea& area) {
        return area.window.find(label) != std::string::npos;
      });
      if (rows == areas.end()) continue;
      const ImGuiWindow& window = *ImGui::FindWindowByName(rows->window.c_str());
      panes.push_back({.window = rows->window,
                       .label = label,
                       .seen = {window.Pos.x, window.Pos.y, window.Pos.x + window.Size.x,
                                window.Pos.y + window.Size.y}});
    }
    for (const DrawnControl& pane : panes) {
      if (!IsPicture(pane)) continue;
      found.pictures +=
          WidthOf(pane.seen) * HeightOf(pane.seen) / static_cast<float>(size.width * size.height);
      MeasurePane(pane, texts, areas, size.scale, found);
    }
    // The list of the hottest belongs to them.
    const auto list = std::ranges::find_if(texts, [](const DrawnText& text) {
      return text.window.find("##hottest") != std::string::npos;
    });
    if (list != texts.end()) {
      const ImGuiWindow& window = *ImGui::FindWindowByName(list->window.c_str());
      found.pictures +=
          window.Size.x * window.Size.y / static_cast<float>(size.width * size.height);
    }
    return found;
  }

  // Whether its rows, as far apart and as high as they are drawn at most, fill 85 % of its height.
  // A list of lanes does where not all of it is in view; lanes as columns stand at the heights of
  // the picture beside them.
  static bool HasEnough(const DrawnControl& pane, const std::vector<Box>& nodes, float scale) {
    if (pane.label == "##devices") {
      const ImGuiWindow& window = *ImGui::FindWindowByName(pane.window.c_str());
      return window.ScrollMax.y > 0;
    }
    // Lower ones are the grounds of texts between the boxes.
    std::vector<float> middles;
    for (const Box& node : nodes) {
      if (HeightOf(node) > 16.2F * scale) middles.push_back((node.top + node.bottom) / 2);
    }
    std::ranges::sort(middles);
    int rows = 0;
    float last = -1000;
    for (const float middle : middles) {
      rows += middle - last > 10 * scale ? 1 : 0;
      last = middle;
    }
    const bool is_list = pane.label == "##rows";
    constexpr float kListRow = 32, kBox = 35, kGap = 80;
    const float most = is_list ? kListRow * static_cast<float>(rows)
                               : (kBox + kGap) * static_cast<float>(rows) - kGap;
    return most * scale >= 0.85F * HeightOf(pane.seen);
  }

  static void MeasurePane(const DrawnControl& pane, const std::vector<DrawnText>& texts,
                          const std::vector<DrawnArea>& areas, float scale, Legibility& found) {
    std::vector<Box> nodes;
    Box all{1e9F, 1e9F, -1e9F, -1e9F};
    const auto add = [&](const Box& node) {
      nodes.push_back(node);
      all = {std::min(all.left, node.left), std::min(all.top, node.top),
             std::max(all.right, node.right), std::max(all.bottom, node.bottom)};
    };
    for (const DrawnArea& area : areas) {
      if (area.window == pane.window && HeightOf(area.seen) >= 4 * scale &&
          HeightOf(area.seen) <= 0.98F * HeightOf(pane.seen) && Holds(pane.seen, area.seen))
        add(area.seen);
    }
    // A row is there whether it has a bar or not.
    for (const DrawnControl& row : DrawnControls()) {
      if (row.window == pane.window && row.label == "##row" && Holds(pane.seen, row.seen))
        add(row.seen);
    }
    if (nodes.empty()) return;
    // A hull is behind its box: what is next to the box may be on it.
    const std::vector<Box> all_nodes = nodes;
    std::erase_if(nodes, [&](const Box& hull) {
      return std::ranges::any_of(all_nodes, [&](const Box& box) {
        return hull.top + 3 * scale < box.top && box.bottom + 3 * scale < hull.bottom &&
               hull.left < box.left && box.right < hull.right && WidthOf(box) > WidthOf(hull) / 2;
      });
    });
    found.width = std::min(found.width, WidthOf(all) / WidthOf(pane.seen));
    if (HasEnough(pane, nodes, scale)) {
      found.has_enough = true;
      found.height = std::min(found.height, HeightOf(all) / HeightOf(pane.seen));
    }
    for (const DrawnText& text : texts) {
      if (text.window != pane.window || !Overlap(text.seen, pane.seen)) continue;
      ++found.labels;
      found.smallest = std::min(found.smallest, text.size / scale);
      found.cut += text.text.find("…") != std::string::npos ? 1 : 0;
      // On a node, or on a ground of its own that covers a part of no node.
      const bool covers = std::ranges::any_of(nodes, [&](const Box& node) {
        return HeightOf(node) < 60 * scale && Overlap(node, text.seen) && !Holds(node, text.seen);
      });
      found.outside += covers ? 1 : 0;
    }
  }
};

TEST_F(LegibilityTest, PicturesCanBeRead) {
  fmt::print("{:<36} {:>9} {:>5} {:>6} {:>5} {:>7} {:>6} {:>6} {:>8}\n", "dump", "size", "text",
             "labels", "cut", "outside", "width", "height", "pictures");
  for (const char* dump : std::span(kDumps).first(IsThorough() ? std::size(kDumps) : kSamples)) {
    std::string path = SourcePath(dump);
    if (!std::filesystem::exists(path)) path = CorpusPath(dump);
    if (!std::filesystem::exists(path)) continue;
    if (std::filesystem::exists(path + "/dump")) path += "/dump";
    for (const Size& size : Swept(kSizes)) {
      surface_ = {.kind = SurfaceKind::kHeadless,
                  .width = size.width,
                  .height = size.height,
                  .scale = size.scale};
      Start({});
      NoteControls();
      app().dock().Find("graph")->view->SetState("7 1 0 111 1");
      app().Open({path});
      Settle();
      app().dock().SetScreen("graph");
      Settle();
      const Legibility found = Measure(size);
      Stop();
      fmt::print("{:<36} {:>4}x{}@{} {:>5.1f} {:>6} {:>4.0f}% {:>7} {:>5.0f}% {:>6} {:>7.0f}%\n",
                 dump, size.width, size.height, size.scale, found.smallest, found.labels,
                 100.0 * found.cut / std::max(found.labels, 1), found.outside, 100 * found.width,
                 found.has_enough ? fmt::format("{:.0f}%", 100 * found.height) : "few",
                 100 * found.pictures);
      SCOPED_TRACE(fmt::format("{} {}x{}", dump, size.width, size.height));
      EXPECT_GE(found.smallest, 11);
      EXPECT_EQ(found.outside, 0);
      EXPECT_GE(found.width, 0.7);
      if (found.has_enough) {
        EXPECT_GE(found.height, 0.85);
      }
      const bool is_wide = static_cast<float>(size.width) > 1500 * size.scale;
      EXPECT_GE(found.pictures, is_wide ? 0.65 : 0.67);
    }
  }
}

}  // namespace
}  // namespace hloscope::viewer
