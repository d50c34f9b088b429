// Convolution normalization: what libraries do not take is written with phases, a reverse, groups
// of features instead of groups of the batch, and f32 instead of narrower floats, of integers whose
// sums it holds, and of bf16 where oneDNN would read past a window. Holes are never written as
// zeros: where a weight is infinite those would not be left out.
#include <algorithm>

#include "core/compile/dot_form.h"
#include "core/compile/kernel_rules.h"
#include "core/compile/library_rules.h"
#include "core/compile/passes/convolution_phases.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ConvolutionDims;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;
using hlo::WindowDimension;

namespace {

constexpr ElementType kAccumulator = ElementType::kF32;
constexpr int64_t kManyFeatures = 16;

// One convolution on its way to its plain form.
class Convolution {
 public:
  Convolution(Edit& edit, InstructionId id)
      : edit_(edit), id_(id), left_(edit.operand(id, 0)), right_(edit.operand(id, 1)) {
    const hlo::ConvDims dims = hlo::ConvDimsOf(edit.original(), id);
    dims_ = *dims.labels;
    window_.dimensions = hlo::WindowDimensions(dims.window, dims_.input_spatial.size());
    feature_groups_ = dims.feature_groups;
    batch_groups_ = dims.batch_groups;
    int64_t depth = edit.shape(right_).dimension(static_cast<size_t>(dims_.kernel_input_feature));
    for (const WindowDimension& w : window_.dimensions) depth *= w.size;
    is_exact_ = IsExactInSingle(edit.original(), id, depth);
  }

  void Normalize() {
    const bool is_integer = hlo::IsInteger(edit_.shape(id_).element_type());
    if (IsPaddedTooLarge(edit_.original(), id_) || (is_integer && !is_exact_)) return;
    const Shape result = edit_.shape(id_);
    const ElementType type = IsWidened(result) ? kAccumulator : result.element_type();
    WidenOperands();
    ReverseKernel();
    const Shape plain = Shape::Array(type, SizesOf(result));
    if (batch_groups_ == 1) {
      const InstructionId joined =
          InPhases(edit_, {id_, left_, right_, dims_, window_, plain, feature_groups_});
      if (joined.valid()) return ReplaceBy(joined, result);
    }
    GroupFeatures();
    if (!is_changed_) return;
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    ReplaceBy(edit_.Add(id_, "convolution", Opcode::kConvolution, plain, {left_, right_},
                        {builder.Make(AttributeKey::kWindow, window_),
                         builder.Make(AttributeKey::kDimLabels, dims_),
                         builder.MakeInt(AttributeKey::kFeatureGroupCount, feature_groups_),
                         builder.MakeInt(AttributeKey::kBatchGroupCount, 1)}),
              result);
  }

 private:
  void ReplaceBy(InstructionId made, const Shape& result) {
    if (edit_.shape(made).element_type() != result.element_type()) {
      made = edit_.Add(id_, "convert", Opcode::kConvert,
                       Shape::Array(result.element_type(), SizesOf(result)), {made});
    }
    edit_.Replace(id_, made);
  }

  bool IsWidened(const Shape& shape) const {
    const ElementType type = shape.element_type();
    if (hlo::IsInteger(type)) return is_exact_;
    if (type == ElementType::kBF16) return ReadsPastWindows();
    return hlo::BitWidth(type) < hlo::BitWidth(kAccumulator);
  }

  // oneDNN multiplies features of bf16 in pairs. Of few, an odd one has the number behind the
  // window beside it, times zero, which is NaN where that is infinite.
  bool ReadsPastWindows() const {
    const int64_t features =
        edit_.shape(right_).dimension(static_cast<size_t>(dims_.kernel_input_feature));
    return feature_groups_ == 1 && batch_groups_ == 1 && features < kManyFeatures &&
           features % 2 == 1;
  }

