// Every instruction's shape against what its operands and attributes give (XLA: ShapeVerifier),
// operand counts, and the ban on implicit broadcasts.
#include <array>

#include "core/hlo/shape_inference.h"
#include "core/hlo/verify_context.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;
using std::to_string;

// Instructions without attributes of their own repeat the same shapes over and over: those found
// good are remembered.
class GoodShapes {
 public:
  struct Key {
    Opcode opcode = kParameter;
    uint8_t operand_count = 0xff;
    uint32_t result = 0;
    std::array<uint32_t, 3> operands{};
    bool operator==(const Key&) const = default;
  };
  Key& Slot(const Key& key) {
    uint64_t h = static_cast<uint64_t>(key.opcode) + (uint64_t{key.result} << 8);
    for (uint32_t o : key.operands) h = (h ^ o) * 0x9e3779b97f4a7c15u;
    return slots_[(h ^ h >> 29) % kSlots];
  }

 private:
  static constexpr size_t kSlots = 4096;
  std::vector<Key> slots_{kSlots};
};

// The opcodes that hand data on without touching it: bf16 and f32 are never the same for them.
bool HandsOn(Opcode opcode) {
  switch (opcode) {
    case kBitcast:
    case kCall:
    case kConditional:
    case kConstant:
    case kCopyDone:
    case kCopyStart:
    case kCustomCall:
    case kGetTupleElement:
    case kInfeed:
    case kOutfeed:
    case kParameter:
    case kOptimizationBarrier:
    case kRecv:
    case kRecvDone:
    case kSend:
    case kSendDone:
    case kTuple:
    case kWhile:
    case kDynamicUpdateSlice:
      return true;
    default:
      return false;
  }
}

// Opcodes that may mix float types even where mixed precision is not allowed.
bool MayMixFloats(Opcode opcode) {
  if (HandsOn(opcode) && opcode != kDynamicUpdateSlice) return true;
  switch (opcode) {
    case kConvolution:
    case kDot:
    case kRaggedDot:
    case kScaledDot:
    case kAllReduce:
    case kAllReduceStart:
    case kAllReduceDone:
    case kAllGather:
    case kAllGatherStart:
    case kAllGatherDone:
    case kAsyncDone:
    case kAsyncUpdate:
    case kAsyncStart:
    case kCollectivePermute:
    case kCollectivePermuteStart:
    case kCollectivePermuteDone:
    case kDomain:
    case kFusion:
    case kReducePrecision:
    case kReduceWindow:
    case kSort:
      return true;
    default:
      return false;
  }
}

// One result element per operand element: operands have the result's dimensions.
bool IsElementwise(const OpcodeInfo& info) {
  using enum ShapeRule;
  switch (info.shape_rule) {
    case kUnary:
    case kBinary:
    case kCompare:
    case kComplex:
    case kRealImag:
    case kIsFinite:
    case kConvert:
    case kReducePrecision:
    case kStochasticConvert:
      return true;
    default:
      return false;
  }
}

class ShapePass {
 public:
  explicit ShapePass(VerifyContext& context) : context_(context), module_(context.module()) {}

  void Check(InstructionId id) {
    const Instruction& i = module_[id];
    if (!CheckOwnShape(id)) return;
    const OpcodeInfo& info = Info(i.opcode);
    if (info.arity >= 0 && static_cast<size_t>(info.arity) != i.operand_count) {
      context_.Error(id, "operand-count",
                     context_.Name(id) + ": " + std::string(info.text) + " takes " +
                         to_string(info.arity) + " operands, has " + to_string(i.operand_count));
      return;
    }
    auto attributes = module_.attributes(i);
    bool plain = (attributes.empty() || IsCommon(attributes[0].key)) && i.operand_count <= 3;
    if (!plain) {
      CheckByRule(id, info);
      return;
    }
    GoodShapes::Key key = KeyOf(i);
    GoodShapes::Key& slot = good_.Slot(key);
    if (slot == key) return;
    size_t before = context_.error_count();
    bool clean = CheckByRule(id, info);
    if (clean && before == context_.error_count()) slot = key;
  }

 private:
  GoodShapes::Key KeyOf(const Instruction& i) const {
    GoodShapes::Key key{i.opcode, static_cast<uint8_t>(i.operand_count), i.shape.index, {}};
    auto operands = module_.operands(i);
    for (size_t o = 0; o < operands.size(); ++o) key.operands[o] = module_[operands[o]].shape.index;
    return key;
  }

