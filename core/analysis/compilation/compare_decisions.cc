// Both lists are followed side by side, a fusion and the refusals before it at a time, with the
// names of A translated to those of B.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "core/analysis/align/alignment.h"
#include "core/analysis/compilation/decisions.h"
#include "core/analysis/compilation/recorded_fusion.h"
#include "core/base/counted.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::analysis {
namespace {

using hlo::InstructionId;
using Names = std::map<std::string, std::string, std::less<>>;

// Names of A to those of B; complete: instructions without one have no counterpart.
struct Translation {
  Names names;
  bool complete = false;
  int64_t only_a = 0, only_b = 0;  // instructions without a counterpart

  // Empty: B has none.
  std::string operator()(const std::string& name) const {
    const auto at = names.find(name);
    return at != names.end() ? at->second : complete ? std::string() : name;
  }
};

Translation Translate(const DecisionList& a, const DecisionList& b) {
  Translation out;
  if (a.before == nullptr || b.before == nullptr) return out;
  out.complete = true;
  const Alignment alignment = Align(*a.before, *b.before);
  std::vector<bool> taken(b.before->instructions().size());
  auto pair = [&](InstructionId of_a, InstructionId of_b) {
    taken[of_b.index] = true;
    out.names.emplace(a.before->name(of_a), b.before->name(of_b));
  };
  // Of alike instructions those of one name.
  std::vector<InstructionId> left;
  for (uint32_t k = 0; k < a.before->instructions().size(); ++k) {
    const InstructionId id(k);
    const auto links = alignment.Results(id);
    const auto named = std::ranges::find_if(links, [&](const Link& link) {
      return IsIdentity(link.reason) && a.before->name(id) == b.before->name(link.after);
    });
    named == links.end() ? left.push_back(id) : pair(id, named->after);
  }
  for (const InstructionId id : left) {
    const InstructionId other = alignment.SameAfter(id);
    if (other.valid() && !taken[other.index]) {
      pair(id, other);
    } else {
      ++out.only_a;
    }
  }
  out.only_b = std::ranges::count(taken, false);
  return out;
}

// A fusion and the refusals before it; the last of a list has no fusion. Where two rounds have
// other fusions, a refusal that only one of them has may be of a later round of the other: then
// that one's fusion is the first decision that differs.
struct Round {
  struct Refusal {
    const Decision* last = nullptr;
    int64_t count = 0;                   // of the same, which may be repeated
    std::vector<const Decision*> kinds;  // one for each reason
  };
  std::map<std::pair<std::string, std::string>, Refusal> refusals;
  const Decision* fusion = nullptr;
  int64_t begin = 0;  // the first step that may be of it
};

std::vector<Round> RoundsOf(const DecisionList& list) {
  std::vector<Round> out(1);
  for (const Decision& one : list.decisions) {
    if (one.is_fused()) {
      out.back().fusion = &one;
      out.emplace_back().begin = one.step + 1;
    } else {
      Round::Refusal& refusal = out.back().refusals[{one.producer, one.consumer}];
      refusal.last = &one;
      ++refusal.count;
      if (std::ranges::none_of(refusal.kinds,
                               [&](const Decision* known) { return known->reason == one.reason; }))
        refusal.kinds.push_back(&one);
    }
  }
  return out;
}

std::string TextOf(const Decision* decision) {
  if (decision == nullptr) return "no decision is left";
  std::string out = fmt::format("step {}: {}", decision->step, decision->producer);
  if (!decision->is_fused()) {
    out += decision->consumer.empty() ? " not fused" : " not fused into " + decision->consumer;
  } else {
    out += " into " + decision->consumer;
    if (decision->fusion != decision->consumer)
      out += ", called " + decision->fusion + " from then on";
  }
  return decision->reason.empty() ? out : out + ": " + decision->reason;
}

class Comparer {
 public:
  Comparer(const DecisionList& a, const DecisionList& b) : a_(a), b_(b), names_(Translate(a, b)) {}

