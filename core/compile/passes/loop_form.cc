#include "core/compile/passes/loop_form.h"

#include <algorithm>

#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/analysis/effects.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComparisonDirection;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

bool Holds(ComparisonDirection direction, int64_t a, int64_t b) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return a == b;
    case ComparisonDirection::kNe:
      return a != b;
    case ComparisonDirection::kGe:
      return a >= b;
    case ComparisonDirection::kGt:
      return a > b;
    case ComparisonDirection::kLe:
      return a <= b;
    case ComparisonDirection::kLt:
      return a < b;
  }
  return true;
}

// Of an unsigned type beyond the signed range.
bool Wraps(const Number& number) { return hlo::IsUnsigned(number.type) && number.integer < 0; }

bool Fits(hlo::ElementType type, int64_t value) {
  const int bits = hlo::BitWidth(type);
  if (hlo::IsUnsigned(type)) return value >= 0 && (bits >= 63 || value < int64_t{1} << bits);
  return bits >= 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1));
}

// The number that a value is, through what XLA copies for a state of its own.
std::optional<Number> NumberBehindCopies(Edit& edit, InstructionId id) {
  while (edit.opcode(id) == Opcode::kCopy) id = edit.operand(id, 0);
  return NumberOf(edit, id);
}

}  // namespace

bool MayChangeLoop(const Edit& edit, const hlo::CallGraph& calls, InstructionId loop) {
  const Module& module = edit.original();
  if (edit.IsPinned(loop) || module.Find(loop, AttributeKey::kSharding) != nullptr) return false;
  for (const AttributeKey key : {AttributeKey::kCondition, AttributeKey::kBody}) {
    const ComputationId c = module.GetComputation(module[loop], key);
    if (calls.OnlyCaller(c) != loop || EffectsOf(module).Has(c) ||
        module[c].execution_thread.valid()) {
      return false;
    }
    for (const hlo::Instruction& i : module.instructions(module[c])) {
      const auto* literal = module.Get<hlo::Literal>(i, AttributeKey::kConstantValue);
      if (module.Find(i, AttributeKey::kControlPredecessors) != nullptr ||
          module.Find(i, AttributeKey::kSharding) != nullptr ||
          HasFlag(i.opcode, hlo::kFlagStart) || HasFlag(i.opcode, hlo::kFlagDone) ||
          (literal != nullptr && literal->elided())) {
        return false;
      }
    }
  }
  return true;
}

LoopForm::LoopForm(Edit& edit, InstructionId loop)
    : edit_(edit), rewriter_(edit.rewriter()), id_(loop) {
  condition_ = Called(AttributeKey::kCondition);
  body_ = Called(AttributeKey::kBody);
  initial_ = edit.operand(loop, 0);
}

bool LoopForm::Read() {
  if (!edit_.shape(id_).IsTuple()) return false;
  root_ = rewriter_.root(body_);
  count_ = edit_.shape(id_).elements().size();
  return edit_.opcode(root_) == Opcode::kTuple && edit_.opcode(initial_) == Opcode::kTuple &&
         ReadElements(condition_, in_condition_) && ReadElements(body_, in_body_) &&
         std::ranges::all_of(
             rewriter_.users(id_),
             [&](InstructionId user) { return edit_.opcode(user) == Opcode::kGetTupleElement; }) &&
         rewriter_.root(rewriter_.computation(id_)) != id_;
}

std::optional<int> LoopForm::TripCount(int limit) {
  const InstructionId decision = rewriter_.root(condition_);
  if (edit_.opcode(decision) != Opcode::kCompare) return std::nullopt;
  const auto direction =
      static_cast<ComparisonDirection>(edit_.Int(decision, AttributeKey::kDirection));
  const std::optional<size_t> counter = ElementOf(edit_.operand(decision, 0), in_condition_);
  const auto end = counter ? NumberOf(edit_, edit_.operand(decision, 1)) : std::nullopt;
  if (!end || !hlo::IsInteger(end->type) || edit_.shape(decision).rank() != 0) return std::nullopt;
  const auto begin = NumberBehindCopies(edit_, edit_.operand(initial_, *counter));
  if (!begin || begin->type != end->type || Wraps(*begin) || Wraps(*end)) return std::nullopt;
  int64_t at = begin->integer;
  if (!Holds(direction, at, end->integer)) return 0;
  const InstructionId next = edit_.operand(root_, *counter);
  if (edit_.opcode(next) != Opcode::kAdd) return std::nullopt;
  for (const size_t slot : {0, 1}) {
    if (ElementOf(edit_.operand(next, slot), in_body_) != counter) continue;
    const auto step = NumberOf(edit_, edit_.operand(next, 1 - slot));
    if (!step) return std::nullopt;
    int iterations = 0;
    do {
      if (Wraps(*step) || __builtin_add_overflow(at, step->integer, &at) ||
          !Fits(begin->type, at)) {
        return std::nullopt;
      }
    } while (++iterations < limit && Holds(direction, at, end->integer));
    return iterations;
  }
  return std::nullopt;
}

std::optional<size_t> LoopForm::ElementOf(InstructionId id, const Elements& elements) {
  const auto found = elements.find(id);
  return found == elements.end() ? std::nullopt : std::optional(found->second);
}

InstructionId LoopForm::Copied(InstructionId id, ComputationId to,
                               std::span<const InstructionId> operands) {
  const std::vector<hlo::Attribute> attributes(rewriter_.attributes(id).begin(),
                                               rewriter_.attributes(id).end());
  const std::string name = edit_.UniqueName(rewriter_.name(id));
  const hlo::Shape shape = edit_.shape(id);
  const InstructionId copy = rewriter_.Add(to, name, edit_.opcode(id), shape, operands, attributes);
  edit_.NoteOrigin(copy, id, hlo::OriginKind::kCopied);
  return copy;
}

ComputationId LoopForm::Called(AttributeKey key) {
  const hlo::Attribute* attribute = edit_.Find(id_, key);
  return attribute == nullptr ? ComputationId() : ComputationId(attribute->value);
}

// The get-tuple-elements of the parameter; false where it is used in another way.
bool LoopForm::ReadElements(ComputationId c, Elements& elements) {
  for (const InstructionId member : rewriter_.members(c)) {
    if (rewriter_.removed(member) || edit_.opcode(member) != Opcode::kParameter) continue;
    if (rewriter_.root(c) == member) return false;
    for (const InstructionId user : rewriter_.users(member)) {
      if (edit_.opcode(user) != Opcode::kGetTupleElement) return false;
      elements[user] = static_cast<size_t>(edit_.Int(user, AttributeKey::kIndex));
    }
  }
  return true;
}

}  // namespace hloscope::compile
