// Kernels of rng-bit-generator: ThreeFry 2x32 and Philox 4x32, a counter for each lane, bit by bit
// as XLA has them (core/eval/numbers/random_bits.h). A grain is a range of counters.
#include <algorithm>
#include <array>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using llvm::Value;

namespace {

constexpr int kMaxWidth = 16;             // counters at a time
constexpr int64_t kGrain = 1 << 12;       // counters
constexpr int64_t kBytesPerCounter = 64;  // what one is worth, as memory that is read and written

using Words = std::vector<Value*>;  // of i32, by lane

// Pairs of elements share a counter: neighbours along the first even dimension, or, where there is
// none, along the largest one, whose last then stands alone.
struct Pairs {
  int64_t size = 1, half = 1, inner = 1, outer = 1;

  explicit Pairs(std::span<const int64_t> sizes) {
    if (sizes.empty()) return;
    const auto even = std::ranges::find_if(sizes, [](int64_t n) { return n % 2 == 0; });
    const auto at = even != sizes.end() ? even : std::ranges::max_element(sizes);
    const auto d = static_cast<size_t>(at - sizes.begin());
    size = sizes[d];
    half = (size + 1) / 2;
    outer = ProductOf(sizes.first(d));
    inner = ProductOf(sizes.subspan(d + 1));
  }
};

class RandomKernel {
 public:
  RandomKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : name_(name),
        width_(kernel.is_for_gpu() ? 1 : kMaxWidth),
        grain_(GrainLimit(kernel, kGrain)),
        function_(module, kernel, name, -1),
        b_(function_.builder()),
        shape_(kernel.module.shape(kernel.roots[0]).elements()[1]),
        type_(shape_.element_type()),
        count_(ProductOf(shape_.dimensions())),
        state_words_(ProductOf(
            kernel.module.shape(kernel.module.operands(kernel.roots[0])[0]).dimensions())),
        pairs_(shape_.dimensions()) {
    is_threefry_ =
        kernel.module.GetInt(kernel.module[kernel.roots[0]], AttributeKey::kRngAlgorithm) ==
        static_cast<int64_t>(hlo::RandomAlgorithm::kThreeFry);
    is_wide_ = hlo::BitWidth(type_) == 64;
    if (is_threefry_) {
      counters_ = is_wide_ ? count_ : pairs_.outer * pairs_.half * pairs_.inner;
    } else {
      counters_ = (count_ * (is_wide_ ? 2 : 1) + 3) / 4;
    }
    state_ = function_.Arrays().at(kernel.parameters[0].index).address;
  }

  EmittedKernel Emit() {
    EmittedKernel out = InGrains(name_, counters_, grain_, kBytesPerCounter, 2);
    for (int64_t i = 0; i < state_words_; ++i) words_.push_back(LoadState(i));
    key_ = {b_.CreateTrunc(words_[0], b_.getInt32Ty()),
            b_.CreateTrunc(b_.CreateLShr(words_[0], 32), b_.getInt32Ty())};
    Value* is_first = b_.CreateICmpEQ(function_.begin(), Int(0));
    function_.Loop(Int(0), b_.CreateZExt(is_first, b_.getInt64Ty()), 1,
                   [&](Value*) { StoreState(); });
    function_.ForUnits(
        counters_, grain_, [&](Value* first) { is_threefry_ ? ThreeFry(first) : Philox(first); },
        width_);
    function_.Finish();
    out.is_complete = true;
    return out;
  }

 private:
  Value* Int(int64_t value) { return function_.Int(value); }
  llvm::Type* Lanes(llvm::Type* type) const {
    return llvm::FixedVectorType::get(type, static_cast<unsigned>(width_));
  }
  Value* Splat(Value* x) { return b_.CreateVectorSplat(static_cast<unsigned>(width_), x); }
  Value* Word(uint32_t value) { return Splat(b_.getInt32(value)); }

