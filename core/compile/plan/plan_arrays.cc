// Leaves of parameters and of the root, with names.
#include "core/compile/plan/plan_arrays.h"

#include <fmt/format.h>

namespace hloscope::compile {

using hlo::InstructionId;
using hlo::Shape;

namespace {

class Leaves {
 public:
  explicit Leaves(const std::vector<BufferNumber>& buffers) : buffers_(buffers) {}

  void Take(const Shape& shape, const std::string& name, const std::string& place) {
    if (shape.IsTuple()) {
      for (size_t i = 0; i < shape.elements().size(); ++i) {
        Take(shape.elements()[i], name,
             place.empty() ? fmt::format("{}", i) : fmt::format("{},{}", place, i));
      }
      return;
    }
    const BufferNumber buffer = buffers_[next_++];
    if (shape.IsToken()) return;
    found_.push_back({buffer, shape, place.empty() ? name : fmt::format("{}{{{}}}", name, place)});
  }
  std::vector<PlanArray> found() && { return std::move(found_); }

 private:
  const std::vector<BufferNumber>& buffers_;
  size_t next_ = 0;
  std::vector<PlanArray> found_;
};

}  // namespace

std::vector<PlanArray> ParameterArrays(const Plan& plan) {
  Leaves leaves(plan.parameters);
  for (const InstructionId parameter : plan.module->Parameters(plan.computation)) {
    leaves.Take(plan.module->shape(parameter), std::string(plan.module->name(parameter)), "");
  }
  return std::move(leaves).found();
}

std::vector<PlanArray> ResultArrays(const Plan& plan) {
  Leaves leaves(plan.results);
  const InstructionId root = (*plan.module)[plan.computation].root;
  leaves.Take(plan.module->shape(root), std::string(plan.module->name(root)), "");
  return std::move(leaves).found();
}

}  // namespace hloscope::compile
