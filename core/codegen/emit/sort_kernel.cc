// Kernels that sort lines of arrays, or take the first elements of sorted ones (topk). Keys are
// computed in vectors where the comparator compares such; any other comparator becomes a function.
// The order is the runtime's work.
#include <algorithm>

#include "core/codegen/emit/elementwise.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/sort_form.h"
#include "core/codegen/math/small_floats.h"
#include "core/linking/runtime/sort.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

// Grains have scratch memory each: there are no more of them than that.
constexpr int64_t kMaxSortGrains = 64;
constexpr int64_t kLongest = int64_t{1} << 32;
constexpr int kWordBits = 64, kEntryKeyBits = 32;

class SortKernel {
 public:
  SortKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : module_(module),
        kernel_(kernel),
        name_(name),
        sort_(kernel.roots[0]),
        operands_(kernel.module.operands(sort_)),
        function_(module, kernel, name, -1),
        sizes_(kernel.module.shape(operands_[0]).dimensions()),
        dimension_(sizes_.size() - 1) {
    const hlo::Instruction& root = kernel.module[sort_];
    if (root.opcode == hlo::Opcode::kTopK) {
      const bool is_largest = kernel.module.GetBool(root, AttributeKey::kLargest, true);
      keys_.push_back({operands_[0], is_largest, true});
      taken_ = kernel.module.shape(sort_).elements()[0].dimensions().back();
    } else {
      comparator_ = kernel.module.GetComputation(root, AttributeKey::kToApply);
      dimension_ = static_cast<size_t>(kernel.module.GetInts(root, AttributeKey::kDimensions)[0]);
      if (auto keys = SortFormOf(kernel.module, sort_)) keys_ = *std::move(keys);
    }
    length_ = sizes_[dimension_];
    outer_ = ProductOf(sizes_.first(dimension_));
    stride_ = ProductOf(sizes_.subspan(dimension_ + 1));
    PackKeys();
    width_ = LanesAlong(kernel, length_);
  }

  EmittedKernel Emit() {
    const int64_t lines = outer_ * stride_;
    const int64_t line_bytes = length_ * BytesPerElement(kernel_, ProductOf(sizes_));
    const int64_t per_grain = std::clamp<int64_t>(
        std::max((lines - 1) / kMaxSortGrains + 1, kGrainBytes / line_bytes), 1, lines);
    const int64_t scratch =
        (hloscope_sort_scratch_bytes(length_, static_cast<int32_t>(KeyWords())) + 63) / 64 * 64;
    EmittedKernel out;
    out.code.name = name_;
    out.code.grains = (lines - 1) / per_grain + 1;
    out.code.grain_bytes = per_grain * line_bytes;
    out.code.scratch_bytes = out.code.grains * scratch;
    out.code.in_place.assign(taken_ > 0 ? 2 : operands_.size(), -1);
    llvm::Constant* form = Form();
    llvm::Function* less = keys_.empty() ? EmitLess() : nullptr;
    Builder& b = function_.builder();
    function_.Loop(function_.begin(), function_.end(), 1, [&](Value* grain) {
      Value* room = b.CreateGEP(b.getInt8Ty(), function_.scratch(),
                                b.CreateMul(grain, function_.Int(scratch)));
      Value* from = b.CreateMul(grain, function_.Int(per_grain));
      Value* to =
          function_.Smaller(b.CreateAdd(from, function_.Int(per_grain)), function_.Int(lines));
      function_.Loop(from, to, 1, [&](Value* line) { Line(line, room, form, less); });
    });
    function_.Finish();
    out.is_complete = !has_failed_ && length_ < kLongest;
    return out;
  }

 private:
  // Where a key stands: bits [shift, shift + bits) of a word, counted from the least significant.
  struct Place {
    int word = 0, shift = 0, bits = 0;
  };

  ElementType TypeOf(InstructionId id) const { return kernel_.module.shape(id).element_type(); }
  static bool IsSmallFloat(ElementType type) {
    return hlo::IsFloat(type) && hlo::BitWidth(type) < 16;
  }
  int KeyBits(const SortKey& key) const {
    const ElementType type = TypeOf(key.value);
    return IsSmallFloat(type) ? 16 : std::max(8, hlo::BitWidth(type));
  }

