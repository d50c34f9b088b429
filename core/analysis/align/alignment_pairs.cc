// Pairing in passes from strong evidence to weak.
#include "core/analysis/align/alignment_pairs.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/analysis/align/alignment_evidence.h"
#include "core/analysis/align/program_order.h"
#include "core/base/fnv.h"
#include "core/base/quick_hash.h"

namespace hloscope::analysis {
namespace {

using hlo::Opcode;

constexpr uint32_t kUnpaired = InstructionPairs::kNone;
constexpr int kMaxCopies = 8;  // of one value, one after the other

// Passes that clean names only change these.
uint64_t NameHash(std::string_view name) {
  uint64_t hash = kFnvStart;
  for (char c : name) hash = FnvStep(hash, static_cast<uint8_t>(c == '.' || c == '-' ? '_' : c));
  return hash;
}

class Pairer {
 public:
  Pairer(const AlignmentSide& before, const AlignmentSide& after) : b_(before), a_(after) {
    result_.to_after.assign(b_.size(), kUnpaired);
    result_.to_before.assign(a_.size(), kUnpaired);
    result_.reason.assign(a_.size(), LinkReason::kSame);
    result_.confidence.assign(a_.size(), 0);
    group_b_.assign(b_.module().computations().size(), 0);
    group_a_.assign(a_.module().computations().size(), 0);
  }

  InstructionPairs Run() {
    PairNames();
    for (int round = 0; round < 3; ++round) {
      if (!DropContradictions()) break;
    }
    if (left_ != 0 || Unpaired(b_.size(), result_.to_after) != 0) {
      PairRoots();
      Propagate();  // finds which computations belong together
      for (int radius : {3, 2, 1}) {
        PairUnique(radius);
        Propagate();
      }
      PairByMetadata();
      Propagate();
      PairByEnd();
      Propagate();
      PairInOrder();
    }
    Rate();
    return std::move(result_);
  }

 private:
  static size_t Unpaired(size_t count, const std::vector<uint32_t>& partners) {
    return static_cast<size_t>(std::ranges::count(partners, kUnpaired)) * (count != 0);
  }

  void Pair(uint32_t b, uint32_t a, LinkReason reason, float confidence) {
    result_.to_after[b] = a;
    result_.to_before[a] = b;
    result_.reason[a] = reason;
    result_.confidence[a] = confidence;
    fresh_.push_back(a);
  }
  bool Free(uint32_t b, uint32_t a) const {
    return result_.to_after[b] == kUnpaired && result_.to_before[a] == kUnpaired;
  }

  // Names are unique in a module, or at least in a computation. Most stand where they stood.
  void PairNames() {
    PairNamesInPlace();
    if (left_ != 0) PairNamesAnywhere();
    left_ = Unpaired(a_.size(), result_.to_before);
  }
  void PairNamesInPlace() {
    uint32_t b = 0;
    for (uint32_t a = 0; a < a_.size(); ++a) {
      bool here = b < b_.size() && NameOf(b_, b) == NameOf(a_, a) &&
                  ComputationName(b_, b) == ComputationName(a_, a) && MayKeepName(b, a);
      if (here) Pair(b, a, LinkReason::kSame, 0.9995f);
      left_ += !here;
      // One that was added or removed shifts the rest of its computation.
      b += here || b_.size() == a_.size();
    }
  }
  void PairNamesAnywhere() {
    std::unordered_map<uint64_t, uint32_t> by_name, by_both;
    by_name.reserve(b_.size() * 2);
    for (uint32_t b = 0; b < b_.size(); ++b) {
      uint64_t h = NameHash(NameOf(b_, b));
      auto [at, added] = by_name.emplace(h, b);
      if (added) continue;
      if (at->second != kUnpaired) by_both.emplace(InComputation(b_, at->second, h), at->second);
      at->second = kUnpaired;  // several: only together with the computation's name
      by_both.emplace(InComputation(b_, b, h), b);
    }
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (result_.to_before[a] != kUnpaired) continue;
      uint64_t h = NameHash(NameOf(a_, a));
      auto at = by_name.find(h);
      if (at == by_name.end()) continue;
      uint32_t b = at->second;
      if (b == kUnpaired) {
        auto both = by_both.find(InComputation(a_, a, h));
        if (both == by_both.end()) continue;
        b = both->second;
      }
      if (Free(b, a) && MayKeepName(b, a)) Pair(b, a, LinkReason::kSame, 0.9995f);
    }
  }
  static std::string_view NameOf(const AlignmentSide& side, uint32_t id) {
    return side.module().name(hlo::InstructionId(id));
  }
  static std::string_view ComputationName(const AlignmentSide& side, uint32_t id) {
    return side.module()[side.module()[side[id].computation].name];
  }
  static uint64_t InComputation(const AlignmentSide& side, uint32_t id, uint64_t name) {
    const hlo::Computation& c = side.module()[side[id].computation];
    return MixKeys(name, NameHash(side.module()[c.name]));
  }

