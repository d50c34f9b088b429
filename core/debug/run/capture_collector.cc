// Leaves as they come.
#include "core/debug/run/capture_collector.h"

#include <optional>
#include <variant>

namespace hloscope::debug {

using hlo::Literal;

void CaptureCollector::Take(replay::RunEvent event) {
  auto* captured = std::get_if<replay::CapturedValue>(&event);
  if (captured == nullptr) return;
  Result<Literal> leaf = InternalError("a value was not told by its bytes");
  if (auto* literal = std::get_if<Literal>(&captured->value)) leaf = std::move(*literal);
  if (auto* error = std::get_if<Error>(&captured->value)) leaf = std::unexpected(std::move(*error));
  leaves_[captured->key.instruction.index].push_back(std::move(leaf));
}

Result<Literal> CaptureCollector::ValueOf(const hlo::Module& module, hlo::InstructionId id) const {
  const auto found = leaves_.find(id.index);
  if (found == leaves_.end()) return InternalError("a value was never told");
  std::vector<Literal> leaves;
  for (const Result<Literal>& leaf : found->second) {
    HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, leaf);
    leaves.push_back(std::move(literal));
  }
  size_t next = 0;
  std::optional<Literal> whole = hlo::NestLeaves(module.shape(id), leaves, next);
  if (!whole) return InternalError("a value was told in part");
  return *std::move(whole);
}

}  // namespace hloscope::debug
