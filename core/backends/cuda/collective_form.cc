// Which types, reductions and dimensions NCCL has.
#include "core/backends/cuda/collective_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/backends/cuda/driver_api.h"
#include "core/backends/libraries/interface.h"
#include "core/compile/plan/plan.h"
#include "core/hlo/analysis/reducer.h"
#include "core/hlo/opcode.h"

namespace hloscope::replay::cuda {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

struct KindRow {
  Opcode opcode;
  CollectiveKind kind;
};
constexpr KindRow kKinds[] = {
    {Opcode::kAllReduce, CollectiveKind::kAllReduce},
    {Opcode::kReduceScatter, CollectiveKind::kReduceScatter},
    {Opcode::kAllGather, CollectiveKind::kAllGather},
    {Opcode::kCollectiveBroadcast, CollectiveKind::kBroadcast},
    {Opcode::kAllToAll, CollectiveKind::kExchange},
    {Opcode::kCollectivePermute, CollectiveKind::kPermute},
};

// Types that NCCL reduces. The numbers of a complex one are two of their parts.
struct TypeRow {
  ElementType type;
  int nccl;
  int parts, part_bytes;
  enum class Numbers : uint8_t { kInteger, kFloat, kComplex, kTruth } numbers;
};
using Numbers = TypeRow::Numbers;
constexpr TypeRow kTypes[] = {
    {ElementType::kPred, libraries::kNcclU8, 1, 1, Numbers::kTruth},
    {ElementType::kS8, libraries::kNcclS8, 1, 1, Numbers::kInteger},
    {ElementType::kU8, libraries::kNcclU8, 1, 1, Numbers::kInteger},
    {ElementType::kS32, libraries::kNcclS32, 1, 4, Numbers::kInteger},
    {ElementType::kU32, libraries::kNcclU32, 1, 4, Numbers::kInteger},
    {ElementType::kS64, libraries::kNcclS64, 1, 8, Numbers::kInteger},
    {ElementType::kU64, libraries::kNcclU64, 1, 8, Numbers::kInteger},
    {ElementType::kF16, libraries::kNcclF16, 1, 2, Numbers::kFloat},
    {ElementType::kBF16, libraries::kNcclBf16, 1, 2, Numbers::kFloat},
    {ElementType::kF32, libraries::kNcclF32, 1, 4, Numbers::kFloat},
    {ElementType::kF64, libraries::kNcclF64, 1, 8, Numbers::kFloat},
    {ElementType::kC64, libraries::kNcclF32, 2, 4, Numbers::kComplex},
    {ElementType::kC128, libraries::kNcclF64, 2, 8, Numbers::kComplex},
};

// Reductions by the instruction that they consist of. NCCL's maximum and minimum of floats drop
// NaNs, XLA's hand them on; truth values are 0 and 1.
struct ReductionRow {
  Opcode opcode;
  int nccl;
  bool integers, floats, complex, truths;
};
constexpr ReductionRow kReductions[] = {
    {Opcode::kAdd, libraries::kNcclSum, true, true, true, false},
    {Opcode::kMultiply, libraries::kNcclProduct, true, true, false, false},
    {Opcode::kMaximum, libraries::kNcclMaximum, true, false, false, true},
    {Opcode::kMinimum, libraries::kNcclMinimum, true, false, false, true},
    {Opcode::kOr, libraries::kNcclMaximum, false, false, false, true},
    {Opcode::kAnd, libraries::kNcclMinimum, false, false, false, true},
};

const KindRow* KindOf(Opcode opcode) {
  const auto* const row = std::ranges::find(kKinds, opcode, &KindRow::opcode);
  return row == std::end(kKinds) ? nullptr : row;
}

// The one instruction that a reducer applies to its two parameters.
bool Has(const ReductionRow& row, Numbers numbers) {
  switch (numbers) {
    case Numbers::kInteger:
      return row.integers;
    case Numbers::kFloat:
      return row.floats;
    case Numbers::kComplex:
      return row.complex;
    case Numbers::kTruth:
      return row.truths;
  }
  return false;
}

// Pieces along the dimension that is cut: rows of the whole array.
Status SetRows(const Module& module, InstructionId id, const Shape& whole, int64_t members,
               CollectiveForm::Array& array) {
  const auto dimensions = module.GetInts(module[id], AttributeKey::kDimensions);
  if (dimensions.size() != 1 || dimensions[0] < 0 ||
      static_cast<size_t>(dimensions[0]) >= whole.rank()) {
    return UnsupportedError("its dimension is missing");
  }
  const auto cut = static_cast<size_t>(dimensions[0]);
  if (whole.dimension(cut) % members != 0) {
    return UnsupportedError("its group size does not divide the dimension");
  }
  for (size_t d = 0; d < cut; ++d) array.rows *= whole.dimension(d);
  const int64_t bytes = whole.ByteSize().value_or(0);
  array.row_bytes = array.rows == 0 ? 0 : bytes / array.rows / members;
  if (array.rows > 1 && array.row_bytes * members > kMaxPitch) {
    return UnsupportedError("rows of its pieces are too far apart for one copy");
  }
  return {};
}

// All devices that the ids of the instruction's groups or pairs mean to one another.
std::vector<std::vector<int64_t>> GroupsOfPairs(const Module& module, InstructionId id,
                                                const hlo::DeviceCounts& counts,
                                                std::vector<std::pair<int64_t, int64_t>>& pairs) {
  const hlo::GroupMode mode = hlo::GroupModeOf(module, id, counts);
  const int64_t ids = hlo::IdCount(mode, counts);
  std::vector<std::vector<int64_t>> groups;
  for (int64_t device = 0; device < counts.devices(); ++device) {
    std::vector<int64_t> group;
    for (int64_t i = 0; i < ids; ++i) group.push_back(hlo::DeviceOf(mode, i, device, counts));
    if (std::ranges::find(groups, group) != groups.end()) continue;
    for (const auto& [from, to] : hlo::SourceTargetPairs(module, id)) {
      if (from < 0 || from >= ids || to < 0 || to >= ids) continue;
      pairs.emplace_back(group[static_cast<size_t>(from)], group[static_cast<size_t>(to)]);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

bool IsCollective(Opcode opcode) { return KindOf(opcode) != nullptr; }

Result<CollectiveForm> FormOf(const Module& module, InstructionId id,
                              const hlo::DeviceCounts& counts) {
  CollectiveForm form;
  form.kind = KindOf(module[id].opcode)->kind;
  const auto operands = module.operands(id);
  const auto results = module.shape(id).results();
  const bool reduces = Reduces(form.kind);
  if (form.kind == CollectiveKind::kPermute) {
    form.groups = GroupsOfPairs(module, id, counts, form.pairs);
    if (operands.size() != results.size()) return UnsupportedError("it writes into an operand");
    for (const auto& [from, to] : form.pairs) {
      if (std::ranges::count(form.pairs, to, &std::pair<int64_t, int64_t>::second) > 1) {
        return UnsupportedError("several devices send to the same device");
      }
    }
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(form.groups, hlo::CollectiveGroups(module, id, counts));
    size_t members = 0;
    for (const auto& group : form.groups) {
      if (group.size() != form.groups[0].size()) {
        return UnsupportedError("its groups are of several sizes");
      }
      members += group.size();
    }
    if (std::cmp_not_equal(members, counts.devices())) {
      return UnsupportedError("a device is in none of its groups");
    }
  }
  const ReductionRow* reduction = nullptr;
  if (reduces) {
    const auto reducer = hlo::BinaryReducerOf(module, id);
    reduction =
        std::ranges::find(kReductions, reducer.value_or(Opcode::kTuple), &ReductionRow::opcode);
    if (reduction == std::end(kReductions)) {
      return UnsupportedError("NCCL has no such reduction");
    }
    form.reduction = reduction->nccl;
  }
  if (module.GetBool(module[id], AttributeKey::kHasDynamicRoot)) {
    return UnsupportedError("its root device is dynamic");
  }
  const auto members = static_cast<int64_t>(form.groups[0].size());
  form.is_one_piece_each = form.kind == CollectiveKind::kExchange &&
                           module.GetInts(module[id], AttributeKey::kDimensions).empty();
  if (form.is_one_piece_each ? std::ssize(operands) != members
                             : operands.size() != results.size()) {
    return UnsupportedError("it has fewer results than operands");
  }
  for (size_t o = 0; o < operands.size(); ++o) {
    const Shape& operand = module.shape(operands[o]);
    const Shape& result = results[o];
    if (!operand.IsArray() || !result.IsArray())
      return UnsupportedError("an operand is not an array");
    CollectiveForm::Array& array = form.arrays.emplace_back();
    array = {libraries::kNcclU8, operand.ByteSize().value_or(0), result.ByteSize().value_or(0), 1};
    if (reduces) {
      const auto* const type = std::ranges::find(kTypes, operand.element_type(), &TypeRow::type);
      if (type == std::end(kTypes) || !Has(*reduction, type->numbers)) {
        return UnsupportedError(fmt::format("NCCL has no {} of {} as XLA means it",
                                            hlo::ToString(*hlo::BinaryReducerOf(module, id)),
                                            hlo::ToString(operand.element_type())));
      }
      array.type = type->nccl;
      array.element_bytes = type->part_bytes;
      array.count = *(form.kind == CollectiveKind::kAllReduce ? operand : result).ElementCount() *
                    type->parts;
    }
    if (form.kind == CollectiveKind::kReduceScatter || form.kind == CollectiveKind::kAllGather ||
        (form.kind == CollectiveKind::kExchange && !form.is_one_piece_each)) {
      const bool gathers = form.kind == CollectiveKind::kAllGather;
      const Shape& whole = gathers ? result : operand;
      const int64_t bytes = whole.ByteSize().value_or(0);
      HLOSCOPE_TRY(SetRows(module, id, whole, members, array));
      const int64_t other = (gathers ? operand : result).ByteSize().value_or(0);
      const bool exchanges = form.kind == CollectiveKind::kExchange;
      if (exchanges) array.count /= members;
      if ((exchanges ? other : other * members) != bytes) {
        return UnsupportedError("its pieces are not of one size");
      }
      if (array.rows > 1) form.scratch_bytes += (exchanges ? 2 : 1) * compile::AlignedBytes(bytes);
    }
  }
  return form;
}

}  // namespace hloscope::replay::cuda