  // A name may have been given again to something else.
  bool MayKeepName(uint32_t b, uint32_t a) const {
    if (b_[b].opcode != a_[a].opcode) return false;
    if (b_.local(b) == a_.local(a)) return true;
    if (b_[b].opcode == Opcode::kConstant) return false;
    if (b_.kind(b) == a_.kind(a)) return true;
    return !NamesDiffer(b_, b, a_, a);
  }

  // Pairs whose operands and users are all paired with others: renumbered, not the same.
  bool DropContradictions() {
    std::vector<uint32_t> agree(a_.size(), 0), against(a_.size(), 0);
    for (uint32_t a = 0; a < a_.size(); ++a) {
      uint32_t b = result_.to_before[a];
      if (b == kUnpaired) continue;
      auto xs = b_.operands(b), ys = a_.operands(a);
      if (xs.size() != ys.size()) continue;
      for (size_t k = 0; k < xs.size(); ++k) {
        uint32_t wanted = result_.to_after[xs[k]];
        bool contradicts = wanted != kUnpaired && result_.to_before[ys[k]] != kUnpaired;
        if (wanted == ys[k]) {
          ++agree[a];
          ++agree[ys[k]];
        } else if (contradicts) {
          ++against[a];
          ++against[wanted];
          ++against[ys[k]];
        }
      }
    }
    bool dropped = false;
    for (uint32_t a = 0; a < a_.size(); ++a) {
      uint32_t b = result_.to_before[a];
      if (b == kUnpaired || against[a] == 0) continue;
      bool other_origin = NamesDiffer(b_, b, a_, a);
      bool same = b_.local(b) == a_.local(a) && !other_origin;
      bool drop = agree[a] == 0 && (against[a] > 1 || !same);
      drop |= other_origin && against[a] >= agree[a];
      if (!drop) continue;
      result_.to_after[b] = kUnpaired;
      result_.to_before[a] = kUnpaired;
      ++left_;
      dropped = true;
    }
    return dropped;
  }

  // What a program is given and gives stays in order; partitioning changes only its shapes.
  void PairRoots() {
    uint32_t b = b_.Resolve(b_.module().entry().root.index);
    uint32_t a = a_.Resolve(a_.module().entry().root.index);
    if (Free(b, a) && (Fits(b, a) || AreTuplesOfAsMany(b, a)))
      Pair(b, a, LinkReason::kNeighbours, 0.95f);
    auto ps = b_.module().Parameters(b_.module().entry_id());
    auto qs = a_.module().Parameters(a_.module().entry_id());
    if (ps.size() != qs.size()) return;
    for (size_t n = 0; n < ps.size(); ++n) {
      if (ps[n].valid() && qs[n].valid()) Try(ps[n].index, qs[n].index);
    }
  }
  bool AreTuplesOfAsMany(uint32_t b, uint32_t a) const {
    return b_[b].opcode == Opcode::kTuple && a_[a].opcode == Opcode::kTuple &&
           b_[b].operand_count == a_[a].operand_count;
  }

