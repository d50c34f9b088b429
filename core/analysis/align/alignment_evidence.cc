// Names, opcodes and shapes of two instructions side by side.
#include "core/analysis/align/alignment_evidence.h"

#include <algorithm>

#include "core/base/quick_hash.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::analysis {

using hlo::Opcode;

bool IsScalar(const AlignmentSide& side, uint32_t id) {
  return side.module()[side[id].shape].IsScalar();
}
bool Moves(const AlignmentSide& side, uint32_t id) {
  const Opcode opcode = side[id].opcode;
  return hlo::HasTrait(opcode, hlo::kTraitRearranges) || opcode == Opcode::kConvert;
}

bool IsElement(const AlignmentSide& side, uint32_t id) {
  return side[id].opcode == Opcode::kGetTupleElement || side[id].opcode == Opcode::kTuple ||
         side[id].opcode == Opcode::kParameter;
}

bool SameDimensions(const AlignmentSide& before, uint32_t b, const AlignmentSide& after,
                    uint32_t a) {
  return std::ranges::equal(before.module()[before[b].shape].dimensions(),
                            after.module()[after[a].shape].dimensions());
}

bool SamePart(const AlignmentSide& before, uint32_t b, const AlignmentSide& after, uint32_t a) {
  if (before[b].opcode == Opcode::kConstant) return true;
  std::string_view x = before.module()[before.module()[before[b].computation].name];
  std::string_view y = after.module()[after.module()[after[a].computation].name];
  return y.starts_with(x);
}

uint64_t EndHash(const AlignmentSide& side, uint32_t id) {
  std::string_view name = side.op_name(id);
  std::string_view end = name.substr(name.rfind('/') + 1);
  return MixKeys(hlo::HashBytes(end), static_cast<uint64_t>(side[id].opcode));
}

std::string_view StemOf(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return {};
  std::string_view last = name.substr(dot + 1), stem = name.substr(0, dot);
  bool number = last.find_first_not_of("0123456789") == std::string_view::npos;
  if (last == "clone" || last == "remat") return stem;
  if (!number) return {};
  if (stem.ends_with(".clone") || stem.ends_with(".remat")) return stem;
  size_t before = stem.rfind('.');
  bool numbered = before != std::string_view::npos && before + 1 < stem.size() &&
                  stem.find_first_not_of("0123456789", before + 1) == std::string_view::npos;
  return numbered ? stem : std::string_view();
}

}  // namespace hloscope::analysis
