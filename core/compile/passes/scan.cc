// Scan decomposition (XLA: ScanExpander): cumulative sums and the like, where the order of the
// steps may be another, are windows that reach back to the beginning; all others are loops.
#include <algorithm>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/analysis/reducer.h"
#include "core/hlo/comparison.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::OriginKind;
using hlo::Shape;

namespace {

using Dims = std::vector<int64_t>;

constexpr ElementType kIterationType = ElementType::kS64;

// What the body yields is of the types that the results have.
bool YieldsResults(const Module& module, InstructionId id) {
  const auto body = module.GetComputation(module[id], AttributeKey::kToApply);
  const auto yields = module.shape(module[body].root).results(),
             results = module.shape(id).results();
  const auto operands = module.operands(id);
  const auto carries = static_cast<size_t>(module.GetInt(module[id], AttributeKey::kNumCarries));
  if (yields.size() != results.size()) return false;
  for (size_t k = 0; k < results.size(); ++k) {
    if (yields[k].element_type() != results[k].element_type()) return false;
    const bool is_carry = k + carries >= results.size();
    if (!is_carry) continue;
    const InstructionId before = operands[operands.size() - (results.size() - k)];
    if (!SameArray(yields[k], module.shape(before)) || !SameArray(yields[k], results[k])) {
      return false;
    }
  }
  return true;
}

// Static arrays, each of the inputs and outputs as long as the others along the dimension.
bool IsPlainScan(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const auto results = module.shape(id).results();
  const auto dimensions = module.GetInts(module[id], AttributeKey::kDimensions);
  const int64_t carries = module.GetInt(module[id], AttributeKey::kNumCarries);
  if (dimensions.size() != 1 || dimensions[0] < 0 || carries < 0 ||
      carries >= std::ssize(operands) || carries > std::ssize(results)) {
    return false;
  }
  const auto d = static_cast<size_t>(dimensions[0]);
  const auto is_scanned = [&](const Shape& shape) {
    return shape.rank() > d && shape.dimension(d) == module.shape(operands[0]).dimension(d);
  };
  const auto is_static = [&](InstructionId each) { return IsStaticArray(module.shape(each)); };
  const auto inputs = operands.first(operands.size() - static_cast<size_t>(carries));
  const auto outputs = results.first(results.size() - static_cast<size_t>(carries));
  return std::ranges::all_of(operands, is_static) && std::ranges::all_of(results, IsStaticArray) &&
         module.shape(operands[0]).rank() > d &&
         std::ranges::all_of(inputs,
                             [&](InstructionId each) { return is_scanned(module.shape(each)); }) &&
         std::ranges::all_of(outputs, is_scanned) && YieldsResults(module, id);
}

class Scan {
 public:
  Scan(Edit& edit, InstructionId id)
      : edit_(edit),
        builder_(edit.rewriter().builder()),
        id_(id),
        operands_(edit.rewriter().operands(id)),
        carries_(static_cast<size_t>(edit.Int(id, AttributeKey::kNumCarries))),
        inputs_(operands_.size() - carries_),
        dimension_(edit.Ints(id, AttributeKey::kDimensions)[0]),
        count_(edit.shape(operands_[0]).dimension(static_cast<size_t>(dimension_))),
        is_reversed_(edit.Int(id, AttributeKey::kIsReverse) != 0),
        applied_(edit.original().GetComputation(edit.original()[id], AttributeKey::kToApply)) {
    for (const Shape& shape : edit.shape(id).results()) results_.push_back(Plain(shape));
    outputs_ = results_.size() - carries_;
  }

  void Decompose() {
    std::vector<InstructionId> results;
    const InstructionId step = OnlyStep();
    if (count_ == 0) {
      for (size_t k = 0; k < outputs_; ++k) results.push_back(ZeroBytes(edit_, id_, results_[k]));
      results.insert(results.end(), operands_.begin() + static_cast<ptrdiff_t>(inputs_),
                     operands_.end());
    } else if (!step.valid() || !Windows(step, results)) {
      results = Loop();
    }
    if (!edit_.shape(id_).IsTuple()) return edit_.Replace(id_, results[0]);
    edit_.Replace(id_, edit_.Add(id_, "tuple", Opcode::kTuple, Shape::Tuple(results_), results));
  }

