// ErrorCurve: how far values inside a module differ, in program order: from the last run of the
// divergence lab, or from the verdict of two platforms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/debug/explain/diverge/value_walk.h"
#include "core/debug/explain/diverge/verdict.h"
#include "viewer/model/context.h"
#include "viewer/model/experiment.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

struct ErrorCurve {
  std::vector<debug::WalkPoint> points;  // instructions whose values differ in some bit
  std::vector<int64_t> reached;          // results, by number, that differ beyond the bounds
  int64_t compared = 0;
  std::optional<int64_t> same_bits = 0;  // absent: not known
  std::string inner;   // the instruction inside the first kernel that differs; empty: not known
  std::string source;  // "the verdict of PLATFORM against REFERENCE"
};

// What the points of a curve are made of: it is another curve where this is another.
struct CurveVersion {
  const void* verdict = nullptr;
  size_t findings = 0;
  bool operator==(const CurveVersion&) const = default;
};
CurveVersion CurveVersionOf(Context& context, int32_t module);
ErrorCurve CurveOfVerdict(const debug::DivergeVerdict& verdict);
// Empty where nothing was compared.
ErrorCurve CurveOf(Context& context, int32_t module);

// How a point did, as the lab says of an instruction.
Verdict VerdictOf(const debug::WalkPoint& point);
// How many instructions did so; values with the same bits where their number is known.
VerdictCounts CountsOf(const ErrorCurve& curve);
// The worst error of a point for an axis by powers of ten: 1e300 for infinite or NaN ones.
double HeightOf(const debug::WalkPoint& point, bool relative);

// The instruction of a point: in the stage that is in view, else in the last one, else in the
// first; kNothing where none of them has it, or none is read yet.
Selection FindPoint(Context& context, int32_t module, const debug::WalkPoint& point);

// Verdicts by instruction of one stage: colours of a graph.
using Heat = std::unordered_map<uint32_t, Verdict>;
VerdictCounts CountsOf(const Heat& heat);
Heat HeatOf(Context& context, int32_t module, int32_t stage, const hlo::Module& read);

}  // namespace hloscope::viewer
