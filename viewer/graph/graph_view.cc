// What of a module is drawn: its rows, or its pictures side by side with the ribbon over them.
#include "viewer/graph/graph_view.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/graph/count_text.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/heat_list.h"
#include "viewer/graph/text_in_room.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;

constexpr float kMinTitle = 110;  // of a picture, in logical pixels

}  // namespace

void GraphView::Draw(Frame& frame) {
  if (!ShowDump(frame)) return;
  shows_tensorflow_ = tensorflow_.IsShown(frame.context);
  if (shows_tensorflow_) return tensorflow_.Draw(frame);
  const int32_t module = frame.context.navigation.module();
  if (module < 0 || frame.context.document.dump()->modules().empty()) {
    Sentence(frame, "no module in this dump; Home lists its files");
    return;
  }
  const int32_t stage = ShownStage(frame.context, module);
  if (frame.context.document.dump()->modules()[static_cast<size_t>(module)].stages.empty()) {
    Sentence(frame, "no stage of this module was dumped as HLO");
    return;
  }
  if (module != module_ || stage != stage_ || generation_ != frame.context.document.generation()) {
    ShowWhole();
    path_from_ = {};
  }
  generation_ = frame.context.document.generation();
  module_ = module;
  stage_ = stage;
  DrawToolbar(frame);
  FindKernels(frame);
  FindHeat(frame);
  LookFirst(frame);
  shown_kernel_ = KernelInView(frame);
  DrawHeadline(frame);
  const float legend = LegendHeight(frame, Legend());
  legend_shown_ = legend > 0;
  list_width_ = ListWidth(frame);
  if (!ReadyToDraw(frame)) return;
  const ImVec2 corner = ImGui::GetCursorPos(), room = ImGui::GetContentRegionAvail();
  if (ShowsRows()) {
    DrawRows(frame, {room.x - list_width_, room.y - legend});
  } else {
    DrawPanes(frame, legend);
    DrawRibbonOver(frame);
  }
  if (list_width_ > 0) {
    const ImVec2 below = ImGui::GetCursorPos();
    ImGui::SetCursorPos({corner.x + room.x - list_width_ + 8 * frame.scale, corner.y});
    ImGui::BeginChild("##hottest", {list_width_ - 8 * frame.scale, room.y - legend});
    DrawHeatList(frame, *heat_list_);
    ImGui::EndChild();
    ImGui::SetCursorPos(below);
  }
  if (!legend_shown_) return;
  DrawLegend(frame, Legend());
  if (!Legend().empty()) DrawMemory(frame);
}

// What was compiled, whichever stage the text shows: what ran is a property of the module.
// Without it the last that was dumped.
int32_t GraphView::ShownStage(const Context& context, int32_t module) {
  const dump::DumpModel& dump = *context.document.dump();
  const int32_t final_stage = dump.FinalStage(module);
  if (final_stage >= 0) return final_stage;
  return static_cast<int32_t>(dump.modules()[static_cast<size_t>(module)].stages.size()) - 1;
}

// What became which kernel, as far as it is found.
void GraphView::FindKernels(Frame& frame) {
  kernels_ = nullptr;
  overview_ = nullptr;
  sources_ = nullptr;
  if (fusions_.data() == nullptr || fusions_.module() != module_ || fusions_.stage() != stage_ ||
      fusions_.generation() != generation_)
    return;
  const std::shared_ptr<const GraphData> data = fusions_.shared_data();
  kernels_ = data->kernels;
  std::shared_ptr<const hlo::Module> first = data->module;
  if (HasSource()) {
    const Pending<hlo::Module>& read = frame.context.data.Module(module_, 0);
    if (read.waiting()) return;
    if (read.ready()) first = read.value;
  }
  overview_ = OverviewOf(frame.context, module_, stage_, data, first);
  if (overview_ != nullptr && HasSource() && first != data->module)
    sources_ = SourceKernelsOf(frame.context, module_, stage_, first, data->module, kernels_);
}

// Null too where nothing is hot: then the list says why.
void GraphView::FindHeat(Frame& frame) {
  heat_list_ = HeatInView(frame.context);
  heat_ = heat_list_ != nullptr && heat_list_->missing.empty() ? heat_list_ : nullptr;
}

KernelPaint GraphView::PaintOf(size_t which) const {
  if (which != kSource) return {kernels_, nullptr};
  return sources_ == nullptr ? KernelPaint() : KernelPaint{kernels_, sources_};
}

// On opening a module in which nothing is selected: the most informative kernel.
void GraphView::LookFirst(Frame& frame) {
  std::set<int32_t>& looked_at = frame.context.marks.Of<LookedAt>().modules;
  if (overview_ == nullptr || !overview_->telling.valid() || !looked_at.insert(module_).second)
    return;
  if (frame.context.navigation.selection().kind != SelectionKind::kNothing) return;
  rows_.StayOnce();
  frame.context.navigation.Suggest(Selection::OfInstruction(module_, stage_, overview_->telling));
}

