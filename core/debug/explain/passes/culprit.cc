// From a value that differs back to the edit.
#include "core/debug/explain/passes/culprit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/debug/explain/passes/carried.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/text/text.h"

namespace hloscope::debug {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

bool Holds(std::span<const InstructionId> list, InstructionId id) {
  return std::ranges::find(list, id) != list.end();
}

bool PassesOn(Opcode opcode) { return opcode == Opcode::kFusion || opcode == Opcode::kCall; }

bool HaveSameDimensions(const hlo::Shape& a, const hlo::Shape& b) {
  return a.IsArray() == b.IsArray() && std::ranges::equal(a.dimensions(), b.dimensions());
}

class Finder {
 public:
  Finder(const Pairing& pairing, const SameValue& same_value, const Callers& callers)
      : pairing_(pairing),
        b_(pairing.before()),
        a_(pairing.after()),
        same_value_(same_value),
        callers_(callers) {}

  Culprit Find(InstructionId after) {
    const InstructionId before = pairing_.Before(after);
    if (!before.valid()) return {{}, after, {}};
    return Find(before, after);
  }

 private:
  // Two instructions that should have one value.
  Culprit Find(InstructionId before, InstructionId after) {
    if (++depth_ > kMaxDepth) return {before, after, {}};
    if (const auto made = MadeBy(before, after)) {
      const auto [b, a] = *made;
      const bool is_pair = pairing_.Before(a) == b || AreUnpaired(b, a);
      return is_pair ? Find(b, a) : Rewired(b, a, {});
    }
    if (auto inside = InsideOf(before, after)) return *inside;
    if (!pairing_.IsSameOperation(before, after)) return MadeOf(before, Computing(after));
    if (auto operand = OperandOf(before, after)) return *operand;
    if (const auto other = DifferingOperand(before, after))
      return Find(other->first, other->second);
    return {before, after, {}};
  }

  // Of two that only carry values, what makes the first leaf that differs. That tuples have other
  // elements is no difference of values.
  std::optional<std::pair<InstructionId, InstructionId>> MadeBy(InstructionId before,
                                                                InstructionId after) const {
    if (!IsCarrier(b_[before].opcode) || !IsCarrier(a_[after].opcode)) return std::nullopt;
    const auto leaves_a = a_.shape(after).Leaves(), leaves_b = b_.shape(before).Leaves();
    for (const LoopState state : {LoopState::kFirst, LoopState::kLater}) {
      for (size_t i = 0; i < std::min(leaves_a.size(), leaves_b.size()); ++i) {
        const InstructionId a = CarriedFrom(a_, after, leaves_a[i].first, state);
        const InstructionId b = CarriedFrom(b_, before, leaves_b[i].first, state);
        const bool is_known = a.valid() && b.valid() && !IsCarrier(a_[a].opcode) &&
                              !IsCarrier(b_[b].opcode) &&
                              HaveSameDimensions(b_.shape(b), a_.shape(a));
        if (is_known && !same_value_(b, a)) return std::pair(b, a);
      }
    }
    return std::nullopt;
  }

  // The same operation on the same operands gives another value where one of them is only taken
  // for the same.
  std::optional<std::pair<InstructionId, InstructionId>> DifferingOperand(
      InstructionId before, InstructionId after) const {
    const auto operands_a = a_.operands(after);
    const auto operands_b = b_.operands(before);
    for (uint32_t s = 0; s < std::min(operands_a.size(), operands_b.size()); ++s) {
      const InstructionId a = GivenTo(a_, operands_a[s], callers_.after),
                          b = GivenTo(b_, operands_b[s], callers_.before);
      const bool is_pair =
          pairing_.Before(a) == b || pairing_.Before(operands_a[s]) == operands_b[s];
      if (a_[a].opcode == Opcode::kParameter || !is_pair) continue;
      if (!same_value_(b, a)) return std::pair(b, a);
    }
    return std::nullopt;
  }

  // Another operation may be made of the same computations, and one of those be changed.
  Culprit MadeOf(InstructionId before, InstructionId computing) {
    const bool calls = !b_.CalledComputations(b_[before]).empty();
    if (calls) {
      if (auto inside = InsideOf(before, computing)) return *inside;
    }
    return {before, computing, {}};
  }

