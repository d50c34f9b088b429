// Frames are never given up: as many as there are links at most.
#include "core/analysis/align/call_frames.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Opcode;

constexpr int kMaxCallFrames = 64;

}  // namespace

int32_t CallFrames::Enter(uint32_t call, int32_t outer) {
  frames_.push_back({.outer = outer, .call = call});
  return static_cast<int32_t>(frames_.size()) - 1;
}

uint32_t CallFrames::Resolve(uint32_t id, int32_t& frame) {
  const hlo::Module& module = side_.module();
  for (int steps = 0; steps < kMaxCallFrames; ++steps) {
    id = side_.Resolve(id);
    const hlo::Instruction& i = side_[id];
    if (ComputationId body = side_.Body(id); body.valid()) {
      frame = Enter(id, frame);
      id = module[body].root.index;
      continue;
    }
    if (i.opcode == Opcode::kGetTupleElement && Element(id, frame)) continue;
    if (i.opcode != Opcode::kParameter || frame < 0) return id;
    const Frame& top = frames_[static_cast<size_t>(frame)];
    if (side_.Body(top.call) != i.computation) return id;
    auto operands = module.operands(side_[top.call]);
    auto number = static_cast<size_t>(module.GetInt(i, AttributeKey::kParameterNumber, -1));
    if (number >= operands.size()) return id;
    id = operands[number].index;
    frame = top.outer;
  }
  return id;
}

// An element of the tuple that a call returns.
bool CallFrames::Element(uint32_t& id, int32_t& frame) {
  const hlo::Module& module = side_.module();
  if (side_[id].operand_count != 1) return false;
  uint32_t tuple = module.operands(side_[id])[0].index;
  int32_t inner = frame;
  for (int steps = 0; steps < kMaxCallFrames; ++steps) {
    ComputationId body = side_.Body(tuple);
    if (!body.valid()) break;
    inner = Enter(tuple, inner);
    tuple = module[body].root.index;
  }
  if (side_[tuple].opcode != Opcode::kTuple) return false;
  auto elements = module.operands(side_[tuple]);
  auto index = static_cast<size_t>(module.GetInt(side_[id], AttributeKey::kIndex, -1));
  if (index >= elements.size()) return false;
  frame = inner;
  id = elements[index].index;
  return true;
}

}  // namespace hloscope::analysis