  DecisionComparison Compare() {
    out_.made_by = a_.made_by;
    out_.count_a = std::ssize(a_.decisions);
    out_.count_b = std::ssize(b_.decisions);
    out_.fused_a = std::ranges::count_if(a_.decisions, &Decision::is_fused);
    out_.fused_b = std::ranges::count_if(b_.decisions, &Decision::is_fused);
    for (const auto& [side, list] : {std::pair("A", &a_), std::pair("B", &b_)}) {
      for (const std::string& note : list->notes)
        out_.notes.push_back(fmt::format("{}: {}", side, note));
    }
    Follow();
    if (out_.differs) Explain();
    if (other_reasons_ > 0)
      out_.notes.push_back(
          fmt::format("{} for another reason, first {}",
                      Counted(other_reasons_, "producer is refused", "producers are refused"),
                      first_other_reason_));
    return std::move(out_);
  }

 private:
  void Follow() {
    const std::vector<Round> of_a = RoundsOf(a_), of_b = RoundsOf(b_);
    for (size_t k = 0; k < std::min(of_a.size(), of_b.size()); ++k) {
      const Decision *x = of_a[k].fusion, *y = of_b[k].fusion;
      const bool are_last = x == nullptr && y == nullptr;
      const bool same = x != nullptr && y != nullptr && names_(x->producer) == y->producer &&
                        names_(x->consumer) == y->consumer;
      const auto [only_a, only_b] = Unmatched(of_a[k], of_b[k]);
      from_a_ = of_a[k].begin;
      from_b_ = of_b[k].begin;
      const Decision* const first_of_a = only_a != nullptr ? only_a : x;
      out_.same += std::ranges::count_if(of_a[k].refusals, [&](const auto& refusal) {
        return first_of_a == nullptr || refusal.second.last->step < first_of_a->step;
      });
      if (!same && !are_last) {
        const Decision* const first_of_b = only_b != nullptr ? only_b : y;
        return Differ(Earlier(RefusedAgain(of_a[k], of_b[k], first_of_b, false), first_of_a),
                      Earlier(RefusedAgain(of_b[k], of_a[k], first_of_a, true), first_of_b));
      }
      if (only_a != nullptr || only_b != nullptr) {
        // Where one side alone has a refusal: what the other decides about that producer.
        return Differ(only_a != nullptr ? only_a : About(a_, NameInA(only_b->producer), from_a_, x),
                      only_b != nullptr ? only_b : About(b_, names_(only_a->producer), from_b_, y));
      }
      if (are_last) return;
      names_.names.insert_or_assign(x->fusion, y->fusion);
      ++out_.same;
    }
  }

  // Where the other side fuses a producer: its refusal on this side, if it has one more there.
  const Decision* RefusedAgain(const Round& round, const Round& other, const Decision* fused,
                               bool is_b) const {
    if (fused == nullptr || !fused->is_fused()) return nullptr;
    const auto at =
        round.refusals.find({is_b ? names_(fused->producer) : NameInA(fused->producer), ""});
    if (at == round.refusals.end()) return nullptr;
    const auto theirs = other.refusals.find({fused->producer, ""});
    const int64_t count = theirs == other.refusals.end() ? 0 : theirs->second.count;
    return at->second.count > count ? at->second.last : nullptr;
  }

  static const Decision* Earlier(const Decision* a, const Decision* b) {
    if (a == nullptr || b == nullptr) return a != nullptr ? a : b;
    return a->step < b->step ? a : b;
  }

