// Drawing the strip, and selecting the stage under the pointer.
#include "viewer/divergence/stage_strip.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <vector>

#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/stage_columns.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

struct Strip {
  ImVec2 at, size;
  StageColumns columns;
};

// What the stages are, by position.
std::vector<Color> ColorsOf(Context& context, int32_t module,
                            const debug::DivergeVerdict& verdict) {
  const dump::DumpModel& dump = *context.document.dump();
  const auto& stages = dump.modules()[static_cast<size_t>(module)].stages;
  std::vector<Color> colors(stages.size(), Color::kRaised);
  for (size_t s = 0; s < stages.size() && !verdict.stepped_over.empty(); ++s) {
    const bool skipped = std::ranges::any_of(verdict.stepped_over, [&](const std::string& text) {
      return text.find(stages[s].name) != std::string::npos;
    });
    if (skipped) colors[s] = Color::kWithinBound;
  }
  for (const debug::PassBlame& blame : verdict.passes) {
    const int32_t stage = StageOfFile(dump, module, blame.file_after);
    if (stage < 0) continue;
    colors[static_cast<size_t>(stage)] = blame.restores ? Color::kWithinUlp : Color::kBeyondBound;
  }
  return colors;
}

void Paint(Frame& frame, const Strip& strip, const std::vector<Color>& colors, int32_t shown) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float bottom = strip.at.y + strip.size.y;
  const StageColumns& columns = strip.columns;
  const float gap = columns.ColumnWidth() > 4 ? frame.scale : 0;
  const auto box = [&](int32_t stage, Color color) {
    // However many stages there are, what is highlighted can be seen.
    const float least = color == Color::kRaised ? 0 : 3 * frame.scale;
    const float left = columns.Left(stage);
    const float right = std::max(columns.Right(stage) - gap, left + least);
    list.AddRectFilled({left, strip.at.y}, {right, bottom}, frame.theme[color]);
  };
  list.AddRectFilled(strip.at, {strip.at.x + strip.size.x, bottom}, frame.theme[Color::kCanvas]);
  for (int32_t s = 0; s < columns.stages; ++s) {
    if (colors[static_cast<size_t>(s)] == Color::kRaised) box(s, Color::kRaised);
  }
  for (int32_t s = 0; s < columns.stages; ++s) {
    if (colors[static_cast<size_t>(s)] != Color::kRaised) box(s, colors[static_cast<size_t>(s)]);
  }
  if (shown < 0 || shown >= columns.stages) return;
  const float middle = (columns.Left(shown) + columns.Right(shown)) / 2, half = 5 * frame.scale;
  list.AddTriangleFilled({middle - half, bottom + 2 * half}, {middle + half, bottom + 2 * half},
                         {middle, bottom + 2}, frame.theme[Color::kAccent]);
  list.AddRect({columns.Left(shown) - 1, strip.at.y - 1}, {columns.Right(shown) + 1, bottom + 1},
               frame.theme[Color::kAccent], 0, 1.5F * frame.scale);
}

void DrawKey(Frame& frame, const std::vector<Color>& colors) {
  constexpr std::array kKeys = {std::pair(Color::kBeyondBound, "changed the results"),
                                std::pair(Color::kWithinUlp, "restored them"),
                                std::pair(Color::kWithinBound, "not evaluated")};
  for (const auto& [color, text] : kKeys) {
    if (std::ranges::find(colors, color) == colors.end()) continue;
    ImGui::SameLine(0, 18 * frame.scale);
    Label(frame.theme, color, "\u25a0");
    ImGui::SameLine(0, 4 * frame.scale);
    Label(frame.theme, Color::kTextSecondary, text);
  }
}

}  // namespace

void DrawStageStrip(Frame& frame, int32_t module, const debug::DivergeVerdict& verdict) {
  Context& context = frame.context;
  const auto& stages = context.document.dump()->modules()[static_cast<size_t>(module)].stages;
  const float width = ImGui::GetContentRegionAvail().x;
  if (stages.size() < 2 || width < 20) return;
  const std::vector<Color> colors = ColorsOf(context, module, verdict);
  const int32_t shown = context.navigation.stage();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const auto count = static_cast<int32_t>(stages.size());
  const StageColumns columns(at.x, width, count, 2 * frame.scale);
  const Strip strip{at, {width, 20 * frame.scale}, columns};
  ImGui::InvisibleButton("##strip", {width, strip.size.y + 12 * frame.scale});
  const int32_t under = columns.StageAt(ImGui::GetIO().MousePos.x);
  if (ImGui::IsItemActive() && under != shown) {
    context.navigation.Select(Selection::OfStage(module, under));
  }
  if (ImGui::IsItemHovered()) {
    Help(stages[static_cast<size_t>(under)].name);
  }
  Paint(frame, strip, colors, shown);
  if (shown >= 0 && shown < columns.stages) {
    Label(frame.theme, Color::kTextSecondary,
          SafeText(fmt::format("stage {} of {}: {}", shown + 1, columns.stages,
                               stages[static_cast<size_t>(shown)].name),
                   90));
  }
  DrawKey(frame, colors);
}

}  // namespace hloscope::viewer
