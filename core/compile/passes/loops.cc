// Loops made simpler: those that run never or once, elements of the state that are constants, that
// never change or that nobody wants, and work that is the same in every iteration.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/compile/passes/loop_form.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::OriginKind;
using hlo::Shape;

namespace {

using Copies = std::unordered_map<InstructionId, InstructionId>;

// Worth to be kept from one iteration to the next: more work than reading the result.
bool IsHeavy(Opcode opcode) {
  constexpr Opcode kHeavy[] = {Opcode::kDot,       Opcode::kConvolution,  Opcode::kReduce,
                               Opcode::kTranspose, Opcode::kReduceWindow, Opcode::kSort,
                               Opcode::kFft,       Opcode::kCholesky,     Opcode::kTriangularSolve,
                               Opcode::kGather,    Opcode::kScatter};
  return std::ranges::find(kHeavy, opcode) != std::end(kHeavy);
}

// The same for the same operands, and an array of its own.
bool MayMove(const Edit& edit, InstructionId id) {
  const Opcode opcode = edit.opcode(id);
  return edit.shape(id).IsArray() && edit.shape(id).is_static() &&
         (IsHeavy(opcode) || Info(opcode).category == hlo::Category::kElementwise ||
          opcode == Opcode::kConstant || opcode == Opcode::kBroadcast ||
          opcode == Opcode::kReshape || opcode == Opcode::kIota || opcode == Opcode::kConvert ||
          opcode == Opcode::kSlice);
}

// One loop, as edited so far.
class Loop : public LoopForm {
 public:
  using LoopForm::LoopForm;

  void RunNever() { edit_.Replace(id_, initial_); }
  void RunOnce() {
    const Attribute callee = rewriter_.builder().MakeComputation(AttributeKey::kToApply, body_);
    const InstructionId call =
        edit_.Add(id_, "call", Opcode::kCall, edit_.shape(id_), {initial_}, {callee});
    edit_.Replace(id_, call);
    rewriter_.Remove(id_);
  }

  // What never changes is what it was before, behind the loop; in it too where that is a number.
  void ForwardInvariants() {
    is_invariant_.resize(count_);
    for (size_t k = 0; k < count_; ++k) {
      is_invariant_[k] = ElementOf(edit_.operand(root_, k), in_body_) == k;
      if (!is_invariant_[k]) continue;
      const InstructionId before = edit_.operand(initial_, k);
      for (const InstructionId user : rewriter_.users(id_)) {
        const bool is_it = edit_.Int(user, AttributeKey::kIndex) == static_cast<int64_t>(k);
        if (is_it && rewriter_.has_users(user) && edit_.MayReplace(user, before)) {
          edit_.Replace(user, before);
        }
      }
      if (!IsScalarConstant(before)) continue;
      PutConstant(in_condition_, k, before);
      PutConstant(in_body_, k, before);
    }
  }

  // Leaves out what nobody wants and takes in what is computed once.
  void Rebuild() {
    FindMoved();
    FindWanted();
    const auto wanted = std::ranges::count(is_wanted_, true);
    if (wanted == 0 || (std::cmp_equal(wanted, count_) && carried_.empty())) return;
    MoveOut();
    Write();
  }

 private:
  bool IsScalarConstant(InstructionId id) {
    if (edit_.opcode(id) != Opcode::kConstant || !edit_.shape(id).IsScalar()) return false;
    const Attribute* value = edit_.Find(id, AttributeKey::kConstantValue);
    return value != nullptr && !edit_.values().Of<hlo::Literal>(*value).elided();
  }

  void PutConstant(const Elements& elements, size_t k, InstructionId constant) {
    for (const auto& [element, index] : elements) {
      if (index != k || !rewriter_.has_users(element)) continue;
      const Attribute value = *edit_.Find(constant, AttributeKey::kConstantValue);
      const InstructionId inside =
          edit_.Add(element, "constant", Opcode::kConstant, edit_.shape(element), {}, {value});
      edit_.NoteOrigin(inside, constant, OriginKind::kCopied);
      // The root goes on handing it over, so that it stays what does not change.
      for (const InstructionId user : rewriter_.users(element)) {
        if (user == root_) continue;
        for (uint32_t slot = 0; slot < rewriter_.operand_count(user); ++slot) {
          if (rewriter_.operand(user, slot) == element) rewriter_.SetOperand(user, slot, inside);
        }
        edit_.NoteChange();
      }
    }
  }

