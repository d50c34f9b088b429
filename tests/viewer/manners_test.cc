// What cannot be read can be asked for: labels that are cut, and every control, say it in a
// tooltip, on all screens.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "tests/base/paths.h"
#include "tests/base/sanitized.h"
#include "tests/base/thorough.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/viewer_fixture.h"

namespace hloscope::viewer {
namespace {

struct Window {
  int width, height;
  float scale;
};
constexpr Window kWindows[] = {{1024, 700, 1}, {1600, 1000, 1}, {3200, 2000, 2}};

struct Opened {
  std::string path, selected;
};

// The samples, and dumps of other frameworks where the corpus is present; one of them under the
// sanitizers, where a frame takes twelve times as long.
std::vector<Opened> AllOpened() {
  const std::string samples = SourcePath("samples/");
  std::vector<Opened> all = {
      {samples + "attention_block_h100", "jit_attention_block:gemm_fusion_dot.3"},
      {samples + "conv_net", "jit_conv_net:conv_general_dilated.3"},
      {samples + "data_parallel_step_b200", ""},
      {samples + "softmax_passes_a100", "jit_softmax:triton_softmax.2"},
  };
  if (kSanitized) return {all.front()};
  const char* corpus = std::getenv("HLOSCOPE_CORPUS");
  const std::string folder =
      corpus == nullptr ? SourcePath("../shared/corpus") : std::string(corpus);
  for (const char* name : {"tensorflow/tf_autocluster_pyfunc", "torch_xla/torch_cnn_train_step",
                           "reactant/reactant_column_sum", "jax/pure_callback_host"}) {
    if (std::filesystem::is_directory(folder + "/" + name))
      all.push_back({folder + "/" + name, ""});
  }
  return all;
}

// Text that may be cut without a tooltip of its own, and why.
struct Allowed {
  const char *view, *why;
  bool code_only;
};
constexpr Allowed kAllowed[] = {
    {"text", "lines of a file, which scroll sideways", true},
    {"code", "lines of code, which scroll sideways", true},
    {"reducer", "lines of the module, which scroll sideways", true},
};

std::string Plain(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return c == ' ' || c == '\n'; });
  return out;
}

// "memory" of "Memory###memory.memory/##child_1234"; empty: no panel.
std::string ViewOf(std::string_view window) {
  const size_t at = window.find("###");
  if (at == std::string_view::npos) return {};
  window.remove_prefix(at + 3);
  const size_t dot = window.find('.');
  if (dot == std::string_view::npos) return {};
  window.remove_prefix(dot + 1);
  return std::string(window.substr(0, window.find_first_of("/_")));
}

// The tooltip says all that the label would, or what stands before and after its "…".
bool SaysAll(const std::string& tooltip, std::string_view label) {
  const std::string said = Plain(tooltip);
  size_t from = 0;
  std::string rest = Plain(label);
  while (true) {
    const size_t cut = rest.find("…");
    const std::string part = rest.substr(0, cut);
    const size_t at = said.find(part, from);
    if (at == std::string::npos) return false;
    from = at + part.size();
    if (cut == std::string::npos) return true;
    rest.erase(0, cut + std::string_view("…").size());
  }
}

class MannersTest : public ViewerTest {
 protected:
  void Open(const Opened& what, const Window& window, bool dark) {
    surface_ = {.kind = SurfaceKind::kHeadless,
                .width = window.width,
                .height = window.height,
                .scale = window.scale};
    Start({});
    NoteControls();
    if (app().theme().dark() != dark) Press("Ctrl+T");
    if (!what.selected.empty()) app().SelectWhenOpen(what.selected);
    app().Open({what.path});
    Settle();
  }

  void Draw() { app().DrawFrame(); }

  // What the tooltip says once the pointer has rested there; empty: there is none.
  std::string TooltipAt(float x, float y) {
    constexpr int kFrames = 40;  // longer than Dear ImGui waits
    ImGui::GetIO().AddMousePosEvent(x, y);
    Draw();
    for (int frame = 0; frame < kFrames; ++frame) {
      Draw();
      if (std::string said = DrawnTooltip(); !said.empty()) return said;
    }
    return {};
  }
  std::string TooltipOn(const Box& box) {
    return TooltipAt((box.left + box.right) / 2, (box.top + box.bottom) / 2);
  }
  void PointNowhere() {
    ImGui::GetIO().AddMousePosEvent(-1, -1);
    for (int frame = 0; frame < 3; ++frame) Draw();
  }

  // Rows of one column are drawn by the same code: a few of them stand for all.
  void CheckCutLabels(const std::string& where, float scale, std::string_view of = "") {
    constexpr int kOfOneColumn = 2;
    PointNowhere();
    std::map<std::pair<std::string, int>, int> columns;
    for (const DrawnText& text : DrawnTexts()) {
      if (!text.window.starts_with(of) || !text.is_cut(scale) || IsAllowed(text)) continue;
      if (columns[{text.window, static_cast<int>(text.box.left)}]++ >= kOfOneColumn) continue;
      ++asked_labels_;
      const std::string said = TooltipOn(text.seen);
      // A name under a box that is too small to bear it: the box says it.
      const bool is_callout = said.empty() && ViewOf(text.window) == "graph" && text.is_code;
      if (is_callout || SaysAll(said, text.text)) continue;
      faults_.insert(where + ", " + text.window + ": \"" + text.text +
                     "\" is cut, its tooltip says \"" + said + "\"");
    }
  }

