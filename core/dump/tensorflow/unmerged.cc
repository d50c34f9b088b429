// TensorFlow joins neighbours as long as nothing speaks against it, and drops what stays too small.
// So a node that could be compiled is outside because its group is small, and the group is small
// because of what speaks against its edges. The pass tries every edge until none can be contracted:
// where nothing else speaks against one, the size of the new cluster does.
#include "core/dump/tensorflow/unmerged.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "core/base/counted.h"
#include "core/dump/tensorflow/joint_devices.h"

namespace hloscope::dump {
namespace {

using enum OutsideReason;

constexpr int64_t kMaxSteps = 20'000'000;  // over all searches for a way
constexpr size_t kMaxNames = 6;

struct Cluster {
  std::vector<int32_t> members;
  DeviceSet devices;
  std::set<std::string_view> scopes;
  bool plain = true;    // no resources, functions or conditions, whose rules go by all members
  std::string foreign;  // a producer on a device that the cluster may not have; empty: none
};

class Unmerged {
 public:
  Unmerged(const TensorFlowGraph& graph, const GraphEdges& edges,
           const std::vector<int32_t>& candidates)
      : graph_(graph), edges_(edges), candidates_(candidates) {
    group_.assign(graph.nodes.size(), kNone);
    for (int32_t n : candidates) group_[static_cast<size_t>(n)] = kOpen;
    std::map<std::string_view, int32_t> clusters;
    for (int32_t n : edges.main()) {
      if (At(n).cluster.empty()) continue;
      auto [at, is_new] = clusters.try_emplace(At(n).cluster, count_);
      count_ += is_new ? 1 : 0;
      group_[static_cast<size_t>(n)] = at->second;
      if (is_new) clusters_.emplace_back();
      clusters_[static_cast<size_t>(at->second)].members.push_back(n);
    }
    first_open_ = count_;
    FindConditions();
    for (Cluster& cluster : clusters_) Describe(cluster);
  }

  std::vector<std::pair<int32_t, OutsideVerdict>> Run() {
    std::vector<std::pair<int32_t, OutsideVerdict>> verdicts;
    for (int32_t n : candidates_) {
      if (Group(n) == kOpen) Spread(n);
    }
    for (const std::vector<int32_t>& members : islands_) {
      std::optional<OutsideVerdict> any;
      std::map<int32_t, OutsideVerdict> own;
      for (int32_t n : members) {
        auto verdict = BlockerOf(n);
        if (!verdict) continue;
        if (!any) any = verdict;
        own.emplace(n, *std::move(verdict));
      }
      for (int32_t n : members) {
        auto at = own.find(n);
        if (at != own.end())
          verdicts.emplace_back(n, at->second);
        else if (any)
          verdicts.emplace_back(n, *any);
        else if (steps_ > kMaxSteps)
          verdicts.emplace_back(
              n, OutsideVerdict{kUnknown, "the graph is too large to search all other paths"});
        else if (auto full = FullNeighbour(n, members))
          verdicts.emplace_back(n, *std::move(full));
        else
          verdicts.emplace_back(n, TooSmall(n, members));
      }
    }
    return verdicts;
  }

 private:
  static constexpr int32_t kNone = -1, kOpen = -2;

