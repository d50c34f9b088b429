// SharedWork and LocalValues: sharing by place, and following what is whose.
#include "core/runtime/shared_work.h"

#include <algorithm>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::runtime {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

namespace {

constexpr int64_t kMaxSharedBytes = 64 << 20;  // kept for partitions that are behind

int64_t BytesOf(const Value& value) {
  std::vector<const Value*> pending = {&value};
  int64_t bytes = 0;
  while (!pending.empty()) {
    const Value* each = pending.back();
    pending.pop_back();
    if (each->is_array()) bytes += static_cast<int64_t>(each->literal().bytes().size());
    if (!each->is_tuple()) continue;
    for (const Value& element : each->elements()) pending.push_back(&element);
  }
  return bytes;
}

// Cheaper to do again than to share.
bool IsTrivial(Opcode opcode) {
  return hlo::HasTrait(opcode, hlo::kTraitNoCode) || opcode == Opcode::kCopy ||
         opcode == Opcode::kReshape || opcode == Opcode::kReplicaId;
}

}  // namespace

SharedWork::SharedWork(const hlo::Module& module, int64_t partitions, const RandomState& random)
    : module_(module),
      partitions_(partitions),
      random_(random),
      has_device_work_(module.computations().size(), false),
      leaves_all_(module.instructions().size(), false) {
  for (size_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    leaves_all_[i] = hlo::LeavesManualRegion(module, id) &&
                     hlo::ManualGroups(module, id, partitions).size() == 1;
    if (hlo::IsDeviceWork(module, id)) has_device_work_[module[id].computation.index] = true;
  }
  has_device_work_ =
      hlo::WithCallers(hlo::CallGraphOf(module).calls(), std::move(has_device_work_));
}

bool SharedWork::HasDeviceWork(InstructionId id) {
  if (hlo::IsDeviceWork(module_, id)) return true;
  return std::ranges::any_of(hlo::CallGraphOf(module_).calls(id), [&](const hlo::Call& call) {
    return has_device_work_[call.callee.index];
  });
}

SharedWork::Place SharedWork::PlaceOf(InstructionId id, std::span<const Frame> frames) {
  Place place;
  for (const Frame& frame : frames) {
    place.push_back(frame.caller.index);
    place.push_back(static_cast<uint64_t>(frame.iteration));
  }
  place.push_back(id.index);
  return place;
}

std::shared_ptr<const Value> SharedWork::Take(const Place& place) {
  const auto at = entries_.find(place);
  if (at == entries_.end()) return nullptr;
  std::shared_ptr<const Value> value = at->second.value;
  if (--at->second.takers == 0) {
    bytes_ -= at->second.bytes;
    entries_.erase(at);
  }
  return value;
}

void SharedWork::Put(Place place, const Value& value) {
  if (partitions_ == 1) return;
  const int64_t bytes = BytesOf(value);
  bytes_ += bytes;
  entries_.emplace(std::move(place),
                   Entry{std::make_shared<const Value>(value), partitions_ - 1, bytes});
}

bool SharedWork::IsFull() const { return bytes_ > kMaxSharedBytes; }

Result<Value> LocalValues::Share(InstructionId id, std::span<const Frame> frames,
                                 RandomState& random, const Run& run) {
  if (IsTrivial(module_[id].opcode)) return run();
  SharedWork::Place place = SharedWork::PlaceOf(id, frames);
  if (const auto value = shared_.Take(place)) return *value;
  if (is_observed_ && device_ != first_device_) {
    shared_.Expect(device_);
    HLOSCOPE_TRY(turns_.Defer(device_));
    if (const auto value = shared_.Take(place)) return *value;
  }
  Result<Value> value = RunForAll(random, run);
  if (!value.has_value()) return value;
  shared_.Put(std::move(place), *value);
  for (const int64_t device : shared_.TakeExpecting()) turns_.Wake(device);
  if (shared_.IsFull()) HLOSCOPE_TRY(turns_.Yield(device_));
  return value;
}

Result<Value> LocalValues::RunForAll(RandomState& random, const Run& run) {
  std::swap(random, shared_.random());
  is_sharing_ = true;
  const OnScopeExit back([&] {
    is_sharing_ = false;
    std::swap(random, shared_.random());
  });
  return run();
}

