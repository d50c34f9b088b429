// Associative reducers as single operations, others as they are.
#include "core/codegen/emit/reducers.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/codegen/emit/complex_elementwise.h"
#include "core/codegen/emit/elementwise.h"
#include "core/compile/ordered_choice.h"
#include "core/hlo/grouping.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using llvm::Value;

namespace {

// Without conversions of f16 and bf16 to f32 and back, between which more is kept.
InstructionId Unconverted(const Module& module, InstructionId id, ElementType narrow) {
  while (module[id].opcode == Opcode::kConvert && IsNarrowFloat(narrow)) {
    const InstructionId from = module.operands(id)[0];
    const ElementType types[] = {module.shape(id).element_type(),
                                 module.shape(from).element_type()};
    for (const ElementType type : types) {
      if (type != narrow && type != WideType(narrow)) return id;
    }
    id = from;
  }
  return id;
}

int64_t ParameterNumber(const Module& module, InstructionId id) {
  return module[id].opcode == Opcode::kParameter
             ? module.GetInt(module[id], AttributeKey::kParameterNumber)
             : -1;
}

// What leaves every number as it is.
llvm::Constant* Identity(Builder& b, Opcode opcode, ElementType type) {
  llvm::Type* in_register = RegisterType(b, type);
  const bool is_float = hlo::IsFloat(type);
  const auto bits = static_cast<unsigned>(in_register->getScalarSizeInBits());
  const bool is_signed = hlo::IsSigned(type);
  if (hlo::IsComplex(type)) {
    llvm::Constant* zero = llvm::ConstantFP::getNegativeZero(RegisterType(b, hlo::RealPart(type)));
    return llvm::cast<llvm::Constant>(FromParts(b, {zero, zero}, type));
  }
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum) {
    const bool is_maximum = opcode == Opcode::kMaximum;
    if (is_float) return llvm::ConstantFP::getInfinity(in_register, is_maximum);
    using llvm::APInt;
    const APInt least = is_signed ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits);
    const APInt most = is_signed ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
    return llvm::ConstantInt::get(in_register, is_maximum ? least : most);
  }
  if (opcode == Opcode::kMultiply) {
    return is_float ? llvm::ConstantFP::get(in_register, 1.0)
                    : llvm::ConstantInt::get(in_register, 1);
  }
  if (opcode == Opcode::kAnd) return llvm::Constant::getAllOnesValue(in_register);
  const bool is_sum = opcode == Opcode::kAdd && is_float;
  return is_sum ? llvm::ConstantFP::getNegativeZero(in_register)
                : llvm::Constant::getNullValue(in_register);
}

Value* Combined(Builder& b, Opcode opcode, Value* x, Value* y, ElementType type) {
  const bool is_float = hlo::IsFloat(type), is_pred = type == ElementType::kPred;
  if (hlo::IsComplex(type)) {
    Value* pair[] = {x, y};
    return ComplexElementwise(b, opcode, pair, type);
  }
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum) {
    return Extreme(b, opcode, x, y, type);
  }
  if (is_float) return opcode == Opcode::kAdd ? b.CreateFAdd(x, y) : b.CreateFMul(x, y);
  if (opcode == Opcode::kAdd && !is_pred) return b.CreateAdd(x, y);
  if (opcode == Opcode::kMultiply && !is_pred) return b.CreateMul(x, y);
  if (opcode == Opcode::kAdd || opcode == Opcode::kOr) return b.CreateOr(x, y);
  const bool is_and = opcode == Opcode::kMultiply || opcode == Opcode::kAnd;
  return is_and ? b.CreateAnd(x, y) : b.CreateXor(x, y);
}

Value* InLanes(Builder& b, Value* x, int width) {
  if (width == 1 || x->getType()->isVectorTy()) return x;
  return b.CreateVectorSplat(static_cast<unsigned>(width), x);
}

}  // namespace

