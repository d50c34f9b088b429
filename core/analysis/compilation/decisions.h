// The decisions of a compiler about fusion, in one form for all compilers, and the first in which
// two compilations of a program differ.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/compilation/why_fusion.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

struct Decision {
  std::string producer;
  std::string consumer;  // empty: all users of the producer
  std::string fusion;    // what the consumer is called from then on; empty: not fused
  std::string reason;    // may be empty where it is fused
  int64_t step = 0;      // as FusionReason::step
  bool is_fused() const { return !fusion.empty(); }
};

struct DecisionList {
  std::string made_by;                        // "priority-fusion", "fusion", "hloscope fusion"
  std::vector<Decision> decisions;            // refusals between two fusions are in any order
  std::shared_ptr<const hlo::Module> before;  // whose instructions they name; may be null
  std::shared_ptr<const hlo::Module> with_sources;  // with the lines of the program; may be null
  std::map<std::string, FusionEstimate> estimates;  // the first of each producer
  std::vector<std::pair<std::string, std::string>> device;  // that the compiler assumed
  std::vector<std::string> notes;
  bool of_all_modules = false;  // a log that does not say of which module a decision is
};

// Errors: a file cannot be read; the dump has no decisions about this module.
Result<DecisionList> DecisionsOf(const dump::DumpModel& model, int32_t module);

// What one of two compilations decided where they part.
struct DecisionSide {
  std::optional<Decision> decision;  // absent: none is left
  std::string text, source;          // in words; of the producer
  std::optional<FusionEstimate> estimate;
};

struct DecisionComparison {
  std::string made_by;
  int64_t count_a = 0, count_b = 0, fused_a = 0, fused_b = 0;
  int64_t same = 0;  // decisions of A before the first that differs
  bool differs = false;
  DecisionSide a, b;                 // of the first difference
  std::vector<std::string> because;  // what differs in what they were decided by, in words
  std::vector<std::string> notes;
};

// Names of B are those of A by what the instructions are. Two refusals for different reasons are no
// difference, but named in the notes. Error: different passes decided.
Result<DecisionComparison> CompareDecisions(const DecisionList& a, const DecisionList& b);

}  // namespace hloscope::analysis