  // Of each side's refusals of one round the first by its step that the other side has not.
  std::pair<const Decision*, const Decision*> Unmatched(const Round& x, const Round& y) {
    const Decision *only_a = nullptr, *only_b = nullptr;
    std::set<std::pair<std::string, std::string>> met;
    for (const auto& [key, refusals] : x.refusals) {
      const Decision* const refusal = refusals.last;
      const std::pair other(names_(key.first), names_(key.second));
      const auto at = y.refusals.find(other);
      if (at == y.refusals.end()) {
        if (only_a == nullptr || refusal->step < only_a->step) only_a = refusal;
        continue;
      }
      met.insert(other);
      if (const auto others = OtherReasons(refusals.kinds, at->second.kinds)) {
        if (other_reasons_++ == 0)
          first_other_reason_ =
              fmt::format("{}; {}", TextOf(others->first), TextOf(others->second));
      }
    }
    for (const auto& [key, refusals] : y.refusals) {
      const Decision* const refusal = refusals.last;
      if (met.contains(key)) continue;
      if (only_b == nullptr || refusal->step < only_b->step) only_b = refusal;
    }
    return {only_a, only_b};
  }

  // Of the reasons for which one producer is refused in a round, a pair that differs: the first
  // that the other side lacks, beside the first that this side lacks, or any of the other side's.
  std::optional<std::pair<const Decision*, const Decision*>> OtherReasons(
      const std::vector<const Decision*>& x, const std::vector<const Decision*>& y) const {
    const auto same = [&](const Decision* one, const Decision* other) {
      return one->reason == other->reason || SameReason(*one, *other);
    };
    const auto of_x = std::ranges::find_if(x, [&](const Decision* one) {
      return std::ranges::none_of(y, [&](const Decision* other) { return same(one, other); });
    });
    const auto of_y = std::ranges::find_if(y, [&](const Decision* other) {
      return std::ranges::none_of(x, [&](const Decision* one) { return same(one, other); });
    });
    if (of_x == x.end() && of_y == y.end()) return std::nullopt;
    return std::pair(of_x == x.end() ? x.back() : *of_x, of_y == y.end() ? y.back() : *of_y);
  }

  // Reasons name instructions.
  bool SameReason(const Decision& x, const Decision& y) const {
    std::string translated;
    std::string_view rest = x.reason;
    constexpr std::string_view kEnds = " ,;:()[]'\"=%";
    while (!rest.empty()) {
      const size_t end = std::min(rest.find_first_of(kEnds), rest.size());
      const auto at = names_.names.find(rest.substr(0, end));
      translated += at == names_.names.end() ? rest.substr(0, end) : at->second;
      rest.remove_prefix(end);
      if (!rest.empty()) translated += rest[0];
      if (!rest.empty()) rest.remove_prefix(1);
    }
    return translated == y.reason;
  }

  std::string NameInA(const std::string& name) const {
    for (const auto& [of_a, of_b] : names_.names) {
      if (of_b == name) return of_a;
    }
    return names_.complete ? std::string() : name;
  }

  // The first decision with that producer from the step `from` on, else the last before it, else
  // `next`.
  static const Decision* About(const DecisionList& list, const std::string& producer, int64_t from,
                               const Decision* next) {
    const Decision* found = nullptr;
    for (const Decision& one : list.decisions) {
      if (one.producer != producer) continue;
      found = &one;
      if (one.step >= from) break;
    }
    return found != nullptr ? found : next;
  }

  void Differ(const Decision* x, const Decision* y) {
    out_.differs = true;
    for (const auto& [decision, list, side] :
         {std::tuple(x, &a_, &out_.a), std::tuple(y, &b_, &out_.b)}) {
      side->text = TextOf(decision);
      if (decision == nullptr) continue;
      side->decision = *decision;
      const auto estimate = list->estimates.find(decision->producer);
      if (estimate != list->estimates.end()) side->estimate = estimate->second;
      if (list->with_sources == nullptr) continue;
      const InstructionId id = hlo::FindInstruction(*list->with_sources, decision->producer);
      if (id.valid()) side->source = hlo::ToString(hlo::SourceLineOf(*list->with_sources, id));
    }
  }

