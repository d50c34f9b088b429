// Changes out of an alignment: by instruction, in numbers and as rows.
#include "core/analysis/align/pass_changes.h"

#include <algorithm>
#include <unordered_map>

#include "core/analysis/align/fingerprint.h"

namespace hloscope::analysis {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;

class Finder {
 public:
  Finder(const Module& before, const Module& after, const Alignment& alignment,
         Annotations annotations)
      : before_(before), after_(after), alignment_(alignment), annotations_(annotations) {
    result_.of_before.resize(before.instructions().size(), ChangeKind::kRemoved);
    result_.of_after.resize(after.instructions().size(), ChangeKind::kAdded);
  }

  PassChanges Run() {
    PairComputations();
    partner_.resize(result_.of_after.size());
    for (uint32_t c = 0; c < pair_.size(); ++c) KeepUnchanged(ComputationId(c));
    for (uint32_t id = 0; id < result_.of_after.size(); ++id) Classify(InstructionId(id));
    Count();
    WriteRows();
    return std::move(result_);
  }

 private:
  // The computation that is `after` among those before: the one of its name, or where most of its
  // instructions stood.
  void PairComputations() {
    std::unordered_map<std::string_view, ComputationId> by_name;
    for (uint32_t c = 0; c < before_.computations().size(); ++c) {
      by_name.emplace(before_[before_.computations()[c].name], ComputationId(c));
    }
    pair_.resize(after_.computations().size());
    taken_.resize(before_.computations().size(), false);
    Take(after_.entry_id().index, before_.entry_id());
    for (uint32_t c = 0; c < pair_.size(); ++c) {
      auto at = by_name.find(after_[after_.computations()[c].name]);
      if (at == by_name.end() || taken_[at->second.index] || pair_[c].valid()) continue;
      Take(c, at->second);
    }
    for (uint32_t c = 0; c < pair_.size(); ++c) {
      if (pair_[c].valid()) continue;
      InstructionId root = alignment_.SameBefore(after_.computations()[c].root);
      if (!root.valid()) continue;
      ComputationId from = before_[root].computation;
      bool was_root = before_[from].root == root;
      if (was_root && !taken_[from.index]) Take(c, from);
    }
  }
  void Take(uint32_t after, ComputationId before) {
    pair_[after] = before;
    taken_[before.index] = true;
  }

  // What reads the same in the same computation is the same, whatever happened around it.
  void KeepUnchanged(ComputationId c) {
    if (!pair_[c.index].valid()) return;
    const hlo::Computation &from = before_[pair_[c.index]], &to = after_[c];
    std::unordered_map<std::string_view, InstructionId> by_name;
    for (uint32_t k = 0; k < from.instruction_count; ++k) {
      InstructionId id(from.first_instruction + k);
      by_name.emplace(before_.name(id), id);
    }
    for (uint32_t k = 0; k < to.instruction_count; ++k) {
      InstructionId id(to.first_instruction + k);
      auto at = by_name.find(after_.name(id));
      if (at == by_name.end()) continue;
      if (SameMeaning(at->second, id) && SameOperandNames(at->second, id))
        Pair(at->second, id, ChangeKind::kUnchanged);
    }
  }

  void Pair(InstructionId before, InstructionId after, ChangeKind kind) {
    result_.of_after[after.index] = result_.of_before[before.index] = kind;
    partner_[after.index] = before;
  }

  void Classify(InstructionId after) {
    if (partner_[after.index].valid()) return;
    InstructionId before = alignment_.SameBefore(after);
    if (!before.valid() || alignment_.SameAfter(before) != after) return;
    if (result_.of_before[before.index] != ChangeKind::kRemoved) return;  // it is there itself
    Pair(before, after, KindOf(before, after));
  }

  ChangeKind KindOf(InstructionId b, InstructionId a) {
    if (pair_[after_[a].computation.index] != before_[b].computation) return ChangeKind::kMoved;
    if (!SameMeaning(b, a) || !SameOperands(b, a)) return ChangeKind::kRewritten;
    return before_.name(b) == after_.name(a) ? ChangeKind::kUnchanged : ChangeKind::kRenamed;
  }

  bool SameMeaning(InstructionId b, InstructionId a) const {
    const hlo::Instruction &x = before_[b], &y = after_[a];
    if (x.opcode != y.opcode || !(before_.shape(b) == after_.shape(a))) return false;
    auto xs = before_.attributes(x), ys = after_.attributes(y);
    size_t i = 0, k = 0;
    while (true) {
      std::string_view none;
      i = NextMeant(xs, i);
      k = NextMeant(ys, k);
      if (i == xs.size() || k == ys.size()) return i == xs.size() && k == ys.size();
      if (xs[i].key != ys[k].key) return false;
      if (!SameValue(x, xs[i], y, ys[k])) return false;
      ++i;
      ++k;
    }
  }
  // Metadata, statistics and origins say nothing about what is computed.
  bool IsMeant(hlo::AttributeKey key) const {
    using enum hlo::AttributeKey;
    if (key == kMetadata || key == kOrigin || key == kStatistics) return false;
    const bool is_annotation = key == kBackendConfig || key == kFrontendAttributes;
    return !is_annotation || annotations_ == Annotations::kCounted;
  }
  size_t NextMeant(std::span<const hlo::Attribute> attributes, size_t at) const {
    while (at < attributes.size() && !IsMeant(attributes[at].key)) ++at;
    return at;
  }
  bool SameValue(const hlo::Instruction& x, const hlo::Attribute& p, const hlo::Instruction& y,
                 const hlo::Attribute& q) const {
    switch (hlo::Info(p.key).kind) {
      case hlo::ValueKind::kComputation:
        return pair_[q.value] == ComputationId(p.value) || SameName(p, q);
      case hlo::ValueKind::kComputations:
      case hlo::ValueKind::kInstructions:
        return before_.IdsOf(p).size() == after_.IdsOf(q).size();
      default:
        return AttributeKeyText(before_, x, p) == AttributeKeyText(after_, y, q);
    }
  }