bool LocalValues::IsLocalResult(const Caller& caller) const {
  const Opcode opcode = module_[caller.id].opcode;
  if (opcode == Opcode::kCall || opcode == Opcode::kFusion) return caller.result_local;
  if (opcode == Opcode::kConditional) return caller.result_local || caller.operands[0] != 0;
  if (opcode == Opcode::kWhile) {
    return caller.operands[0] != 0 || caller.loop_local || caller.diverges;
  }
  return caller.any_local || caller.result_local;
}

Result<Value> LocalValues::RunLocal(InstructionId id, Caller caller, const Run& run) {
  callers_.push_back(std::move(caller));
  const OnScopeExit pop([&] { callers_.pop_back(); });
  Result<Value> value = run();
  const bool local = !shared_.LeavesAllRegions(id) &&
                     (hlo::IsDeviceWork(module_, id) || IsLocalResult(callers_.back()));
  Scope& scope = scopes_.back();
  scope.values[id.index - module_[module_[id].computation].first_instruction] =
      local || scope.diverges ? 1 : 0;
  return value;
}

Result<Value> LocalValues::Step(InstructionId id, std::span<const Frame> frames,
                                RandomState& random, const Run& run) {
  if (is_sharing_ || scopes_.empty()) return run();
  Scope& scope = scopes_.back();
  const hlo::Instruction& instruction = module_[id];
  const uint32_t first = module_[instruction.computation].first_instruction;
  Caller caller;
  caller.id = id;
  for (InstructionId operand : module_.operands(instruction)) {
    caller.operands.push_back(scope.values[operand.index - first]);
    caller.any_local |= caller.operands.back() != 0;
  }
  if (instruction.opcode == Opcode::kParameter) {
    const auto number =
        static_cast<size_t>(module_.GetInt(instruction, hlo::AttributeKey::kParameterNumber));
    const bool local = number < scope.parameters.size() && scope.parameters[number] != 0;
    scope.values[id.index - first] = local || scope.diverges ? 1 : 0;
    return run();
  }
  if (!caller.any_local && !scope.diverges && !shared_.HasDeviceWork(id)) {
    return Share(id, frames, random, run);
  }
  return RunLocal(id, std::move(caller), run);
}

LocalValues::InComputation::InComputation(LocalValues* values, ComputationId computation)
    : values_(values == nullptr || values->is_sharing_ ? nullptr : values),
      computation_(computation) {
  if (values_ != nullptr) values_->Enter(computation);
}

LocalValues::InComputation::~InComputation() {
  if (values_ != nullptr) values_->Leave(computation_, succeeded_);
}

void LocalValues::Enter(ComputationId computation) {
  Scope scope;
  scope.values.assign(module_[computation].instruction_count, 0);
  if (!callers_.empty()) {
    const Caller& caller = callers_.back();
    scope.parameters = caller.operands;
    const Opcode opcode = module_[caller.id].opcode;
    if (opcode == Opcode::kWhile) {
      scope.parameters[0] = caller.operands[0] != 0 || caller.loop_local ? 1 : 0;
      scope.diverges = caller.diverges;
    } else if (opcode == Opcode::kConditional) {
      scope.parameters = {static_cast<uint8_t>(caller.any_local ? 1 : 0)};
      scope.diverges = caller.operands[0] != 0;
    } else {
      scope.diverges =
          opcode != Opcode::kCall && opcode != Opcode::kFusion && opcode != Opcode::kAsyncStart;
    }
    scope.diverges |= scopes_.back().diverges;
  }
  scopes_.push_back(std::move(scope));
}

void LocalValues::Leave(ComputationId computation, bool succeeded) {
  const Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  if (callers_.empty()) return;
  Caller& caller = callers_.back();
  const uint32_t root = module_[computation].root.index - module_[computation].first_instruction;
  const bool local = !succeeded || scope.values[root] != 0 || scope.diverges;
  caller.result_local |= local;
  if (module_[caller.id].opcode != Opcode::kWhile || !local) return;
  const ComputationId condition =
      module_.GetComputation(module_[caller.id], hlo::AttributeKey::kCondition);
  (condition == computation ? caller.diverges : caller.loop_local) = true;
}

}  // namespace hloscope::runtime
