// PlanSteps: ids of the program to ids of the module that was given.
#include "core/backends/gpusim/plan_steps.h"

#include <map>
#include <string_view>
#include <utility>

namespace hloscope::replay {

using hlo::InstructionId;
using hlo::Module;

namespace {

// By instruction of `program`, the one of that name, opcode and shape in `given`; empty where an
// instruction that runs by itself has none: then they are not the same module.
std::vector<InstructionId> SameInstructions(const Module& given, const Module& program) {
  std::map<std::string_view, InstructionId> by_name;
  for (uint32_t i = 0; i < given.instructions().size(); ++i) {
    by_name.emplace(given.name(InstructionId(i)), InstructionId(i));
  }
  std::vector<InstructionId> ids(program.instructions().size());
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const InstructionId id(i);
    const auto found = by_name.find(program.name(id));
    if (found == by_name.end() || given[found->second].opcode != program[id].opcode ||
        given.shape(found->second).WithoutLayouts() != program.shape(id).WithoutLayouts()) {
      return {};
    }
    ids[i] = found->second;
  }
  return ids;
}

}  // namespace

// Says whose instructions a finding names.
class PlanSteps::FindingStream : public RunStream {
 public:
  FindingStream(std::shared_ptr<const Module> module, RunStream& stream)
      : module_(std::move(module)), stream_(stream) {}
  void Take(RunEvent event) override {
    if (auto* finding = std::get_if<SearchFinding>(&event)) finding->module = module_;
    stream_.Take(std::move(event));
  }

 private:
  std::shared_ptr<const Module> module_;  // null: the one that was given
  RunStream& stream_;
};

PlanSteps::PlanSteps() = default;
PlanSteps::~PlanSteps() = default;

Result<std::unique_ptr<PlanSteps>> PlanSteps::Make(const std::shared_ptr<const Module>& given,
                                                   const std::shared_ptr<const Module>& program,
                                                   const CapturePlan& plan, RunStream& stream) {
  std::unique_ptr<PlanSteps> steps(new PlanSteps());
  steps->plan_ = plan;
  steps->ids_ = SameInstructions(*given, *program);
  const bool is_same = !steps->ids_.empty();
  if (!is_same && (!plan.items.empty() || plan.until)) {
    return UnsupportedError(
        "buffers are those of the optimised module, but this is another stage",
        "give the optimised module of the dump (…gpu_after_optimizations.txt) with --as-dumped; "
        "a compilation with --dump leaves one");
  }
  steps->stream_ = std::make_unique<FindingStream>(is_same ? nullptr : program, stream);
  HLOSCOPE_ASSIGN_OR_RETURN(steps->observer_, PlanObserver::Make(is_same ? *given : *program,
                                                                 steps->plan_, *steps->stream_));
  steps->observer_->FusionsAreWhole();
  return steps;
}

// Names of values that are there already are told only where somebody asks for them.
bool PlanSteps::Wants(const DeviceStep& step) {
  return step.kind != DeviceStepKind::kNothing || !plan_.items.empty() || plan_.until;
}

Status PlanSteps::OnStep(const StepValues& values) {
  if (ids_.empty()) return observer_->OnValue(values.site, values.operands, values.result);
  std::vector<runtime::Frame> frames;
  for (const runtime::Frame& frame : values.site.frames) {
    frames.push_back({ids_[frame.caller.index], frame.iteration});
  }
  return observer_->OnValue({ids_[values.site.instruction.index], values.site.device, frames},
                            values.operands, values.result);
}

}  // namespace hloscope::replay
