// Roofline: every kernel by operations a byte and operations a second, under what the device can
// do.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <implot/implot.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "viewer/facts/kernel_sheet.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

struct Point {
  double intensity, rate;
  const KernelRow* row;
  double time;  // that its area is a share of
};

class RooflineView : public View {
 public:
  void Draw(Frame& frame) override {
    const Pending<KernelSheet>* pending = KernelSheetOf(frame.context);
    if (pending == nullptr) {
      Sentence(frame, "loading kernels and times …");
      return;
    }
    if (!ShowPending(frame, *pending, "the roofline")) return;
    const KernelSheet& sheet = **pending;
    const std::vector<Point> points = PointsOf(sheet);
    shown_ = points.size();
    if (points.empty()) {
      Sentence(frame,
               sheet.is_estimate && sheet.device.source.empty()
                   ? "no trace, and no device description in the dump (gpu_target_config.pbtxt): "
                     "open a trace of this module (`hloscope open DUMP TRACE`)"
                   : "no instruction has both a time and a known cost: open a trace of this module "
                     "(`hloscope open DUMP TRACE`)");
      return;
    }
    if (sheet.is_estimate) {
      Sentence(
          frame,
          "no trace: each kernel is as high as its bytes at the memory bandwidth and its FLOPs "
          "at the rate for their type allow; areas are shares of that least time (estimate)");
    }
    if (sheet.is_simulated) {
      Sentence(frame, "counted operations and bytes; rates are upper bounds of the model");
    }
    if (sheet.device.source.empty()) {
      Sentence(frame,
               "peak performance unknown: no device description in trace or dump "
               "(gpu_target_config.pbtxt)");
    }
    DrawPlot(frame, sheet, points);
  }

  // Empty: everything.
  std::string Arrangement() const override { return seen_ == all_ ? "" : seen_; }
  void SetArrangement(std::string_view arrangement) override {
    std::array<double, 4> ends = {};
    const char* at = arrangement.data();
    const char* const last = at + arrangement.size();
    for (double& end : ends) {
      at = std::from_chars(at, last, end).ptr;
      if (at != last) ++at;
    }
    wanted_ = ImPlotRect(ends[0], ends[1], ends[2], ends[3]);
    seen_ = arrangement.empty() ? all_ : std::string(arrangement);
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const Pending<KernelSheet>* sheet = KernelSheetOf(context);
    if (format != ExportFormat::kCsv || sheet == nullptr || !sheet->ready())
      return View::Export(format, context);
    // Without a trace: as fast as the device allows.
    std::string out = (*sheet)->is_estimate ? "instruction,flop_per_byte,most_flop_per_second\n"
                                            : "instruction,flop_per_byte,flop_per_second\n";
    for (const Point& point : PointsOf(**sheet))
      out += fmt::format("{},{},{}\n", CsvCell(point.row->name), point.intensity, point.rate);
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    std::string out = fmt::format("points {}\n", shown_);
    const Pending<KernelSheet>* sheet = KernelSheetOf(context);
    if (sheet == nullptr || !sheet->ready()) return out;
    for (const Point& point : PointsOf(**sheet)) {
      if (IsHighlighted(context, **sheet, *point.row))
        out += "highlighted " + point.row->name + "\n";
    }
    return out;
  }

 private:
  // What has both a time and work; without a trace what has work, on the limits of the device.
  static std::vector<Point> PointsOf(const KernelSheet& sheet) {
    std::vector<Point> points;
    for (const KernelRow& row : sheet.rows) {
      if (sheet.is_simulated) {
        const profiler::LaunchFigures& figures = row.sums.figures;
        const auto flops = static_cast<double>(figures.flops());
        if (flops > 0 && figures.touched_bytes > 0 && row.sums.model_us > 0)
          points.push_back({flops / static_cast<double>(figures.touched_bytes),
                            flops / (1e-6 * row.sums.model_us), &row, row.sums.model_us});
        continue;
      }
      if (sheet.is_estimate) {
        const KernelBound& bound = row.bound;
        if (bound.ps > 0 && bound.flops > 0 && bound.bytes > 0)
          points.push_back(
              {bound.flops / bound.bytes, bound.flops / (1e-12 * bound.ps), &row, bound.ps});
        continue;
      }
      if (row.flops_per_second() > 0 && row.cost.bytes() > 0)
        points.push_back(
            {row.cost.intensity(), row.flops_per_second(), &row, static_cast<double>(row.self)});
    }
    return points;
  }