  // Where elements are only moved, and what computes them is as new: that.
  InstructionId Computing(InstructionId after) const {
    InstructionId id = after;
    while (hlo::Info(a_[id].opcode).category == hlo::Category::kDataMovement) {
      const InstructionId operand = a_.operands(id)[0];
      if (pairing_.Before(operand).valid()) return after;
      id = operand;
    }
    return a_[id].opcode == Opcode::kParameter ? after : id;
  }

  // Of what the two call, what differs by its text; the results where nothing else does.
  std::optional<Culprit> InsideOf(InstructionId before, InstructionId after) {
    const auto callees_a = a_.CalledComputations(a_[after]);
    const auto callees_b = b_.CalledComputations(b_[before]);
    if (callees_a.size() == 1 && callees_b.empty()) return InsideNew(before, callees_a[0]);
    for (size_t i = 0; i < std::min(callees_a.size(), callees_b.size()); ++i) {
      const ComputationId ca = callees_a[i], cb = callees_b[i];
      if (pairing_.prints_after().computations[ca.index] ==
          pairing_.prints_before().computations[cb.index]) {
        continue;
      }
      if (auto found = ChangedIn(cb, ca)) return found;
    }
    return std::nullopt;
  }

  // What was one instruction is now a fusion or call of several: the last of them.
  std::optional<Culprit> InsideNew(InstructionId before, ComputationId callee) {
    const InstructionId root = a_[callee].root;
    if (a_[root].opcode == Opcode::kParameter) return std::nullopt;
    if (pairing_.Before(root).valid()) return Find(root);
    return Culprit{before, root, {}};
  }

  std::optional<Culprit> ChangedIn(ComputationId before, ComputationId after) {
    const hlo::Computation& computation = a_[after];
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const InstructionId id(computation.first_instruction + i);
      const InstructionId partner = pairing_.Before(id);
      if (a_[id].opcode == Opcode::kParameter || !partner.valid()) continue;
      if (HasOtherTuple(partner, id)) continue;
      if (!pairing_.IsSameOperation(partner, id)) return Culprit{partner, id, {}};
      if (PassesOn(a_[id].opcode)) continue;
      if (auto operand = OtherOperandOf(partner, id)) return operand;
    }
    return RootOf(b_[before].root, computation.root);
  }

  // An element of a tuple that has more or fewer of them: its number says nothing.
  bool HasOtherTuple(InstructionId before, InstructionId after) const {
    if (a_[after].opcode != Opcode::kGetTupleElement || b_[before].opcode != a_[after].opcode) {
      return false;
    }
    return a_.shape(a_.operands(after)[0]).LeafCount() !=
           b_.shape(b_.operands(before)[0]).LeafCount();
  }

  std::optional<Culprit> RootOf(InstructionId before, InstructionId after) {
    if (pairing_.Before(after) == before) return std::nullopt;
    return Rewired(before, after, {});
  }

  // `operand` is where `was` was.
  Culprit Rewired(InstructionId was, InstructionId operand, const Culprit& user) {
    const InstructionId partner = pairing_.Before(operand);
    if (pairing_.IsGone(was)) {
      if (partner.valid() && Holds(b_.operands(was), partner)) return {was, {}, {}};
      if (!partner.valid()) return {was, operand, {}};
    } else if (!partner.valid() && Holds(a_.operands(operand), AfterOf(was))) {
      return {{}, operand, {}};  // put in between
    }
    return user.after.valid() ? user : Culprit{was, operand, {}};
  }

  InstructionId AfterOf(InstructionId before) const {
    for (uint32_t i = 0; i < a_.instructions().size(); ++i) {
      if (pairing_.Before(InstructionId(i)) == before) return InstructionId(i);
    }
    return {};
  }

  // By the text alone: an operand that is another instruction than before, which is still there.
  std::optional<Culprit> OtherOperandOf(InstructionId before, InstructionId after) {
    const auto operands_a = a_.operands(after);
    const auto operands_b = b_.operands(before);
    for (uint32_t s = 0; s < std::min(operands_a.size(), operands_b.size()); ++s) {
      const InstructionId oa = operands_a[s], ob = operands_b[s];
      if (pairing_.Before(oa) != ob) return Rewired(ob, oa, {before, after, s});
    }
    return std::nullopt;
  }

