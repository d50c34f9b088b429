// Isolating the instructions of an optimised module, and going into what contains others.
#include "core/debug/explain/diverge/lone_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "core/debug/explain/diverge/difference_paths.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/reduce/edit.h"
#include "core/hlo/analysis/find_instruction.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxIterations = 256;  // of a loop that are looked at
constexpr std::chrono::seconds kLongestLoop(20);
constexpr int kDeepest = 4;  // loops and branches in one another
constexpr size_t kMaxKernels = 8;

// Values of a module's results, as one literal of the root's shape.
Result<Literal> WholeOf(const RunReport& report, const hlo::Shape& shape) {
  if (report.error) return std::unexpected(*report.error);
  std::vector<Literal> leaves;
  for (const RunOutput& output : report.outputs) {
    if (output.missing) return std::unexpected(*output.missing);
    leaves.push_back(output.value);
  }
  size_t next = 0;
  auto whole = hlo::NestLeaves(shape, leaves, next);
  if (!whole) return InternalError("a result is missing");
  return *std::move(whole);
}

class LoneWalk {
 public:
  LoneWalk(const RunSpec& request, const std::stop_token& stop) : request_(request), stop_(stop) {
    found_.walk.one_at_a_time = true;
  }

  Status Run(const std::shared_ptr<const Module>& module, const std::vector<Literal>& arguments,
             std::span<const int64_t> results) {
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<InstructionReport> differing,
                              Differing(module, arguments, ""));
    // What each has on the reference's operands says nothing about what it has in the whole run.
    const std::vector<bool> may_differ(module->instructions().size(), true);
    std::vector<int64_t>& left = found_.unexplained;
    left.assign(results.begin(), results.end());
    for (const InstructionReport& report : differing) {
      std::vector<int64_t> reached;
      if (!results.empty()) {
        const InstructionId id = hlo::FindInstruction(*module, report.instruction);
        if (id.valid()) reached = TakeResultsFrom(*module, id, may_differ, left);
        if (reached.empty()) {
          if (found_.aside.empty() && found_.kernels.empty()) found_.aside = report.instruction;
          continue;
        }
      }
      LoneKernel kernel = KernelOf(module, report, arguments, "", 0);
      kernel.results = std::move(reached);
      found_.kernels.push_back(std::move(kernel));
      if (left.empty() || found_.kernels.size() == kMaxKernels) break;
    }
    return {};
  }

  LoneKernels Take() && {
    auto& curve = found_.walk.curve;
    std::erase_if(curve, [](const WalkPoint& point) { return point.differing == 0; });
    return std::move(found_);
  }

 private:
  // A part of the module, on both platforms.
  RunSpec Both(const std::vector<Literal>& arguments) const {
    RunSpec both = AloneSpec(request_, request_.test.name, arguments);
    both.reference = request_.reference;
    both.test.run_passes = both.reference.run_passes = true;
    return both;
  }

  RunReport Isolate(const std::shared_ptr<const Module>& module,
                    const std::vector<Literal>& arguments,
                    std::function<void(const InstructionReport&)> on_instruction) const {
    RunSpec isolate = Both(arguments);
    isolate.compare.isolate = true;
    RunSinks sinks;
    sinks.on_instruction = std::move(on_instruction);
    return RunModule(module, isolate, sinks, stop_);
  }

  void Note(const InstructionReport& report, const std::string& calls) {
    ValueWalk& walk = found_.walk;
    ++walk.boundaries;
    if (report.error) {
      found_.not_run.push_back(report.instruction + ": " + report.error->message);
      ++walk.untold;
      return;
    }
    WalkPoint point{report.instruction, report.computation, report.opcode, 1, 0, 0, calls};
    for (const LeafComparison& leaf : report.outputs) {
      ++walk.compared;
      if (!leaf.equal()) ++walk.diverging, point.diverging = 1;
      if (!leaf.equal() || leaf.max_abs_error > 0) point.differing = 1;
      point.max_abs_error = std::max(point.max_abs_error, leaf.max_abs_error);
      point.max_rel_error = std::max(point.max_rel_error, leaf.max_rel_error);
      point.max_ulp = std::max(point.max_ulp, static_cast<uint64_t>(leaf.max_ulp));
    }
    walk.curve.push_back(std::move(point));
  }

  using Inner = std::optional<LoneKernel>;

  // All that differ by themselves, in order.
  Result<std::vector<InstructionReport>> Differing(const std::shared_ptr<const Module>& module,
                                                   const std::vector<Literal>& arguments,
                                                   const std::string& calls) {
    std::vector<InstructionReport> differing;
    const RunReport report = Isolate(module, arguments, [&](const InstructionReport& each) {
      Note(each, calls);
      if (each.differs()) differing.push_back(each);
    });
    if (stop_.stop_requested())
      return std::unexpected(Error{ErrorClass::kCancelled, "cancelled", {}, {}});
    const bool nothing_ran = differing.empty() && found_.walk.boundaries == 0 && report.error;
    if (nothing_ran) return std::unexpected(*report.error);
    return differing;
  }

  // With the place inside of what it runs, where one is found.
  LoneKernel KernelOf(const std::shared_ptr<const Module>& module, const InstructionReport& report,
                      const std::vector<Literal>& arguments, const std::string& calls, int depth) {
    LoneKernel kernel{{report.instruction, report.computation, calls, report.opcode},
                      {},
                      report.together_with,
                      {}};
    for (const LeafComparison& leaf : report.outputs) {
      if (!leaf.equal()) kernel.worst = leaf;
    }
    const InstructionId id = hlo::FindInstruction(*module, report.instruction);
    if (!report.together_with.empty() || depth >= kDeepest || !id.valid()) return kernel;
    auto& curve = found_.walk.curve;
    const auto outer = std::ranges::find(curve, report.instruction, &WalkPoint::instruction);
    const auto position = outer - curve.begin();
    const auto size = std::ssize(curve);
    Inner inner = Enter(module, id, arguments, calls, depth);
    // What it runs comes before its value.
    std::rotate(curve.begin() + position, curve.begin() + size, curve.end());
    return inner ? *std::move(inner) : std::move(kernel);
  }

  // The first inside.
  Inner FirstIn(const std::shared_ptr<const Module>& module, const std::vector<Literal>& arguments,
                const std::string& calls, int depth) {
    const auto differing = Differing(module, arguments, calls);
    if (!differing.has_value() || differing->empty()) return std::nullopt;
    return KernelOf(module, differing->front(), arguments, calls, depth);
  }

  // What `id` runs, on the values that it has; what cannot be found out leaves `id` the place.
  Inner Enter(const std::shared_ptr<const Module>& module, InstructionId id,
              const std::vector<Literal>& arguments, const std::string& calls, int depth) {
    const hlo::Instruction& instruction = (*module)[id];
    const auto called = module->CalledComputations(instruction);
    if (called.empty()) return std::nullopt;
    const auto operands = OperandsOf(module, id, arguments);
    if (!operands) return std::nullopt;
    const std::string here = calls.empty() ? "" : calls + ", ";
    const std::string name(module->name(id));
    const Opcode opcode = instruction.opcode;
    if (opcode == Opcode::kWhile)
      return EnterLoop(module, id, operands->front(), here + name, depth);
    if (opcode == Opcode::kConditional)
      return EnterBranch(*module, id, *operands, here + name, depth);
    if (opcode == Opcode::kFusion || opcode == Opcode::kCall)
      LookInside(WithEntry(*module, called[0]), *operands);
    return std::nullopt;
  }

  // What the reference has for the operands.
  Result<std::vector<Literal>> OperandsOf(const std::shared_ptr<const Module>& module,
                                          InstructionId id,
                                          const std::vector<Literal>& arguments) const {
    std::vector<Literal> values;
    for (const InstructionId operand : module->operands(id)) {
      const Candidate whole{module, arguments};
      Edit edit(whole);
      edit.SetResults({&operand, 1});
      const std::optional<Candidate> cut = edit.Finish();
      if (!cut) return UnsupportedError("its operands are not available");
      HLOSCOPE_ASSIGN_OR_RETURN(Literal value, Evaluate(cut->module, cut->arguments));
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<Literal> Evaluate(const std::shared_ptr<const Module>& module,
                           const std::vector<Literal>& arguments) const {
    const RunSpec alone = AloneSpec(request_, request_.reference.name, arguments);
    return WholeOf(RunModule(module, alone, stop_), module->shape(module->entry().root));
  }

  // The first iteration in which the body differs as a whole.
  Inner EnterLoop(const std::shared_ptr<const Module>& module, InstructionId id, Literal state,
                  const std::string& name, int depth) {
    const hlo::Instruction& loop = (*module)[id];
    const auto body = WithEntry(*module, module->GetComputation(loop, AttributeKey::kBody));
    const auto condition =
        WithEntry(*module, module->GetComputation(loop, AttributeKey::kCondition));
    const Clock::time_point end = Clock::now() + kLongestLoop;
    for (int k = 0; k < kMaxIterations && Clock::now() < end; ++k) {
      const auto goes_on = Evaluate(condition, {state});
      if (!goes_on || goes_on->bytes().empty() || goes_on->bytes()[0] == std::byte{0}) break;
      if (Differs(body, {state}))
        return FirstIn(body, {state}, fmt::format("{} iteration {}", name, k), depth + 1);
      auto next = Evaluate(body, {state});
      if (!next) break;
      state = *std::move(next);
    }
    return std::nullopt;
  }

  bool Differs(const std::shared_ptr<const Module>& module,
               const std::vector<Literal>& arguments) const {
    return RunModule(module, Both(arguments), stop_).status == RunStatus::kDiffers;
  }

  Inner EnterBranch(const Module& module, InstructionId id, const std::vector<Literal>& operands,
                    const std::string& name, int depth) {
    const auto called = module.CalledComputations(module[id]);
    const bool is_predicate = operands[0].shape().element_type() == hlo::ElementType::kPred;
    const auto bytes = operands[0].bytes();
    if (bytes.size() < (is_predicate ? 1U : sizeof(int32_t))) return std::nullopt;
    int64_t branch = 0;
    if (is_predicate) {
      branch = bytes[0] != std::byte{0} ? 0 : 1;
    } else {
      int32_t index = 0;
      std::copy_n(bytes.begin(), sizeof index, reinterpret_cast<std::byte*>(&index));
      branch = index < 0 || std::cmp_greater_equal(index, called.size()) ? std::ssize(called) - 1
                                                                         : index;
    }
    const auto at = static_cast<size_t>(branch);
    if (at >= called.size() || at + 1 >= operands.size()) return std::nullopt;
    return FirstIn(WithEntry(module, called[at]), {operands[at + 1]},
                   fmt::format("{} branch {}", name, branch), depth + 1);
  }

  // Of the first kernel.
  void LookInside(const std::shared_ptr<const Module>& inside,
                  const std::vector<Literal>& operands) {
    if (!found_.kernels.empty()) return;
    const RunReport report = Isolate(inside, operands, nullptr);
    const auto& first = report.first_divergent;
    if (!first || !first->together_with.empty()) return;
    const auto leaf = std::ranges::find_if(
        first->outputs, [](const LeafComparison& each) { return !each.equal(); });
    if (leaf == first->outputs.end()) return;
    found_.walk.inner = {first->instruction, first->opcode, *leaf};
  }

  const RunSpec& request_;
  const std::stop_token& stop_;
  LoneKernels found_;
};

}  // namespace

Result<LoneKernels> RunKernelsAlone(const std::shared_ptr<const Module>& optimized,
                                    const std::vector<Literal>& arguments,
                                    std::span<const int64_t> results, const RunSpec& request,
                                    const std::stop_token& stop) {
  LoneWalk walk(request, stop);
  HLOSCOPE_TRY(walk.Run(optimized, arguments, results));
  LoneKernels found = std::move(walk).Take();
  found.walk.bits =
      "each fusion, call and library call was compiled and run as a module of its own, with its "
      "instructions inlined; inside the whole module code generation may differ";
  return found;
}

}  // namespace hloscope::debug