// The kernel under the pointer, else that of the selection.
uint32_t GraphView::KernelInView(Frame& frame) const {
  if (kernels_ == nullptr) return graph::kNoKernel;
  if (hovered_kernel_ != graph::kNoKernel) return hovered_kernel_;
  const hlo::InstructionId here = frame.context.navigation.InstructionIn(stage_);
  if (const uint32_t kernel = PaintOf(kFusions).Of(here); kernel != graph::kNoKernel) return kernel;
  return PaintOf(kSource).Of(frame.context.navigation.InstructionIn(0));
}

// From what you wrote through the kernel to its lane, over all three pictures.
void GraphView::DrawRibbonOver(Frame& frame) {
  if (shown_kernel_ == graph::kNoKernel || kernels_ == nullptr ||
      shown_kernel_ >= kernels_->map.kernels.size())
    return;
  const auto shown = [&](size_t which) { return look_.IsShown(which, HasSource()); };
  const RibbonStep steps[] = {
      shown(kSource) ? source_.AreasOf(shown_kernel_, false) : RibbonStep(),
      shown(kFusions) ? fusions_.AreasOf(shown_kernel_, false) : RibbonStep(),
      shown(kDevices) ? fusions_.AreasOf(shown_kernel_, true) : RibbonStep()};
  const uint8_t color = kernels_->map.kernels[shown_kernel_].color;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 cursor = ImGui::GetCursorPos();
  // Above the pictures, which are windows inside this one, below menus and tooltips.
  ImGui::BeginChild(
      "##ribbon", {0.01f, 0.01f}, ImGuiChildFlags_None,
      ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollbar);
  ImDrawList& above = *ImGui::GetWindowDrawList();
  above.PushClipRect(list.GetClipRectMin(), list.GetClipRectMax());
  DrawRibbon(above, steps, ColorOfKernel(frame.theme, color), frame.scale);
  above.PopClipRect();
  ImGui::EndChild();
  ImGui::SetCursorPos(cursor);
}

// --- Rows
bool GraphView::IsLarge() const {
  return (HasSource() && source_.data() != nullptr && source_.data()->is_large()) ||
         (fusions_.data() != nullptr && fusions_.data()->is_large());
}

bool GraphView::ShowsRows() const {
  return look_.contents && part_.kind == GraphPart::Kind::kWhole &&
         source_part_.kind == GraphPart::Kind::kWhole && IsLarge();
}

// Which of the two is shown depends on how large the graphs are.
bool GraphView::ReadyToDraw(Frame& frame) {
  const float width = ImGui::GetContentRegionAvail().x - list_width_;
  float total = 0;
  for (size_t k : look_.ShownNow(HasSource())) total += look_.share[k];
  // Kernels cross the scopes of the program: they are drawn around what was written alone.
  return fusions_.Ready(frame, module_, stage_, part_, width * look_.share[kFusions] / total,
                        HasSource() ? Frames::kNone : Frames::kScopes) &&
         (!HasSource() || source_.Ready(frame, module_, 0, source_part_,
                                        width * look_.share[kSource] / total, Frames::kScopes));
}

void GraphView::Prepare(Frame& frame, GraphPane& pane, size_t which) {
  pane.Paint(frame, look_.mode, PaintOf(which), heat_);
  pane.Follow(frame);
  pane.HighlightKernel(shown_kernel_);
  pane.Find(frame, sought_);
}

void GraphView::DrawRows(Frame& frame, ImVec2 room) {
  Prepare(frame, fusions_, kFusions);
  fusions_.PlaceLanes();  // for exports
  if (HasSource()) Prepare(frame, source_, kSource);
  std::shared_ptr<const Contents> contents;
  if (overview_ != nullptr && overview_->compiled && (!HasSource() || sources_ != nullptr))
    contents = ContentsOf(frame.context, module_, stage_, Program().data()->module, kernels_,
                          HasSource() ? sources_ : nullptr);
  const KernelPaint paint = PaintOf(HasSource() ? kSource : kFusions);
  const ContentTitles titles{
      HasSource() ? TitleOf(frame.context, kSource) : TitleOf(frame.context, kFusions),
      HasSource() ? TitleOf(frame.context, kFusions) : "Kernels"};
  Act(frame, rows_.Draw(frame, Program(), contents, paint, shown_kernel_, titles, room));
}

// Of the list of the hottest; 0 where the pictures need the room.
float GraphView::ListWidth(const Frame& frame) const {
  constexpr float kMinWidth = 700;
  const bool has_room = ImGui::GetContentRegionAvail().x > kMinWidth * frame.scale;
  return heat_list_ != nullptr && has_room ? kHeatListWidth * frame.scale : 0;
}

