// The screen Graph and devices: source graph, fusions and devices side by side, one selection and
// linked cameras.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/debug/align/alignment.h"
#include "core/graph/svg.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/views/graph_legend.h"
#include "viewer/views/graph_lens.h"
#include "viewer/views/graph_links.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::NodeKind;

enum Shown : uint8_t { kSource, kFusions, kDevices, kShownCount };
constexpr std::array<const char*, kShownCount> kTitles = {"Source", "Fusions", "Devices"};

class GraphView : public View {
 public:
  void Draw(Frame& frame) override {
    if (!ShowPending(frame, frame.context.document.dump(), "the dump")) return;
    const int32_t module = frame.context.navigation.module();
    if (module < 0 || frame.context.document.dump()->modules().empty()) {
      Sentence(frame, "no module in this dump; Home lists its files");
      return;
    }
    const int32_t stage = frame.context.navigation.stage();
    if (frame.context.document.dump()->modules()[static_cast<size_t>(module)].stages.empty()) {
      Sentence(frame, "no stage of this module was dumped as HLO");
      return;
    }
    if (module != module_ || stage != stage_ ||
        generation_ != frame.context.document.generation()) {
      part_ = GraphPart();
      path_from_ = {};
    }
    generation_ = frame.context.document.generation();
    module_ = module;
    stage_ = stage;
    DrawToolbar(frame);
    DrawLenses(frame);
    if (legend_shown_) DrawLegend(frame, Legend());
  }

  bool Run(Command command, Frame& frame) override {
    GraphLens& lens = Active();
    if (lens.data() == nullptr) return false;
    switch (command) {
      case Command::kGraphUp:
      case Command::kGraphDown:
      case Command::kGraphLeft:
      case Command::kGraphRight:
        Choose(frame, lens, lens.Step(command), true);
        return true;
      case Command::kGraphToggle:
        lens.Toggle(lens.focus());
        return true;
      case Command::kFit:
        lens.Reveal(frame);
        return true;
      case Command::kFitAll:
        for (GraphLens* each : {&source_, &fusions_}) {
          if (each->data() != nullptr) each->canvas().Fit(each->picture());
        }
        LinkColumns();
        return true;
      default:
        return RunOnPart(command, frame) || RunOnLook(command) || RunOnFolds(command);
    }
  }

  std::string State() const override {
    return fmt::format("{} {} {} {}{}{}", static_cast<int>(mode_), linked_ ? 1 : 0,
                       minimap_ ? 1 : 0, shown_[kSource] ? 1 : 0, shown_[kFusions] ? 1 : 0,
                       shown_[kDevices] ? 1 : 0);
  }
  void SetState(std::string_view state) override {
    if (state.size() != 9) return;
    const int mode = state[0] - '0';
    if (mode < 0 || static_cast<size_t>(mode) >= ColorModeRows().size()) return;
    mode_ = static_cast<ColorMode>(mode);
    linked_ = state[2] == '1';
    minimap_ = state[4] == '1';
    for (size_t k = 0; k < kShownCount; ++k) shown_[k] = state[6 + k] == '1';
    if (std::ranges::count(shown_, true) == 0) shown_[kFusions] = true;
  }

  std::string Arrangement() const override {
    return source_.Arrangement() + "\n" + fusions_.Arrangement();
  }
  void SetArrangement(std::string_view arrangement) override {
    const size_t end = std::min(arrangement.find('\n'), arrangement.size());
    source_.SetArrangement(arrangement.substr(0, end));
    fusions_.SetArrangement(arrangement.substr(std::min(end + 1, arrangement.size())));
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (fusions_.data() == nullptr || format == ExportFormat::kPng)
      return View::Export(format, context);
    if (format == ExportFormat::kCsv) return Boxes();
    std::vector<std::string> pictures;
    for (size_t k : ShownNow()) {
      const GraphLens& lens = k == kSource ? source_ : fusions_;
      if (lens.data() == nullptr) continue;
      graph::SvgOptions options;
      options.placement = &lens.data()->placement;
      options.heading = TitleOf(context, k);
      options.prefix = fmt::format("g{}", k);
      if (k == kDevices) options.picture = &fusions_.columns();
      pictures.push_back(graph::ToSvg(lens.data()->graph, options));
    }
    return graph::SideBySide(pictures);
  }