  const TensorFlowNode& At(int32_t n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  int32_t Group(int32_t n) const { return group_[static_cast<size_t>(n)]; }

  void Describe(Cluster& cluster) const {
    for (int32_t n : cluster.members) {
      const TensorFlowNode& node = At(n);
      cluster.devices.Add(node);
      if (!node.scope.empty()) cluster.scopes.insert(node.scope);
      cluster.plain &= IsPlain(n);
    }
    for (int32_t n : cluster.members) {
      if (cluster.foreign.empty()) cluster.foreign = ForeignProducer(n, cluster.devices);
    }
  }
  bool IsPlain(int32_t n) const {
    return !UsesResource(At(n)) && At(n).functions.empty() &&
           conditions_[static_cast<size_t>(n)].empty();
  }
  // nullptr: the node is in none.
  const Cluster* ClusterOf(int32_t n) const {
    return Group(n) < 0 || Group(n) >= first_open_ ? nullptr
                                                   : &clusters_[static_cast<size_t>(Group(n))];
  }
  // Of the node's cluster, or of the node alone.
  DeviceSet DevicesOf(int32_t n) const {
    if (const Cluster* cluster = ClusterOf(n)) return cluster->devices;
    DeviceSet own;
    own.Add(At(n));
    return own;
  }
  std::string ForeignProducer(int32_t n, const DeviceSet& devices) const {
    for (const GraphEdge& edge : edges_.inputs(n)) {
      if (edge.node < 0 || Group(edge.node) == kNone) continue;
      DeviceSet theirs;
      theirs.Add(At(edge.node));
      if (!MayJoin(theirs, devices))
        return fmt::format("{} of {}", At(edge.node).name, At(edge.node).device);
    }
    return {};
  }

  // Candidates joined by edges, as if nothing spoke against it.
  void Spread(int32_t start) {
    std::vector<int32_t> members{start};
    group_[static_cast<size_t>(start)] = count_;
    auto add = [&](const GraphEdge& edge) {
      if (edge.node < 0 || Group(edge.node) != kOpen) return;
      group_[static_cast<size_t>(edge.node)] = count_;
      members.push_back(edge.node);
    };
    for (size_t k = 0; k < members.size(); ++k) {
      const int32_t n = members[k];
      for (const GraphEdge& edge : edges_.inputs(n)) add(edge);
      for (const GraphEdge& edge : edges_.users(n)) add(edge);
    }
    islands_.push_back(std::move(members));
    ++count_;
  }

  OutsideVerdict TooSmall(int32_t n, const std::vector<int32_t>& members) const {
    std::string names;
    size_t size = 0;
    for (int32_t m : members) {
      if (At(m).op == "Const" || At(m).op == "Identity") continue;
      if (size < kMaxNames) names += (size == 0 ? "" : ", ") + At(m).name;
      ++size;
    }
    if (size > kMaxNames) names += ", …";
    if (size > 0) return {kTooSmall, fmt::format("{} that count: {}", size, names)};
    for (const GraphEdge& user : edges_.users(n)) {
      if (Group(user.node) == kNone)
        return {kTooSmall, fmt::format("feeds only {} ({}), which is outside", At(user.node).name,
                                       At(user.node).op)};
    }
    return {kTooSmall, "none that count"};
  }

  // What speaks against the first edge of the node against which something does.
  std::optional<OutsideVerdict> BlockerOf(int32_t n) {
    for (const GraphEdge& edge : edges_.inputs(n)) {
      if (edge.node < 0 || Group(edge.node) < 0) continue;
      if (auto verdict = Against(edge.node, n)) return verdict;
    }
    for (const GraphEdge& edge : edges_.users(n)) {
      if (Group(edge.node) < 0) continue;
      if (auto verdict = Against(n, edge.node)) return verdict;
    }
    return std::nullopt;
  }

  std::optional<OutsideVerdict> Against(int32_t from, int32_t to) {
    const TensorFlowNode &a = At(from), &b = At(to);
    const std::string edge = fmt::format("{} -> {}", a.name, b.name);
    if (conditions_[static_cast<size_t>(from)] != conditions_[static_cast<size_t>(to)])
      return OutsideVerdict{
          kDeadness, fmt::format("{}: {} and {}", edge, ConditionText(from), ConditionText(to))};
    const DeviceSet devices = DevicesOf(to);
    if (!MayJoin(DevicesOf(from), devices))
      return OutsideVerdict{kDevices, fmt::format("{}: {} and {}", edge, a.device, b.device)};
    if (a.scope != b.scope && !a.scope.empty() && !b.scope.empty())
      return OutsideVerdict{kScope, fmt::format("{}: {} and {}", edge, a.scope, b.scope)};
    const Cluster* cluster = ClusterOf(to);
    if (const std::string foreign = cluster ? cluster->foreign : ForeignProducer(to, devices);
        !foreign.empty())
      return OutsideVerdict{kCrossDevice, fmt::format("{}, which waits for {}", edge, foreign)};
    if (auto way = WayAround(from, to))
      return OutsideVerdict{kCycle, fmt::format("{}, and also by {}", edge, *way)};
    if (Group(from) != Group(to) && IsOfVariable(a) && IsOfVariable(b))
      return OutsideVerdict{kResourceOrder, edge};
    return std::nullopt;
  }

  // A cluster beside the node that nothing but its size keeps it from.
  std::optional<OutsideVerdict> FullNeighbour(int32_t n, const std::vector<int32_t>& island) {
    if (!std::ranges::all_of(island, [&](int32_t m) { return IsPlain(m); })) return std::nullopt;
    size_t largest = 0;
    for (const Cluster& cluster : clusters_) largest = std::max(largest, cluster.members.size());
    auto full = [&](int32_t from, int32_t to, int32_t other) -> std::optional<OutsideVerdict> {
      const Cluster* cluster = ClusterOf(other);
      if (cluster == nullptr || !cluster->plain) return std::nullopt;
      if (cluster->members.size() + island.size() <= largest) return std::nullopt;
      const bool fits = std::ranges::all_of(island, [&](int32_t m) {
        return MayJoin(DevicesOf(m), cluster->devices) &&
               (At(m).scope.empty() || cluster->scopes.empty() ||
                cluster->scopes.contains(At(m).scope));
      });
      if (!fits || WayAround(from, to, true) || WayAround(to, from, true) || steps_ > kMaxSteps)
        return std::nullopt;
      return OutsideVerdict{kMaxSize,
                            fmt::format("{} -> {}: nothing but size speaks against it, {} has {}, "
                                        "the largest cluster {}",
                                        At(from).name, At(to).name, At(other).cluster,
                                        Counted(cluster->members.size(), "node"), largest)};
    };
    for (const GraphEdge& edge : edges_.inputs(n)) {
      if (edge.node < 0) continue;
      if (auto verdict = full(edge.node, n, edge.node)) return verdict;
    }
    for (const GraphEdge& edge : edges_.users(n)) {
      if (auto verdict = full(n, edge.node, edge.node)) return verdict;
    }
    return std::nullopt;
  }

  static bool IsOfVariable(const TensorFlowNode& node) {
    return node.op.ends_with("VariableOp") || node.op.starts_with("Resource");
  }

  // A way from the node to the other that leaves their groups.
  std::optional<std::string> WayAround(int32_t from, int32_t to, bool whole_islands = false) {
    const int32_t a = Group(from), b = Group(to);
    std::map<int32_t, int32_t> before;
    std::vector<int32_t> work;
    // A group that is one island may yet be cut in two, so only the very node starts, unless all
    // of it is asked for.
    auto visit = [&](int32_t node, int32_t last) {
      if (!before.try_emplace(node, last).second) return;
      work.push_back(node);
      const Cluster* cluster = ClusterOf(node);
      if (cluster == nullptr) return;
      // What goes into a cluster waits for all that comes out of it.
      for (int32_t member : cluster->members) {
        if (before.try_emplace(member, node).second) work.push_back(member);
      }
    };
    auto starts = [&](int32_t n) {
      for (const GraphEdge& user : edges_.users(n)) {
        const int32_t g = Group(user.node);
        if (g != a && g != b) visit(user.node, n);
      }
    };
    if (a >= first_open_ && !whole_islands) {
      starts(from);
    } else {
      for (int32_t n : edges_.main()) {
        if (Group(n) == a) starts(n);
        if (++steps_ > kMaxSteps) return std::nullopt;
      }
    }
    for (size_t k = 0; k < work.size(); ++k) {
      for (const GraphEdge& user : edges_.users(work[k])) {
        if (++steps_ > kMaxSteps) return std::nullopt;
        const bool arrived =
            b >= first_open_ && !whole_islands ? user.node == to : Group(user.node) == b;
        if (arrived) return WayText(before, work[k]);
        const int32_t g = Group(user.node);
        if (g != a && g != b) visit(user.node, work[k]);
      }
    }
    return std::nullopt;
  }

  std::string WayText(const std::map<int32_t, int32_t>& before, int32_t last) const {
    std::vector<std::string_view> names;
    for (auto at = before.find(last); at != before.end(); at = before.find(at->second))
      names.push_back(At(at->first).name);
    std::ranges::reverse(names);
    std::string text;
    for (size_t k = 0; k < names.size() && k < kMaxNames; ++k) {
      if (k > 0) text += " -> ";
      text += names[k];
    }
    return names.size() > kMaxNames ? text + " -> …" : text;
  }

  // Which outputs of Switch a node lives on, in the order of execution; loops count once.
  void FindConditions() {
    conditions_.resize(graph_.nodes.size());
    std::vector<int32_t> waiting(graph_.nodes.size(), 0), ready;
    for (int32_t n : edges_.main()) {
      for (const GraphEdge& edge : edges_.inputs(n))
        waiting[static_cast<size_t>(n)] += edge.node >= 0;
      if (waiting[static_cast<size_t>(n)] == 0) ready.push_back(n);
    }
    for (size_t k = 0; k < ready.size(); ++k) {
      const int32_t n = ready[k];
      SetCondition(n);
      for (const GraphEdge& user : edges_.users(n)) {
        if (--waiting[static_cast<size_t>(user.node)] == 0) ready.push_back(user.node);
      }
    }
  }

  void SetCondition(int32_t n) {
    std::set<std::string>& own = conditions_[static_cast<size_t>(n)];
    if (At(n).op == "Merge") return;  // lives where any of its inputs does
    for (const GraphEdge& edge : edges_.inputs(n)) {
      if (edge.node < 0) continue;
      const std::set<std::string>& theirs = conditions_[static_cast<size_t>(edge.node)];
      if (own.size() < kMaxNames * kMaxNames) own.insert(theirs.begin(), theirs.end());
      if (At(edge.node).op != "Switch" || edge.slot < 0) continue;
      const std::vector<std::string>& inputs = At(edge.node).inputs;
      own.insert(fmt::format("{}{}", edge.slot == 0 ? "not " : "",
                             inputs.size() > 1 ? inputs[1] : At(edge.node).name));
    }
  }

  std::string ConditionText(int32_t n) const {
    std::string text;
    for (const std::string& condition : conditions_[static_cast<size_t>(n)])
      text += (text.empty() ? "if " : " and ") + condition;
    return text.empty() ? "always" : text;
  }

  const TensorFlowGraph& graph_;
  const GraphEdges& edges_;
  const std::vector<int32_t>& candidates_;
  std::vector<Cluster> clusters_;
  std::vector<int32_t> group_;  // by node: clusters, then islands of candidates
  std::vector<std::vector<int32_t>> islands_;
  std::vector<std::set<std::string>> conditions_;
  int32_t count_ = 0, first_open_ = 0;
  int64_t steps_ = 0;
};

}  // namespace

std::vector<std::pair<int32_t, OutsideVerdict>> WhyUnmerged(
    const TensorFlowGraph& graph, const GraphEdges& edges, const std::vector<int32_t>& candidates) {
  if (candidates.empty()) return {};
  return Unmerged(graph, edges, candidates).Run();
}

}  // namespace hloscope::dump