 private:
  static Shape Plain(const Shape& shape) {
    return PlainArray(shape.element_type(), shape.dimensions());
  }
  // Of a slice, whose dimension of one element is there or is not.
  Shape Slice(const Shape& array, bool with_dimension) const {
    Dims sizes = SizesOf(array);
    if (with_dimension) {
      sizes[static_cast<size_t>(dimension_)] = 1;
    } else {
      sizes.erase(sizes.begin() + dimension_);
    }
    return PlainArray(array.element_type(), sizes);
  }

  // ---- Windows.

  // The instruction whose value is both what a step yields and what it carries on, where it
  // combines what was carried with the input, and the order of the steps may be another.
  InstructionId OnlyStep() const {
    const Module& module = edit_.original();
    const InstructionId root = module[applied_].root;
    if (inputs_ != 1 || carries_ != 1 || outputs_ != 1 || module[root].opcode != Opcode::kTuple) {
      return {};
    }
    const InstructionId step = module.operands(root)[0];
    const ElementType type = module.shape(step).element_type();
    const Opcode opcode = module[step].opcode;
    if (module.operands(root)[1] != step || !HasTrait(opcode, hlo::kTraitAssociative) ||
        hlo::IsComplex(type) || BitWidth(type) < 8 || !hlo::CombinesTwoParameters(module, step)) {
      return {};
    }
    for (const InstructionId operand : module.operands(step)) {
      if (!SameArray(module.shape(operand), module.shape(step))) return {};
    }
    const bool rounds =
        hlo::IsFloat(type) && opcode != Opcode::kMaximum && opcode != Opcode::kMinimum;
    // A window sums in more bits than a narrow type has, where XLA rounds each step to it.
    const bool is_free =
        module.GetBool(module[id_], AttributeKey::kIsAssociative) && BitWidth(type) >= 32;
    if (rounds && !is_free) return {};
    return step;
  }

  // The number that all elements of the carry are at first; invalid where they may be others.
  InstructionId FirstNumber() {
    const InstructionId first = operands_[1];
    if (edit_.shape(first).IsScalar()) return first;
    const bool is_one = edit_.opcode(first) == Opcode::kBroadcast &&
                        edit_.shape(edit_.operand(first, 0)).IsScalar();
    return is_one ? edit_.operand(first, 0) : InstructionId();
  }

  // False where nothing is known that leaves numbers of the type as they are.
  bool Windows(InstructionId step, std::vector<InstructionId>& results) {
    const Opcode opcode = edit_.original()[step].opcode;
    const Shape array = results_[0];
    InstructionId number = FirstNumber();
    const bool is_apart = !number.valid();
    if (is_apart) {
      const bool is_float = hlo::IsFloat(array.element_type());
      if (opcode != Opcode::kAdd && opcode != Opcode::kMultiply) return false;
      const double neutral = opcode == Opcode::kMultiply ? 1 : is_float ? -0.0 : 0;
      number = Filled(edit_, id_, Shape::Scalar(array.element_type()), neutral);
    }
    hlo::Window window;
    window.dimensions.resize(array.rank());
    hlo::WindowDimension& along = window.dimensions[static_cast<size_t>(dimension_)];
    along.size = count_;
    (is_reversed_ ? along.padding_high : along.padding_low) = count_ - 1;
    const ComputationId reducer = edit_.AddReducer(id_, "scan_step", opcode, array.element_type());
    InstructionId all = edit_.Add(id_, "scan", Opcode::kReduceWindow, array, {operands_[0], number},
                                  {builder_.Make(AttributeKey::kWindow, window),
                                   builder_.MakeComputation(AttributeKey::kToApply, reducer)});
    if (is_apart) {
      Dims others;
      for (int64_t d = 0; std::cmp_less(d, array.rank()); ++d) {
        if (d != dimension_) others.push_back(d);
      }
      const InstructionId first = WithInts(edit_, id_, Opcode::kBroadcast, array, operands_[1],
                                           AttributeKey::kDimensions, others);
      all = edit_.Add(id_, "scan", opcode, array, {first, all});
    }
    Dims slices;
    for (const int64_t size : array.dimensions()) slices.insert(slices.end(), {0, size, 1});
    const auto place = static_cast<size_t>(3 * dimension_);
    slices[place] = is_reversed_ ? 0 : count_ - 1;
    slices[place + 1] = slices[place] + 1;
    const InstructionId last =
        WithInts(edit_, id_, Opcode::kSlice, Slice(array, true), all, AttributeKey::kSlice, slices);
    results = {all, edit_.Add(id_, "carry", Opcode::kReshape, results_[1], {last})};
    return true;
  }

