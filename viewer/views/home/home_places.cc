// Where instructions run: kernels, libraries, the host; and what moves in between.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <string>

#include "viewer/facts/dump_facts.h"
#include "viewer/facts/outside_nodes.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/views/home/home_sections.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// The colour of each place, and whether it is work at all.
struct PlaceLook {
  analysis::Place place;
  Color color;
};
constexpr PlaceLook kPlaces[] = {
    {analysis::Place::kDeviceKernel, Color::kPlaceKernel},
    {analysis::Place::kInKernel, Color::kPlaceInKernel},
    {analysis::Place::kLibraryCall, Color::kPlaceLibrary},
    {analysis::Place::kCollective, Color::kPlaceCollective},
    {analysis::Place::kHost, Color::kPlaceHost},
    {analysis::Place::kHostMemory, Color::kPlaceHostMemory},
    {analysis::Place::kCopy, Color::kPlaceCopy},
    {analysis::Place::kControl, Color::kPlaceControl},
    {analysis::Place::kNoCode, Color::kPlaceNoCode},
    {analysis::Place::kUndecided, Color::kLine},
};

// TensorFlow runs by itself what it left outside the clusters, in no module of XLA's.
void DrawNoFallback(Frame& frame) {
  const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(frame.context);
  if (graphs == nullptr)
    return Label(frame.theme, Color::kGood,
                 "no host fallback: every instruction runs on the device");
  if (!ShowPending(frame, *graphs, "TensorFlow graphs")) return;
  const std::string outside = OutsideText(*graphs->value);
  if (outside.empty()) {
    Label(frame.theme, Color::kGood, "no host fallback: every instruction runs on the device");
  } else {
    Sentence(frame, "no host fallback in this module");
    Label(frame.theme, Color::kDeviceFallback, outside);
  }
}

void DrawPlaceBar(Frame& frame, const ModuleFacts& facts) {
  int64_t total = 0;
  for (int64_t count : facts.places) total += count;
  if (total == 0) return;
  ImVec2 at = ImGui::GetCursorScreenPos();
  float width = ImGui::GetContentRegionAvail().x - 8 * frame.scale, height = 14 * frame.scale,
        x = at.x;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  for (const PlaceLook& look : kPlaces) {
    int64_t count = facts.places[static_cast<size_t>(look.place)];
    float part = width * static_cast<float>(count) / static_cast<float>(total);
    if (count > 0)
      draw->AddRectFilled(ImVec2(x, at.y), ImVec2(x + std::max(1.0f, part - 1), at.y + height),
                          frame.theme[look.color]);
    x += part;
  }
  ImGui::Dummy(ImVec2(width, height + 4 * frame.scale));
  for (const PlaceLook& look : kPlaces) {
    int64_t count = facts.places[static_cast<size_t>(look.place)];
    if (count == 0) continue;
    ImVec2 square = ImGui::GetCursorScreenPos();
    float size = 10 * frame.scale, drop = (ImGui::GetTextLineHeight() - size) / 2;
    draw->AddRectFilled(ImVec2(square.x, square.y + drop),
                        ImVec2(square.x + size, square.y + drop + size), frame.theme[look.color]);
    ImGui::Dummy(ImVec2(size, size));
    ImGui::SameLine();
    Label(fmt::format("{}", CountText(count)));
    ImGui::SameLine(80 * frame.scale);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    FittedLabel(Describe(look.place));
    ImGui::PopStyleColor();
  }
}

}  // namespace

void DrawWhere(Frame& frame, const dump::DumpModel& dump, EqualRows& fallbacks) {
  int32_t module = frame.context.navigation.module();
  if (module < 0) return;
  Section(frame, "Where instructions run", kHomeGap);
  const Pending<ModuleFacts>& facts = FactsOf(frame.context, module);
  if (!ShowPending(frame, facts, "the module")) return;
  Label(frame.theme, Color::kTextSecondary, dump.modules()[static_cast<size_t>(module)].name);
  if (!facts->compiled) {
    Sentence(frame, "placement unknown: no after_optimizations stage of this module");
    return;
  }
  DrawPlaceBar(frame, *facts);
  if (facts->fallback_count == 0) {
    return DrawNoFallback(frame);
  }
  Label(frame.theme, Color::kDeviceFallback,
        fmt::format("{} on the host or with host transfers:", CountText(facts->fallback_count)));
  ImGui::PushID("fallbacks");
  fallbacks.Draw(frame, facts->equal_fallbacks, module, dump.FinalStage(module));
  ImGui::PopID();
}

void DrawTransfers(Frame& frame, const dump::DumpModel& dump, EqualRows& transfers) {
  const int32_t module = frame.context.navigation.module();
  if (module < 0) return;
  const Pending<ModuleFacts>& facts = FactsOf(frame.context, module);
  if (!facts.ready() || facts->transfers.empty()) return;
  Section(frame, "Transfers between host and device", kHomeGap);
  ImGui::PushID("transfers");
  transfers.Draw(frame, facts->equal_transfers, module, dump.FinalStage(module));
  ImGui::PopID();
}

}  // namespace hloscope::viewer