  static bool IsAllowed(const DrawnText& text) {
    const std::string view = ViewOf(text.window);
    return std::ranges::any_of(kAllowed, [&](const Allowed& allowed) {
      return view == allowed.view && (text.is_code || !allowed.code_only);
    });
  }

  void CheckControls(const std::string& where, std::string_view of = "") {
    PointNowhere();
    std::set<std::pair<std::string, std::string>> asked;
    for (const DrawnControl& control : DrawnControls()) {
      if (control.kind != ControlKind::kControl || !control.window.starts_with(of)) continue;
      if (!asked.insert({control.window, control.label}).second) continue;
      ++asked_controls_;
      const std::string said = TooltipOn(control.seen);
      const std::string key = KeyOf(control.label, said);
      if (said.empty())
        faults_.insert(where + ", " + control.window + ": " + control.label + " has no help");
      else if (said.find(key) == std::string::npos)
        faults_.insert(where + ", " + control.window + ": the help of " + control.label +
                       " does not say " + key);
    }
  }

  // The first key of the command that a control is named after, and those of the command whose help
  // it shows.
  static std::string KeyOf(std::string_view label, std::string_view said) {
    label = label.substr(0, label.find("##"));
    std::string named;
    for (const CommandRow& row : CommandRows()) {
      if (said == fmt::format("{}\n{}\n", row.help, row.keys)) return std::string(row.keys);
      if (row.title == label && row.when != "graph") named = row.keys.substr(0, row.keys.find(' '));
    }
    return named;
  }

  void Report() {
    std::string all;
    for (const std::string& fault : faults_) all += fault + "\n";
    EXPECT_TRUE(faults_.empty()) << faults_.size() << ":\n" << all;
  }

  std::set<std::string> faults_;
  int asked_labels_ = 0, asked_controls_ = 0;
};

TEST_F(MannersTest, WhatIsCutIsSaidByATooltip) {
  for (const Opened& what : AllOpened()) {
    for (const Window& window : Swept(kWindows)) {
      // Colours move nothing: one theme for each size.
      Open(what, window, window.scale == 1);
      for (const ScreenRow& screen : ScreenRows()) {
        app().dock().SetScreen(screen.id);
        Settle();
        CheckCutLabels(std::string(screen.id) + " " + std::to_string(window.width), window.scale);
      }
      Stop();
    }
  }
  Report();
  EXPECT_GT(asked_labels_, kSanitized || !IsThorough() ? 20 : 200);
}

TEST_F(MannersTest, EveryControlSaysWhatItDoes) {
  for (const Opened& what : AllOpened()) {
    Open(what, kWindows[1], true);
    for (const ScreenRow& screen : ScreenRows()) {
      for (const ViewRow& view : ViewRows()) {
        if (AreaOn(view, screen.id).empty()) continue;
        app().dock().SetScreen(screen.id);
        app().dock().Focus(view.id);
        Settle();
        CheckControls(std::string(screen.id));
      }
    }
    Stop();
  }
  Report();
  EXPECT_GT(asked_controls_, kSanitized ? 20 : 200);
}

TEST_F(MannersTest, TwoDumpsDoSoToo) {
  for (const Window& window : Swept(kWindows)) {
    Open({SourcePath("samples/attention_block"), ""}, window, window.scale == 1);
    session().second.Open(SourcePath("samples/attention_block_h100"));
    app().dock().SetScreen("passes");
    app().dock().Focus("two-dumps");
    Settle();
    CheckCutLabels("two dumps " + std::to_string(window.width), window.scale);
    CheckControls("two dumps");
    Stop();
  }
  Report();
}

TEST_F(MannersTest, PopupsDoSoToo) {
  const std::pair<Command, const char*> popups[] = {
      {Command::kKeys, "keys"},       {Command::kPalette, "palette"},
      {Command::kSearch, "search"},   {Command::kOpen, "open"},
      {Command::kCompare, "compare"}, {Command::kExportPng, "export"},
      {Command::kBookmark, "note"},   {Command::kMakeBundle, "bundle"},
  };
  for (const Window& window : Swept(kWindows)) {
    Open(AllOpened().front(), window, true);
    for (const auto& [command, name] : popups) {
      app().Run(command);
      Settle();
      const std::string popup = std::string("##") + name;
      CheckCutLabels(name, window.scale, popup);
      CheckControls(name, popup);
      app().popups().Close();
      Settle();
    }
    Stop();
  }
  Report();
}

}  // namespace
}  // namespace hloscope::viewer