  // ---- A loop over: the turn, inputs, carries, outputs so far.

  InstructionId In(ComputationId computation, std::string_view name, Opcode opcode, Shape shape,
                   std::span<const InstructionId> operands,
                   std::initializer_list<Attribute> attributes = {}) {
    const InstructionId made =
        edit_.rewriter().Add(computation, edit_.UniqueName(name), opcode, std::move(shape),
                             operands, std::span(attributes.begin(), attributes.size()));
    edit_.NoteOrigin(made, id_, OriginKind::kMade);
    return made;
  }
  InstructionId In(ComputationId computation, std::string_view name, Opcode opcode, Shape shape,
                   std::initializer_list<InstructionId> operands,
                   std::initializer_list<Attribute> attributes = {}) {
    return In(computation, name, opcode, std::move(shape), std::span(operands), attributes);
  }
  InstructionId Number(ComputationId computation, int64_t value) {
    const Shape shape = Shape::Scalar(kIterationType);
    return In(computation, "number", Opcode::kConstant, shape, {},
              {builder_.Make(AttributeKey::kConstantValue,
                             hlo::Literal::Of<int64_t>(shape, std::span(&value, 1)))});
  }
  ComputationId NewComputation(std::string_view name, InstructionId& state) {
    const ComputationId made =
        edit_.rewriter().AddComputation(edit_.UniqueName(name), edit_.rewriter().computation(id_));
    state = In(made, "state", Opcode::kParameter, Shape::Tuple(state_), {},
               {builder_.MakeInt(AttributeKey::kParameterNumber, 0)});
    return made;
  }
  InstructionId Element(ComputationId computation, InstructionId tuple, size_t k) {
    return In(computation, "element", Opcode::kGetTupleElement, edit_.shape(tuple).elements()[k],
              {tuple}, {builder_.MakeInt(AttributeKey::kIndex, static_cast<int64_t>(k))});
  }

  std::vector<InstructionId> Loop() {
    std::vector<InstructionId> initial = {Number(edit_.rewriter().computation(id_), 0)};
    initial.insert(initial.end(), operands_.begin(), operands_.end());
    for (size_t k = 0; k < outputs_; ++k) initial.push_back(ZeroBytes(edit_, id_, results_[k]));
    for (const InstructionId each : initial) state_.push_back(Plain(edit_.shape(each)));
    const Shape shape = Shape::Tuple(state_);
    const InstructionId before = edit_.Add(id_, "tuple", Opcode::kTuple, shape, initial);
    const ComputationId body = Turn(), condition = Condition();
    const InstructionId loop =
        edit_.Add(id_, "scan", Opcode::kWhile, shape, {before},
                  {builder_.MakeComputation(AttributeKey::kCondition, condition),
                   builder_.MakeComputation(AttributeKey::kBody, body)});
    std::vector<InstructionId> results;
    const ComputationId around = edit_.rewriter().computation(id_);
    for (size_t k = 0; k < outputs_; ++k) {
      results.push_back(Element(around, loop, 1 + operands_.size() + k));
    }
    for (size_t k = 0; k < carries_; ++k) results.push_back(Element(around, loop, 1 + inputs_ + k));
    return results;
  }

