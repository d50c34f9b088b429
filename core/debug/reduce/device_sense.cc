// The header's devices, and which values cross the borders of manual regions.
#include "core/debug/reduce/device_sense.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

bool IsBorder(const Module& module, InstructionId id, std::string_view target) {
  return module[id].opcode == Opcode::kCustomCall &&
         module.GetString(module[id], hlo::AttributeKey::kCustomCallTarget) == target;
}

// What computes a value that is taken out of a tuple.
InstructionId Maker(const Module& module, InstructionId id) {
  while (module[id].opcode == Opcode::kGetTupleElement) id = module.operands(id)[0];
  return id;
}

bool TakesWhatEnters(const Module& module, InstructionId call) {
  return std::ranges::all_of(module.operands(call), [&](InstructionId operand) {
    return IsBorder(module, Maker(module, operand), hlo::kGlobalToLocal);
  });
}

bool ComesFromOneCall(const Module& module, InstructionId border) {
  const auto operands = module.operands(border);
  if (operands.empty()) return true;
  const InstructionId call = Maker(module, operands[0]);
  return module[call].opcode == Opcode::kCall && TakesWhatEnters(module, call) &&
         std::ranges::all_of(operands, [&](InstructionId id) { return Maker(module, id) == call; });
}

bool HasWholeRegions(const Module& module) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    if (IsBorder(module, id, hlo::kLocalToGlobal) && !ComesFromOneCall(module, id)) return false;
    // What enters goes nowhere else.
    const Opcode opcode = module[id].opcode;
    if (opcode == Opcode::kGetTupleElement) continue;
    const bool takes_part = std::ranges::any_of(module.operands(id), [&](InstructionId operand) {
      return IsBorder(module, Maker(module, operand), hlo::kGlobalToLocal);
    });
    if (takes_part && opcode != Opcode::kCall) return false;
  }
  return true;
}

}  // namespace

bool IsTrueOfDevices(const Module& module) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  return hlo::TopologyOf(module, kAny).note.empty() && HasWholeRegions(module);
}

}  // namespace hloscope::debug
