// Origins found along operands and users, by op_name, and through callers; strongest first.
#include "core/debug/alignment_origins.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

constexpr uint32_t kNone = Pairing::kNone;
constexpr size_t kMostAlike = 64;  // candidates of one op_name that are looked at
constexpr int kMostSweeps = 4;

// The best origin of an instruction after.
struct Origin {
  uint32_t before = kNone;
  LinkReason reason = LinkReason::kSame;
  float confidence = 0;
};

class OriginFinder {
 public:
  OriginFinder(const AlignmentSide& before, const AlignmentSide& after, const Pairing& pairs)
      : b_(before), a_(after), pairs_(pairs), origins_(after.size()), results_(before.size()) {}

  std::vector<Link> Run() {
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (pairs_.to_before[a] == kNone) continue;
      Set(a, pairs_.to_before[a], pairs_.reason[a], pairs_.confidence[a]);
    }
    bool all_before = std::ranges::find(pairs_.to_after, kNone) == pairs_.to_after.end();
    bool all_after = std::ranges::find(pairs_.to_before, kNone) == pairs_.to_before.end();
    if (!all_before || !all_after) FindOthers();
    for (uint32_t a = 0; a < a_.size(); ++a) {
      const Origin& o = origins_[a];
      if (o.before != kNone) Add(o.before, a, o.reason, o.confidence);
    }
    return std::move(links_);
  }

 private:
  void FindOthers() {
    FindByName();
    FollowCopies();
    FindReplacements();
    FollowCopies();
    for (uint32_t a = 0; a < a_.size(); ++a) FromUsersOfOrigins(a);
    FindByOpName();
    FollowCopies();
    for (uint32_t a = 0; a < a_.size(); ++a) FromUsersOfOrigins(a);
    FindReplacements();
    FollowCopies();
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      changed_ = false;
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
  bool Has(uint32_t a) const { return origins_[a].before != kNone; }
  bool IsSame(uint32_t a) const { return Has(a) && IsIdentity(origins_[a].reason); }
  // Its operands stand where those of its origin stood.
  bool IsCopy(uint32_t a) const {
    if (!Has(a) || b_[origins_[a].before].opcode != a_[a].opcode) return false;
    return IsSame(a) || origins_[a].reason == LinkReason::kReplaced;
  }

  // Calls seen on the way down from the instruction that was linked, so that a parameter of a
  // computation called from several places leads back to the right one.
  struct Frame {
    int32_t outer;
    uint32_t call;
  };
  struct Work {
    uint32_t a, b;
    int32_t frame;
  };

  // Resolves an operand before, into computations called from several places too.
  uint32_t ResolveIn(uint32_t id, int32_t& frame) {
    for (int steps = 0; steps < 64; ++steps) {
      id = b_.Resolve(id);
      const Instruction& i = b_[id];
      ComputationId body = b_.Body(id);
      if (body.valid()) {
        frames_.push_back({.outer = frame, .call = id});
        frame = static_cast<int32_t>(frames_.size()) - 1;
        id = b_.module()[body].root.index;
        continue;
      }
      if (i.opcode == Opcode::kGetTupleElement && ElementOfCall(id, frame)) continue;
      if (i.opcode != Opcode::kParameter || frame < 0) return id;
      const Frame& top = frames_[static_cast<size_t>(frame)];
      if (b_.Body(top.call) != i.computation) return id;
      auto operands = b_.module().operands(b_[top.call]);
      auto number = static_cast<size_t>(b_.module().GetInt(i, AttributeKey::kParameterNumber, -1));
      if (number >= operands.size()) return id;
      id = operands[number].index;
      frame = top.outer;
    }
    return id;
  }

  // An element of the tuple that a call returns, when the call is called from several places.
  bool ElementOfCall(uint32_t& id, int32_t& frame) {
    uint32_t tuple = b_.module().operands(b_[id])[0].index;
    int32_t inner = frame;
    for (int steps = 0; steps < 64; ++steps) {
      ComputationId body = b_.Body(tuple);
      if (!body.valid()) break;
      frames_.push_back({.outer = inner, .call = tuple});
      inner = static_cast<int32_t>(frames_.size()) - 1;
      tuple = b_.module()[body].root.index;
    }
    if (b_[tuple].opcode != Opcode::kTuple) return false;
    auto elements = b_.module().operands(b_[tuple]);
    auto index = static_cast<size_t>(b_.module().GetInt(b_[id], AttributeKey::kIndex, -1));
    if (index >= elements.size()) return false;
    frame = inner;
    id = elements[index].index;
    return true;
  }

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
      uint32_t b = ResolveIn(xs[k].index, frame);
      if (!Alike(b, ys[k])) continue;
      Set(ys[k], b, LinkReason::kNeighbours, b_.local(b) == a_.local(ys[k]) ? 0.92f : 0.8f);
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
      if (b_.Body(at.b).valid()) {
        frames_.push_back({.outer = frame, .call = at.b});
        frame = static_cast<int32_t>(frames_.size()) - 1;
      }
      uint32_t b = ResolveIn(b_.module()[xs[k]].root.index, frame);
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
    return b_.kind(b) == a_.kind(a) ||
           (b_.origin(b) != 0 && OpNamesAgree(b_.op_name(b), a_.op_name(a)));
  }

  // Clones are called after what they were cloned from: add.5.0 becomes add.5.0.1 or
  // add.5.0.clone.
  void FindByName() {
    std::unordered_map<std::string_view, uint32_t> by_name;
    for (uint32_t b = 0; b < b_.size(); ++b) by_name.emplace(NameOf(b_, b), b);
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (Has(a)) continue;
      std::string_view name = NameOf(a_, a);
      for (std::string_view stem = StemOf(name); !stem.empty(); stem = StemOf(stem)) {
        auto at = by_name.find(stem);
        if (at == by_name.end()) continue;
        uint32_t b = at->second;
        if (Alike(b, a) && OpNamesAgree(b_.op_name(b), a_.op_name(a))) {
          Set(a, b, LinkReason::kCopied, 0.95f);
        }
        break;
      }
    }
  }
  static std::string_view NameOf(const AlignmentSide& side, uint32_t id) {
    return side.module().name(InstructionId(id));
  }
  // Without the last number or `.clone`; empty where what is left has no number of its own, so
  // that it would be the stem of all names of that kind.
  static std::string_view StemOf(std::string_view name) {
    size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 1 == name.size()) return {};
    std::string_view last = name.substr(dot + 1), stem = name.substr(0, dot);
    bool number = last.find_first_not_of("0123456789") == std::string_view::npos;
    if (last == "clone" || last == "remat") return stem;
    if (!number) return {};
    if (stem.ends_with(".clone") || stem.ends_with(".remat")) return stem;
    size_t before = stem.rfind('.');
    bool numbered = before != std::string_view::npos && before + 1 < stem.size() &&
                    stem.find_first_not_of("0123456789", before + 1) == std::string_view::npos;
    return numbered ? stem : std::string_view();
  }

  // The same operation on a linked operand.
  void FromUsersOfOrigins(uint32_t a) {
    if (Has(a)) return;
    auto ys = a_.operands(a);
    for (size_t k = 0; k < ys.size(); ++k) {
      if (!Has(ys[k]) || a_[ys[k]].opcode == Opcode::kConstant) continue;
      auto users = b_.users(origins_[ys[k]].before);
      if (users.size() > kMostAlike) continue;
      uint32_t best = kNone;
      int best_score = 0;
      for (uint32_t b : users) {
        auto xs = b_.operands(b);
        bool fits = k < xs.size() && xs[k] == origins_[ys[k]].before && xs.size() == ys.size() &&
                    b_.kind(b) == a_.kind(a) && OpNamesAgree(b_.op_name(b), a_.op_name(a));
        if (!fits) continue;
        int score = 1 + 2 * (b_.local(b) == a_.local(a)) + (pairs_.to_after[b] == kNone);
        if (score > best_score) best = b;
        best_score = std::max(best_score, score);
      }
      if (best != kNone) {
        return Set(a, best, LinkReason::kNeighbours, best_score >= 3 ? 0.88f : 0.6f);
      }
    }
  }

  // What linked users took before and take now.
  void FindReplacements() {
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
    for (const auto& [count, b, a] : sorted) Replace(b, a);
  }
  void VoteRoot(std::unordered_map<uint64_t, uint32_t>& votes) const {
    uint32_t b = b_.Resolve(b_.module().entry().root.index);
    uint32_t a = a_.Resolve(a_.module().entry().root.index);
    if (pairs_.to_after[b] != a) ++votes[uint64_t{b} << 32 | a];
  }
  void Replace(uint32_t b, uint32_t a) {
    bool same_opcode = b_[b].opcode == a_[a].opcode;
    bool same_name = b_.origin(b) != 0 && OpNamesAgree(b_.op_name(b), a_.op_name(a));
    float confidence = same_opcode && same_name ? 0.9f : same_opcode || same_name ? 0.85f : 0.75f;
    if (!Has(a)) {
      Set(a, b, LinkReason::kReplaced, confidence);
    } else if (!results_[b]) {
      results_[b] = true;
      Add(b, a, LinkReason::kReplaced, confidence);
    }
  }

  // The same op_name, for those that were copied or expanded: the likest, removed ones first.
  void FindByOpName() {
    std::unordered_map<uint64_t, std::vector<uint32_t>> by_origin;
    for (uint32_t b = 0; b < b_.size(); ++b) {
      if (b_.origin(b) == 0 || b_.IsTransparent(b)) continue;
      auto& list = by_origin[b_.origin(b)];
      if (list.size() < kMostAlike) list.push_back(b);
    }
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (Has(a) || a_.origin(a) == 0 || a_.IsTransparent(a)) continue;
      auto at = by_origin.find(a_.origin(a));
      if (at != by_origin.end()) PickLikest(a, at->second);
    }
  }
  void PickLikest(uint32_t a, const std::vector<uint32_t>& candidates) {
    // A transpose or copy with its operand's metadata was made from that operand.
    bool known = std::ranges::any_of(candidates, [&](uint32_t b) { return Alike(b, a); });
    for (uint32_t operand : a_.operands(a)) {
      if (known || !Has(operand)) continue;
      uint32_t b = origins_[operand].before;
      bool moved = a_[a].operand_count == 1 && b_.origin(b) == a_.origin(a) &&
                   b_[b].opcode != a_[a].opcode && pairs_.to_after[b] != kNone;
      if (moved) return Set(a, b, LinkReason::kOperand, 0.8f);
    }
    uint32_t best = kNone;
    int best_score = -1;
    bool tie = false;
    for (uint32_t b : candidates) {
      // Nothing is expanded out of these.
      bool leaf = b_[b].opcode == Opcode::kParameter || b_[b].opcode == Opcode::kConstant ||
                  b_[b].opcode == Opcode::kGetTupleElement || b_[b].opcode == Opcode::kTuple;
      if (leaf && b_[b].opcode != a_[a].opcode) continue;
      int score = Likeness(b, a);
      tie = score == best_score;
      if (score <= best_score) continue;
      best_score = score;
      best = b;
      tie = false;
    }
    if (best == kNone) return;
    bool same_opcode = b_[best].opcode == a_[a].opcode;
    float confidence = same_opcode ? 0.85f : 0.7f;
    if (tie) confidence -= 0.25f;
    Set(a, best, same_opcode ? LinkReason::kMetadata : LinkReason::kExpanded, confidence);
  }
  int Likeness(uint32_t b, uint32_t a) const {
    int score = 0;
    if (b_[b].opcode == a_[a].opcode) score += 8;
    if (b_.kind(b) == a_.kind(a)) score += 4;
    if (b_[b].shape.valid() && SameDimensions(b, a)) score += 2;
    if (pairs_.to_after[b] == kNone) score += 6;
    if (a_.module()[a_.module()[a_[a].computation].name].starts_with(
            b_.module()[b_.module()[b_[b].computation].name])) {
      score += 4;
    }
    for (uint32_t operand : a_.operands(a)) {
      if (!Has(operand)) continue;
      auto xs = b_.operands(b);
      if (std::ranges::find(xs, origins_[operand].before) != xs.end()) score += 3;
    }
    return score;
  }
  bool SameDimensions(uint32_t b, uint32_t a) const {
    return std::ranges::equal(b_.module()[b_[b].shape].dimensions(),
                              a_.module()[a_[a].shape].dimensions());
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
    if (caller == kNone) return;
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
        kept = pairs_.to_before[id] != kNone && a_[id].opcode != Opcode::kParameter;
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

  // Dead code that holds on to nothing: what its computation stands for.
  void FromPlace(uint32_t a) {
    if (Has(a)) return;
    uint32_t root = a_.module()[a_[a].computation].root.index;
    uint32_t caller = a_.FirstCaller(a_[a].computation);
    if (Has(root)) {
      Derive(a, root, LinkReason::kInside, 0.3f);
    } else if (caller != kNone && Has(caller)) {
      Derive(a, caller, LinkReason::kInside, 0.3f);
    }
  }

  // A fusion of several results comes from all of them.
  void MoreOfTuples() {
    for (uint32_t a = 0; a < a_.size(); ++a) {
      ComputationId body = a_.Body(a);
      bool several = body.valid() && a_[a].opcode == Opcode::kFusion &&
                     pairs_.to_before[a] == kNone &&
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
  const Pairing& pairs_;
  std::vector<Origin> origins_;  // by instruction after
  std::vector<bool> results_;    // by instruction before: something is linked to it
  std::vector<Link> links_;
  std::vector<Frame> frames_;
  std::vector<int8_t> holds_same_;  // by computation after; -1: not looked
  bool changed_ = false;
};

}  // namespace

std::vector<Link> FindLinks(const AlignmentSide& before, const AlignmentSide& after,
                            const Pairing& pairs) {
  return OriginFinder(before, after, pairs).Run();
}

}  // namespace hloscope::debug
