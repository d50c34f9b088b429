// Nodes to boxes: by cluster, and by scope where there are more than a picture can show.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <tuple>

#include "core/base/counted.h"
#include "core/dump/tensorflow/graph_edges.h"
#include "core/dump/tensorflow_borders.h"
#include "core/dump/tensorflow_verdict.h"
#include "core/graph/labels.h"
#include "core/graph/tensorflow/tensorflow_picture.h"

namespace hloscope::graph {
namespace {

using dump::TensorFlowGraph;
using dump::TensorFlowNode;

constexpr size_t kMaxScopes = 8;

std::string_view NameInScope(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// The first `depth` parts of the scope that a node is in.
std::string_view ScopeWithin(std::string_view name, size_t depth) {
  const size_t last = name.rfind('/');
  if (last == name.npos || depth == 0) return {};
  const std::string_view scope = name.substr(0, last);
  size_t end = scope.find('/');
  while (--depth > 0 && end != scope.npos) end = scope.find('/', end + 1);
  return scope.substr(0, end);
}

// As many of its last parts as a title has room for: the first are those of many.
std::string EndOfScope(std::string_view scope) {
  if (Columns(scope) <= kTitleColumns) return std::string(scope);
  std::string_view rest = scope;
  while (Columns(rest) + 2 > kTitleColumns && rest.contains('/'))
    rest.remove_prefix(rest.find('/') + 1);
  return rest.size() == scope.size() ? Elide(scope, kTitleColumns) : "…/" + std::string(rest);
}

// What puts nodes into one box: device, scope, reason.
using BoxFold = std::tuple<std::string, std::string, std::string>;

class BoxMaker {
 public:
  BoxMaker(const TensorFlowGraph& graph, const dump::TensorFlowSummary& summary,
           const TensorFlowFolding& folding)
      : graph_(graph), edges_(graph), values_(graph, edges_), folding_(folding) {
    // The annotated graph has other names than the summary.
    bool is_told = false;
    for (const TensorFlowNode& node : summary.unclustered) {
      if (node.graph != graph.file || graph.name.ends_with("annotated")) continue;
      is_told = true;
      NoteOutside(node);
    }
    // Of a graph that the summary is not made of the graph's own reasons count, where it was
    // marked.
    if (is_told || graph.clusters.empty()) return;
    for (const TensorFlowNode& node : graph.nodes) {
      if (node.function.empty() && node.cluster.empty()) NoteOutside(node);
    }
  }

  TensorFlowBoxes Run() {
    std::map<std::string, std::vector<int32_t>> clusters;
    std::vector<int32_t> outside;
    for (const int32_t n : edges_.main()) {
      const TensorFlowNode& node = Node(n);
      (node.cluster.empty() ? outside : clusters[node.cluster]).push_back(n);
      out_.outside += outside_.contains(node.name) ? 1 : 0;
    }
    out_.nodes = static_cast<int64_t>(edges_.main().size());
    out_.clustered = out_.nodes - static_cast<int64_t>(outside.size());
    places_.resize(graph_.nodes.size());
    for (const auto& [name, nodes] : clusters) AddCluster(name, nodes);
    AddOutside(outside);
    AddWires();
    std::set<std::string> devices;
    for (const TensorFlowItem& item : out_.items) devices.insert(item.device);
    out_.devices.assign(devices.begin(), devices.end());
    return std::move(out_);
  }

 private:
  // Of a node: its item, the box in that, the box in that one if it is open, …
  using Place = std::vector<uint32_t>;

  // A graph from before marking has no reasons yet.
  void NoteOutside(const TensorFlowNode& node) {
    const bool is_marked = node.why != dump::OutsideReason::kNotMarked;
    if (is_marked && dump::RunsOutside(node) && !node.reason.empty())
      outside_.emplace(node.name, &node);
  }
  const TensorFlowNode& Node(int32_t n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  const TensorFlowNode* Outside(const TensorFlowNode& node) const {
    const auto at = outside_.find(node.name);
    return at == outside_.end() ? nullptr : at->second;
  }

  // By box: its nodes. Each node by itself where they are few.
  std::vector<std::vector<int32_t>> Folded(const std::vector<int32_t>& nodes, size_t most) {
    std::vector<std::vector<int32_t>> out;
    if (nodes.size() <= most || edges_.main().size() <= folding_.whole) {
      for (const int32_t n : nodes) out.push_back({n});
      return out;
    }
    out_.is_folded = true;
    for (size_t depth = kMaxScopes;; --depth) {
      std::map<BoxFold, std::vector<int32_t>> groups;
      for (const int32_t n : nodes) {
        const TensorFlowNode& node = Node(n);
        const TensorFlowNode* outside = Outside(node);
        groups[{node.device, std::string(ScopeWithin(node.name, depth)),
                outside == nullptr ? "" : outside->reason}]
            .push_back(n);
      }
      if (groups.size() > most && depth > 0) continue;
      for (auto& [fold, members] : groups) out.push_back(std::move(members));
      // As they are in the graph.
      std::ranges::sort(out, {}, [](const std::vector<int32_t>& members) { return members[0]; });
      return out;
    }
  }

  // Where the box stands: `place`.
  TensorFlowBox BoxOf(const std::vector<int32_t>& members, const Place& place) {
    TensorFlowBox box = Described(members);
    if (members.size() == 1 || !folding_.open.contains(box.scope())) {
      for (const int32_t n : members) places_[static_cast<size_t>(n)] = place;
      return box;
    }
    std::vector<std::vector<int32_t>> parts = Folded(members, folding_.most_inside);
    // All of one scope: its nodes, and where they are many the rest of them as one box.
    int64_t left_over = 0;
    if (parts.size() == 1) {
      const size_t most = std::max<size_t>(folding_.most_opened, 2);
      const size_t shown = members.size() > most ? most - 1 : members.size();
      parts.clear();
      for (const int32_t n : members | std::views::take(shown)) parts.push_back({n});
      if (shown < members.size()) {
        parts.emplace_back(members.begin() + static_cast<ptrdiff_t>(shown), members.end());
        left_over = static_cast<int64_t>(parts.back().size());
      }
    }
    Place inner = place;
    inner.push_back(0);
    for (const std::vector<int32_t>& part : parts) {
      inner.back() = static_cast<uint32_t>(box.inside.size());
      box.inside.push_back(BoxOf(part, inner));
    }
    if (left_over > 0) box.inside.back().title = fmt::format("{} more", left_over);
    return box;
  }

  TensorFlowBox Described(const std::vector<int32_t>& members) const {
    const TensorFlowNode& first = Node(members.front());
    TensorFlowBox box;
    box.device = first.device;
    box.members = members;
    box.nodes = static_cast<int64_t>(members.size());
    box.is_plumbing = std::ranges::none_of(
        members, [&](int32_t n) { return !Node(n).cluster.empty() || dump::RunsOutside(Node(n)); });
    const TensorFlowNode* outside = Outside(first);
    if (outside != nullptr) box.reason = outside->reason;
    if (members.size() == 1) {
      box.title = NameInScope(first.name);
      box.subtitle = first.op;
      box.tip = fmt::format("{} ({}) on {}", first.name, first.op,
                            first.device.empty() ? "no device yet" : first.device);
      if (outside != nullptr) {
        box.tip += fmt::format("\n{}", outside->reason);
        if (!outside->evidence.empty()) box.tip += fmt::format(": {}", outside->evidence);
        if (!outside->fix.empty()) box.tip += fmt::format("\nfix: {}", outside->fix);
      }
      return box;
    }
    std::map<std::string, int64_t> operations;
    for (const int32_t n : members) ++operations[Node(n).op];
    std::vector<std::pair<std::string, int64_t>> most(operations.begin(), operations.end());
    std::ranges::stable_sort(most, std::greater(), &std::pair<std::string, int64_t>::second);
    std::string_view scope = ScopeWithin(first.name, kMaxScopes);
    for (const int32_t n : members) {
      const std::string_view other = ScopeWithin(Node(n).name, kMaxScopes);
      while (!scope.empty() && !(other.starts_with(scope) &&
                                 (other.size() == scope.size() || other[scope.size()] == '/')))
        scope = scope.substr(0, scope.rfind('/') == scope.npos ? 0 : scope.rfind('/'));
    }
    box.title = scope.empty() ? "(no scope)" : EndOfScope(scope);
    box.subtitle = fmt::format("{}, {} {}", Counted(members.size(), "node"), most.front().second,
                               most.front().first);
    box.tip = fmt::format("{} on {}:", scope.empty() ? "(no scope)" : scope,
                          first.device.empty() ? "no device yet" : first.device);
    for (const auto& [operation, count] : most) box.tip += fmt::format(" {} {}", count, operation);
    if (!box.reason.empty()) box.tip += fmt::format("\n{}", box.reason);
    return box;
  }

  void AddCluster(const std::string& name, const std::vector<int32_t>& nodes) {
    TensorFlowItem item;
    item.cluster = name;
    item.nodes = static_cast<int64_t>(nodes.size());
    item.device = Node(nodes.front()).device;
    for (const std::vector<int32_t>& members : Folded(nodes, folding_.most_inside)) {
      item.boxes.push_back(BoxOf(members, {static_cast<uint32_t>(out_.items.size()),
                                           static_cast<uint32_t>(item.boxes.size())}));
    }
    out_.items.push_back(std::move(item));
  }

  void AddOutside(const std::vector<int32_t>& nodes) {
    for (const std::vector<int32_t>& members : Folded(nodes, folding_.most_outside)) {
      TensorFlowItem item;
      item.nodes = static_cast<int64_t>(members.size());
      item.device = Node(members.front()).device;
      item.boxes.push_back(BoxOf(members, {static_cast<uint32_t>(out_.items.size()), 0}));
      out_.items.push_back(std::move(item));
    }
  }

  // The wires of a frame: of the picture, of a cluster, of an open scope.
  std::vector<TensorFlowWire>& WiresIn(std::span<const uint32_t> frame) {
    if (frame.empty()) return out_.wires;
    TensorFlowItem& item = out_.items[frame.front()];
    if (frame.size() == 1) return item.wires;
    TensorFlowBox* box = &item.boxes[frame[1]];
    for (const uint32_t k : frame.subspan(2)) box = &box->inside[k];
    return box->wires;
  }

  // Each value is drawn in the innermost frame that both its ends are in.
  void AddWires() {
    std::map<Place, std::map<std::pair<uint32_t, uint32_t>, TensorFlowWire>> wires;
    for (const int32_t n : edges_.main()) {
      for (const dump::GraphEdge& edge : edges_.inputs(n)) {
        if (edge.node < 0) continue;
        const Place& from = places_[static_cast<size_t>(edge.node)];
        const Place& to = places_[static_cast<size_t>(n)];
        const auto [a, b] = std::ranges::mismatch(from, to);
        if (a == from.end() || b == to.end()) continue;
        TensorFlowWire& wire = wires[Place(from.begin(), a)][{*a, *b}];
        wire.from = *a;
        wire.to = *b;
        if (edge.slot < 0) continue;
        const TensorFlowNode& source = Node(edge.node);
        ++wire.values;
        wire.is_copied |= source.device != Node(n).device;
        if (source.cluster == Node(n).cluster) continue;
        wire.is_border = true;
        const int64_t bytes = values_.BytesOf(edge);
        bytes < 0 ? ++wire.unknown : wire.bytes += bytes;
      }
    }
    for (const auto& [frame, between] : wires) {
      for (const auto& [ends, wire] : between) WiresIn(frame).push_back(wire);
    }
  }

  const TensorFlowGraph& graph_;
  dump::GraphEdges edges_;
  dump::GraphValues values_;
  std::map<std::string, const TensorFlowNode*, std::less<>> outside_;
  const TensorFlowFolding& folding_;
  std::vector<Place> places_;  // by node
  TensorFlowBoxes out_;
};

}  // namespace

TensorFlowPane PaneOf(std::string_view path, const TensorFlowGraph& graph,
                      const dump::TensorFlowSummary& summary, const TensorFlowFolding& folding) {
  TensorFlowPane pane;
  pane.boxes = BoxesOf(graph, summary, folding);
  pane.heading =
      fmt::format("{}: {}, {} in {}, {} outside with a reason", path.substr(path.rfind('/') + 1),
                  Counted(pane.boxes.nodes, "node"), pane.boxes.clustered,
                  Counted(graph.clusters.size(), "cluster"), pane.boxes.outside);
  pane.sentence = dump::BordersText(dump::FindBorders(graph), BytesText);
  if (pane.boxes.is_folded)
    pane.sentence += std::string(pane.sentence.empty() ? "" : "; ") +
                     "boxes are scopes where nodes are too many";
  return pane;
}

TensorFlowBoxes BoxesOf(const dump::TensorFlowGraph& graph, const dump::TensorFlowSummary& summary,
                        const TensorFlowFolding& folding) {
  return BoxMaker(graph, summary, folding).Run();
}

}  // namespace hloscope::graph
