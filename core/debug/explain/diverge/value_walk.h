// ValueWalk: what the values inside a module say about two platforms; a part of a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/debug/compare/compare_values.h"
#include "core/debug/compare/precise_distance.h"

namespace hloscope::debug {

// An instruction whose values differ in some bit, over all its executions on all devices.
struct WalkPoint {
  std::string instruction, computation, opcode;
  int64_t executions = 0;   // compared
  int64_t differing = 0;    // of them in some bit
  int64_t diverging = 0;    // of them beyond the bounds
  std::string worst_calls;  // how the execution with the largest error was reached
  double max_abs_error = 0, max_rel_error = 0;
  uint64_t max_ulp = 0;
};

// An instruction inside a kernel, run by itself on the values that it has there.
struct InnerPoint {
  std::string instruction, opcode;
  LeafComparison comparison;
};

struct ValueWalk {
  // Each boundary was run as a module of its own: `bits` says so, and `same_bits` is not known.
  bool one_at_a_time = false;
  int64_t boundaries = 0;  // instructions whose values were captured
  int64_t compared = 0;    // values
  int64_t same_bits = 0;
  int64_t diverging = 0;  // beyond the bounds
  // Values that one side did not tell (a loop of known count does not run its condition), and those
  // that did not fit into memory and lie behind the first divergence.
  int64_t untold = 0, left_out = 0;
  int64_t too_large = 0;  // that differ by their hash, and are too large to be kept and compared
  std::vector<WalkPoint> curve;  // in program order
  std::vector<int64_t> reached;  // results, by number, that differ beyond the bounds
  // The results with capture have the bits of those without, and of the plain run with all passes;
  // absent: not known.
  std::optional<bool> capture_keeps_bits, same_plain_bits;
  std::string bits;  // the same in words
  // The first divergence: by how many ULP each side is away from the value in double precision; of
  // a kernel that computes in it, which the reference does exactly so, the platform's alone.
  std::optional<PreciseDistance> platform_distance, reference_distance;
  bool asks_for_rounding = false;  // which that value leaves out
  std::optional<InnerPoint> inner;
  // The results differ, and those of the optimised module do not: its passes made the difference.
  bool passes_differ = false;
  double capture_ms = 0, plain_ms = 0;  // running the instrumented module, and the plain one
};

}  // namespace hloscope::debug
