// Isolating the instructions of an optimised module, and going into what contains others.
#include "core/debug/explain/diverge/lone_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

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
             const std::string& calls, int depth) {
    const RunReport report =
        Isolate(module, arguments, [&](const InstructionReport& each) { Note(each, calls); });
    if (stop_.stop_requested())
      return std::unexpected(Error{ErrorClass::kCancelled, "cancelled", {}, {}});
    if (!report.first_divergent) {
      const bool nothing_ran = found_.walk.boundaries == 0 && report.error;
      return nothing_ran ? Status(std::unexpected(*report.error)) : Status{};
    }
    const InstructionReport& first = *report.first_divergent;
    found_.place = {first.instruction, first.computation, calls};
    found_.opcode = first.opcode;
    found_.together = first.together_with;
    for (const LeafComparison& leaf : first.outputs) {
      if (!leaf.equal()) found_.worst = leaf;
    }
    const InstructionId id = hlo::FindInstruction(*module, first.instruction);
    if (!first.together_with.empty() || depth >= kDeepest || !id.valid()) return {};
    auto& curve = found_.walk.curve;
    const auto outer = std::ranges::find(curve, first.instruction, &WalkPoint::instruction);
    const auto position = outer - curve.begin();
    const auto size = std::ssize(curve);
    Enter(module, id, arguments, calls, depth);
    // What it runs comes before its value.
    std::rotate(curve.begin() + position, curve.begin() + size, curve.end());
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

  // What `id` runs, on the values that it has; what cannot be found out leaves `id` the place.
  void Enter(const std::shared_ptr<const Module>& module, InstructionId id,
             const std::vector<Literal>& arguments, const std::string& calls, int depth) {
    const hlo::Instruction& instruction = (*module)[id];
    const auto called = module->CalledComputations(instruction);
    if (called.empty()) return;
    const auto operands = OperandsOf(module, id, arguments);
    if (!operands) return;
    const std::string here = calls.empty() ? "" : calls + ", ";
    const std::string name(module->name(id));
    const Opcode opcode = instruction.opcode;
    if (opcode == Opcode::kWhile) {
      EnterLoop(module, id, operands->front(), here + name, depth);
    } else if (opcode == Opcode::kConditional) {
      EnterBranch(*module, id, *operands, here + name, depth);
    } else if (opcode == Opcode::kFusion || opcode == Opcode::kCall) {
      LookInside(WithEntry(*module, called[0]), *operands);
    }
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
  void EnterLoop(const std::shared_ptr<const Module>& module, InstructionId id, Literal state,
                 const std::string& name, int depth) {
    const hlo::Instruction& loop = (*module)[id];
    const auto body = WithEntry(*module, module->GetComputation(loop, AttributeKey::kBody));
    const auto condition =
        WithEntry(*module, module->GetComputation(loop, AttributeKey::kCondition));
    const Clock::time_point end = Clock::now() + kLongestLoop;
    for (int k = 0; k < kMaxIterations && Clock::now() < end; ++k) {
      const auto goes_on = Evaluate(condition, {state});
      if (!goes_on || goes_on->bytes().empty() || goes_on->bytes()[0] == std::byte{0}) return;
      if (Differs(body, {state})) {
        (void)Run(body, {state}, fmt::format("{} iteration {}", name, k), depth + 1);
        return;
      }
      auto next = Evaluate(body, {state});
      if (!next) return;
      state = *std::move(next);
    }
  }

  bool Differs(const std::shared_ptr<const Module>& module,
               const std::vector<Literal>& arguments) const {
    return RunModule(module, Both(arguments), stop_).status == RunStatus::kDiffers;
  }

  void EnterBranch(const Module& module, InstructionId id, const std::vector<Literal>& operands,
                   const std::string& name, int depth) {
    const auto called = module.CalledComputations(module[id]);
    const bool is_predicate = operands[0].shape().element_type() == hlo::ElementType::kPred;
    const auto bytes = operands[0].bytes();
    if (bytes.size() < (is_predicate ? 1U : sizeof(int32_t))) return;
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
    if (at >= called.size() || at + 1 >= operands.size()) return;
    (void)Run(WithEntry(module, called[at]), {operands[at + 1]},
              fmt::format("{} branch {}", name, branch), depth + 1);
  }

  void LookInside(const std::shared_ptr<const Module>& inside,
                  const std::vector<Literal>& operands) {
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
                                    const std::vector<Literal>& arguments, const RunSpec& request,
                                    const std::stop_token& stop) {
  LoneWalk walk(request, stop);
  HLOSCOPE_TRY(walk.Run(optimized, arguments, "", 0));
  LoneKernels found = std::move(walk).Take();
  found.walk.bits =
      "each fusion, call and library call was compiled and run as a module of its own, with its "
      "instructions inlined; inside the whole module code generation may differ";
  return found;
}

}  // namespace hloscope::debug