  // With room around all points and the limits of the device.
  static ImPlotRect LimitsOf(const KernelSheet& sheet, const std::vector<Point>& points) {
    double x0 = 1e300, x1 = 0, y0 = 1e300, y1 = 0;
    for (const Point& p : points) {
      x0 = std::min(x0, p.intensity);
      x1 = std::max(x1, p.intensity);
      y0 = std::min(y0, p.rate);
      y1 = std::max(y1, p.rate);
    }
    const profiler::DeviceFacts& device = sheet.device;
    if (device.flops_per_second > 0) {
      y1 = std::max(y1, device.flops_per_second);
      if (device.bytes_per_second > 0) {
        x1 = std::max(x1, device.flops_per_second / device.bytes_per_second);
      }
    }
    return {x0 / 3, x1 * 3, y0 / 3, y1 * 3};
  }

  // As far as it is visible.
  static std::string LimitsText(const ImPlotRect& limits) {
    return fmt::format("{:.4g} {:.4g} {:.4g} {:.4g}", limits.X.Min, limits.X.Max, limits.Y.Min,
                       limits.Y.Max);
  }

  // Everything is shown at first, and where undo goes back to that.
  void PlaceLimits(const ImPlotRect& all) {
    const std::string text = LimitsText(all);
    const bool is_other = std::exchange(all_, text) != text;
    if (!wanted_ && !is_other) return;
    const ImPlotRect& limits = wanted_ && !is_other && wanted_->Size().x > 0 ? *wanted_ : all;
    ImPlot::SetupAxesLimits(limits.X.Min, limits.X.Max, limits.Y.Min, limits.Y.Max,
                            ImPlotCond_Always);
    wanted_.reset();
  }

  void DrawPlot(Frame& frame, const KernelSheet& sheet, const std::vector<Point>& points) {
    ImPlot::PushStyleColor(ImPlotCol_FrameBg, frame.theme.With(Color::kPanel, 0));
    ImPlot::PushStyleColor(ImPlotCol_PlotBg, frame.theme[Color::kCanvas]);
    ImPlot::PushStyleColor(ImPlotCol_AxisText, frame.theme[Color::kTextSecondary]);
    ImPlot::PushStyleColor(ImPlotCol_AxisGrid, frame.theme.With(Color::kLine, 0.8F));
    if (ImPlot::BeginPlot("##roofline", ImVec2(-1, -1),
                          ImPlotFlags_NoLegend | ImPlotFlags_NoMenus)) {
      ImPlot::SetupAxes("flop per byte", "flop per second");
      ImPlot::SetupAxisScale(ImAxis_X1, ImPlotScale_Log10);
      ImPlot::SetupAxisScale(ImAxis_Y1, ImPlotScale_Log10);
      PlaceLimits(LimitsOf(sheet, points));
      seen_ = LimitsText(ImPlot::GetPlotLimits());
      DrawCeilings(frame, sheet.device);
      DrawPoints(frame, sheet, points);
      ImPlot::EndPlot();
    }
    ImPlot::PopStyleColor(4);
  }

  static void DrawCeilings(Frame& frame, const profiler::DeviceFacts& device) {
    const ImPlotRect seen = ImPlot::GetPlotLimits();
    ImDrawList& list = *ImPlot::GetPlotDrawList();
    const uint32_t color = frame.theme[Color::kWarning];
    auto line = [&](double x0, double y0, double x1, double y1) {
      const ImVec2 a = ImPlot::PlotToPixels(x0, y0), b = ImPlot::PlotToPixels(x1, y1);
      list.AddLine(a, b, color, 1.5F * frame.scale);
    };
    ImPlot::PushPlotClipRect();
    const double flops = device.flops_per_second, bytes = device.bytes_per_second;
    const double ridge = flops > 0 && bytes > 0 ? flops / bytes : 0;
    if (flops > 0) line(std::max(ridge, seen.X.Min), flops, seen.X.Max, flops);
    if (bytes > 0) {
      const double end = ridge > 0 ? ridge : seen.X.Max;
      line(seen.X.Min, seen.X.Min * bytes, end, end * bytes);
    }
    if (ridge > 0) {
      const std::string text =
          fmt::format("{:.3g} Tflop/s f32, {:.3g} GB/s", flops / 1e12, bytes / 1e9);
      const ImVec2 at = ImPlot::PlotToPixels(ridge, flops);
      const float width = ImGui::CalcTextSize(text.c_str()).x;
      list.AddText(ImVec2(at.x - width / 2, at.y - 20 * frame.scale), color, text.c_str());
    }
    ImPlot::PopPlotClipRect();
  }