  // The operand that has another value than before and is not the same instruction's.
  std::optional<Culprit> OperandOf(InstructionId before, InstructionId after) {
    const auto operands_a = a_.operands(after);
    const auto operands_b = b_.operands(before);
    for (uint32_t s = 0; s < std::min(operands_a.size(), operands_b.size()); ++s) {
      const InstructionId oa = operands_a[s], ob = operands_b[s];
      if (IsSwap(operands_a, operands_b, s)) return Culprit{before, after, s};
      if (IsSame(ob, oa)) {
        if (auto caller = CallerOf(ob, oa)) return caller;
        continue;
      }
      const InstructionId given_b = GivenTo(b_, ob, callers_.before),
                          given_a = GivenTo(a_, oa, callers_.after);
      if (IsSame(given_b, given_a)) continue;
      if (AreUnpaired(ob, oa)) return Find(ob, oa);
      const bool is_known = given_b == Resolved(b_, ob) && given_a == Resolved(a_, oa);
      if (is_known) return Rewired(ob, oa, {before, after, s});
      // Computations with several callers: what this one was given.
      return AreUnpaired(given_b, given_a) ? Find(given_b, given_a)
                                           : Rewired(given_b, given_a, {before, after, s});
    }
    return std::nullopt;
  }

  // What a parameter was given, also where only the calls of this execution say by whom.
  static InstructionId GivenTo(const Module& module, InstructionId id,
                               std::span<const runtime::Frame> calls) {
    id = Resolved(module, id);
    for (; module[id].opcode == Opcode::kParameter && !calls.empty(); id = Resolved(module, id)) {
      const InstructionId caller = calls.back().caller;
      calls = calls.first(calls.size() - 1);
      const auto callees = module.CalledComputations(module[caller]);
      if (std::ranges::find(callees, module[id].computation) == callees.end()) continue;
      if (!PassesOn(module[caller].opcode)) return id;
      const int64_t number = module.GetInt(module[id], hlo::AttributeKey::kParameterNumber);
      if (std::cmp_greater_equal(number, module.operands(caller).size())) return id;
      id = module.operands(caller)[static_cast<size_t>(number)];
    }
    return id;
  }

  // Both do the same to whatever they take, and nothing else took the place of either.
  bool AreUnpaired(InstructionId before, InstructionId after) const {
    return b_[before].opcode == a_[after].opcode && !pairing_.Before(after).valid() &&
           pairing_.IsGone(before) && HaveSameDimensions(b_.shape(before), a_.shape(after));
  }

  bool IsSame(InstructionId before, InstructionId after) const {
    return pairing_.Before(after) == before || same_value_(before, after);
  }

  // Both operands are still there, the other way round; what commutes may do that.
  bool IsSwap(std::span<const InstructionId> a, std::span<const InstructionId> b,
              uint32_t slot) const {
    if (a.size() != 2 || b.size() != 2 || slot != 0 || a[0] == a[1]) return false;
    return pairing_.Before(a[0]) == b[1] && pairing_.Before(a[1]) == b[0] && b[0] != b[1];
  }

  // Parameters of fusions and calls: what the callers pass.
  std::optional<Culprit> CallerOf(InstructionId before, InstructionId after) {
    if (a_[after].opcode != Opcode::kParameter || b_[before].opcode != Opcode::kParameter) {
      return std::nullopt;
    }
    const InstructionId ca = hlo::CallGraphOf(a_).OnlyCaller(a_[after].computation);
    const InstructionId cb = hlo::CallGraphOf(b_).OnlyCaller(b_[before].computation);
    if (!ca.valid() || !cb.valid() || a_[ca].opcode != b_[cb].opcode) return std::nullopt;
    if (!PassesOn(a_[ca].opcode)) return std::nullopt;
    const auto na = static_cast<size_t>(a_.GetInt(a_[after], hlo::AttributeKey::kParameterNumber));
    const auto nb = static_cast<size_t>(b_.GetInt(b_[before], hlo::AttributeKey::kParameterNumber));
    if (na >= a_.operands(ca).size() || nb >= b_.operands(cb).size()) return std::nullopt;
    const InstructionId oa = a_.operands(ca)[na], ob = b_.operands(cb)[nb];
    if (IsSame(ob, oa)) return CallerOf(ob, oa);
    return Rewired(ob, oa, {cb, ca, static_cast<uint32_t>(na)});
  }

  const Pairing& pairing_;
  const Module& b_;
  const Module& a_;
  const SameValue& same_value_;
  const Callers& callers_;
  static constexpr int kMaxDepth = 64;
  int depth_ = 0;
};

