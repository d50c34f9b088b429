// Before and after: the graphs of two stages side by side, out of one layout.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <sstream>

#include "core/base/counted.h"
#include "core/graph/count_text.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/heat.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/heat_list.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/graph/stage_heat.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/views/change_canvas.h"
#include "viewer/views/change_head.h"
#include "viewer/views/change_looks.h"
#include "viewer/views/change_words.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;
using graph::Side;

constexpr int32_t kWidest = 64;

// Which two stages, and what counts as a change.
struct ChangeGraphKey {
  using Value = graph::ChangeGraph;
  int32_t module_before = -1, before = -1, module = -1, after = -1;
  uint64_t second = 0;
  analysis::Annotations annotations = analysis::Annotations::kCounted;
  auto operator<=>(const ChangeGraphKey&) const = default;
};

// Numbers are given once: a drawing depends on the one before it too, whose order it keeps.
struct ChangeDrawingKey {
  using Value = ChangeDrawing;
  uint64_t number = 0;
  auto operator<=>(const ChangeDrawingKey&) const = default;
};

uint64_t NextDrawingNumber() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

class PassGraphView : public View {
 public:
  void Draw(Frame& frame) override {
    const std::optional<StagePair> pair = DrawChangeHead(frame);
    if (!pair) return;
    pair_ = *pair;
    if (!Ready(frame)) return;
    Follow(frame);
    FindHeat(frame);
    DrawToolbar(frame);
    if (!pair_.changes->counts.any() && !part_.whole) {
      Sentence(frame, pair_.second == 0
                          ? "This pass changed nothing. Whole graph (N) shows the stage."
                          : "Nothing differs. Whole graph (N) shows the stage.");
      return;
    }
    DrawPictures(frame);
    if (legend_shown_)
      DrawLegend(frame, ChangeLegend(frame.theme, pair_.changes->counts, canvas_.heat()));
  }

  bool Run(Command command, Frame& frame) override {
    if (canvas_.drawing() == nullptr || canvas_.drawing()->graph != graph_) return false;
    switch (command) {
      case Command::kGraphUp:
      case Command::kGraphDown:
      case Command::kGraphLeft:
      case Command::kGraphRight:
        Choose(frame.context, active_, canvas_.Step(active_, command));
        return true;
      case Command::kFindNext:
      case Command::kFindPrevious:
        StepChange(frame.context, command == Command::kFindNext ? 1 : -1);
        return true;
      case Command::kGraphToggle:
        Toggle(canvas_.selected());
        return true;
      case Command::kGraphAround:
        part_.whole = !part_.whole;
        canvas_.FitChanges();
        return true;
      case Command::kGraphWider:
        part_.radius = std::min(part_.radius + 1, kWidest);
        return true;
      case Command::kGraphMinimap:
        minimap_ = !minimap_;
        return true;
      default:
        return canvas_.Run(command);
    }
  }

  std::string State() const override { return minimap_ ? "1" : "0"; }
  void SetState(std::string_view state) override { minimap_ = state != "0"; }

  // Camera and what is drawn of these two stages.
  std::string Arrangement() const override {
    if (canvas_.drawing() == nullptr) return {};
    // A camera that is fitted anyway adds no step of undo when the picture is there.
    const auto [x, y, zoom] = canvas_.is_fitted() ? std::array<float, 3>() : canvas_.camera();
    return fmt::format("{} {} {} {} {} {} {} {}", pair_number_, x, y, zoom, part_.whole ? 1 : 0,
                       part_.first, part_.radius, fmt::join(part_.toggled, " "));
  }
  void SetArrangement(std::string_view arrangement) override {
    std::istringstream in{std::string(arrangement)};
    uint64_t pair = 0;
    std::array<float, 3> camera = {};
    int whole = 0;
    graph::ChangePart part;
    in >> pair >> camera[0] >> camera[1] >> camera[2] >> whole >> part.first >> part.radius;
    if (!in || pair != pair_number_) return;
    part.whole = whole == 1;
    for (uint32_t node = 0; in >> node;) part.toggled.push_back(node);
    const bool is_fitted = camera[2] == 0;
    if (is_fitted) canvas_.FitChanges();
    if (part == part_ && !is_fitted) return canvas_.SetCamera(camera);
    part_ = std::move(part);
    if (!is_fitted) wanted_camera_ = camera;
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const ChangeDrawing* drawing = canvas_.drawing();
    if (format != ExportFormat::kCsv || drawing == nullptr) return View::Export(format, context);
    return ToCsv(*drawing);
  }

