// XLA's rules about one instruction that its parser checks; the verifier has the others.
#include <algorithm>
#include <string>

#include "core/base/counted.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/text/text_parser.h"

namespace hloscope::hlo {
namespace {

std::string NameOf(Opcode opcode) { return std::string(ToString(opcode)); }

std::string Operands(size_t n) { return Counted(n, "operand"); }

// How many operands an opcode of no fixed arity takes.
struct CountRule {
  bool (*fits)(size_t count) = nullptr;
  std::string_view expected = {};
};
constexpr CountRule kEvenCount = {[](size_t count) { return count >= 2 && count % 2 == 0; },
                                  "an even number: values and their start values"};
constexpr CountRule kOneOrMore = {[](size_t count) { return count >= 1; }, "at least one"};
constexpr OpcodeTable<CountRule> kCountRules = {
    {Opcode::kAsyncDone,
     {[](size_t count) { return count == 1; }, "one: the instruction that starts or updates it"}},
    {Opcode::kAsyncUpdate, kOneOrMore},
    {Opcode::kConditional, kOneOrMore},
    {Opcode::kDynamicReshape, kOneOrMore},
    {Opcode::kDynamicSlice, kOneOrMore},
    {Opcode::kDynamicUpdateSlice, {[](size_t count) { return count >= 2; }, "at least two"}},
    {Opcode::kReduce, kEvenCount},
    {Opcode::kReduceWindow, kEvenCount},
    {Opcode::kScatter,
     {[](size_t count) { return count % 2 == 1; }, "an odd number: operands, indices and updates"}},
};

// Opcodes whose `dimensions` is one number written as a list; of the first kind XLA reads the first
// and ignores the others.
constexpr OpcodeSet kFirstDimension = {
    Opcode::kScan,          Opcode::kAllGather,        Opcode::kAllGatherStart,
    Opcode::kReduceScatter, Opcode::kGetDimensionSize, Opcode::kSetDimensionSize};
constexpr OpcodeSet kOnlyDimension = {Opcode::kAllToAll, Opcode::kRaggedAllToAll, Opcode::kSort,
                                      Opcode::kConcatenate};

}  // namespace

const Attribute* TextParser::FindAttribute(const Draft& draft, AttributeKey key) {
  if (!HasAttribute(draft, key)) return nullptr;
  for (const Attribute& a : AttributesOf(draft)) {
    if (a.key == key) return &a;
  }
  return nullptr;
}

bool TextParser::CheckDraft(Draft& draft) {
  if (!CheckOperandCount(draft) || !CheckRequired(draft) || !CheckDimensionCount(draft)) {
    return false;
  }
  if (HasAttribute(draft, AttributeKey::kParameterReplication) && !CheckReplication(draft)) {
    return false;
  }
  using Check = bool (TextParser::*)(Draft&);
  static constexpr OpcodeTable<Check> kChecks = {
      {Opcode::kAllReduce, &TextParser::CheckGlobalIds},
      {Opcode::kAllReduceStart, &TextParser::CheckGlobalIds},
      {Opcode::kAsyncDone, &TextParser::CheckAsync},
      {Opcode::kAsyncStart, &TextParser::CheckAsync},
      {Opcode::kAsyncUpdate, &TextParser::CheckAsync},
      {Opcode::kCollectivePermute, &TextParser::CheckCollectivePermute},
      {Opcode::kCollectivePermuteStart, &TextParser::CheckCollectivePermute},
      {Opcode::kConditional, &TextParser::CheckConditional},
      {Opcode::kCustomCall, &TextParser::CheckCustomCall},
      {Opcode::kDynamicReshape, &TextParser::CheckDynamicSlice},
      {Opcode::kDynamicSlice, &TextParser::CheckDynamicSlice},
      {Opcode::kDynamicUpdateSlice, &TextParser::CheckDynamicSlice},
      {Opcode::kInfeed, &TextParser::CheckReceived},
      {Opcode::kRecv, &TextParser::CheckReceived},
      {Opcode::kRecvDone, &TextParser::CheckTransferDone},
      {Opcode::kReduceScatter, &TextParser::CheckGlobalIds},
      {Opcode::kScan, &TextParser::CheckScan},
      {Opcode::kSendDone, &TextParser::CheckTransferDone},
  };
  const Check check = kChecks[draft.opcode];
  return check == nullptr || (this->*check)(draft);
}

bool TextParser::CheckOperandCount(const Draft& draft) {
  size_t count = OperandsOf(draft).size();
  auto fail = [&](const std::string& expected) {
    return Error("operand-count",
                 NameOf(draft.opcode) + " has " + Operands(count) + ", expected " + expected,
                 draft.offset);
  };
  if (draft.opcode == Opcode::kTuple) {
    if (!draft.has_shape) return true;
    if (!ShapeOf(draft.shape).IsTuple()) {
      return Error("shape",
                   "the shape of a tuple is " + ToString(ShapeOf(draft.shape), false) +
                       ", expected a tuple shape",
                   draft.offset);
    }
    if (count == ShapeOf(draft.shape).elements().size()) return true;
    return fail(std::to_string(ShapeOf(draft.shape).elements().size()) + " as in its shape");
  }
  if (const CountRule& rule = kCountRules[draft.opcode]; rule.fits != nullptr) {
    return rule.fits(count) || fail(std::string(rule.expected));
  }
  int arity = Info(draft.opcode).arity;
  return arity < 0 || count == static_cast<size_t>(arity) || fail(std::to_string(arity));
}

bool TextParser::CheckRequired(const Draft& draft) {
  auto require = [&](AttributeKey key) {
    if (HasAttribute(draft, key)) return true;
    std::string allowed;
    for (const AttributeUse& use : Info(draft.wrapped.value_or(draft.opcode)).attributes) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(Info(use.key).text);
    }
    return Error("missing-attribute",
                 "attribute " + std::string(Info(key).text) + " is missing, expected it in " +
                     NameOf(draft.wrapped.value_or(draft.opcode)),
                 draft.offset, "it takes " + allowed);
  };
  if (draft.wrapped) {
    if (draft.opcode != Opcode::kAsyncStart) return true;
    for (const AttributeUse& use : Info(*draft.wrapped).attributes) {
      if (use.required && !require(use.key)) return false;
    }
    return true;
  }
  for (const AttributeUse& use : Info(draft.opcode).attributes) {
    if (use.required && !require(use.key)) return false;
  }
  if (draft.opcode == Opcode::kAsyncStart) return require(AttributeKey::kCalls);
  if (draft.opcode == Opcode::kBroadcast) {
    const Shape* operand = ShapeOf(OperandsOf(draft)[0]);
    return operand == nullptr || operand->IsScalar() || require(AttributeKey::kDimensions);
  }
  return true;
}

