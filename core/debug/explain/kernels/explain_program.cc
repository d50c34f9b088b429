// Whole runs with a switch, and whole references done otherwise.
#include "core/debug/explain/kernels/explain_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/backends/gpusim/switched_kernels.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/kernels/cause_tries.h"
#include "core/debug/explain/kernels/switch_causes.h"
#include "core/ptx/switches/switches.h"

namespace hloscope::debug {

using ModulePtr = std::shared_ptr<const hlo::Module>;

namespace {

class ResultsStream : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override {
    auto* leaf = std::get_if<replay::LeafResult>(&event);
    if (leaf != nullptr && leaf->device == 0) leaves.insert_or_assign(leaf->leaf, leaf->value);
  }
  std::map<int64_t, Result<hlo::Literal>> leaves;
};

Result<Arrays> OutputsOf(const RunReport& report) {
  if (report.error) return std::unexpected(*report.error);
  Arrays arrays;
  for (const RunOutput& output : report.outputs) {
    if (output.missing) return std::unexpected(*output.missing);
    if (output.value.shape().IsArray()) arrays.push_back(output.value);
  }
  return arrays;
}

class ProgramExplainer {
 public:
  ProgramExplainer(const ModulePtr& module, const RunSpec& request, const RunReport& plain,
                   const std::stop_token& stop)
      : module_(module), request_(request), plain_(plain), stop_(stop) {}

  Result<ProgramExplanation> Run() {
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays actual, OutputsOf(plain_));
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays expected, Evaluated(module_));
    if (actual.size() != expected.size())
      return InternalError("the reference has another number of results");
    tries_.emplace(std::move(actual), std::move(expected), request_.compare.bounds);
    TrySwitches();
    tries_->TryReferences(module_, [this](const ModulePtr& module) { return Evaluated(module); });
    return ProgramExplanation{tries_->cause(), tries_->Take()};
  }

 private:
  Result<Arrays> Evaluated(const ModulePtr& module) const {
    return OutputsOf(
        RunModule(module, AloneSpec(request_, request_.reference.name, plain_.arguments), stop_));
  }

  Result<Arrays> Switched(ptx::Switch which) const {
    replay::CapturePlan plan;
    plan.search = replay::SwitchedKernelsRequest(which);
    ResultsStream stream;
    HLOSCOPE_TRY(RunCapturing(module_, AloneSpec(request_, request_.test.name, plain_.arguments),
                              plan, stream, stop_));
    Arrays arrays;
    for (auto& [number, leaf] : stream.leaves) {
      if (!leaf.has_value()) return std::unexpected(leaf.error());
      if (leaf->shape().IsArray()) arrays.push_back(*std::move(leaf));
    }
    if (arrays.size() != tries_->actual().size())
      return InternalError("it has another number of results");
    return arrays;
  }

  bool SameBits(const Arrays& arrays) const {
    return std::ranges::equal(arrays, tries_->actual(), [](const auto& a, const auto& b) {
      return std::ranges::equal(a.bytes(), b.bytes());
    });
  }

  void TrySwitches() {
    std::vector<Arrays> pushed;
    for (const ptx::SwitchRow& row : ptx::SwitchRows()) {
      auto arrays = Switched(row.which);
      const std::string what = std::string(row.text) + " (in all kernels)";
      if (!arrays.has_value()) {
        tries_->NoteFailure(what, arrays.error());
      } else if (const auto cause = CauseOf(row.which)) {
        if (!SameBits(*arrays)) tries_->Note(what, *arrays, tries_->expected(), *cause);
      } else if (!SameBits(*arrays)) {
        pushed.push_back(*std::move(arrays));
      }
    }
    if (pushed.size() == 2) tries_->NoteApproximations("in all kernels", pushed[0], pushed[1]);
  }

  const ModulePtr& module_;
  const RunSpec& request_;
  const RunReport& plain_;
  const std::stop_token& stop_;
  std::optional<CauseTries> tries_;
};

}  // namespace

Result<ProgramExplanation> ExplainProgram(const ModulePtr& module, const RunSpec& request,
                                          const RunReport& plain, const std::stop_token& stop) {
  return ProgramExplainer(module, request, plain, stop).Run();
}

}  // namespace hloscope::debug
