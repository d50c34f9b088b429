// FlattenEntry: a plugin takes and gives a flat list of static arrays.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::replay::pjrt {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;
using hlo::Sharding;

namespace {

Shape StaticOf(const Shape& shape) {
  Shape fixed = shape;
  for (size_t d = 0; d < fixed.rank(); ++d) fixed.set_dynamic_dimension(d, false);
  return fixed;
}

// Arrays of a plugin lie row-major, their elements packed as they are.
Shape RowMajor(const Shape& shape) {
  Shape plain = shape.WithoutLayouts().WithDefaultLayouts();
  const int64_t bits = shape.has_layout() ? shape.layout().element_size_in_bits() : 0;
  if (bits == 0) return plain;
  const auto extras = std::make_shared<hlo::LayoutExtras>();
  extras->element_size_in_bits = bits;
  plain.set_layout({plain.layout().minor_to_major, extras});
  return plain;
}

std::vector<int64_t> DynamicDimensions(const Shape& shape) {
  std::vector<int64_t> dimensions;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (shape.is_dynamic_dimension(d)) dimensions.push_back(static_cast<int64_t>(d));
  }
  return dimensions;
}

// The sharding of leaf number `leaf` where one may stand for all.
std::optional<Sharding> OfLeaf(const Sharding* sharding, size_t leaf) {
  if (sharding == nullptr) return std::nullopt;
  if (sharding->kind != hlo::ShardingKind::kTuple) return *sharding;
  if (leaf >= sharding->elements.size()) return std::nullopt;
  return sharding->elements[leaf];
}

Sharding Replicated() {
  Sharding sharding;
  sharding.kind = hlo::ShardingKind::kReplicated;
  return sharding;
}

class EntryFlattener {
 public:
  explicit EntryFlattener(AdaptState& state)
      : state_(state),
        module_(*state.module),
        entry_(module_.entry_id()),
        rewriter_(state.module),
        open_{std::exchange(state.adapted.partitioning.to_parameters, {}),
              std::exchange(state.adapted.partitioning.to_results, {})},
        partitioning_(state.adapted.partitioning) {}

