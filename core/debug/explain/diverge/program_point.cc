#include "core/debug/explain/diverge/program_point.h"

#include <fmt/format.h>

#include <limits>

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Module;

ProgramPoint PointOf(const Module& module, const replay::ValueKey& key) {
  constexpr int64_t kBehindAllInside = std::numeric_limits<int64_t>::max();
  ProgramPoint point;
  for (size_t i = 0; i < key.path.size(); ++i) {
    const runtime::Frame& frame = key.path[i];
    const InstructionId inside = i + 1 < key.path.size() ? key.path[i + 1].caller : key.instruction;
    const hlo::Instruction& caller = module[frame.caller];
    const hlo::ComputationId condition =
        module.GetComputation(caller, hlo::AttributeKey::kCondition);
    const bool is_body = !condition.valid() || module[inside].computation != condition;
    point.insert(point.end(), {frame.caller.index, frame.iteration, is_body ? 1 : 0});
  }
  point.insert(point.end(), {key.instruction.index, kBehindAllInside, key.device, key.leaf});
  return point;
}

std::string CallsText(const Module& module, const replay::ValueKey& key) {
  std::string text;
  for (const runtime::Frame& frame : key.path) {
    if (!text.empty()) text += ", ";
    text += module.name(frame.caller);
    if (module[frame.caller].opcode == hlo::Opcode::kWhile) {
      text += fmt::format(" iteration {}", frame.iteration);
    }
  }
  return text;
}

}  // namespace hloscope::debug