  std::string Lit(Context& /*context*/) const override {
    std::string out;
    for (const auto& [name, lens] :
         {std::pair("source", &source_), std::pair("fusions", &fusions_)}) {
      if (lens->data() == nullptr || !lens->focus().valid()) continue;
      out += fmt::format("{}: {}\n", name, lens->data()->graph.tree().Title(lens->focus()));
    }
    if (fusions_.data() == nullptr) return out;
    const graph::Picture& picture = fusions_.data()->graph.picture();
    const auto frames = std::ranges::count(picture.boxes, true, &Box::open);
    return out + fmt::format("{} boxes, {} open, colour {}{}\nzoom {:.3f}\n", picture.boxes.size(),
                             frames, ColorModeRows()[static_cast<size_t>(mode_)].id,
                             part_.kind == GraphPart::Kind::kAround  ? ", around"
                             : part_.kind == GraphPart::Kind::kPaths ? ", paths"
                                                                     : "",
                             fusions_.canvas().zoom);
  }

 private:
  // What is drawn, one box a row.
  std::string Boxes() const {
    const GraphData& data = *fusions_.data();
    std::string out = "node,opcode,place,x,y,width,height,open\n";
    for (const Box& box : data.graph.picture().boxes) {
      const hlo::InstructionId id = data.graph.tree()[box.node].instruction;
      const bool is_one = id.valid() && id.index < data.placement.instructions.size();
      out += fmt::format("{},{},{},{},{},{},{},{}\n", CsvCell(data.graph.tree().Title(box.node)),
                         is_one ? hlo::ToString((*data.module)[id].opcode) : "",
                         is_one ? debug::KeyOf(data.placement.instructions[id.index].place) : "",
                         box.x, box.y, box.width, box.height, box.open ? 1 : 0);
    }
    return out;
  }

  bool HasSource() const { return stage_ > 0; }
  bool IsShown(size_t which) const { return shown_[which] && (which != kSource || HasSource()); }
  // The pictures from left to right.
  std::vector<size_t> ShownNow() const {
    std::vector<size_t> shown;
    for (size_t k = 0; k < kShownCount; ++k) {
      if (IsShown(k)) shown.push_back(k);
    }
    if (shown.empty()) shown.push_back(kFusions);
    return shown;
  }
  // The graph that keys act on: one that can be seen. Devices show that of the fusions.
  GraphLens& Active() {
    const bool has_fusions = IsShown(kFusions) || IsShown(kDevices);
    return IsShown(kSource) && (active_ == kSource || !has_fusions) ? source_ : fusions_;
  }

  bool RunOnPart(Command command, Frame& frame) {
    const hlo::InstructionId selected = frame.context.navigation.InstructionIn(stage_);
    switch (command) {
      case Command::kGraphAround:
        if (part_.kind != GraphPart::Kind::kWhole) {
          part_ = GraphPart();
        } else if (std::vector<hlo::InstructionId> all = fusions_.InstructionsAtFocus();
                   !all.empty()) {
          part_ = {.kind = GraphPart::Kind::kAround, .from = std::move(all), .to = {}, .radius = 2};
        }
        return true;
      case Command::kGraphWider:
        if (part_.kind == GraphPart::Kind::kAround) part_.radius = std::min(part_.radius + 1, 64);
        return true;
      case Command::kGraphPaths:
        if (part_.kind != GraphPart::Kind::kWhole) {
          part_ = GraphPart();
        } else if (!selected.valid()) {
          return true;
        } else if (!path_from_.valid() || path_from_ == selected) {
          path_from_ = selected;
        } else {
          part_ = {
              .kind = GraphPart::Kind::kPaths, .from = {path_from_}, .to = selected, .radius = 0};
          path_from_ = {};
        }
        return true;
      default:
        return false;
    }
  }

