// TopK decomposition (XLA: TopkDecomposer): a stable sort of each line beside its places, of which
// the first are taken.
#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/comparison.h"

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

class TopK {
 public:
  TopK(Edit& edit, InstructionId id) : edit_(edit), id_(id), operand_(edit.operand(id, 0)) {}

  void Decompose() {
    const Shape result = edit_.shape(id_);
    const ElementType places = result.elements()[1].element_type();
    const Shape values =
        PlainArray(result.elements()[0].element_type(), edit_.shape(operand_).dimensions());
    const Shape numbers = PlainArray(places, edit_.shape(operand_).dimensions());
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    const auto last = static_cast<int64_t>(values.rank()) - 1;
    const InstructionId iota = edit_.Add(id_, "iota", Opcode::kIota, numbers, {},
                                         {builder.MakeInt(AttributeKey::kIotaDimension, last)});
    const bool is_largest =
        edit_.original().GetBool(edit_.original()[id_], AttributeKey::kLargest, true);
    const ComputationId comparator = Comparator(values.element_type(), places, is_largest);
    const InstructionId sorted =
        edit_.Add(id_, "sort", Opcode::kSort, Shape::Tuple({values, numbers}), {operand_, iota},
                  {builder.MakeInts(AttributeKey::kDimensions, std::span(&last, 1)),
                   builder.MakeInt(AttributeKey::kIsStable, 1),
                   builder.MakeComputation(AttributeKey::kToApply, comparator)});
    const InstructionId first = First(sorted, 0, values, result.elements()[0]);
    const InstructionId where = First(sorted, 1, numbers, result.elements()[1]);
    edit_.Replace(id_, edit_.Add(id_, "tuple", Opcode::kTuple, result, {first, where}));
  }

 private:
  InstructionId First(InstructionId sorted, int64_t element, const Shape& all,
                      const Shape& wanted) {
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    const InstructionId whole =
        edit_.Add(id_, "get-tuple-element", Opcode::kGetTupleElement, all, {sorted},
                  {builder.MakeInt(AttributeKey::kIndex, element)});
    std::vector<int64_t> slices;
    for (const int64_t size : wanted.dimensions()) slices.insert(slices.end(), {0, size, 1});
    return edit_.Add(id_, "slice", Opcode::kSlice,
                     PlainArray(wanted.element_type(), wanted.dimensions()), {whole},
                     {builder.MakeInts(AttributeKey::kSlice, slices)});
  }

  // Whether the first of two values comes first; places do not matter.
  ComputationId Comparator(ElementType values, ElementType places, bool is_largest) {
    hlo::Rewriter& rewriter = edit_.rewriter();
    hlo::ModuleBuilder& builder = rewriter.builder();
    const ComputationId made =
        rewriter.AddComputation(edit_.UniqueName("topk_order"), rewriter.computation(id_));
    InstructionId parameters[4];
    for (int64_t k = 0; k < 4; ++k) {
      const Attribute number = builder.MakeInt(AttributeKey::kParameterNumber, k);
      parameters[k] =
          rewriter.Add(made, edit_.UniqueName("x"), Opcode::kParameter,
                       Shape::Scalar(k < 2 ? values : places), {}, std::span(&number, 1));
      edit_.NoteOrigin(parameters[k], id_, hlo::OriginKind::kMade);
    }
    const auto direction =
        is_largest ? hlo::ComparisonDirection::kGt : hlo::ComparisonDirection::kLt;
    const hlo::ComparisonType type = hlo::IsFloat(values) ? hlo::ComparisonType::kTotalOrder
                                                          : hlo::DefaultComparisonType(values);
    const Attribute attributes[] = {
        builder.MakeInt(AttributeKey::kDirection, static_cast<int64_t>(direction)),
        builder.MakeInt(AttributeKey::kComparisonType, static_cast<int64_t>(type))};
    const InstructionId root =
        rewriter.Add(made, edit_.UniqueName("before"), Opcode::kCompare,
                     Shape::Scalar(ElementType::kPred), std::span(parameters, 2), attributes);
    edit_.NoteOrigin(root, id_, hlo::OriginKind::kMade);
    rewriter.SetRoot(made, root);
    return made;
  }

  Edit& edit_;
  InstructionId id_, operand_;
};

}  // namespace

Result<PassResult> DecomposeTopK(const std::shared_ptr<const Module>& module, Compilation& out) {
  return EditEach(module, Opcode::kTopK, [&](Edit& edit, InstructionId id) {
    if (!out.gpu_kernels && IsKernel(*module, id)) return;
    if (IsPlainTopK(*module, id)) TopK(edit, id).Decompose();
  });
}

}  // namespace hloscope::compile
