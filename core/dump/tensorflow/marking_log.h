// What TensorFlow itself says about clustering: its log at
// TF_CPP_VMODULE=mark_for_compilation_pass=4,compilability_check_util=4.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

// One run of the pass, over one graph.
struct MarkingRun {
  struct Word {
    OutsideReason why = OutsideReason::kUnknown;  // kUnknown: words that no row knows
    std::string op;                               // empty where the line does not say
    std::string text;                             // of the log, without time and place
  };
  std::string graph;  // "mark_for_compilation_2", empty: not dumped, for it has no candidate
  std::string later;  // the graph after it, "before_increase_dynamism_…_2"; empty: not dumped
  std::map<std::string, Word> nodes;            // that no cluster may hold
  std::multimap<std::string, Word> edges;       // by either end: what spoke against joining it
  std::map<std::string, std::string> assigned;  // nodes to clusters
};

struct MarkingLog {
  std::vector<MarkingRun> runs;
  std::vector<std::string> warnings;  // lines that could not be read
};

// Of the words of the log by tensorflow_reasons.def; kUnknown: none fits.
OutsideReason LoggedReason(std::string_view words);

MarkingLog ReadMarkingLog(std::string_view text);

// Says of the node what the run says of it; false: nothing.
bool ApplyLog(const MarkingRun& run, TensorFlowNode& node);

}  // namespace hloscope::dump
