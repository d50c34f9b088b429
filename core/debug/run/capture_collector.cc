// Leaves as they come.
#include "core/debug/run/capture_collector.h"

#include <optional>
#include <utility>
#include <variant>

namespace hloscope::debug {

using hlo::Literal;

namespace {

Result<Literal> BytesOf(replay::CapturedValue& captured) {
  if (auto* literal = std::get_if<Literal>(&captured.value)) return std::move(*literal);
  if (auto* error = std::get_if<Error>(&captured.value)) return std::unexpected(std::move(*error));
  return InternalError("a value was reported without its bytes");
}

Result<Literal> Nested(const hlo::Module& module, hlo::InstructionId id,
                       const std::map<uint32_t, std::vector<Result<Literal>>>& values) {
  const auto found = values.find(id.index);
  if (found == values.end()) return InternalError("a value was never reported");
  std::vector<Literal> leaves;
  for (const Result<Literal>& leaf : found->second) {
    HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, leaf);
    leaves.push_back(std::move(literal));
  }
  size_t next = 0;
  std::optional<Literal> whole = hlo::NestLeaves(module.shape(id), leaves, next);
  if (!whole) return InternalError("a value was reported in part");
  return *std::move(whole);
}

}  // namespace

void CaptureCollector::Take(replay::RunEvent event) {
  auto* captured = std::get_if<replay::CapturedValue>(&event);
  if (captured == nullptr) return;
  leaves_[captured->key.instruction.index].push_back(BytesOf(*captured));
}

Result<Literal> CaptureCollector::ValueOf(const hlo::Module& module, hlo::InstructionId id) const {
  return Nested(module, id, leaves_);
}

DeviceCollector::DeviceCollector(const hlo::Module& module, hlo::InstructionId root,
                                 int64_t iteration)
    : module_(module), root_(root), iteration_(iteration) {}

void DeviceCollector::Take(replay::RunEvent event) {
  auto* captured = std::get_if<replay::CapturedValue>(&event);
  if (captured == nullptr) return;
  const replay::ValueKey& key = captured->key;
  Device& device = devices_[key.device];
  if (device.executions > iteration_) return;
  Leaves& leaves = device.values[key.instruction.index];
  if (key.leaf == 0) leaves.clear();
  leaves.push_back(BytesOf(*captured));
  if (key.instruction != root_) return;
  if (leaves.size() == module_.shape(root_).LeafCount()) ++device.executions;
}

int64_t DeviceCollector::executions(int64_t device) const {
  const auto found = devices_.find(device);
  return found == devices_.end() ? 0 : found->second.executions;
}

Result<Literal> DeviceCollector::ValueOf(int64_t device, hlo::InstructionId id) const {
  const auto found = devices_.find(device);
  if (found == devices_.end()) return InternalError("a device reported nothing");
  return Nested(module_, id, found->second.values);
}

}  // namespace hloscope::debug