  std::string HighlightedItems(Context& /*context*/) const override {
    const ChangeDrawing* drawing = canvas_.drawing();
    if (drawing == nullptr) return {};
    std::string out = fmt::format("{} boxes before, {} after, {} changes, {} hidden{}\n",
                                  drawing->picture.of[0].boxes.size(),
                                  drawing->picture.of[1].boxes.size(), drawing->picture.changes,
                                  drawing->picture.hidden, part_.whole ? ", whole" : "");
    for (Side side : graph::kSides) {
      if (const std::string name = NameIn(*drawing, side, canvas_.selected()); !name.empty())
        out += fmt::format("{}: {}\n", side == Side::kBefore ? "before" : "after", name);
    }
    if (at_ > 0) out += fmt::format("change {} of {}\n", at_, drawing->graph->changes().size());
    return out + fmt::format("zoom {:.3f}\n", canvas_.camera()[2]);
  }

  // For tests: where things stand.
  const ChangeCanvas& canvas() const { return canvas_; }

 private:
  // --- What is drawn, in the background
  bool Ready(Frame& frame) {
    Context& context = frame.context;
    const ChangeGraphKey key{pair_.module_before, pair_.before, pair_.module,
                             pair_.after,         pair_.second, AnnotationsIn(context)};
    if (key != key_ || generation_ != context.document.generation()) {
      context.cache.Drop(key_);
      key_ = key;
      generation_ = context.document.generation();
      ++pair_number_;
      // What was asked for holds for the next pass too, but for single frames.
      part_.first = 0;
      part_.toggled.clear();
      followed_ = UINT64_MAX;
      graph_ = nullptr;
    }
    const Pending<graph::ChangeGraph>& made = context.cache.Get(
        key_, "comparing graphs", [pair = pair_](TaskControl&) -> Computed<graph::ChangeGraph> {
          return std::make_shared<const graph::ChangeGraph>(pair.text_before, pair.text_after,
                                                            *pair.changes);
        });
    if (!ShowPending(frame, made, "the graphs")) return false;
    graph_ = made.value;
    BringIntoPart(context);
    return LaidOut(frame);
  }

  // Of very many changes those around the selected one are drawn.
  void BringIntoPart(Context& context) {
    const std::span<const NodeId> changes = graph_->changes();
    if (changes.size() <= graph::kMaxChanges || part_.whole) return;
    const NodeId selected = graph_->Counted(Selected(context));
    const auto at = std::ranges::lower_bound(changes, selected);
    if (!selected.valid() || at == changes.end() || *at != selected) return;
    const auto index = static_cast<uint32_t>(at - changes.begin());
    part_.first = index / graph::kMaxChanges * graph::kMaxChanges;
  }

  bool LaidOut(Frame& frame) {
    Context& context = frame.context;
    if (wanted_graph_ != graph_ || wanted_part_ != part_) {
      context.cache.Drop(ChangeDrawingKey{number_});
      number_ = NextDrawingNumber();
      wanted_graph_ = graph_;
      wanted_part_ = part_;
    }
    const ChangeDrawing* shown = canvas_.drawing();
    const Pending<ChangeDrawing>& made = context.cache.Get(
        ChangeDrawingKey{number_}, "laying out the graphs",
        [of = graph_, part = part_,
         anchors = shown == nullptr ? graph::Anchors() : shown->picture.anchors](
            TaskControl&) -> Computed<ChangeDrawing> {
          return std::make_shared<const ChangeDrawing>(of, graph::LayOut(*of, part, anchors));
        });
    if (!ShowPending(frame, made, "the graphs")) return false;
    if (made.value.get() == canvas_.drawing()) return true;
    canvas_.Show(made.value);
    followed_ = UINT64_MAX;
    if (wanted_camera_) canvas_.SetCamera(*wanted_camera_);
    wanted_camera_.reset();
    return true;
  }

