// Error curve: how far the values inside a module differ, in program order, and which results that
// reaches.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <implot/implot.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/facts/error_curve.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/lab/hover_values.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/row_cursor.h"
#include "viewer/widgets/verdict_mark.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using debug::WalkPoint;

std::string PointText(const WalkPoint& point) {
  std::string text = fmt::format("{} ({}): {}", SafeText(point.instruction, 80),
                                 SafeText(point.opcode, 40), ToString(VerdictOf(point)));
  if (const std::string error = ErrorText(point.max_abs_error); !error.empty()) {
    text += fmt::format("\nlargest error {}, relative {}", error, ErrorText(point.max_rel_error));
    if (point.max_ulp > 0) text += fmt::format(", {} ULP", UlpText(point.max_ulp));
  }
  if (point.diverging > 0) {
    text += fmt::format("\n{} of {} beyond tolerance", CountText(point.diverging),
                        CountedText(point.executions, "execution"));
  }
  if (!point.worst_calls.empty()) text += "\n" + SafeText(point.worst_calls, 120);
  return text;
}

class CurveView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
    const int32_t module = context.navigation.module();
    if (module < 0) return Sentence(frame, "no module in this dump");
    Update(context, module);
    if (curve_.compared == 0 && curve_.points.empty()) {
      return Sentence(frame,
                      "no intermediate values compared: press Run on the panel Divergence, or open "
                      "a verdict of `hloscope diverge --json`");
    }
    DrawHead(frame);
    if (curve_.points.empty()) return Sentence(frame, "all values are bit-identical");
    const float height = ImGui::GetContentRegionAvail().y;
    DrawPlot(frame, std::max(height * 0.55F, 120 * frame.scale));
    DrawTable(frame);
    Select(context, module);
  }

  bool Run(Command command, Frame& frame) override {
    const auto count = static_cast<int64_t>(curve_.points.size());
    if ((command != Command::kCurveNext && command != Command::kCurvePrevious) || count == 0) {
      return false;
    }
    const int64_t step = command == Command::kCurveNext ? 1 : -1;
    Choose(chosen_ < 0 ? 0 : std::clamp<int64_t>(chosen_ + step, 0, count - 1));
    Select(frame.context, frame.context.navigation.module());
    return true;
  }

  std::string State() const override { return relative_ ? "relative" : "absolute"; }
  void SetState(std::string_view state) override { relative_ = state != "absolute"; }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const int32_t module = context.navigation.module();
    if (format != ExportFormat::kCsv || !context.document.dump().ready() || module < 0) {
      return View::Export(format, context);
    }
    std::string out =
        "instruction,computation,opcode,executions,differing,diverging,max_abs_error,"
        "max_rel_error,max_ulp,verdict,calls\n";
    for (const WalkPoint& p : CurveOf(context, module).points) {
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", CsvCell(p.instruction),
                         CsvCell(p.computation), CsvCell(p.opcode), p.executions, p.differing,
                         p.diverging, p.max_abs_error, p.max_rel_error, p.max_ulp,
                         ToString(VerdictOf(p)), CsvCell(p.worst_calls));
    }
    return out;
  }

  std::string HighlightedItems(Context& /*context*/) const override {
    std::string out = fmt::format("points {}", curve_.points.size());
    if (chosen_ >= 0) out += "\nchosen " + curve_.points[static_cast<size_t>(chosen_)].instruction;
    for (const int64_t result : curve_.reached) out += fmt::format("\nreaches out{}", result);
    return out;
  }

 private:
  void Update(Context& context, int32_t module) {
    const CurveVersion version = CurveVersionOf(context, module);
    if (version == version_ && module == module_) return FollowSelection(context);
    version_ = version;
    module_ = module;
    curve_ = CurveOf(context, module);
    counts_ = CountsOf(curve_);
    chosen_ = -1;
    wanted_ = -1;
    fits_ = true;
    for (size_t i = 0; i < curve_.points.size() && chosen_ < 0; ++i) {
      if (VerdictOf(curve_.points[i]) >= Verdict::kBeyond) chosen_ = static_cast<int64_t>(i);
    }
    first_ = chosen_;
    seen_selection_ = context.navigation.version();
    if (curve_.points.empty()) return;
    context.data.Module(module, context.document.dump()->FinalStage(module));  // for a click
  }

  // What is selected elsewhere is chosen here.
  void FollowSelection(Context& context) {
    if (seen_selection_ == context.navigation.version()) return;
    seen_selection_ = context.navigation.version();
    const Selection& now = context.navigation.selection();
    if (now.module != module_ || !now.instruction.valid()) return;
    const Pending<hlo::Module>& read = context.data.Module(now.module, now.stage);
    if (!read.ready()) return;
    const std::string_view name = read->name(now.instruction);
    const auto found = std::ranges::find(curve_.points, name, &WalkPoint::instruction);
    if (found != curve_.points.end()) chosen_ = found - curve_.points.begin();
  }

  void Choose(int64_t point) { chosen_ = wanted_ = point; }

  // Once the module that may have it is read.
  void Select(Context& context, int32_t module) {
    if (wanted_ < 0) return;
    const WalkPoint& point = curve_.points[static_cast<size_t>(wanted_)];
    const Selection found = FindPoint(context, module, point);
    const int32_t last = context.document.dump()->FinalStage(module);
    if (found.kind == SelectionKind::kNothing && context.data.Module(module, last).waiting())
      return;
    wanted_ = -1;
    if (found.kind != SelectionKind::kNothing) {
      context.navigation.Select(found);
      seen_selection_ = context.navigation.version();
      return;
    }
    context.messages.Post(
        Severity::kNote,
        SafeText(point.instruction, 80) +
            " is not in this dump: it exists only in the module that the platform optimised");
  }

  void DrawHead(Frame& frame) {
    Label(frame.theme, Color::kTextSecondary,
          fmt::format(
              "{}: {}, {}", curve_.source,
              curve_.same_bits
                  ? fmt::format("{} of {} are bit-identical", CountText(*curve_.same_bits),
                                CountedText(curve_.compared, "value"))
                  : CountText(curve_.compared) + " kernels compared one at a time",
              CountedText(curve_.points.size(), "instruction differs", "instructions differ")));
    if (first_ >= 0) {
      const WalkPoint& first = curve_.points[static_cast<size_t>(first_)];
      ImGui::PushFont(frame.strong, 0);
      Label(
          frame.theme, Color::kBeyondBound,
          SafeText(fmt::format("first beyond tolerance: {} ({}){}", first.instruction, first.opcode,
                               curve_.inner.empty() ? "" : ", inside: " + curve_.inner),
                   160));
      ImGui::PopFont();
    }
    std::string reached;
    constexpr size_t kMax = 12;
    for (size_t i = 0; i < std::min(curve_.reached.size(), kMax); ++i) {
      reached += fmt::format("{}out{}", i == 0 ? "" : ", ", curve_.reached[i]);
    }
    if (curve_.reached.size() > kMax) {
      reached += fmt::format(" and {} more", curve_.reached.size() - kMax);
    }
    Fact(frame, "affected results", reached.empty() ? "none beyond tolerance" : reached);
    ImGui::Checkbox("relative error", &relative_);
    Help("show errors relative to the value instead of absolute ones");
    SameLineIfRoom(ButtonWidth("Show on the graph"));
    CommandButton(frame, Command::kGraphHeat, "Show on the graph");
    DrawVerdictLegend(frame, counts_, curve_.same_bits ? "value" : "instruction");
  }

  // Powers of ten of what is finite.
  void SetLimits() {
    double low = 1e300, high = 0;
    for (const WalkPoint& point : curve_.points) {
      const double error = relative_ ? point.max_rel_error : point.max_abs_error;
      if (!std::isfinite(error) || error == 0 || VerdictOf(point) == Verdict::kNotFinite) continue;
      low = std::min(low, HeightOf(point, relative_));
      high = std::max(high, HeightOf(point, relative_));
    }
    if (high == 0) low = 1e-8, high = 1;
    low_ = std::max(low / 10, 1e-300);
    high_ = std::min(high * 10, 1e300);
    const double count = static_cast<double>(curve_.points.size());
    ImPlot::SetupAxesLimits(
        -0.02 * count - 0.5, 1.02 * count + 0.5, low_, high_,
        fits_ || was_relative_ != relative_ ? ImPlotCond_Always : ImPlotCond_Once);
    fits_ = false;
    was_relative_ = relative_;
  }

  void DrawPlot(Frame& frame, float height) {
    ImPlot::PushStyleColor(ImPlotCol_FrameBg, frame.theme.With(Color::kPanel, 0));
    ImPlot::PushStyleColor(ImPlotCol_PlotBg, frame.theme[Color::kCanvas]);
    ImPlot::PushStyleColor(ImPlotCol_AxisText, frame.theme[Color::kTextSecondary]);
    ImPlot::PushStyleColor(ImPlotCol_AxisGrid, frame.theme.With(Color::kLine, 0.8F));
    if (ImPlot::BeginPlot("##curve", ImVec2(-1, height),
                          ImPlotFlags_NoLegend | ImPlotFlags_NoMenus)) {
      ImPlot::SetupAxes("instructions that differ, in program order",
                        relative_ ? "largest relative error" : "largest absolute error");
      ImPlot::SetupAxisScale(ImAxis_Y1, ImPlotScale_Log10);
      SetLimits();
      DrawPoints(frame);
      ImPlot::EndPlot();
    }
    ImPlot::PopStyleColor(4);
  }

  ImVec2 PlaceOf(size_t point) const {
    const double height =
        std::clamp(HeightOf(curve_.points[point], relative_), low_ * 1.0001, high_ * 0.9999);
    ImVec2 at = ImPlot::PlotToPixels(static_cast<double>(point), height);
    at.y = std::max(at.y, ImPlot::GetPlotPos().y + 8);  // NaN and infinities are at the top
    return at;
  }

  // Of those in one column of pixels the worst.
  std::vector<size_t> Visible() const {
    const ImPlotRect seen = ImPlot::GetPlotLimits();
    const auto count = static_cast<double>(curve_.points.size());
    const auto begin = static_cast<size_t>(std::clamp(std::floor(seen.X.Min), 0.0, count));
    const auto end = static_cast<size_t>(std::clamp(std::ceil(seen.X.Max) + 1, 0.0, count));
    std::vector<size_t> visible;
    float column = -1e9F;
    for (size_t i = begin; i < end; ++i) {
      const float x = std::floor(ImPlot::PlotToPixels(static_cast<double>(i), low_).x);
      if (x != column) {
        visible.push_back(i);
        column = x;
      } else if (IsWorse(i, visible.back())) {
        visible.back() = i;
      }
    }
    return visible;
  }
  bool IsWorse(size_t a, size_t b) const {
    const WalkPoint &p = curve_.points[a], &q = curve_.points[b];
    return std::pair(VerdictOf(p), HeightOf(p, relative_)) >
           std::pair(VerdictOf(q), HeightOf(q, relative_));
  }

  void DrawPoints(Frame& frame) {
    ImDrawList& list = *ImPlot::GetPlotDrawList();
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const float bottom = ImPlot::GetPlotPos().y + ImPlot::GetPlotSize().y;
    std::vector<size_t> visible = Visible();
    if (chosen_ >= 0) visible.push_back(static_cast<size_t>(chosen_));
    int64_t nearest = -1;
    float best = 12 * frame.scale;
    ImPlot::PushPlotClipRect();
    for (const size_t i : visible) {
      const ImVec2 at = PlaceOf(i);
      const Color color = ColorOf(VerdictOf(curve_.points[i]));
      const bool is_chosen = static_cast<int64_t>(i) == chosen_;
      list.AddLine({at.x, bottom}, at, frame.theme.With(color, 0.5F), frame.scale);
      DrawVerdictMark(list, at, 4 * frame.scale, frame.theme, VerdictOf(curve_.points[i]));
      if (is_chosen) {
        list.AddCircle(at, 7 * frame.scale, frame.theme[Color::kAccent], 0, 2 * frame.scale);
      }
      if (is_chosen || static_cast<int64_t>(i) == first_) DrawName(frame, list, at, i);
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (distance < best) {
        best = distance;
        nearest = static_cast<int64_t>(i);
      }
    }
    ImPlot::PopPlotClipRect();
    if (nearest < 0 || !ImPlot::IsPlotHovered()) return;
    HoverPoint(frame.context, nearest);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) Choose(nearest);
  }

  // Its place is looked for once, not in every frame that the pointer rests.
  void HoverPoint(Context& context, int64_t point) {
    if (point != hovered_ || hovered_version_ != version_) {
      hovered_ = point;
      hovered_version_ = version_;
      hovered_place_ = FindPoint(context, module_, curve_.points[static_cast<size_t>(point)]);
    }
    std::string text = PointText(curve_.points[static_cast<size_t>(point)]);
    if (hovered_place_.kind == SelectionKind::kInstruction) {
      context.marks.Of<Hovered>() = {hovered_place_, ImGui::GetFrameCount()};
      const Pending<hlo::Module>& read =
          context.data.Module(hovered_place_.module, hovered_place_.stage);
      if (read.ready()) {
        text += "\n\n" + SafeLines(HoverValues(context, hovered_place_.module, hovered_place_.stage,
                                               *read, hovered_place_.instruction));
      }
    }
    ImGui::SetTooltip("%s", text.c_str());
  }

  // Next to the point, on the other side where the plot ends.
  void DrawName(Frame& frame, ImDrawList& list, ImVec2 at, size_t point) const {
    const std::string name = SafeText(curve_.points[point].instruction, 32);
    const float width = ImGui::CalcTextSize(name.c_str()).x, gap = 10 * frame.scale;
    const bool fits = at.x + gap + width < ImPlot::GetPlotPos().x + ImPlot::GetPlotSize().x;
    const float above = std::max(at.y - 8 * frame.scale, ImPlot::GetPlotPos().y);
    const ImVec2 corner(fits ? at.x + gap : at.x - gap - width, above);
    // Other points lie there, too.
    const float edge = 3 * frame.scale;
    list.AddRectFilled({corner.x - edge, corner.y},
                       {corner.x + width + edge, corner.y + ImGui::GetTextLineHeight()},
                       frame.theme[Color::kCanvas], edge);
    list.AddText(corner, frame.theme[Color::kText], name.c_str());
  }

  void DrawTable(Frame& frame) {
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("##points", 7, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("instruction", ImGuiTableColumnFlags_WidthStretch);
    for (const char* title : {"opcode", "verdict", "beyond", "max error", "relative", "ULP"}) {
      ImGui::TableSetupColumn(title);
    }
    static constexpr std::array kHelp = {"instruction of the module",
                                         "its opcode",
                                         "how its values compare",
                                         "executions beyond tolerance, of all executions",
                                         "largest absolute error",
                                         "largest relative error",
                                         "largest error in units of the last place"};
    HeaderRow(kHelp);
    cursor_.Draw(frame, {.count = static_cast<int>(curve_.points.size()),
                         .is_selected = [&](int r) { return r == chosen_; },
                         .is_highlighted = {},
                         .choose = [&](int r) { Choose(r); },
                         .draw = [&](int r) { DrawRow(frame, r); }});
    ImGui::EndTable();
  }

  void DrawRow(Frame& frame, int row) {
    const WalkPoint& point = curve_.points[static_cast<size_t>(row)];
    const Verdict verdict = VerdictOf(point);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(row);
    if (Row(frame, "##point", row == chosen_, false)) Choose(row);
    if (ImGui::IsItemHovered()) HoverPoint(frame.context, row);
    ImGui::PopID();
    ImGui::SameLine(0, 0);
    FittedLabel(point.instruction);
    ImGui::TableNextColumn();
    Label(SafeText(point.opcode, 24));
    ImGui::TableNextColumn();
    VerdictLabel(frame, verdict);
    ImGui::TableNextColumn();
    RightLabel(point.diverging == 0 ? ""
                                    : fmt::format("{} of {}", CountText(point.diverging),
                                                  CountText(point.executions)));
    ImGui::TableNextColumn();
    RightLabel(ErrorText(point.max_abs_error));
    ImGui::TableNextColumn();
    RightLabel(ErrorText(point.max_rel_error));
    ImGui::TableNextColumn();
    RightLabel(UlpText(point.max_ulp));
  }

  ErrorCurve curve_;
  VerdictCounts counts_;
  CurveVersion version_;
  int32_t module_ = -1;
  int64_t chosen_ = -1, wanted_ = -1, first_ = -1;
  RowCursor cursor_;
  uint64_t seen_selection_ = 0;
  int64_t hovered_ = -1;
  CurveVersion hovered_version_;
  Selection hovered_place_;
  bool relative_ = true, was_relative_ = true, fits_ = true;
  double low_ = 1e-8, high_ = 1;
};

}  // namespace

std::unique_ptr<View> MakeCurveView() { return std::make_unique<CurveView>(); }

}  // namespace hloscope::viewer
