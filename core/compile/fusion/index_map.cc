// Index maps by how each opcode reads its operands, and costs by the table costs.def.
#include "core/compile/fusion/index_map.h"

#include <algorithm>
#include <array>

#include "core/base/fnv.h"
#include "core/base/quick_hash.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Which elements of its operands an instruction reads for its own.
enum class Access : uint8_t {
  kSame,       // the element of the same index
  kMoved,      // one element at another index
  kPart,       // one of one operand, by index
  kIndexed,    // one at an index that other operands say
  kReduced,    // all of a dimension
  kUpdated,    // none of the first operand, which stays where it is
  kScattered,  // none of the arrays, all of indices and updates
};
struct AccessRow {
  Opcode opcode;
  Access access;
};
constexpr AccessRow kAccessRows[] = {
    // others: kSame
    {Opcode::kBitcast, Access::kMoved},
    {Opcode::kBroadcast, Access::kMoved},
    {Opcode::kConcatenate, Access::kPart},
    {Opcode::kDynamicSlice, Access::kIndexed},
    {Opcode::kDynamicUpdateSlice, Access::kUpdated},
    {Opcode::kGather, Access::kIndexed},
    {Opcode::kPad, Access::kMoved},
    {Opcode::kReduce, Access::kReduced},
    {Opcode::kReshape, Access::kMoved},
    {Opcode::kReverse, Access::kMoved},
    {Opcode::kScatter, Access::kScattered},
    {Opcode::kSlice, Access::kMoved},
    {Opcode::kTranspose, Access::kMoved},
};

constexpr auto kAccess = [] {
  std::array<Access, hlo::kOpcodeCount> rows{};
  for (const AccessRow& row : kAccessRows) rows[static_cast<size_t>(row.opcode)] = row.access;
  return rows;
}();

constexpr auto kCosts = [] {
  std::array<double, hlo::kOpcodeCount> rows{};
  rows.fill(kPlainCost);
#define COST(opcode, time) rows[static_cast<size_t>(Opcode::opcode)] = time;
#include "core/compile/fusion/costs.def"
#undef COST
  return rows;
}();

constexpr uint64_t kScalarMap = 1;

uint64_t Mixed(uint64_t hash, std::span<const int64_t> values) {
  hash = QuickMix(hash, values.size());
  for (const int64_t value : values) hash = QuickMix(hash, static_cast<uint64_t>(value));
  return hash;
}

// The same for instructions that move elements the same way.
uint64_t MovedMap(const Module& module, InstructionId id, uint64_t map) {
  uint64_t hash = QuickMix(kFnvStart, map);
  hash = QuickMix(hash, static_cast<uint64_t>(module[id].opcode));
  hash = Mixed(hash, module.shape(id).dimensions());
  hash = Mixed(hash, module.shape(module.operands(id)[0]).dimensions());
  for (const Attribute& a : module.attributes(module[id])) {
    switch (Info(a.key).kind) {
      case hlo::ValueKind::kInts:
      case hlo::ValueKind::kPadding:
      case hlo::ValueKind::kSlices:
        hash = Mixed(QuickMix(hash, static_cast<uint64_t>(a.key)), module.IntsOf(a));
        break;
      default:
        break;
    }
  }
  return hash;
}

// The map of one instruction alone.
uint64_t OwnMap(InstructionId id, size_t slot, uint64_t map) {
  return QuickMix(QuickMix(QuickMix(kFnvStart + 1, map), id.index), slot);
}

// The indices of a gather are read as often as a start index has coordinates, those of a
// dynamic-slice are scalars.
Reads IndexedReads(const Module& module, InstructionId id, size_t slot, const Reads& reads) {
  if (slot == 0) return {OwnMap(id, slot, reads.map), reads.count};
  const auto coordinates = hlo::GatherDimsOf(module, id).start_index_map.size();
  return {OwnMap(id, slot, reads.map), reads.count * static_cast<double>(coordinates)};
}

// The operand of a scatter that is its indices: behind the arrays, before as many updates.
size_t ScatterIndices(const Module& module, InstructionId id) {
  return (module.operands(id).size() - 1) / 2;
}

}  // namespace

Reads ReadsOfAll(InstructionId id, double elements) { return {OwnMap(id, SIZE_MAX, 0), elements}; }

double ElementCount(const Shape& shape) {
  const Shape* array = &shape;
  while (array->IsTuple() && !array->elements().empty()) array = &array->elements()[0];
  double count = 1;
  for (const int64_t size : array->dimensions()) count *= static_cast<double>(size);
  return count;
}

double CostOf(Opcode opcode) { return kCosts[static_cast<size_t>(opcode)]; }

uint32_t CodeSizeOf(Opcode opcode, bool for_gpu) {
  const double cost = CostOf(opcode);
  if (cost == 0) return 0;
  return cost >= kExpensiveOpCost && !for_gpu ? 2 : 1;
}

double LoopCount(const Module& module, InstructionId id) {
  const Access access = kAccess[static_cast<size_t>(module[id].opcode)];
  if (access == Access::kReduced) return ElementCount(module.shape(module.operands(id)[0]));
  if (access == Access::kUpdated) return ElementCount(module.shape(module.operands(id)[1]));
  if (access == Access::kScattered) {
    return ElementCount(module.shape(module.operands(id).back()));
  }
  return ElementCount(module.shape(id));
}

Reads OperandReads(const Module& module, InstructionId id, size_t slot, const Reads& reads) {
  const InstructionId operand = module.operands(id)[slot];
  if (module.shape(operand).IsScalar()) return {kScalarMap, 1};
  const double elements = ElementCount(module.shape(operand));
  switch (kAccess[static_cast<size_t>(module[id].opcode)]) {
    case Access::kSame:
      return reads;
    case Access::kMoved:
      return {MovedMap(module, id, reads.map), reads.count};
    case Access::kPart:
      return {OwnMap(id, slot, reads.map), reads.count * elements / ElementCount(module.shape(id))};
    case Access::kIndexed:
      return IndexedReads(module, id, slot, reads);
    case Access::kReduced:
      return {reads.map, elements};
    case Access::kUpdated:
      return slot == 0 ? Reads{OwnMap(id, slot, reads.map), 0} : Reads{reads.map, elements};
    case Access::kScattered:
      return {OwnMap(id, std::min(slot, ScatterIndices(module, id) + 1), reads.map),
              slot < ScatterIndices(module, id) ? 0 : elements};
  }
  return reads;
}

}  // namespace hloscope::compile