  // Elements that are used behind the loop, by the condition, or to make such.
  void FindWanted() {
    is_wanted_.assign(count_, false);
    for (const InstructionId user : rewriter_.users(id_)) {
      const bool is_used = rewriter_.has_users(user) || edit_.IsPinned(user) ||
                           rewriter_.root(rewriter_.computation(user)) == user;
      if (is_used) Want(static_cast<size_t>(edit_.Int(user, AttributeKey::kIndex)));
    }
    std::unordered_set<InstructionId> seen;
    Reach(rewriter_.root(condition_), in_condition_, seen);
    while (!newly_wanted_.empty()) {
      const size_t k = newly_wanted_.back();
      newly_wanted_.pop_back();
      Reach(edit_.operand(root_, k), in_body_, seen);
    }
    std::erase_if(carried_, [&](InstructionId id) { return !reached_.contains(id); });
  }
  void Want(size_t k) {
    if (!is_wanted_[k]) newly_wanted_.push_back(k);
    is_wanted_[k] = true;
  }
  // Marks the elements that a value is made of; what is in `seen` has been marked already.
  void Reach(InstructionId from, const Elements& elements,
             std::unordered_set<InstructionId>& seen) {
    std::vector<InstructionId> open = {from};
    while (!open.empty()) {
      const InstructionId at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      if (std::ranges::find(carried_, at) != carried_.end()) {
        reached_.insert(at);
        continue;
      }
      if (const auto k = ElementOf(at, elements)) {
        Want(*k);
        continue;
      }
      for (const InstructionId operand : rewriter_.operands(at)) open.push_back(operand);
    }
  }

  // What is the same in every iteration; of that, what hangs on heavy work, and of that, what
  // others take.
  void FindMoved() {
    std::vector<uint8_t> state;
    const auto order = rewriter_.Order(body_, state);
    if (!order) return;
    std::unordered_set<InstructionId> same, heavy;
    for (const InstructionId id : *order) {
      if (const auto k = ElementOf(id, in_body_)) {
        if (is_invariant_[*k]) same.insert(id);
        continue;
      }
      const std::vector<InstructionId> operands = rewriter_.operands(id);
      const auto is_same = [&](InstructionId operand) { return same.contains(operand); };
      if (!MayMove(edit_, id) || edit_.IsPinned(id) || !std::ranges::all_of(operands, is_same)) {
        continue;
      }
      same.insert(id);
      const bool has_heavy = std::ranges::any_of(
          operands, [&](InstructionId operand) { return heavy.contains(operand); });
      const bool grows = edit_.opcode(id) == Opcode::kBroadcast;
      if ((IsHeavy(edit_.opcode(id)) && !operands.empty()) || (has_heavy && !grows)) {
        heavy.insert(id);
      }
    }
    for (const InstructionId id : *order) {
      if (!heavy.contains(id)) continue;
      const auto users = rewriter_.users(id);
      const bool leaves =
          std::ranges::any_of(users, [&](InstructionId user) { return !heavy.contains(user); });
      if (leaves) carried_.push_back(id);
    }
  }

  // Computes what is carried before the loop.
  void MoveOut() {
    for (const InstructionId id : carried_) outside_.push_back(Outside(id));
  }
  InstructionId Outside(InstructionId id) {
    std::vector<InstructionId> open = {id};
    while (!open.empty()) {
      const InstructionId at = open.back();
      if (moved_.contains(at)) {
        open.pop_back();
        continue;
      }
      if (const auto k = ElementOf(at, in_body_)) {
        moved_[at] = edit_.operand(initial_, *k);
        continue;
      }
      bool is_ready = true;
      std::vector<InstructionId> operands;
      for (const InstructionId operand : rewriter_.operands(at)) {
        const auto found = moved_.find(operand);
        if (found == moved_.end()) {
          open.push_back(operand);
          is_ready = false;
        } else {
          operands.push_back(found->second);
        }
      }
      if (is_ready) moved_[at] = Copy(at, rewriter_.computation(id_), operands);
    }
    return moved_.at(id);
  }

