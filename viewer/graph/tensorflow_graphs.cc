// Which graphs are drawn, the tools above them, and what keys and clicks do.
#include "viewer/graph/tensorflow_graphs.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "viewer/graph/graph_legend.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/second_dump.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

bool TensorFlowGraphs::IsShown(Context& context) {
  if (generation_ != context.document.generation()) {
    generation_ = context.document.generation();
    files_ = GraphFilesOf(*context.document.dump());
    main_graph_ = MainGraphOf(*context.document.dump());
    file_ = -1;
    beside_of_ = {-1, 0};
    sides_.clear();
    open_.clear();
    shown_side_ = {};
    is_chosen_ = false;
    version_ = 0;
  }
  if (!has_any()) return false;
  const Selection& now = context.navigation.selection();
  if (version_ != context.navigation.version()) {
    version_ = context.navigation.version();
    if (now.kind == SelectionKind::kGraphNode) {
      is_chosen_ = true;
      const bool is_drawn = std::ranges::any_of(
          sides_, [&](const Side& side) { return !side.of_second && side.file == now.file; });
      if (!is_drawn) file_ = now.file;
    } else if (now.module >= 0) {
      is_chosen_ = false;
    }
  }
  return is_chosen_ || context.document.dump()->modules().empty();
}

const TensorFlowGraphs::Side& TensorFlowGraphs::BesideOf(Context& context) {
  const bool has_second = context.second.dump().ready();
  const std::pair<int32_t, uint64_t> of(ShownFile(), has_second ? context.second.reading() : 0);
  if (beside_of_ == of) return beside_;
  beside_of_ = of;
  shown_side_ = {};
  const int32_t second = has_second ? MainGraphOf(*context.second.dump()) : -1;
  beside_ = second >= 0 ? Side{second, true}
                        : Side{GraphBesideOf(*context.document.dump(), ShownFile()), false};
  return beside_;
}

std::vector<TensorFlowGraphs::Side> TensorFlowGraphs::SidesOf(Context& context) {
  const dump::DumpModel& dump = *context.document.dump();
  const Side shown{ShownFile(), false};
  const Side beside = BesideOf(context);
  if (!shows_beside_ || beside.file < 0) return {shown};
  const bool is_first = beside.of_second || IsBeforeGraph(dump, shown.file);
  return is_first ? std::vector<Side>{shown, beside} : std::vector<Side>{beside, shown};
}

