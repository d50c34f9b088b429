// Origins found along operands and users, by op_name, and through callers; strongest first.
#include "core/analysis/align/alignment_origins.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/analysis/align/alignment_evidence.h"
#include "core/analysis/align/call_frames.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

constexpr uint32_t kNoOrigin = InstructionPairs::kNone;
constexpr size_t kMaxAlike = 64;  // candidates of one op_name that are looked at
constexpr int kMaxSweeps = 4;

// The best origin of an instruction after.
struct Origin {
  uint32_t before = kNoOrigin;
  LinkReason reason = LinkReason::kSame;
  float confidence = 0;
};

class OriginFinder {
 public:
  OriginFinder(const AlignmentSide& before, const AlignmentSide& after,
               const InstructionPairs& pairs)
      : b_(before),
        a_(after),
        pairs_(pairs),
        origins_(after.size()),
        results_(before.size()),
        frames_(before) {}

  std::vector<Link> Run() {
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (pairs_.to_before[a] == kNoOrigin) continue;
      Set(a, pairs_.to_before[a], pairs_.reason[a], pairs_.confidence[a]);
    }
    bool all_before = std::ranges::find(pairs_.to_after, kNoOrigin) == pairs_.to_after.end();
    bool all_after = std::ranges::find(pairs_.to_before, kNoOrigin) == pairs_.to_before.end();
    if (!all_before || !all_after) FindOthers();
    for (uint32_t a = 0; a < a_.size(); ++a) {
      const Origin& o = origins_[a];
      if (o.before != kNoOrigin) Add(o.before, a, o.reason, o.confidence);
    }
    return std::move(links_);
  }

 private:
  void FindOthers() {
    FindByName();
    FollowCopies();
    FindReplacements(true);
    FollowCopies();
    for (uint32_t a = 0; a < a_.size(); ++a) FromUsersOfOrigins(a);
    FindByOpName();
    FollowCopies();
    for (uint32_t a = 0; a < a_.size(); ++a) FromUsersOfOrigins(a);
    strict_ = false;
    FollowCopies();
    FindReplacements(false);
    FollowCopies();
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      changed_ = false;
      for (uint32_t a = static_cast<uint32_t>(a_.size()); a-- > 0;) FromExpanded(a);
      for (uint32_t a = 0; a < a_.size(); ++a) FromCallers(a);
      for (uint32_t a = 0; a < a_.size(); ++a) FromOperands(a);
      for (uint32_t a = static_cast<uint32_t>(a_.size()); a-- > 0;) FromUsers(a);
      if (!changed_) break;
    }
    for (uint32_t a = 0; a < a_.size(); ++a) FromPlace(a);
    MoreOfTuples();
  }

  void Add(uint32_t b, uint32_t a, LinkReason reason, float confidence) {
    links_.push_back({InstructionId(b), InstructionId(a), reason, confidence});
  }
  void Set(uint32_t a, uint32_t b, LinkReason reason, float confidence) {
    origins_[a] = {.before = b, .reason = reason, .confidence = confidence};
    results_[b] = true;
    changed_ = true;
  }
  bool Has(uint32_t a) const { return origins_[a].before != kNoOrigin; }
  bool IsSame(uint32_t a) const { return Has(a) && IsIdentity(origins_[a].reason); }
  // Its operands stand where those of its origin stood.
  bool IsCopy(uint32_t a) const {
    if (!Has(a) || b_[origins_[a].before].opcode != a_[a].opcode) return false;
    if (origins_[a].reason == LinkReason::kReplaced) return Alike(origins_[a].before, a);
    return IsSame(a);
  }

  struct Work {
    uint32_t a, b;
    int32_t frame;
  };

  // Instructions copied into fusions, inlined several times or unrolled: operands of linked ones.
  void FollowCopies() {
    std::vector<Work> work;
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (IsCopy(a)) work.push_back({.a = a, .b = origins_[a].before, .frame = -1});
    }
    for (size_t next = 0; next < work.size(); ++next) {
      Work at = work[next];
      auto xs = b_.module().operands(b_[at.b]);
      auto ys = a_.operands(at.a);
      if (xs.size() == ys.size()) {
        FollowSlots(at, xs, ys, work);
        FollowNames(xs, a_.module().operands(a_[at.a]), at.frame, work);
      }
      FollowRegions(at, work);
    }
  }
  void FollowSlots(const Work& at, std::span<const InstructionId> xs, std::span<const uint32_t> ys,
                   std::vector<Work>& work) {
    for (size_t k = 0; k < xs.size(); ++k) {
      if (Has(ys[k])) continue;
      int32_t frame = at.frame;
      uint32_t b = frames_.Resolve(xs[k].index, frame);
      if (!Alike(b, ys[k])) continue;
      bool close = b_.local(b) == a_.local(ys[k]) && !NamesDiffer(b_, b, a_, ys[k]);
      Set(ys[k], b, LinkReason::kNeighbours, close ? 0.92f : 0.75f);
      work.push_back({.a = ys[k], .b = b, .frame = frame});
    }
  }
  // Calls, fusions and their parameters and results that were copied.
  void FollowNames(std::span<const InstructionId> xs, std::span<const InstructionId> ys,
                   int32_t frame, std::vector<Work>& work) {
    for (size_t k = 0; k < xs.size(); ++k) {
      uint32_t b = xs[k].index, a = ys[k].index;
      if (Has(a) || !a_.IsTransparent(a) || b_.kind(b) != a_.kind(a)) continue;
      Set(a, b, LinkReason::kNeighbours, 0.9f);
      work.push_back({.a = a, .b = b, .frame = frame});
    }
  }
  // Reducers and the like are copied with their callers.
  void FollowRegions(const Work& at, std::vector<Work>& work) {
    if (b_[at.b].attribute_count == 0) return;
    auto xs = b_.module().CalledComputations(b_[at.b]);
    auto ys = a_.module().CalledComputations(a_[at.a]);
    if (xs.size() != ys.size()) return;
    for (size_t k = 0; k < xs.size(); ++k) {
      int32_t frame = at.frame;
      if (b_.Body(at.b).valid()) frame = frames_.Enter(at.b, frame);
      uint32_t b = frames_.Resolve(b_.module()[xs[k]].root.index, frame);
      uint32_t a = a_.Resolve(a_.module()[ys[k]].root.index);
      if (!Has(a) && Alike(b, a)) {
        Set(a, b, LinkReason::kNeighbours, 0.92f);
        work.push_back({.a = a, .b = b, .frame = frame});
      }
      auto ps = b_.module().Parameters(xs[k]), qs = a_.module().Parameters(ys[k]);
      for (size_t n = 0; n < ps.size() && n < qs.size(); ++n) {
        bool both = ps[n].valid() && qs[n].valid();
        if (!both || Has(qs[n].index) || !Alike(ps[n].index, qs[n].index)) continue;
        Set(qs[n].index, ps[n].index, LinkReason::kNeighbours, 0.92f);
      }
    }
  }
  bool Alike(uint32_t b, uint32_t a) const {
    if (b_[b].opcode != a_[a].opcode) return false;
    if (b_[b].opcode == Opcode::kConstant) return b_.local(b) == a_.local(a);
    if (b_.kind(b) == a_.kind(a)) return !strict_ || !NamesDiffer(b_, b, a_, a);
    return NamesAgree(b_, b, a_, a) && IsScalar(b_, b) == IsScalar(a_, a);
  }
  // Clones are called after what they were cloned from: add.5.0 becomes add.5.0.1,
  // add.5.0.clone, or add.5.1.
  void FindByName() {
    std::unordered_map<std::string_view, uint32_t> by_name, by_stem;
    for (uint32_t b = 0; b < b_.size(); ++b) {
      by_name.emplace(NameOf(b_, b), b);
      std::string_view stem = StemOf(NameOf(b_, b));
      if (stem.empty()) continue;
      auto [at, added] = by_stem.emplace(stem, b);
      if (!added) at->second = kNoOrigin;  // several
    }
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (Has(a)) continue;
      std::string_view name = NameOf(a_, a);
      auto sibling = by_stem.find(StemOf(name));
      if (sibling != by_stem.end()) SetCopied(a, sibling->second, 0.93f);
      for (std::string_view stem = StemOf(name); !stem.empty(); stem = StemOf(stem)) {
        auto at = by_name.find(stem);
        if (at == by_name.end()) continue;
        SetCopied(a, at->second, 0.95f);
        break;
      }
    }
  }
  void SetCopied(uint32_t a, uint32_t b, float confidence) {
    if (b == kNoOrigin || Has(a) || !Alike(b, a) || NamesDiffer(b_, b, a_, a)) return;
    Set(a, b, LinkReason::kCopied, confidence);
  }
  static std::string_view NameOf(const AlignmentSide& side, uint32_t id) {
    return side.module().name(InstructionId(id));
  }
  // The same operation on a linked operand.
  void FromUsersOfOrigins(uint32_t a) {
    if (Has(a)) return;
    auto ys = a_.operands(a);
    for (size_t k = 0; k < ys.size(); ++k) {
      if (!Has(ys[k]) || a_[ys[k]].opcode == Opcode::kConstant) continue;
      auto users = b_.users(origins_[ys[k]].before);
      if (users.size() > kMaxAlike) continue;
      uint32_t best = kNoOrigin;
      int best_score = 0;
      for (uint32_t b : users) {
        auto xs = b_.operands(b);
        bool fits = k < xs.size() && xs[k] == origins_[ys[k]].before && xs.size() == ys.size() &&
                    b_.kind(b) == a_.kind(a) && !NamesDiffer(b_, b, a_, a);
        if (!fits || (b_[b].opcode == Opcode::kGetTupleElement && !SamePart(b_, b, a_, a)))
          continue;
        int score = 1 + 2 * (b_.local(b) == a_.local(a)) + (pairs_.to_after[b] == kNoOrigin);
        if (score > best_score) best = b;
        best_score = std::max(best_score, score);
      }
      if (best != kNoOrigin) {
        return Set(a, best, LinkReason::kNeighbours, best_score >= 3 ? 0.88f : 0.6f);
      }
    }
  }

  // What linked users took before and take now.
  void FindReplacements(bool careful) {
    std::unordered_map<uint64_t, uint32_t> votes;
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (!IsCopy(a)) continue;
      auto xs = b_.operands(origins_[a].before), ys = a_.operands(a);
      if (xs.size() != ys.size()) continue;
      for (size_t k = 0; k < xs.size(); ++k) {
        bool other = !IsSame(ys[k]) || origins_[ys[k]].before != xs[k];
        if (other) ++votes[uint64_t{xs[k]} << 32 | ys[k]];
      }
    }
    VoteRoot(votes);
    std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> sorted;  // votes, before, after
    sorted.reserve(votes.size());
    for (const auto& [key, count] : votes) {
      sorted.emplace_back(count, static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key));
    }
    std::ranges::sort(sorted, [](const auto& x, const auto& y) {
      return std::tuple(-int64_t{std::get<0>(x)}, std::get<1>(x), std::get<2>(x)) <
             std::tuple(-int64_t{std::get<0>(y)}, std::get<1>(y), std::get<2>(y));
    });
    for (const auto& [count, b, a] : sorted) Replace(b, a, careful);
  }
  void VoteRoot(std::unordered_map<uint64_t, uint32_t>& votes) const {
    uint32_t b = b_.Resolve(b_.module().entry().root.index);
    uint32_t a = a_.Resolve(a_.module().entry().root.index);
    if (pairs_.to_after[b] != a) ++votes[uint64_t{b} << 32 | a];
  }
  void Replace(uint32_t b, uint32_t a, bool careful) {
    bool same_opcode = b_[b].opcode == a_[a].opcode;
    bool same_name = NamesAgree(b_, b, a_, a);
    float confidence = same_opcode && same_name ? 0.9f : same_opcode || same_name ? 0.85f : 0.75f;
    // A copy of a value that has no op_name of its own, or was moved itself.
    bool moved =
        Moves(a_, a) && SameDimensions(b_, b, a_, a) && (Moves(b_, b) || b_.origin(b) == 0);
    bool fits =
        !careful || a_.origin(a) == 0 || moved || (same_name && (Moves(a_, a) || !Moves(b_, b)));
    if (!Has(a) && fits) {
      Set(a, b, LinkReason::kReplaced, confidence);
    } else if (Has(a) && !results_[b]) {
      results_[b] = true;
      Add(b, a, LinkReason::kReplaced, std::min(confidence, origins_[a].confidence - 0.05f));
    }
  }

  // The same op_name, for those that were copied or expanded: the likest, removed ones first.
  void FindByOpName() {
    std::unordered_map<uint64_t, std::vector<uint32_t>> by_origin, by_near, by_full, by_end;
    auto add = [](std::vector<uint32_t>& list, uint32_t b) {
      if (list.size() < kMaxAlike) list.push_back(b);
    };
    for (uint32_t b = 0; b < b_.size(); ++b) {
      if (b_.origin(b) == 0 || b_.IsTransparent(b)) continue;
      add(by_origin[b_.origin(b)], b);
      add(by_near[b_.near_origin(b)], b);
      add(by_full[b_.name_origin(b)], b);
      add(by_end[EndHash(b_, b)], b);
    }
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (Has(a) || a_.origin(a) == 0 || a_.IsTransparent(a)) continue;
      auto at = by_origin.find(a_.origin(a));
      if (at != by_origin.end()) {
        PickLikest(a, at->second);
        continue;
      }
      at = by_near.find(a_.near_origin(a));
      if (at != by_near.end()) {
        PickLikest(a, at->second);
        continue;
      }
      at = by_full.find(a_.name_origin(a));
      if (at != by_full.end()) {
        PickLikest(a, at->second);
        continue;
      }
      // Inlining put the caller's op_name in front.
      at = by_end.find(EndHash(a_, a));
      if (at == by_end.end()) continue;
      std::vector<uint32_t> agreeing;
      std::ranges::copy_if(at->second, std::back_inserter(agreeing),
                           [&](uint32_t b) { return Alike(b, a) && NamesAgree(b_, b, a_, a); });
      PickLikest(a, agreeing);
    }
  }
  void PickLikest(uint32_t a, const std::vector<uint32_t>& candidates) {
    // A transpose or copy with its operand's metadata was made from that operand.
    bool known = std::ranges::any_of(candidates, [&](uint32_t b) { return Alike(b, a); });
    if (!known && Moves(a_, a) && a_[a].operand_count != 0 && Has(a_.operands(a)[0])) {
      uint32_t b = origins_[a_.operands(a)[0]].before;
      float confidence = std::min(0.8f, origins_[a_.operands(a)[0]].confidence);
      if (NamesAgree(b_, b, a_, a)) return Set(a, b, LinkReason::kOperand, confidence);
    }
    uint32_t best = kNoOrigin;
    int best_score = -1;
    bool tie = false;
    for (uint32_t b : candidates) {
      // Nothing is expanded out of these.
      bool leaf = IsElement(b_, b) || b_[b].opcode == Opcode::kConstant;
      if ((leaf || IsElement(a_, a)) && (b_[b].opcode != a_[a].opcode || !SamePart(b_, b, a_, a)))
        continue;
      if (IsScalar(b_, b) && !IsScalar(a_, a)) continue;
      int score = Likeness(b, a);
      tie = score == best_score;
      if (score <= best_score) continue;
      best_score = score;
      best = b;
      tie = false;
    }
    if (best == kNoOrigin) return;
    bool same_opcode = b_[best].opcode == a_[a].opcode;
    bool gone = pairs_.to_after[best] == kNoOrigin && SameDimensions(b_, best, a_, a);
    float confidence = same_opcode || gone ? 0.85f : 0.7f;
    if (tie) confidence -= 0.25f;
    Set(a, best, same_opcode ? LinkReason::kMetadata : LinkReason::kExpanded, confidence);
  }
  int Likeness(uint32_t b, uint32_t a) const {
    int score = 0;
    if (b_[b].opcode == a_[a].opcode) score += 8;
    if (b_.kind(b) == a_.kind(a)) score += 4;
    if (b_[b].shape.valid() && SameDimensions(b_, b, a_, a)) score += 2;
    if (pairs_.to_after[b] == kNoOrigin) score += 6;
    if (SamePart(b_, b, a_, a)) score += 4;
    for (uint32_t operand : a_.operands(a).first(std::min(kMaxAlike, a_.operands(a).size()))) {
      if (!Has(operand)) continue;
      auto xs = b_.operands(b).first(std::min(kMaxAlike, b_.operands(b).size()));
      if (std::ranges::find(xs, origins_[operand].before) != xs.end()) score += 3;
    }
    return score;
  }
  // Fusions and calls from what they give, parameters from what they are given, and what stands
  // in a new computation from its caller.
  void FromCallers(uint32_t a) {
    if (Has(a)) return;
    if (ComputationId body = a_.Body(a); body.valid()) {
      uint32_t root = a_.module()[body].root.index;
      if (a_[root].opcode == Opcode::kTuple && !Has(root)) FromElements(root);
      if (Has(root)) Derive(a, root, LinkReason::kFusionRoot, 0.95f);
      return;
    }
    uint32_t caller = a_.FirstCaller(a_[a].computation);
    if (caller == kNoOrigin) return;
    if (a_[a].opcode == Opcode::kParameter && a_.Body(caller).valid()) {
      auto operands = a_.module().operands(a_[caller]);
      auto number =
          static_cast<size_t>(a_.module().GetInt(a_[a], AttributeKey::kParameterNumber, -1));
      if (number < operands.size() && Has(operands[number].index)) {
        Derive(a, operands[number].index, LinkReason::kParameter, 0.95f);
      }
      return;
    }
    // Only computations that are new: others have instructions of their own to hold on to.
    bool fused = a_.Body(caller).valid();
    if (!fused && Has(caller) && !HoldsSame(a_[a].computation)) {
      Derive(a, caller, LinkReason::kInside, 0.7f);
    }
  }
  bool HoldsSame(ComputationId c) {
    if (holds_same_.empty()) holds_same_.assign(a_.module().computations().size(), -1);
    int8_t& kept = holds_same_[c.index];
    if (kept < 0) {
      const hlo::Computation& computation = a_.module()[c];
      kept = 0;
      for (uint32_t k = 0; k < computation.instruction_count && kept == 0; ++k) {
        uint32_t id = computation.first_instruction + k;
        bool same = pairs_.to_before[id] != kNoOrigin && a_[id].opcode != Opcode::kParameter;
        kept = same ? 1 : 0;
      }
    }
    return kept != 0;
  }
  void Derive(uint32_t a, uint32_t from, LinkReason reason, float factor) {
    const Origin& o = origins_[from];
    Set(a, o.before, reason, factor * std::max(o.confidence, 0.3f));
  }

  // The first element that has an origin; the others are added at the end.
  void FromElements(uint32_t tuple) {
    for (uint32_t operand : a_.operands(tuple)) {
      if (!Has(operand)) continue;
      Derive(tuple, operand, LinkReason::kOperand, 0.9f);
      return;
    }
  }

  void FromOperands(uint32_t a) {
    if (Has(a) || a_[a].operand_count == 0) return;
    if (a_[a].opcode == Opcode::kTuple) return FromElements(a);
    uint32_t from = a_.Resolve(a);
    if (from != a && Has(from)) return Derive(a, from, LinkReason::kOperand, 0.9f);
    bool only_moves = a_[a].operand_count == 1;
    for (InstructionId operand : a_.module().operands(a_[a])) {
      bool weak = a_[operand.index].opcode == Opcode::kConstant && !only_moves;
      if (weak || !Has(operand.index)) continue;
      Derive(a, operand.index, LinkReason::kOperand, only_moves ? 0.75f : 0.5f);
      return;
    }
  }

  void FromUsers(uint32_t a) {
    if (Has(a)) return;
    for (uint32_t user : a_.users(a)) {
      if (!Has(user)) continue;
      Derive(a, user, LinkReason::kServes, 0.55f);
      return;
    }
  }

  // A part of what was made in place of one instruction, seen from what gives its value.
  void FromExpanded(uint32_t a) {
    if (Has(a) || a_.IsTransparent(a) || IsElement(a_, a)) return;
    for (uint32_t user : a_.users(a)) {
      const Origin& o = origins_[user];
      if (o.before == kNoOrigin || pairs_.to_after[o.before] != kNoOrigin) continue;
      return Derive(a, user, LinkReason::kServes, 0.8f);
    }
  }

  // Dead code that holds on to nothing: what its computation stands for.
  void FromPlace(uint32_t a) {
    if (Has(a)) return;
    uint32_t root = a_.module()[a_[a].computation].root.index;
    uint32_t caller = a_.FirstCaller(a_[a].computation);
    if (Has(root)) {
      Derive(a, root, LinkReason::kInside, 0.3f);
    } else if (caller != kNoOrigin && Has(caller)) {
      Derive(a, caller, LinkReason::kInside, 0.3f);
    }
  }

  // A fusion of several results comes from all of them.
  void MoreOfTuples() {
    for (uint32_t a = 0; a < a_.size(); ++a) {
      ComputationId body = a_.Body(a);
      bool several = body.valid() && a_[a].opcode == Opcode::kFusion &&
                     pairs_.to_before[a] == kNoOrigin &&
                     a_.module()[a_.module()[body].root].opcode == Opcode::kTuple;
      if (!several) continue;
      for (uint32_t element : a_.operands(a_.module()[body].root.index)) {
        if (!Has(element)) continue;
        const Origin& o = origins_[element];
        Add(o.before, a, LinkReason::kFusionRoot, 0.95f * o.confidence);
      }
    }
  }

  const AlignmentSide& b_;
  const AlignmentSide& a_;
  const InstructionPairs& pairs_;
  std::vector<Origin> origins_;  // by instruction after
  std::vector<bool> results_;    // by instruction before: something is linked to it
  std::vector<Link> links_;
  CallFrames frames_;
  std::vector<int8_t> holds_same_;  // by computation after; -1: not looked
  bool changed_ = false;
  bool strict_ = true;  // op_names that differ speak against it
};

}  // namespace

std::vector<Link> FindLinks(const AlignmentSide& before, const AlignmentSide& after,
                            const InstructionPairs& pairs) {
  return OriginFinder(before, after, pairs).Run();
}

}  // namespace hloscope::analysis
