// Dynamic dimensions (XLA: DynamicPadder): arrays of dynamic size become arrays of their bounds
// beside their sizes; in tuples and in what loops and branches carry, a tuple of both. Parameters
// and results of the entry stay as they are, and so does what has no rule.
#include <algorithm>
#include <utility>

#include "core/compile/passes/dynamic/dynamic_arrays.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/analysis/by_id.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Hand tuples on as they are.
bool IsStructural(Opcode opcode) {
  constexpr Opcode kStructural[] = {Opcode::kTuple,
                                    Opcode::kGetTupleElement,
                                    Opcode::kParameter,
                                    Opcode::kWhile,
                                    Opcode::kConditional,
                                    Opcode::kCall,
                                    Opcode::kOptimizationBarrier};
  return std::ranges::find(kStructural, opcode) != std::end(kStructural);
}

Shape SplitShape(const Shape& shape) {
  std::vector<Shape> elements;
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) elements.push_back(SplitShape(element));
    return Shape::Tuple(std::move(elements));
  }
  if (!HasDynamicArray(shape)) return shape;
  elements.push_back(BoundShape(shape));
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (shape.is_dynamic_dimension(d)) elements.push_back(Shape::Scalar(ElementType::kS32));
  }
  return Shape::Tuple(std::move(elements));
}

class Splitter {
 public:
  explicit Splitter(const Module& module) : module_(module), writer_(module) {
    values_.resize(module.instructions().size());
  }

  // Before anything is written.
  static bool CanSplit(const Module& module) {
    bool any = false;
    hlo::ById<hlo::ShapeId, bool> are_dynamic;
    const auto is_of_dynamic_shape = [&](InstructionId id) {
      return are_dynamic.Get(module[id].shape, [&] { return HasDynamicArray(module.shape(id)); });
    };
    const std::vector<bool> runs = RunComputations(module);
    for (uint32_t k = 0; k < module.instructions().size(); ++k) {
      const InstructionId id(k);
      const auto operands = module.operands(id);
      if (module.Find(id, AttributeKey::kControlPredecessors) != nullptr) return false;
      if (std::ranges::any_of(operands, [&](InstructionId o) { return o.index >= k; })) {
        return false;
      }
      bool is_dynamic = is_of_dynamic_shape(id);
      bool has_tuples = is_dynamic && module.shape(id).IsTuple();
      for (const InstructionId operand : operands) {
        if (!is_of_dynamic_shape(operand)) continue;
        is_dynamic = true;
        has_tuples |= module.shape(operand).IsTuple();
      }
      if (!is_dynamic) continue;
      any = true;
      if (!runs[module[id].computation.index] || !IsBounded(module.shape(id)) ||
          module.Find(id, AttributeKey::kSharding) != nullptr ||
          (has_tuples && !IsStructural(module[id].opcode))) {
        return false;
      }
    }
    return any;
  }

  // Null where a size is lost: an array declared static that is shorter.
  std::shared_ptr<const Module> Run(PassResult& result) {
    hlo::ModuleBuilder& builder = writer_.builder();
    for (const hlo::Computation& c : module_.computations()) builder.DeclareComputation(c.name);
    for (uint32_t c = 0; c < module_.computations().size(); ++c) Write(ComputationId(c));
    while (true) {
      const InstructionId first = builder.NextInstruction();
      const InstructionId of = writer_.WriteNext();
      if (!of.valid()) break;
      NoteOrigins(of, first);
    }
    if (is_lost_) return nullptr;
    builder.SetEntry(module_.entry_id());
    for (const Split& value : values_) {
      result.new_id.push_back(value.sizes.empty() && !value.is_tuple_of_parts ? value.whole
                                                                              : InstructionId());
    }
    hlo::SortOrigins(origins_);
    result.origins = std::move(origins_);
    auto made = builder.Build();
    const auto is_error = [](const hlo::Diagnostic& d) {
      return d.severity == hlo::Severity::kError;
    };
    return std::ranges::any_of(hlo::Verify(*made), is_error) ? nullptr : made;
  }

