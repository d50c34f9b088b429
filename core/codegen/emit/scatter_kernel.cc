// Kernels that combine updates into arrays where they are: scatter. A grain is a range of places in
// the arrays. Whoever computes some grains goes through all updates and applies those that fall
// there, so that updates of one element follow on each other in the order of the indices.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/scatter_windows.h"
#include "core/codegen/math/functions.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

// Windows whose rows are shorter are gone through element by element.
constexpr int64_t kMinLanes = 8;
// Updates of single elements that are looked at before the first of them is applied. Long runs of
// the loop that applies them let many accesses to memory be under way.
constexpr int64_t kBlock = 512;
constexpr int kVectorBits = 512;
// Bytes of the largest values of which lanes can be stored one behind the other.
constexpr int64_t kMaxCompressed = 8;

// Stores the lanes where the mask is set one behind the other. Where it has an instruction for that
// it writes a whole vector, whose rest is of no use.
void StoreCompressed(Builder& b, Value* lanes, Value* mask, Value* address) {
  llvm::Type* type = lanes->getType();
  const llvm::Align align(type->getScalarSizeInBits() / 8);
  if (!type->isVectorTy()) {
    b.CreateAlignedStore(lanes, address, align);
  } else if (type->getPrimitiveSizeInBits() == kVectorBits &&
             b.GetInsertBlock()->getModule()->getModuleFlag(kHasAvx512) != nullptr) {
    Value* compressed = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {type},
                                          {lanes, llvm::Constant::getNullValue(type), mask});
    b.CreateAlignedStore(compressed, address, align);
  } else {
    b.CreateMaskedCompressStore(lanes, address, mask);
  }
}

// How many lanes of the mask are set, as i64.
Value* CountOf(Builder& b, Value* mask) {
  if (const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType())) {
    mask = b.CreateBitCast(mask, b.getIntNTy(type->getNumElements()));
    mask = b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask);
  }
  return b.CreateZExtOrTrunc(mask, b.getInt64Ty());
}

class ScatterKernel {
 public:
  ScatterKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        windows_(kernel),
        arity_(windows_.arity()),
        whole_(windows_.sizes()),
        updates_(windows_.update_sizes()),
        function_(module, kernel, name, windows_.InPlace(kernel, 0)) {
    ChooseWidth();
  }