  bool Fits(uint32_t b, uint32_t a) const {
    if (b_[b].opcode != a_[a].opcode) return false;
    if (b_.kind(b) == a_.kind(a)) {
      if (NamesDiffer(b_, b, a_, a)) return false;
      return b_[b].opcode != Opcode::kConstant || b_.local(b) == a_.local(a);
    }
    return b_.near_origin(b) != 0 && b_.near_origin(b) == a_.near_origin(a);
  }

  struct Bucket {
    uint32_t b = kUnpaired, a = kUnpaired;
    uint32_t count_b = 0, count_a = 0;
  };

  template <typename HashB, typename HashA>
  void PairBuckets(HashB hash_b, HashA hash_a, LinkReason reason, float confidence) {
    std::unordered_map<uint64_t, Bucket> buckets;
    for (uint32_t b = 0; b < b_.size(); ++b) {
      if (result_.to_after[b] != kUnpaired || b_.IsTransparent(b)) continue;
      uint64_t h = hash_b(b);
      if (h == 0) continue;
      Bucket& bucket = buckets[h];
      bucket.b = b;
      ++bucket.count_b;
    }
    std::vector<uint64_t> order;
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (result_.to_before[a] != kUnpaired || a_.IsTransparent(a)) continue;
      uint64_t h = hash_a(a);
      auto at = buckets.find(h);
      if (h == 0 || at == buckets.end()) continue;
      at->second.a = a;
      if (at->second.count_a++ == 0) order.push_back(h);
    }
    for (uint64_t h : order) {
      const Bucket& bucket = buckets[h];
      if (bucket.count_b == 1 && bucket.count_a == 1) Pair(bucket.b, bucket.a, reason, confidence);
    }
  }

  uint64_t GroupOf(const AlignmentSide& side, const std::vector<uint32_t>& groups,
                   uint32_t id) const {
    return groups[side.Home(id).index];
  }

  void PairUnique(int radius) {
    std::vector<uint64_t> around_b = b_.Surroundings(radius), around_a = a_.Surroundings(radius);
    std::vector<uint64_t> grouped_b = around_b, grouped_a = around_a;
    for (uint32_t b = 0; b < b_.size(); ++b) {
      grouped_b[b] = MixKeys(around_b[b], GroupOf(b_, group_b_, b));
    }
    for (uint32_t a = 0; a < a_.size(); ++a) {
      grouped_a[a] = MixKeys(around_a[a], GroupOf(a_, group_a_, a));
    }
    PairSurroundings(radius, grouped_b, grouped_a);
    PairSurroundings(radius, around_b, around_a);
  }
  void PairSurroundings(int radius, const std::vector<uint64_t>& around_b,
                        const std::vector<uint64_t>& around_a) {
    auto bare = [](const AlignmentSide& side, uint32_t id) {
      return side.operands(id).empty() && side.users(id).empty();
    };
    PairBuckets([&](uint32_t b) { return bare(b_, b) ? 0 : MixKeys(around_b[b], b_.origin(b)); },
                [&](uint32_t a) { return bare(a_, a) ? 0 : MixKeys(around_a[a], a_.origin(a)); },
                LinkReason::kRenamed, radius == 1 ? 0.92f : 0.97f);
    if (radius == 1) return;
    PairBuckets([&](uint32_t b) { return bare(b_, b) ? 0 : around_b[b]; },
                [&](uint32_t a) { return bare(a_, a) ? 0 : around_a[a]; }, LinkReason::kRenamed,
                0.93f);
  }

  // Transposing keeps them; the operations of a reducer have the op_name of the reduction.
  static uint64_t Elements(const AlignmentSide& side, uint32_t id) {
    const hlo::Shape& shape = side.module()[side[id].shape];
    return shape.IsArray() ? static_cast<uint64_t>(shape.ElementCount().value_or(-1)) : 0;
  }

  // An element of a loop's state has the op_name of the loop, inside and outside of it.
  uint64_t Where(const AlignmentSide& side, const std::vector<uint32_t>& groups,
                 uint32_t id) const {
    return IsElement(side, id) ? GroupOf(side, groups, id) : 0;
  }