  static bool IsHighlighted(Context& context, const KernelSheet& sheet, const KernelRow& row) {
    if (context.navigation.selection().kind <= SelectionKind::kStage || !row.instruction.valid())
      return false;
    return context.navigation.counterparts().InStage(sheet.stage, row.instruction);
  }

  // That of all kernels; of an estimate that of the points.
  static double TimeOfAll(const KernelSheet& sheet, const std::vector<Point>& points) {
    if (sheet.is_simulated) return sheet.model_us;
    if (!sheet.is_estimate) return static_cast<double>(std::max<int64_t>(sheet.work, 1));
    double sum = 0;
    for (const Point& p : points) sum += p.time;
    return sum;
  }

  static void DrawPoints(Frame& frame, const KernelSheet& sheet, const std::vector<Point>& points) {
    Context& context = frame.context;
    ImDrawList& list = *ImPlot::GetPlotDrawList();
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const Point* nearest = nullptr;
    float best = 14 * frame.scale;
    const double whole = std::max(TimeOfAll(sheet, points), 1e-300);
    ImPlot::PushPlotClipRect();
    for (const Point& p : points) {
      const ImVec2 at = ImPlot::PlotToPixels(p.intensity, p.rate);
      // The area of a point is its share of the time.
      const double share = p.time / whole;
      const float radius =
          (3.5F + 16 * static_cast<float>(std::sqrt(std::max(share, 0.0)))) * frame.scale;
      const uint32_t fill = frame.theme.With(ColorOf(p.row->code), 0.55F);
      list.AddCircleFilled(at, radius, fill);
      const bool is_highlighted = IsHighlighted(context, sheet, *p.row);
      list.AddCircle(at, radius,
                     frame.theme[is_highlighted ? Color::kAccent : ColorOf(p.row->code)], 0,
                     (is_highlighted ? 2.5F : 1.0F) * frame.scale);
      if (is_highlighted || share > 0.1) {
        // Next to the point, on the other side where the plot ends.
        const std::string name = SafeText(p.row->name, 32);
        const float width = ImGui::CalcTextSize(name.c_str()).x, gap = radius + 4 * frame.scale;
        const bool fits = at.x + gap + width < ImPlot::GetPlotPos().x + ImPlot::GetPlotSize().x;
        list.AddText(ImVec2(fits ? at.x + gap : at.x - gap - width, at.y - 8 * frame.scale),
                     frame.theme[Color::kText], name.c_str());
      }
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (distance < best + radius) {
        best = std::max(0.0F, distance - radius);
        nearest = &p;
      }
    }
    ImPlot::PopPlotClipRect();
    if (nearest == nullptr || !ImPlot::IsPlotHovered()) return;
    const KernelRow& row = *nearest->row;
    ImGui::SetTooltip(
        "%s",
        (sheet.is_simulated ? fmt::format("{} ({})\n{}\n{:.3g} flop/B", SafeText(row.name, 80),
                                          row.opcode, LaunchText(row), nearest->intensity)
         : sheet.is_estimate
             ? fmt::format("{} ({})\nat least {} in one run (estimate), {:.3g} flop/B",
                           SafeText(row.name, 80), row.opcode, TimeText(nearest->time),
                           nearest->intensity)
             : fmt::format("{} ({})\n{} an execution, {:.3g} flop/s, {:.3g} B/s, {:.3g} flop/B",
                           SafeText(row.name, 80), row.opcode, TimeText(row.mean()),
                           row.flops_per_second(), row.bytes_per_second(), row.cost.intensity()))
            .c_str());
    const bool clicked = ImGui::IsMouseClicked(ImGuiMouseButton_Left);
    const int32_t module = context.navigation.module();
    if (clicked && module >= 0 && row.instruction.valid()) {
      context.navigation.Select(Selection::OfInstruction(module, sheet.stage, row.instruction));
    }
  }

  size_t shown_ = 0;
  std::string all_, seen_;            // limits of everything, and as they are
  std::optional<ImPlotRect> wanted_;  // from undo; of no size: of everything
};

}  // namespace

std::unique_ptr<View> MakeRooflineView() { return std::make_unique<RooflineView>(); }

}  // namespace hloscope::viewer