std::string TextOf(const Module& module, InstructionId id) {
  if (!id.valid()) return {};
  return std::string(hlo::InstructionPrinter(module, hlo::TextFormat::kElided).Text(id));
}

// "dimensions was {0} and became {1}".
std::string ChangedTexts(const Module& b, const Module& a, const Culprit& culprit) {
  const auto before = OperationTexts(b, culprit.before);
  const auto after = OperationTexts(a, culprit.after);
  const auto before_shown = ShownTexts(b, culprit.before);
  const auto after_shown = ShownTexts(a, culprit.after);
  const auto shown = [](const auto& texts, const std::string& name) {
    const auto text = texts.find(name);
    return text == texts.end() ? std::string() : text->second;
  };
  std::string out;
  auto add = [&](const std::string& name) {
    std::string was = shown(before_shown, name), is = shown(after_shown, name);
    if (was == is) was = shown(before, name), is = shown(after, name);
    if (!out.empty()) out += ", ";
    out += fmt::format("{} was {} and became {}", name, was.empty() ? "absent" : was,
                       is.empty() ? "absent" : is);
  };
  for (const auto& [name, text] : before) {
    const auto other = after.find(name);
    const std::string is = other == after.end() ? "" : other->second;
    if (is != text) add(name);
  }
  for (const auto& [name, text] : after) {
    if (!before.contains(name)) add(name);
  }
  return out;
}

std::string Words(const Module& b, const Module& a, const Culprit& culprit) {
  if (!culprit.after.valid()) {
    return fmt::format("{} {} was removed", hlo::ToString(b[culprit.before].opcode),
                       b.name(culprit.before));
  }
  if (!culprit.before.valid()) {
    return fmt::format("{} {} was added", hlo::ToString(a[culprit.after].opcode),
                       a.name(culprit.after));
  }
  if (culprit.slot && *culprit.slot < b.operands(culprit.before).size()) {
    return fmt::format("operand {} was {} and became {}", *culprit.slot,
                       b.name(b.operands(culprit.before)[*culprit.slot]),
                       a.name(a.operands(culprit.after)[*culprit.slot]));
  }
  const Opcode was = b[culprit.before].opcode, is = a[culprit.after].opcode;
  if (was != is) return fmt::format("{} became {}", hlo::ToString(was), hlo::ToString(is));
  const std::string texts = ChangedTexts(b, a, culprit);
  return texts.empty() ? fmt::format("its value changed") : texts;
}

InstructionEdit Described(const Module& b, const Module& a, const Culprit& culprit) {
  InstructionEdit edit;
  edit.before = TextOf(b, culprit.before);
  edit.after = TextOf(a, culprit.after);
  edit.what = Words(b, a, culprit);
  if (!edit.before.empty()) edit.diff += "- " + edit.before + "\n";
  if (!edit.after.empty()) edit.diff += "+ " + edit.after + "\n";
  return edit;
}

}  // namespace

InstructionId Resolved(const Module& module, InstructionId id) {
  while (module[id].opcode == Opcode::kParameter) {
    const InstructionId caller = hlo::CallGraphOf(module).OnlyCaller(module[id].computation);
    if (!caller.valid() || !PassesOn(module[caller].opcode)) return id;
    const auto number =
        static_cast<size_t>(module.GetInt(module[id], hlo::AttributeKey::kParameterNumber));
    if (number >= module.operands(caller).size()) return id;
    id = module.operands(caller)[number];
  }
  return id;
}

Culprit FindCulprit(const Pairing& pairing, InstructionId after, const SameValue& same_value,
                    const Callers& callers) {
  return Finder(pairing, same_value, callers).Find(after);
}

DivergePlace PlaceOf(const Pairing& pairing, const Culprit& culprit) {
  const bool is_there = culprit.after.valid();
  const Module& module = is_there ? pairing.after() : pairing.before();
  const InstructionId id = is_there ? culprit.after : culprit.before;
  return {std::string(module.name(id)), std::string(module[module[module[id].computation].name]),
          ""};
}

InstructionEdit DescribeEdit(const Pairing& pairing, const Culprit& culprit) {
  return Described(pairing.before(), pairing.after(), culprit);
}

InstructionEdit DescribeBackwards(const Pairing& pairing, const Culprit& culprit) {
  return Described(pairing.after(), pairing.before(),
                   {culprit.after, culprit.before, culprit.slot});
}

}  // namespace hloscope::debug