  ComputationId Condition() {
    InstructionId state;
    const ComputationId made = NewComputation("scan_condition", state);
    const InstructionId turn = Element(made, state, 0);
    edit_.rewriter().SetRoot(
        made, In(made, "goes_on", Opcode::kCompare, Shape::Scalar(ElementType::kPred),
                 {turn, Number(made, count_)},
                 {builder_.MakeEnum(AttributeKey::kDirection,
                                    static_cast<int32_t>(hlo::ComparisonDirection::kLt))}));
    return made;
  }

  ComputationId Turn() {
    InstructionId state;
    const ComputationId made = NewComputation("scan_turn", state);
    const Shape number = Shape::Scalar(kIterationType);
    const InstructionId turn = Element(made, state, 0);
    const InstructionId at = is_reversed_ ? In(made, "place", Opcode::kSubtract, number,
                                               {Number(made, count_ - 1), turn})
                                          : turn;
    const InstructionId zero = Number(made, 0);
    const auto with_place = [&](std::vector<InstructionId> operands, size_t rank) {
      for (size_t d = 0; d < rank; ++d) {
        operands.push_back(std::cmp_equal(d, dimension_) ? at : zero);
      }
      return operands;
    };
    std::vector<InstructionId> next = {
        In(made, "turn", Opcode::kAdd, number, {turn, Number(made, 1)})};
    std::vector<InstructionId> arguments;
    for (size_t k = 0; k < inputs_; ++k) {
      const InstructionId array = next.emplace_back(Element(made, state, 1 + k));
      const Shape whole = state_[1 + k], slice = Slice(whole, true);
      const InstructionId there =
          In(made, "slice", Opcode::kDynamicSlice, slice, with_place({array}, whole.rank()),
             {builder_.MakeInts(AttributeKey::kDynamicSliceSizes, slice.dimensions())});
      arguments.push_back(In(made, "input", Opcode::kReshape, Slice(whole, false), {there}));
    }
    for (size_t k = 0; k < carries_; ++k) {
      arguments.push_back(Element(made, state, 1 + inputs_ + k));
    }
    const Shape yields = edit_.shape(edit_.rewriter().root(applied_)).WithoutLayouts();
    const InstructionId call = In(made, "step", Opcode::kCall, yields, arguments,
                                  {builder_.MakeComputation(AttributeKey::kToApply, applied_)});
    const auto part = [&](size_t k) { return yields.IsTuple() ? Element(made, call, k) : call; };
    for (size_t k = 0; k < carries_; ++k) next.push_back(part(outputs_ + k));
    for (size_t k = 0; k < outputs_; ++k) {
      const InstructionId so_far = Element(made, state, 1 + operands_.size() + k);
      const InstructionId slice =
          In(made, "output", Opcode::kReshape, Slice(results_[k], true), {part(k)});
      next.push_back(In(made, "outputs", Opcode::kDynamicUpdateSlice, results_[k],
                        with_place({so_far, slice}, results_[k].rank())));
    }
    edit_.rewriter().SetRoot(made, In(made, "next", Opcode::kTuple, Shape::Tuple(state_), next));
    return made;
  }

  Edit& edit_;
  hlo::ModuleBuilder& builder_;
  InstructionId id_;
  std::vector<InstructionId> operands_;
  size_t carries_, inputs_, outputs_ = 0;
  int64_t dimension_, count_;
  bool is_reversed_;
  ComputationId applied_;
  std::vector<Shape> results_;  // outputs, then carries
  std::vector<Shape> state_;    // of the loop
};

}  // namespace

// One with an effect would be kept beside what stands for it, and have it twice.
Result<PassResult> DecomposeScans(const std::shared_ptr<const Module>& module, Compilation&) {
  return EditEach(module, Opcode::kScan, [&](Edit& edit, InstructionId id) {
    const bool has_effect = hlo::EffectsOf(*module).Has(id);
    if (!has_effect && IsPlainScan(*module, id)) Scan(edit, id).Decompose();
  });
}

}  // namespace hloscope::compile
