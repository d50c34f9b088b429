#include "viewer/divergence/value_pictures.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <implot/implot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr int64_t kPixels = 192;  // of a picture's side

}  // namespace

void DrawValuePicture(Frame& frame, ValueGrid& grid, ValueSide side, int64_t page) {
  if (grid.rows() == 0 || grid.columns() == 0) {
    Sentence(frame, "empty array");
    return;
  }
  const ValueSummary& all = grid.summary(side);
  const int64_t height = std::min(grid.rows(), kPixels), width = std::min(grid.columns(), kPixels);
  std::vector<double> pixels;
  pixels.reserve(static_cast<size_t>(height * width));
  for (int64_t r = 0; r < height; ++r) {
    for (int64_t c = 0; c < width; ++c) {
      const double value =
          grid.Number(side, grid.At(page, r * grid.rows() / height, c * grid.columns() / width));
      pixels.push_back(std::isfinite(value) ? value : all.largest);
    }
  }
  if (height < grid.rows() || width < grid.columns()) {
    Label(frame.theme, Color::kTextSecondary,
          fmt::format("{} × {} of {} × {} elements, evenly spaced", height, width,
                      CountText(grid.rows()), CountText(grid.columns())));
  }
  const double high = all.largest > all.least ? all.largest : all.least + 1;
  ImPlot::PushColormap(ImPlotColormap_Viridis);
  const ImVec2 size(ImGui::GetContentRegionAvail().x - 110 * frame.scale, -1);
  constexpr ImPlotAxisFlags kAxis = ImPlotAxisFlags_NoGridLines | ImPlotAxisFlags_NoTickMarks;
  if (ImPlot::BeginPlot("##picture", size, ImPlotFlags_NoLegend | ImPlotFlags_NoMouseText)) {
    ImPlot::SetupAxes("column", "row", kAxis, kAxis | ImPlotAxisFlags_Invert);
    ImPlot::PlotHeatmap("##heat", pixels.data(), static_cast<int>(height), static_cast<int>(width),
                        all.least, high, nullptr, ImPlotPoint(0, static_cast<double>(grid.rows())),
                        ImPlotPoint(static_cast<double>(grid.columns()), 0));
    ImPlot::EndPlot();
  }
  ImGui::SameLine();
  ImPlot::ColormapScale("##scale", all.least, high, ImVec2(90 * frame.scale, -1), "%.3g");
  ImPlot::PopColormap();
}

void DrawHistogram(Frame& frame, ValueGrid& grid, ValueSide side) {
  const ValueSummary& all = grid.summary(side);
  Label(frame.theme, Color::kTextSecondary,
        fmt::format("{}{}: {} NaN, {} infinite, {} zero; {:.6g} to {:.6g}, mean {:.6g}",
                    grid.sampled() ? "a sample of " : "", CountedText(all.elements, "element"),
                    CountText(all.nans), CountText(all.infinities), CountText(all.zeros), all.least,
                    all.largest, all.mean));
  const auto& bins = grid.histogram(side);
  std::array<double, ValueGrid::kBins> x{}, y{};
  const double width = (all.largest - all.least) / static_cast<double>(ValueGrid::kBins);
  for (size_t i = 0; i < bins.size(); ++i) {
    x[i] = all.least + width * (static_cast<double>(i) + 0.5);
    y[i] = static_cast<double>(bins[i]);
  }
  if (!ImPlot::BeginPlot("##histogram", ImVec2(-1, -1), ImPlotFlags_NoLegend)) return;
  ImPlot::SetupAxes("value", "elements", ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  ImPlot::PlotBars("##bars", x.data(), y.data(), static_cast<int>(bins.size()),
                   width > 0 ? width : 1.0);
  ImPlot::EndPlot();
}

}  // namespace hloscope::viewer