std::optional<Opcode> OnlyOperation(const Module& module, hlo::ComputationId applied, size_t i,
                                    size_t count, ElementType type) {
  InstructionId root = module[applied].root;
  if (module[root].opcode == Opcode::kTuple) root = module.operands(root)[i];
  root = Unconverted(module, root, type);
  const Opcode opcode = module[root].opcode;
  if (!hlo::CombinesInAnyGrouping(opcode, type) || module.operands(root).size() != 2) return {};
  const auto number = [&](size_t operand) {
    return ParameterNumber(module, Unconverted(module, module.operands(root)[operand], type));
  };
  const auto own = static_cast<int64_t>(i), other = static_cast<int64_t>(i + count);
  const bool fits =
      (number(0) == own && number(1) == other) || (number(0) == other && number(1) == own);
  return fits ? std::optional(opcode) : std::nullopt;
}

Reducers::Reducers(const Kernel& kernel) : module_(kernel.module), root_(kernel.roots[0]) {
  for (const InstructionId root : kernel.roots) {
    const auto operands = module_.operands(root);
    const size_t count = operands.size() / 2;
    const auto applied = module_.GetComputation(module_[root], AttributeKey::kToApply);
    reduces_.push_back({applied, arrays_.size(), count});
    for (size_t i = 0; i < count; ++i) {
      const ElementType type = module_.shape(operands[i]).element_type();
      const auto opcode = OnlyOperation(module_, applied, i, count, type);
      associative_ &= opcode.has_value();
      arrays_.push_back(
          {operands[i], operands[count + i], type, type, opcode.value_or(Opcode::kParameter)});
    }
  }
  for (Array& array : arrays_) {
    if (associative_) array.accumulator = WideType(array.type);
  }
}

bool Reducers::AreOrderedChoices() const {
  return std::ranges::all_of(reduces_, [&](const Reduce& reduce) {
    return compile::IsOrderedChoice(module_, reduce.applied);
  });
}

int64_t Reducers::PartialsOf(size_t i, int64_t elements) const {
  int64_t at = 0;
  for (size_t k = 0; k < i; ++k) {
    at += (elements * hlo::StorageBytes(AccumulatorType(k)) + 63) / 64 * 64;
  }
  return at;
}

std::span<const int64_t> Reducers::sizes() const {
  return module_.shape(arrays_[0].input).dimensions();
}
std::span<const int64_t> Reducers::dimensions() const {
  return module_.GetInts(module_[root_], AttributeKey::kDimensions);
}
std::vector<InstructionId> Reducers::inputs() const {
  std::vector<InstructionId> inputs;
  for (const Array& array : arrays_) inputs.push_back(array.input);
  return inputs;
}

Accumulators Reducers::Start(ElementEmitter& emitter, Builder& b, int width) const {
  emitter.Forget();
  Accumulators start;
  for (const Array& array : arrays_) {
    Value* value = associative_ ? Identity(b, array.opcode, array.accumulator)
                                : emitter.EmitScalar(array.initial);
    start.push_back(InLanes(b, value, width));
  }
  return start;
}

void Reducers::FixInitial(ElementEmitter& emitter) const {
  for (const Array& array : arrays_) emitter.Fix(array.initial, emitter.EmitScalar(array.initial));
}

Accumulators Reducers::Elements(ElementEmitter& emitter, Builder& b, const Index& index,
                                int width) const {
  emitter.Forget();
  Accumulators elements;
  for (const Array& array : arrays_) {
    Value* value = emitter.Emit(array.input, index);
    if (array.accumulator != array.type) value = Widened(b, value, array.type);
    elements.push_back(InLanes(b, value, width));
  }
  return elements;
}

Value* Reducers::AsAccumulator(Builder& b, Value* element, int width) const {
  const Array& array = arrays_[0];
  if (array.accumulator != array.type) element = Widened(b, element, array.type);
  return InLanes(b, element, width);
}

