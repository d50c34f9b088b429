// KernelRunner: addresses and memory for kernels, grains for threads.
#include "core/backends/compiled/kernel_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/compile/kernel_rules.h"
#include "core/compile/plan/kernel_bytes.h"
#include "core/eval/machine/machine.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/fallback_reasons.h"

namespace hloscope::replay {

using compile::KernelCode;
using hlo::InstructionId;
using hlo::Shape;
using runtime::Buffer;
using runtime::Value;

namespace {

// Memory for one leaf of a result: its own, or that of the operand it is an update of.
Result<Buffer> LeafBuffer(eval::KernelCall& call, const Shape& shape, int in_place) {
  if (in_place < 0) return call.machine.Allocate(shape);
  Value& operand = call.operands[static_cast<size_t>(in_place)];
  if (Buffer own = operand.TakeBuffer(); own.data() != nullptr) return own;
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  HLOSCOPE_TRY(call.machine.Charge(static_cast<int64_t>(buffer.size) / compile::kBytesPerElement));
  std::memcpy(buffer.data(), operand.data(), buffer.size);
  return buffer;
}

// Communication between devices is the run's own work, as it is that of XLA's runtime; where memory
// is not the host's, bringing it there and back is a fallback.
bool IsCollective(hlo::Opcode opcode) {
  return hlo::Info(opcode).category == hlo::Category::kCollective;
}

// What the run itself knows.
bool IsDeviceNumber(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kReplicaId || opcode == hlo::Opcode::kPartitionId;
}

// All that it yields is arrays without elements.
bool YieldsNothing(const hlo::Module& module, InstructionId id) {
  const auto results = module.shape(id).results();
  return !results.empty() && std::ranges::all_of(results, [](const Shape& shape) {
    return shape.IsArray() && shape.ElementCount() == 0;
  });
}

// Random numbers of the run's own seed come from where the seed is, as inputs do, so long as no
// value of the run decides about them; and so do constants whose elements are made up.
bool IsDrawn(const hlo::Module& module, InstructionId id) {
  const hlo::Opcode opcode = module[id].opcode;
  if (opcode == hlo::Opcode::kConstant) return true;
  return (opcode == hlo::Opcode::kRng || opcode == hlo::Opcode::kRngGetAndUpdateState) &&
         std::ranges::all_of(module.operands(id), [&](InstructionId operand) {
           return module[operand].opcode == hlo::Opcode::kConstant;
         });
}

}  // namespace

Result<Value> KernelRunner::Run(eval::KernelCall& call) const {
  const KernelCode& code = *code_.kernels[call.id.index];
  if (code_.device == nullptr) {
    HLOSCOPE_TRY(
        call.machine.Charge(compile::WrittenBytes(module_, call.id) / compile::kBytesPerElement));
  }
  std::vector<const std::byte*> operands;
  for (const Value& operand : call.operands) operands.push_back(operand.data());
  std::vector<Buffer> buffers;
  std::vector<std::byte*> results;
  const auto shapes = call.shape().results();
  for (size_t i = 0; i < shapes.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        Buffer buffer,
        LeafBuffer(call, shapes[i], i < code.in_place.size() ? code.in_place[i] : -1));
    results.push_back(buffer.data());
    buffers.push_back(std::move(buffer));
  }
  Buffer scratch;
  if (code.scratch_bytes > 0) {
    HLOSCOPE_ASSIGN_OR_RETURN(scratch, call.machine.Allocate(code.scratch_bytes));
  }
  HLOSCOPE_TRY(RunCode(code, call.machine, operands.data(), results.data(), scratch.data()));
  {
    const std::lock_guard lock(mutex_);
    devices_ = call.machine.devices().counts().devices();
    counts_.Add(code);
    if (code_.choices != nullptr) ++counts_.chosen[call.id];
  }
  if (!call.shape().IsTuple()) return Value::Array(call.shape(), std::move(buffers[0]));
  std::vector<Value> elements;
  for (size_t i = 0; i < shapes.size(); ++i) {
    elements.push_back(Value::Array(shapes[i], std::move(buffers[i])));
  }
  return Value::Tuple(std::move(elements));
}

Result<Value> KernelRunner::RunEntry(eval::Machine& machine, std::vector<Value> arguments) const {
  if (code_.plan != nullptr && code_.plan->computation == module_.entry_id() &&
      !machine.WantsValues() && (machine.recorder() == nullptr || code_.device == nullptr)) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::optional<Value> value, RunPlan(machine, arguments));
    if (value.has_value()) return *std::move(value);
  }
  return machine.CallEntry(std::move(arguments));
}

