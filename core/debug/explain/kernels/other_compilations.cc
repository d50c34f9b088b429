// Other tiles of the same device, then other devices.
#include "core/debug/explain/kernels/other_compilations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace hloscope::debug {

using replay::KernelOutcome;

namespace {

struct Compilation {
  std::string what, target;
  std::vector<std::pair<std::string, std::string>> flags;
};

// The device that the kernel in question was compiled for.
std::string TargetOfCode(const KernelOutcome& outcome) {
  for (const auto& [sm, name] : {std::pair("sm_10", "b200"), std::pair("sm_9", "h100")}) {
    if (outcome.kernels_case->code[0].text.find(fmt::format(".target {}", sm)) != std::string::npos)
      return name;
  }
  return "a100";
}

std::vector<Compilation> CompilationsFor(const std::string& target) {
  std::vector<Compilation> all;
  for (const int k : {32, 64, 128}) {
    const std::string tile = fmt::format(
        "block_m:32 block_n:32 block_k:{} split_k:1 num_stages:1 num_warps:4 num_ctas:1", k);
    all.push_back({fmt::format("compiled for {} with tiles of 32×32×{}", target, k),
                   target,
                   {{"xla_gpu_override_gemm_autotuner", tile}}});
  }
  for (const char* other : {"a100", "h100", "b200"}) {
    if (target != other) all.push_back({fmt::format("compiled for {}", other), other, {}});
  }
  return all;
}

bool Agree(const RunReport& report, std::span<const int64_t> judged) {
  if (judged.empty()) return report.status == RunStatus::kEqual;
  return std::ranges::all_of(judged, [&](int64_t result) {
    if (std::cmp_greater_equal(result, report.outputs.size())) return false;
    const RunOutput& output = report.outputs[static_cast<size_t>(result)];
    return output.compared && output.comparison.equal();
  });
}

DivergeTry TryOf(const Compilation& other, const RunReport& report,
                 std::span<const int64_t> judged) {
  DivergeTry attempt{other.what, std::nullopt, ""};
  if (report.error) {
    attempt.detail = report.error->message;
    return attempt;
  }
  if (!report.executed || report.executed->kernels == 0) {
    attempt.detail = "no kernel ran";
    return attempt;
  }
  // What was handed to the evaluator says nothing about kernels of XLA.
  for (const auto& evaluated : report.executed->evaluated_ops) {
    if (evaluated.opcode != "fusion" && evaluated.opcode != "dot" &&
        evaluated.opcode != "custom-call")
      continue;
    attempt.detail = fmt::format("{} was computed by no kernel", evaluated.opcode);
    return attempt;
  }
  attempt.closes = Agree(report, judged);
  return attempt;
}

}  // namespace

std::vector<DivergeTry> OtherCompilations(const std::shared_ptr<const hlo::Module>& module,
                                          const RunSpec& request,
                                          const std::vector<hlo::Literal>& arguments,
                                          const KernelOutcome& outcome,
                                          std::span<const int64_t> judged,
                                          const std::stop_token& stop) {
  RunSpec again = request;
  again.inputs = again.inputs.With(arguments);
  again.repeats.iterations = again.repeats.runs = 1;
  const std::string target =
      request.load.gpu_target.empty() ? TargetOfCode(outcome) : request.load.gpu_target;
  std::vector<DivergeTry> tries;
  for (const Compilation& other : CompilationsFor(target)) {
    if (stop.stop_requested()) break;
    RunSpec one = again;
    one.load.gpu_target = other.target;
    for (const auto& flag : other.flags) one.test.xla_flags.push_back(flag);
    tries.push_back(TryOf(other, RunModule(module, one, stop), judged));
    if (tries.back().closes == true) break;
  }
  return tries;
}

}  // namespace hloscope::debug
