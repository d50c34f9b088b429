// A column is its head and what a row holds there; nothing where that is not known.
#include "viewer/views/kernel_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

std::string Number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
std::string Number(int64_t value) { return std::to_string(value); }

std::string Extent(const std::optional<dump::Extent3>& extent) {
  return extent ? fmt::format("{}x{}x{}", (*extent)[0], (*extent)[1], (*extent)[2]) : "";
}

using Cell = std::string (*)(const KernelSheet& sheet, const KernelRow& row);
struct CsvColumn {
  const char* head;
  Cell cell;
};

constexpr std::array kTimes = {
    CsvColumn{"self_ps", [](const auto&, const auto& r) { return Number(r.self); }},
    CsvColumn{"share",
              [](const auto& s, const auto& r) {
                return s.work > 0
                           ? Number(static_cast<double>(r.self) / static_cast<double>(s.work))
                           : std::string();
              }},
    CsvColumn{"count", [](const auto&, const auto& r) { return Number(r.count); }},
    CsvColumn{"mean_ps", [](const auto&, const auto& r) { return Number(r.mean()); }},
    CsvColumn{"max_ps", [](const auto&, const auto& r) { return Number(r.max); }},
};

constexpr std::array kWork = {
    CsvColumn{"flops",
              [](const auto&, const auto& r) {
                return r.instruction.valid() ? Number(r.cost.flops + r.cost.transcendentals) : "";
              }},
    CsvColumn{"bytes",
              [](const auto&, const auto& r) {
                return r.instruction.valid() ? Number(r.cost.bytes()) : "";
              }},
    CsvColumn{"flops_per_second",
              [](const auto&, const auto& r) {
                return r.flops_per_second() > 0 ? Number(r.flops_per_second()) : "";
              }},
    CsvColumn{"bytes_per_second",
              [](const auto&, const auto& r) {
                return r.bytes_per_second() > 0 ? Number(r.bytes_per_second()) : "";
              }},
    CsvColumn{"grid", [](const auto&, const auto& r) { return Extent(r.launch.blocks); }},
    CsvColumn{"block", [](const auto&, const auto& r) { return Extent(r.launch.threads); }},
    CsvColumn{"registers",
              [](const auto&, const auto& r) { return r.registers ? Number(*r.registers) : ""; }},
    CsvColumn{
        "shared_bytes",
        [](const auto&, const auto& r) { return r.shared_bytes ? Number(*r.shared_bytes) : ""; }},
    CsvColumn{"occupancy",
              [](const auto&, const auto& r) {
                return r.occupancy < 0 ? std::string() : Number(r.occupancy);
              }},
    CsvColumn{"kernel", [](const auto&, const auto& r) { return CsvCell(r.kernel); }},
};

// What one launch did, in the mean.
std::string Mean(const KernelRow& row, double sum) {
  return row.sums.launches == 0 ? "" : Number(row.PerLaunch(sum));
}
constexpr std::array kFigures = {
    CsvColumn{"launches", [](const auto&, const auto& r) { return Number(r.sums.launches); }},
#define LAUNCH_FIGURE(field, name, metric)                               \
  CsvColumn{name, [](const auto&, const auto& r) {                       \
              return Mean(r, static_cast<double>(r.sums.figures.field)); \
            }},
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE
    CsvColumn{"model_us",
              [](const auto&, const auto& r) {
                return r.model_us() > 0 ? Number(r.model_us()) : std::string();
              }},
    CsvColumn{"model_bound", [](const auto&, const auto& r) { return CsvCell(r.sums.bound); }},
};

// Of all launches that were measured together, as in the JSON of `profile`.
constexpr std::array kMetrics = {
    CsvColumn{"measured_launches",
              [](const auto&, const auto& r) { return Number(r.sums.metrics.launches()); }},
#define KERNEL_METRIC(field, name, title, metric, kind, meaning) \
  CsvColumn{name, [](const auto&, const auto& r) {               \
              const auto value = r.sums.metrics.all().field;     \
              return value ? Number(*value) : std::string();     \
            }},
#include "profiler/kernel_metrics.def"
#undef KERNEL_METRIC
};

template <size_t N>
void AddHeads(const std::array<CsvColumn, N>& columns, std::string& out) {
  for (const CsvColumn& column : columns) out += fmt::format(",{}", column.head);
}
template <size_t N>
void AddCells(const std::array<CsvColumn, N>& columns, const KernelSheet& sheet,
              const KernelRow& row, bool are_known, std::string& out) {
  for (const CsvColumn& column : columns) {
    out += ',';
    if (are_known) out += column.cell(sheet, row);
  }
}

}  // namespace

std::string KernelCsv(const KernelSheet& sheet, bool swapped) {
  std::string out = "instruction,opcode";
  if (sheet.has_others) out += ",change_ps,ratio,before_ps,after_ps,ratio_low,ratio_high,verdict";
  AddHeads(kTimes, out);
  AddHeads(kWork, out);
  if (sheet.is_simulated) AddHeads(kFigures, out);
  if (sheet.has_metrics) AddHeads(kMetrics, out);
  out += '\n';
  for (const KernelRow& row : sheet.rows) {
    out += CsvCell(row.name) + ",";
    AppendCsvCell(out, row.opcode);
    if (sheet.has_others) {
      const double before = swapped ? row.after_time() : row.before_time();
      const double after = swapped ? row.before_time() : row.after_time();
      out += "," + Number(after - before) + "," + Number(after / before);
      out += "," + Number(before) + "," + Number(after);
      const auto ratio = row.ratio && swapped ? row.ratio->Inverse() : row.ratio;
      out += "," + (ratio ? Number(ratio->low) + "," + Number(ratio->high) : ",");
      out += "," + std::string(KeyOf(swapped ? profiler::Inverse(row.verdict) : row.verdict));
    }
    AddCells(kTimes, sheet, row, row.count > 0, out);
    AddCells(kWork, sheet, row, true, out);
    if (sheet.is_simulated) AddCells(kFigures, sheet, row, row.sums.launches > 0, out);
    if (sheet.has_metrics) AddCells(kMetrics, sheet, row, row.sums.metrics.launches() > 0, out);
    out += '\n';
  }
  return out;
}

}  // namespace hloscope::viewer
