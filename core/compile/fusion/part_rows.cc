#include "core/compile/fusion/part_rows.h"

#include <functional>
#include <numeric>

#include "core/compile/kernel_rules.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

int64_t Product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// What reshapes see under another shape.
InstructionId Unreshaped(const Module& module, InstructionId id, PartRows& rows) {
  while ((module[id].opcode == Opcode::kReshape || module[id].opcode == Opcode::kBitcast) &&
         IsElemental(module, id)) {
    rows.through.push_back(id);
    id = module.operands(id)[0];
  }
  return id;
}

// The rows as a slice takes them: its dimensions, from the innermost on, are those of a row, one
// behind the other, then those of the rows, at one distance.
bool TakeSlice(const Module& module, InstructionId slice, PartRows& rows) {
  const auto bounds = module.GetInts(module[slice], AttributeKey::kSlice);
  const auto sizes = module.shape(slice).dimensions(),
             whole = module.shape(module.operands(slice)[0]).dimensions();
  int64_t apart = 1, in_row = 1, counted = 1;  // elements between neighbours; that were seen
  int64_t next = 0;                            // where the next row lies; 0: any
  rows.from = 0;
  rows.stride = rows.length;
  for (size_t d = sizes.size(); d-- > 0; apart *= whole[d]) {
    if (bounds[3 * d + 2] != 1) return false;
    rows.from += bounds[3 * d] * apart;
    if (sizes[d] != 1 && in_row < rows.length) {
      if (apart != in_row) return false;
      in_row *= sizes[d];
      if (in_row > rows.length) return false;
    } else if (sizes[d] != 1) {
      if (next == 0) rows.stride = next = apart;
      if (apart != next) return false;
      next *= sizes[d];
      counted *= sizes[d];
    }
  }
  return in_row == rows.length && counted == rows.rows;
}

}  // namespace

PartRows WholePart(const Module& module, InstructionId concatenate, size_t part) {
  const InstructionId id = module.operands(concatenate)[part];
  const auto sizes = module.shape(id).dimensions();
  const auto d =
      static_cast<size_t>(module.GetInts(module[concatenate], AttributeKey::kDimensions)[0]);
  PartRows rows{.array = id, .rows = Product(sizes.first(d)), .length = Product(sizes.subspan(d))};
  rows.stride = rows.length;
  return rows;
}

std::optional<PartRows> PartRowsOf(const Module& module, InstructionId concatenate, size_t part) {
  PartRows rows = WholePart(module, concatenate, part);
  rows.array = Unreshaped(module, rows.array, rows);
  if (module[rows.array].opcode != Opcode::kSlice || !IsElemental(module, rows.array)) return rows;
  if (!TakeSlice(module, rows.array, rows)) return std::nullopt;
  rows.through.push_back(rows.array);
  rows.array = Unreshaped(module, module.operands(rows.array)[0], rows);
  return rows;
}

}  // namespace hloscope::compile