  void PairByMetadata() {
    auto key = [&](const AlignmentSide& side, const std::vector<uint32_t>& groups, uint64_t origin,
                   uint32_t id) {
      if (origin == 0) return uint64_t{0};
      return MixKeys(MixKeys(side.local(id), origin), Where(side, groups, id));
    };
    PairBuckets([&](uint32_t b) { return key(b_, group_b_, b_.origin(b), b); },
                [&](uint32_t a) { return key(a_, group_a_, a_.origin(a), a); },
                LinkReason::kMetadata, 0.9f);
    PairBuckets([&](uint32_t b) { return key(b_, group_b_, b_.near_origin(b), b); },
                [&](uint32_t a) { return key(a_, group_a_, a_.near_origin(a), a); },
                LinkReason::kMetadata, 0.9f);
    auto loose = [&](const AlignmentSide& side, const std::vector<uint32_t>& groups, uint32_t id) {
      if (side.origin(id) == 0) return uint64_t{0};
      uint64_t what = MixKeys(static_cast<uint64_t>(side[id].opcode), side.origin(id));
      return MixKeys(MixKeys(what, Elements(side, id)), Where(side, groups, id));
    };
    PairBuckets([&](uint32_t b) { return loose(b_, group_b_, b); },
                [&](uint32_t a) { return loose(a_, group_a_, a); }, LinkReason::kMetadata, 0.85f);
  }

  // The same operation with the same end of the op_name: inlining puts the caller's in front.
  void PairByEnd() {
    auto key = [&](const AlignmentSide& side, const std::vector<uint32_t>& groups, uint32_t id) {
      std::string_view name = side.op_name(id);
      if (name.empty()) return uint64_t{0};
      uint64_t end = hlo::HashBytes(name.substr(name.rfind('/') + 1));
      return MixKeys(MixKeys(side.local(id), end), Where(side, groups, id));
    };
    PairBuckets([&](uint32_t b) { return key(b_, group_b_, b); },
                [&](uint32_t a) { return key(a_, group_a_, a); }, LinkReason::kMetadata, 0.85f);
  }

  // Equally many alike on both sides, from the same place in the source: as they stand, as inlining
  // leaves them, and with other shapes, as partitioning leaves them.
  void PairInOrder() {
    if (Unpaired(a_.size(), result_.to_before) == 0) return;
    const ProgramOrder order(b_.module(), a_.module());
    const auto exact = [](const AlignmentSide& side, uint32_t id) {
      return side.origin(id) == 0 ? 0 : MixKeys(side.local(id), side.origin(id));
    };
    const auto inlined = [](const AlignmentSide& side, uint32_t id) {
      return side.near_origin(id) == 0 ? 0 : MixKeys(side.local(id), side.near_origin(id));
    };
    const auto reshaped = [](const AlignmentSide& side, uint32_t id) {
      const bool is_left = side.near_origin(id) == 0 || IsScalar(side, id) || IsElement(side, id);
      return is_left ? 0 : MixKeys(static_cast<uint64_t>(side[id].opcode), side.near_origin(id));
    };
    PairInOrder(order, exact, 0.6f);
    PairInOrder(order, inlined, 0.6f);
    PairInOrder(order, reshaped, 0.5f);
  }
  template <typename Key>
  void PairInOrder(const ProgramOrder& order, Key key, float confidence) {
    const auto keys = [&](const AlignmentSide& side, const std::vector<uint32_t>& partners,
                          const std::vector<uint32_t>& groups) {
      std::vector<uint64_t> found(side.size(), 0);
      for (uint32_t id = 0; id < found.size(); ++id) {
        if (partners[id] != kUnpaired || side.IsTransparent(id)) continue;
        const uint64_t what = key(side, id);
        if (what != 0) found[id] = MixKeys(what, Where(side, groups, id));
      }
      return found;
    };
    for (const auto& [b, a] :
         order.Pairs(keys(b_, result_.to_after, group_b_), keys(a_, result_.to_before, group_a_)))
      Pair(b, a, LinkReason::kOrder, confidence);
    Propagate();
  }