  EmittedKernel Emit(const std::string& name) {
    EmittedKernel out;
    out.code.name = name;
    out.code.grains = windows_.grains();
    out.code.grain_bytes =
        ProductOf(updates_) * BytesPerElement(kernel_, ProductOf(whole_)) / windows_.grains();
    out.code.calls_are_alike = true;
    for (size_t i = 0; i < arity_; ++i) {
      out.code.in_place.push_back(windows_.InPlace(kernel_, i));
      if (out.code.in_place.back() < 0) return out;
    }
    IndexMath math(function_.builder(), width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    windows_.Begin(function_, function_.begin(), function_.end());
    windows_.AreElements() ? Points() : Windows();
    function_.Finish();
    out.is_complete = !emitter.has_failed() && !has_failed_;
    return out;
  }

 private:
  // Lanes are updates, where those are of one element each; else neighbours in the updates and in
  // the result: along the last dimension of both.
  void ChooseWidth() {
    if (windows_.AreElements()) {
      for (size_t i = 0; i < arity_; ++i) {
        if (hlo::StorageBytes(TypeOf(i)) > kMaxCompressed) return;
      }
      const int most = kVectorBits / LaneBits(kernel_);
      width_ = std::min(most, LanesAlong(kernel_, ProductOf(updates_)));
      return;
    }
    const size_t last = windows_.dimensions().size() - 1;
    if (windows_.dimensions()[last] + 1 == whole_.size() &&
        windows_.UpdateDim(last) + 1 == updates_.size() && updates_.back() >= kMinLanes) {
      width_ = LanesAlong(kernel_, updates_.back());
    }
  }

  // ---- Updates of single elements: a block of them is gone through in lanes, which leave what is
  // to be applied behind, places and values.

  void Points() {
    const int64_t count = ProductOf(updates_);
    Builder& b = function_.builder();
    llvm::Type* place = b.getIntNTy(static_cast<unsigned>(math_->lane_bits()));
    Value* places = Room(place);
    std::vector<Value*> values;
    for (size_t i = 0; i < arity_; ++i) values.push_back(Room(KeptType(i)));
    function_.Loop(function_.Int(0), function_.Int(count), kBlock, [&](Value* first) {
      Value* end =
          function_.Smaller(b.CreateAdd(first, function_.Int(kBlock)), function_.Int(count));
      const auto found = function_.Loop(
          first, end, width_, {function_.Int(0)}, [&](Value* i, const std::vector<Value*>& so_far) {
            return std::vector<Value*>{Collect(i, so_far[0], count, places, values)};
          });
      function_.Loop(function_.Int(0), found[0], 1, [&](Value* i) {
        Value* at =
            b.CreateZExt(b.CreateLoad(place, b.CreateGEP(place, places, i)), b.getInt64Ty());
        std::vector<Value*> updates;
        for (size_t k = 0; k < arity_; ++k) {
          Value* kept = b.CreateLoad(KeptType(k), b.CreateGEP(KeptType(k), values[k], i));
          updates.push_back(FromMemory(b, FromKept(kept, MemoryType(b, TypeOf(k))), TypeOf(k)));
        }
        Combine(at, updates, 1);
      });
    });
  }

  Value* Room(llvm::Type* type) {
    llvm::BasicBlock& entry = function_.builder().GetInsertBlock()->getParent()->getEntryBlock();
    Builder at(&entry, entry.begin());
    auto* room = at.CreateAlloca(type, at.getInt64(static_cast<uint64_t>(kBlock + width_)));
    room->setAlignment(llvm::Align(64));
    return room;
  }

  // Values are kept as integers of 32 bits at least, for which there are instructions.
  llvm::Type* KeptType(size_t i) {
    Builder& b = function_.builder();
    return b.getIntNTy(std::max(32U, MemoryType(b, TypeOf(i))->getScalarSizeInBits()));
  }
  Value* FromKept(Value* kept, llvm::Type* memory) {
    Builder& b = function_.builder();
    const auto bits = static_cast<unsigned>(memory->getScalarSizeInBits());
    return b.CreateBitCast(b.CreateTrunc(kept, b.getIntNTy(bits)), memory);
  }
  Value* ToKept(Value* value, size_t i) {
    Builder& b = function_.builder();
    value = InLanes(*math_, ToMemory(b, value, TypeOf(i)));
    const auto bits = static_cast<unsigned>(value->getType()->getScalarSizeInBits());
    value = b.CreateBitCast(value, LanesLike(value, b.getIntNTy(bits)));
    return b.CreateZExt(value, LanesLike(value, KeptType(i)));
  }

  // Looks at the updates from number i on, in lanes. Returns how many are to be applied so far.
  Value* Collect(Value* i, Value* so_far, int64_t count, Value* places,
                 const std::vector<Value*>& values) {
    Builder& b = function_.builder();
    const bool is_even = count % width_ == 0;
    Value* at = is_even ? i : function_.Smaller(i, function_.Int(count - width_));
    const LaneNumber number = LanesFrom(at, width_, is_even ? width_ : 1);
    const auto index_of = [&](size_t rank) {
      Index index;
      if (rank > 0) index.groups.push_back({rank, number});
      return index;
    };
    emitter_->Forget();
    const ScatterWindows::Start start =
        windows_.StartOf(*emitter_, *math_, index_of(windows_.BatchDims().size()));
    Value* mask = start.fits == nullptr ? b.getTrue() : start.fits;
    if (!is_even) {  // the last vector is moved back over updates that are done
      LaneNumber lanes = math_->Constant(0);
      lanes.step = 1;
      Value* done = math_->Vector(math_->FromScalar(b.CreateSub(i, at)));
      mask = Both(*math_, mask, b.CreateICmpUGE(math_->Vector(lanes), done));
    }
    mask = InLanes(*math_, mask);
    Index to;
    for (const LaneNumber& coordinate : start.numbers) to.groups.push_back({1, coordinate});
    Value* place = math_->Vector(math_->Offset(to, whole_));
    StoreCompressed(b, place, mask, b.CreateGEP(place->getType()->getScalarType(), places, so_far));
    for (size_t k = 0; k < arity_; ++k) {
      Value* update = ToKept(emitter_->Emit(windows_.update(k), index_of(updates_.size())), k);
      StoreCompressed(b, update, mask, b.CreateGEP(KeptType(k), values[k], so_far));
    }
    return b.CreateAdd(so_far, CountOf(b, mask));
  }

  // ---- Windows, one after the other.

  void Windows() {
    numbers_.assign(updates_.size(), math_->Constant(0));
    const std::vector<size_t> batch = windows_.BatchDims();
    ForEach(batch, 0, [&] { Window(batch); });
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

  void Window(std::span<const size_t> batch) {
    Builder& b = function_.builder();
    emitter_->Forget();
    Index of_batch;
    for (const size_t d : batch) of_batch.groups.push_back({1, numbers_[d]});
    const ScatterWindows::Start start = windows_.StartOf(*emitter_, *math_, std::move(of_batch));
    start_ = start.numbers;
    llvm::BasicBlock* behind = nullptr;
    if (start.fits != nullptr) {
      llvm::Function* function = b.GetInsertBlock()->getParent();
      auto* inside = llvm::BasicBlock::Create(b.getContext(), "inside", function);
      behind = llvm::BasicBlock::Create(b.getContext(), "behind", function);
      b.CreateCondBr(start.fits, inside, behind);
      b.SetInsertPoint(inside);
    }
    std::vector<size_t> dimensions;
    for (size_t i = 0; i < windows_.dimensions().size(); ++i) {
      dimensions.push_back(windows_.UpdateDim(i));
    }
    if (width_ > 1) dimensions.pop_back();
    ForEach(dimensions, 0, [&] { width_ > 1 ? Row() : Elements(1); });
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
      Elements(width_);
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
      Elements(1);
    });
    has_failed_ |= emitter.has_failed();
    math_ = lanes;
    emitter_ = of_lanes;
  }

