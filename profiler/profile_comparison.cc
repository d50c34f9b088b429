// Rows by name, then scaled by the median of their counts.
#include "profiler/profile_comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

namespace hloscope::profiler {

double RunsRatio(std::span<const std::pair<int64_t, int64_t>> counts) {
  std::vector<double> ratios;
  for (const auto& [before, after] : counts) {
    if (before > 0 && after > 0)
      ratios.push_back(static_cast<double>(after) / static_cast<double>(before));
  }
  if (ratios.empty()) return 1;
  const auto middle = ratios.begin() + std::ssize(ratios) / 2;
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

ProfileComparison CompareProfiles(const Attribution& before, const Attribution& after) {
  std::map<std::pair<std::string, std::string>, ComparedTime> by_name;
  auto row_of = [&](const Attribution& attribution, const InstructionTime& time) -> ComparedTime& {
    const AttributedModule& m = attribution.modules()[time.target.module];
    const hlo::InstructionId id = time.target.instruction;
    ComparedTime& row = by_name[{m.name, std::string(m.module->name(id))}];
    if (row.opcode.empty()) row.opcode = hlo::ToString((*m.module)[id].opcode);
    return row;
  };
  ProfileComparison out;
  for (const InstructionTime& time : before.times()) {
    ComparedTime& row = row_of(before, time);
    row.before_count += time.count;
    row.before += time.self;
    out.before += time.self;
  }
  for (const InstructionTime& time : after.times()) {
    ComparedTime& row = row_of(after, time);
    row.after_count += time.count;
    row.after += time.self;
    out.after += time.self;
  }
  std::vector<std::pair<int64_t, int64_t>> counts;
  for (auto& [names, row] : by_name) {
    std::tie(row.module, row.instruction) = names;
    counts.emplace_back(row.before_count, row.after_count);
    out.rows.push_back(std::move(row));
  }
  out.runs = RunsRatio(counts);
  for (ComparedTime& row : out.rows) row.after_scaled = static_cast<double>(row.after) / out.runs;
  std::ranges::stable_sort(out.rows, std::greater(),
                           [](const ComparedTime& row) { return std::abs(row.change()); });
  return out;
}

}  // namespace hloscope::profiler
