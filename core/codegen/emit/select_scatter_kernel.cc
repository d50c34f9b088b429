// Kernels of select-and-scatter: under each place of a window one element of the operand is chosen,
// and there the place's source element is combined into the result. Lanes run along the last
// dimension where the window leaves that alone; a grain is what no window reaches out of, and there
// the places follow each other in order. On a GPU a thread has an element of the result: of all
// places whose windows reach it, in order, it takes the source elements of those that choose it.

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kMinWindowLanes = 4;

class SelectScatterKernel {
 public:
  SelectScatterKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        name_(name),
        root_(kernel.roots[0]),
        operands_(kernel.module.operands(root_)),
        type_(kernel.module.shape(root_).element_type()),
        function_(module, kernel, name, -1),
        sizes_(kernel.module.shape(root_).dimensions()),
        places_(kernel.module.shape(operands_[1]).dimensions()),
        window_(WindowOf(kernel, sizes_.size())) {
    if (!sizes_.empty() && IsTrivial(sizes_.size() - 1) && sizes_.back() >= kMinWindowLanes) {
      width_ = LanesAlong(kernel, sizes_.back());
    }
    const size_t outermost = sizes_.size() - (width_ > 1 ? 1 : 0);
    while (outer_ < outermost && IsTrivial(outer_)) ++outer_;
  }

  EmittedKernel Emit() {
    if (kernel_.is_for_gpu()) return ByElement();
    const int64_t bytes = Region() * BytesPerElement(kernel_, ProductOf(sizes_));
    EmittedKernel out = InGrains(name_, ProductOf(sizes_.first(outer_)), 1, bytes, 1);
    IndexMath math(function_.builder(), width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    place_.assign(sizes_.size(), math.Constant(0));
    position_ = place_;
    function_.Loop(function_.begin(), function_.end(), 1, [&](Value* grain) {
      Fill(grain);
      Value* rest = grain;
      for (size_t d = outer_; d-- > 0;) {
        place_[d] = position_[d] = math_->TakeLast(rest, sizes_[d]);
      }
      Places(outer_);
    });
    function_.Finish();
    out.is_complete = !emitter.has_failed() && !has_failed_;
    return out;
  }

 private:
  EmittedKernel ByElement() {
    width_ = 1;
    outer_ = 0;
    const int64_t total = ProductOf(sizes_);
    EmittedKernel out = InGrains(name_, total, 1, 1, 1);
    IndexMath math(function_.builder(), width_, 64);
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    place_.assign(sizes_.size(), math.Constant(0));
    position_ = place_;
    function_.ForUnits(total, 1, [&](Value* unit) {
      std::vector<Value*> own(sizes_.size());
      Value* rest = unit;
      for (size_t d = sizes_.size(); d-- > 0;) own[d] = math.TakeLast(rest, sizes_[d]).base;
      emitter.Forget();
      Builder& b = function_.builder();
      Value* initial = ToMemory(b, emitter.EmitScalar(operands_[2]), type_);
      Value* value = FromMemory(b, OfPlaces(0, own, unit, initial), type_);
      function_.Store(value, type_, function_.result(0), unit, 1);
    });
    function_.Finish();
    out.is_complete = !emitter.has_failed() && !has_failed_;
    return out;
  }

  // What an element, which has number `unit`, is behind the places of the dimensions from d on.
  Value* OfPlaces(size_t d, const std::vector<Value*>& own, Value* unit, Value* so_far) {
    Builder& b = function_.builder();
    if (d < sizes_.size()) {
      // From the first place whose window ends behind it to the last that begins before it.
      const hlo::WindowDimension& w = window_[d];
      Value* at = b.CreateAdd(b.CreateMul(own[d], Int(w.base_dilation)), Int(w.padding_low));
      const int64_t reach = (w.size - 1) * w.window_dilation;
      Value* first = b.CreateSub(at, Int(reach - (w.stride - 1)));
      first = b.CreateSDiv(Call(b, llvm::Intrinsic::smax, {first, Int(0)}), Int(w.stride));
      Value* behind = b.CreateAdd(at, Int(w.stride));
      behind = b.CreateSDiv(Call(b, llvm::Intrinsic::smax, {behind, Int(0)}), Int(w.stride));
      return function_.Loop(first, function_.Smaller(behind, Int(places_[d])), 1, {so_far},
                            [&](Value* place, const std::vector<Value*>& values) {
                              place_[d] = math_->FromScalar(place);
                              return std::vector<Value*>{OfPlaces(d + 1, own, unit, values[0])};
                            })[0];
    }
    const Choice none{llvm::Constant::getNullValue(RegisterType(b, type_)), Int(0), b.getFalse()};
    const Choice chosen = Choose(0, none, nullptr);
    Value* is_own = b.CreateAnd(chosen.is_any, b.CreateICmpEQ(chosen.at, unit));
    return function_.Loop(Int(0), b.CreateZExt(is_own, b.getInt64Ty()), 1, {so_far},
                          [&](Value*, const std::vector<Value*>& values) {
                            emitter_->Forget();
                            Value* combined = Combined(FromMemory(b, values[0], type_));
                            return std::vector<Value*>{
                                combined == nullptr ? values[0] : ToMemory(b, combined, type_)};
                          })[0];
  }

  // The source element of the place and what is there; null where there is no code.
  Value* Combined(Value* there) {
    Index from;
    for (const LaneNumber& number : place_) from.groups.push_back({1, number});
    Value* pair[] = {emitter_->Emit(operands_[1], from), there};
    const auto combined = Applied(
        function_.builder(), kernel_.module,
        kernel_.module.GetComputation(kernel_.module[root_], AttributeKey::kScatterComputation),
        pair);
    has_failed_ |= combined.size() != 1;
    return combined.size() == 1 ? combined[0] : nullptr;
  }

  Value* Int(int64_t value) { return function_.Int(value); }
  bool IsTrivial(size_t d) const { return window_[d] == hlo::WindowDimension{}; }
  bool IsLane(size_t d) const { return width_ > 1 && d + 1 == sizes_.size(); }
  int64_t Region() const { return ProductOf(sizes_.subspan(outer_)); }
  llvm::Type* InLanes(llvm::Type* type) const {
    return width_ == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(width_));
  }