Result<std::optional<Value>> KernelRunner::RunPlan(eval::Machine& machine,
                                                   std::span<const Value> arguments) const {
  const auto run = code_.device == nullptr ? std::make_unique<PlanRun>(code_, machine)
                                           : code_.device->Start(code_, machine);
  HLOSCOPE_ASSIGN_OR_RETURN(std::optional<Value> value, run->Run(arguments));
  if (!value.has_value() && compile::HasCollectiveSteps(*code_.plan)) {
    return std::unexpected(
        Error{ErrorClass::kCrashed,
              fmt::format("device {} cannot continue the plan of {}, and other devices may already "
                          "use its values: a value is missing, or a loop never ends",
                          machine.device(), module_.name()),
              {},
              "--platform gpu-sim runs it instruction by instruction"});
  }
  const std::lock_guard lock(mutex_);
  devices_ = machine.devices().counts().devices();
  by_plan_ = value.has_value();
  if (!value.has_value()) {
    evaluated_.Clear();  // all of it runs again
    collectives_ = 0;
    return value;
  }
  counts_.AddRan(run->counts());
  for (const auto& [id, count] : run->counts().chosen) counts_.chosen[id] += count;
  for (const auto& [id, moved] : run->counts().moved) {
    if (!IsDrawn(module_, id)) evaluated_.AddMoved(id, moved.bytes, moved.nanoseconds);
  }
  return value;
}

void KernelRunner::Evaluated(InstructionId id, int64_t nanoseconds) const {
  if (hlo::expand::TakesNoWork(module_, id) || IsDrawn(module_, id) || YieldsNothing(module_, id))
    return;
  if (on_host_) on_host_(id, nanoseconds);
  const std::lock_guard lock(mutex_);
  const hlo::Opcode opcode = module_[id].opcode;
  const bool is_the_runs_own = code_.device == nullptr || code_.keeps_values;
  if (!is_the_runs_own || (!IsCollective(opcode) && !IsDeviceNumber(opcode))) {
    evaluated_.Add(id, nanoseconds);
  } else if (IsCollective(opcode)) {
    ++collectives_;
  }
  if (code_.choices != nullptr && code_.choices->Of(id)) ++counts_.chosen[id];
}

std::vector<RunExecuted::Choice> KernelRunner::Choices(std::vector<std::string>& rows) const {
  std::vector<RunExecuted::Choice> out;
  std::set<std::string> told;
  for (const auto& [id, count] : counts_.chosen) {
    const auto choice = code_.choices->Of(id);
    if (!choice) continue;
    if (!choice->row.empty() && told.insert(choice->row).second) rows.push_back(choice->row);
    const std::string opcode(hlo::ToString(module_[id].opcode));
    const auto same = std::ranges::find_if(out, [&](const RunExecuted::Choice& other) {
      return other.opcode == opcode && other.library == choice->library &&
             other.reason == choice->reason && other.way == choice->way;
    });
    if (same == out.end()) {
      out.push_back({opcode, choice->library, choice->reason, count, choice->way});
    } else {
      same->count += count;
    }
  }
  return out;
}

// Why a kernel has no code, for all that is in it too.
std::map<InstructionId, std::string> KernelRunner::MissingWithParts() const {
  std::map<InstructionId, std::string> missing = code_.missing;
  for (const auto& [kernel, why] : code_.missing) {
    if (module_[kernel].opcode != hlo::Opcode::kFusion) continue;
    const hlo::Computation& fused =
        module_[module_.GetComputation(module_[kernel], hlo::AttributeKey::kCalls)];
    for (uint32_t i = 0; i < fused.instruction_count; ++i) {
      missing.emplace(fused.first_instruction + i, why);
    }
  }
  return missing;
}

// Of its own, or as a part of a fusion.
bool KernelRunner::HasCode(InstructionId id) const {
  if (code_.kernels[id.index] != nullptr) return true;
  const InstructionId caller = hlo::CallGraphOf(module_).OnlyCaller(module_[id].computation);
  return caller.valid() && code_.kernels[caller.index] != nullptr;
}

void KernelRunner::Tell(RunStream& stream) const {
  const std::map<InstructionId, std::string> missing_code = MissingWithParts();
  std::vector<std::string> rows;
  std::vector<RunExecuted::Choice> choices = Choices(rows);
  evaluated_.Tell(
      module_,
      [&](InstructionId id) -> HostFallbackCounts::Why {
        const auto missing = missing_code.find(id);
        if (missing != missing_code.end()) {
          return {Describe(hlo::FallbackReason::kUnsupportedOpcode), missing->second};
        }
        if (code_.choices != nullptr) {
          if (const auto choice = code_.choices->Of(id)) {
            return {compile::WhyNoKernel(module_, id), choice->reason};
          }
        }
        const std::string_view why = compile::WhyNoKernel(module_, id);
        if (!why.empty()) return {why, "our compiler generates no code for it"};
        if (!HasCode(id)) {
          return {Describe(hlo::FallbackReason::kNoKernelCode),
                  "our compiler gave up the code of the kernel that it is part of"};
        }
        return {Describe(hlo::FallbackReason::kMissingOperand),
                "an operand of the kernel that it is part of has no value"};
      },
      {.kernels = counts_.kernels,
       .library_calls = counts_.library_calls,
       .copies = counts_.copies,
       .collectives = counts_.collectives + collectives_,
       .choices = std::move(choices),
       .choice_rows = std::move(rows),
       .placement = code_.device == nullptr || devices_ == 1
                        ? RunExecuted::Placement()
                        : code_.device->Place(devices_, by_plan_)},
      stream);
}

}  // namespace hloscope::replay