 private:
  // Of an old instruction: no sizes where it is no array of dynamic size.
  struct Split : DynamicArray {
    bool is_tuple_of_parts = false;
  };

  static bool IsBounded(const Shape& shape) {
    return std::ranges::none_of(shape.LeafShapes(), [](const hlo::Shape* leaf) {
      return leaf->IsArray() && leaf->has_unbounded_dimension();
    });
  }

  void Write(ComputationId c) {
    const hlo::Computation& computation = module_[c];
    writer_.builder().BeginComputation(c);
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      const InstructionId id(computation.first_instruction + k);
      const InstructionId first = writer_.builder().NextInstruction();
      values_[id.index] = Made(id, c == module_.entry_id());
      NoteOrigins(id, first);
      NoteOrigin(id, values_[id.index].whole, hlo::OriginKind::kReplaced);
    }
    const InstructionId first = writer_.builder().NextInstruction();
    const Shape& shape = module_.shape(computation.root);
    InstructionId root = Whole(computation.root);
    if (HasDynamicArray(shape)) {
      root = c == module_.entry_id() ? Restored(Packed(computation.root), shape)
                                     : Packed(computation.root);
    }
    NoteOrigins(computation.root, first);
    writer_.builder().EndComputation(root, computation.execution_thread);
  }

  void NoteOrigin(InstructionId before, InstructionId after, hlo::OriginKind kind) {
    origins_.push_back({before, after, kind});
  }
  // Everything from `first` on is the instruction itself, or was made for it.
  void NoteOrigins(InstructionId id, InstructionId first) {
    const hlo::ModuleBuilder& builder = writer_.builder();
    for (uint32_t k = first.index; k < builder.NextInstruction().index; ++k) {
      const hlo::Instruction& made = builder.module()[InstructionId(k)];
      const bool is_same =
          made.opcode == module_[id].opcode && builder.module()[made.name] == module_.name(id);
      NoteOrigin(id, InstructionId(k), is_same ? hlo::OriginKind::kSame : hlo::OriginKind::kMade);
    }
  }

  Split Made(InstructionId id, bool in_entry) {
    const Shape& shape = module_.shape(id);
    const auto operands = module_.operands(id);
    // One whose result is declared static may be shorter all the same.
    const bool is_dynamic = HasDynamicArray(shape) ||
                            module_[id].opcode == Opcode::kSetDimensionSize ||
                            std::ranges::any_of(operands, [&](InstructionId operand) {
                              return HasDynamicArray(module_.shape(operand));
                            });
    const bool is_parameter = module_[id].opcode == Opcode::kParameter;
    if (!is_dynamic) return {{Copied(id, shape, &Splitter::Whole), {}}};
    if (in_entry && is_parameter) {
      const InstructionId value = Copied(id, shape, &Splitter::Whole);
      if (shape.IsArray()) return {writer_.Split(value, shape)};
      return {{Parts(value, shape), {}}, true};
    }
    if (IsStructural(module_[id].opcode)) {
      return Unpacked(Copied(id, SplitShape(shape), &Splitter::Packed), shape);
    }
    return {Computed(id)};
  }

  InstructionId Whole(InstructionId id) { return values_[id.index].whole; }

  // The instruction as it was, with another shape and other operands.
  InstructionId Copied(InstructionId id, const Shape& shape,
                       InstructionId (Splitter::*operand_of)(InstructionId)) {
    std::vector<InstructionId> operands;
    for (const InstructionId operand : module_.operands(id)) {
      operands.push_back((this->*operand_of)(operand));
    }
    const hlo::ShapeId interned = writer_.builder().InternShape(shape);
    return writer_.builder().AddInstruction(module_[id].name, module_[id].opcode, interned,
                                            operands, module_.attributes(module_[id]),
                                            module_.source_offset(id));
  }

  DynamicArray Computed(InstructionId id) {
    const Shape& shape = module_.shape(id);
    DynamicCall call{writer_, id, {}};
    for (const InstructionId operand : module_.operands(id)) {
      call.operands.push_back(values_[operand.index]);
      call.operands.back().sizes.resize(module_.shape(operand).rank());
    }
    if (std::optional<DynamicArray> made = Compute(call)) {
      for (size_t d = 0; d < made->sizes.size(); ++d) {
        is_lost_ |= made->sizes[d].valid() && !shape.is_dynamic_dimension(d);
        if (shape.is_dynamic_dimension(d) && !made->sizes[d].valid()) {
          made->sizes[d] = writer_.Number(shape.dimension(d));
        }
      }
      if (!HasDynamicArray(shape)) made->sizes.clear();
      return *std::move(made);
    }
    const InstructionId value = Copied(id, shape, &Splitter::Joined);
    if (HasDynamicArray(shape)) return writer_.Split(value, shape);
    return {value, {}};
  }

  InstructionId Joined(InstructionId id) {
    const Shape& shape = module_.shape(id);
    return HasDynamicArray(shape) ? writer_.Joined(values_[id.index], shape) : Whole(id);
  }

  // As an element of a tuple.
  InstructionId Packed(InstructionId id) {
    const Split& value = values_[id.index];
    if (value.sizes.empty()) return value.whole;
    return PackedArray(value, module_.shape(id));
  }

  InstructionId PackedArray(const DynamicArray& array, const Shape& shape) {
    std::vector<InstructionId> parts = {array.whole};
    for (const InstructionId size : array.sizes) {
      if (size.valid()) parts.push_back(size);
    }
    return writer_.Add("parts", Opcode::kTuple, SplitShape(shape), parts);
  }

  Split Unpacked(InstructionId value, const Shape& shape) {
    if (!HasDynamicArray(shape)) return {{value, {}}};
    if (shape.IsTuple()) return {{value, {}}, true};
    return {Array(value, shape)};
  }

  DynamicArray Array(InstructionId packed, const Shape& shape) {
    DynamicArray array{Element(packed, 0, BoundShape(shape)),
                       std::vector<InstructionId>(shape.rank())};
    int64_t next = 1;
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (!shape.is_dynamic_dimension(d)) continue;
      array.sizes[d] = Element(packed, next++, Shape::Scalar(ElementType::kS32));
    }
    return array;
  }

  InstructionId Element(InstructionId tuple, int64_t index, Shape shape) {
    return writer_.Add("element", Opcode::kGetTupleElement, std::move(shape), {tuple},
                       {writer_.builder().MakeInt(AttributeKey::kIndex, index)});
  }

  // A value of the entry in parts, and back.
  InstructionId Parts(InstructionId value, const Shape& shape) {
    if (!HasDynamicArray(shape)) return value;
    if (shape.IsArray()) return PackedArray(writer_.Split(value, shape), shape);
    std::vector<InstructionId> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const Shape& element = shape.elements()[i];
      elements.push_back(Parts(Element(value, static_cast<int64_t>(i), element), element));
    }
    return writer_.Add("parts", Opcode::kTuple, SplitShape(shape), elements);
  }

  InstructionId Restored(InstructionId parts, const Shape& shape) {
    if (!HasDynamicArray(shape)) return parts;
    if (shape.IsArray()) return writer_.Joined(Array(parts, shape), shape);
    std::vector<InstructionId> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const Shape& element = shape.elements()[i];
      elements.push_back(
          Restored(Element(parts, static_cast<int64_t>(i), SplitShape(element)), element));
    }
    return writer_.Add("results", Opcode::kTuple, shape, elements);
  }

  const Module& module_;
  DynamicWriter writer_;
  std::vector<Split> values_;
  std::vector<hlo::Origin> origins_;
  bool is_lost_ = false;
};

}  // namespace

Result<PassResult> SplitDynamicArrays(const std::shared_ptr<const Module>& module, Compilation&) {
  PassResult result;
  if (!Splitter::CanSplit(*module)) return result;
  result.module = Splitter(*module).Run(result);
  if (result.module == nullptr) return PassResult();
  return result;
}

}  // namespace hloscope::compile
