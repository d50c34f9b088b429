// Reshapes and bitcasts that only reinterpret data: no element moves, no size changes. Strict
// findings.
#include <algorithm>

#include "core/hlo/verify/verify_context.h"
#include "core/hlo/verify/verify_layout.h"

namespace hloscope::hlo {
namespace {

bool HasDegenerate(const Shape& shape) {
  auto d = shape.dimensions();
  return std::find(d.begin(), d.end(), 0) != d.end();
}

// The dimensions of more than one element, major to minor, as positions among such dimensions.
struct PhysicalOrder {
  std::vector<int64_t> sizes;       // logical order
  std::vector<size_t> major_first;  // positions in `sizes`
};

PhysicalOrder OrderOf(const Shape& shape) {
  PhysicalOrder order;
  std::vector<size_t> position(shape.rank());
  for (size_t d = 0; d < shape.rank(); ++d) {
    position[d] = order.sizes.size();
    if (shape.dimension(d) != 1) order.sizes.push_back(shape.dimension(d));
  }
  for (size_t d = shape.rank(); d-- > 0;) {
    auto logical = static_cast<size_t>(MinorToMajor(shape, d));
    if (logical >= shape.rank()) continue;  // a broken layout, reported elsewhere
    if (shape.dimension(logical) != 1) order.major_first.push_back(position[logical]);
  }
  return order;
}

// The finest groups of neighbouring dimensions whose products agree: group of each dimension.
bool GroupDimensions(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                     std::vector<size_t>& group_a, std::vector<size_t>& group_b) {
  size_t i = 0, j = 0, group = 0;
  while (i < a.size() && j < b.size()) {
    auto left = static_cast<uint64_t>(a[i]), right = static_cast<uint64_t>(b[j]);
    group_a.push_back(group), group_b.push_back(group);
    ++i, ++j;
    while (left != right) {
      if (left < right) {
        if (i == a.size()) return false;
        left *= static_cast<uint64_t>(a[i++]);
        group_a.push_back(group);
      } else {
        if (j == b.size()) return false;
        right *= static_cast<uint64_t>(b[j++]);
        group_b.push_back(group);
      }
    }
    ++group;
  }
  return i == a.size() && j == b.size();
}

// The order of groups, major to minor; empty if a group's dimensions are torn apart or turned.
std::vector<size_t> GroupOrder(const PhysicalOrder& order, const std::vector<size_t>& groups) {
  std::vector<size_t> result;
  for (size_t k = 0; k < order.major_first.size(); ++k) {
    size_t d = order.major_first[k];
    bool starts = d == 0 || groups[d - 1] != groups[d];
    if (starts) {
      result.push_back(groups[d]);
    } else if (k == 0 || order.major_first[k - 1] != d - 1) {
      return {};
    }
  }
  return result;
}

// XLA: ShapeUtil::ReshapeIsBitcast.
bool ReshapeIsBitcast(const Shape& a, const Shape& b) {
  if (HasDegenerate(a) || HasDegenerate(b)) return true;
  PhysicalOrder from = OrderOf(a), to = OrderOf(b);
  std::vector<size_t> from_groups, to_groups;
  if (!GroupDimensions(from.sizes, to.sizes, from_groups, to_groups)) return true;
  if (from.sizes.empty()) return true;
  std::vector<size_t> order = GroupOrder(from, from_groups);
  return !order.empty() && order == GroupOrder(to, to_groups);
}

bool HasDefaultOrder(const Shape& shape) {
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (MinorToMajor(shape, d) != static_cast<int64_t>(shape.rank() - 1 - d)) return false;
  }
  return true;
}

void CheckReshape(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Shape& operand = module.shape(module.operands(id)[0]);
  const Shape& result = module.shape(id);
  if (context.IsFusion(module[id].computation)) return;
  if (HasDefaultOrder(operand) && HasDefaultOrder(result)) return;
  if (ReshapeIsBitcast(operand, result)) return;
  context.Strict(id, "reshape-bitcast",
                 context.Name(id) + ": reshape from " + context.Text(operand, true) + " to " +
                     context.Text(result, true) + " moves data",
                 "use a copy or transpose first, or a layout that keeps the order of elements");
}

std::optional<int64_t> BitSize(const Shape& shape) {
  auto count = shape.ElementCount();
  if (!count.has_value()) return std::nullopt;
  int64_t bits = ExtrasOf(shape).element_size_in_bits;
  if (bits <= 0) bits = int64_t{8} * StorageBytes(shape.element_type());
  int64_t total;
  if (__builtin_mul_overflow(*count, bits, &total)) return std::nullopt;
  return total;
}

void CheckBitcast(VerifyContext& context, InstructionId id) {
  const Shape& operand = context.module().shape(context.module().operands(id)[0]);
  const Shape& result = context.module().shape(id);
  if (&operand == &result || !operand.IsArray() || !result.IsArray()) return;
  if (ExtrasOf(operand).memory_space != ExtrasOf(result).memory_space) {
    context.Strict(id, "memory-space",
                   context.Name(id) + ": bitcast from " + context.Text(operand, true) + " to " +
                       context.Text(result, true) + " changes the memory space");
  }
  auto from = BitSize(operand), to = BitSize(result);
  if (from == to) return;
  context.Strict(id, "bitcast",
                 context.Name(id) + ": bitcast from " + context.Text(operand, true) + " to " +
                     context.Text(result, true) + " changes the size in bytes");
}

}  // namespace

void VerifyReinterpretation(VerifyContext& context, InstructionId id) {
  if (context.module()[id].opcode == Opcode::kReshape) {
    CheckReshape(context, id);
  } else {
    CheckBitcast(context, id);
  }
}

}  // namespace hloscope::hlo
