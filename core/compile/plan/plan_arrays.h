// The arrays that the caller of a plan hands in and takes, in order, without tokens.
#pragma once

#include <string>
#include <vector>

#include "core/compile/plan/plan.h"

namespace hloscope::compile {

struct PlanArray {
  BufferNumber buffer = 0;
  hlo::Shape shape;
  std::string name;  // of the parameter or root, with the place in a tuple: "state{1}"
};

std::vector<PlanArray> ParameterArrays(const Plan& plan);
// Several may have one buffer, or that of a parameter or constant.
std::vector<PlanArray> ResultArrays(const Plan& plan);

}  // namespace hloscope::compile
