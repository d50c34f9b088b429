// Rules about bytes that are moved or kept for no computation.
#include <algorithm>
#include <span>
#include <utility>

#include "core/analysis/lint/lint_module.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

// The dimensions of more than one element, from minor to major.
std::vector<int64_t> Order(const Shape& shape) {
  std::vector<int64_t> order;
  for (size_t k = 0; k < shape.rank(); ++k) {
    const int64_t dimension = shape.has_layout() && k < shape.layout().minor_to_major.size()
                                  ? shape.layout().minor_to_major[k]
                                  : static_cast<int64_t>(shape.rank() - 1 - k);
    if (dimension >= 0 && static_cast<size_t>(dimension) < shape.rank() &&
        shape.dimension(static_cast<size_t>(dimension)) != 1)
      order.push_back(dimension);
  }
  return order;
}

// Whether a copy or transpose puts elements in another order in memory.
bool Reorders(const hlo::Module& m, InstructionId id) {
  const InstructionId operand = m.operands(id)[0];
  if (!m.shape(id).IsArray() || !m.shape(operand).IsArray()) return false;
  std::vector<int64_t> to = Order(m.shape(id));
  if (m[id].opcode == Opcode::kTranspose) {
    const auto dimensions = m.GetInts(m[id], AttributeKey::kDimensions);
    for (int64_t& dimension : to) {
      if (static_cast<size_t>(dimension) >= dimensions.size()) return false;
      dimension = dimensions[static_cast<size_t>(dimension)];
    }
  }
  return to != Order(m.shape(operand));
}

// The operand of an instruction that only reorders it: a copy, a transpose or a fusion of these;
// invalid for others.
InstructionId Reordered(const LintModule& module, InstructionId id) {
  const hlo::Module& m = module.m;
  if (m[id].operand_count != 1) return {};
  bool reorders = false;
  if (const hlo::ComputationId body = module.Body(id); body.valid()) {
    bool only_moves = true;
    module.Each(body, [&](InstructionId inner) {
      const Opcode opcode = m[inner].opcode;
      const bool moves = opcode == Opcode::kCopy || opcode == Opcode::kTranspose;
      only_moves = only_moves && (moves || opcode == Opcode::kParameter ||
                                  opcode == Opcode::kBitcast || opcode == Opcode::kReshape);
      if (moves) reorders = reorders || Reorders(m, inner);
    });
    reorders = reorders && only_moves;
  } else if (module.Is(id, Opcode::kCopy) || module.Is(id, Opcode::kTranspose)) {
    reorders = Reorders(m, id);
  }
  if (!reorders || module.Bytes(id) < kLargeBytes) return {};
  return module.ThroughBitcasts(m.operands(id)[0]);
}

// Whether an instruction wants its operands in the order of their shape: a product, a library, a
// caller. What computes element by element or reduces takes any.
bool HasFixedOrder(const LintModule& module, InstructionId id) {
  if (const hlo::ComputationId body = module.Body(id); body.valid()) {
    bool fixed = module.m.GetInt(module.m[id], AttributeKey::kFusionKind, -1) ==
                 static_cast<int64_t>(hlo::FusionKind::kCustom);
    module.Each(body, [&](InstructionId inner) {
      const auto category = hlo::Info(module.m[inner].opcode).category;
      fixed = fixed || category == hlo::Category::kContraction;
    });
    return fixed;
  }
  switch (hlo::Info(module.m[id].opcode).category) {
    case hlo::Category::kElementwise:
    case hlo::Category::kDataMovement:
    case hlo::Category::kReduction:
      return false;
    default:
      return true;
  }
}

// Whether something else reads the value in the order that it has. Then one of both orders has to
// be copied, whatever the program says.
bool IsReadInOrder(const LintModule& module, InstructionId value, int depth = 0) {
  const auto users = module.users.users(value);
  return value == module.m.entry().root || std::ranges::any_of(users, [&](InstructionId user) {
           if (module.Is(user, Opcode::kBitcast))
             return depth < kMaxChain && IsReadInOrder(module, user, depth + 1);
           return !Reordered(module, user).valid() && HasFixedOrder(module, user);
         });
}

// Whether it is a matrix product, or a fusion with one.
bool IsProduct(const LintModule& module, InstructionId id) {
  if (const hlo::ComputationId body = module.Body(id); body.valid()) {
    bool found = false;
    module.Each(body, [&](InstructionId inner) { found |= module.Is(inner, Opcode::kDot); });
    return found;
  }
  return module.Is(id, Opcode::kDot);
}

// Whether something uses the value, bitcasts aside, and `test` holds for all that do.
template <typename Test>
bool AllReaders(const LintModule& module, InstructionId value, Test test, int depth = 0) {
  const auto users = module.users.users(value);
  return !users.empty() && std::ranges::all_of(users, [&](InstructionId user) {
    if (module.Is(user, Opcode::kBitcast))
      return depth < kMaxChain && AllReaders(module, user, test, depth + 1);
    return test(user);
  });
}

