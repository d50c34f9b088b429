// Reductions of ranks: dimensions of one element go, in all arrays that share them; what is left of
// most arrays is a scalar.
#include <algorithm>
#include <set>
#include <vector>

#include "core/debug/reduce/dimension_groups.h"
#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/reductions.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Opcode;
using hlo::Shape;

// The same elements in another shape; without a shape where they are not known.
Literal WithShape(const Literal& literal, const Shape& shape) {
  if (IsUnknown(literal) || literal.elided() || !shape.is_static()) return Literal();
  std::vector<Literal> leaves;
  const auto shapes = shape.LeafShapes();
  const std::vector<Literal> old = dump::FlattenLiteral(literal);
  if (old.size() != shapes.size()) return Literal();
  for (size_t i = 0; i < old.size(); ++i) {
    if (!shapes[i]->IsArray()) {
      leaves.push_back(old[i]);
      continue;
    }
    leaves.push_back(Literal::Dense(*shapes[i], {old[i].bytes().begin(), old[i].bytes().end()}));
  }
  size_t next = 0;
  return hlo::NestLeaves(shape, leaves, next).value_or(Literal());
}

class RankDrop {
 public:
  RankDrop(const Candidate& from, const DimensionGroups& groups, std::set<uint32_t> gone)
      : from_(from),
        module_(*from.module),
        groups_(groups),
        gone_(std::move(gone)),
        builder_(hlo::CopyModule(module_)) {}

  std::optional<Candidate> Run() {
    builder_.header().entry_layout.reset();
    for (uint32_t i = 0; i < module_.instructions().size(); ++i) {
      if (!Change(InstructionId(i))) return std::nullopt;
    }
    Candidate candidate{builder_.Build(), from_.arguments};
    const auto parameters = candidate.module->Parameters(candidate.module->entry_id());
    for (size_t i = 0; i < std::min(parameters.size(), candidate.arguments.size()); ++i) {
      Literal& argument = candidate.arguments[i];
      const Shape& shape = candidate.module->shape(parameters[i]);
      if (!(shape == module_.shape(module_.Parameters(module_.entry_id())[i]))) {
        argument = WithShape(argument, shape);
      }
    }
    if (!lost_operands_) return candidate;
    return Edit(candidate).Finish();
  }

 private:
  bool IsGone(InstructionId id, size_t leaf, size_t d) const {
    return gone_.contains(groups_.GroupOf(id, leaf, d));
  }

  // What `d` is called without those that are gone before it.
  int64_t Renumbered(InstructionId id, size_t d) const {
    int64_t left = 0;
    for (size_t i = 0; i < d; ++i) left += IsGone(id, 0, i) ? 0 : 1;
    return left;
  }

