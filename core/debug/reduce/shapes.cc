// Reductions of dimensions: a size gives way to a smaller one wherever it stands, and the shapes
// that follow are inferred anew.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/base/checked.h"
#include "core/debug/reduce/literals.h"
#include "core/debug/reduce/reductions.h"
#include "core/debug/reduce/resize.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/rewrite/copy_module.h"
#include "core/hlo/shape/shape_inference.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Opcode;
using hlo::Shape;

using Sizes = std::map<int64_t, int64_t>;  // old to new

constexpr int64_t kStepByStep = 8;  // from here on sizes shrink by one too

int64_t Mapped(const Sizes& sizes, int64_t size) {
  const auto found = sizes.find(size);
  return found == sizes.end() ? size : found->second;
}

Shape Mapped(const Sizes& sizes, Shape shape) {
  for (size_t d = 0; d < shape.rank(); ++d) {
    shape.set_dimension(d, Mapped(sizes, shape.dimension(d)));
  }
  for (Shape& element : shape.mutable_elements()) element = Mapped(sizes, std::move(element));
  return shape;
}

// Inferred shapes have no layouts; those of arrays of the same rank stay.
void TakeLayouts(Shape& shape, const Shape& old) {
  const bool is_alike = shape.IsArray() && old.IsArray() && shape.rank() == old.rank();
  if (is_alike && old.has_layout()) shape.set_layout(old.layout());
  for (size_t i = 0; i < std::min(shape.elements().size(), old.elements().size()); ++i) {
    TakeLayouts(shape.mutable_elements()[i], old.elements()[i]);
  }
}

int64_t Product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product = CheckedMul(product, size).value_or(0);
  return product;
}

// Makes the product of `sizes` the one wanted by changing one of them, the last that will do.
bool FitProduct(std::span<int64_t> sizes, int64_t wanted) {
  if (Product(sizes) == wanted) return true;
  for (size_t i = sizes.size(); i-- > 0;) {
    const int64_t own = sizes[i];
    sizes[i] = 1;
    const int64_t others = Product(sizes);
    if (others > 0 && wanted % others == 0) {
      sizes[i] = wanted / others;
      return true;
    }
    sizes[i] = own;
  }
  return false;
}

// The dimensions of a reshape's result: each group of them that holds the elements of a group of
// the operand's dimensions follows that.
bool FitReshape(const Shape& old_from, const Shape& from, const Shape& old_to, Shape& to) {
  size_t i = 0, j = 0;
  while (i < old_from.rank() || j < old_to.rank()) {
    const size_t first_i = i, first_j = j;
    int64_t a = i < old_from.rank() ? old_from.dimension(i++) : 1;
    int64_t b = j < old_to.rank() ? old_to.dimension(j++) : 1;
    while (a != b) {
      if (a < b && i < old_from.rank()) {
        a *= old_from.dimension(i++);
      } else if (a > b && j < old_to.rank()) {
        b *= old_to.dimension(j++);
      } else {
        return false;
      }
    }
    std::vector<int64_t> group;
    for (size_t d = first_j; d < j; ++d) group.push_back(to.dimension(d));
    const int64_t wanted = Product(from.dimensions().subspan(first_i, i - first_i));
    if (group.empty() ? wanted != 1 : !FitProduct(group, wanted)) return false;
    for (size_t d = first_j; d < j; ++d) to.set_dimension(d, group[d - first_j]);
  }
  return true;
}

class Resizing {
 public:
  Resizing(const Candidate& from, Sizes sizes)
      : from_(from),
        module_(*from.module),
        sizes_(std::move(sizes)),
        builder_(CopyModule(module_)) {}

  std::optional<Candidate> Run() {
    builder_.header().entry_layout.reset();
    for (const hlo::ComputationId c : hlo::CallGraphOf(module_).callees_first()) {
      for (uint32_t i = 0; i < module_[c].instruction_count; ++i) {
        if (!Resize(InstructionId(module_[c].first_instruction + i))) return std::nullopt;
      }
    }
    Candidate candidate{builder_.Build(), from_.arguments};
    const auto parameters = candidate.module->Parameters(candidate.module->entry_id());
    for (size_t i = 0; i < std::min(parameters.size(), candidate.arguments.size()); ++i) {
      Literal& argument = candidate.arguments[i];
      const Shape& shape = candidate.module->shape(parameters[i]);
      if (!IsUnknown(argument)) argument = Fitted(argument, shape);
    }
    return candidate;
  }

 private:
  static Literal Fitted(const Literal& literal, const Shape& shape) {
    if (hlo::Compatible(literal.shape(), shape)) return literal;
    const bool is_plain = shape.IsArray() && shape.is_static() && !literal.elided() &&
                          literal.shape().rank() == shape.rank();
    return is_plain ? Resized(literal, shape) : Literal();
  }

  Shape ShapeOf(InstructionId id) const { return builder_.module().shape(id); }