  // Of two stages of the module in view; of a second dump nothing is measured.
  void FindHeat(Frame& frame) {
    ChangeCanvas::Heat paint;
    if (pair_.second == 0 && pair_.module_before == pair_.module) {
      paint[0] = heat_[0].Find(frame.context, pair_.module, pair_.before, pair_.text_before);
      paint[1] = heat_[1].Find(frame.context, pair_.module, pair_.after, pair_.text_after);
    }
    canvas_.SetHeat(paint);
  }

  // --- The one selection of all views
  NodeId Selected(Context& context) const {
    for (Side side : {Side::kAfter, Side::kBefore}) {
      const int32_t stage = pair_.stage_in_view(side == Side::kAfter);
      if (stage < 0) continue;
      const Selection& now = context.navigation.selection();
      // What was selected in one of the two is meant, not what stands for it in the other.
      const bool is_own = now.kind == SelectionKind::kInstruction && now.module == pair_.module &&
                          now.stage == pair_.before && side == Side::kAfter;
      const hlo::InstructionId id =
          is_own ? hlo::InstructionId() : context.navigation.InstructionIn(stage);
      if (const NodeId node = graph_->NodeOf(side, id); node.valid()) return node;
    }
    return NodeId();
  }

  void Follow(Frame& frame) {
    Navigation& navigation = frame.context.navigation;
    const uint64_t version =
        navigation.version() * 2 + (navigation.counterparts_complete() ? 1 : 0);
    if (version == followed_) return;
    followed_ = version;
    const NodeId selected = Selected(frame.context);
    std::unordered_set<uint32_t> highlighted;
    for (const StageCounterpart& c : navigation.counterparts().stages) {
      for (Side side : graph::kSides) {
        if (c.stage != pair_.stage_in_view(side == Side::kAfter)) continue;
        if (const NodeId node = graph_->NodeOf(side, c.instruction); node.valid())
          highlighted.insert(node.index);
      }
    }
    canvas_.Highlight(std::move(highlighted), selected);
    const NodeId counted = graph_->Counted(selected);
    const auto at = std::ranges::lower_bound(graph_->changes(), counted);
    const bool is_change = counted.valid() && at != graph_->changes().end() && *at == counted;
    at_ = is_change ? static_cast<size_t>(at - graph_->changes().begin()) + 1 : 0;
    // What was selected before this view was looked at does not move the camera.
    if (revealed_ && *revealed_ != navigation.version()) canvas_.Reveal(selected);
    revealed_ = navigation.version();
  }

  void Choose(Context& context, Side side, NodeId id) {
    if (!id.valid() || graph_ == nullptr) return;
    const graph::ChangeNode& node = (*graph_)[id];
    // What both dumps have is selected in the one that is open.
    if (pair_.second != 0) side = Side::kBefore;
    // A frame that stands for something else is that of the other side.
    if (!node[side].valid()) side = graph::OtherSide(side);
    SelectInPair(context, pair_, side == Side::kAfter, node[side]);
  }

  // The next change in program order; of an unchanged instruction, the next after it.
  void StepChange(Context& context, int by) {
    if (graph_ == nullptr || graph_->changes().empty()) return;
    const std::span<const NodeId> changes = graph_->changes();
    const NodeId selected = graph_->Counted(Selected(context));
    const NodeId id = NextChange(changes, selected, by);
    active_ = (*graph_)[id][Side::kAfter].valid() ? Side::kAfter : Side::kBefore;
    Choose(context, active_, id);
  }

  void Toggle(NodeId id) {
    if (!id.valid() || graph_ == nullptr || graph_->children(id).empty()) return;
    const auto at = std::ranges::lower_bound(part_.toggled, id.index);
    if (at != part_.toggled.end() && *at == id.index) {
      part_.toggled.erase(at);
    } else {
      part_.toggled.insert(at, id.index);
    }
  }