  // Products of narrow floats are exact in f32, where XLA sums them up too.
  void WidenOperands() {
    for (InstructionId* operand : {&left_, &right_}) {
      if (!IsWidened(edit_.shape(*operand))) continue;
      *operand = edit_.Add(id_, "convert", Opcode::kConvert,
                           Shape::Array(kAccumulator, SizesOf(edit_.shape(*operand))), {*operand});
      is_changed_ = true;
    }
  }

  void ReverseKernel() {
    std::vector<int64_t> reversed;
    for (size_t s = 0; s < window_.dimensions.size(); ++s) {
      if (!window_.dimensions[s].window_reversal) continue;
      window_.dimensions[s].window_reversal = false;
      reversed.push_back(dims_.kernel_spatial[s]);
    }
    if (reversed.empty()) return;
    std::ranges::sort(reversed);
    const Shape shape =
        Shape::Array(edit_.shape(right_).element_type(), SizesOf(edit_.shape(right_)));
    right_ = edit_.Add(id_, "reverse", Opcode::kReverse, shape, {right_},
                       {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, reversed)});
    is_changed_ = true;
  }

  // The batch's groups are the outer part of the input's features: each meets its own output
  // features there as well (XLA: ConvolutionGroupConverter).
  void GroupFeatures() {
    if (batch_groups_ == 1) return;
    const ElementType type = edit_.shape(left_).element_type();
    std::vector<int64_t> sizes = SizesOf(edit_.shape(left_));
    const auto batch = static_cast<size_t>(dims_.input_batch),
               feature = static_cast<size_t>(dims_.input_feature);
    std::vector<int64_t> split = sizes;
    split[batch] /= batch_groups_;
    split.insert(split.begin() + dims_.input_batch, batch_groups_);
    // In `split`, dimensions from the batch on stand one later; the groups go before the features.
    std::vector<int64_t> order;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (d == feature) order.push_back(dims_.input_batch);
      order.push_back(static_cast<int64_t>(d + (d >= batch ? 1 : 0)));
    }
    std::vector<int64_t> moved;
    for (const int64_t d : order) moved.push_back(split[static_cast<size_t>(d)]);
    sizes[batch] /= batch_groups_;
    sizes[feature] *= batch_groups_;
    left_ = edit_.Add(id_, "reshape", Opcode::kReshape, Shape::Array(type, split), {left_});
    left_ = edit_.Add(id_, "transpose", Opcode::kTranspose, Shape::Array(type, moved), {left_},
                      {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, order)});
    left_ = edit_.Add(id_, "reshape", Opcode::kReshape, Shape::Array(type, sizes), {left_});
    feature_groups_ = batch_groups_;
    is_changed_ = true;
  }

  Edit& edit_;
  InstructionId id_, left_, right_;
  ConvolutionDims dims_;
  hlo::Window window_;
  int64_t feature_groups_ = 1, batch_groups_ = 1;
  bool is_exact_ = false;  // sums of integers in f32
  bool is_changed_ = false;
};

bool IsNormalizable(const Module& module, InstructionId id) {
  const ConvolutionDims* dims = hlo::ConvDimsOf(module, id).labels;
  const auto is_fit = [&](InstructionId each) { return IsWholeArray(module.shape(each)); };
  const auto is_integer = [&](InstructionId each) {
    return hlo::IsInteger(module.shape(each).element_type());
  };
  const auto operands = module.operands(id);
  return operands.size() == 2 && is_fit(id) && std::ranges::all_of(operands, is_fit) &&
         (SumTypeOf(module, id) == kAccumulator ||
          (is_integer(id) && std::ranges::all_of(operands, is_integer))) &&
         dims != nullptr && dims->input_spatial.size() <= 3;
}

}  // namespace

Result<PassResult> NormalizeConvolutions(const std::shared_ptr<const Module>& module,
                                         Compilation& out) {
  if (!out.library_calls) return PassResult{};
  return EditEach(module, Opcode::kConvolution, [&](Edit& edit, InstructionId id) {
    if (IsNormalizable(*module, id)) Convolution(edit, id).Normalize();
  });
}

}  // namespace hloscope::compile