  Shape Without(InstructionId id, const Shape& shape, size_t& leaf) const {
    if (shape.IsTuple()) {
      std::vector<Shape> elements;
      for (const Shape& element : shape.elements()) elements.push_back(Without(id, element, leaf));
      return Shape::Tuple(std::move(elements));
    }
    const size_t own = leaf++;
    if (!shape.IsArray()) return shape;
    Shape smaller = Shape::Scalar(shape.element_type());
    std::vector<int64_t> number(shape.rank(), -1);
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (IsGone(id, own, d)) continue;
      number[d] = static_cast<int64_t>(smaller.rank());
      smaller.add_dimension(shape.dimension(d), shape.is_dynamic_dimension(d));
    }
    if (smaller.rank() == shape.rank()) return shape;
    // Tiles are of the old rank.
    if (!shape.has_layout() || shape.layout().extras != nullptr) return smaller;
    hlo::Layout layout;
    for (const int64_t d : shape.layout().minor_to_major) {
      const int64_t left = number[static_cast<size_t>(d)];
      if (left >= 0) layout.minor_to_major.push_back(left);
    }
    smaller.set_layout(std::move(layout));
    return smaller;
  }

  bool Change(InstructionId id) {
    size_t leaf = 0;
    const Shape& old = module_.shape(id);
    const Shape shape = Without(id, old, leaf);
    if (!(shape == old)) builder_.instruction(id).shape = builder_.InternShape(shape);
    ChangeLists(id);
    ChangeDimensions(id);
    DropIndices(id);
    const auto* value = module_.Get<Literal>(module_[id], AttributeKey::kConstantValue);
    if (value == nullptr || shape == old) return true;
    const Literal reshaped = WithShape(*value, shape);
    if (IsUnknown(reshaped)) return false;
    builder_.SetAttribute(id, builder_.Make(AttributeKey::kConstantValue, reshaped));
    return true;
  }

  // Lists of dimensions of an operand.
  void ChangeList(InstructionId id, AttributeKey key, size_t operand) {
    if (module_.Find(id, key) == nullptr) return;
    const InstructionId of = module_.operands(id)[operand];
    std::vector<int64_t> left;
    for (const int64_t d : module_.GetInts(module_[id], key)) {
      if (!IsGone(of, 0, static_cast<size_t>(d))) {
        left.push_back(Renumbered(of, static_cast<size_t>(d)));
      }
    }
    builder_.SetAttribute(id, builder_.MakeInts(key, left));
  }

  void ChangeLists(InstructionId id) {
    static constexpr hlo::OpcodeSet kListed = {Opcode::kReduce, Opcode::kReverse,
                                               Opcode::kConcatenate, Opcode::kSort, Opcode::kMap};
    const Opcode opcode = module_[id].opcode;
    if (kListed.Has(opcode)) ChangeList(id, AttributeKey::kDimensions, 0);
    if (opcode == Opcode::kBroadcast) ChangeMapping(id, module_.operands(id)[0], id);
    if (opcode == Opcode::kTranspose) ChangeMapping(id, id, module_.operands(id)[0]);
    if (opcode == Opcode::kDot) {
      ChangeList(id, AttributeKey::kLhsBatchDims, 0);
      ChangeList(id, AttributeKey::kLhsContractingDims, 0);
      ChangeList(id, AttributeKey::kRhsBatchDims, 1);
      ChangeList(id, AttributeKey::kRhsContractingDims, 1);
    }
    if (opcode == Opcode::kIota) {
      const auto along = module_.GetInt(module_[id], AttributeKey::kIotaDimension);
      const int64_t left = Renumbered(id, static_cast<size_t>(along));
      builder_.SetAttribute(id, builder_.MakeInt(AttributeKey::kIotaDimension, left));
    }
  }

  // A list with a dimension of `to` for each one of `from`.
  void ChangeMapping(InstructionId id, InstructionId from, InstructionId to) {
    const auto list = module_.GetInts(module_[id], AttributeKey::kDimensions);
    std::vector<int64_t> left;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!IsGone(from, 0, i)) left.push_back(Renumbered(to, static_cast<size_t>(list[i])));
    }
    builder_.SetAttribute(id, builder_.MakeInts(AttributeKey::kDimensions, left));
  }

  // Numbers for each dimension of the result.
  void ChangeDimensions(InstructionId id) {
    struct Row {
      AttributeKey key;
      size_t numbers;
    };
    constexpr Row kRows[] = {{AttributeKey::kSlice, 3},
                             {AttributeKey::kPadding, 3},
                             {AttributeKey::kDynamicSliceSizes, 1}};
    if (!module_.shape(id).IsArray() && module_[id].opcode != Opcode::kReduceWindow) return;
    const auto is_left = [&](size_t d) { return !IsGone(id, 0, d); };
    for (const Row& row : kRows) {
      const auto all = module_.GetInts(module_[id], row.key);
      if (all.empty()) continue;
      std::vector<int64_t> left;
      for (size_t i = 0; i < all.size(); ++i) {
        if (is_left(i / row.numbers)) left.push_back(all[i]);
      }
      builder_.SetAttribute(id, builder_.MakeInts(row.key, left));
    }
    const hlo::Window* window = hlo::FindWindow(module_, id);
    if (window == nullptr || module_[id].opcode != Opcode::kReduceWindow) return;
    hlo::Window left;
    for (size_t d = 0; d < window->dimensions.size(); ++d) {
      if (is_left(d)) left.dimensions.push_back(window->dimensions[d]);
    }
    builder_.SetAttribute(id, builder_.Make(AttributeKey::kWindow, std::move(left)));
  }

  // Operands that say where a slice begins, one for each dimension.
  void DropIndices(InstructionId id) {
    const Opcode opcode = module_[id].opcode;
    if (opcode != Opcode::kDynamicSlice && opcode != Opcode::kDynamicUpdateSlice) return;
    const size_t first = opcode == Opcode::kDynamicSlice ? 1 : 2;
    const auto operands = builder_.operands(id);
    if (operands.size() != first + module_.shape(id).rank()) return;
    size_t left = first;
    for (size_t d = 0; first + d < operands.size(); ++d) {
      if (!IsGone(id, 0, d)) operands[left++] = operands[first + d];
    }
    lost_operands_ |= left < operands.size();
    builder_.instruction(id).operand_count = static_cast<uint32_t>(left);
  }

  const Candidate& from_;
  const hlo::Module& module_;
  const DimensionGroups& groups_;
  std::set<uint32_t> gone_;
  hlo::ModuleBuilder builder_;
  bool lost_operands_ = false;
};

}  // namespace

void DropRanks(Search& search) {
  search.RemoveChunks(
      [](const Candidate& c) { return DimensionGroups(*c.module).droppable().size(); },
      [](const Candidate& c, size_t begin, size_t end) {
        const DimensionGroups groups(*c.module);
        const std::vector<uint32_t>& all = groups.droppable();
        const size_t last = std::min(end, all.size());
        return RankDrop(c, groups,
                        {all.begin() + static_cast<ptrdiff_t>(std::min(begin, last)),
                         all.begin() + static_cast<ptrdiff_t>(last)})
            .Run();
      });
}

}  // namespace hloscope::debug
