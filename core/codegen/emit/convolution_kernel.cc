// Kernels that convolve arrays of any types, in every form: lanes run along the last dimension of
// the result, and a unit is a few vectors for a few numbers of another dimension, so that what is
// read serves several sums. What lies outside the input, or between its dilated elements, is left
// out.
#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/products.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kBlock = 4, kWindowVectors = 2;

class ConvolutionKernel {
 public:
  ConvolutionKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        name_(name),
        root_(kernel.roots[0]),
        products_(kernel.module, root_),
        function_(module, kernel, name, -1),
        read_(hlo::ConvDimsOf(kernel.module, root_)),
        dims_(*read_.labels),
        input_(Sizes(kernel.module.operands(root_)[0])),
        weights_(Sizes(kernel.module.operands(root_)[1])),
        out_(Sizes(root_)) {
    window_ = WindowOf(kernel, dims_.input_spatial.size());
    feature_groups_ = read_.feature_groups;
    batch_groups_ = read_.batch_groups;
    ChooseLanes();
    function_.AllowRegisters(kMaxRegisters);
  }

  EmittedKernel Emit() {
    int64_t depth = weights_[At(dims_.kernel_input_feature)], units = 1;
    for (const int64_t d : dims_.kernel_spatial) depth *= weights_[At(d)];
    for (size_t d = 0; d < out_.size(); ++d) units *= Steps(d);
    const int64_t unit = block_ * vectors_ * width_ * depth;
    const int64_t grain = std::clamp<int64_t>(GrainLimit(kernel_, kGrainProducts) / unit, 1, units);
    EmittedKernel out = InGrains(name_, units, grain, unit, 1);
    Builder& b = function_.builder();
    IndexMath math(b, width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    function_.ForUnits(units, grain, [&](Value* number) { Unit(number); });
    function_.Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  // The numbers of a dimension in a unit: one, or one for each vector or member of the block.
  using Variants = std::vector<LaneNumber>;
  // Positions in a dimension of the input, and whether they are any (null: they are).
  struct Places {
    Variants numbers;
    std::vector<Value*> are_inside;
  };

  static size_t At(int64_t d) { return static_cast<size_t>(d); }
  Value* Int(int64_t value) { return function_.Int(value); }
  std::span<const int64_t> Sizes(InstructionId id) const {
    return kernel_.module.shape(id).dimensions();
  }

  void ChooseLanes() {
    // Behind the dimension of the lanes there are none but of one element.
    for (size_t d = out_.size(); d-- > 0;) {
      if (out_[d] == 1) continue;
      lane_ = static_cast<int>(d);
      break;
    }
    const int64_t size = lane_ < 0 ? 1 : out_[static_cast<size_t>(lane_)];
    width_ = LanesAlong(kernel_, std::min<int64_t>(products_.width(), size));
    vectors_ = std::min(products_.parts() == 1 ? kWindowVectors : 1, (size - 1) / width_ + 1);
    // Lanes of features share inputs with no other feature, others share weights.
    std::vector<int64_t> choices = {dims_.output_feature};
    if (lane_ == dims_.output_feature) {
      choices = {dims_.output_spatial.rbegin(), dims_.output_spatial.rend()};
      choices.push_back(dims_.output_batch);
    }
    for (const int64_t d : choices) {
      if (d == lane_ || out_[At(d)] == 1) continue;
      blocked_ = static_cast<int>(d);
      block_ = std::min(kBlock, out_[At(d)]);
      return;
    }
  }

  bool IsLane(size_t d) const { return static_cast<int>(d) == lane_; }
  bool IsBlocked(size_t d) const { return static_cast<int>(d) == blocked_; }
  int64_t Steps(size_t d) const {
    if (IsLane(d)) return (out_[d] - 1) / (vectors_ * width_) + 1;
    return IsBlocked(d) ? (out_[d] - 1) / block_ + 1 : out_[d];
  }

  void Unit(Value* unit) {
    Builder& b = function_.builder();
    at_.assign(out_.size(), {});
    Value* rest = unit;
    for (size_t d = out_.size(); d-- > 0;) {
      Value* step = math_->TakeLast(rest, Steps(d)).base;
      if (IsLane(d)) {
        for (int64_t v = 0; v < vectors_; ++v) {
          Value* first = b.CreateAdd(b.CreateMul(step, Int(vectors_ * width_)), Int(v * width_));
          const bool is_even = out_[d] % (vectors_ * width_) == 0;
          if (!is_even) first = function_.Smaller(first, Int(out_[d] - width_));
          at_[d].push_back(LanesFrom(first, width_, is_even ? width_ : 1));
        }
      } else if (IsBlocked(d)) {
        Value* first = function_.Smaller(b.CreateMul(step, Int(block_)), Int(out_[d] - block_));
        for (int64_t r = 0; r < block_; ++r) {
          at_[d].push_back(math_->FromScalar(b.CreateAdd(first, Int(r))));
        }
      } else {
        at_[d].push_back(math_->FromScalar(step));
      }
    }
    FindFeatures();
    places_.assign(window_.size(), {});
    taps_.assign(window_.size(), nullptr);
    std::vector<Value*> sums;
    for (int64_t i = 0; i < block_ * vectors_; ++i) {
      const auto zero = products_.Zero(b, width_);
      sums.insert(sums.end(), zero.begin(), zero.end());
    }
    sums = Taps(0, sums);
    for (int64_t r = 0; r < block_; ++r) {
      for (int64_t v = 0; v < vectors_; ++v) Write(sums, r, v);
    }
  }

  void Write(const std::vector<Value*>& sums, int64_t r, int64_t v) {
    Builder& b = function_.builder();
    Index index;
    for (size_t d = 0; d < out_.size(); ++d) index.groups.push_back({1, Of(at_[d], d, r, v)});
    function_.Store(products_.Result(b, SumAt(sums, r, v)),
                    kernel_.module.shape(root_).element_type(), function_.result(0),
                    math_->Offset(index, out_).base, width_);
  }

  // What vector v of member r of the block takes of dimension d of the result.
  template <typename T>
  const T& Of(const std::vector<T>& variants, size_t d, int64_t r, int64_t v) const {
    return variants[static_cast<size_t>(IsLane(d) ? v : IsBlocked(d) ? r : 0)];
  }
  Products::Number SumAt(const std::vector<Value*>& sums, int64_t r, int64_t v) const {
    const size_t parts = products_.parts();
    const auto first =
        sums.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(r * vectors_ + v) * parts);
    return {first, first + static_cast<ptrdiff_t>(parts)};
  }

  // For each number of the output feature: where the input features of its group begin, and its
  // part of the batch.
  void FindFeatures() {
    first_feature_.clear();
    first_batch_.clear();
    const int64_t features = out_[At(dims_.output_feature)];
    const int64_t per_group = weights_[At(dims_.kernel_input_feature)];
    const int64_t batch = input_[At(dims_.input_batch)];
    for (const LaneNumber& number : at_[At(dims_.output_feature)]) {
      const auto group_of = [&](int64_t groups) {
        return groups == 1 ? math_->Constant(0) : math_->Divide(number, features / groups).first;
      };
      first_feature_.push_back(math_->Multiply(group_of(feature_groups_), per_group));
      first_batch_.push_back(math_->Multiply(group_of(batch_groups_), batch / batch_groups_));
    }
  }

  // The sums with all products of the window's dimensions from s on.
  std::vector<Value*> Taps(size_t s, const std::vector<Value*>& sums) {
    if (s == window_.size()) return Features(sums);
    const int64_t size = weights_[At(dims_.kernel_spatial[s])];
    return function_.Loop(Int(0), Int(size), 1, sums,
                          [&](Value* tap, const std::vector<Value*>& so_far) {
                            taps_[s] = tap;
                            FindPlaces(s, tap, size);
                            return Taps(s + 1, so_far);
                          });
  }

  void FindPlaces(size_t s, Value* tap, int64_t taps) {
    Builder& b = function_.builder();
    const hlo::WindowDimension& w = window_[s];
    const auto d = At(dims_.output_spatial[s]);
    const int64_t size = input_[At(dims_.input_spatial[s])];
    const int64_t extent = (size - 1) * w.base_dilation + 1;
    const bool is_checked = hlo::HasGaps(w, size, taps, out_[d]);
    if (w.window_reversal) tap = b.CreateSub(Int(taps - 1), tap);
    const LaneNumber reach = math_->AddConstant(
        math_->FromScalar(b.CreateMul(tap, Int(w.window_dilation))), -w.padding_low);
    places_[s] = {};
    for (const LaneNumber& number : at_[d]) {
      LaneNumber place = math_->Add(math_->Multiply(number, w.stride), reach);
      Value* is_inside = nullptr;
      if (is_checked) {
        is_inside = IsBelow(place, extent);
        if (place.is_uniform()) {
          place = math_->FromScalar(b.CreateSelect(is_inside, place.base, Int(0)));
        }
        if (w.base_dilation > 1) {
          const auto [quotient, hole] = math_->Divide(place, w.base_dilation);
          is_inside = b.CreateAnd(is_inside, Lanes(IsBelow(hole, 1), is_inside));
          place = quotient;
        }
      }
      places_[s].numbers.push_back(place);
      places_[s].are_inside.push_back(is_inside);
    }
  }
  Value* IsBelow(const LaneNumber& number, int64_t limit) {
    Builder& b = function_.builder();
    Value* value = number.is_uniform() ? number.base : math_->Vector(number);
    return b.CreateICmpULT(value, IntegerLike(value, limit));
  }
  // A condition in as many lanes as the other one.
  Value* Lanes(Value* condition, Value* like) {
    if (condition->getType() == like->getType()) return condition;
    return function_.builder().CreateVectorSplat(static_cast<unsigned>(width_), condition);
  }

  std::vector<Value*> Features(const std::vector<Value*>& sums) {
    const int64_t features = weights_[At(dims_.kernel_input_feature)];
    return function_.Loop(Int(0), Int(features), 1, sums,
                          [&](Value* feature, const std::vector<Value*>& so_far) {
                            emitter_->Forget();
                            std::vector<Value*> next;
                            for (int64_t r = 0; r < block_; ++r) {
                              for (int64_t v = 0; v < vectors_; ++v) {
                                const auto sum = Sum(SumAt(so_far, r, v), feature, r, v);
                                next.insert(next.end(), sum.begin(), sum.end());
                              }
                            }
                            return next;
                          });
  }

  Products::Number Sum(const Products::Number& so_far, Value* feature, int64_t r, int64_t v) {
    Builder& b = function_.builder();
    const auto operands = kernel_.module.operands(root_);
    const auto out_feature = At(dims_.output_feature), out_batch = At(dims_.output_batch);
    const LaneNumber number = math_->FromScalar(feature);
    std::vector<LaneNumber> input(input_.size()), weights(weights_.size());
    input[At(dims_.input_batch)] =
        math_->Add(Of(first_batch_, out_feature, r, v), Of(at_[out_batch], out_batch, r, v));
    input[At(dims_.input_feature)] = math_->Add(Of(first_feature_, out_feature, r, v), number);
    weights[At(dims_.kernel_input_feature)] = number;
    weights[At(dims_.kernel_output_feature)] = Of(at_[out_feature], out_feature, r, v);
    Value *all = nullptr, *lanes = nullptr;
    for (size_t s = 0; s < window_.size(); ++s) {
      const auto d = At(dims_.output_spatial[s]);
      input[At(dims_.input_spatial[s])] = Of(places_[s].numbers, d, r, v);
      weights[At(dims_.kernel_spatial[s])] = math_->FromScalar(taps_[s]);
      Value* is_inside = Of(places_[s].are_inside, d, r, v);
      if (is_inside == nullptr) continue;
      Value*& part = is_inside->getType()->isVectorTy() ? lanes : all;
      part = part == nullptr ? is_inside : b.CreateAnd(part, is_inside);
    }
    const auto x = products_.Left(b, emitter_->Emit(operands[0], IndexOf(input, lanes)));
    const auto y = products_.Right(b, emitter_->Emit(operands[1], IndexOf(weights, nullptr)));
    Products::Number sum = products_.Add(b, so_far, x, y);
    for (size_t i = 0; i < sum.size(); ++i) {
      if (lanes != nullptr) sum[i] = b.CreateSelect(lanes, sum[i], so_far[i]);
      if (all != nullptr) sum[i] = b.CreateSelect(all, sum[i], so_far[i]);
    }
    return sum;
  }
  static Index IndexOf(const std::vector<LaneNumber>& numbers, Value* mask) {
    Index index;
    for (const LaneNumber& number : numbers) index.groups.push_back({1, number});
    if (!index.is_uniform()) index.mask = mask;
    return index;
  }

  const Kernel& kernel_;
  const std::string& name_;
  InstructionId root_;
  Products products_;
  KernelFunction function_;
  hlo::ConvDims read_;
  const hlo::ConvolutionDims& dims_;
  std::span<const int64_t> input_, weights_, out_;
  std::vector<hlo::WindowDimension> window_;
  int64_t feature_groups_ = 1, batch_groups_ = 1;
  int lane_ = -1, blocked_ = -1;  // dimensions of the result; -1: there is none
  int width_ = 1;
  int64_t vectors_ = 1, block_ = 1;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  std::vector<Variants> at_;              // by dimension of the result
  std::vector<Value*> taps_;              // by dimension of the window
  std::vector<Places> places_;            // likewise
  Variants first_feature_, first_batch_;  // by variant of the output feature
};

}  // namespace

EmittedKernel EmitConvolution(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return ConvolutionKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