  // The first key goes into the most significant bits of the first word.
  void PackKeys() {
    int all = 0;
    for (const SortKey& key : keys_) all += KeyBits(key);
    is_entry_ = !keys_.empty() && all <= kEntryKeyBits;
    const int most = is_entry_ ? kEntryKeyBits : kWordBits;
    int word = 0, left = most;
    for (const SortKey& key : keys_) {
      const int bits = KeyBits(key);
      if (bits > left) {
        ++word;
        left = most;
      }
      left -= bits;
      places_.push_back({word, left + (is_entry_ ? kEntryKeyBits : 0), bits});
    }
    words_ = keys_.empty() ? 0 : word + 1;
  }
  int KeyWords() const { return is_entry_ ? 0 : words_; }

  // HloscopeSort, as a constant.
  llvm::Constant* Form() {
    Builder& b = function_.builder();
    std::vector<llvm::Constant*> bytes;
    for (const InstructionId operand : operands_) {
      bytes.push_back(b.getInt32(static_cast<uint32_t>(hlo::StorageBytes(TypeOf(operand)))));
    }
    auto* list =
        llvm::ConstantArray::get(llvm::ArrayType::get(b.getInt32Ty(), bytes.size()), bytes);
    auto* form = llvm::ConstantStruct::getAnon(
        {b.getInt64(static_cast<uint64_t>(length_)), b.getInt64(static_cast<uint64_t>(stride_)),
         b.getInt32(static_cast<uint32_t>(KeyWords())),
         b.getInt32(static_cast<uint32_t>(bytes.size())), Global(list),
         b.getInt64(static_cast<uint64_t>(taken_))});
    return Global(form);
  }
  llvm::GlobalVariable* Global(llvm::Constant* value) {
    return new llvm::GlobalVariable(module_, value->getType(), true,
                                    llvm::GlobalValue::PrivateLinkage, value, name_ + "_form");
  }

