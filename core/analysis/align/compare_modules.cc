// Matching instructions of two modules by fingerprint, then by name.
#include "core/analysis/align/compare_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <unordered_map>

#include "core/analysis/align/change_text.h"
#include "core/analysis/align/fingerprint.h"
#include "core/analysis/align/match_in_order.h"
#include "core/analysis/align/program_fingerprint.h"
#include "core/base/counted.h"
#include "core/base/progress/activity.h"
#include "core/hlo/analysis/summary.h"

namespace hloscope::analysis {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;

struct Side {
  Side(const Module& m, const FingerprintOptions& options)
      : module(m), prints(Fingerprint(m, options)), unused_elements(UnusedElements(m)) {}

  const Module& module;
  Fingerprints prints;
  std::vector<bool> unused_elements;

  std::string ComputationName(ComputationId id) const {
    return std::string(module[module[id].name]);
  }
  std::string Name(InstructionId id) const { return std::string(module.name(id)); }
};

bool FromProto(const Module& m) { return !m.proto_instruction_ids().empty(); }

std::vector<InstructionId> ControlOf(const Module& module, InstructionId id) {
  std::vector<InstructionId> ids;
  const hlo::Attribute* const control = module.Find(id, AttributeKey::kControlPredecessors);
  if (control == nullptr) return ids;
  for (const uint32_t before : module.IdsOf(*control)) ids.emplace_back(before);
  return ids;
}

std::vector<InstructionId> InstructionsOf(const Side& side, ComputationId c) {
  std::vector<InstructionId> ids;
  for (uint32_t k = 0; k < side.module[c].instruction_count; ++k) {
    InstructionId id(side.module[c].first_instruction + k);
    if (!side.unused_elements[id.index]) ids.push_back(id);
  }
  return ids;
}

class Comparer {
 public:
  Comparer(const Module& a, const Module& b, const FingerprintOptions& options)
      : options_(options), a_(a, options), b_(b, options) {}

  ModuleComparison Run() {
    paired_a_.resize(a_.module.computations().size());
    paired_b_.resize(b_.module.computations().size());
    Pair(a_.module.entry_id(), b_.module.entry_id());
    ComparePaired();
    // What no pair of callers leads to: computations of equal meaning, then those of equal name.
    PairLeft([](const Side& s, ComputationId c) { return s.prints.computations[c.index]; });
    PairLeft([](const Side& s, ComputationId c) { return s.ComputationName(c); });
    for (ComputationId c : Left(paired_a_)) AddWhole(a_, c, result_.removed);
    for (ComputationId c : Left(paired_b_)) AddWhole(b_, c, result_.added);
    std::ranges::move(following_, std::back_inserter(result_.changed));
    CompareHeaders();
    result_.equal = result_.changed.empty() && result_.added.empty() && result_.removed.empty();
    return std::move(result_);
  }
  std::vector<std::pair<InstructionId, InstructionId>> TakeEqual() { return std::move(equal_); }

 private:
  InstructionChange ChangeOf(ComputationId c, InstructionId a, InstructionId b,
                             std::string what) const {
    return {c.valid() ? a_.ComputationName(c) : "",
            a.valid() ? a_.Name(a) : "",
            b.valid() ? b_.Name(b) : "",
            std::move(what),
            a,
            b,
            false};
  }
  void Change(ComputationId c, InstructionId a, InstructionId b, std::string what) {
    result_.changed.push_back(ChangeOf(c, a, b, std::move(what)));
  }

  void AddFollowing(ComputationId c, InstructionId a, InstructionId b, std::string what) {
    following_.push_back(ChangeOf(c, a, b, std::move(what)));
    following_.back().follows = true;
  }