  void Fill(Value* grain) {
    Builder& b = function_.builder();
    emitter_->Forget();
    Value* initial = emitter_->EmitScalar(operands_[2]);
    Value* first = b.CreateMul(grain, Int(Region()));
    function_.Loop(Int(0), Int(Region()), width_, [&](Value* i) {
      Value* at = function_.Smaller(i, Int(Region() - width_));
      function_.Store(initial, type_, function_.result(0), b.CreateAdd(first, at), width_);
    });
  }

  // The places of the dimensions from d on.
  void Places(size_t d) {
    if (d == sizes_.size()) return Place(nullptr);
    function_.Loop(Int(0), Int(places_[d]), IsLane(d) ? width_ : 1, [&](Value* i) {
      if (!IsLane(d)) {
        place_[d] = math_->FromScalar(i);
        return Places(d + 1);
      }
      Value* at = function_.Smaller(i, Int(places_[d] - width_));
      place_[d] = position_[d] = {at, 1, nullptr, 1};
      // Lanes that were scattered already are not once more.
      Value* is_new = nullptr;
      if (places_[d] % width_ != 0) {
        Builder& b = function_.builder();
        is_new = b.CreateICmpUGE(math_->Vector(place_[d]), math_->Vector(math_->FromScalar(i)));
      }
      Place(is_new);
    });
  }

  // The chosen element, where it stands, and whether there is any.
  struct Choice {
    Value *element, *at, *is_any;
  };

  void Place(Value* lanes) {
    Builder& b = function_.builder();
    const Choice none{llvm::Constant::getNullValue(InLanes(RegisterType(b, type_))),
                      llvm::Constant::getNullValue(InLanes(b.getInt64Ty())), b.getFalse()};
    const Choice chosen = Choose(outer_, none, nullptr);
    llvm::Function* function = b.GetInsertBlock()->getParent();
    auto* inside = llvm::BasicBlock::Create(b.getContext(), "chosen", function);
    auto* behind = llvm::BasicBlock::Create(b.getContext(), "behind", function);
    b.CreateCondBr(chosen.is_any, inside, behind);
    b.SetInsertPoint(inside);
    emitter_->Forget();
    Scatter(chosen.at, lanes);
    b.CreateBr(behind);
    b.SetInsertPoint(behind);
    emitter_->Forget();
  }