  // What the decisions rest on.
  void Explain() {
    ExplainDevice();
    if (names_.only_a + names_.only_b > 0) {
      out_.because.push_back(fmt::format(
          "the modules differ before the pass: {} of A and {} of B without a counterpart",
          Counted(names_.only_a, "instruction"), names_.only_b));
    }
    for (const auto& [side, other] : {std::pair(&out_.a, 'B'), std::pair(&out_.b, 'A')}) {
      if (side->decision) Counterpart(*side->decision, other);
    }
    for (const auto& [name, x] : a_.estimates) {
      const auto at = b_.estimates.find(names_(name));
      if (at == b_.estimates.end()) continue;
      const FusionEstimate& y = at->second;
      if (IsNear(x.us_fused, y.us_fused) && IsNear(x.us_unfused, y.us_unfused)) continue;
      out_.because.push_back(fmt::format("the estimate for {} differs: {} in A, {} in B", name,
                                         EstimateText(x.us_fused, x.us_unfused),
                                         EstimateText(y.us_fused, y.us_unfused)));
      break;
    }
  }

  void ExplainDevice() {
    constexpr size_t kShown = 5;
    const std::map<std::string, std::string> of_b(b_.device.begin(), b_.device.end());
    std::vector<std::string> differing;
    for (const auto& [key, value] : a_.device) {
      const auto other = of_b.find(key);
      const std::string found = other == of_b.end() ? "absent" : other->second;
      if (found != value)
        differing.push_back(
            fmt::format("the device differs: {} is {} in A, {} in B", key, value, found));
    }
    const size_t left_out = differing.size() - std::min(differing.size(), kShown);
    differing.resize(differing.size() - left_out);
    std::ranges::move(differing, std::back_inserter(out_.because));
    if (left_out > 0)
      out_.because.push_back(fmt::format("{} of the device {} as well", Counted(left_out, "field"),
                                         VerbFor(left_out, "differs", "differ")));
  }

  // What the other compilation decided about the same two.
  void Counterpart(const Decision& decision, char other) {
    const DecisionList& list = other == 'A' ? a_ : b_;
    auto translated = [&](const std::string& name) {
      return other == 'A' ? NameInA(name) : names_(name);
    };
    const std::string producer = translated(decision.producer);
    const auto& shown = other == 'A' ? out_.a.decision : out_.b.decision;
    if (producer.empty()) {
      out_.because.push_back(fmt::format("{} has no instruction {}", other, decision.producer));
      return;
    }
    if (shown && shown->producer == producer) return;
    const Decision* found = About(list, producer, other == 'A' ? from_a_ : from_b_, nullptr);
    if (found != nullptr) {
      out_.because.push_back(fmt::format("{} decides about it at {}", other, TextOf(found)));
      return;
    }
    const auto estimate = list.estimates.find(producer);
    if (estimate != list.estimates.end() &&
        estimate->second.us_fused > estimate->second.us_unfused) {
      out_.because.push_back(
          fmt::format("{} estimates that {} is slower fused: {}", other, producer,
                      EstimateText(estimate->second.us_fused, estimate->second.us_unfused)));
    } else {
      out_.because.push_back(fmt::format("{} decides nothing about {}", other, producer));
    }
  }

  // Of numbers that were printed with six digits.
  static bool IsNear(double x, double y) {
    return std::abs(x - y) <= 1e-5 * std::max(std::abs(x), std::abs(y));
  }

  const DecisionList &a_, &b_;
  Translation names_;
  DecisionComparison out_;
  int64_t from_a_ = 0, from_b_ = 0;  // steps with which the round of the first difference begins
  int64_t other_reasons_ = 0;
  std::string first_other_reason_;
};

}  // namespace

Result<DecisionComparison> CompareDecisions(const DecisionList& a, const DecisionList& b) {
  if (a.made_by != b.made_by)
    return InputError(
        fmt::format("the decisions of A are those of {}, of B those of {}", a.made_by, b.made_by),
        "compare two compilations by the same compiler");
  return Comparer(a, b).Compare();
}

}  // namespace hloscope::analysis
