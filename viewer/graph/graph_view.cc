// The screen Graph and devices: what you wrote, what was fused and where it runs, side by side, one
// selection and linked cameras.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/analysis/align/alignment.h"
#include "core/graph/count_text.h"
#include "viewer/graph/contents_pane.h"
#include "viewer/graph/graph_kernels.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/graph_links.h"
#include "viewer/graph/graph_look.h"
#include "viewer/graph/graph_pane.h"
#include "viewer/graph/heat_list.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::NodeKind;

class GraphView : public View {
 public:
  void Draw(Frame& frame) override {
    if (!ShowDump(frame)) return;
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
    if (module != module_ || stage != stage_ ||
        generation_ != frame.context.document.generation()) {
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
    if (legend_shown_) DrawLegend(frame, Legend());
  }

  bool Run(Command command, Frame& frame) override {
    if (command == Command::kGraphHeat || command == Command::kGraphColor)
      ChooseHeat(frame.context, HeatMeasure::kOff);
    if (command == Command::kGraphHeat) return look_.Run(command);  // before it was drawn, too
    GraphPane& pane = Active();
    if (pane.data() == nullptr) return false;
    if (ShowsRows() && RunOnRows(command, frame)) return true;
    switch (command) {
      case Command::kGraphUp:
      case Command::kGraphDown:
      case Command::kGraphLeft:
      case Command::kGraphRight:
        Choose(frame, pane, pane.Step(command), true);
        return true;
      case Command::kGraphToggle:
        pane.Toggle(pane.focus());
        return true;
      case Command::kFit:
        pane.Reveal(frame);
        return true;
      case Command::kFitAll:
        for (GraphPane* each : {&source_, &fusions_}) {
          if (each->data() != nullptr) each->canvas().Fit(each->picture());
        }
        LinkLanes();
        return true;
      case Command::kFind:
        wants_find_ = true;
        return true;
      default:
        return RunOnPart(command, frame) || RunOnLook(command) || RunOnFolds(command);
    }
  }

  std::string State() const override { return look_.Text(); }
  void SetState(std::string_view state) override { look_.SetText(state); }
  std::string Arrangement() const override {
    return source_.Arrangement() + "\n" + fusions_.Arrangement();
  }
  void SetArrangement(std::string_view arrangement) override {
    const size_t end = std::min(arrangement.find('\n'), arrangement.size());
    source_.SetArrangement(arrangement.substr(0, end));
    fusions_.SetArrangement(arrangement.substr(std::min(end + 1, arrangement.size())));
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (fusions_.data() == nullptr || fusions_.theme() == nullptr || format == ExportFormat::kPng)
      return View::Export(format, context);
    if (format == ExportFormat::kCsv) return ShowsRows() ? rows_.Csv() : fusions_.Csv();
    std::vector<graph::SvgPane> panes;
    for (size_t k : look_.ShownNow(HasSource())) {
      const GraphPane& pane = k == kSource ? source_ : fusions_;
      if (pane.data() == nullptr || pane.theme() == nullptr) continue;
      panes.push_back(pane.ToSvgPane(k == kDevices));
      panes.back().options.heading = TitleOf(context, k);
      panes.back().options.prefix = fmt::format("g{}", k);
    }
    const bool shown = shown_kernel_ != graph::kNoKernel;
    return ToSheet(
        std::move(panes), Words(), *fusions_.theme(),
        shown ? ColorOfKernel(*fusions_.theme(), kernels_->map.kernels[shown_kernel_].color) : 0,
        Legend());
  }

  std::string HighlightedItems(Context& /*context*/) const override {
    std::string out;
    for (const auto& [name, pane] :
         {std::pair("source", &source_), std::pair("fusions", &fusions_)}) {
      if (pane->data() == nullptr || !pane->focus().valid()) continue;
      out += fmt::format("{}: {}\n", name, pane->data()->graph.tree().Title(pane->focus()));
    }
    if (fusions_.data() == nullptr) return out;
    if (ShowsRows())
      out += fmt::format("{} rows{}\n", rows_.rows(),
                         rows_.is_largest_first() ? ", largest first" : "");
    const graph::Picture& picture = fusions_.data()->graph.picture();
    const auto frames = std::ranges::count(picture.boxes, true, &Box::open);
    if (!sought_.empty()) out += fmt::format("found {}\n", fusions_.found());
    if (const HostRuns* runs = fusions_.host_runs())
      out += fmt::format("{}: {}\n", kRanOnHost, runs->sentences.size());
    if (heat_ != nullptr) out += fmt::format("heat {}\n", HeatRowOf(heat_->measure).id);
    return out + fmt::format("{} boxes, {} open, colour {}{}\nzoom {:.3f}\n", picture.boxes.size(),
                             frames, ColorModeRows()[static_cast<size_t>(look_.mode)].id,
                             part_.kind == GraphPart::Kind::kAround  ? ", around"
                             : part_.kind == GraphPart::Kind::kPaths ? ", paths"
                                                                     : "",
                             fusions_.canvas().zoom);
  }

 private:
  // What was compiled, whichever stage the text shows: what ran is a property of the module.
  // Without it the last that was dumped.
  static int32_t ShownStage(const Context& context, int32_t module) {
    const dump::DumpModel& dump = *context.document.dump();
    const int32_t final_stage = dump.FinalStage(module);
    if (final_stage >= 0) return final_stage;
    return static_cast<int32_t>(dump.modules()[static_cast<size_t>(module)].stages.size()) - 1;
  }
  bool HasSource() const { return stage_ > 0; }
  // The graph that keys act on: one that can be seen. Devices show that of the fusions.
  GraphPane& Active() {
    const bool has_fusions =
        look_.IsShown(kFusions, HasSource()) || look_.IsShown(kDevices, HasSource());
    return look_.IsShown(kSource, HasSource()) && (active_ == kSource || !has_fusions) ? source_
                                                                                       : fusions_;
  }

  bool RunOnPart(Command command, Frame& frame) {
    const hlo::InstructionId selected = frame.context.navigation.InstructionIn(stage_);
    switch (command) {
      case Command::kGraphAround:
        if (part_.kind != GraphPart::Kind::kWhole) {
          ShowWhole();
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
          ShowWhole();
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
    if (look_.Run(command)) return true;
    switch (command) {
      case Command::kGraphZoomIn:
        Active().StopFitting();
        Active().canvas().Zoom(1.25f);
        break;
      case Command::kGraphZoomOut:
        Active().StopFitting();
        Active().canvas().Zoom(0.8f);
        break;
      case Command::kGraphReadable:
        Active().StopFitting();
        Active().canvas().zoom = 1;
        break;
      default:
        return false;
    }
    moved_ = active_;
    return true;
  }

  bool RunOnFolds(Command command) {
    GraphPane& pane = Active();
    switch (command) {
      case Command::kGraphCloseAll:
        pane.CloseAll();
        return true;
      case Command::kGraphOpenAll:
        pane.OpenAll();
        return true;
      case Command::kGraphCloseOuter: {
        if (source_part_.kind != GraphPart::Kind::kWhole) {
          ShowWhole();
          return true;
        }
        if (!pane.focus().valid()) return true;
        const NodeId outer = pane.data()->graph.tree()[pane.focus()].parent;
        if (outer.valid() && outer != pane.data()->graph.tree().root()) {
          pane.Toggle(outer);
          pane.Focus(outer);
        }
        return true;
      }
      default:
        return false;
    }
  }

  void DrawToolbar(Frame& frame) {
    DrawLookBar(frame, look_, HasSource(), IsLarge(), ShowsRows());
    SameLineIfRoom(ButtonWidth("Whole graph"));
    if (part_.kind == GraphPart::Kind::kWhole) {
      if (ImGui::Button("Neighbours")) RunOnPart(Command::kGraphAround, frame);
      Help("show only the neighbourhood of the selection; Shift+N: wider\nN");
      SameLineIfRoom(ButtonWidth("Paths to here"));
      if (ImGui::Button(path_from_.valid() ? "Paths to here" : "Paths"))
        RunOnPart(Command::kGraphPaths, frame);
      Help(Command::kGraphPaths);
    } else {
      if (ImGui::Button("Whole graph")) ShowWhole();
      Help("show the whole graph again");
    }
    SameLineIfRoom(160 * frame.scale);
    ImGui::SetNextItemWidth(160 * frame.scale);
    if (wants_find_) ImGui::SetKeyboardFocusHere();
    wants_find_ = false;
    ImGui::InputTextWithHint("##find", "find in graphs", &sought_);
    Help("names and opcodes; all matches are highlighted\nCtrl+F");
    ImGui::SameLine();
    Summary(frame);
  }

  // What is in the picture, as far as it fits.
  void Summary(Frame& frame) {
    if (fusions_.data() == nullptr) return ImGui::NewLine();
    std::string text =
        graph::CountedText(fusions_.data()->module->instructions().size(), "instruction");
    if (part_.kind == GraphPart::Kind::kAround)
      text = fmt::format("{} around {}", part_.radius,
                         SafeText(fusions_.data()->module->name(part_.from.front()), 40));
    if (ShowsRows() && Program().hits() != nullptr)
      text = fmt::format("{} found", CountText(std::ssize(Program().hits()->instructions)));
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
    const std::string of = fmt::format(": {}", name(which == kSource ? 0 : stage_));
    // There is nothing fused in the first stage.
    return (which == kFusions && !HasSource() ? "Graph" : kGraphTitles[which]) + of;
  }

  // What became which kernel, as far as it is found.
  void FindKernels(Frame& frame) {
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
  void FindHeat(Frame& frame) {
    heat_list_ = HeatInView(frame.context);
    heat_ = heat_list_ != nullptr && heat_list_->missing.empty() ? heat_list_ : nullptr;
  }

  KernelPaint PaintOf(size_t which) const {
    if (which != kSource) return {kernels_, nullptr};
    return sources_ == nullptr ? KernelPaint() : KernelPaint{kernels_, sources_};
  }

  // On opening a module in which nothing is selected: the most informative kernel.
  void LookFirst(Frame& frame) {
    std::set<int32_t>& looked_at = frame.context.marks.Of<LookedAt>().modules;
    if (overview_ == nullptr || !overview_->telling.valid() || !looked_at.insert(module_).second)
      return;
    if (frame.context.navigation.selection().kind != SelectionKind::kNothing) return;
    frame.context.navigation.Suggest(Selection::OfInstruction(module_, stage_, overview_->telling));
  }

  // The kernel under the pointer, else that of the selection.
  uint32_t KernelInView(Frame& frame) const {
    if (kernels_ == nullptr) return graph::kNoKernel;
    if (hovered_kernel_ != graph::kNoKernel) return hovered_kernel_;
    const hlo::InstructionId here = frame.context.navigation.InstructionIn(stage_);
    if (const uint32_t kernel = PaintOf(kFusions).Of(here); kernel != graph::kNoKernel)
      return kernel;
    return PaintOf(kSource).Of(frame.context.navigation.InstructionIn(0));
  }

  // The module in one sentence, what is selected of it in another, and how to read the pictures.
  void DrawHeadline(Frame& frame) {
    if (ImGui::GetContentRegionAvail().y < kMinHeightWithLegend * 1.3f * frame.scale) return;
    if (overview_ == nullptr) {
      Label(frame.theme, Color::kTextSecondary, "counting kernels …");
      return;
    }
    const SheetWords words = Words();
    ImGui::PushFont(frame.strong, 0);
    const std::string text = words.headline + words.loud;
    const float gap = 24 * frame.scale, needs = ImGui::CalcTextSize(text.c_str()).x;
    if (needs > ImGui::GetContentRegionAvail().x) {
      FittedLabel(text);
    } else {
      Label(words.headline);
      ImGui::SameLine(0, 0);
      Label(frame.theme, Color::kDeviceFallback, words.loud);
    }
    ImGui::PopFont();
    constexpr float kMinShown = 0.25f;  // of the width
    if (ImGui::GetContentRegionAvail().x * (1 - kMinShown) > needs + gap) ImGui::SameLine(0, gap);
    ImGui::PushStyleColor(
        ImGuiCol_Text,
        frame.theme[shown_kernel_ != graph::kNoKernel ? Color::kText : Color::kTextSecondary]);
    FittedLabel(words.shown);
    ImGui::PopStyleColor();
  }

  SheetWords Words() const {
    if (overview_ == nullptr) return {};
    SheetWords words{ToSentence(*overview_), {}, "no kernel selected"};
    const size_t host = words.headline.rfind(" → ");
    if (host != std::string::npos && overview_->compiled &&
        overview_->lanes[static_cast<size_t>(graph::Lane::kHost)] > 0) {
      words.loud = words.headline.substr(host);
      words.headline.resize(host);
    }
    if (const HostRuns* runs = fusions_.host_runs())
      words.loud += fmt::format(", {} {} in a recorded run", CountText(std::ssize(runs->sentences)),
                                kRanOnHost);
    if (shown_kernel_ != graph::kNoKernel)
      words.shown = "Kernel: " + ShownText(*kernels_, sources_.get(), shown_kernel_);
    return words;
  }

  // From what you wrote through the kernel to its lane, over all three pictures.
  void DrawRibbonOver(Frame& frame) {
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
  bool IsLarge() const {
    return (HasSource() && source_.data() != nullptr && source_.data()->is_large()) ||
           (fusions_.data() != nullptr && fusions_.data()->is_large());
  }
  bool ShowsRows() const {
    return look_.contents && part_.kind == GraphPart::Kind::kWhole &&
           source_part_.kind == GraphPart::Kind::kWhole && IsLarge();
  }
  void ShowWhole() { part_ = source_part_ = GraphPart(); }
  // The program that the rows are of: what was written, as far as it is known.
  GraphPane& Program() { return HasSource() ? source_ : fusions_; }

  // Which of the two is shown depends on how large the graphs are.
  bool ReadyToDraw(Frame& frame) {
    const float width = ImGui::GetContentRegionAvail().x - list_width_;
    float total = 0;
    for (size_t k : look_.ShownNow(HasSource())) total += look_.share[k];
    return fusions_.Ready(frame, module_, stage_, part_, width * look_.share[kFusions] / total) &&
           (!HasSource() ||
            source_.Ready(frame, module_, 0, source_part_, width * look_.share[kSource] / total));
  }

  void Prepare(Frame& frame, GraphPane& pane, size_t which) {
    pane.Paint(frame, look_.mode, PaintOf(which), heat_);
    pane.Follow(frame);
    pane.HighlightKernel(shown_kernel_);
    pane.Find(frame, sought_);
  }

  void DrawRows(Frame& frame, ImVec2 room) {
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

  void Act(Frame& frame, const ContentEvents& events) {
    hovered_kernel_ = events.hovered_kernel;
    if (events.kernel != graph::kNoKernel)
      frame.context.navigation.Select(Selection::OfInstruction(
          module_, stage_, kernels_->map.kernels[events.kernel].instruction));
    if (events.chosen.valid()) Choose(frame, Program(), events.chosen, false);
    if (events.drawn.valid()) DrawScope(events.drawn);
  }

  // The graphs of one scope: its operations, and the kernels that they became.
  void DrawScope(NodeId scope) {
    GraphPane& program = Program();
    program.Focus(scope);
    std::vector<hlo::InstructionId> inside = program.InstructionsAtFocus();
    const graph::Node& node = program.data()->graph.tree()[scope];
    if (node.kind == NodeKind::kInstruction) {
      // What it calls.
      inside.clear();
      const auto called =
          program.data()->module->CalledComputations((*program.data()->module)[node.instruction]);
      if (called.empty()) return;
      const hlo::Computation& body = (*program.data()->module)[called.back()];
      for (uint32_t k = 0; k < body.instruction_count; ++k)
        inside.emplace_back(body.first_instruction + k);
    }
    if (inside.empty()) return;
    source_part_ = {.kind = GraphPart::Kind::kAround, .from = inside, .to = {}, .radius = 0};
    part_ = source_part_;
    if (!HasSource()) return;
    // Kernels of one computation: that which has most of them.
    std::map<uint32_t, std::vector<hlo::InstructionId>> by_computation;
    std::set<uint32_t> kernels;
    const KernelPaint paint = PaintOf(kSource);
    for (hlo::InstructionId id : inside) {
      const uint32_t kernel = paint.Of(id);
      if (kernel == graph::kNoKernel || !kernels.insert(kernel).second) continue;
      const hlo::InstructionId itself = kernels_->map.kernels[kernel].instruction;
      by_computation[(*kernels_->module)[itself].computation.index].push_back(itself);
    }
    if (by_computation.empty()) {
      part_ = GraphPart();
      return;
    }
    part_.from = std::ranges::max_element(by_computation, {}, [](const auto& each) {
                   return each.second.size();
                 })->second;
    std::ranges::sort(part_.from, {}, &hlo::InstructionId::index);
  }

  bool RunOnRows(Command command, Frame& frame) {
    switch (command) {
      case Command::kGraphUp:
      case Command::kGraphDown:
      case Command::kGraphLeft:
      case Command::kGraphRight:
      case Command::kGraphToggle:
        Act(frame, rows_.Step(command));
        return true;
      case Command::kGraphCloseOuter:
        Act(frame, rows_.Step(Command::kGraphLeft));
        return true;
      case Command::kGraphOrder:
        rows_.SwitchOrder();
        return true;
      case Command::kGraphCloseAll:
        rows_.CloseAll();
        return true;
      case Command::kGraphOpenAll:
        rows_.OpenAll();
        return true;
      default:
        return false;
    }
  }

  // Of the list of the hottest; 0 where the pictures need the room.
  float ListWidth(const Frame& frame) const {
    constexpr float kMinWidth = 700;
    const bool has_room = ImGui::GetContentRegionAvail().x > kMinWidth * frame.scale;
    return heat_list_ != nullptr && has_room ? kHeatListWidth * frame.scale : 0;
  }

  void DrawPanes(Frame& frame, float legend) {
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
      const float width = std::floor((room.x - gap * static_cast<float>(shown.size() - 1)) *
                                     look_.share[k] / total);
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

  void DrawSplitter(size_t left, size_t right, float gap, float height, float pixels) {
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

  void DrawPane(Frame& frame, size_t which) {
    // Where there is little height it goes to the picture.
    const bool roomy = ImGui::GetContentRegionAvail().y > kMinHeightWithLegend / 2 * frame.scale;
    if (roomy) FittedLabel(TitleOf(frame.context, which));
    GraphPane& pane = which == kSource ? source_ : fusions_;
    Prepare(frame, pane, which);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (which == kDevices && !devices_linked_) {
      devices_linked_ = true;
      LinkLanes();
    }
    CanvasEvents events;
    if (which == kDevices) {
      if (pane.fits()) LinkLanes();
      events = pane.DrawLanes(frame, "##devices", room.x, room.y);
    } else {
      // As many lines as the titles of the lanes, so that rows are aligned.
      const float above = GraphPane::LaneTitleHeight() + ImGui::GetStyle().ItemSpacing.y;
      DrawCounts(frame, pane, above);
      events = pane.Draw(frame, which == kSource ? "##source" : "##fusions", room.x, room.y - above,
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

  // What is in the picture, and what a search found there.
  void DrawCounts(Frame& frame, GraphPane& pane, float height) const {
    const ImVec2 corner = ImGui::GetCursorPos();
    const auto& boxes = pane.picture().boxes;
    const auto open = std::ranges::count(boxes, true, &Box::open);
    const std::string all = graph::CountedText(boxes.size(), "box", "boxes");
    const std::string counts = open == 0 ? all : fmt::format("{}, {} open", all, open);
    if (sought_.empty()) {
      FittedLabel(counts);
    } else {
      Label(counts);
      ImGui::SameLine();
      Label(frame.theme, Color::kAccent, fmt::format("{} found", pane.found()));
    }
    ImGui::SetCursorPos({corner.x, corner.y + height});
  }

  // Selects what a node stands for; a group is chosen in its own picture only.
  void Choose(Frame& frame, GraphPane& pane, NodeId id, bool bring) {
    if (!id.valid()) return;
    const graph::Node& node = pane.data()->graph.tree()[id];
    if (node.kind == NodeKind::kInstruction) {
      frame.context.navigation.Select(
          Selection::OfInstruction(pane.module(), pane.stage(), node.instruction));
    }
    pane.Focus(id);
    const Box* box = pane.picture().Find(id);
    if (bring && box != nullptr && !pane.canvas().Shows(*box)) pane.canvas().Center(*box);
  }

  // --- Linked cameras
  void LinkLanes() {
    GraphCanvas& lanes = fusions_.lanes_canvas();
    lanes.y = fusions_.canvas().y;
    lanes.zoom = fusions_.canvas().zoom;
  }

  void LinkCameras() {
    if (*moved_ == kDevices) {
      fusions_.canvas().y = fusions_.lanes_canvas().y;
      fusions_.canvas().zoom = fusions_.lanes_canvas().zoom;
    }
    if (*moved_ != kSource && fusions_.data() != nullptr) {
      LinkLanes();
      Across(fusions_, source_, true);
    } else if (*moved_ == kSource) {
      Across(source_, fusions_, false);
      LinkLanes();
    }
  }

  void Across(GraphPane& from, GraphPane& to, bool backwards) {
    if (!HasSource() || source_.data() == nullptr || fusions_.data() == nullptr) return;
    if (sources_ != nullptr) FollowAcross(sources_->links, from, to, backwards);
  }

  const std::vector<LegendEntry>& Legend() const {
    if (ShowsRows()) return rows_.legend();
    return fusions_.legend().empty() ? source_.legend() : fusions_.legend();
  }

  GraphPane source_, fusions_;
  uint64_t generation_ = 0;
  int32_t module_ = -1, stage_ = -1;
  GraphPart part_, source_part_;
  ContentsPane rows_;
  hlo::InstructionId path_from_;
  GraphLook look_;
  bool devices_linked_ = false, legend_shown_ = true;
  size_t active_ = kFusions;
  std::optional<size_t> moved_;
  const GraphData* first_frame_of_ = nullptr;
  std::shared_ptr<const StageKernels> kernels_;
  std::shared_ptr<const graph::Overview> overview_;
  std::shared_ptr<const SourceKernels> sources_;
  uint32_t shown_kernel_ = graph::kNoKernel, hovered_kernel_ = graph::kNoKernel;
  uint32_t hovered_next_ = graph::kNoKernel;
  std::shared_ptr<const HeatFacts> heat_list_, heat_;  // of this frame
  float list_width_ = 0;
  std::string sought_;
  bool wants_find_ = false;
};

}  // namespace

std::unique_ptr<View> MakeGraphView() { return std::make_unique<GraphView>(); }

}  // namespace hloscope::viewer