  bool RunOnLook(Command command) {
    const float factor = command == Command::kGraphZoomIn ? 1.25f : 0.8f;
    switch (command) {
      case Command::kGraphColor:
        mode_ = static_cast<ColorMode>((static_cast<size_t>(mode_) + 1) % ColorModeRows().size());
        return true;
      case Command::kGraphZoomIn:
      case Command::kGraphZoomOut:
        Active().canvas().Zoom(factor);
        break;
      case Command::kGraphReadable:
        Active().canvas().zoom = 1;
        break;
      case Command::kGraphLink:
        linked_ = !linked_;
        return true;
      case Command::kGraphMinimap:
        minimap_ = !minimap_;
        return true;
      case Command::kGraphSource:
      case Command::kGraphFusions:
      case Command::kGraphDevices:
        Show(static_cast<size_t>(command) - static_cast<size_t>(Command::kGraphSource));
        return true;
      default:
        return false;
    }
    moved_ = active_;
    return true;
  }

  bool RunOnFolds(Command command) {
    GraphLens& lens = Active();
    switch (command) {
      case Command::kGraphCloseAll:
        lens.CloseAll();
        return true;
      case Command::kGraphOpenAll:
        lens.OpenAll();
        return true;
      case Command::kGraphCloseOuter: {
        if (!lens.focus().valid()) return true;
        const NodeId outer = lens.data()->graph.tree()[lens.focus()].parent;
        if (outer.valid() && outer != lens.data()->graph.tree().root()) {
          lens.Toggle(outer);
          lens.Focus(outer);
        }
        return true;
      }
      default:
        return false;
    }
  }

  // One of the three always stays.
  void Show(size_t which) {
    shown_[which] = !shown_[which];
    if (std::ranges::count(shown_, true) == 0) shown_[which] = true;
  }

