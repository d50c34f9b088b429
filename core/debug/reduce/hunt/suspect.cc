// Which instructions of a small module matter.
#include "core/debug/reduce/hunt/suspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/hlo/opcode_table.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::debug {
namespace {

using hlo::ElementType;
using hlo::Module;
using hlo::Opcode;

enum class Weight : uint8_t { kNone, kLight, kFull };

constexpr hlo::OpcodeTable<Weight> kWeights(
    {
        {Opcode::kParameter, Weight::kNone},
        {Opcode::kConstant, Weight::kNone},
        {Opcode::kTuple, Weight::kNone},
        {Opcode::kGetTupleElement, Weight::kNone},
        {Opcode::kBitcast, Weight::kLight},
        {Opcode::kBroadcast, Weight::kLight},
        {Opcode::kCopy, Weight::kLight},
        {Opcode::kCall, Weight::kLight},
        {Opcode::kFusion, Weight::kLight},
        {Opcode::kIota, Weight::kLight},
        {Opcode::kMap, Weight::kLight},
        {Opcode::kOptimizationBarrier, Weight::kLight},
        {Opcode::kReshape, Weight::kLight},
    },
    Weight::kFull);

// Those of the entry and of what it calls; not reducers and the like.
void Collect(const Module& module, hlo::ComputationId id, Weight least,
             std::vector<hlo::InstructionId>& to, std::set<uint32_t>& seen) {
  if (!id.valid() || !seen.insert(id.index).second) return;
  const hlo::Computation& computation = module[id];
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    const hlo::InstructionId at(computation.first_instruction + i);
    const Weight weight = kWeights[module[at].opcode];
    if (weight >= least) to.push_back(at);
    const bool is_fold = hlo::HasTrait(module[at].opcode, hlo::kTraitAppliesScalar) &&
                         module[at].opcode != Opcode::kMap;
    if (is_fold) continue;
    for (const hlo::ComputationId called : module.CalledComputations(module[at])) {
      Collect(module, called, least, to, seen);
    }
  }
}

ElementType TypeOf(const Module& module, hlo::InstructionId id) {
  const auto leaves = module.shape(id).LeafShapes();
  return leaves.empty() ? ElementType::kToken : leaves[0]->element_type();
}

std::string_view ClassOf(ElementType type) {
  const int bits = hlo::BitWidth(type);
  if (type == ElementType::kPred) return "pred";
  if (hlo::IsInteger(type)) return bits == 1 ? "bit" : bits < 8 ? "narrow integer" : "integer";
  if (hlo::IsComplex(type)) return "complex";
  if (hlo::IsFloat(type)) return bits <= 8 ? "narrow float" : "float";
  return "token";
}

template <typename Name>
std::string FromTo(const Module& module, hlo::InstructionId id, const Name& name) {
  const auto result = std::string(name(TypeOf(module, id)));
  const auto operands = module.operands(id);
  if (operands.empty()) return result;
  const auto operand = std::string(name(TypeOf(module, operands[0])));
  const bool converts =
      module[id].opcode == Opcode::kConvert || module[id].opcode == Opcode::kBitcastConvert;
  return converts ? operand + ">" + result : operand;
}

template <typename T>
std::vector<T> Sorted(std::set<T> all) {
  return {all.begin(), all.end()};
}

}  // namespace

Suspect SuspectOf(const Module& module) {
  Suspect suspect;
  for (const Weight least : {Weight::kFull, Weight::kLight}) {
    std::set<uint32_t> seen;
    if (suspect.instructions.empty()) {
      Collect(module, module.entry_id(), least, suspect.instructions, seen);
    }
  }
  std::set<std::string> opcodes, types, classes;
  for (const hlo::InstructionId id : suspect.instructions) {
    opcodes.emplace(ToString(module[id].opcode));
    types.insert(FromTo(module, id, [](ElementType t) { return hlo::ToString(t); }));
    // Of several results each may be what matters.
    const auto leaves = module.shape(id).LeafShapes();
    for (size_t i = 1; i < leaves.size(); ++i) {
      types.emplace(hlo::ToString(leaves[i]->element_type()));
    }
    classes.insert(FromTo(module, id, ClassOf));
  }
  suspect.opcodes = fmt::format("{}", fmt::join(opcodes, "+"));
  suspect.types = Sorted(std::move(types));
  suspect.type_class = fmt::format("{}", fmt::join(classes, "+"));
  return suspect;
}

bool HasSuspect(const Module& module, std::string_view opcode, std::string_view type_class) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (ToString(module[id].opcode) != opcode) continue;
    if (FromTo(module, id, ClassOf) == type_class) return true;
  }
  return false;
}

bool AppliesOneOf(const hlo::Module& module, hlo::InstructionId id,
                  std::initializer_list<hlo::Opcode> opcodes) {
  return std::ranges::any_of(
      module.CalledComputations(module[id]), [&](hlo::ComputationId computation) {
        const hlo::Computation& c = module[computation];
        const auto all = module.instructions().subspan(c.first_instruction, c.instruction_count);
        return std::ranges::any_of(all, [&](const hlo::Instruction& instruction) {
          return std::ranges::find(opcodes, instruction.opcode) != opcodes.end();
        });
      });
}

std::string FailureText(const Failure& failure) {
  // What a dying process printed last may be anything, but for the check that it died of; and
  // broken memory shows anywhere behind the compiler.
  std::string text = failure.fingerprint();
  constexpr std::string_view kStep = " at compile";
  if (failure.kind == FailureKind::kSignal && !text.contains("Check failed")) {
    const size_t at = text.find(kStep);
    text.resize(at != text.npos ? at + kStep.size() : std::min(text.find(" at "), text.size()));
  }
  return text;
}

std::string SignatureOf(const Suspect& suspect, const Failure& failure) {
  const std::string text = fmt::format("{} | {}", FailureText(failure), suspect.opcodes);
  const bool differs = failure.kind == FailureKind::kDiffers;
  return differs ? fmt::format("{} | {}", text, suspect.type_class) : text;
}

}  // namespace hloscope::debug