  // The elements of the window at hand.
  void Elements(int width) {
    emitter_->Forget();
    Index from, to;
    std::vector<LaneNumber> place = start_;
    for (size_t d = 0; d < updates_.size(); ++d) from.groups.push_back({1, numbers_[d]});
    for (size_t i = 0; i < windows_.dimensions().size(); ++i) {
      LaneNumber& number = place[windows_.dimensions()[i]];
      number = math_->Add(number, numbers_[windows_.UpdateDim(i)]);
    }
    for (const LaneNumber& number : place) to.groups.push_back({1, number});
    std::vector<Value*> updates;
    for (size_t i = 0; i < arity_; ++i) {
      updates.push_back(emitter_->Emit(windows_.update(i), from));
    }
    Combine(math_->Offset(to, whole_).base, updates, width);
  }

  // Elements from number `at` on: read, combined, written back.
  void Combine(Value* at, const std::vector<Value*>& updates, int width) {
    Builder& b = function_.builder();
    std::vector<Value*> arguments;
    for (size_t i = 0; i < arity_; ++i)
      arguments.push_back(function_.Load(TypeOf(i), function_.result(i), at, width));
    arguments.insert(arguments.end(), updates.begin(), updates.end());
    const auto applied =
        kernel_.module.GetComputation(kernel_.module[kernel_.roots[0]], AttributeKey::kToApply);
    const auto results = Applied(b, kernel_.module, applied, arguments);
    has_failed_ |= results.size() != arity_;
    for (size_t i = 0; i < std::min(arity_, results.size()); ++i) {
      function_.Store(results[i], TypeOf(i), function_.result(i), at, width);
    }
  }

  ElementType TypeOf(size_t i) const {
    return kernel_.module.shape(windows_.array(i)).element_type();
  }

  const Kernel& kernel_;
  ScatterWindows windows_;
  size_t arity_;
  std::span<const int64_t> whole_, updates_;
  KernelFunction function_;
  int width_ = 1;
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  std::vector<LaneNumber> numbers_;  // by dimension of the updates
  std::vector<LaneNumber> start_;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitScatter(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return ScatterKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