  void Toggle(const char* label, bool& value, const char* help) {
    if (value)
      ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_ButtonActive));
    const bool was = value;
    if (ImGui::Button(label)) value = !value;
    if (was) ImGui::PopStyleColor();
    ImGui::SetItemTooltip("%s", help);
  }

  void DrawToolbar(Frame& frame) {
    for (size_t k = 0; k < kShownCount; ++k) {
      if (k == kSource && !HasSource()) continue;
      if (k > (HasSource() ? kSource : kFusions)) SameLineIfRoom(ButtonWidth(kTitles[k]));
      bool value = shown_[k];
      Toggle(kTitles[k], value, "show or hide this graph (1, 2, 3)");
      if (value != shown_[k]) Show(k);
    }
    SameLineIfRoom(170 * frame.scale);
    ImGui::SetNextItemWidth(170 * frame.scale);
    if (ImGui::BeginCombo("##colour", ColorModeRows()[static_cast<size_t>(mode_)].title.data())) {
      for (const ColorModeRow& row : ColorModeRows()) {
        if (ImGui::Selectable(row.title.data(), row.mode == mode_)) mode_ = row.mode;
      }
      ImGui::EndCombo();
    }
    ImGui::SetItemTooltip("colour nodes by … (C)");
    SameLineIfRoom(ButtonWidth("Link"));
    Toggle("Link", linked_, "link cameras (L)");
    SameLineIfRoom(ButtonWidth("Map"));
    Toggle("Map", minimap_, "minimap (M)");
    SameLineIfRoom(ButtonWidth("Whole graph"));
    if (part_.kind == GraphPart::Kind::kWhole) {
      if (ImGui::Button("Around")) RunOnPart(Command::kGraphAround, frame);
      ImGui::SetItemTooltip("only the neighbourhood of the selection (N); Shift+N: wider");
      SameLineIfRoom(ButtonWidth("Paths to here"));
      if (ImGui::Button(path_from_.valid() ? "Paths to here" : "Paths"))
        RunOnPart(Command::kGraphPaths, frame);
      ImGui::SetItemTooltip("mark the selection, then show all paths to the next selection (P)");
    } else if (ImGui::Button("Whole graph")) {
      part_ = GraphPart();
    }
    ImGui::SameLine();
    Summary(frame);
  }

  // What is in the picture, as far as it fits.
  void Summary(Frame& frame) {
    if (fusions_.data() == nullptr) return ImGui::NewLine();
    std::string text = fmt::format(
        "{} instructions",
        CountText(static_cast<int64_t>(fusions_.data()->module->instructions().size())));
    if (part_.kind == GraphPart::Kind::kAround)
      text = fmt::format("{} around {}", part_.radius,
                         SafeText(fusions_.data()->module->name(part_.from.front()), 40));
    if (path_from_.valid())
      text = "paths from " + SafeText(fusions_.data()->module->name(path_from_), 40);
    if (ImGui::CalcTextSize(text.c_str()).x < ImGui::GetContentRegionAvail().x) {
      ImGui::AlignTextToFramePadding();
      Label(frame.theme, Color::kTextSecondary, text);
    } else {
      ImGui::NewLine();
    }
  }

  std::string TitleOf(const Context& context, size_t which) const {
    const auto& stages = context.document.dump()->modules()[static_cast<size_t>(module_)].stages;
    const auto name = [&](int32_t s) {
      return s >= 0 && static_cast<size_t>(s) < stages.size()
                 ? SafeText(stages[static_cast<size_t>(s)].name, 60)
                 : std::string();
    };
    if (which == kSource) return "Source: " + name(0);
    if (which == kFusions) return (HasSource() ? "Fusions: " : "Graph: ") + name(stage_);
    return "Devices: " + name(stage_);
  }

  void DrawLenses(Frame& frame) {
    const float legend = LegendHeight(frame, Legend());
    legend_shown_ = legend > 0;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const std::vector<size_t> shown = ShownNow();
    const float gap = 4 * frame.scale;
    float total = 0;
    for (size_t k : shown) total += share_[k];
    moved_.reset();
    for (size_t i = 0; i < shown.size(); ++i) {
      const size_t k = shown[i];
      const float width =
          std::floor((room.x - gap * static_cast<float>(shown.size() - 1)) * share_[k] / total);
      if (i > 0) {
        ImGui::SameLine(0, 0);
        DrawSplitter(shown[i - 1], k, gap, room.y - legend, room.x / total);
        ImGui::SameLine(0, 0);
      }
      ImGui::BeginChild(kTitles[k], {width, room.y - legend - 2 * frame.scale},
                        ImGuiChildFlags_None,
                        ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
      DrawLens(frame, k);
      ImGui::EndChild();
    }
    if (linked_ && moved_) LinkCameras(frame);
    moved_.reset();
  }

  void DrawSplitter(size_t left, size_t right, float gap, float height, float pixels) {
    ImGui::PushID(static_cast<int>(right));
    ImGui::InvisibleButton("##splitter", {gap, height});
    if (ImGui::IsItemHovered() || ImGui::IsItemActive())
      ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    if (ImGui::IsItemActive()) {
      const float by = ImGui::GetIO().MouseDelta.x / pixels;
      if (share_[left] + by > 0.15f && share_[right] - by > 0.15f) {
        share_[left] += by;
        share_[right] -= by;
      }
    }
    ImGui::PopID();
  }

  void DrawLens(Frame& frame, size_t which) {
    // Where there is little height it goes to the picture.
    const bool roomy = ImGui::GetContentRegionAvail().y > kLeastHeightWithLegend / 2 * frame.scale;
    if (roomy) FittedLabel(TitleOf(frame.context, which));
    GraphLens& lens = which == kSource ? source_ : fusions_;
    // Devices show the graph of the fusions, which is made even where those are hidden.
    const GraphPart part = which == kSource ? GraphPart() : part_;
    if (!lens.Ready(frame, module_, which == kSource ? 0 : stage_, part)) return;
    lens.Paint(frame, mode_);
    lens.Follow(frame);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (which == kDevices && !devices_linked_) {
      devices_linked_ = true;
      LinkColumns();
    }
    const CanvasEvents events = which == kDevices
                                    ? lens.DrawColumns(frame, "##devices", room.x, room.y, roomy)
                                    : lens.Draw(frame, which == kSource ? "##source" : "##fusions",
                                                room.x, room.y, roomy, minimap_ && roomy);
    if (which == kFusions && first_frame_of_ != lens.data()) {
      first_frame_of_ = lens.data();
      LinkColumns();
    }
    if (events.moved) moved_ = which;
    if (events.clicked.valid() || events.moved) active_ = which == kSource ? kSource : kFusions;
    if (events.clicked.valid()) Choose(frame, lens, events.clicked, false);
    if (events.jump.valid()) Choose(frame, lens, events.jump, true);
    if (events.opened.valid()) lens.Toggle(events.opened);
  }

  // Selects what a node stands for; a group is chosen in its own picture only.
  void Choose(Frame& frame, GraphLens& lens, NodeId id, bool bring) {
    if (!id.valid()) return;
    const graph::Node& node = lens.data()->graph.tree()[id];
    if (node.kind == NodeKind::kInstruction) {
      frame.context.navigation.Select(
          Selection::OfInstruction(lens.module(), lens.stage(), node.instruction));
    }
    lens.Focus(id);
    const Box* box = lens.picture().Find(id);
    if (bring && box != nullptr && !lens.canvas().Shows(*box)) lens.canvas().Center(*box);
  }

  // --- Linked cameras
  void LinkColumns() {
    GraphCanvas& columns = fusions_.columns_canvas();
    columns.y = fusions_.canvas().y;
    columns.zoom = fusions_.canvas().zoom;
  }

  void LinkCameras(Frame& frame) {
    if (*moved_ == kDevices) {
      fusions_.canvas().y = fusions_.columns_canvas().y;
      fusions_.canvas().zoom = fusions_.columns_canvas().zoom;
    }
    if (*moved_ != kSource && fusions_.data() != nullptr) {
      LinkColumns();
      Across(frame, fusions_, source_, true);
    } else if (*moved_ == kSource) {
      Across(frame, source_, fusions_, false);
      LinkColumns();
    }
  }

  void Across(Frame& frame, GraphLens& from, GraphLens& to, bool backwards) {
    if (const debug::Alignment* links = AlignmentOf(frame))
      FollowAcross(*links, from, to, backwards);
  }

  const debug::Alignment* AlignmentOf(Frame& frame) {
    if (!HasSource() || source_.data() == nullptr || fusions_.data() == nullptr) return nullptr;
    const Pending<debug::Alignment>& found = frame.context.cache.Get(
        PartKey<debug::Alignment>{module_, stage_}, "linking source and fusions",
        [before = source_.data()->module, after = fusions_.data()->module](
            TaskControl&) -> Result<std::shared_ptr<const debug::Alignment>> {
          return std::make_shared<const debug::Alignment>(debug::Align(*before, *after));
        });
    return found.ready() ? found.value.get() : nullptr;
  }

  const std::vector<LegendEntry>& Legend() const {
    return fusions_.legend().empty() ? source_.legend() : fusions_.legend();
  }

  GraphLens source_, fusions_;
  uint64_t generation_ = 0;
  int32_t module_ = -1, stage_ = -1;
  GraphPart part_;
  hlo::InstructionId path_from_;
  ColorMode mode_ = ColorMode::kOpcode;
  bool linked_ = true, minimap_ = true, devices_linked_ = false, legend_shown_ = true;
  std::array<bool, kShownCount> shown_ = {true, true, true};
  std::array<float, kShownCount> share_ = {1, 1, 0.9f};
  size_t active_ = kFusions;
  std::optional<size_t> moved_;
  const GraphData* first_frame_of_ = nullptr;
};

}  // namespace

std::unique_ptr<View> MakeGraphView() { return std::make_unique<GraphView>(); }

}  // namespace hloscope::viewer
