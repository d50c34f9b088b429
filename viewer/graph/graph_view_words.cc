// What the screen says around the pictures: tools, headline, titles; and what is exported.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/graph/count_text.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/graph/graph_view.h"
#include "viewer/graph/scope_shares.h"
#include "viewer/graph/text_in_room.h"
#include "viewer/model/document.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;

constexpr float kWideBar = 1200;  // logical pixels from which on all tools are in one row

}  // namespace

std::string GraphView::Arrangement() const {
  return source_.Arrangement() + "\n" + fusions_.Arrangement();
}

void GraphView::SetArrangement(std::string_view arrangement) {
  const size_t end = std::min(arrangement.find('\n'), arrangement.size());
  source_.SetArrangement(arrangement.substr(0, end));
  fusions_.SetArrangement(arrangement.substr(std::min(end + 1, arrangement.size())));
}

Result<std::string> GraphView::Export(ExportFormat format, Context& context) const {
  if (shows_tensorflow_ && format != ExportFormat::kPng) return tensorflow_.Export(format);
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

std::string GraphView::HighlightedItems(Context& /*context*/) const {
  if (shows_tensorflow_) return tensorflow_.HighlightedItems();
  std::string out;
  for (const auto& [name, pane] :
       {std::pair("source", &source_), std::pair("fusions", &fusions_)}) {
    if (pane->data() == nullptr || !pane->focus().valid()) continue;
    out += fmt::format("{}: {}\n", name, pane->data()->graph.tree().Title(pane->focus()));
  }
  if (fusions_.data() == nullptr) return out;
  if (ShowsRows())
    out +=
        fmt::format("{} rows{}\n", rows_.rows(), rows_.is_largest_first() ? ", largest first" : "");
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

void GraphView::DrawToolbar(Frame& frame) {
  if (tensorflow_.has_any()) {
    if (ImGui::Button("TensorFlow")) tensorflow_.Choose();
    Help("TensorFlow's graphs, with the clusters that XLA compiles");
    ImGui::SameLine();
  }
  const bool is_narrow = ImGui::GetContentRegionAvail().x < kWideBar * frame.scale;
  DrawLookBar(frame, look_, {HasSource(), IsLarge(), ShowsRows(), is_narrow});
  if (part_.kind != GraphPart::Kind::kWhole) {
    SameLineIfRoom(ButtonWidth("Whole graph"));
    if (ImGui::Button("Whole graph")) ShowWhole();
    Help("show the whole graph again");
  }
  if (is_narrow && !ShowsRows()) {
    SameLineIfRoom(ButtonWidth("More"));
    DrawMore(frame);
  } else if (part_.kind == GraphPart::Kind::kWhole) {
    SameLineIfRoom(ButtonWidth("Neighbours"));
    DrawPartButtons(frame, true);
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

// What a narrow bar has no room for.
void GraphView::DrawMore(Frame& frame) {
  if (ImGui::Button("More")) ImGui::OpenPopup("##more");
  Help("colours, cameras and parts of the graph");
  if (!ImGui::BeginPopup("##more")) return;
  DrawColorMenu(frame, look_);
  DrawCameraButtons(look_, false);
  if (part_.kind == GraphPart::Kind::kWhole) DrawPartButtons(frame, false);
  ImGui::EndPopup();
}

void GraphView::DrawPartButtons(Frame& frame, bool side_by_side) {
  if (ImGui::Button("Neighbours")) RunOnPart(Command::kGraphAround, frame);
  Help("show only the neighbourhood of the selection; Shift+N: wider\nN");
  if (side_by_side) SameLineIfRoom(ButtonWidth("Paths to here"));
  if (ImGui::Button(path_from_.valid() ? "Paths to here" : "Paths"))
    RunOnPart(Command::kGraphPaths, frame);
  Help(Command::kGraphPaths);
}

// What is in the picture, as far as it fits.
void GraphView::Summary(Frame& frame) {
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

std::string GraphView::TitleOf(const Context& context, size_t which) const {
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

// The module in one sentence, what is selected of it in another, and how to read the pictures.
void GraphView::DrawHeadline(Frame& frame) {
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
  constexpr float kMinShown = 0.2f;  // of the width
  if (ImGui::GetContentRegionAvail().x * (1 - kMinShown) > needs + gap) ImGui::SameLine(0, gap);
  ImGui::PushStyleColor(
      ImGuiCol_Text,
      frame.theme[shown_kernel_ != graph::kNoKernel ? Color::kText : Color::kTextSecondary]);
  // What a cut leaves out is at the end, which says least.
  const std::shared_ptr<const ScopeShares> scopes = ScopeSharesOf(frame.context);
  const float room = ImGui::GetContentRegionAvail().x;
  const auto width = [&](const std::string& said) { return ImGui::CalcTextSize(said.c_str()).x; };
  std::string largest;
  // The measure only where the kernel is still said as a whole.
  if (scopes != nullptr && !scopes->head.empty())
    largest =
        width(words.shown) + gap + width(scopes->head) < room ? scopes->head : scopes->brief_head;
  const float taken = largest.empty() ? 0 : width(largest) + gap;
  const std::string shown =
      FitEnd(frame.font, ImGui::GetFontSize(), SafeText(words.shown), room - taken);
  ImGui::TextUnformatted(shown.c_str());
  WholeIfCut(words.shown, shown);
  ImGui::PopStyleColor();
  if (largest.empty()) return;
  ImGui::SameLine(0, gap);
  FittedLabel(largest);
  Help(scopes->sentence);
}

// Of the memory what the module takes, at the right of the legend.
void GraphView::DrawMemory(Frame& frame) const {
  const Pending<ModuleFacts>& facts = FactsOf(frame.context, module_);
  const std::string memory = facts.ready() ? MemoryText(*facts) : std::string();
  if (memory.empty()) return;
  const std::string text = "Memory: " + memory;
  ImGui::SameLine(0, 24 * frame.scale);
  constexpr float kMinRoom = 150;  // logical pixels
  const float room = ImGui::GetContentRegionAvail().x;
  if (room < kMinRoom * frame.scale) return ImGui::NewLine();
  const float left = std::floor(room - ImGui::CalcTextSize(text.c_str()).x) - 1;
  if (left > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + left);
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  FittedLabel(text);
  ImGui::PopStyleColor();
}

SheetWords GraphView::Words() const {
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

}  // namespace hloscope::viewer
