// Every instruction's shape against what its operands and attributes give (XLA: ShapeVerifier),
// operand counts, and the ban on implicit broadcasts.
#include <array>

#include "core/base/counted.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/shape/shape_inference.h"
#include "core/hlo/verify/verify_context.h"

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

// bf16 and f32 are never the same for these, whatever precision is allowed.
bool ForwardsOperand(Opcode opcode) {
  return HasTrait(opcode, kTraitForwards) || opcode == kDynamicUpdateSlice;
}

// Opcodes that may mix float types even where mixed precision is not allowed.
bool MayMixFloats(Opcode opcode) {
  return HasTrait(opcode, kTraitForwards) || HasTrait(opcode, kTraitMixesFloats);
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
                     context_.Name(id) + ": " + std::string(info.text) + " has " +
                         Counted(i.operand_count, "operand") + ", expected " +
                         to_string(info.arity));
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
      context_.Error(id, "layout",
                     what + ": minor_to_major does not name each dimension exactly once");
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
    // VerifyAsync, VerifyControl and VerifyFusions look at these, or nobody.
    static constexpr OpcodeSet kElsewhere = {kAsyncStart, kAsyncUpdate, kAsyncDone,
                                             kCall,       kWhile,       kConditional,
                                             kFusion,     kParameter,   kCustomCall};
    static constexpr OpcodeSet kTransfers = {kCopyStart, kCopyDone, kSend,
                                             kRecv,      kRecvDone, kInfeed};
    static constexpr OpcodeSet kSame = {kAddDependency, kCopy,          kOptimizationBarrier,
                                        kDomain,        kAllReduceDone, kShuffle};
    if (kElsewhere.Has(i.opcode)) return true;
    if (i.opcode == kTuple) return CheckTuple(id);
    if (i.opcode == kGetTupleElement) return CheckGetTupleElement(id);
    if (kTransfers.Has(i.opcode)) return CheckTransfer(id);
    if (i.opcode == kAddDependency && !CheckToken(id, 1)) return false;
    if (kSame.Has(i.opcode)) return CheckSame(id, operands[0]);
    if (info.shape_rule == ShapeRule::kDeclared) {
      VerifyDeclaredShape(context_, id);
      return true;
    }
    operand_shapes_.clear();
    for (InstructionId o : operands) operand_shapes_.push_back(&module_.shape(o));
    if (i.opcode == kOutfeed && !CheckToken(id, 1)) return false;
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
    if (!ForwardsOperand(module_[id].opcode) && SameShapeAnyPrecision(actual, expected)) {
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
                     context_.Name(id) + " is " + context_.Text(shape) +
                         ", expected a tuple of its " + Counted(operands.size(), "operand"));
      return false;
    }
    for (size_t o = 0; o < operands.size(); ++o) {
      if (context_.SameElement(module_[id].shape, o, module_[operands[o]].shape)) continue;
      context_.Error(id, "shape-mismatch",
                     context_.Name(id) + " has " + context_.Text(shape.elements()[o]) +
                         " as element " + to_string(o) + ", but operand " +
                         context_.Name(operands[o]) + " is " + context_.Text(operands[o]));
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
                         ", which is " + context_.Text(tuple) + ", expected a tuple");
      return false;
    }
    if (index < 0 || static_cast<size_t>(index) >= tuple.elements().size()) {
      context_.Error(id, "get-tuple-element",
                     context_.Name(id) + " takes element " + to_string(index) + " of " +
                         context_.Name(operand) + ", a tuple of " +
                         to_string(tuple.elements().size()));
      return false;
    }
    auto element = static_cast<size_t>(index);
    return context_.SameElement(module_[operand].shape, element, module_[id].shape) ||
           Compare(id, tuple.elements()[element]);
  }

  bool CheckToken(InstructionId id, size_t operand) {
    InstructionId token = module_.operands(id)[operand];
    if (module_.shape(token).IsToken()) return true;
    context_.Error(id, "token",
                   context_.Name(id) + ": operand " + to_string(operand) + " is " +
                       context_.Text(token) + ", expected a token");
    return false;
  }

  bool CheckSame(InstructionId id, InstructionId operand) {
    return context_.Same(module_[id].shape, module_[operand].shape) ||
           Compare(id, module_.shape(operand));
  }

  // Copies, transfers and infeeds: tuples of the data and what else is in flight.
  bool CheckTransfer(InstructionId id) {
    const Instruction& i = module_[id];
    InstructionId operand = module_.operands(i)[0];
    const Shape& from = module_.shape(operand);
    const Shape& shape = module_.shape(id);
    auto parts = [](const Shape& s, size_t count) {
      return s.IsTuple() && s.elements().size() == count;
    };
    auto is_u32 = [](const Shape& s) {
      return s.IsScalar() && s.element_type() == ElementType::kU32;
    };
    ShapeId own = i.shape, given = module_[operand].shape;
    switch (i.opcode) {
      case kCopyStart:
        return Fits(id,
                    parts(shape, 3) && context_.SameElement(own, 0, given) &&
                        context_.SameElement(own, 1, given) && is_u32(shape.elements()[2]),
                    "a tuple of destination, source and u32[]");
      case kCopyDone:
        return Fits(id,
                    from.IsTuple() && from.elements().size() >= 2 &&
                        context_.SameElement(given, 0, own) && context_.SameElement(given, 1, own),
                    "what its copy-start copies");
      case kSend:
        return CheckToken(id, 1) &&
               Fits(id,
                    parts(shape, 3) && context_.SameElement(own, 0, given) &&
                        is_u32(shape.elements()[1]) && shape.elements()[2].IsToken(),
                    "a tuple of what it sends, u32[] and a token");
      case kRecv:
        return CheckToken(id, 0) &&
               Fits(id,
                    parts(shape, 3) && is_u32(shape.elements()[1]) && shape.elements()[2].IsToken(),
                    "a tuple of what it receives, u32[] and a token");
      case kRecvDone:
        return Fits(id,
                    parts(shape, 2) && shape.elements()[1].IsToken() && from.IsTuple() &&
                        !from.elements().empty() && SameData(from, shape),
                    "a tuple of what its recv receives and a token");
      default:
        return CheckToken(id, 0) && Fits(id, parts(shape, 2) && shape.elements()[1].IsToken(),
                                         "a tuple of the data and a token");
    }
  }

  // The first elements of two tuples; remembered for the last pair.
  bool SameData(const Shape& a, const Shape& b) {
    if (last_pair_ != std::pair(&a, &b)) {
      last_pair_ = {&a, &b};
      last_same_ = SameShape(a.elements()[0], b.elements()[0]);
    }
    return last_same_;
  }

  bool Fits(InstructionId id, bool fits, std::string_view expected) {
    if (fits) return true;
    context_.Error(id, "shape-mismatch",
                   context_.Name(id) + " is " + context_.Text(id) + ", but " +
                       std::string(ToString(module_[id].opcode)) + " returns " +
                       std::string(expected));
    return false;
  }

  bool CheckNoBroadcast(InstructionId id) {
    for (InstructionId o : module_.operands(id)) {
      if (Compatible(module_.shape(o), module_.shape(id),
                     {.element_types = false, .dynamic_dimensions = false})) {
        continue;
      }
      context_.Error(id, "implicit-broadcast",
                     context_.Name(id) + " is " + context_.Text(id) + ", but its operand " +
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
  std::pair<const Shape*, const Shape*> last_pair_{nullptr, nullptr};
  bool last_same_ = false;
  std::vector<const Shape*> operand_shapes_;
};

}  // namespace

void VerifyShapes(VerifyContext& context) {
  ShapePass pass(context);
  size_t count = context.module().instructions().size();
  for (uint32_t k = 0; k < count && !context.full(); ++k) pass.Check(InstructionId(k));
}

}  // namespace hloscope::hlo