void TensorFlowGraphs::Draw(Frame& frame) {
  DrawToolbar(frame);
  sides_ = SidesOf(frame.context);
  active_ = std::min(active_, sides_.size() - 1);
  for (size_t k = 0; k < sides_.size(); ++k) Show(frame.context, k, sides_[k]);
  const std::vector<LegendEntry> legend = TensorFlowLegend(
      frame.theme, canvases_[0].has_plain() || (sides_.size() > 1 && canvases_[1].has_plain()));
  const float legend_height = LegendHeight(frame, legend);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float gap = 6 * frame.scale, count = static_cast<float>(sides_.size());
  const float width = std::floor((room.x - gap * (count - 1)) / count);
  for (size_t k = 0; k < sides_.size(); ++k) {
    if (k > 0) ImGui::SameLine(0, gap);
    ImGui::PushID(static_cast<int>(k));
    ImGui::BeginChild("##side", {width, room.y - legend_height - 2 * frame.scale},
                      ImGuiChildFlags_None,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    DrawSide(frame, k, sides_[k]);
    ImGui::EndChild();
    ImGui::PopID();
  }
  if (legend_height > 0) DrawLegend(frame, legend);
}

void TensorFlowGraphs::DrawToolbar(Frame& frame) {
  Context& context = frame.context;
  const dump::DumpModel& dump = *context.document.dump();
  if (!dump.modules().empty()) {
    if (ImGui::Button("Graphs of modules")) is_chosen_ = false;
    Help("the graphs of what XLA compiled");
    ImGui::SameLine();
  }
  const int32_t now = ShownFile();
  const auto name = [&](int32_t file) {
    return SafeText(dump::BareFileName(dump.files()[static_cast<size_t>(file)].path), 80);
  };
  if (files_.size() > 1) {
    ImGui::SetNextItemWidth(std::min(320 * frame.scale, ImGui::GetContentRegionAvail().x * 0.5f));
    if (ImGui::BeginCombo("##graph", name(now).c_str(), ImGuiComboFlags_HeightLarge)) {
      for (const int32_t file : files_) {
        ImGui::PushID(file);
        if (ImGui::Selectable(name(file).c_str(), file == now)) file_ = file;
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
    Help("which of the dump's TensorFlow graphs is drawn");
    ImGui::SameLine();
  }
  if (BesideOf(context).file >= 0) {
    ImGui::Checkbox("Both", &shows_beside_);
    Help("the graph before and after, or of both dumps, side by side");
    ImGui::SameLine();
  }
  ImGui::SetNextItemWidth(160 * frame.scale);
  if (wants_find_) ImGui::SetKeyboardFocusHere();
  wants_find_ = false;
  ImGui::InputTextWithHint("##find", "find in graphs", &sought_);
  Help("names, operations and clusters; all matches are highlighted\nCtrl+F");
  if (sought_.empty()) return;
  size_t found = 0;
  for (size_t k = 0; k < sides_.size(); ++k) found += canvases_[k].found();
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  Label(frame.theme, Color::kAccent, fmt::format("{} found", found));
}

void TensorFlowGraphs::DrawHead(Frame& frame, const graph::TensorFlowPane& pane) const {
  ImGui::PushFont(frame.strong, 0);
  FittedLabel(pane.heading);
  ImGui::PopFont();
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  const std::string sentence =
      pane.sentence.empty() ? "no value crosses a cluster boundary" : pane.sentence;
  FittedLabel(sentence + (pane.boxes.is_folded ? ": a click opens one" : ""));
  ImGui::PopStyleColor();
}

// While a scope is being opened the picture stays as it is.
void TensorFlowGraphs::Show(Context& context, size_t which, const Side& side) {
  const OpenScopes& open = OpenIn(side);
  const Pending<TensorFlowDrawing>& made = DrawingOf(context, side.file, side.of_second, open);
  if (!made.ready()) return;
  const std::shared_ptr<const TensorFlowDrawing> drawing = made.value;
  if (shown_side_[which] == side && shown_open_[which] != open)
    DropDrawing(context, side.file, side.of_second, shown_open_[which]);
  shown_side_[which] = side;
  shown_open_[which] = open;
  canvases_[which].Show(drawing);
}

void TensorFlowGraphs::DrawSide(Frame& frame, size_t which, const Side& side) {
  if (shown_side_[which] != side) {
    const auto& made = DrawingOf(frame.context, side.file, side.of_second, OpenIn(side));
    ShowPending(frame, made, "the TensorFlow graph");
    return;
  }
  TensorFlowCanvas& canvas = canvases_[which];
  const TensorFlowDrawing* drawing = canvas.drawing();
  DrawHead(frame, drawing->pane);
  const Selection& now = frame.context.navigation.selection();
  const bool is_of_this =
      now.kind == SelectionKind::kGraphNode && now.file == side.file && !side.of_second;
  int32_t selected = is_of_this ? now.node : -1;
  if (now.kind == SelectionKind::kGraphNode && !is_of_this) {
    // The node of that name is what stands for the selection here.
    const TensorFlowDrawing* other = canvases_[1 - which].drawing();
    const bool is_known = sides_.size() > 1 && other != nullptr && now.node >= 0 &&
                          static_cast<size_t>(now.node) < other->graph->nodes.size() &&
                          other->graph->file == now.file;
    if (is_known) {
      const auto& nodes = drawing->graph->nodes;
      const std::string& name = other->graph->nodes[static_cast<size_t>(now.node)].name;
      const auto found = std::ranges::find(nodes, name, &dump::TensorFlowNode::name);
      if (found != nodes.end()) selected = static_cast<int32_t>(found - nodes.begin());
    }
  }
  canvas.Select(selected);
  canvas.Find(sought_);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const CanvasEvents events = canvas.Draw(frame, "##canvas", room.x, room.y, minimap_);
  if (events.clicked.valid() || events.moved) active_ = which;
  if (!events.clicked.valid()) return;
  Choose(frame, which, events.clicked);
  Toggle(which, events.clicked);
}

// A scope is opened in place, and closed again.
void TensorFlowGraphs::Toggle(size_t which, graph::NodeId id) {
  const TensorFlowDrawing* drawing = canvases_[which].drawing();
  const graph::TensorFlowBox* box =
      drawing == nullptr || !id.valid() ? nullptr : drawing->BoxOf(id);
  if (box == nullptr || box->nodes == 1) return;
  OpenScopes& open = OpenIn(sides_[which]);
  if (open != shown_open_[which]) return;  // the last one is still on its way
  if (open.erase(box->scope()) == 0) open.insert(box->scope());
  canvases_[which].NoteToggled(box->scope());
}

bool TensorFlowGraphs::CloseAround(size_t which) {
  const TensorFlowCanvas& canvas = canvases_[which];
  if (!canvas.selected().valid()) return false;
  const graph::NodeId frame = canvas.drawing()->shown[canvas.selected().index].frame;
  if (!frame.valid() || canvas.drawing()->BoxOf(frame) == nullptr) return false;
  Toggle(which, frame);
  return true;
}

// A cluster or a scope is no node: its first one stands for it.
void TensorFlowGraphs::Choose(Frame& frame, size_t which, graph::NodeId id) {
  const TensorFlowDrawing* drawing = canvases_[which].drawing();
  if (!id.valid() || drawing == nullptr) return;
  const graph::TensorFlowBox* box = drawing->BoxOf(id);
  if (box == nullptr) return;
  int32_t node = box->members.front();
  Side side = sides_[which];
  if (side.of_second) {
    // What both dumps have is selected in the one that is open.
    const TensorFlowDrawing* own = canvases_[1 - which].drawing();
    if (own == nullptr) return;
    const std::string& name = drawing->graph->nodes[static_cast<size_t>(node)].name;
    const auto found = std::ranges::find(own->graph->nodes, name, &dump::TensorFlowNode::name);
    if (found == own->graph->nodes.end()) return;
    node = static_cast<int32_t>(found - own->graph->nodes.begin());
    side = sides_[1 - which];
  }
  frame.context.navigation.Select(Selection::OfGraphNode(side.file, node));
}

bool TensorFlowGraphs::Run(Command command, Frame& frame) {
  if (sides_.empty() || canvases_[active_].drawing() == nullptr) return false;
  TensorFlowCanvas& canvas = canvases_[active_];
  switch (command) {
    case Command::kGraphUp:
    case Command::kGraphDown:
    case Command::kGraphLeft:
    case Command::kGraphRight:
      Choose(frame, active_, canvas.Step(command));
      return true;
    case Command::kGraphToggle:
      Toggle(active_, canvas.selected());
      return true;
    case Command::kGraphCloseOuter:
      return CloseAround(active_);
    case Command::kGraphCloseAll:
      for (const Side& side : sides_) OpenIn(side).clear();
      return true;
    case Command::kFit:
      if (const graph::Box* box = canvas.selected().valid()
                                      ? canvas.drawing()->picture.Find(canvas.selected())
                                      : nullptr)
        canvas.canvas().Center(*box);
      return true;
    case Command::kFitAll:
      for (size_t k = 0; k < sides_.size(); ++k) {
        if (canvases_[k].drawing() != nullptr) canvases_[k].Fit();
      }
      return true;
    case Command::kGraphZoomIn:
      canvas.canvas().Zoom(1.25f);
      return true;
    case Command::kGraphZoomOut:
      canvas.canvas().Zoom(0.8f);
      return true;
    case Command::kGraphReadable:
      canvas.canvas().zoom = 1;
      return true;
    case Command::kGraphMinimap:
      minimap_ = !minimap_;
      return true;
    case Command::kFind:
      wants_find_ = true;
      return true;
    default:
      return false;
  }
}

Result<std::string> TensorFlowGraphs::Export(ExportFormat format) const {
  std::vector<graph::TensorFlowPane> panes;
  std::string csv = "graph,node,operation,device,cluster,reason\n";
  for (size_t k = 0; k < sides_.size(); ++k) {
    const TensorFlowDrawing* drawing = canvases_[k].drawing();
    if (drawing == nullptr) continue;
    panes.push_back(drawing->pane);
    for (const graph::TensorFlowItem& item : drawing->pane.boxes.items) {
      for (const graph::TensorFlowBox& box : item.boxes) {
        for (const int32_t n : box.members) {
          const dump::TensorFlowNode& node = drawing->graph->nodes[static_cast<size_t>(n)];
          csv += fmt::format("{},{},{},{},{},{}\n", k, CsvCell(node.name), CsvCell(node.op),
                             CsvCell(node.device), CsvCell(node.cluster), CsvCell(box.reason));
        }
      }
    }
  }
  if (panes.empty()) return InputError("the graph is not drawn yet");
  return format == ExportFormat::kCsv ? csv : graph::ToSvg(panes);
}

std::string TensorFlowGraphs::HighlightedItems() const {
  std::string out;
  for (size_t k = 0; k < sides_.size(); ++k) {
    const TensorFlowDrawing* drawing = canvases_[k].drawing();
    if (drawing == nullptr) continue;
    out += drawing->pane.heading + "\n";
    if (canvases_[k].selected().valid())
      out += "selected: " + drawing->BoxOf(canvases_[k].selected())->title + "\n";
    if (!sought_.empty()) out += fmt::format("found {}\n", canvases_[k].found());
  }
  return out;
}

}  // namespace hloscope::viewer