Accumulators Reducers::Combine(Builder& b, const Accumulators& left,
                               const Accumulators& right) const {
  Accumulators out;
  if (associative_) {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      out.push_back(Combined(b, arrays_[i].opcode, left[i], right[i], arrays_[i].accumulator));
    }
    return out;
  }
  for (const Reduce& reduce : reduces_) {
    const auto first = static_cast<ptrdiff_t>(reduce.first);
    const auto count = static_cast<ptrdiff_t>(reduce.count);
    Accumulators arguments(left.begin() + first, left.begin() + first + count);
    arguments.insert(arguments.end(), right.begin() + first, right.begin() + first + count);
    const auto results = Applied(b, module_, reduce.applied, arguments);
    if (results.size() != reduce.count) return {};
    out.insert(out.end(), results.begin(), results.end());
  }
  // A result that depends on no lane is the same in all.
  for (size_t i = 0; i < out.size(); ++i) {
    if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(left[i]->getType())) {
      out[i] = InLanes(b, out[i], static_cast<int>(type->getNumElements()));
    }
  }
  return out;
}

Accumulators Reducers::CombineLanes(Builder& b, Accumulators vectors) const {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vectors[0]->getType());
  if (type == nullptr) return vectors;
  for (int half = static_cast<int>(type->getNumElements()) / 2; half > 0; half /= 2) {
    std::vector<int> low(static_cast<size_t>(half));
    std::iota(low.begin(), low.end(), 0);
    std::vector<int> high = low;
    for (int& lane : high) lane += half;
    Accumulators left, right;
    for (Value* vector : vectors) {
      left.push_back(b.CreateShuffleVector(vector, low));
      right.push_back(b.CreateShuffleVector(vector, high));
    }
    vectors = Combine(b, left, right);
  }
  for (Value*& vector : vectors) vector = b.CreateExtractElement(vector, uint64_t{0});
  return vectors;
}

Accumulators Reducers::Results(ElementEmitter& emitter, Builder& b, Accumulators values) const {
  if (!associative_) return values;
  emitter.Forget();
  Accumulators initial;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    Value* value = emitter.EmitScalar(arrays_[i].initial);
    if (arrays_[i].accumulator != arrays_[i].type) value = Widened(b, value, arrays_[i].type);
    if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(values[i]->getType())) {
      value = InLanes(b, value, static_cast<int>(type->getNumElements()));
    }
    initial.push_back(value);
  }
  values = Combine(b, initial, values);
  for (size_t i = 0; i < arrays_.size(); ++i) {
    if (arrays_[i].accumulator != arrays_[i].type) {
      values[i] = Rounded(b, values[i], arrays_[i].type);
    }
  }
  return values;
}

Slots::Slots(Builder& b, const Reducers& reducers, int width, int64_t count) : b_(b) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at(&entry, entry.begin());
  for (size_t i = 0; i < reducers.count(); ++i) {
    const ElementType element = reducers.AccumulatorType(i);
    llvm::Type* type = MemoryType(b, element);
    if (width > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(width));
    auto* room = at.CreateAlloca(type, at.getInt64(static_cast<uint64_t>(count)));
    room->setAlignment(llvm::Align(64));
    rooms_.push_back({element, type, room});
  }
}

Accumulators Slots::Load(Value* slot) const {
  Accumulators values;
  for (const Room& room : rooms_) {
    Value* value = b_.CreateLoad(room.type, b_.CreateGEP(room.type, room.address, slot));
    values.push_back(FromMemory(b_, value, room.element));
  }
  return values;
}

void Slots::Save(Value* slot, const Accumulators& values) const {
  for (size_t i = 0; i < rooms_.size(); ++i) {
    b_.CreateStore(ToMemory(b_, values[i], rooms_[i].element),
                   b_.CreateGEP(rooms_[i].type, rooms_[i].address, slot));
  }
}

}  // namespace hloscope::codegen