  InstructionId Copy(InstructionId id, ComputationId to, std::span<const InstructionId> operands) {
    const InstructionId copy = Copied(id, to, operands);
    edit_.NoteSameValue(id, copy);
    return copy;
  }

  // The state of the new loop: what is wanted, and behind it what is carried.
  void Write() {
    std::vector<Shape> shapes;
    std::vector<InstructionId> initial;
    place_.assign(count_, 0);
    for (size_t k = 0; k < count_; ++k) {
      if (!is_wanted_[k]) continue;
      place_[k] = shapes.size();
      shapes.push_back(edit_.shape(id_).elements()[k]);
      initial.push_back(edit_.operand(initial_, k));
    }
    const size_t first_carried = shapes.size();
    for (size_t c = 0; c < carried_.size(); ++c) {
      shapes.push_back(edit_.shape(carried_[c]));
      initial.push_back(outside_[c]);
    }
    const Shape state = Shape::Tuple(shapes);

    const ComputationId condition = NewComputation(condition_);
    Copies copies = Parameter(condition, state, in_condition_, condition_);
    CopyWanted({rewriter_.root(condition_)}, condition, copies);
    rewriter_.SetRoot(condition, copies.at(rewriter_.root(condition_)));

    const ComputationId body = NewComputation(body_);
    copies = Parameter(body, state, in_body_, body_);
    std::vector<InstructionId> results;
    for (size_t c = 0; c < carried_.size(); ++c) {
      copies[carried_[c]] = Element(parameter_, first_carried + c, carried_[c], body);
    }
    std::vector<InstructionId> wanted;
    for (size_t k = 0; k < count_; ++k) {
      if (is_wanted_[k]) wanted.push_back(edit_.operand(root_, k));
    }
    CopyWanted(wanted, body, copies);
    for (const InstructionId value : wanted) results.push_back(copies.at(value));
    for (const InstructionId value : carried_) results.push_back(copies.at(value));
    const InstructionId root = rewriter_.Add(body, edit_.UniqueName(rewriter_.name(root_)),
                                             Opcode::kTuple, state, results);
    edit_.NoteOrigin(root, root_, OriginKind::kCopied);
    rewriter_.SetRoot(body, root);
    Replace(state, initial, condition, body);
  }

  ComputationId NewComputation(ComputationId like) {
    // The old one goes, and its name is free.
    const Module& original = edit_.original();
    return rewriter_.AddComputation(original[original[like].name], rewriter_.computation(id_));
  }

  // The parameter and the elements of it that are wanted.
  Copies Parameter(ComputationId c, const Shape& state, const Elements& elements,
                   ComputationId old) {
    const Attribute number = rewriter_.builder().MakeInt(AttributeKey::kParameterNumber, 0);
    InstructionId old_parameter;
    for (const InstructionId member : rewriter_.members(old)) {
      if (!rewriter_.removed(member) && edit_.opcode(member) == Opcode::kParameter) {
        old_parameter = member;
      }
    }
    parameter_ = rewriter_.Add(c, edit_.UniqueName(rewriter_.name(old_parameter)),
                               Opcode::kParameter, state, {}, std::span(&number, 1));
    edit_.NoteOrigin(parameter_, old_parameter, OriginKind::kCopied);
    Copies copies;
    std::vector<std::pair<InstructionId, size_t>> sorted(elements.begin(), elements.end());
    std::ranges::sort(sorted);
    for (const auto& [element, k] : sorted) {
      if (!is_wanted_[k]) continue;
      copies[element] = Element(parameter_, place_[k], element, c);
      edit_.NoteSameValue(element, copies[element]);
    }
    return copies;
  }
  InstructionId Element(InstructionId tuple, size_t place, InstructionId from, ComputationId c) {
    const Attribute index =
        rewriter_.builder().MakeInt(AttributeKey::kIndex, static_cast<int64_t>(place));
    const Shape shape = edit_.shape(from);
    const bool is_element = edit_.opcode(from) == Opcode::kGetTupleElement;
    const InstructionId made =
        rewriter_.Add(c, edit_.UniqueName(is_element ? rewriter_.name(from) : "get-tuple-element"),
                      Opcode::kGetTupleElement, shape, {&tuple, 1}, std::span(&index, 1));
    edit_.NoteOrigin(made, from, is_element ? OriginKind::kCopied : OriginKind::kReplaced);
    return made;
  }