  bool SameName(const hlo::Attribute& p, const hlo::Attribute& q) const {
    return before_[before_[ComputationId(p.value)].name] ==
           after_[after_[ComputationId(q.value)].name];
  }

  bool SameOperandNames(InstructionId b, InstructionId a) const {
    return std::ranges::equal(
        before_.operands(b), after_.operands(a), {},
        [&](InstructionId id) { return before_.name(id); },
        [&](InstructionId id) { return after_.name(id); });
  }

  bool SameOperands(InstructionId b, InstructionId a) const {
    auto xs = before_.operands(b), ys = after_.operands(a);
    if (xs.size() != ys.size()) return false;
    for (size_t k = 0; k < xs.size(); ++k) {
      if (alignment_.SameBefore(ys[k]) != xs[k]) return false;
    }
    return true;
  }

  void Count() {
    ChangeCounts& counts = result_.counts;
    for (ChangeKind kind : result_.of_after) {
      counts.unchanged += kind == ChangeKind::kUnchanged;
      counts.added += kind == ChangeKind::kAdded;
      counts.rewritten += kind == ChangeKind::kRewritten;
      counts.moved += kind == ChangeKind::kMoved;
      counts.renamed += kind == ChangeKind::kRenamed;
    }
    counts.removed = std::ranges::count(result_.of_before, ChangeKind::kRemoved);
    counts.computations_added =
        std::ranges::count_if(pair_, [](ComputationId c) { return !c.valid(); });
    counts.computations_removed = std::ranges::count(taken_, false);
  }

  void WriteRows() {
    for (uint32_t c = 0; c < pair_.size(); ++c) WriteComputation(ComputationId(c));
    for (uint32_t c = 0; c < taken_.size(); ++c) {
      if (taken_[c]) continue;
      const hlo::Computation& gone = before_.computations()[c];
      WriteGone(InstructionId(gone.first_instruction), gone.instruction_count);
    }
  }

  void WriteComputation(ComputationId c) {
    const hlo::Computation& computation = after_[c];
    ComputationId from = pair_[c.index];
    uint32_t next_gone = from.valid() ? before_[from].first_instruction : 0;
    uint32_t end_gone = from.valid() ? next_gone + before_[from].instruction_count : 0;
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      InstructionId after(computation.first_instruction + k);
      ChangeKind kind = result_.of_after[after.index];
      InstructionId before = partner_[after.index];
      bool here = before.valid() && before_[before].computation == from;
      if (here && before.index >= next_gone) {
        WriteGone(InstructionId(next_gone), before.index - next_gone);
        next_gone = before.index + 1;
      }
      Append({.kind = kind, .before = before, .after = after});
    }
    if (next_gone < end_gone) WriteGone(InstructionId(next_gone), end_gone - next_gone);
  }

  void WriteGone(InstructionId first, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
      InstructionId id(first.index + k);
      if (result_.of_before[id.index] != ChangeKind::kRemoved) continue;
      Append({.kind = ChangeKind::kRemoved, .before = id, .after = {}});
    }
  }

  void Append(DiffRow row) {
    if (row.kind == ChangeKind::kUnchanged && !result_.rows.empty()) {
      DiffRow& last = result_.rows.back();
      bool goes_on = last.kind == ChangeKind::kUnchanged &&
                     last.before.index + last.count == row.before.index &&
                     last.after.index + last.count == row.after.index &&
                     after_[last.after].computation == after_[row.after].computation;
      if (goes_on) {
        ++last.count;
        return;
      }
    }
    result_.rows.push_back(row);
  }

  const Module& before_;
  const Module& after_;
  const Alignment& alignment_;
  Annotations annotations_;
  std::vector<ComputationId> pair_;     // by computation after
  std::vector<bool> taken_;             // by computation before
  std::vector<InstructionId> partner_;  // by instruction after
  PassChanges result_;
};

}  // namespace

std::string_view ToString(ChangeKind kind) {
  constexpr std::string_view kTexts[] = {"unchanged", "added", "removed",
                                         "rewritten", "moved", "renamed"};
  return kTexts[static_cast<size_t>(kind)];
}

PassChanges FindChanges(const Module& before, const Module& after, const Alignment& alignment,
                        Annotations annotations) {
  return Finder(before, after, alignment, annotations).Run();
}

}  // namespace hloscope::analysis