  // --- Drawing
  void DrawToolbar(Frame& frame) {
    const size_t count = graph_->changes().size();
    ImGui::BeginDisabled(count == 0);
    if (ImGui::Button("‹")) StepChange(frame.context, -1);
    ImGui::SetItemTooltip("previous change in program order (Shift+F3)");
    ImGui::SameLine(0, 4 * frame.scale);
    if (ImGui::Button("›")) StepChange(frame.context, 1);
    ImGui::SetItemTooltip("next change in program order (F3)");
    ImGui::EndDisabled();
    const std::string where =
        at_ > 0 ? fmt::format("change {} of {}", CountText(static_cast<int64_t>(at_)),
                              CountText(static_cast<int64_t>(count)))
                : graph::CountedText(count, "change");
    SameLineIfRoom(ImGui::CalcTextSize(where.c_str()).x);
    ImGui::AlignTextToFramePadding();
    Label(where);
    const char* const other = part_.whole ? "Changes only" : "Whole graph";
    SameLineIfRoom(ButtonWidth(other));
    if (ImGui::Button(other)) Run(Command::kGraphAround, frame);
    ImGui::SetItemTooltip(part_.whole ? "show only changes and their neighbourhood (N)"
                                      : "show all instructions of both stages (N)");
    if (!part_.whole) {
      SameLineIfRoom(ButtonWidth("Wider"));
      if (ImGui::Button("Wider")) Run(Command::kGraphWider, frame);
      ImGui::SetItemTooltip("widen the neighbourhood by one edge (Shift+N); now %d", part_.radius);
    }
    DrawIgnoreMetadata(frame);
    SameLineIfRoom(220 * frame.scale);
    DrawHeatMenu(frame, 220 * frame.scale);
    DrawWhatIsLeftOut(frame, canvas_.drawing()->picture, graph_->changes().size());
  }

  void DrawPictures(Frame& frame) {
    const float legend =
        LegendHeight(frame, ChangeLegend(frame.theme, pair_.changes->counts, canvas_.heat()));
    legend_shown_ = legend > 0;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float gap = 6 * frame.scale, width = std::floor((room.x - gap) / 2);
    for (Side side : graph::kSides) {
      const bool is_before = side == Side::kBefore;
      if (!is_before) ImGui::SameLine(0, gap);
      ImGui::BeginChild(is_before ? "##left" : "##right",
                        {width, room.y - legend - 2 * frame.scale}, ImGuiChildFlags_None,
                        ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
      DrawSide(frame, side);
      ImGui::EndChild();
    }
    canvas_.EndFrame();
  }

  void DrawSide(Frame& frame, Side side) {
    const bool is_before = side == Side::kBefore;
    const bool roomy = ImGui::GetContentRegionAvail().y > kMinHeightWithLegend / 2 * frame.scale;
    const hlo::Module& text = graph_->module(side);
    if (roomy)
      FittedLabel(fmt::format("{}: {}",
                              pair_.second == 0 ? (is_before ? "Before" : "After")
                                                : (is_before ? "First dump" : "Second dump"),
                              CountText(std::ssize(text.instructions())) + " instructions"));
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const CanvasEvents events =
        canvas_.Draw(frame, side, room.x, room.y, minimap_ && roomy && !is_before);
    if (events.clicked.valid() || events.jump.valid()) {
      active_ = side;
      Choose(frame.context, side, events.clicked.valid() ? events.clicked : events.jump);
    }
    if (events.opened.valid()) Toggle(events.opened);
  }

  StagePair pair_;
  ChangeGraphKey key_;
  uint64_t generation_ = 0, pair_number_ = 0, number_ = 0;
  std::shared_ptr<const graph::ChangeGraph> graph_, wanted_graph_;
  graph::ChangePart part_, wanted_part_;
  std::optional<std::array<float, 3>> wanted_camera_;
  ChangeCanvas canvas_;
  std::array<StageHeat, 2> heat_;  // before and after
  Side active_ = Side::kAfter;
  uint64_t followed_ = UINT64_MAX;    // version of the selection that is shown
  std::optional<uint64_t> revealed_;  // … and that the camera went to
  size_t at_ = 0;                     // the selected change, counted from 1; 0: it is none
  bool minimap_ = true, legend_shown_ = true;
};

}  // namespace

std::unique_ptr<View> MakePassGraphView() { return std::make_unique<PassGraphView>(); }

}  // namespace hloscope::viewer