  void CompareHeaders() {
    const auto a = HeaderFacts(a_.module), b = HeaderFacts(b_.module);
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k].text != b[k].text) {
        Change({}, {}, {},
               fmt::format("module {} differs: {}", a[k].what, BecameText(a[k].text, b[k].text)));
      }
    }
  }

  void Pair(ComputationId a, ComputationId b) {
    if (paired_a_[a.index] || paired_b_[b.index]) return;
    paired_a_[a.index] = paired_b_[b.index] = true;
    pairs_.emplace_back(a, b);
  }

  // Compares what is paired, and what it calls: of equal computations the one that the same
  // instruction calls is meant.
  void ComparePaired() {
    for (; compared_ < pairs_.size(); ++compared_) {
      auto [a, b] = pairs_[compared_];
      CompareComputations(a, b);
    }
  }

  void PairCallees(InstructionId a, InstructionId b) {
    if (a_.module[a].attribute_count == 0) return;
    std::vector<ComputationId> xs = a_.module.CalledComputations(a_.module[a]);
    std::vector<ComputationId> ys = b_.module.CalledComputations(b_.module[b]);
    if (xs.size() != ys.size()) return;
    for (size_t k = 0; k < xs.size(); ++k) Pair(xs[k], ys[k]);
  }

  static std::vector<ComputationId> Left(const std::vector<bool>& paired) {
    std::vector<ComputationId> left;
    for (uint32_t c = 0; c < paired.size(); ++c) {
      if (!paired[c]) left.emplace_back(c);
    }
    return left;
  }

  template <typename KeyOf>
  void PairLeft(KeyOf key) {
    std::vector<ComputationId> left_a = Left(paired_a_), left_b = Left(paired_b_);
    std::vector<std::pair<ComputationId, ComputationId>> found;
    Match(left_a, left_b, found, key);
    for (auto [a, b] : found) Pair(a, b);
    ComparePaired();
  }

  // Moves pairs of equal key from both lists to `pairs`, in order.
  template <typename T, typename KeyOf>
  void Match(std::vector<T>& left_a, std::vector<T>& left_b, std::vector<std::pair<T, T>>& pairs,
             KeyOf key) {
    if (left_a.empty() || left_b.empty()) return;
    std::unordered_map<std::decay_t<decltype(key(a_, T()))>, std::vector<T>> by_key;
    for (T b : left_b | std::views::reverse) by_key[key(b_, b)].push_back(b);
    std::set<T> used;
    std::erase_if(left_a, [&](T a) {
      auto at = by_key.find(key(a_, a));
      if (at == by_key.end() || at->second.empty()) return false;
      pairs.emplace_back(a, at->second.back());
      used.insert(at->second.back());
      at->second.pop_back();
      return true;
    });
    std::erase_if(left_b, [&](T b) { return used.contains(b); });
  }

  // A negative key that no other instruction has.
  int64_t Alone(const Side& side, InstructionId id) const {
    return -2 * int64_t{id.index} - (&side == &a_ ? 1 : 2);
  }

  void CompareComputations(ComputationId ca, ComputationId cb) {
    const auto before = static_cast<ptrdiff_t>(result_.changed.size());
    std::vector<std::pair<InstructionId, InstructionId>> matched;
    std::vector<InstructionId> left_a = InstructionsOf(a_, ca), left_b = InstructionsOf(b_, cb);
    // Of several equal ones those of one name belong together.
    Match(left_a, left_b, matched, [](const Side& s, InstructionId i) {
      return s.prints.full[i.index] ^ hlo::HashBytes(s.module.name(i));
    });
    Match(left_a, left_b, matched,
          [](const Side& s, InstructionId i) { return s.prints.full[i.index]; });
    for (auto [a, b] : matched) CompareConstants(ca, a, b);
    // What is left changed itself or depends on a change. By operands and name, then by what it
    // does: of one name that has another opcode and another shape, it is something else.
    const size_t exact = matched.size();
    equal_.insert(equal_.end(), matched.begin(), matched.end());
    // Not clear(), which takes as long as the largest computation did.
    partner_ = Partners(matched.begin(), matched.end());
    std::ranges::move(
        MatchInOrder({a_.module, a_.prints, left_a}, {b_.module, b_.prints, left_b}, partner_),
        std::back_inserter(matched));
    Match(left_a, left_b, matched, [](const Side& s, InstructionId i) {
      return s.Name(i) + ' ' + std::string(hlo::ToString(s.module[i].opcode));
    });
    Match(left_a, left_b, matched, [](const Side& s, InstructionId i) {
      return s.Name(i) + ' ' + hlo::ToString(s.module.shape(i).WithDefaultLayouts());
    });
    Match(left_a, left_b, matched, [this](const Side& s, InstructionId i) {
      const bool is_parameter = s.module[i].opcode == hlo::Opcode::kParameter;
      return is_parameter ? int64_t{s.module.GetInt(s.module[i], AttributeKey::kParameterNumber)}
                          : Alone(s, i);
    });
    Match(left_a, left_b, matched,
          [](const Side& s, InstructionId i) { return s.prints.local[i.index]; });
    Match(left_a, left_b, matched,
          [](const Side& s, InstructionId i) { return s.prints.own[i.index]; });
    // Constants of other values.
    Match(left_a, left_b, matched, [this](const Side& s, InstructionId i) {
      const bool is_constant = s.module[i].opcode == hlo::Opcode::kConstant;
      return is_constant ? s.module.shape(i).WithDefaultLayouts().Hash() | 1
                         : static_cast<uint64_t>(-2 * Alone(s, i));
    });
    for (auto [a, b] : matched) partner_[a] = b;
    MatchByOperands(left_a, left_b, matched);
    for (auto [a, b] : matched) PairCallees(a, b);
    for (size_t k = exact; k < matched.size(); ++k) {
      Explain(ca, matched[k].first, matched[k].second);
    }
    std::stable_sort(result_.changed.begin() + before, result_.changed.end(),
                     [](const auto& x, const auto& y) { return x.a < y.a; });
    for (InstructionId a : left_a)
      result_.removed.push_back({a_.ComputationName(ca), a_.Name(a), a});
    for (InstructionId b : left_b) result_.added.push_back({b_.ComputationName(cb), b_.Name(b), b});
    InstructionId root_a = a_.module[ca].root, root_b = b_.module[cb].root;
    // Instructions of equal meaning may be matched crosswise.
    bool same_root = a_.prints.full[root_a.index] == b_.prints.full[root_b.index] ||
                     std::ranges::find(matched, std::pair(root_a, root_b)) != matched.end();
    if (!same_root) AddFollowing(ca, root_a, root_b, "different root");
  }

  // The same operation on operands that belong together: of another name, and with attributes that
  // were lost or added on the way.
  void MatchByOperands(std::vector<InstructionId>& left_a, std::vector<InstructionId>& left_b,
                       std::vector<std::pair<InstructionId, InstructionId>>& matched) {
    if (left_a.empty() || left_b.empty()) return;
    std::unordered_map<std::string, std::vector<InstructionId>> by_key;
    for (const InstructionId b : left_b | std::views::reverse) {
      const std::string key = OperandKey(b_.module, b);
      if (!key.empty()) by_key[key].push_back(b);
    }
    std::set<InstructionId> used;
    std::erase_if(left_a, [&](InstructionId a) {
      const auto at = by_key.find(OperandKey(a_.module, a, &partner_));
      if (at == by_key.end() || at->second.empty()) return false;
      const InstructionId b = at->second.back();
      at->second.pop_back();
      used.insert(b);
      partner_[a] = b;
      matched.emplace_back(a, b);
      return true;
    });
    std::erase_if(left_b, [&](InstructionId b) { return used.contains(b); });
  }

  void CompareConstants(ComputationId c, InstructionId a, InstructionId b) {
    const auto* x = a_.module.Get<hlo::Literal>(a_.module[a], AttributeKey::kConstantValue);
    const auto* y = b_.module.Get<hlo::Literal>(b_.module[b], AttributeKey::kConstantValue);
    if (x == nullptr || y == nullptr) return;
    if (x->elided() || y->elided()) {
      ++result_.elided;
      return;
    }
    // A text may have lost what XLA's printing loses; two protos have lost nothing.
    const bool exact = FromProto(a_.module) && FromProto(b_.module);
    const std::string text = ConstantChangeText(*x, *y, exact);
    if (!text.empty()) Change(c, a, b, "constant value differs: " + text);
  }

  // Why two instructions that belong together are not the same; nothing where only their operands'
  // meaning changed.
  void Explain(ComputationId c, InstructionId a, InstructionId b) {
    const Instruction &x = a_.module[a], &y = b_.module[b];
    if (x.opcode != y.opcode) {
      Change(c, a, b,
             fmt::format("opcode {} became {}", hlo::ToString(x.opcode), hlo::ToString(y.opcode)));
      return;
    }
    const size_t before = result_.changed.size();
    std::string shape_a = hlo::ToString(a_.module.shape(a).WithDefaultLayouts());
    std::string shape_b = hlo::ToString(b_.module.shape(b).WithDefaultLayouts());
    if (shape_a != shape_b) Change(c, a, b, fmt::format("shape {} became {}", shape_a, shape_b));
    if (shape_a == shape_b) CompareConstants(c, a, b);
    ExplainAttributes(c, a, b);
    ExplainOperands(c, a, b);
    ExplainControl(c, a, b);
    const bool calls_differ =
        a_.prints.local[a.index] != b_.prints.local[b.index] && result_.changed.size() == before;
    if (calls_differ && !a_.module.CalledComputations(x).empty())
      AddFollowing(c, a, b, "called computation differs");
  }

  void ExplainAttributes(ComputationId c, InstructionId a, InstructionId b) {
    auto texts_a = AttributeTexts(a_.module, a, options_),
         texts_b = AttributeTexts(b_.module, b, options_);
    // A default has no text, whether it is written or not.
    for (const auto& [name, text] : texts_b) texts_a.try_emplace(name);
    for (const auto& [name, text] : texts_a) {
      if (texts_b[name] == text) continue;
      const std::string was = AttributeValueText(a_.module, a, name);
      const std::string is = AttributeValueText(b_.module, b, name);
      Change(c, a, b,
             was.empty()  ? fmt::format("attribute {} added: {}", name, ShortText(is))
             : is.empty() ? fmt::format("attribute {} removed: {}", name, ShortText(was))
                          : fmt::format("attribute {} differs: {}", name, BecameText(was, is)));
    }
  }

  void ExplainOperands(ComputationId c, InstructionId a, InstructionId b) {
    auto xs = a_.module.operands(a), ys = b_.module.operands(b);
    if (xs.size() != ys.size()) {
      Change(c, a, b, fmt::format("{} became {}", Counted(xs.size(), "operand"), ys.size()));
      return;
    }
    for (size_t k = 0; k < xs.size(); ++k) {
      if (AreSame(xs[k], ys[k])) continue;
      Change(c, a, b,
             fmt::format("operand {}: {} became {}", k, NameBeside(xs[k], b_.Name(ys[k])),
                         b_.Name(ys[k])));
    }
  }

  // The name of an operand in a; where b's has it too, also what became of that one.
  std::string NameBeside(InstructionId a, const std::string& name_b) const {
    std::string name = a_.Name(a);
    if (name != name_b) return name;
    const auto partner = partner_.find(a);
    return partner == partner_.end() ? name + " (removed)"
                                     : fmt::format("{} ({} there)", name, b_.Name(partner->second));
  }

  void ExplainControl(ComputationId c, InstructionId a, InstructionId b) {
    std::vector<InstructionId> xs = ControlOf(a_.module, a), ys = ControlOf(b_.module, b);
    const auto names = [](const Side& side, const std::vector<InstructionId>& ids) {
      std::string out;
      for (const InstructionId id : ids) out += (out.empty() ? "" : ", ") + side.Name(id);
      return out;
    };
    const std::string became = BecameText(names(a_, xs), names(b_, ys));
    std::erase_if(xs, [&](InstructionId x) {
      const auto y = std::ranges::find_if(ys, [&](InstructionId id) { return AreSame(x, id); });
      if (y == ys.end()) return false;
      ys.erase(y);
      return true;
    });
    if (!xs.empty() || !ys.empty()) Change(c, a, b, "control predecessors differ: " + became);
  }

  bool AreSame(InstructionId a, InstructionId b) const {
    const auto partner = partner_.find(a);
    return a_.prints.full[a.index] == b_.prints.full[b.index] ||
           (partner != partner_.end() && partner->second == b);
  }

  FingerprintOptions options_;
  Side a_, b_;
  std::vector<std::pair<ComputationId, ComputationId>> pairs_;
  size_t compared_ = 0;  // of pairs_
  static void AddWhole(const Side& side, ComputationId c, std::vector<InstructionName>& names) {
    const hlo::Computation& computation = side.module[c];
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const InstructionId id(computation.first_instruction + i);
      if (side.unused_elements[id.index]) continue;
      names.push_back({side.ComputationName(c), side.Name(id), id, true});
    }
  }

  std::vector<bool> paired_a_, paired_b_;
  Partners partner_;                          // in the computations at hand
  std::vector<InstructionChange> following_;  // that follow from those of other instructions
  std::vector<std::pair<InstructionId, InstructionId>> equal_;
  ModuleComparison result_;
};

