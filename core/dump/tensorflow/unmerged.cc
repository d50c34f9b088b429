// TensorFlow joins neighbours as long as nothing speaks against it, and drops what stays too small.
// So a node that could be compiled is outside because its group is small, and the group is small
// because of what speaks against its edges. The pass tries every edge until none can be contracted:
// where nothing else speaks against one, the size of the new cluster does.
#include "core/dump/tensorflow/unmerged.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "core/base/counted.h"
#include "core/dump/tensorflow/joint_devices.h"
#include "core/dump/tensorflow/paths_around.h"

namespace hloscope::dump {
namespace {

using enum OutsideReason;

constexpr size_t kMaxNames = 6;

struct Cluster {
  std::vector<int32_t> members;
  DeviceSet devices;
  std::set<std::string_view> scopes;
  bool plain = true;    // no resources, functions or conditions, whose rules go by all members
  std::string foreign;  // a producer on a device that the cluster may not have; empty: none
};

// Candidates joined by edges.
struct Island {
  size_t size = 0;
  std::vector<int32_t> kinds;  // a member of each device and scope
  bool plain = true;           // as of a cluster
  size_t counted = 0;          // members that count towards the smallest size of a cluster
  std::string names;           // of the first of these
  std::map<const Cluster*, bool> only_size;  // whether nothing but its size keeps it from one
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
    std::vector<std::span<const int32_t>> members;
    for (Cluster& cluster : clusters_) {
      Describe(cluster);
      members.emplace_back(cluster.members);
      largest_ = std::max(largest_, cluster.members.size());
    }
    // TensorFlow looks for cycles within one turn of a loop (CreateCycleDetectionGraph).
    std::vector<char> ends(graph.nodes.size(), 0);
    for (int32_t n : edges.main()) ends[static_cast<size_t>(n)] = At(n).op == "NextIteration";
    paths_.emplace(edges_, group_, std::move(members), std::move(ends));
  }

  UnmergedVerdicts Run() {
    UnmergedVerdicts result;
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
      if (!any) any = CycleThrough(members);
      Island island = DescribeIsland(members);
      for (int32_t n : members) {
        auto at = own.find(n);
        if (at != own.end())
          result.verdicts.emplace_back(n, at->second);
        else if (any)
          result.verdicts.emplace_back(n, *any);
        else if (paths_->exhausted())
          result.verdicts.emplace_back(
              n, OutsideVerdict{kUnknown, "the graph is too large to search all other paths"});
        else if (auto full = FullNeighbour(n, island))
          result.verdicts.emplace_back(n, *std::move(full));
        else
          result.verdicts.emplace_back(n, TooSmall(n, island));
      }
    }
    result.steps = steps_ + paths_->steps();
    return result;
  }

 private:
  static constexpr int32_t kNone = -1, kOpen = -2;

