// Rules about element types.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/analysis/lint/lint_module.h"
#include "core/analysis/place/placement.h"

namespace hloscope::analysis {
namespace {

using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;

ElementType TypeOf(const LintModule& module, InstructionId id) {
  return module.m.shape(id).element_type();
}

bool IsWide(ElementType type) { return type == ElementType::kF64 || type == ElementType::kC128; }

// Conversions back to the type that an operand had before it was rounded to another, and both
// types.
using Rounding = std::pair<InstructionId, std::pair<ElementType, ElementType>>;
std::vector<Rounding> RoundingCasts(const hlo::Module& m) {
  std::vector<Rounding> out;
  for (uint32_t k = 0; k < m.instructions().size(); ++k) {
    const InstructionId id(k);
    if (m[id].opcode != Opcode::kConvert) continue;
    const InstructionId middle = m.operands(id)[0];
    if (m[middle].opcode != Opcode::kConvert) continue;
    const ElementType from = m.shape(m.operands(middle)[0]).element_type();
    const ElementType narrow = m.shape(middle).element_type();
    // Of two types of one width, as f16 and bf16, neither holds the other.
    if (from == m.shape(id).element_type() && hlo::IsFloat(from) && hlo::IsFloat(narrow) &&
        from != narrow && hlo::BitWidth(narrow) <= hlo::BitWidth(from))
      out.push_back({id, {from, narrow}});
  }
  return out;
}

// By computation, whether YNNPACK computes what the fusion does that calls it: it adds up what is
// converted to bf16 and back as it was (jaxlib 0.10.2). Of other libraries that was not measured.
std::vector<bool> YnnpackBodies(const hlo::Module& m) {
  std::vector<bool> out(m.computations().size(), false);
  const Placement placement = FindPlacement(m);
  for (uint32_t k = 0; k < m.instructions().size(); ++k) {
    const hlo::Instruction& instruction = m.instructions()[k];
    const bool is_of_it =
        instruction.opcode == Opcode::kFusion && placement.instructions[k].library == "YNNPACK";
    if (!is_of_it) continue;
    for (const hlo::ComputationId body : m.CalledComputations(instruction)) out[body.index] = true;
  }
  return out;
}

// What the instruction converts, where it does nothing else to all elements; invalid for others.
InstructionId Converted(const LintModule& module, InstructionId id) {
  const hlo::Module& m = module.m;
  if (m[id].operand_count != 1 || !m.shape(id).IsArray()) return {};
  if (module.Is(id, Opcode::kConvert)) return m.operands(id)[0];
  const hlo::ComputationId body = module.Body(id);
  if (!body.valid()) return {};
  bool only_converts = true, any = false;
  module.Each(body, [&](InstructionId inner) {
    const Opcode opcode = m[inner].opcode;
    any = any || opcode == Opcode::kConvert;
    only_converts = only_converts && (opcode == Opcode::kConvert || opcode == Opcode::kParameter ||
                                      opcode == Opcode::kBitcast);
  });
  return any && only_converts ? m.operands(id)[0] : InstructionId();
}

bool Reduces(const LintModule& module, InstructionId id) {
  if (module.Is(id, Opcode::kReduce)) return true;
  const hlo::ComputationId body = module.Body(id);
  if (!body.valid()) return false;
  bool reduces = false;
  module.Each(body,
              [&](InstructionId inner) { reduces = reduces || module.Is(inner, Opcode::kReduce); });
  return reduces;
}

// Whether the operand of a product comes of 8-bit floats, through nothing but conversions.
bool IsConvertedF8(const LintModule& module, InstructionId id) {
  bool converts = false;
  for (int k = 0; k < kMaxChain; ++k) {
    const Opcode opcode = module.m[id].opcode;
    const ElementType type = TypeOf(module, id);
    if (hlo::IsFloat(type) && hlo::BitWidth(type) == 8) return converts;
    const bool goes_on = opcode == Opcode::kConvert || opcode == Opcode::kBitcast ||
                         opcode == Opcode::kReshape || opcode == Opcode::kTranspose ||
                         opcode == Opcode::kCopy;
    if (!goes_on || module.m[id].operand_count == 0) return false;
    converts = converts || opcode == Opcode::kConvert;
    id = module.m.operands(id)[0];
  }
  return false;
}

}  // namespace

template <>
std::vector<LintPlace> FindPlaces<LintKind::kUpcastReduce>(const LintModule& module) {
  std::vector<LintPlace> out;
  module.EachLaunched([&](InstructionId id) {
    const InstructionId from = Converted(module, id);
    if (!from.valid() || module.Bytes(id) < kLargeBytes) return;
    const ElementType narrow = TypeOf(module, from), wide = TypeOf(module, id);
    if (!hlo::IsFloat(narrow) || !hlo::IsFloat(wide) || hlo::BitWidth(narrow) > 16 ||
        hlo::BitWidth(wide) <= hlo::BitWidth(narrow))
      return;
    const auto users = module.users.users(id);
    if (users.empty() ||
        !std::ranges::all_of(users, [&](InstructionId user) { return Reduces(module, user); }))
      return;
    out.push_back({id,
                   SizeText(module.Bytes(id)) + " written and read in place of " +
                       SizeText(module.Bytes(from)) + " read",
                   2 * module.Bytes(id) - module.Bytes(from)});
  });
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kLostCast>(const LintModule& module) {
  // What the compiled module still rounds was not lost.
  std::map<std::pair<ElementType, ElementType>, int64_t> kept, left_to_library, lost;
  if (module.compiled != nullptr) {
    const std::vector<bool> of_library = YnnpackBodies(*module.compiled);
    for (const auto& [id, types] : RoundingCasts(*module.compiled)) {
      const bool is_library = of_library[(*module.compiled)[id].computation.index];
      ++(is_library ? left_to_library : kept)[types];
    }
  }
  std::vector<Rounding> found;
  for (const Rounding& cast : RoundingCasts(module.m)) {
    if (kept[cast.second]-- > 0) continue;
    found.push_back(cast);
    ++lost[cast.second];
  }
  std::vector<LintPlace> out;
  for (const auto& [id, types] : found) {
    LintPlace place{id, std::string(hlo::ToString(types.first)) + " need not be rounded to " +
                            std::string(hlo::ToString(types.second))};
    // Which of the casts these are is not known.
    const int64_t all = lost[types], of_library = left_to_library[types];
    if (of_library >= all) {
      place.cost +=
          "; a library computes both within a fusion, whatever the flag is: only "
          "reduce_precision rounds there";
      place.fix = "round by reduce_precision (in JAX: jax.lax.reduce_precision)";
    } else if (of_library > 0) {
      place.cost += fmt::format(
          "; a library computes {} of the {} casts of this kind within a fusion, whatever the flag "
          "is: only reduce_precision rounds there",
          of_library, all);
    }
    out.push_back(std::move(place));
  }
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kMissedF8>(const LintModule& module) {
  const hlo::Module& m = module.m;
  std::vector<LintPlace> out;
  if (!module.on_gpu()) return out;  // XLA:CPU has no products of 8-bit floats
  for (uint32_t k = 0; k < m.instructions().size(); ++k) {
    const InstructionId id(k);
    if (!module.Is(id, Opcode::kDot)) continue;
    const auto operands = m.operands(id);
    const bool missed = std::ranges::all_of(
        operands, [&](InstructionId operand) { return IsConvertedF8(module, operand); });
    if (!missed) continue;
    int64_t bytes = 0;
    for (const InstructionId operand : operands) bytes += module.Bytes(operand);
    out.push_back({id, "operands of " + SizeText(bytes) + " after the conversion", bytes});
  }
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kF64>(const LintModule& module) {
  const hlo::Module& m = module.m;
  std::vector<LintPlace> out;
  for (const InstructionId id : m.Parameters(m.entry_id())) {
    if (!id.valid()) continue;
    for (const hlo::Shape* leaf : m.shape(id).LeafShapes()) {
      if (IsWide(leaf->element_type())) return out;
    }
  }
  // A program without narrower floats is meant to compute in these.
  bool any_narrow = false;
  for (uint32_t k = 0; k < m.instructions().size() && !any_narrow; ++k) {
    const ElementType type = TypeOf(module, InstructionId(k));
    any_narrow = hlo::IsFloat(type) && !IsWide(type);
  }
  if (!any_narrow) return out;
  constexpr int64_t kMinElements = 1024;
  for (uint32_t k = 0; k < m.instructions().size(); ++k) {
    const InstructionId id(k);
    const hlo::Shape& shape = m.shape(id);
    const Opcode opcode = m[id].opcode;
    const bool computes = opcode != Opcode::kParameter && opcode != Opcode::kConstant &&
                          opcode != Opcode::kBroadcast && opcode != Opcode::kGetTupleElement;
    if (!shape.IsArray() || !IsWide(shape.element_type()) || !computes) continue;
    if (shape.ElementCount().value_or(0) < kMinElements) continue;
    out.push_back(
        {id, SizeText(module.Bytes(id)) + " of " + std::string(hlo::ToString(shape.element_type())),
         module.Bytes(id) / 2});
  }
  return out;
}

}  // namespace hloscope::analysis