bool TextParser::CheckDimensionCount(Draft& draft) {
  const bool may_be_more = kFirstDimension.Has(draft.opcode);
  if (!may_be_more && !kOnlyDimension.Has(draft.opcode)) return true;
  const Attribute* a = FindAttribute(draft, AttributeKey::kDimensions);
  if (a == nullptr) return true;
  size_t count = builder_.module().IntsOf(*a).size();
  if (count == 1 || (count > 1 && may_be_more)) return true;
  return Error("dimensions",
               "dimensions of " + NameOf(draft.opcode) + " has " + Counted(count, "number") +
                   ", expected one",
               draft.offset);
}

bool TextParser::CheckConditional(Draft& draft) {
  using enum AttributeKey;
  const Shape* selector = ShapeOf(OperandsOf(draft)[0]);
  if (selector == nullptr || draft.broken) return true;
  bool pred = selector->element_type() == ElementType::kPred;
  if (!selector->IsScalar() || (!pred && selector->element_type() != ElementType::kS32)) {
    return Error("operand-shape",
                 "the first operand of a conditional is " + ToString(*selector, false) +
                     ", expected pred[] or s32[]",
                 draft.offset);
  }
  bool both = HasAttribute(draft, kTrueComputation) && HasAttribute(draft, kFalseComputation);
  const Attribute* branches = FindAttribute(draft, kBranchComputations);
  if (pred && (!both || branches != nullptr)) {
    return Error("missing-attribute",
                 "a conditional on pred needs true_computation and false_computation",
                 draft.offset);
  }
  if (!pred && (branches == nullptr || HasAttribute(draft, kTrueComputation) ||
                HasAttribute(draft, kFalseComputation))) {
    return Error("missing-attribute", "a conditional on s32 needs branch_computations",
                 draft.offset);
  }
  size_t count = pred ? 2 : builder_.module().IdsOf(*branches).size();
  if (count > 0 && OperandsOf(draft).size() == count + 1) return true;
  return Error("operand-count",
               "conditional has " + Operands(OperandsOf(draft).size()) + " and " +
                   Counted(count, "branch", "branches") +
                   ", expected the selector and one operand for each branch",
               draft.offset);
}

bool TextParser::CheckCustomCall(Draft& draft) {
  const Module& m = builder_.module();
  const Attribute* version = FindAttribute(draft, AttributeKey::kApiVersion);
  if (version != nullptr && version->value == 0) {
    return Error("syntax", "api_version is API_VERSION_UNSPECIFIED, expected a version",
                 draft.offset);
  }
  const Attribute* constraints = FindAttribute(draft, AttributeKey::kOperandLayoutConstraints);
  if (constraints == nullptr || draft.broken) return true;
  std::span<const uint32_t> shapes = m.IdsOf(*constraints);
  std::span<const uint32_t> operands = OperandsOf(draft);
  if (shapes.size() != operands.size()) {
    return Error("operand-count",
                 "operand_layout_constraints has " + Counted(shapes.size(), "shape") +
                     ", expected one for each of " + Operands(operands.size()),
                 draft.offset);
  }
  for (size_t k = 0; k < shapes.size(); ++k) {
    const Shape* operand = ShapeOf(operands[k]);
    const Shape& declared = m[ShapeId(shapes[k])];
    constexpr ShapeComparison kHow = {.dynamic_dimensions = false};
    if (operand == nullptr || Compatible(*operand, declared, kHow)) continue;
    return Error("operand-shape",
                 "layout constraint " + std::to_string(k) + " is " + ToString(declared, false) +
                     ", but the operand is " + ToString(*operand, false),
                 draft.offset);
  }
  return true;
}