  const TensorFlowNode& At(int32_t n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  int32_t Group(int32_t n) const { return group_[static_cast<size_t>(n)]; }

  void Describe(Cluster& cluster) {
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
  Island DescribeIsland(const std::vector<int32_t>& members) {
    Island island;
    island.size = members.size();
    std::set<std::tuple<std::string_view, bool, std::string_view>> kinds;
    for (int32_t n : members) {
      ++steps_;
      const TensorFlowNode& node = At(n);
      island.plain &= IsPlain(n);
      if (kinds.emplace(node.device, UsesResource(node), node.scope).second)
        island.kinds.push_back(n);
      if (node.op == "Const" || node.op == "Identity") continue;
      if (island.counted < kMaxNames) island.names += (island.counted == 0 ? "" : ", ") + node.name;
      ++island.counted;
    }
    if (island.counted > kMaxNames) island.names += ", …";
    return island;
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
  const std::string& ForeignOf(int32_t n) {
    auto [known, is_new] = foreign_.try_emplace(n);
    if (is_new) known->second = ForeignProducer(n, DevicesOf(n));
    return known->second;
  }
  std::string ForeignProducer(int32_t n, const DeviceSet& devices) {
    for (const GraphEdge& edge : edges_.inputs(n)) {
      ++steps_;
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

  OutsideVerdict TooSmall(int32_t n, const Island& island) const {
    if (island.counted > 0)
      return {kTooSmall, fmt::format("{} that count: {}", island.counted, island.names)};
    std::set<int32_t> users, outside;
    for (const GraphEdge& user : edges_.users(n)) {
      users.insert(user.node);
      if (Group(user.node) == kNone) outside.insert(user.node);
    }
    if (outside.empty()) return {kNothingCounts, {}};
    const TensorFlowNode& first = At(*outside.begin());
    const size_t more = outside.size() - 1;
    return {kNothingCounts,
            fmt::format("feeds {}{} ({}){}, which {} outside",
                        users.size() == outside.size() ? "only " : "", first.name, first.op,
                        more == 0 ? "" : " and " + Counted(more, "more node"),
                        more == 0 ? "is" : "are")};
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
    ++steps_;
    const TensorFlowNode &a = At(from), &b = At(to);
    const std::string edge = fmt::format("{} -> {}", a.name, b.name);
    if (conditions_[static_cast<size_t>(from)] != conditions_[static_cast<size_t>(to)])
      return OutsideVerdict{
          kDeadness, fmt::format("{}: {} and {}", edge, ConditionText(from), ConditionText(to))};
    if (!MayJoin(DevicesOf(from), DevicesOf(to)))
      return OutsideVerdict{kDevices, fmt::format("{}: {} and {}", edge, a.device, b.device)};
    if (a.scope != b.scope && !a.scope.empty() && !b.scope.empty())
      return OutsideVerdict{kScope, fmt::format("{}: {} and {}", edge, a.scope, b.scope)};
    const Cluster* cluster = ClusterOf(to);
    if (const std::string& foreign = cluster ? cluster->foreign : ForeignOf(to); !foreign.empty())
      return OutsideVerdict{kCrossDevice, fmt::format("{}, which waits for {}", edge, foreign)};
    if (auto path = PathAround(from, to))
      return OutsideVerdict{kCycle, fmt::format("{}, and also by {}", edge, *path)};
    if (Group(from) != Group(to) && IsOfVariable(a) && IsOfVariable(b))
      return OutsideVerdict{kResourceOrder, edge};
    return std::nullopt;
  }

  // Where no single edge closes a cycle but all of them together do: what leaves the candidates and
  // comes back to them.
  std::optional<OutsideVerdict> CycleThrough(const std::vector<int32_t>& members) {
    const int32_t island = Group(members.front());
    const PathEnd all{island, members};
    if (members.size() < 2) return std::nullopt;
    const std::vector<int32_t> path = paths_->Find(group_, all, all);
    if (path.empty()) return std::nullopt;
    auto of_island = [&](const GraphEdge& edge) {
      return edge.node >= 0 && Group(edge.node) == island;
    };
    const auto from = std::ranges::find_if(edges_.inputs(path.front()), of_island);
    const auto to = std::ranges::find_if(edges_.users(path.back()), of_island);
    return OutsideVerdict{
        kCycle, fmt::format("{} and {} in one cluster, and also by {}", At(from->node).name,
                            At(to->node).name, PathText(path))};
  }

  // A cluster next to the node that nothing but its size keeps it from.
  std::optional<OutsideVerdict> FullNeighbour(int32_t n, Island& island) {
    if (!island.plain) return std::nullopt;
    auto full = [&](int32_t from, int32_t to, int32_t other) -> std::optional<OutsideVerdict> {
      ++steps_;
      const Cluster* cluster = ClusterOf(other);
      if (cluster == nullptr) return std::nullopt;
      auto [known, is_new] = island.only_size.try_emplace(cluster, false);
      if (is_new) known->second = OnlySizeIsAgainst(island, *cluster, from, to);
      if (!known->second) return std::nullopt;
      return OutsideVerdict{kMaxSize,
                            fmt::format("{} -> {}: nothing but size speaks against it, {} has {}, "
                                        "the largest cluster {}",
                                        At(from).name, At(to).name, At(other).cluster,
                                        Counted(cluster->members.size(), "node"), largest_)};
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
  bool OnlySizeIsAgainst(const Island& island, const Cluster& cluster, int32_t from, int32_t to) {
    if (!cluster.plain || cluster.members.size() + island.size <= largest_) return false;
    const bool fits = std::ranges::all_of(island.kinds, [&](int32_t m) {
      ++steps_;
      return MayJoin(DevicesOf(m), cluster.devices) &&
             (At(m).scope.empty() || cluster.scopes.empty() ||
              cluster.scopes.contains(At(m).scope));
    });
    return fits && !PathAround(from, to, true) && !PathAround(to, from, true) &&
           !paths_->exhausted();
  }

  static bool IsOfVariable(const TensorFlowNode& node) {
    return node.op.ends_with("VariableOp") || node.op.starts_with("Resource");
  }

  // Another path from the one to the other that leaves their groups. An island may yet be cut in
  // two, so only the very node of it counts, unless all of it is asked for.
  std::optional<std::string> PathAround(int32_t from, int32_t to, bool whole_islands = false) {
    auto end = [&](const int32_t& n) {
      const int32_t group = Group(n);
      if (group < first_open_) return PathEnd{group, clusters_[static_cast<size_t>(group)].members};
      if (!whole_islands) return PathEnd{group, {&n, 1}};
      return PathEnd{group, islands_[static_cast<size_t>(group - first_open_)]};
    };
    const std::vector<int32_t> path = paths_->Find(group_, end(from), end(to));
    if (path.empty()) return std::nullopt;
    return PathText(path);
  }
  std::string PathText(const std::vector<int32_t>& path) const {
    std::string text;
    for (size_t k = 0; k < path.size() && k < kMaxNames; ++k)
      text += (k > 0 ? " -> " : "") + At(path[k]).name;
    return path.size() > kMaxNames ? text + " -> …" : text;
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
  std::map<int32_t, std::string> foreign_;  // of nodes that are in no cluster
  std::optional<PathsAround> paths_;
  size_t largest_ = 0;  // cluster
  int32_t count_ = 0, first_open_ = 0;
  int64_t steps_ = 0;  // members and edges looked at, in addition to those of paths
};

}  // namespace

UnmergedVerdicts WhyUnmerged(const TensorFlowGraph& graph, const GraphEdges& edges,
                             const std::vector<int32_t>& candidates) {
  if (candidates.empty()) return {};
  return Unmerged(graph, edges, candidates).Run();
}

}  // namespace hloscope::dump
