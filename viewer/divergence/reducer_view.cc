// Reducer: reduces a failing module: progress, graph and text of the module as it
// shrinks, what is left.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>
#include <implot/implot.h>

#include <algorithm>
#include <filesystem>

#include "core/base/counted.h"
#include "core/hlo/text/text.h"
#include "viewer/divergence/shrinking_graph.h"
#include "viewer/lab/hover_values.h"
#include "viewer/lab/reduction.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using debug::ReduceReport;
using debug::ReduceStatus;

std::string ResultText(const ReduceReport& report) {
  if (report.status != ReduceStatus::kReduced) return "the module does not fail on this machine";
  std::string text =
      fmt::format("{} of {} still {}", CountText(static_cast<int64_t>(report.instructions)),
                  CountedText(report.instructions_before, "instruction"),
                  VerbFor(report.instructions, "fails", "fail"));
  if (report.stopped) text += " (stopped early: smallest so far)";
  return report.failure ? text + ": " + report.failure->text : text;
}

class ReducerView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
    const int32_t module = context.navigation.module();
    if (module < 0) return Sentence(frame, "no module in this dump");
    const Reduction* reduction = ReductionOn(context, module);
    if (reduction == nullptr || !reduction->report.waiting()) {
      DrawStart(frame, module);
    }
    if (reduction == nullptr) return;
    const ReductionProgress progress = reduction->Progress();
    if (reduction->report.waiting()) DrawRunning(frame, module, progress);
    ImGui::Separator();
    if (reduction->report.failed()) {
      Label(frame.theme, Color::kError, SafeText(reduction->report.error.ToString(), 600));
    }
    if (reduction->report.ready()) DrawResult(frame, *reduction->report);
    DrawShrinking(frame, *reduction, progress);
  }

  bool Run(Command command, Frame& frame) override {
    const int32_t module = frame.context.navigation.module();
    if (module < 0) return false;
    if (command == Command::kCancel) {
      StopReduction(frame.context, module);
      return true;
    }
    if (command == Command::kFitAll) {
      graph_.Fit();
      return true;
    }
    if (command != Command::kReduce && command != Command::kRunExperiment) return false;
    StartReduction(frame.context, module);
    return true;
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const Reduction* reduction = ReductionOn(context, context.navigation.module());
    if (format != ExportFormat::kCsv || reduction == nullptr) return View::Export(format, context);
    const ReductionProgress progress = reduction->Progress();
    std::string out = "kind,tries,instructions,text\n";
    for (const ReductionProgress::Step& step : progress.steps) {
      out += fmt::format("step,{},{},\n", step.tries, step.instructions);
    }
    const std::string said = reduction->report.ready()    ? ResultText(*reduction->report)
                             : reduction->report.failed() ? reduction->report.error.ToString()
                                                          : "not finished";
    return out +
           fmt::format("result,{},{},{}\n", progress.tries, progress.instructions, CsvCell(said));
  }

  std::string HighlightedItems(Context& context) const override {
    const Reduction* reduction = ReductionOn(context, context.navigation.module());
    if (reduction == nullptr) return {};
    if (reduction->report.failed()) return reduction->report.error.ToString();
    const bool is_done = reduction->report.ready();
    const bool has_graph = !is_done || reduction->report->status == ReduceStatus::kReduced;
    const std::string graph = has_graph ? graph_.Summary() : "";
    return (is_done ? ResultText(*reduction->report) : "running") +
           (graph.empty() ? "" : "\ngraph: " + graph);
  }

 private:
  void DrawStart(Frame& frame, int32_t module) {
    Context& context = frame.context;
    const std::optional<FailingRun> run = FailingRunOf(context, module);
    ImGui::BeginDisabled(!run);
    if (ImGui::Button("Reduce the module")) StartReduction(context, module);
    Help(Command::kReduce);
    ImGui::EndDisabled();
    SameLineIfRoom(ButtonWidth("Create a bundle"));
    CommandButton(frame, Command::kMakeBundle, "Create a bundle");
    if (!run) {
      return Sentence(frame,
                      "nothing to reduce yet: run the module on the panel Divergence until it "
                      "fails, or open a verdict");
    }
    Sentence(frame, fmt::format("from {}: {}", run->from, RunText(run->request)));
  }

  static void DrawRunning(Frame& frame, int32_t module, const ReductionProgress& progress) {
    if (ImGui::Button("Stop")) StopReduction(frame.context, module);
    Help("stop and keep the smallest module so far");
    ImGui::SameLine();
    const std::string text =
        progress.before == 0
            ? "running the original module"
            : fmt::format("{} of {}, {}, without {}",
                          CountText(static_cast<int64_t>(progress.instructions)),
                          CountedText(static_cast<int64_t>(progress.before), "instruction"),
                          CountedText(static_cast<int64_t>(progress.tries), "try", "tries"),
                          progress.reduction);
    const float gone = progress.before == 0 ? 0
                                            : 1 - static_cast<float>(progress.instructions) /
                                                      static_cast<float>(progress.before);
    ImGui::ProgressBar(gone, ImVec2(-1, 0), SafeText(text, 120).c_str());
  }

  void DrawResult(Frame& frame, const ReduceReport& report) {
    ImGui::PushFont(frame.strong, 0);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(SafeText(ResultText(report), 800).c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopFont();
    for (const std::string& note : report.notes) {
      Label(frame.theme, Color::kWarning, SafeText(note, 400));
    }
    if (report.status != ReduceStatus::kReduced) return;
    if (path_.empty()) {
      std::error_code error;
      path_ = (std::filesystem::current_path(error) / "reduced.hlo").string();
    }
    ImGui::SetNextItemWidth(std::max(120.0F, ImGui::GetContentRegionAvail().x -
                                                 ButtonWidth("Save") - ButtonWidth("Open") -
                                                 2 * ImGui::GetStyle().ItemSpacing.x));
    ImGui::InputText("##path", &path_);
    Help("path of the reduced module");
    ImGui::SameLine();
    const bool opens = ImGui::Button("Open");
    Help("save the reduced module and open it");
    ImGui::SameLine();
    const bool saves = ImGui::Button("Save");
    Help("save the reduced module");
    if (!saves && !opens) return;
    const Result<std::string> saved = SaveReduced(report, path_);
    frame.context.messages.Post(
        saved ? Severity::kNote : Severity::kError,
        saved ? "saved " + path_ + (saved->empty() ? "" : ", its inputs to " + *saved)
              : "not saved: " + saved.error().ToString());
    if (saved && opens) frame.context.requests.Open({path_});
  }

  // The module as it is by now: its graph, how fast it became so small, its text. Side by side
  // where there is room, else the graph or the text.
  void DrawShrinking(Frame& frame, const Reduction& reduction, const ReductionProgress& progress) {
    const std::shared_ptr<const hlo::Module> module = ModuleNow(frame, reduction, progress);
    if (module == nullptr) return;
    const auto values = [&context = frame.context, run = reduction.run](const hlo::Module& small,
                                                                        hlo::InstructionId id) {
      return HoverValuesOfWhole(context, run.module, run.stage, small, id);
    };
    constexpr float kWide = 760, kCurveHeight = 150, kLowCurveHeight = 100, kGraphShare = 0.58F;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (room.x >= kWide * frame.scale) {
      graph_.Draw(frame, module, room.x * kGraphShare, room.y, values);
      ImGui::SameLine();
      ImGui::BeginChild("##graph_or_text", ImVec2(0, room.y));
      DrawSteps(frame, progress, kCurveHeight * frame.scale);
      DrawModule(frame, progress);
      ImGui::EndChild();
      return;
    }
    DrawSteps(frame, progress, kLowCurveHeight * frame.scale);
    if (!ImGui::BeginTabBar("##shown")) return;
    if (BeginTab("Graph", "graph of the module being reduced")) {
      const ImVec2 left = ImGui::GetContentRegionAvail();
      graph_.Draw(frame, module, left.x, left.y, values);
      ImGui::EndTabItem();
    }
    if (progress.smallest != nullptr &&
        BeginTab("Text", "HLO text of the smallest module so far")) {
      DrawModule(frame, progress);
      ImGui::EndTabItem();
    }
    ImGui::EndTabBar();
  }

  // The smallest so far; before there is one, and while it is sought, the module as it is.
  static std::shared_ptr<const hlo::Module> ModuleNow(Frame& frame, const Reduction& reduction,
                                                      const ReductionProgress& progress) {
    if (progress.smallest != nullptr) return progress.smallest;
    if (!reduction.report.waiting()) return nullptr;
    const Pending<hlo::Module>& read =
        frame.context.data.Module(reduction.run.module, reduction.run.stage);
    return read.ready() ? read.value : nullptr;
  }

  // Instructions over tries.
  static void DrawSteps(Frame& frame, const ReductionProgress& progress, float height) {
    if (progress.steps.empty()) return;
    std::vector<double> tries = {0}, left = {static_cast<double>(progress.before)};
    for (const ReductionProgress::Step& step : progress.steps) {
      tries.push_back(static_cast<double>(step.tries));
      left.push_back(static_cast<double>(step.instructions));
    }
    tries.push_back(static_cast<double>(progress.tries));
    left.push_back(static_cast<double>(progress.instructions));
    ImPlot::PushStyleColor(ImPlotCol_FrameBg, frame.theme.With(Color::kPanel, 0));
    ImPlot::PushStyleColor(ImPlotCol_PlotBg, frame.theme[Color::kCanvas]);
    ImPlot::PushStyleColor(ImPlotCol_AxisText, frame.theme[Color::kTextSecondary]);
    ImPlot::PushStyleColor(ImPlotCol_AxisGrid, frame.theme.With(Color::kLine, 0.8F));
    if (ImPlot::BeginPlot("##steps", ImVec2(-1, height),
                          ImPlotFlags_NoLegend | ImPlotFlags_NoMenus | ImPlotFlags_NoInputs)) {
      // Names only where they leave room for the curve.
      const bool is_low = height < 120 * frame.scale;
      const ImPlotAxisFlags names = is_low ? ImPlotAxisFlags_NoLabel : ImPlotAxisFlags_None;
      ImPlot::SetupAxes("tries", "instructions", names, names);
      ImPlot::SetupAxesLimits(0, std::max(1.0, tries.back()) * 1.02, 0, left.front() * 1.08,
                              ImPlotCond_Always);
      ImDrawList& list = *ImPlot::GetPlotDrawList();
      ImPlot::PushPlotClipRect();
      for (size_t k = 1; k < tries.size(); ++k) {
        const ImVec2 from = ImPlot::PlotToPixels(tries[k - 1], left[k - 1]);
        const ImVec2 to = ImPlot::PlotToPixels(tries[k], left[k]);
        list.AddLine(from, {to.x, from.y}, frame.theme[Color::kAccent], 2 * frame.scale);
        list.AddLine({to.x, from.y}, to, frame.theme[Color::kAccent], 2 * frame.scale);
      }
      ImPlot::PopPlotClipRect();
      ImPlot::EndPlot();
    }
    ImPlot::PopStyleColor(4);
  }

  void DrawModule(Frame& frame, const ReductionProgress& progress) {
    if (progress.smallest == nullptr) return;
    if (printed_ != progress.smallest) {
      printed_ = progress.smallest;
      lines_.clear();
      std::string text;
      hlo::PrintText(*printed_, hlo::TextFormat::kElided, text);
      for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        lines_.push_back(SafeText(std::string_view(text).substr(at, end - at), 600));
        at = end + 1;
      }
    }
    Label(frame.theme, Color::kTextSecondary, "the smallest module so far");
    ImGui::BeginChild("##module", ImVec2(0, 0), 0, ImGuiWindowFlags_HorizontalScrollbar);
    ImGui::PushFont(frame.mono, 0);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(lines_.size()));
    while (clipper.Step()) {
      for (int k = clipper.DisplayStart; k < clipper.DisplayEnd; ++k) {
        ImGui::TextUnformatted(lines_[static_cast<size_t>(k)].c_str());
      }
    }
    ImGui::PopFont();
    ImGui::EndChild();
  }

  ShrinkingGraph graph_;
  std::string path_;
  std::shared_ptr<const hlo::Module> printed_;  // as lines_
  std::vector<std::string> lines_;
};

}  // namespace

std::unique_ptr<View> MakeReducerView() { return std::make_unique<ReducerView>(); }

}  // namespace hloscope::viewer
