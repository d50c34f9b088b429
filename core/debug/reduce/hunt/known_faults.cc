// Which known fault a failure is.
#include "core/debug/reduce/hunt/known_faults.h"

#include <algorithm>
#include <ranges>

#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Module;

constexpr KnownFault kKnownFaults[] = {
#define KNOWN_FAULT(page, heading, kind, opcode, types, pass, condition) \
  {page, heading, FailureKind::kind, opcode, types, pass, KnownCondition::condition},
#include "core/debug/reduce/hunt/known_faults.def"
#undef KNOWN_FAULT
};

bool IsListed(std::string_view list, std::string_view word) {
  return std::ranges::any_of(std::views::split(list, ' '), [&](const auto& one) {
    return std::string_view(one.begin(), one.end()) == word;
  });
}

// The first operand is another one too.
bool IsTwice(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return !operands.empty() && std::ranges::count(operands, operands[0]) > 1;
}

bool IsChained(const Module& module, InstructionId id) {
  return std::ranges::any_of(module.operands(id), [&](InstructionId operand) {
    return module[operand].opcode == module[id].opcode;
  });
}

bool ReducesOneElement(const Module& module, InstructionId id) {
  const hlo::Shape& shape = module.shape(module.operands(id)[0]);
  const auto dimensions = module.GetInts(module[id], hlo::AttributeKey::kDimensions);
  return std::ranges::all_of(
      dimensions, [&](int64_t d) { return shape.dimension(static_cast<size_t>(d)) == 1; });
}

bool IsOfZeros(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  if (operands.empty()) return false;
  const auto* value =
      module.Get<hlo::Literal>(module[operands[0]], hlo::AttributeKey::kConstantValue);
  return value != nullptr && !value->elided() && value->shape().IsArray() &&
         std::ranges::all_of(value->bytes(), [](std::byte b) { return b == std::byte{0}; });
}

bool TakesExtremes(const Module& module, InstructionId id) {
  return AppliesOneOf(module, id, {hlo::Opcode::kMaximum, hlo::Opcode::kMinimum});
}

bool TakesNoElements(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return !operands.empty() && module.shape(operands[0]).ElementCount() == 0;
}

bool Holds(KnownCondition condition, const Module& module, const Suspect& suspect,
           const Failure& failure) {
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(suspect.instructions,
                               [&](InstructionId id) { return holds(module, id); });
  };
  switch (condition) {
    case KnownCondition::kAny:
      return true;
    case KnownCondition::kTwice:
      return any(IsTwice);
    case KnownCondition::kOfZeros:
      return any(IsOfZeros);
    case KnownCondition::kNoElements:
      return any(TakesNoElements);
    case KnownCondition::kTwiceVariadic:
      return any([](const Module& m, InstructionId id) {
        return m.shape(id).IsTuple() && IsTwice(m, id);
      });
    case KnownCondition::kChained:
      return any(IsChained);
    case KnownCondition::kOneElement:
      return any(ReducesOneElement);
    case KnownCondition::kReshapeCheck:
      return std::ranges::any_of(failure.classes, [](const std::string& one) {
        return one.contains("hlo_instruction.cc") && one.contains("Check failed: operand->shape()");
      });
    case KnownCondition::kBitArrays: {
      const auto platforms = replay::PlatformRows();
      return std::ranges::any_of(platforms, [&](const replay::PlatformRow& row) {
        return replay::OverrunsBits(row, module);
      });
    }
    case KnownCondition::kNanLost:
      return any(TakesExtremes) && std::ranges::any_of(failure.classes, [](const std::string& one) {
               return one == "float nan in the reference";
             });
  }
  return false;
}

}  // namespace

std::span<const KnownFault> KnownFaults() { return kKnownFaults; }

// A row speaks for one opcode: values that differ where others are needed too are another fault.
// What kills the process does so wherever it stands, and may get as far as wrong values.
const KnownFault* FindKnownFault(const Module& module, const Suspect& suspect,
                                 const Failure& failure, std::string_view pass) {
  const auto has_opcode = [&](const KnownFault& row) {
    if (row.opcode == suspect.opcodes || row.opcode.empty()) return true;
    return failure.kind == FailureKind::kSignal &&
           std::ranges::any_of(suspect.instructions, [&](InstructionId id) {
             return ToString(module[id].opcode) == row.opcode;
           });
  };
  for (const KnownFault& row : kKnownFaults) {
    if (row.kind != failure.kind && row.kind != FailureKind::kSignal) continue;
    if (!has_opcode(row) || (!row.pass.empty() && row.pass != pass)) continue;
    const bool fits = row.types.empty() || std::ranges::any_of(suspect.types, [&](const auto& t) {
                        return IsListed(row.types, t);
                      });
    if (fits && Holds(row.condition, module, suspect, failure)) return &row;
  }
  return nullptr;
}

}  // namespace hloscope::debug