Comparer ComparerOf(const Module& a, const Module& b) {
  // Where a value is not known on one side, those of its kind are paired without values.
  const bool all_known = hlo::ElidedConstants(a).empty() && hlo::ElidedConstants(b).empty();
  const bool is_compact = HasCompactOperands(a) || HasCompactOperands(b);
  return {a,
          b,
          {.constants = all_known ? ConstantValues::kAll : ConstantValues::kSmall,
           .element_attributes = !is_compact}};
}

}  // namespace

std::string FirstChange::ToString() const {
  return text_a.empty() || text_b.empty() || text_a == text_b
             ? what
             : fmt::format("{}: {} became {}", what, text_a, text_b);
}

FirstChange FirstChangeOf(const Module& a, const Module& b, const ModuleComparison& comparison) {
  const auto& [equal, elided, changed, added, removed] = comparison;
  const auto place = [](const std::string& instruction, const std::string& computation) {
    if (instruction.empty()) return computation.empty() ? std::string("module") : computation;
    return computation.empty() ? instruction : instruction + " in " + computation;
  };
  const auto text = [](const Module& module, InstructionId id) {
    return id.valid() ? PlainText(module, id) : "";
  };
  const bool is_change =
      !changed.empty() && (changed.front().is_cause() || (added.empty() && removed.empty()));
  if (is_change) {
    const InstructionChange& c = changed.front();
    return {fmt::format("{}: {}", place(c.instruction, c.computation), c.what), text(a, c.a),
            text(b, c.b)};
  }
  if (!removed.empty()) {
    const InstructionName& r = removed.front();
    return {place(r.instruction, r.computation) + ": removed", text(a, r.id), {}};
  }
  if (added.empty()) return {};
  const InstructionName& n = added.front();
  return {place(n.instruction, n.computation) + ": added", {}, text(b, n.id)};
}

ModuleComparison CompareModules(const Module& a, const Module& b) {
  const Activity activity("comparing", a.name());
  return ComparerOf(a, b).Run();
}

std::vector<std::pair<InstructionId, InstructionId>> EqualInstructions(const Module& a,
                                                                       const Module& b) {
  Comparer comparer = ComparerOf(a, b);
  comparer.Run();
  return comparer.TakeEqual();
}

}  // namespace hloscope::analysis
