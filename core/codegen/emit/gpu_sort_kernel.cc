// Sorts on a GPU: a network that compares and exchanges places of elements; short lines a thread
// sorts by itself. Every launch is one layer of the network; whatever the comparator says, the
// places stay a permutation.
#include <bit>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/math/device_loops.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

// Up to here a thread sorts a line, as std::sort does: it shows where a comparator is no order.
constexpr int64_t kShort = 16;
constexpr int64_t kLongest = int64_t{1} << 31, kPlaceBytes = 4;
// Passes that are no layer: places are numbered, elements are put where they belong.
constexpr int64_t kNumber = 0, kGather = -1;

// The layers of a bitonic network all of whose exchanges put the smaller element first: element i
// meets element i ^ mask. Such a network sorts any number of elements: those behind the last stand
// for larger ones (Batcher 1968; Knuth, The Art of Computer Programming 3, 5.3.4).
std::vector<int64_t> Passes(int64_t length) {
  std::vector<int64_t> passes = {kNumber};
  for (int64_t run = 2; run < 2 * length; run *= 2) {
    passes.push_back(run - 1);
    for (int64_t mask = run / 4; mask > 0; mask /= 2) passes.push_back(mask);
  }
  passes.push_back(kGather);
  return passes;
}

class GpuSortKernel {
 public:
  GpuSortKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        sort_(kernel.roots[0]),
        operands_(kernel.module.operands(sort_)),
        function_(module, kernel, name, -1),
        b_(function_.builder()) {
    const auto sizes = kernel.module.shape(operands_[0]).dimensions();
    const auto dimension = static_cast<size_t>(
        kernel.module.GetInts(kernel.module[sort_], AttributeKey::kDimensions)[0]);
    length_ = sizes[dimension];
    stride_ = ProductOf(sizes.subspan(dimension + 1));
    count_ = ProductOf(sizes);
    for (const InstructionId operand : operands_) {
      arrays_.push_back(function_.Arrays().at(operand.index).address);
    }
  }

  EmittedKernel Emit(const std::string& name) {
    const bool is_short = length_ <= kShort;
    const int64_t units = is_short ? count_ / length_ : count_;
    EmittedKernel out =
        InGrains(name, units, 1, BytesPerElement(kernel_, count_), operands_.size());
    out.code.scratch_bytes = count_ * kPlaceBytes;
    if (!is_short) out.passes = Passes(length_);
    function_.ForUnits(units, 1, [&](Value* unit) { is_short ? ShortLine(unit) : Unit(unit); });
    function_.Finish();
    out.is_complete = !has_failed_ && length_ < kLongest;
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_.Int(value); }
  ElementType TypeOf(size_t k) const { return kernel_.module.shape(operands_[k]).element_type(); }

  // A unit is an element: a line is length_ neighbouring units.
  void Unit(Value* unit) {
    line_ = b_.CreateUDiv(unit, Int(length_));
    Value* i = b_.CreateURem(unit, Int(length_));
    Value* pass = function_.pass();
    When(b_.CreateICmpEQ(pass, Int(kNumber)), [&] { StorePlace(i, Narrow(i)); });
    When(b_.CreateICmpSGT(pass, Int(kNumber)), [&] { Meet(i, b_.CreateXor(i, pass)); });
    When(b_.CreateICmpEQ(pass, Int(kGather)), [&] { Gather(i); });
  }

  void Gather(Value* i) {
    Value* from = AddressOf(LoadPlace(i));
    for (size_t k = 0; k < operands_.size(); ++k) {
      function_.Store(Load(k, from), TypeOf(k), function_.result(k), AddressOf(i), 1);
    }
  }

