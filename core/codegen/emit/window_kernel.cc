// Kernels that reduce windows of arrays: reduce-window. Lanes are neighbours of the
// result; places outside the input, or between its dilated elements, are left out.
#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/reducers.h"
#include "core/codegen/emit/scan_kernel.h"
#include "core/compile/kernel_rules.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

namespace {

class WindowKernel {
 public:
  WindowKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        name_(name),
        reducers_(kernel),
        function_(module, kernel, name, -1),
        input_(reducers_.sizes()) {
    sizes_ = kernel.module.shape(kernel.roots[0]).results()[0].dimensions();
    window_ = WindowOf(kernel, sizes_.size());
    width_ = LanesAlong(kernel, sizes_.empty() ? 1 : sizes_.back());
  }

  EmittedKernel Emit() {
    const int64_t row = sizes_.empty() ? 1 : sizes_.back(), rows = ProductOf(sizes_) / row;
    int64_t taps = 1;
    for (const hlo::WindowDimension& w : window_) taps *= w.size;
    const int64_t row_bytes = row * taps * BytesPerElement(kernel_, ProductOf(sizes_));
    const int64_t grain = std::clamp<int64_t>(
        GrainLimit(kernel_, kGrainBytes) / std::max<int64_t>(1, row_bytes), 1, rows);
    EmittedKernel out = InGrains(name_, rows, grain, row_bytes, reducers_.count());
    Builder& b = function_.builder();
    IndexMath math(b, width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    if (kernel_.is_for_gpu()) {
      out = InGrains(name_, rows * row, 1, 1, reducers_.count());
      function_.ForUnits(rows * row, 1, [&](Value* unit) {
        Element(b.CreateUDiv(unit, Int(row)), b.CreateURem(unit, Int(row)));
      });
    } else {
      function_.ForUnits(rows, grain, [&](Value* unit) { Row(unit, row); });
    }
    function_.Finish();
    out.is_complete = !emitter.has_failed() && !has_failed_;
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_.Int(value); }
  Value* Larger(Value* a, Value* b) {
    return Call(function_.builder(), llvm::Intrinsic::smax, {a, b});
  }
  bool IsLaneDimension(size_t d) const { return width_ > 1 && d + 1 == sizes_.size(); }

  void Row(Value* number, int64_t row) {
    function_.Loop(Int(0), Int(row), width_,
                   [&](Value* i) { Element(number, function_.Smaller(i, Int(row - width_))); });
  }

  // The lanes from `at` of a row on.
  void Element(Value* number, Value* at) {
    Builder& b = function_.builder();
    emitter_->Forget();
    place_.assign(sizes_.size(), math_->Constant(0));
    Value* rest = number;
    for (size_t d = sizes_.empty() ? 0 : sizes_.size() - 1; d-- > 0;) {
      place_[d] = math_->TakeLast(rest, sizes_[d]);
    }
    if (!sizes_.empty()) place_.back() = LanesFrom(at, width_);
    position_.assign(sizes_.size(), math_->Constant(0));
    const Accumulators total = Fold(0, reducers_.Start(*emitter_, b, width_), {});
    const Accumulators results = reducers_.Results(*emitter_, b, total);
    const int64_t row = sizes_.empty() ? 1 : sizes_.back();
    Value* first = b.CreateAdd(b.CreateMul(number, Int(row)), at);
    for (size_t k = 0; k < results.size(); ++k) {
      function_.Store(results[k], reducers_.ResultType(k), function_.result(k), first, width_);
    }
  }

  // The taps of dimension d that lie inside the input, for a place that all lanes share.
  std::pair<Value*, Value*> TapsOf(size_t d) {
    const hlo::WindowDimension& w = window_[d];
    if (w.padding_low <= 0 && w.padding_high <= 0) return {Int(0), Int(w.size)};
    Builder& b = function_.builder();
    // start + tap·dilation lies in [0, input): the first such tap, and the first behind.
    Value* start = b.CreateSub(b.CreateMul(place_[d].base, Int(w.stride)), Int(w.padding_low));
    const auto first_from = [&](int64_t limit) {
      Value* distance = b.CreateSub(Int(limit + w.window_dilation - 1), start);
      return Larger(Int(0), b.CreateSDiv(Larger(distance, Int(0)), Int(w.window_dilation)));
    };
    return {first_from(0), function_.Smaller(Int(w.size), first_from(input_[d]))};
  }

  // What of a window is looked at: lanes, and all of them together; null: everything.
  struct Inside {
    Value *lanes = nullptr, *all = nullptr;
  };

  // Combines `total` with the taps of the dimensions from d on.
  Accumulators Fold(size_t d, const Accumulators& total, Inside inside) {
    if (d == sizes_.size()) return Tap(total, inside);
    const hlo::WindowDimension& w = window_[d];
    const bool is_lane = IsLaneDimension(d), is_dilated = w.base_dilation > 1;
    const bool is_padded = w.padding_low > 0 || w.padding_high > 0 || is_dilated;
    const auto [from, to] = is_lane || is_dilated ? std::pair{Int(0), Int(w.size)} : TapsOf(d);
    const auto step = [&](Value* tap, const Accumulators& so_far) {
      emitter_->Forget();
      position_[d] =
          math_->Add(math_->Multiply(place_[d], w.stride),
                     math_->AddConstant(math_->Multiply(math_->FromScalar(tap), w.window_dilation),
                                        -w.padding_low));
      Inside narrower = inside;
      if (is_padded && (is_lane || is_dilated)) Narrow(d, narrower);
      return Fold(d + 1, so_far, narrower);
    };
    if (w.size == 1 && (is_lane || !is_padded)) return step(Int(0), total);
    return function_.Loop(from, to, 1, total, step);
  }

  // Leaves out places of dimension d that are none of the input; the others become numbers of
  // elements.
  void Narrow(size_t d, Inside& inside) {
    Builder& b = function_.builder();
    const int64_t dilation = window_[d].base_dilation;
    LaneNumber& place = position_[d];
    Value* is_inside = IsBelow(place, (input_[d] - 1) * dilation + 1);
    if (place.is_uniform()) {
      place = math_->FromScalar(b.CreateSelect(is_inside, place.base, Int(0)));
    }
    if (dilation > 1) {
      const auto [quotient, hole] = math_->Divide(place, dilation);
      is_inside = b.CreateAnd(is_inside, IsBelow(hole, 1));
      place = quotient;
    }
    Value*& part = is_inside->getType()->isVectorTy() ? inside.lanes : inside.all;
    part = part == nullptr ? is_inside : b.CreateAnd(part, is_inside);
  }
  Value* IsBelow(const LaneNumber& number, int64_t limit) {
    Builder& b = function_.builder();
    Value* value = number.is_uniform() ? number.base : math_->Vector(number);
    return b.CreateICmpULT(value, IntegerLike(value, limit));
  }

  Accumulators Tap(const Accumulators& total, Inside inside) {
    Builder& b = function_.builder();
    Index index;
    for (const LaneNumber& number : position_) index.groups.push_back({1, number});
    if (!index.is_uniform()) index.mask = inside.lanes;
    const Accumulators elements = reducers_.Elements(*emitter_, b, index, width_);
    Accumulators next = reducers_.Combine(b, total, elements);
    if (next.empty()) {
      has_failed_ = true;
      return total;
    }
    for (Value* is_inside : {inside.lanes, inside.all}) {
      if (is_inside == nullptr) continue;
      for (size_t k = 0; k < next.size(); ++k) {
        next[k] = b.CreateSelect(is_inside, next[k], total[k]);
      }
    }
    return next;
  }

  const Kernel& kernel_;
  const std::string& name_;
  Reducers reducers_;
  KernelFunction function_;
  std::span<const int64_t> input_, sizes_;
  std::vector<hlo::WindowDimension> window_;
  int width_ = 1;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  std::vector<LaneNumber> place_, position_;  // in the result and the input, by dimension
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitReduceWindow(llvm::Module& module, const Kernel& kernel,
                               const std::string& name) {
  // Threads of a GPU read a short window again faster than they hand sums on.
  int64_t places = 1;
  const size_t rank = kernel.module.shape(kernel.module.operands(kernel.roots[0])[0]).rank();
  for (const hlo::WindowDimension& w : WindowOf(kernel, rank)) places *= w.size;
  const bool is_short = kernel.is_for_gpu() && places <= compile::kMaxWindowPlaces;
  if (const auto form = ScanFormOf(kernel); form.has_value()) {
    if (kernel.is_for_gpu() && form->kind != ScanForm::Kind::kSliding) {
      return EmitGpuScan(module, kernel, name, *form);
    }
    if (!is_short) return EmitScan(module, kernel, name, *form);
  }
  return WindowKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