// How many dimensions the copy or transpose has, in a fusion the one with most.
size_t MovedRank(const LintModule& module, InstructionId id) {
  const hlo::ComputationId body = module.Body(id);
  if (!body.valid()) return Order(module.m.shape(id)).size();
  size_t rank = 0;
  module.Each(body, [&](InstructionId inner) {
    if (module.Is(inner, Opcode::kCopy) || module.Is(inner, Opcode::kTranspose))
      rank = std::max(rank, Order(module.m.shape(inner)).size());
  });
  return rank;
}

// Whether no order would do for both ends. A product gives its batch dimensions first, and takes
// them so: between two of them nothing can be swapped but the two sides of a matrix. What is
// returned as it came has to be copied in any order.
bool IsUnavoidable(const LintModule& module, InstructionId id, InstructionId operand) {
  const hlo::Module& m = module.m;
  if (module.Is(operand, Opcode::kParameter)) {
    const auto returns = [&](InstructionId user) {
      return user == m.entry().root && module.Is(user, Opcode::kTuple);
    };
    return id == m.entry().root || AllReaders(module, id, returns);
  }
  return IsProduct(module, operand) && MovedRank(module, id) > 2 &&
         AllReaders(module, id, [&](InstructionId user) { return IsProduct(module, user); });
}

std::vector<LintPlace> Reorderings(const LintModule& module, bool of_parameters) {
  std::vector<LintPlace> out;
  module.EachLaunched([&](InstructionId id) {
    const InstructionId operand = Reordered(module, id);
    if (!operand.valid()) return;
    const bool is_parameter = module.Is(operand, Opcode::kParameter) &&
                              module.m[operand].computation == module.m.entry_id();
    if (is_parameter != of_parameters || IsReadInOrder(module, operand) ||
        IsUnavoidable(module, id, operand))
      return;
    std::string cost = SizeText(module.Bytes(id)) + " read and written again";
    if (is_parameter) cost += ", parameter " + std::string(module.m.name(operand));
    out.push_back({id, std::move(cost), 2 * module.Bytes(id)});
  });
  return out;
}

// Null: there is no such leaf.
const hlo::Shape* LeafAt(const hlo::Shape& shape, std::span<const int64_t> index) {
  const hlo::Shape* at = &shape;
  for (const int64_t i : index) {
    if (!at->IsTuple() || i < 0 || std::cmp_greater_equal(i, at->elements().size())) return nullptr;
    at = &at->elements()[static_cast<size_t>(i)];
  }
  return at->IsTuple() ? nullptr : at;
}

}  // namespace

template <>
std::vector<LintPlace> FindPlaces<LintKind::kLayoutCopy>(const LintModule& module) {
  return Reorderings(module, false);
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kTransposedParameter>(const LintModule& module) {
  return Reorderings(module, true);
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kDonation>(const LintModule& module) {
  std::vector<LintPlace> out;
  const auto parameters = module.m.Parameters(module.m.entry_id());
  for (const hlo::BufferDonor& donor : module.m.header().buffer_donors) {
    if (donor.parameter < 0 || static_cast<size_t>(donor.parameter) >= parameters.size()) continue;
    const InstructionId id = parameters[static_cast<size_t>(donor.parameter)];
    if (!id.valid()) continue;
    const hlo::Shape* donated = LeafAt(module.m.shape(id), donor.parameter_index);
    const int64_t bytes = donated == nullptr ? 0 : donated->ByteSize().value_or(0);
    out.push_back({id, SizeText(bytes) + " that no result uses", bytes});
  }
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kCacheCopy>(const LintModule& module) {
  const hlo::Module& m = module.m;
  constexpr int64_t kMinFactor = 16;  // of the array's bytes over the slice's
  std::vector<LintPlace> out;
  module.EachLaunched([&](InstructionId id) {
    const InstructionId update = module.ThroughBitcasts(module.Root(id));
    if (!module.Is(update, Opcode::kDynamicUpdateSlice) || m[update].operand_count < 2) return;
    // The array: of a fusion what is given for its parameter.
    InstructionId array = module.ThroughBitcasts(m.operands(update)[0]);
    if (update != id && module.Body(id).valid()) {
      if (!module.Is(array, Opcode::kParameter)) return;
      const auto number = static_cast<size_t>(m.GetInt(m[array], AttributeKey::kParameterNumber));
      if (number >= m[id].operand_count) return;
      array = module.ThroughBitcasts(m.operands(id)[number]);
    }
    if (!module.Is(array, Opcode::kCopy) || Reorders(m, array)) return;
    const int64_t bytes = module.Bytes(array), slice = module.Bytes(m.operands(update)[1]);
    if (bytes < kLargeBytes || bytes < kMinFactor * slice) return;
    out.push_back(
        {id, SizeText(bytes) + " copied to update " + std::to_string(slice) + " bytes", 2 * bytes});
  });
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kLargeConstant>(const LintModule& module) {
  std::vector<LintPlace> out;
  for (uint32_t k = 0; k < module.m.instructions().size(); ++k) {
    const InstructionId id(k);
    if (!module.Is(id, Opcode::kConstant) || module.Bytes(id) < kLargeBytes) continue;
    out.push_back({id, SizeText(module.Bytes(id)) + " in the program", module.Bytes(id)});
  }
  return out;
}

}  // namespace hloscope::analysis