  // By insertion, from the second on: to the front where it is less than the first, else behind
  // the last that it is not less than.
  void ShortLine(Value* line) {
    line_ = line;
    function_.Loop(Int(0), Int(length_), 1, [&](Value* i) { StorePlace(i, Narrow(i)); });
    function_.Loop(Int(1), Int(length_), 1, [&](Value* i) {
      Value* is_front = Less(i, LoadPlace(Int(0)));
      const auto at = While(
          b_, {i},
          [&](const std::vector<Value*>& j) -> Value* {
            Value* before =
                LoadPlace(Call(b_, llvm::Intrinsic::smax, {b_.CreateSub(j[0], Int(1)), Int(0)}));
            Value* moves = b_.CreateOr(is_front, Less(i, before));
            return b_.CreateAnd(b_.CreateICmpSGT(j[0], Int(0)), moves);
          },
          [&](const std::vector<Value*>& j) -> std::vector<Value*> {
            Value* before = b_.CreateSub(j[0], Int(1));
            StorePlace(j[0], Narrow(LoadPlace(before)));
            return {before};
          });
      StorePlace(at[0], Narrow(i));
    });
    function_.Loop(Int(0), Int(length_), 1, [&](Value* i) { Gather(i); });
  }

  void Meet(Value* i, Value* other) {
    Value* is_pair =
        b_.CreateAnd(b_.CreateICmpSGT(other, i), b_.CreateICmpSLT(other, Int(length_)));
    When(is_pair, [&] {
      Value* a = LoadPlace(i);
      Value* c = LoadPlace(other);
      // Of equal elements the one that came first stays first.
      Value* is_tie = b_.CreateAnd(b_.CreateNot(Less(a, c)), b_.CreateICmpSLT(c, a));
      When(b_.CreateOr(Less(c, a), is_tie), [&] {
        StorePlace(i, Narrow(c));
        StorePlace(other, Narrow(a));
      });
    });
  }

  template <typename Body>
  void When(Value* condition, const Body& body) {
    function_.Loop(Int(0), b_.CreateZExt(condition, b_.getInt64Ty()), 1, [&](Value*) { body(); });
  }

  Value* Narrow(Value* place) { return b_.CreateTrunc(place, b_.getInt32Ty()); }
  Value* PlaceAt(Value* i) {
    Value* at = b_.CreateAdd(b_.CreateMul(line_, Int(length_)), i);
    return b_.CreateGEP(b_.getInt32Ty(), function_.scratch(), at);
  }
  void StorePlace(Value* i, Value* place) {
    b_.CreateAlignedStore(place, PlaceAt(i), llvm::Align(kPlaceBytes));
  }
  Value* LoadPlace(Value* i) {
    Value* place = b_.CreateAlignedLoad(b_.getInt32Ty(), PlaceAt(i), llvm::Align(kPlaceBytes));
    return b_.CreateZExt(place, b_.getInt64Ty());
  }

  // Where element i of the line lies in the arrays.
  Value* AddressOf(Value* i) {
    Value* outer = b_.CreateMul(b_.CreateUDiv(line_, Int(stride_)), Int(length_ * stride_));
    Value* inner = b_.CreateURem(line_, Int(stride_));
    return b_.CreateAdd(b_.CreateAdd(outer, inner), b_.CreateMul(i, Int(stride_)));
  }
  Value* Load(size_t k, Value* address) {
    llvm::Type* type = MemoryType(b_, TypeOf(k));
    Value* at = b_.CreateGEP(type, arrays_[k], address);
    const auto align = llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(TypeOf(k))));
    return FromMemory(b_, b_.CreateAlignedLoad(type, at, align), TypeOf(k));
  }

  Value* Less(Value* left, Value* right) {
    std::vector<Value*> arguments;
    for (size_t k = 0; k < operands_.size(); ++k) {
      arguments.push_back(Load(k, AddressOf(left)));
      arguments.push_back(Load(k, AddressOf(right)));
    }
    const auto comparator =
        kernel_.module.GetComputation(kernel_.module[sort_], AttributeKey::kToApply);
    const auto results = Applied(b_, kernel_.module, comparator, arguments);
    has_failed_ |= results.empty();
    return results.empty() ? b_.getFalse() : results[0];
  }

  const Kernel& kernel_;
  InstructionId sort_;
  std::span<const InstructionId> operands_;
  KernelFunction function_;
  Builder& b_;
  int64_t length_ = 1, stride_ = 1, count_ = 1;
  std::vector<Value*> arrays_;  // by operand
  Value* line_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitGpuSort(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return GpuSortKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