  // Operands and users of pairs, as far as it goes.
  void Propagate() {
    if (!started_) {
      started_ = true;
      fresh_.clear();
      for (uint32_t a = 0; a < a_.size(); ++a) {
        if (result_.to_before[a] != kUnpaired) fresh_.push_back(a);
      }
    }
    for (size_t next = 0; next < fresh_.size(); ++next) {
      uint32_t a = fresh_[next], b = result_.to_before[a];
      if (b == kUnpaired) continue;
      FollowOperands(b, a);
      FollowUsers(b, a);
      FollowCalls(b, a);
    }
    fresh_.clear();
  }

  void Try(uint32_t b, uint32_t a) {
    if (!Free(b, a) || b_.IsTransparent(b) || a_.IsTransparent(a) || !Fits(b, a)) return;
    bool close = b_.local(b) == a_.local(a);
    Pair(b, a, LinkReason::kNeighbours, close ? 0.93f : 0.85f);
  }

  // Layouts are assigned by copies of a value, which stand between it and its reader.
  void TryBehindCopies(uint32_t b, uint32_t a) {
    const auto moves = [](const AlignmentSide& side, uint32_t id) {
      return (side[id].opcode == Opcode::kCopy || side[id].opcode == Opcode::kBitcast) &&
             side.operands(id).size() == 1;
    };
    Try(b, a);
    for (int steps = 0; steps < kMaxCopies && moves(a_, a) && b_[b].opcode != a_[a].opcode; ++steps)
      a = a_.operands(a)[0];
    Try(b, a);
  }
  void FollowOperands(uint32_t b, uint32_t a) {
    auto xs = b_.operands(b), ys = a_.operands(a);
    if (xs.size() != ys.size()) return;
    for (size_t k = 0; k < xs.size(); ++k) TryBehindCopies(xs[k], ys[k]);
    auto ps = b_.module().operands(b_[b]), qs = a_.module().operands(a_[a]);
    for (size_t k = 0; k < ps.size(); ++k) TryTransparent(ps[k].index, qs[k].index);
  }
  // Fusions, calls, their parameters and elements of their results.
  void TryTransparent(uint32_t b, uint32_t a) {
    bool both = Free(b, a) && b_.IsTransparent(b) && a_.IsTransparent(a);
    if (!both || b_.kind(b) != a_.kind(a)) return;
    Pair(b, a, LinkReason::kNeighbours, 0.9f);
  }

  struct UserKey {
    uint64_t key;
    uint32_t id;
  };
  static size_t SlotOf(const AlignmentSide& side, uint32_t user, uint32_t operand) {
    auto operands = side.operands(user);
    operands = operands.first(std::min<size_t>(operands.size(), 64));  // the rest is one slot
    return static_cast<size_t>(std::ranges::find(operands, operand) - operands.begin());
  }
  void FreeUsers(const AlignmentSide& side, uint32_t id, const std::vector<uint32_t>& partners,
                 bool exact, std::vector<UserKey>& keys) const {
    keys.clear();
    for (uint32_t user : side.users(id)) {
      if (partners[user] != kUnpaired) continue;
      uint64_t what = exact ? MixKeys(side.local(user), side.origin(user)) : side.kind(user);
      keys.push_back({MixKeys(what, SlotOf(side, user, id)), user});
    }
    std::ranges::sort(keys, {}, [](const UserKey& k) { return std::tuple(k.key, k.id); });
    auto same = [](const UserKey& x, const UserKey& y) { return x.id == y.id && x.key == y.key; };
    keys.erase(std::unique(keys.begin(), keys.end(), same), keys.end());
  }