void GraphView::DrawPanes(Frame& frame, float legend) {
  const ImVec2 all = ImGui::GetContentRegionAvail();
  const ImVec2 room(all.x - list_width_, all.y);
  const std::vector<size_t> shown = look_.ShownNow(HasSource());
  const float gap = 4 * frame.scale;
  float total = 0;
  for (size_t k : shown) total += look_.share[k];
  moved_.reset();
  hovered_next_ = graph::kNoKernel;
  for (size_t i = 0; i < shown.size(); ++i) {
    const size_t k = shown[i];
    const float width =
        std::floor((room.x - gap * static_cast<float>(shown.size() - 1)) * look_.share[k] / total);
    if (i > 0) {
      ImGui::SameLine(0, 0);
      DrawSplitter(shown[i - 1], k, gap, room.y - legend, room.x / total);
      ImGui::SameLine(0, 0);
    }
    ImGui::BeginChild(kGraphTitles[k], {width, room.y - legend - 2 * frame.scale},
                      ImGuiChildFlags_None,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    DrawPane(frame, k);
    ImGui::EndChild();
  }
  hovered_kernel_ = hovered_next_;
  if (look_.linked && moved_) LinkCameras();
  moved_.reset();
}

void GraphView::DrawSplitter(size_t left, size_t right, float gap, float height, float pixels) {
  ImGui::PushID(static_cast<int>(right));
  ImGui::InvisibleButton("##splitter", {gap, height});
  if (ImGui::IsItemHovered() || ImGui::IsItemActive())
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  if (ImGui::IsItemActive()) {
    const float by = ImGui::GetIO().MouseDelta.x / pixels;
    if (look_.share[left] + by > 0.15f && look_.share[right] - by > 0.15f) {
      look_.share[left] += by;
      look_.share[right] -= by;
    }
  }
  ImGui::PopID();
}

void GraphView::DrawPane(Frame& frame, size_t which) {
  // Where there is little height it goes to the picture.
  const bool roomy = ImGui::GetContentRegionAvail().y > kMinHeightWithLegend / 2 * frame.scale;
  GraphPane& pane = which == kSource ? source_ : fusions_;
  Prepare(frame, pane, which);
  if (roomy) DrawTitle(frame, pane, which);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (which == kDevices && !devices_linked_) {
    devices_linked_ = true;
    LinkLanes();
  }
  CanvasEvents events;
  if (which == kDevices) {
    if (pane.fits()) LinkLanes();
    events = pane.DrawLanes(frame, "##devices", room.x, room.y, LaneContents(frame.context));
  } else {
    events = pane.Draw(frame, which == kSource ? "##source" : "##fusions", room.x, room.y,
                       look_.minimap && roomy);
  }
  if (events.hovered.valid()) hovered_next_ = pane.KernelOf(events.hovered);
  if (which == kFusions && first_frame_of_ != pane.data()) {
    first_frame_of_ = pane.data();
    LinkLanes();
  }
  if (events.moved) moved_ = which;
  if (events.clicked.valid() || events.moved) active_ = which == kSource ? kSource : kFusions;
  if (events.clicked.valid()) Choose(frame, pane, events.clicked, false);
  if (events.jump.valid()) Choose(frame, pane, events.jump, true);
  if (events.opened.valid()) pane.Toggle(events.opened);
}

// What is in the lanes takes; null while that is counted.
std::shared_ptr<const Contents> GraphView::LaneContents(Context& context) const {
  if (overview_ == nullptr || !overview_->compiled) return nullptr;
  return ContentsOf(context, module_, stage_, fusions_.data()->module, kernels_, nullptr);
}

// What the picture is, what is in it, and what a search found there.
void GraphView::DrawTitle(Frame& frame, GraphPane& pane, size_t which) const {
  std::string counts;
  if (which != kDevices) {
    const auto& boxes = pane.picture().boxes;
    const auto open = std::ranges::count(boxes, true, &Box::open);
    counts = graph::CountedText(boxes.size(), "box", "boxes");
    if (open > 0) counts += fmt::format(", {} open", open);
  }
  const std::string found =
      which == kDevices || sought_.empty() ? std::string() : fmt::format("{} found", pane.found());
  const auto width = [&](const std::string& text) {
    return text.empty() ? 0 : ImGui::CalcTextSize(text.c_str()).x + 10 * frame.scale;
  };
  // What was found is said in any case, how many boxes there are where the title has room.
  float room = ImGui::GetContentRegionAvail().x - 6 * frame.scale - width(found);
  if (room - width(counts) < kMinTitle * frame.scale) counts.clear();
  room -= width(counts);
  const ImVec2 corner = ImGui::GetCursorPos();
  const std::string title = TitleOf(frame.context, which);
  const std::string shown = FitEnd(frame.font, ImGui::GetFontSize(), title, room);
  ImGui::TextUnformatted(shown.c_str());
  WholeIfCut(title, shown);
  float x = corner.x + room;
  for (const auto& [text, color] :
       {std::pair(counts, Color::kTextSecondary), std::pair(found, Color::kAccent)}) {
    if (text.empty()) continue;
    ImGui::SetCursorPos({x + 10 * frame.scale, corner.y});
    Label(frame.theme, color, text);
    x += width(text);
  }
}

const std::vector<LegendEntry>& GraphView::Legend() const {
  if (ShowsRows()) return rows_.legend();
  return fusions_.legend().empty() ? source_.legend() : fusions_.legend();
}

std::unique_ptr<View> MakeGraphView() { return std::make_unique<GraphView>(); }

}  // namespace hloscope::viewer
