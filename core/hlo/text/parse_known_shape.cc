// Shapes left out of the text that follow from the operands without inference. A short text can ask
// for a large tuple again and again, or for one that doubles with every line: each is made once,
// and all together are bounded.
#include <algorithm>

#include "core/hlo/opcode_table.h"
#include "core/hlo/text/text_parser.h"

namespace hloscope::hlo {
namespace {

// Parts of all tuple shapes the text leaves out, together; one takes about 128 bytes.
constexpr int64_t kMaxInferredParts = int64_t{1} << 19;
// First numbers of keys that are no list of tuple elements.
constexpr uint32_t kElementKey = ~uint32_t{0};
constexpr uint32_t kSendKey = ~uint32_t{1};
constexpr uint32_t kRecvDoneKey = ~uint32_t{2};

}  // namespace

TextParser::ShapeSize TextParser::SizeOf(ShapeId id) {
  if (id.index >= shape_sizes_.size()) shape_sizes_.resize(builder_.module().shape_count());
  ShapeSize& known = shape_sizes_[id.index];
  if (known.parts != 0) return known;
  std::vector<std::pair<const Shape*, uint32_t>> work{{&builder_.module()[id], 1}};
  while (!work.empty()) {
    auto [shape, depth] = work.back();
    work.pop_back();
    ++known.parts;
    known.depth = std::max(known.depth, depth);
    for (const Shape& element : shape->elements()) work.emplace_back(&element, depth + 1);
  }
  return known;
}

std::optional<ShapeId> TextParser::ElementShape(ShapeId tuple, int64_t element) {
  const Shape& shape = builder_.module()[tuple];
  if (!shape.IsTuple() || element < 0 || static_cast<size_t>(element) >= shape.elements().size()) {
    return std::nullopt;
  }
  const Shape& part = shape.elements()[static_cast<size_t>(element)];
  if (!part.IsTuple()) return builder_.InternShape(Shape(part));
  std::vector<uint32_t> key{kElementKey, tuple.index, static_cast<uint32_t>(element)};
  auto known = made_shapes_.find(key);
  if (known == made_shapes_.end()) {
    known = made_shapes_.emplace(std::move(key), builder_.InternShape(Shape(part))).first;
  }
  return known->second;
}

bool TextParser::MakeTupleShape(Draft& draft) {
  std::vector<uint32_t> key;
  int64_t parts = 1, depth = 0;
  for (uint32_t operand : OperandsOf(draft)) {
    ShapeId shape = scope().instructions[operand].shape;
    ShapeSize size = SizeOf(shape);
    key.push_back(shape.index);
    parts += size.parts;
    depth = std::max<int64_t>(depth, size.depth);
  }
  auto known = made_shapes_.find(key);
  if (known != made_shapes_.end()) {
    draft.shape = known->second;
    return true;
  }
  inferred_parts_ += parts;
  if (inferred_parts_ > kMaxInferredParts) return TooManyParts(draft);
  if (depth + 1 > limits_.nesting) {
    draft.broken = true;
    return Error(
        "limit",
        "the tuple is nested over more than " + std::to_string(limits_.nesting) + " levels",
        draft.offset, "raise it with --limit nesting=N");
  }
  std::vector<Shape> elements;
  elements.reserve(key.size());
  for (uint32_t id : key) elements.push_back(builder_.module()[ShapeId(id)]);
  draft.shape = builder_.InternShape(Shape::Tuple(std::move(elements)));
  made_shapes_.emplace(std::move(key), draft.shape);
  return true;
}

// (data, u32[], token[]) of a send, (data, token[]) of a recv-done; data: its operand, or the first
// element of it.
std::optional<bool> TextParser::MakeTransferShape(Draft& draft) {
  ShapeId operand = scope().instructions[OperandsOf(draft)[0]].shape;
  const Shape& from = builder_.module()[operand];
  bool send = draft.opcode == Opcode::kSend;
  if (!send && (!from.IsTuple() || from.elements().empty())) return std::nullopt;
  std::vector<uint32_t> key{send ? kSendKey : kRecvDoneKey, operand.index};
  auto known = made_shapes_.find(key);
  if (known == made_shapes_.end()) {
    Shape context = Shape::Scalar(ElementType::kU32).WithDefaultLayouts();
    Shape shape = send ? Shape::Tuple({from, context, Shape::Token()})
                       : Shape::Tuple({from.elements()[0], Shape::Token()});
    inferred_parts_ += SizeOf(operand).parts;
    if (inferred_parts_ > kMaxInferredParts) return TooManyParts(draft);
    known = made_shapes_.emplace(std::move(key), builder_.InternShape(std::move(shape))).first;
  }
  draft.shape = known->second;
  return true;
}

// What the called computation gives, or all branches alike.
std::optional<bool> TextParser::TakeRootShape(Draft& draft) {
  const Module& module = builder_.module();
  std::vector<uint32_t> callees;
  for (const Attribute& a : AttributesOf(draft)) {
    ValueKind kind = Info(a.key).kind;
    if (kind == ValueKind::kComputation) callees.push_back(a.value);
    if (kind != ValueKind::kComputations) continue;
    for (uint32_t id : module.IdsOf(a)) callees.push_back(id);
  }
  ShapeId common;
  for (uint32_t callee : callees) {
    const Computation& c = module[ComputationId(callee)];
    if (c.instruction_count == 0 || !c.root.valid()) return std::nullopt;
    ShapeId shape = module[c.root].shape;
    if (common.valid() && shape != common) return std::nullopt;
    common = shape;
  }
  if (!common.valid()) return std::nullopt;
  draft.shape = common;
  return true;
}

bool TextParser::TooManyParts(Draft& draft) {
  draft.broken = true;
  return Error("limit",
               "the tuple shapes left out of the text have more than " +
                   std::to_string(kMaxInferredParts) + " parts",
               draft.offset, "write smaller tuples");
}

// nullopt where the shape has to be inferred; else whether it was found.
std::optional<bool> TextParser::TakeKnownShape(Draft& draft) {
  std::span<const uint32_t> operands = OperandsOf(draft);
  for (uint32_t operand : operands) {
    if (ShapeOf(operand) == nullptr) return std::nullopt;
  }
  // That of the first operand; a loop's is compared by the verifier with what it calls.
  static constexpr OpcodeSet kSame = {Opcode::kWhile, Opcode::kCopy, Opcode::kDomain,
                                      Opcode::kOptimizationBarrier, Opcode::kAddDependency};
  const Opcode opcode = draft.opcode;
  if (opcode == Opcode::kTuple) return MakeTupleShape(draft);
  if (opcode == Opcode::kCall || opcode == Opcode::kConditional) return TakeRootShape(draft);
  if (opcode == Opcode::kSend || opcode == Opcode::kRecvDone) {
    if (operands.empty()) return std::nullopt;
    return MakeTransferShape(draft);
  }
  if (kSame.Has(opcode)) {
    if (std::cmp_not_equal(operands.size(), Info(opcode).arity)) return std::nullopt;
    draft.shape = scope().instructions[operands[0]].shape;
    return true;
  }
  const Attribute* index = FindAttribute(draft, AttributeKey::kIndex);
  if (opcode != Opcode::kGetTupleElement || index == nullptr || operands.size() != 1) {
    return std::nullopt;
  }
  auto shape =
      ElementShape(scope().instructions[operands[0]].shape, builder_.module().IntOf(*index));
  if (!shape) return std::nullopt;
  draft.shape = *shape;
  return true;
}

}  // namespace hloscope::hlo