  Choice Choose(size_t d, const Choice& so_far, Value* is_inside) {
    const size_t last = sizes_.size() - (width_ > 1 ? 1 : 0);
    if (d == last) return Look(so_far, is_inside);
    const hlo::WindowDimension& w = window_[d];
    const std::vector<Value*> next = function_.Loop(
        Int(0), Int(w.size), 1, {so_far.element, so_far.at, so_far.is_any},
        [&](Value* tap, const std::vector<Value*>& values) {
          Value* narrower = Move(d, tap, is_inside);
          const Choice choice = Choose(d + 1, {values[0], values[1], values[2]}, narrower);
          return std::vector<Value*>{choice.element, choice.at, choice.is_any};
        });
    return {next[0], next[1], next[2]};
  }

  // Goes to a tap of dimension d; whether that is an element of the operand.
  Value* Move(size_t d, Value* tap, Value* is_inside) {
    Builder& b = function_.builder();
    const hlo::WindowDimension& w = window_[d];
    Value* at = b.CreateAdd(b.CreateMul(place_[d].base, Int(w.stride)),
                            b.CreateMul(tap, Int(w.window_dilation)));
    at = b.CreateSub(at, Int(w.padding_low));
    Value* fits = b.CreateICmpULT(at, Int((sizes_[d] - 1) * w.base_dilation + 1));
    at = b.CreateSelect(fits, at, Int(0));
    if (w.base_dilation > 1) {
      Value* hole = b.CreateURem(at, Int(w.base_dilation));
      fits = b.CreateAnd(fits, b.CreateICmpEQ(hole, Int(0)));
      at = b.CreateUDiv(at, Int(w.base_dilation));
    }
    position_[d] = math_->FromScalar(at);
    return is_inside == nullptr ? fits : b.CreateAnd(is_inside, fits);
  }

  Choice Look(const Choice& best, Value* is_inside) {
    Builder& b = function_.builder();
    emitter_->Forget();
    Index index;
    for (const LaneNumber& number : position_) index.groups.push_back({1, number});
    Value* element = Spread(emitter_->Emit(operands_[0], index));
    LaneNumber offset = math_->Offset(index, sizes_);
    Value* at = Spread(offset.base);
    if (width_ > 1) {
      std::vector<llvm::Constant*> lanes;
      for (int i = 0; i < width_; ++i) lanes.push_back(b.getInt64(static_cast<uint64_t>(i)));
      at = b.CreateAdd(at, llvm::ConstantVector::get(lanes));
    }
    Value* pair[] = {best.element, element};
    const auto keeps = Applied(
        b, kernel_.module,
        kernel_.module.GetComputation(kernel_.module[root_], AttributeKey::kSelectComputation),
        pair);
    if (keeps.size() != 1) {
      has_failed_ = true;
      return best;
    }
    Value* keep = b.CreateAnd(Spread(keeps[0]), Spread(best.is_any));
    Choice next{b.CreateSelect(keep, best.element, element), b.CreateSelect(keep, best.at, at),
                b.getTrue()};
    if (is_inside == nullptr) return next;
    return {b.CreateSelect(is_inside, next.element, best.element),
            b.CreateSelect(is_inside, next.at, best.at), b.CreateOr(best.is_any, is_inside)};
  }
  Value* Spread(Value* x) {
    if (width_ == 1 || x->getType()->isVectorTy()) return x;
    return function_.builder().CreateVectorSplat(static_cast<unsigned>(width_), x);
  }

  void Scatter(Value* at, Value* lanes) {
    Builder& b = function_.builder();
    llvm::Type* element = MemoryType(b, type_);
    const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(type_)));
    Value* addresses = b.CreateGEP(element, function_.result(0), at);
    Value* there = width_ == 1 ? static_cast<Value*>(b.CreateAlignedLoad(element, addresses, align))
                               : b.CreateMaskedGather(InLanes(element), addresses, align, lanes);
    Value* combined = Combined(FromMemory(b, there, type_));
    if (combined == nullptr) return;
    Value* value = Spread(ToMemory(b, combined, type_));
    if (width_ == 1) {
      b.CreateAlignedStore(value, addresses, align);
    } else {
      b.CreateMaskedScatter(value, addresses, align, lanes);
    }
  }

  const Kernel& kernel_;
  const std::string& name_;
  InstructionId root_;
  std::span<const InstructionId> operands_;
  ElementType type_;
  KernelFunction function_;
  std::span<const int64_t> sizes_, places_;
  std::vector<hlo::WindowDimension> window_;
  size_t outer_ = 0;  // dimensions that grains are made of
  int width_ = 1;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  std::vector<LaneNumber> place_, position_;  // in the source and the operand, by dimension
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitSelectAndScatter(llvm::Module& module, const Kernel& kernel,
                                   const std::string& name) {
  return SelectScatterKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
