// Kernels of a test: HLO text run through generated code and through the evaluator.
#pragma once

#include <string>
#include <vector>

#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::codegen {

// How many units in the last place two floats may be apart; NaN equals NaN. Other types are equal.
struct Bound {
  double ulps = 0;
  double relative = 0;  // besides, of the larger of both, for sums
};

// Compiles the root of the entry, which must be a kernel of parameters, runs it grain by grain, on
// threads in any order, and expects what the evaluator says.
void ExpectAsEvaluated(const std::string& text, uint64_t seed = 1, Bound bound = {});
void ExpectAsEvaluated(const std::string& text, const std::vector<hlo::Literal>& arguments,
                       Bound bound = {});
// Code of all tests from here on is written for that processor; empty: this machine.
void SetTarget(const std::string& target);
// Processors by LLVM's names whose code runs on this machine, without and with its widest vectors.
std::vector<std::string> RunnableTargets();

// A module whose entry is one fusion: parameters p0, p1, … of these shapes (separated by spaces),
// the text of the body with its ROOT, the shape of its result, computations before it.
std::string Fused(const std::string& parameters, const std::string& body, const std::string& result,
                  const std::string& before = {});

// A random fusion of operations that are exact.
std::string RandomFusion(uint64_t seed);

// Elements of a type, special values among them.
hlo::Literal RandomLiteral(const hlo::Shape& shape, uint64_t seed);

}  // namespace hloscope::codegen