  Value* LoadState(int64_t i) {
    return b_.CreateAlignedLoad(b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), state_, Int(i)),
                                llvm::Align(8));
  }
  // The state behind all counters.
  void StoreState() {
    std::vector<Value*> next = words_;
    next[1] = b_.CreateAdd(words_[1], Int(counters_));
    if (!is_threefry_ && next.size() == 3) {
      Value* carry = b_.CreateICmpULT(next[1], words_[1]);
      next[2] = b_.CreateAdd(words_[2], b_.CreateZExt(carry, b_.getInt64Ty()));
    }
    for (size_t i = 0; i < next.size(); ++i) {
      function_.Store(next[i], ElementType::kU64, function_.result(0), Int(static_cast<int64_t>(i)),
                      1);
    }
  }

  // first, first + 1, …
  Value* Numbers(Value* first) {
    std::vector<llvm::Constant*> lanes;
    for (int i = 0; i < width_; ++i) lanes.push_back(b_.getInt64(static_cast<uint64_t>(i)));
    return b_.CreateAdd(Splat(first), llvm::ConstantVector::get(lanes));
  }
  Value* Low(Value* x) { return b_.CreateTrunc(x, Lanes(b_.getInt32Ty())); }
  Value* High(Value* x) { return Low(b_.CreateLShr(x, llvm::ConstantInt::get(x->getType(), 32))); }
  Value* Whole(Value* low, Value* high) {
    llvm::Type* wide = Lanes(b_.getInt64Ty());
    Value* upper = b_.CreateShl(b_.CreateZExt(high, wide), llvm::ConstantInt::get(wide, 32));
    return b_.CreateOr(b_.CreateZExt(low, wide), upper);
  }

  void ThreeFry(Value* first) {
    Value* counter = b_.CreateAdd(Numbers(first), Splat(words_[1]));
    Value *x = Low(counter), *y = High(counter);
    constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Value* mixed = b_.CreateXor(b_.CreateXor(key_[0], key_[1]), b_.getInt32(0x1bd11bda));
    Value* keys[] = {Splat(key_[0]), Splat(key_[1]), Splat(mixed)};
    x = b_.CreateAdd(x, keys[0]);
    y = b_.CreateAdd(y, keys[1]);
    for (uint32_t group = 0; group < 5; ++group) {
      for (const uint32_t rotation : kRotations[group % 2]) {
        x = b_.CreateAdd(x, y);
        y = b_.CreateXor(Call(b_, llvm::Intrinsic::fshl, {y, y, Word(rotation)}), x);
      }
      x = b_.CreateAdd(x, keys[(group + 1) % 3]);
      y = b_.CreateAdd(b_.CreateAdd(y, keys[(group + 2) % 3]), Word(group + 1));
    }
    if (is_wide_) return StoreInTurn({Whole(x, y)}, first);
    if (pairs_.inner == 1 && pairs_.size % 2 == 0) return StoreInTurn({x, y}, first);
    StorePairs(first, x, y);
  }

  void Philox(Value* first) {
    Value* low = b_.CreateAdd(Numbers(first), Splat(words_[1]));
    Value* carry = b_.CreateZExt(b_.CreateICmpULT(low, Splat(words_[1])), low->getType());
    Value* high = b_.CreateAdd(Splat(words_.size() == 3 ? words_[2] : words_[0]), carry);
    Words c = {Low(low), High(low), Low(high), High(high)};
    Value *key0 = key_[0], *key1 = key_[1];
    llvm::Type* wide = Lanes(b_.getInt64Ty());
    for (int round = 0; round < 10; ++round) {
      Value* a = b_.CreateMul(b_.CreateZExt(c[0], wide), llvm::ConstantInt::get(wide, 0xd2511f53));
      Value* d = b_.CreateMul(b_.CreateZExt(c[2], wide), llvm::ConstantInt::get(wide, 0xcd9e8d57));
      c = {b_.CreateXor(b_.CreateXor(High(d), c[1]), Splat(key0)), Low(d),
           b_.CreateXor(b_.CreateXor(High(a), c[3]), Splat(key1)), Low(a)};
      key0 = b_.CreateAdd(key0, b_.getInt32(0x9e3779b9));
      key1 = b_.CreateAdd(key1, b_.getInt32(0xbb67ae85));
    }
    if (is_wide_) return StoreInTurn({Whole(c[0], c[1]), Whole(c[2], c[3])}, first);
    StoreInTurn(c, first);
  }

  // As elements in memory: the low bits of each.
  Value* AsElements(Value* words) {
    const bool is_narrow = hlo::IsInteger(type_) && hlo::BitWidth(type_) < 8;
    const int bits = is_narrow ? hlo::BitWidth(type_) : 8 * hlo::StorageBytes(type_);
    const auto lanes = llvm::cast<llvm::FixedVectorType>(words->getType())->getNumElements();
    const auto of = [&](int width) {
      return llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(width)), lanes);
    };
    Value* low = b_.CreateTrunc(words, of(bits));
    return is_narrow ? b_.CreateIntCast(low, of(8), hlo::IsSigned(type_)) : low;
  }
  llvm::Type* ElementInMemory() {
    return b_.getIntNTy(static_cast<unsigned>(8 * hlo::StorageBytes(type_)));
  }
  llvm::Align ElementAlign() const {
    return llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(type_)));
  }

  // The numbers of each counter one behind the other, as far as there are elements.
  void StoreInTurn(Words numbers, Value* first) {
    const auto per_counter = static_cast<int64_t>(numbers.size());
    while (numbers.size() > 1) {
      Words joined;
      const auto lanes = static_cast<int>(
          llvm::cast<llvm::FixedVectorType>(numbers[0]->getType())->getNumElements());
      // Number i of `numbers` meets number i of the second half.
      const size_t half = numbers.size() / 2;
      for (size_t i = 0; i < half; ++i) {
        std::vector<int> order;
        for (int lane = 0; lane < lanes; ++lane) {
          order.push_back(lane);
          order.push_back(lanes + lane);
        }
        joined.push_back(b_.CreateShuffleVector(numbers[i], numbers[i + half], order));
      }
      numbers = std::move(joined);
    }
    Value* elements = AsElements(numbers[0]);
    auto* type = llvm::cast<llvm::FixedVectorType>(elements->getType());
    Value* at = b_.CreateMul(first, Int(per_counter));
    std::vector<llvm::Constant*> lanes;
    for (unsigned i = 0; i < type->getNumElements(); ++i) lanes.push_back(b_.getInt64(i));
    Value* left = b_.CreateVectorSplat(type->getNumElements(), b_.CreateSub(Int(count_), at));
    Value* mask = b_.CreateICmpSLT(llvm::ConstantVector::get(lanes), left);
    b_.CreateMaskedStore(elements, b_.CreateGEP(ElementInMemory(), function_.result(1), at),
                         ElementAlign(), mask);
  }

  void StorePairs(Value* first, Value* x, Value* y) {
    Value* number = Numbers(first);
    const auto constant = [&](int64_t value) { return IntegerLike(number, value); };
    Value* in_row = b_.CreateURem(number, constant(pairs_.inner));
    Value* row = b_.CreateUDiv(number, constant(pairs_.inner));
    Value* pair = b_.CreateMul(b_.CreateURem(row, constant(pairs_.half)), constant(2));
    row = b_.CreateMul(b_.CreateUDiv(row, constant(pairs_.half)), constant(pairs_.size));
    Value* at = b_.CreateMul(b_.CreateAdd(row, pair), constant(pairs_.inner));
    at = b_.CreateAdd(at, in_row);
    Value* is_there = b_.CreateICmpULT(number, constant(counters_));
    const auto store = [&](Value* words, Value* place, Value* mask) {
      b_.CreateMaskedScatter(AsElements(words),
                             b_.CreateGEP(ElementInMemory(), function_.result(1), place),
                             ElementAlign(), mask);
    };
    store(x, at, is_there);
    Value* has_second = b_.CreateICmpULT(b_.CreateAdd(pair, constant(1)), constant(pairs_.size));
    store(y, b_.CreateAdd(at, constant(pairs_.inner)), b_.CreateAnd(is_there, has_second));
  }

  const std::string& name_;
  int width_;
  int64_t grain_;
  KernelFunction function_;
  Builder& b_;
  const hlo::Shape& shape_;
  ElementType type_;
  int64_t count_, state_words_, counters_ = 1;
  Pairs pairs_;
  bool is_threefry_ = false, is_wide_ = false;
  Value* state_ = nullptr;
  std::vector<Value*> words_;  // of the state
  std::array<Value*, 2> key_ = {};
};

}  // namespace

EmittedKernel EmitRandomBits(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return RandomKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
