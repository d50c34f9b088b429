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

// Those that are judged.
Result<Arrays> ArraysOf(const Leaves& leaves, std::span<const int64_t> judged) {
  Arrays arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!judged.empty() && std::ranges::find(judged, static_cast<int64_t>(i)) == judged.end())
      continue;
    if (!leaves[i].has_value()) return std::unexpected(leaves[i].error());
    if (leaves[i]->shape().IsArray()) arrays.push_back(*leaves[i]);
  }
  return arrays;
}

Result<Leaves> OutputsOf(const RunReport& report) {
  if (report.error) return std::unexpected(*report.error);
  Leaves leaves;
  for (const RunOutput& output : report.outputs) {
    if (output.missing) return std::unexpected(*output.missing);
    leaves.push_back(output.value);
  }
  return leaves;
}

class ProgramExplainer {
 public:
  ProgramExplainer(const ModulePtr& module, const RunSpec& request,
                   const std::vector<hlo::Literal>& arguments, std::span<const int64_t> judged,
                   const std::stop_token& stop)
      : module_(module), request_(request), arguments_(arguments), judged_(judged), stop_(stop) {}

  Result<ProgramExplanation> Run(const Leaves& leaves) {
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays actual, ArraysOf(leaves, judged_));
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays expected, Evaluated(module_, arguments_));
    HLOSCOPE_TRY(Begin(std::move(actual), std::move(expected)));
    TrySwitches();
    tries_->TryReferences(module_, arguments_, [this](const auto& module, const auto& arguments) {
      return Evaluated(module, arguments);
    });
    return ProgramExplanation{tries_->cause(), tries_->Take()};
  }

  Result<ProgramExplanation> RunSwitches(const Leaves& leaves, const Leaves& right) {
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays actual, ArraysOf(leaves, judged_));
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays expected, ArraysOf(right, judged_));
    HLOSCOPE_TRY(Begin(std::move(actual), std::move(expected)));
    TrySwitches();
    return ProgramExplanation{tries_->cause(), tries_->Take()};
  }

 private:
  Status Begin(Arrays actual, Arrays expected) {
    if (actual.size() != expected.size())
      return InternalError("the reference has another number of results");
    tries_.emplace(std::move(actual), std::move(expected), request_.compare.bounds);
    return {};
  }

  Result<Arrays> Evaluated(const ModulePtr& module,
                           const std::vector<hlo::Literal>& arguments) const {
    HLOSCOPE_ASSIGN_OR_RETURN(
        const Leaves leaves,
        OutputsOf(
            RunModule(module, AloneSpec(request_, request_.reference.name, arguments), stop_)));
    return ArraysOf(leaves, judged_);
  }

  Result<Arrays> Switched(ptx::Switch which) const {
    replay::CapturePlan plan;
    plan.search = replay::SwitchedKernelsRequest(which);
    ResultsStream stream;
    HLOSCOPE_TRY(RunCapturing(module_, AloneSpec(request_, request_.test.name, arguments_), plan,
                              stream, stop_));
    Leaves leaves;
    for (auto& [number, leaf] : stream.leaves) leaves.push_back(std::move(leaf));
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays arrays, ArraysOf(leaves, judged_));
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
  const std::vector<hlo::Literal>& arguments_;
  std::span<const int64_t> judged_;  // empty: all
  const std::stop_token& stop_;
  std::optional<CauseTries> tries_;
};

}  // namespace

Result<ProgramExplanation> ExplainProgram(const ModulePtr& module, const RunSpec& request,
                                          const Leaves& actual,
                                          const std::vector<hlo::Literal>& arguments,
                                          std::span<const int64_t> judged,
                                          const std::stop_token& stop) {
  return ProgramExplainer(module, request, arguments, judged, stop).Run(actual);
}

Result<ProgramExplanation> ExplainBySwitches(const ModulePtr& module, const RunSpec& request,
                                             const Leaves& actual, const Leaves& expected,
                                             const std::vector<hlo::Literal>& arguments,
                                             const std::stop_token& stop) {
  return ProgramExplainer(module, request, arguments, {}, stop).RunSwitches(actual, expected);
}

}  // namespace hloscope::debug