  Status Run() {
    HLOSCOPE_TRY(CheckLeaves());
    ReplaceParameters();
    ReplaceRoot();
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter_.Finish());
    state_.module = std::move(result.module);
    if (partitioning_.spmd) state_.adapted.partitioning = std::move(partitioning_);
    return {};
  }

 private:
  Status CheckLeaves() const {
    std::vector<InstructionId> ends = module_.Parameters(entry_);
    ends.push_back(module_.entry().root);
    for (InstructionId id : ends) {
      for (const hlo::Shape* shape : module_.shape(id).LeafShapes()) {
        if (shape->IsToken() || (shape->IsArray() && !shape->has_unbounded_dimension())) continue;
        return UnsupportedError(fmt::format("{}: {} cannot be an input or output of a plugin",
                                            module_.name(id), hlo::ToString(*shape, false)),
                                "extract a part without it");
      }
    }
    return {};
  }

  InstructionId Add(std::string_view name, Opcode opcode, Shape shape,
                    std::span<const InstructionId> operands,
                    std::span<const Attribute> attributes = {}) {
    return rewriter_.Add(entry_, name, opcode, std::move(shape), operands, attributes);
  }

  InstructionId AddInt(int64_t value) {
    const auto narrow = static_cast<int32_t>(value);
    const Shape shape = Shape::Scalar(ElementType::kS32).WithDefaultLayouts();
    const Attribute literal = rewriter_.builder().Make(
        AttributeKey::kConstantValue, Literal::Of<int32_t>(shape, std::span(&narrow, 1)));
    return Add(fmt::format("bound.{}", value), Opcode::kConstant, shape, {}, {{literal}});
  }

  InstructionId AddParameter(std::string_view name, const Shape& shape,
                             const std::optional<Sharding>& sharding) {
    std::vector<Attribute> attributes = {
        rewriter_.builder().MakeInt(AttributeKey::kParameterNumber, next_parameter_++)};
    if (sharding) {
      attributes.push_back(rewriter_.builder().Make(AttributeKey::kSharding, *sharding));
    }
    if (notes_ != nullptr) attributes.push_back(*notes_);
    partitioning_.to_parameters.push_back(is_open_ && !sharding);
    return Add(name, Opcode::kParameter, shape, {}, attributes);
  }

  std::optional<hlo::Tiling> TilingFor(const std::optional<Sharding>& sharding,
                                       const Shape& shape) const {
    if (!partitioning_.spmd || !sharding) return std::nullopt;
    return hlo::TilingOf(*sharding, shape.rank(), state_.adapted.counts.partitions);
  }

  // Whether XLA may choose the sharding of part `i` of those with these flags.
  static bool IsOpen(const std::vector<bool>& flags, size_t i) {
    return flags.size() == 1 ? flags[0] : i < flags.size() && flags[i];
  }

  // A sharding that says where the tiles are; where there is none, replicated, or none where XLA
  // may choose. Shardy knows from its annotations what is replicated, and XLA takes a sharding
  // without one for a reason to leave Shardy out.
  std::optional<Sharding> Known(std::optional<Sharding> sharding, const Shape& shape,
                                bool is_open = false) const {
    if (!partitioning_.spmd || !shape.IsArray()) return std::nullopt;
    // What frameworks write where they leave it open, beside what they do not.
    if (is_open && sharding == Replicated()) sharding.reset();
    if (sharding && TilingFor(sharding, shape)) return sharding;
    const bool is_left_out = partitioning_.shardy || (is_open && !sharding);
    return is_left_out ? std::nullopt : std::optional(Replicated());
  }

  // True if XLA's passes, which would see to layouts, do not run, and the array is not row-major.
  bool LiesElsewhere(const Shape& shape) const {
    return !state_.options.platform.run_passes && shape.IsArray() && !(shape == RowMajor(shape));
  }

  // Parameters that stand for one leaf: its array, then its live sizes.
  InstructionId LeafParameter(const std::string& name, const Shape& shape,
                              const std::optional<Sharding>& given) {
    InputLeaf leaf{shape, DynamicDimensions(shape), std::nullopt};
    if (shape.IsToken()) {
      state_.adapted.inputs.push_back(std::move(leaf));
      return Add(name, Opcode::kAfterAll, shape, {});
    }
    const std::optional<Sharding> sharding = Known(given, shape, is_open_);
    leaf.tiling = TilingFor(sharding, shape);
    Shape so_far = StaticOf(shape);
    const bool is_as_given = !LiesElsewhere(so_far);
    InstructionId value = AddParameter(name, is_as_given ? so_far : RowMajor(so_far), sharding);
    notes_ = nullptr;
    if (!is_as_given) value = Add(name + ".laid_out", Opcode::kCopy, so_far, {{value}});
    for (int64_t dimension : leaf.dynamic_dimensions) {
      const InstructionId size =
          AddParameter(fmt::format("{}.size{}", name, dimension),
                       Shape::Scalar(ElementType::kS32).WithDefaultLayouts(),
                       Known(std::nullopt, Shape::Scalar(ElementType::kS32)));
      so_far.set_dynamic_dimension(static_cast<size_t>(dimension), true);
      const Attribute where =
          rewriter_.builder().MakeInts(AttributeKey::kDimensions, {&dimension, 1});
      value = Add(fmt::format("{}.live{}", name, dimension), Opcode::kSetDimensionSize, so_far,
                  {{value, size}}, {{where}});
    }
    state_.adapted.inputs.push_back(std::move(leaf));
    return value;
  }

  // Shapes nest no deeper than the limit they were read with.
  InstructionId Rebuild(const std::string& name, const Shape& shape, const Sharding* sharding,
                        size_t& leaf) {
    if (!shape.IsTuple()) return LeafParameter(name, shape, OfLeaf(sharding, leaf++));
    std::vector<InstructionId> elements;
    for (const Shape& element : shape.elements()) {
      elements.push_back(
          Rebuild(fmt::format("{}.{}", name, elements.size()), element, sharding, leaf));
    }
    return Add(name + ".tuple", Opcode::kTuple, shape, elements);
  }

  void ReplaceParameters() {
    bool has_tuples = false;
    size_t number = 0;
    for (InstructionId old : module_.Parameters(entry_)) {
      if (!old.valid()) continue;
      const Sharding* sharding = module_.Get<Sharding>(module_[old], AttributeKey::kSharding);
      size_t leaf = 0;
      is_open_ = IsOpen(open_.parameters, number++);
      has_tuples |= module_.shape(old).IsTuple();
      notes_ = module_.shape(old).IsArray() ? module_.Find(old, AttributeKey::kFrontendAttributes)
                                            : nullptr;
      const InstructionId made =
          Rebuild(std::string(module_.name(old)), module_.shape(old), sharding, leaf);
      rewriter_.ReplaceAllUses(old, made);
      rewriter_.Remove(old);
    }
    if (has_tuples) state_.Warn("tuple parameters were flattened");
  }

  InstructionId ElementOf(InstructionId tuple, const Shape& shape, size_t index) {
    const Attribute at =
        rewriter_.builder().MakeInt(AttributeKey::kIndex, static_cast<int64_t>(index));
    return Add(fmt::format("result.{}", next_element_++), Opcode::kGetTupleElement, shape,
               {{tuple}}, {{at}});
  }

  // A dynamic array goes out whole, with its live sizes behind it.
  void EmitLeaf(InstructionId value, const Shape& shape, const Sharding* all, size_t number) {
    OutputLeaf leaf{shape, -1, DynamicDimensions(shape), std::nullopt};
    if (shape.IsToken()) return state_.adapted.outputs.push_back(std::move(leaf));
    leaf.output = std::ssize(results_);
    const bool is_open = IsOpen(open_.results, number);
    const std::optional<Sharding> sharding = Known(OfLeaf(all, number), shape, is_open);
    leaf.tiling = TilingFor(sharding, shape);
    std::vector<InstructionId> sizes;
    Shape so_far = shape;
    InstructionId whole = value;
    for (int64_t dimension : leaf.dynamic_dimensions) {
      const auto d = static_cast<size_t>(dimension);
      const Attribute where =
          rewriter_.builder().MakeInts(AttributeKey::kDimensions, {&dimension, 1});
      const Shape scalar = Shape::Scalar(ElementType::kS32).WithDefaultLayouts();
      sizes.push_back(Add(fmt::format("live.{}", next_element_++), Opcode::kGetDimensionSize,
                          scalar, {{value}}, {{where}}));
      so_far.set_dynamic_dimension(d, false);
      whole = Add(fmt::format("whole.{}", next_element_++), Opcode::kSetDimensionSize, so_far,
                  {{whole, AddInt(shape.dimension(d))}}, {{where}});
    }
    Emit(whole, so_far, sharding, is_open);
    for (InstructionId size : sizes) {
      const Shape scalar = Shape::Scalar(ElementType::kS32).WithDefaultLayouts();
      Emit(size, scalar, Known(std::nullopt, scalar), false);
    }
    state_.adapted.outputs.push_back(std::move(leaf));
  }

  void Emit(InstructionId value, Shape shape, const std::optional<Sharding>& sharding,
            bool is_open) {
    results_.push_back(value);
    partitioning_.to_results.push_back(is_open && !sharding);
    shapes_.push_back(std::move(shape));
    shardings_.push_back(sharding);
  }

  // Each result has memory of its own, which XLA's passes see to where they run. `source` is the
  // instruction of the module that makes it; invalid where that is not known.
  InstructionId WithOwnMemory(InstructionId value, InstructionId source, const Shape& shape) {
    if (state_.options.platform.run_passes || !source.valid() || !shape.IsArray()) return value;
    const Opcode opcode = module_[source].opcode;
    const bool is_own = opcode != Opcode::kConstant && opcode != Opcode::kParameter;
    if (is_own && given_.insert(source.index).second) return value;
    if (!std::exchange(copies_results_, true))
      state_.Warn("results that are constants, parameters or duplicates were copied");
    return Add(fmt::format("own.{}", next_element_++), Opcode::kCopy, shape, {{value}});
  }

  void EmitLeaves(InstructionId value, InstructionId source, const Shape& shape,
                  const Sharding* sharding, size_t& leaf) {
    if (LiesElsewhere(shape)) {
      const Shape plain = RowMajor(shape);
      return EmitLeaf(
          Add(fmt::format("row_major.{}", next_element_++), Opcode::kCopy, plain, {{value}}), plain,
          sharding, leaf++);
    }
    if (!shape.IsTuple()) {
      return EmitLeaf(WithOwnMemory(value, source, shape), shape, sharding, leaf++);
    }
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const Shape& element = shape.elements()[i];
      const bool is_known = source.valid() && module_[source].opcode == Opcode::kTuple;
      EmitLeaves(ElementOf(value, element, i),
                 is_known ? module_.operands(source)[i] : InstructionId(), element, sharding, leaf);
    }
  }

  void ReplaceRoot() {
    const InstructionId old_root = module_.entry().root;
    const Shape shape = module_.shape(old_root);
    const Sharding* sharding = module_.Get<Sharding>(module_[old_root], AttributeKey::kSharding);
    if (std::ranges::any_of(shape.IsTuple() ? shape.elements() : std::span<const Shape>(),
                            &Shape::IsTuple)) {
      state_.Warn("nested tuples of the result were flattened");
    }
    size_t leaf = 0;
    EmitLeaves(rewriter_.root(entry_), old_root, shape, sharding, leaf);
    std::vector<Attribute> attributes;
    // As frameworks do: what XLA may choose is replicated where others are given. Shardy has
    // annotations of its own at results.
    if (!partitioning_.shardy &&
        std::ranges::any_of(shardings_, &std::optional<Sharding>::has_value)) {
      Sharding all;
      all.kind = hlo::ShardingKind::kTuple;
      for (const auto& each : shardings_) {
        all.elements.push_back(each.value_or(Replicated()));
      }
      attributes.push_back(rewriter_.builder().Make(AttributeKey::kSharding, std::move(all)));
    }
    rewriter_.SetRoot(entry_, Add("results", Opcode::kTuple, Shape::Tuple(std::move(shapes_)),
                                  results_, attributes));
  }

  AdaptState& state_;
  const Module& module_;
  ComputationId entry_;
  hlo::Rewriter rewriter_;
  const struct {
    std::vector<bool> parameters, results;
  } open_;                     // of the given module: whose sharding XLA may choose
  bool is_open_ = false;       // of the parameter at hand
  Partitioning partitioning_;  // of the module that is made
  int64_t next_parameter_ = 0, next_element_ = 0;
  const Attribute* notes_ = nullptr;    // Shardy's, of the parameter at hand
  std::unordered_set<uint32_t> given_;  // instructions that a result was taken from
  bool copies_results_ = false;
  std::vector<InstructionId> results_;
  std::vector<Shape> shapes_;
  std::vector<std::optional<Sharding>> shardings_;
};

}  // namespace

Status FlattenEntry(AdaptState& state) { return EntryFlattener(state).Run(); }

}  // namespace hloscope::replay::pjrt
