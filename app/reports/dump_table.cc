// A dump of many modules for people: a line for each, and what they are together.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>

#include "app/reports/dump_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/dump/processes.h"

namespace hloscope::app {
namespace {

constexpr size_t kMaxName = 60;

using Figure = int64_t ModulePart::*;
struct Column {
  std::string_view name, head;
  Figure figure;
  bool is_bytes;
};
constexpr Column kColumns[] = {
    {"stages", "stages", &ModulePart::stages, false},
    {"instructions", "instructions", &ModulePart::instructions, false},
    {"memory", "memory", &ModulePart::memory_bytes, true},
    {"peak", "peak", &ModulePart::peak_bytes, true},
};

std::string Cell(int64_t value, bool is_bytes) {
  if (value < 0) return "unknown";
  return is_bytes ? BytesText(value) : std::to_string(value);
}

std::string NameOf(const DumpReport& report, size_t m) {
  const dump::ModuleEntry& entry = report.model->modules()[m];
  std::string name = entry.id < 0 ? "" : fmt::format("module_{:04} ", entry.id);
  name += ShownName(entry.name) + dump::ProcessText(entry);
  return entry.folder.empty() ? name : fmt::format("{} in {}", name, entry.folder);
}

// The order of the rows: most of the figure first, by name where it is none.
std::vector<size_t> Sorted(const DumpReport& report, std::string_view by) {
  std::vector<size_t> order(report.parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto column = std::ranges::find(kColumns, by, &Column::name);
  if (column == std::end(kColumns)) {
    std::ranges::stable_sort(order, {}, [&](size_t m) { return report.model->modules()[m].name; });
    return order;
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](size_t m) { return report.parts[m].*column->figure; });
  return order;
}

// "22 of them unknown" where some are.
std::string TotalText(const DumpReport& report, const Column& column) {
  int64_t total = 0;
  size_t unknown = 0, largest = 0;
  for (size_t m = 0; m < report.parts.size(); ++m) {
    const int64_t figure = report.parts[m].*column.figure;
    if (figure < 0) ++unknown;
    total += std::max<int64_t>(0, figure);
    if (figure > report.parts[largest].*column.figure) largest = m;
  }
  if (unknown == report.parts.size()) return {};
  std::string out = FormatText("  {}: {} together, most in {} ({})", column.head,
                               Cell(total, column.is_bytes), NameOf(report, largest),
                               Cell(report.parts[largest].*column.figure, column.is_bytes));
  if (unknown > 0) out += FormatText(", unknown in {}", Counted(unknown, "module"));
  return out + "\n";
}

}  // namespace

std::vector<std::string> ModuleTableOrders() {
  std::vector<std::string> names;
  for (const Column& column : kColumns) names.emplace_back(column.name);
  names.emplace_back("name");
  return names;
}

std::string ModuleTable(const DumpReport& report, const ModuleTableOptions& options) {
  std::string out;
  for (const Column& column : kColumns) out += TotalText(report, column);
  const std::vector<size_t> order = Sorted(report, options.sort);
  const size_t shown = options.top == 0 ? order.size() : std::min(order.size(), options.top);
  size_t width = std::string_view("module").size();
  for (const size_t m : std::span(order).first(shown)) {
    width = std::max(width, std::min(kMaxName, NameOf(report, m).size()));
  }
  out += FormatText("  {:<{}}", "module", width);
  for (const Column& column : kColumns) out += FormatText(" {:>12}", column.head);
  out += '\n';
  for (const size_t m : std::span(order).first(shown)) {
    out += FormatText("  {:<{}}", NameOf(report, m), width);
    for (const Column& column : kColumns) {
      out += FormatText(" {:>12}", Cell(report.parts[m].*column.figure, column.is_bytes));
    }
    out += '\n';
  }
  if (shown < order.size()) {
    out +=
        fmt::format("  and {} (--top 0 lists all)\n", Counted(order.size() - shown, "more module"));
  }
  return out + "  --module MODULE shows one of them, --json all of them\n";
}

}  // namespace hloscope::app