// One scalar index per dimension, or all in one vector; dynamic-reshape has one size per dimension.
bool TextParser::CheckDynamicSlice(Draft& draft) {
  std::span<const uint32_t> operands = OperandsOf(draft);
  bool reshape = draft.opcode == Opcode::kDynamicReshape;
  size_t first = draft.opcode == Opcode::kDynamicUpdateSlice ? 2 : 1;
  const Shape* shape = reshape ? &ShapeOf(draft.shape) : ShapeOf(operands[0]);
  if (shape == nullptr) return true;
  size_t count = operands.size() - first;
  const Shape* index = count == 1 ? ShapeOf(operands[first]) : nullptr;
  if (!reshape && index != nullptr && index->rank() == 1) return true;
  if (count == shape->rank()) return true;
  return Error("operand-count",
               NameOf(draft.opcode) + " has " + std::to_string(count) +
                   (reshape ? " sizes" : " indices") + ", expected one for each of " +
                   std::to_string(shape->rank()) + " dimensions",
               draft.offset);
}

bool TextParser::CheckReceived(Draft& draft) {
  if (ShapeOf(draft.shape).IsTuple() && !ShapeOf(draft.shape).elements().empty()) return true;
  return Error("shape",
               NameOf(draft.opcode) + " is " + ToString(ShapeOf(draft.shape), false) +
                   ", expected a tuple that begins with the data",
               draft.offset);
}

bool TextParser::CheckTransferDone(Draft& draft) {
  const Module& m = builder_.module();
  uint32_t start = OperandsOf(draft)[0];
  if (start == kNone) return true;
  const Pending& i = scope().instructions[start];
  if (i.opcode != Opcode::kSend && i.opcode != Opcode::kRecv) return true;
  const Attribute* mine = FindAttribute(draft, AttributeKey::kChannelId);
  const Attribute* other = nullptr;
  for (size_t k = 0; k < i.attribute_count; ++k) {
    const Attribute& a = scope().attributes[i.first_attribute + k];
    if (a.key == AttributeKey::kChannelId) other = &a;
  }
  bool same = (mine == nullptr) == (other == nullptr) &&
              (mine == nullptr || m.IntOf(*mine) == m.IntOf(*other));
  return same || Error("channel",
                       NameOf(draft.opcode) + " and its " + NameOf(i.opcode) +
                           " have different channel_id, expected the same",
                       draft.offset);
}

bool TextParser::CheckGlobalIds(Draft& draft) {
  const Attribute* global = FindAttribute(draft, AttributeKey::kUseGlobalDeviceIds);
  if (global == nullptr || global->value == 0 || HasAttribute(draft, AttributeKey::kChannelId) ||
      HasAttribute(draft, AttributeKey::kMode)) {
    return true;
  }
  return Error("channel", "use_global_device_ids=true without channel_id, expected both",
               draft.offset);
}

// The carries are the operands that are whole parameters of the body, from the last one backwards.
bool TextParser::CheckScan(Draft& draft) {
  const Attribute* callee = FindAttribute(draft, AttributeKey::kToApply);
  if (draft.broken || callee == nullptr) return true;
  const Module& m = builder_.module();
  size_t count = OperandsOf(draft).size();
  size_t parameters = m.Parameters(ComputationId(callee->value)).size();
  if (count == parameters) return true;
  return Error(
      "operand-count",
      "scan has " + Operands(count) + ", but its computation takes " + std::to_string(parameters),
      draft.offset);
}

bool TextParser::CheckCollectivePermute(Draft& draft) {
  size_t count = OperandsOf(draft).size();
  if (!HasAttribute(draft, AttributeKey::kPermuteSliceSizes) || count == 4) return true;
  return Error("operand-count",
               NameOf(draft.opcode) + " with slice_sizes has " + Operands(count) +
                   ", expected four: input, output and their start indices",
               draft.offset);
}

bool TextParser::CheckReplication(Draft& draft) {
  const Attribute* a = FindAttribute(draft, AttributeKey::kParameterReplication);
  if (a == nullptr || !draft.shape.valid()) return true;
  size_t leaves = ShapeOf(draft.shape).LeafCount();
  size_t count = builder_.module().IntsOf(*a).size();
  if (leaves == count) return true;
  return Error("parameter-replication",
               "parameter_replication has " + Counted(count, "value") +
                   ", expected one for each of " + Counted(leaves, "leaf", "leaves"),
               draft.offset);
}

}  // namespace hloscope::hlo
