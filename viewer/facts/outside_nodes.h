// TensorFlow's clusters, and the nodes that are in none of them.
#pragma once

#include <string>
#include <vector>

#include "core/dump/dump_model.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

// TensorFlow's clusters and what is in none of them; null: the dump holds none of its graphs.
const Pending<dump::TensorFlowSummary>* TensorFlowOf(Context& context);
// "12 TensorFlow nodes run outside all clusters"; empty: none does.
std::string OutsideText(const dump::TensorFlowSummary& summary);
// Nodes in none of the clusters, by reason and operation, most nodes first.
struct OutsideNodes {
  std::string reason, op;  // reason: empty where nothing is known
  std::string fix;         // what would change it; empty: nothing does
  std::vector<std::string> names;
};
std::vector<OutsideNodes> OutsideTable(const dump::TensorFlowSummary& summary);

}  // namespace hloscope::viewer