  // bool less(operands, a, b)
  llvm::Function* EmitLess() {
    llvm::LLVMContext& context = module_.getContext();
    Builder b(context);
    auto* type = llvm::FunctionType::get(b.getInt1Ty(),
                                         {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
    auto* less =
        llvm::Function::Create(type, llvm::Function::InternalLinkage, name_ + "_less", module_);
    less->setDoesNotThrow();
    less->addRetAttr(llvm::Attribute::ZExt);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", less));
    std::vector<Value*> arguments;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const ElementType element = TypeOf(operands_[k]);
      Value* array =
          b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), less->getArg(0), k));
      for (const unsigned side : {1u, 2u}) {
        Value* at = b.CreateGEP(MemoryType(b, element), array, less->getArg(side));
        arguments.push_back(FromMemory(b, b.CreateLoad(MemoryType(b, element), at), element));
      }
    }
    const auto results = Applied(b, kernel_.module, comparator_, arguments);
    has_failed_ |= results.empty();
    b.CreateRet(results.empty() ? b.getFalse() : results[0]);
    return less;
  }

  void Line(Value* line, Value* room, llvm::Constant* form, llvm::Function* less) {
    Builder& b = function_.builder();
    Value* outer = b.CreateUDiv(line, function_.Int(stride_));
    Value* inner = b.CreateURem(line, function_.Int(stride_));
    Value* base = b.CreateAdd(b.CreateMul(outer, function_.Int(length_ * stride_)), inner);
    Value* arguments[] = {form, function_.operands(), function_.results(), room, base};
    std::vector<Value*> all(std::begin(arguments), std::end(arguments));
    if (less != nullptr) {
      all.insert(all.begin() + 1, less);
    } else {
      function_.Loop(function_.Int(0), function_.Int(length_), width_,
                     [&](Value* i) { Keys(outer, inner, i, room); });
    }
    std::vector<llvm::Type*> types;
    for (Value* each : all) types.push_back(each->getType());
    const char* runs = less != nullptr ? "hloscope_sort_by_less"
                       : taken_ > 0    ? "hloscope_topk_by_keys"
                                       : "hloscope_sort_by_keys";
    b.CreateCall(
        module_.getOrInsertFunction(runs, llvm::FunctionType::get(b.getVoidTy(), types, false)),
        all);
  }

  // Writes the words, or the entries, of a vector of elements.
  void Keys(Value* outer, Value* inner, Value* i, Value* room) {
    Builder& b = function_.builder();
    IndexMath math(b, width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    Value* at = function_.Smaller(i, function_.Int(length_ - width_));
    const LaneNumber lanes = LanesFrom(at, width_);
    Index index;
    if (dimension_ > 0) index.groups.push_back({dimension_, math.FromScalar(outer)});
    index.groups.push_back({1, lanes});
    if (const size_t behind = sizes_.size() - dimension_ - 1; behind > 0) {
      index.groups.push_back({behind, math.FromScalar(inner)});
    }
    std::vector<Value*> arguments;
    for (const InstructionId operand : operands_) {
      arguments.insert(arguments.end(), 2, emitter.Emit(operand, index));
    }
    std::vector<InstructionId> wanted;
    for (const SortKey& key : keys_) wanted.push_back(key.value);
    const std::vector<Value*> values =
        taken_ > 0 ? std::vector{arguments[0]}
                   : Applied(b, kernel_.module, comparator_, arguments, wanted);
    has_failed_ |= emitter.has_failed() || values.empty();
    if (has_failed_) return;
    std::vector<Value*> words(static_cast<size_t>(words_), nullptr);
    for (size_t k = 0; k < keys_.size(); ++k) {
      Value* key = Widened64(Unsigned(values[k], keys_[k]));
      key = b.CreateShl(key, IntegerLike(key, places_[k].shift));
      Value*& word = words[static_cast<size_t>(places_[k].word)];
      word = word == nullptr ? key : b.CreateOr(word, key);
    }
    if (is_entry_) words[0] = b.CreateOr(words[0], Widened64(math.Vector(lanes)));
    for (size_t w = 0; w < words.size(); ++w) {
      Value* place = b.CreateAdd(at, function_.Int(static_cast<int64_t>(w) * length_));
      function_.Store(words[w], ElementType::kU64, room, place, width_);
    }
  }

  // In all lanes, as unsigned 64 bits.
  Value* Widened64(Value* x) {
    Builder& b = function_.builder();
    if (width_ > 1 && !x->getType()->isVectorTy()) {
      x = b.CreateVectorSplat(static_cast<unsigned>(width_), x);
    }
    return b.CreateZExt(x, LanesLike(x, b.getInt64Ty()));
  }

  // The key as an unsigned integer of the same order.
  Value* Unsigned(Value* x, const SortKey& key) {
    Builder& b = function_.builder();
    const ElementType type = TypeOf(key.value);
    if (type == ElementType::kPred) x = b.CreateZExt(x, LanesLike(x, b.getInt8Ty()));
    if (hlo::IsFloat(type)) {
      if (!key.is_total_order) x = WithoutSigns(x, type);
      x = IsSmallFloat(type)
              ? b.CreateTrunc(SmallTotalOrderKey(b, x, type), LanesLike(x, b.getInt16Ty()))
              : TotalOrderKey(b, x);
    }
    if (hlo::IsFloat(type) || hlo::IsSigned(type)) {
      const unsigned bits = x->getType()->getScalarSizeInBits();
      x = b.CreateXor(x,
                      llvm::ConstantInt::get(x->getType(), llvm::APInt::getSignedMinValue(bits)));
    }
    return key.is_descending ? b.CreateNot(x) : x;
  }
  // -0 as 0.
  Value* WithoutSigns(Value* x, ElementType type) {
    Builder& b = function_.builder();
    Value* bits = BitsOf(b, x);
    Value* zero = llvm::Constant::getNullValue(LanesLike(x, RegisterType(b, WideType(type))));
    Value* negative = BitsOf(b, Rounded(b, b.CreateFNeg(zero), type));
    return b.CreateSelect(b.CreateICmpEQ(bits, negative), IntegerLike(bits, 0), bits);
  }

  llvm::Module& module_;
  const Kernel& kernel_;
  std::string name_;
  InstructionId sort_;
  std::span<const InstructionId> operands_;
  hlo::ComputationId comparator_;  // of a sort
  KernelFunction function_;
  std::span<const int64_t> sizes_;
  size_t dimension_;
  int64_t length_ = 1, outer_ = 1, stride_ = 1;
  int64_t taken_ = 0;          // of a topk
  std::vector<SortKey> keys_;  // none: the comparator is called
  std::vector<Place> places_;  // by key
  bool is_entry_ = false;      // keys and places share entries
  int words_ = 0;
  int width_ = 1;
  bool has_failed_ = false;
};

}  // namespace

EmittedKernel EmitSort(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return SortKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
