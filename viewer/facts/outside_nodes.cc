#include "viewer/facts/outside_nodes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/dump/tensorflow_verdict.h"
#include "viewer/facts/file_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {

std::string OutsideText(const dump::TensorFlowSummary& summary) {
  const auto count = std::ranges::count_if(summary.unclustered, dump::RunsOutside);
  if (count == 0) return {};
  return CountedText(count, "TensorFlow node runs", "TensorFlow nodes run") +
         " outside all clusters";
}

std::vector<OutsideNodes> OutsideTable(const dump::TensorFlowSummary& summary) {
  std::map<std::pair<std::string_view, std::string_view>, OutsideNodes> groups;
  for (const dump::TensorFlowNode& node : summary.unclustered) {
    if (!dump::RunsOutside(node)) continue;
    OutsideNodes& row = groups[{node.reason, node.op}];
    row.reason = node.reason;
    row.op = node.op;
    row.fix = node.fix;
    row.names.push_back(node.name);
  }
  std::vector<OutsideNodes> rows;
  for (auto& [key, row] : groups) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater(),
                           [](const OutsideNodes& row) { return row.names.size(); });
  return rows;
}

const Pending<dump::TensorFlowSummary>* TensorFlowOf(Context& context) {
  if (!FileFactsOf(context).roles.contains(dump::FileRole::kTensorFlowGraph)) return nullptr;
  return &context.cache.Get(
      PartKey<dump::TensorFlowSummary>{}, "reading TensorFlow graphs",
      [dump = context.document.dump().value](TaskControl&) { return dump->TensorFlow(); });
}

}  // namespace hloscope::viewer