  void FollowUsers(uint32_t b, uint32_t a) {
    for (bool exact : {true, false}) {
      FreeUsers(b_, b, result_.to_after, exact, users_b_);
      if (users_b_.empty()) return;
      FreeUsers(a_, a, result_.to_before, exact, users_a_);
      PairUniqueUsers();
    }
  }
  void PairUniqueUsers() {
    auto alone = [](const std::vector<UserKey>& keys, size_t k) {
      return (k == 0 || keys[k - 1].key != keys[k].key) &&
             (k + 1 == keys.size() || keys[k + 1].key != keys[k].key);
    };
    size_t k = 0;
    for (size_t j = 0; j < users_a_.size(); ++j) {
      while (k < users_b_.size() && users_b_[k].key < users_a_[j].key) ++k;
      if (k == users_b_.size()) return;
      if (users_b_[k].key != users_a_[j].key) continue;
      if (alone(users_b_, k) && alone(users_a_, j)) Try(users_b_[k].id, users_a_[j].id);
    }
  }

  // The state of a loop that lost or gained an element: its parameter and its root.
  void TryState(uint32_t b, uint32_t a) {
    bool tuples = b_.module()[b_[b].shape].IsTuple() && a_.module()[a_[a].shape].IsTuple() &&
                  b_.kind(b) != a_.kind(a);
    bool ends = b_[b].opcode == a_[a].opcode &&
                (b_[b].opcode == Opcode::kParameter || b_[b].opcode == Opcode::kTuple);
    if (!tuples || !ends || !Free(b, a)) return;
    Pair(b, a, LinkReason::kNeighbours, 0.85f);
  }

  void FollowCalls(uint32_t b, uint32_t a) {
    if (b_[b].attribute_count == 0 || a_[a].attribute_count == 0) return;
    auto xs = b_.module().CalledComputations(b_[b]), ys = a_.module().CalledComputations(a_[a]);
    if (xs.size() != ys.size()) return;
    for (size_t k = 0; k < xs.size(); ++k) {
      if (group_b_[xs[k].index] == 0 && group_a_[ys[k].index] == 0 && !b_.Body(b).valid()) {
        group_b_[xs[k].index] = group_a_[ys[k].index] = ++groups_;
      }
      TryState(b_.module()[xs[k]].root.index, a_.module()[ys[k]].root.index);
      Try(b_.Resolve(b_.module()[xs[k]].root.index), a_.Resolve(a_.module()[ys[k]].root.index));
      auto ps = b_.module().Parameters(xs[k]), qs = a_.module().Parameters(ys[k]);
      for (size_t n = 0; n < ps.size() && n < qs.size(); ++n) {
        if (!ps[n].valid() || !qs[n].valid()) continue;
        TryState(ps[n].index, qs[n].index);
        Try(ps[n].index, qs[n].index);
      }
    }
  }

  // Names kept by what was rewritten, and how sure they are.
  void Rate() {
    for (uint32_t a = 0; a < a_.size(); ++a) {
      uint32_t b = result_.to_before[a];
      if (b == kUnpaired || result_.reason[a] != LinkReason::kSame) continue;
      auto xs = b_.operands(b), ys = a_.operands(a);
      size_t same = 0;
      for (size_t k = 0; k < xs.size() && k < ys.size(); ++k) {
        same += result_.to_after[xs[k]] == ys[k];
      }
      bool kept = b_.local(b) == a_.local(a);
      if (kept && xs.size() == ys.size() && same == xs.size()) continue;
      result_.reason[a] = LinkReason::kRewritten;
      result_.confidence[a] = kept ? 0.98f : 0.94f;
    }
  }

  const AlignmentSide& b_;
  const AlignmentSide& a_;
  InstructionPairs result_;
  size_t left_ = 0;
  bool started_ = false;
  std::vector<uint32_t> group_b_, group_a_;  // by computation; equal: they belong together
  uint32_t groups_ = 0;
  std::vector<uint32_t> fresh_;
  std::vector<UserKey> users_b_, users_a_;
};

}  // namespace

InstructionPairs PairInstructions(const AlignmentSide& before, const AlignmentSide& after) {
  return Pairer(before, after).Run();
}

}  // namespace hloscope::analysis