  bool Resize(InstructionId id) {
    const auto operands = module_.operands(id);
    std::vector<Shape> shapes;
    for (const InstructionId operand : operands) shapes.push_back(ShapeOf(operand));
    if (!operands.empty()) FitAttributes(id, module_.shape(operands[0]), shapes[0]);
    const Shape& old = module_.shape(id);
    Shape declared = Mapped(sizes_, old);
    const Opcode opcode = module_[id].opcode;
    if (opcode == Opcode::kReshape &&
        !FitReshape(module_.shape(operands[0]), shapes[0], old, declared)) {
      return false;
    }
    if (opcode == Opcode::kDynamicSlice || opcode == Opcode::kSlice) declared = old;
    std::vector<const Shape*> pointers;
    for (const Shape& shape : shapes) pointers.push_back(&shape);
    const auto inferred =
        hlo::InferShape({builder_.module(), opcode, pointers,
                         builder_.module().attributes(builder_.module()[id]), &declared});
    if (!inferred.has_value()) return false;
    Shape shape = *inferred;
    TakeLayouts(shape, old);
    builder_.instruction(id).shape = builder_.InternShape(shape);
    return FitConstant(id, shape);
  }

  bool FitConstant(InstructionId id, const Shape& shape) {
    const auto* value = module_.Get<Literal>(module_[id], AttributeKey::kConstantValue);
    if (value == nullptr || hlo::Compatible(value->shape(), shape)) return true;
    const Literal fitted = Fitted(*value, shape);
    if (IsUnknown(fitted)) return false;
    builder_.SetAttribute(id, builder_.Make(AttributeKey::kConstantValue, fitted));
    return true;
  }

  // A size of a part of a dimension.
  int64_t Part(int64_t part, int64_t old_size, int64_t size) const {
    return part == old_size ? size : std::min(Mapped(sizes_, part), size);
  }

  void FitAttributes(InstructionId id, const Shape& old, const Shape& operand) {
    if (old.rank() != operand.rank()) return;
    const auto slice = module_.GetInts(module_[id], AttributeKey::kSlice);
    if (!slice.empty() && slice.size() == 3 * old.rank()) {
      std::vector<int64_t> fitted(slice.begin(), slice.end());
      for (size_t d = 0; d < old.rank(); ++d) {
        int64_t& begin = fitted[3 * d];
        int64_t& end = fitted[3 * d + 1];
        end = Part(end, old.dimension(d), operand.dimension(d));
        begin = std::clamp<int64_t>(Mapped(sizes_, begin), 0, std::max<int64_t>(end - 1, 0));
      }
      builder_.SetAttribute(id, builder_.MakeInts(AttributeKey::kSlice, fitted));
    }
    for (const AttributeKey key : {AttributeKey::kDynamicSliceSizes, AttributeKey::kSliceSizes}) {
      const auto parts = module_.GetInts(module_[id], key);
      if (parts.size() != old.rank() || parts.empty()) continue;
      std::vector<int64_t> fitted;
      for (size_t d = 0; d < old.rank(); ++d) {
        fitted.push_back(Part(parts[d], old.dimension(d), operand.dimension(d)));
      }
      builder_.SetAttribute(id, builder_.MakeInts(key, fitted));
    }
  }

  const Candidate& from_;
  const hlo::Module& module_;
  Sizes sizes_;
  hlo::ModuleBuilder builder_;
};

// What to try, the boldest first.
std::vector<Sizes> ChoicesFor(const hlo::Module& module) {
  std::set<int64_t, std::greater<>> present;
  for (const hlo::Instruction& i : module.instructions()) {
    for (const hlo::Shape* shape : module[i.shape].LeafShapes()) {
      for (const int64_t size : shape->dimensions()) {
        if (size > 1) present.insert(size);
      }
    }
  }
  std::vector<Sizes> choices;
  for (const int64_t most : {1, 2, 4}) {
    Sizes all;
    for (const int64_t size : present) {
      if (size > most) all[size] = most;
    }
    if (all.size() > 1) choices.push_back(std::move(all));
  }
  for (const int64_t size : present) {
    std::set<int64_t> smaller = {1, 2, size / 4, size / 2};
    if (size <= kStepByStep) smaller.insert(size - 1);
    for (const int64_t to : smaller) {
      if (to > 0 && to < size) choices.push_back({{size, to}});
    }
  }
  return choices;
}

}  // namespace

std::optional<Candidate> Resized(const Candidate& from, const Sizes& sizes) {
  return Resizing(from, sizes).Run();
}

void ShrinkDimensions(Search& search) {
  for (bool shrunk = true; shrunk && !search.stopped();) {
    const Candidate from = search.best();
    const std::vector<Sizes> choices = ChoicesFor(*from.module);
    shrunk = search.First(choices.size(), [&](size_t i) { return Resized(from, choices[i]); })
                 .has_value();
  }
}

}  // namespace hloscope::debug