  bool CheckOwnShape(InstructionId id) {
    uint8_t facts = context_.shape_facts(module_[id].shape);
    if ((facts & (kShapeBadLayout | kShapeBadDimension | kShapeUnbounded | kShapeOverflow)) == 0) {
      return true;
    }
    std::string what = context_.Name(id) + " is " + context_.Text(module_.shape(id), true);
    if ((facts & kShapeBadLayout) != 0) {
      context_.Error(id, "layout", what + ": minor_to_major must name each dimension exactly once");
    } else if ((facts & kShapeBadDimension) != 0) {
      context_.Error(id, "dimension-size", what + ": a dimension has a negative size");
    } else if ((facts & kShapeUnbounded) != 0) {
      context_.Error(id, "unbounded-dynamic",
                     what + ": unbounded dimensions, `?`, are not allowed here",
                     "give a bound, `<=N`");
    } else {
      context_.Error(id, "size-overflow", what + ": its size in bytes exceeds 63 bits");
    }
    return false;
  }

  // False if something not counted as an error was found.
  bool CheckByRule(InstructionId id, const OpcodeInfo& info) {
    const Instruction& i = module_[id];
    auto operands = module_.operands(i);
    switch (i.opcode) {
      case kAsyncStart:
      case kAsyncUpdate:
      case kAsyncDone:  // VerifyAsync
      case kCall:
      case kWhile:
      case kConditional:
      case kFusion:  // VerifyControl, VerifyFusions
      case kParameter:
      case kCustomCall:
        return true;
      case kTuple:
        return CheckTuple(id);
      case kGetTupleElement:
        return CheckGetTupleElement(id);
      case kCopy:
      case kOptimizationBarrier:
      case kDomain:
      case kAllReduceDone:
      case kShuffle:
        return Compare(id, module_.shape(operands[0]));
      default:
        break;
    }
    if (info.shape_rule == ShapeRule::kGiven) {
      VerifyGivenShape(context_, id);
      return true;
    }
    operand_shapes_.clear();
    for (InstructionId o : operands) operand_shapes_.push_back(&module_.shape(o));
    if (!CheckTokens(id)) return false;
    InferenceInput input{module_, i.opcode, operand_shapes_, module_.attributes(i),
                         &module_.shape(id)};
    input.programs = &programs_;
    auto inferred = InferShape(input);
    if (!inferred.has_value()) {
      context_.Error(id, info.text, context_.Name(id) + ": " + inferred.error().message,
                     inferred.error().hint);
      return false;
    }
    if (!Compare(id, *inferred)) return false;
    if (IsElementwise(info) && !CheckNoBroadcast(id)) return false;
    return i.opcode != Opcode::kCompare || CheckComparison(id);
  }

  bool Compare(InstructionId id, const Shape& expected) {
    const Shape& actual = module_.shape(id);
    bool clean = CheckMixedOperands(id);
    if (SameShape(actual, expected)) return clean;
    if (!HandsOn(module_[id].opcode) && SameShapeAnyPrecision(actual, expected)) {
      context_.Strict(id, "mixed-precision",
                      context_.Name(id) + " is " + context_.Text(actual) + ", inferred " +
                          context_.Text(expected),
                      "insert a convert");
      return false;
    }
    context_.Error(id, "shape-mismatch",
                   context_.Name(id) + " is " + context_.Text(actual) + ", inferred " +
                       context_.Text(expected));
    return false;
  }

  bool CheckMixedOperands(InstructionId id) {
    const Instruction& i = module_[id];
    if (i.operand_count < 2 || MayMixFloats(i.opcode)) return true;
    ElementType seen = ElementType::kInvalid;
    bool mixed = false;
    for (InstructionId o : module_.operands(i)) {
      ForEachSubshape(module_.shape(o), [&](const Shape& part, std::span<const int64_t>) {
        if (!IsFloat(part.element_type())) return;
        if (seen == ElementType::kInvalid) seen = part.element_type();
        mixed |= seen != part.element_type();
      });
    }
    if (!mixed) return true;
    context_.Strict(id, "mixed-precision",
                    context_.Name(id) + ": " + std::string(ToString(i.opcode)) +
                        " has operands of different floating-point types",
                    "insert a convert");
    return false;
  }

