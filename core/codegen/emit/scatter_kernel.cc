// Kernels that combine updates into arrays where they are: scatter. One grain: updates of one
// element follow on each other in the order of the indices, whatever the threads.
#include <algorithm>

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

// Windows whose rows are shorter are gone through element by element.
constexpr int64_t kLeastLanes = 8;

class ScatterKernel {
 public:
  ScatterKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        name_(name),
        root_(kernel.roots[0]),
        operands_(kernel.module.operands(root_)),
        arity_((operands_.size() - 1) / 2),
        function_(module, kernel, name, 0),
        whole_(Sizes(operands_[0])),
        updates_(Sizes(operands_[arity_ + 1])),
        update_window_(Ints(AttributeKey::kUpdateWindowDims)) {
    const auto inserted = Ints(AttributeKey::kInsertedWindowDims),
               batching = Ints(AttributeKey::kInputBatchingDims);
    for (size_t d = 0; d < whole_.size(); ++d) {
      if (!Contains(inserted, d) && !Contains(batching, d)) window_.push_back(d);
    }
    extent_.assign(whole_.size(), 1);
    for (size_t i = 0; i < window_.size(); ++i) extent_[window_[i]] = updates_[UpdateDim(i)];
    ChooseWidth();
  }

  EmittedKernel Emit() {
    EmittedKernel out;
    out.code.name = name_;
    out.code.grain_bytes = ProductOf(updates_) * BytesPerElement(kernel_, ProductOf(whole_));
    for (size_t i = 0; i < arity_; ++i) out.code.in_place.push_back(static_cast<int>(i));
    IndexMath math(function_.builder(), width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    numbers_.assign(updates_.size(), math.Constant(0));
    std::vector<size_t> batch;
    for (size_t d = 0; d < updates_.size(); ++d) {
      if (!Contains(update_window_, d)) batch.push_back(d);
    }
    ForEach(batch, 0, [&] { Window(batch); });
    function_.Finish();
    out.is_complete = !emitter.has_failed() && !has_failed_;
    return out;
  }

 private:
  std::span<const int64_t> Sizes(InstructionId id) const {
    return kernel_.module.shape(id).dimensions();
  }
  std::span<const int64_t> Ints(AttributeKey key) const {
    return kernel_.module.GetInts(kernel_.module[root_], key);
  }
  size_t UpdateDim(size_t i) const { return static_cast<size_t>(update_window_[i]); }

  // Lanes are neighbours in the updates and in the result: along the last dimension of both.
  void ChooseWidth() {
    if (window_.empty() || window_.back() + 1 != whole_.size() ||
        UpdateDim(window_.size() - 1) + 1 != updates_.size() || updates_.back() < kLeastLanes) {
      return;
    }
    width_ = LanesAlong(kernel_, updates_.back());
  }

  // Runs body for all numbers of these dimensions of the updates.
  void ForEach(std::span<const size_t> dimensions, size_t at, const std::function<void()>& body) {
    if (at == dimensions.size()) return body();
    const size_t d = dimensions[at];
    function_.Loop(function_.Int(0), function_.Int(updates_[d]), 1, [&](Value* i) {
      numbers_[d] = math_->FromScalar(i);
      ForEach(dimensions, at + 1, body);
    });
  }

  // Where the window of the updates at hand begins, by dimension of the result; sets `fits` to
  // whether all of it lies inside (null: it does).
  std::vector<LaneNumber> Start(std::span<const size_t> batch, Value*& fits) {
    Builder& b = function_.builder();
    const InstructionId indices = operands_[arity_];
    const auto sizes = Sizes(indices);
    const auto vector_dim = static_cast<size_t>(
        kernel_.module.GetInt(kernel_.module[root_], AttributeKey::kIndexVectorDim));
    std::vector<LaneNumber> by_dim(sizes.size(), math_->Constant(0));
    for (size_t d = 0, next = 0; d < sizes.size(); ++d) {
      if (d != vector_dim) by_dim[d] = numbers_[batch[next++]];
    }
    std::vector<LaneNumber> start(whole_.size(), math_->Constant(0));
    const auto map = Ints(AttributeKey::kScatterDimsToOperandDims);
    const ElementType type = kernel_.module.shape(indices).element_type();
    for (size_t k = 0; k < map.size(); ++k) {
      const auto d = static_cast<size_t>(map[k]);
      Index index;
      for (size_t i = 0; i < sizes.size(); ++i) {
        index.groups.push_back(
            {1, i == vector_dim ? math_->Constant(static_cast<int64_t>(k)) : by_dim[i]});
      }
      Value* number = Converted(b, emitter_->Emit(indices, std::move(index)), type,
                                hlo::IsSigned(type) ? ElementType::kS64 : ElementType::kU64);
      Value* is_inside = b.CreateICmpULE(number, function_.Int(whole_[d] - extent_[d]));
      fits = fits == nullptr ? is_inside : b.CreateAnd(fits, is_inside);
      start[d] = math_->FromScalar(number);
    }
    const auto batching = Ints(AttributeKey::kInputBatchingDims),
               index_batching = Ints(AttributeKey::kScatterIndicesBatchingDims);
    for (size_t i = 0; i < batching.size(); ++i) {
      start[static_cast<size_t>(batching[i])] = by_dim[static_cast<size_t>(index_batching[i])];
    }
    return start;
  }

  void Window(std::span<const size_t> batch) {
    Builder& b = function_.builder();
    emitter_->Forget();
    Value* fits = nullptr;
    start_ = Start(batch, fits);
    llvm::BasicBlock* behind = nullptr;
    if (fits != nullptr) {
      llvm::Function* function = b.GetInsertBlock()->getParent();
      auto* inside = llvm::BasicBlock::Create(b.getContext(), "inside", function);
      behind = llvm::BasicBlock::Create(b.getContext(), "behind", function);
      b.CreateCondBr(fits, inside, behind);
      b.SetInsertPoint(inside);
    }
    std::vector<size_t> dimensions;
    for (size_t i = 0; i < window_.size(); ++i) dimensions.push_back(UpdateDim(i));
    if (width_ > 1) dimensions.pop_back();
    ForEach(dimensions, 0, [&] { width_ > 1 ? Row() : Combine(1); });
    emitter_->Forget();
    if (behind == nullptr) return;
    b.CreateBr(behind);
    b.SetInsertPoint(behind);
  }

  // Lanes along the last dimension; what is left over goes once more, alone.
  void Row() {
    const int64_t size = updates_.back(), whole = size / width_ * width_;
    LaneNumber& last = numbers_.back();
    function_.Loop(function_.Int(0), function_.Int(whole), width_, [&](Value* i) {
      last = {i, 1, nullptr, width_};
      Combine(width_);
    });
    if (whole == size) return;
    IndexMath* const lanes = math_;
    ElementEmitter* const of_lanes = emitter_;
    IndexMath math(function_.builder(), 1, 64);
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    function_.Loop(function_.Int(whole), function_.Int(size), 1, [&](Value* i) {
      last = math.FromScalar(i);
      Combine(1);
    });
    has_failed_ |= emitter.has_failed();
    math_ = lanes;
    emitter_ = of_lanes;
  }

  // The elements at hand: read, combined, written back.
  void Combine(int width) {
    Builder& b = function_.builder();
    emitter_->Forget();
    Index from, to;
    std::vector<LaneNumber> place = start_;
    for (size_t d = 0; d < updates_.size(); ++d) from.groups.push_back({1, numbers_[d]});
    for (size_t i = 0; i < window_.size(); ++i) {
      place[window_[i]] = math_->Add(place[window_[i]], numbers_[UpdateDim(i)]);
    }
    for (const LaneNumber& number : place) to.groups.push_back({1, number});
    Value* at = math_->Offset(to, whole_).base;
    std::vector<Value*> arguments;
    for (size_t i = 0; i < arity_; ++i) arguments.push_back(Load(i, at, width));
    for (size_t i = 0; i < arity_; ++i) {
      arguments.push_back(emitter_->Emit(operands_[arity_ + 1 + i], from));
    }
    const auto applied =
        kernel_.module.GetComputation(kernel_.module[root_], AttributeKey::kToApply);
    const auto results = Applied(b, kernel_.module, applied, arguments);
    has_failed_ |= results.size() != arity_;
    for (size_t i = 0; i < std::min(arity_, results.size()); ++i) {
      function_.Store(results[i], TypeOf(i), function_.result(i), at, width);
    }
  }

  ElementType TypeOf(size_t i) const { return kernel_.module.shape(operands_[i]).element_type(); }

  Value* Load(size_t i, Value* at, int width) {
    Builder& b = function_.builder();
    llvm::Type* element = MemoryType(b, TypeOf(i));
    llvm::Type* type =
        width == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
    Value* address = b.CreateGEP(element, function_.result(i), at);
    const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(TypeOf(i))));
    return FromMemory(b, b.CreateAlignedLoad(type, address, align), TypeOf(i));
  }

  const Kernel& kernel_;
  const std::string& name_;
  InstructionId root_;
  std::span<const InstructionId> operands_;
  size_t arity_;
  KernelFunction function_;
  std::span<const int64_t> whole_, updates_, update_window_;
  std::vector<size_t> window_;   // dimensions of the result that windows reach along
  std::vector<int64_t> extent_;  // of a window, by dimension of the result
  int width_ = 1;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  std::vector<LaneNumber> numbers_;  // by dimension of the updates
  std::vector<LaneNumber> start_;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitScatter(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return ScatterKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