  // Operands first; what has a copy needs no operands.
  void CopyWanted(std::vector<InstructionId> open, ComputationId to, Copies& copies) {
    while (!open.empty()) {
      const InstructionId at = open.back();
      if (copies.contains(at)) {
        open.pop_back();
        continue;
      }
      std::vector<InstructionId> operands;
      bool is_ready = true;
      for (const InstructionId operand : rewriter_.operands(at)) {
        const auto found = copies.find(operand);
        if (found == copies.end()) {
          open.push_back(operand);
          is_ready = false;
        } else {
          operands.push_back(found->second);
        }
      }
      if (is_ready) copies[at] = Copy(at, to, operands);
    }
  }

  void Replace(const Shape& state, std::span<const InstructionId> initial, ComputationId condition,
               ComputationId body) {
    std::vector<Attribute> attributes = {
        rewriter_.builder().MakeComputation(AttributeKey::kCondition, condition),
        rewriter_.builder().MakeComputation(AttributeKey::kBody, body)};
    for (const Attribute& attribute : rewriter_.attributes(id_)) {
      const bool is_callee =
          attribute.key == AttributeKey::kCondition || attribute.key == AttributeKey::kBody;
      // Add takes the metadata over.
      if (!is_callee && attribute.key != AttributeKey::kMetadata) attributes.push_back(attribute);
    }
    const InstructionId tuple = edit_.Add(initial_, "tuple", Opcode::kTuple, state, initial);
    const InstructionId loop =
        edit_.Add(id_, rewriter_.name(id_), Opcode::kWhile, state, {tuple}, std::move(attributes));
    edit_.NoteOrigin(loop, id_, OriginKind::kCopied);
    for (const InstructionId user : rewriter_.users(id_)) {
      const auto k = static_cast<size_t>(edit_.Int(user, AttributeKey::kIndex));
      if (!is_wanted_[k]) continue;
      edit_.Replace(user, Element(loop, place_[k], user, rewriter_.computation(id_)));
    }
    edit_.NoteChange();
  }

  InstructionId parameter_;  // of the computation that is being written
  std::vector<bool> is_invariant_, is_wanted_;
  std::vector<size_t> newly_wanted_;  // whose makers were not looked at yet
  std::vector<InstructionId> carried_, outside_;
  std::unordered_set<InstructionId> reached_;  // of those
  Copies moved_;
  std::vector<size_t> place_;  // by old element: in the new state
};

class LoopSimplifier {
 public:
  explicit LoopSimplifier(const std::shared_ptr<const Module>& module)
      : module_(*module), calls_(CallGraphOf(*module)), edit_(module) {}

  Result<PassResult> Run() {
    const std::vector<bool> runs = RunComputations(module_);
    // Loops inside first: what is copied has been simplified.
    for (const ComputationId c : calls_.callees_first()) {
      if (!runs[c.index]) continue;
      for (uint32_t k = 0; k < module_[c].instruction_count; ++k) {
        const InstructionId id(module_[c].first_instruction + k);
        if (module_[id].opcode == Opcode::kWhile && MayChangeLoop(edit_, calls_, id)) {
          Simplify(id);
        }
      }
    }
    return edit_.Finish();
  }

 private:
  void Simplify(InstructionId id) {
    Loop loop(edit_, id);
    if (!loop.Read()) return;
    loop.ForwardInvariants();
    const std::optional<int> iterations = loop.TripCount(2);
    if (iterations == 0) {
      loop.RunNever();
    } else if (iterations == 1) {
      loop.RunOnce();
    } else {
      loop.Rebuild();
    }
  }

  const Module& module_;
  const hlo::CallGraph& calls_;
  Edit edit_;
};

}  // namespace

Result<PassResult> SimplifyLoops(const std::shared_ptr<const Module>& module, Compilation&) {
  if (!HasOpcode(*module, Opcode::kWhile)) return PassResult{};
  return LoopSimplifier(module).Run();
}

}  // namespace hloscope::compile