  bool CheckTuple(InstructionId id) {
    const Shape& shape = module_.shape(id);
    auto operands = module_.operands(id);
    if (!shape.IsTuple() || shape.elements().size() != operands.size()) {
      context_.Error(id, "shape-mismatch",
                     context_.Name(id) + " is " + context_.Text(shape) + ", a tuple of its " +
                         to_string(operands.size()) + " operands was expected");
      return false;
    }
    for (size_t o = 0; o < operands.size(); ++o) {
      if (SameShape(shape.elements()[o], module_.shape(operands[o]))) continue;
      context_.Error(id, "shape-mismatch",
                     context_.Name(id) + " has " + context_.Text(shape.elements()[o]) +
                         " as element " + to_string(o) + ", operand " + context_.Name(operands[o]) +
                         " is " + context_.Text(operands[o]));
      return false;
    }
    return true;
  }

  bool CheckGetTupleElement(InstructionId id) {
    InstructionId operand = module_.operands(id)[0];
    const Shape& tuple = module_.shape(operand);
    int64_t index = module_.GetInt(module_[id], AttributeKey::kIndex, -1);
    if (!tuple.IsTuple()) {
      context_.Error(id, "get-tuple-element",
                     context_.Name(id) + " takes an element of " + context_.Name(operand) +
                         ", which is " + context_.Text(tuple) + " and no tuple");
      return false;
    }
    if (index < 0 || static_cast<size_t>(index) >= tuple.elements().size()) {
      context_.Error(id, "get-tuple-element",
                     context_.Name(id) + " takes element " + to_string(index) + " of " +
                         context_.Name(operand) + ", a tuple of " +
                         to_string(tuple.elements().size()));
      return false;
    }
    return Compare(id, tuple.elements()[static_cast<size_t>(index)]);
  }

  bool CheckTokens(InstructionId id) {
    Opcode opcode = module_[id].opcode;
    size_t operand = opcode == kInfeed ? 0 : 1;
    bool wants = opcode == kInfeed || opcode == kOutfeed || opcode == kAddDependency;
    if (!wants || operand_shapes_.size() <= operand) return true;
    if (operand_shapes_[operand]->IsToken()) return true;
    context_.Error(id, "token",
                   context_.Name(id) + ": operand " + to_string(operand) + " is " +
                       context_.Text(*operand_shapes_[operand]) + ", expected a token");
    return false;
  }

  bool CheckNoBroadcast(InstructionId id) {
    for (InstructionId o : module_.operands(id)) {
      if (SameDimensions(module_.shape(o), module_.shape(id))) continue;
      context_.Error(id, "implicit-broadcast",
                     context_.Name(id) + " is " + context_.Text(id) + ", its operand " +
                         context_.Name(o) + " is " + context_.Text(o),
                     "insert a broadcast");
      return false;
    }
    return true;
  }

  bool CheckComparison(InstructionId id) {
    const Attribute* type = module_.Find(id, AttributeKey::kComparisonType);
    if (type == nullptr) return true;
    ElementType element = operand_shapes_[1]->element_type();
    auto given = static_cast<ComparisonType>(type->value);
    bool fits;
    std::string_view expected;
    if (IsFloat(element)) {
      fits = given == ComparisonType::kFloat || given == ComparisonType::kTotalOrder;
      expected = "FLOAT or TOTALORDER";
    } else if (IsComplex(element)) {
      fits = given == ComparisonType::kFloat;
      expected = "FLOAT";
    } else if (IsSigned(element)) {
      fits = given == ComparisonType::kSigned;
      expected = "SIGNED";
    } else {
      fits = given == ComparisonType::kUnsigned;
      expected = "UNSIGNED";
    }
    if (fits) return true;
    context_.Error(
        id, "compare-type",
        context_.Name(id) + " compares " + context_.Text(*operand_shapes_[1]) +
            " with type=" + std::string(EnumText(AttributeKey::kComparisonType, type->value)) +
            ", expected " + std::string(expected));
    return false;
  }

  VerifyContext& context_;
  const Module& module_;
  GoodShapes good_;
  ProgramShapes programs_;
  std::vector<const Shape*> operand_shapes_;
};

}  // namespace

void VerifyShapes(VerifyContext& context) {
  ShapePass pass(context);
  size_t count = context.module().instructions().size();
  for (uint32_t k = 0; k < count && !context.full(); ++k) pass.Check(InstructionId(k));
}

}  // namespace hloscope::hlo
