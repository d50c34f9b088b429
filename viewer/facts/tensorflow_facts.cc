// Drawings of graphs, and sentences about their nodes.
#include "viewer/facts/tensorflow_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/dump/tensorflow/graph_edges.h"
#include "core/dump/tensorflow_borders.h"
#include "core/graph/labels.h"
#include "viewer/facts/outside_nodes.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/second_dump.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

struct TensorFlowDrawingKey {
  using Value = TensorFlowDrawing;
  int32_t file = -1;
  uint64_t second = 0;  // the reading of the second dump; 0: of the first
  OpenScopes open = {};
  auto operator<=>(const TensorFlowDrawingKey&) const = default;
};

struct ReadGraphKey {
  using Value = dump::TensorFlowGraph;
  int32_t file = -1;
  auto operator<=>(const ReadGraphKey&) const = default;
};

// Beyond as many boxes a picture says nothing; what is folded can be opened there.
constexpr size_t kWhole = 60, kMaxOutside = 24, kMaxInside = 16;

class DrawingMaker {
 public:
  std::shared_ptr<const TensorFlowDrawing> Make(
      const dump::DumpModel& dump, const std::shared_ptr<const dump::TensorFlowGraph>& graph,
      const dump::TensorFlowSummary& summary, const OpenScopes& open) {
    out_->graph = graph;
    out_->pane = graph::PaneOf(
        dump.files()[static_cast<size_t>(graph->file)].path, *graph, summary,
        {.whole = kWhole, .most_outside = kMaxOutside, .most_inside = kMaxInside, .open = open});
    out_->layout = graph::LayOut(out_->pane.boxes);
    out_->picture.width = out_->layout.width;
    out_->picture.height = out_->layout.height;
    out_->shown_of_node.resize(graph->nodes.size());
    const auto& items = out_->pane.boxes.items;
    for (uint32_t k = 0; k < items.size(); ++k) AddItem(k, items[k]);
    for (uint32_t w = 0; w < out_->pane.boxes.wires.size(); ++w) {
      const graph::TensorFlowWire& wire = out_->pane.boxes.wires[w];
      AddWire({&wire, &out_->layout.wires[w], false}, items_[wire.from], items_[wire.to]);
    }
    return out_;
  }

 private:
  graph::NodeId Add(const graph::SvgArea& area, TensorFlowDrawing::Shown shown) {
    const graph::NodeId id(static_cast<uint32_t>(out_->shown.size()));
    out_->shown.push_back(shown);
    out_->picture.box_of_node.emplace(id.index, static_cast<uint32_t>(out_->picture.boxes.size()));
    out_->picture.boxes.push_back({.node = id,
                                   .x = area.x,
                                   .y = area.y,
                                   .width = area.width,
                                   .height = area.height,
                                   .open = shown.box == nullptr || shown.box->is_open()});
    return id;
  }

  // The frame of a cluster before what is in it.
  void AddItem(uint32_t k, const graph::TensorFlowItem& item) {
    graph::NodeId frame;
    if (!item.cluster.empty()) items_.push_back(frame = Add(out_->layout.items[k], {.item = k}));
    std::vector<graph::NodeId> inside;
    for (size_t b = 0; b < item.boxes.size(); ++b)
      inside.push_back(AddBox(k, item.boxes[b], out_->layout.boxes[k][b], frame));
    if (item.cluster.empty()) items_.push_back(inside.front());
    AddInnerWires(item.wires, out_->layout.inner[k], inside);
  }

  graph::NodeId AddBox(uint32_t k, const graph::TensorFlowBox& box,
                       const graph::TensorFlowSpot& spot, graph::NodeId frame) {
    const graph::NodeId id = Add(spot.area, {.item = k, .box = &box, .frame = frame});
    if (!box.is_open()) {
      for (const int32_t n : box.members) out_->shown_of_node[static_cast<size_t>(n)] = id;
      return id;
    }
    std::vector<graph::NodeId> inside;
    for (size_t b = 0; b < box.inside.size(); ++b)
      inside.push_back(AddBox(k, box.inside[b], spot.inside[b], id));
    AddInnerWires(box.wires, spot.wires, inside);
    return id;
  }

  void AddInnerWires(const std::vector<graph::TensorFlowWire>& wires,
                     const std::vector<graph::TensorFlowPath>& paths,
                     const std::vector<graph::NodeId>& inside) {
    for (size_t w = 0; w < wires.size(); ++w)
      AddWire({&wires[w], &paths[w], true}, inside[wires[w].from], inside[wires[w].to]);
  }

  void AddWire(TensorFlowDrawing::Wire wire, graph::NodeId from, graph::NodeId to) {
    const graph::TensorFlowPath& path = *wire.path;
    graph::Wire drawn{.from = from, .to = to};
    drawn.first_point = static_cast<uint32_t>(out_->picture.points.size());
    drawn.point_count = static_cast<uint32_t>(path.points.size());
    drawn.bytes = wire.of->bytes;
    drawn.edges = static_cast<uint32_t>(std::max<int64_t>(wire.of->values, 1));
    out_->picture.points.insert(out_->picture.points.end(), path.points.begin(), path.points.end());
    out_->picture.wires.push_back(drawn);
    out_->wires.push_back(wire);
  }

  std::shared_ptr<TensorFlowDrawing> out_ = std::make_shared<TensorFlowDrawing>();
  std::vector<graph::NodeId> items_;  // by item: what wires between items end at
};

Computed<TensorFlowDrawing> MakeDrawing(const dump::DumpModel& dump, int32_t file,
                                        const OpenScopes& open) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto graph, dump.TensorFlow(file));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto summary, dump.TensorFlow());
  return DrawingMaker().Make(dump, graph, *summary, open);
}

// The file's name without its ending and without "before" and "after".
std::string NameBeside(std::string_view path) {
  std::string_view stem = dump::BareFileName(path);
  stem = stem.substr(0, stem.find('.'));
  std::string out;
  while (!stem.empty()) {
    const size_t end = std::min(stem.find('_'), stem.size());
    const std::string_view word = stem.substr(0, end);
    if (word != "before" && word != "after") out += "_" + std::string(word);
    stem.remove_prefix(std::min(end + 1, stem.size()));
  }
  return out;
}

bool HasWord(std::string_view path, std::string_view word) {
  const std::string name = "_" + std::string(dump::BareFileName(path)) + "_";
  const size_t at = name.find("_" + std::string(word));
  return at != std::string::npos &&
         (name[at + word.size() + 1] == '_' || name[at + word.size() + 1] == '.');
}

class NodeSummarizer {
 public:
  NodeSummarizer(const dump::TensorFlowGraph& graph, const dump::TensorFlowSummary* summary,
                 int32_t file, int32_t n)
      : graph_(graph),
        node_(graph.nodes[static_cast<size_t>(n)]),
        edges_(graph),
        values_(graph, edges_),
        summary_(summary),
        file_(file),
        n_(n) {}

  std::vector<SummaryLine> Run() {
    Add(fmt::format("{} on {}", node_.op,
                    node_.device.empty() ? "no device yet" : graph::DeviceText(node_.device)));
    if (!node_.cluster.empty()) {
      Add(fmt::format("in {}, which XLA compiles as one program", node_.cluster), Tone::kGood);
    } else if (const dump::TensorFlowNode* outside = Outside()) {
      Add("in no cluster: " + outside->reason, Tone::kHost);
      if (!outside->evidence.empty()) Add(outside->evidence);
      if (!outside->fix.empty()) Add("fix: " + outside->fix);
      if (outside->by_log) Add("as TensorFlow's log says");
    } else {
      Add("in no cluster");
    }
    for (const std::string& function : node_.functions) Add("calls " + function);
    AddInputs();
    AddUsers();
    return std::move(lines_);
  }

 private:
  void Add(std::string text, Tone tone = Tone::kPlain, int32_t leads_to = -1) {
    SummaryLine line{.tone = tone, .text = std::move(text)};
    if (leads_to >= 0) line.selection = Selection::OfGraphNode(file_, leads_to);
    lines_.push_back(std::move(line));
  }

  const dump::TensorFlowNode* Outside() const {
    if (summary_ == nullptr) return nullptr;
    const auto found = std::ranges::find_if(summary_->unclustered, [&](const auto& node) {
      return node.name == node_.name && node.graph == file_ &&
             node.why != dump::OutsideReason::kNotMarked && !node.reason.empty();
    });
    return found == summary_->unclustered.end() ? nullptr : &*found;
  }

  std::string ValueText(const dump::GraphEdge& value, const dump::TensorFlowNode& from,
                        const dump::TensorFlowNode& to) const {
    if (value.slot < 0) return " (order alone)";
    std::string text = values_.Text(value);
    if (!text.empty()) text = ": " + text;
    const int64_t bytes = values_.BytesOf(value);
    text += bytes < 0 ? ", size unknown" : ", " + graph::BytesText(bytes);
    if (from.cluster != to.cluster) text += ", across a cluster boundary";
    if (from.device != to.device) text += ", copied between devices";
    return text;
  }

  void AddInputs() {
    const auto& inputs = edges_.inputs(n_);
    for (size_t k = 0; k < inputs.size() && k < kMost; ++k) {
      const dump::GraphEdge& edge = inputs[k];
      if (edge.node < 0) {
        Add(fmt::format("reads {}, which is not in this graph", node_.inputs[k]));
        continue;
      }
      const dump::TensorFlowNode& from = graph_.nodes[static_cast<size_t>(edge.node)];
      Add(fmt::format("reads {}{}", from.name, ValueText(edge, from, node_)), Tone::kPlain,
          edge.node);
    }
    if (inputs.size() > kMost) Add(fmt::format("and {} more inputs", inputs.size() - kMost));
  }

  void AddUsers() {
    const auto& users = edges_.users(n_);
    for (size_t k = 0; k < users.size() && k < kMost; ++k) {
      const dump::TensorFlowNode& to = graph_.nodes[static_cast<size_t>(users[k].node)];
      Add(fmt::format("read by {}{}", to.name, ValueText({n_, users[k].slot}, node_, to)),
          Tone::kPlain, users[k].node);
    }
    if (users.size() > kMost) Add(fmt::format("and {} more users", users.size() - kMost));
  }

  static constexpr size_t kMost = 40;
  const dump::TensorFlowGraph& graph_;
  const dump::TensorFlowNode& node_;
  const dump::GraphEdges edges_;
  const dump::GraphValues values_;
  const dump::TensorFlowSummary* summary_;
  int32_t file_, n_;
  std::vector<SummaryLine> lines_;
};

// The summary of the node that is selected, while it is.
struct SummarizedNode {
  const void* graph = nullptr;
  const void* summary = nullptr;
  int32_t node = -1;
  std::vector<SummaryLine> lines;
  void Rebase(const dump::DumpModel&, const dump::DumpModel&, std::vector<std::string>&) {
    *this = {};
  }
};

}  // namespace

std::vector<int32_t> GraphFilesOf(const dump::DumpModel& dump) {
  std::vector<int32_t> files;
  for (size_t f = 0; f < dump.files().size(); ++f) {
    if (dump.files()[f].role == dump::FileRole::kTensorFlowGraph)
      files.push_back(static_cast<int32_t>(f));
  }
  return files;
}

bool IsBeforeGraph(const dump::DumpModel& dump, int32_t file) {
  return HasWord(dump.files()[static_cast<size_t>(file)].path, "before");
}

int32_t MainGraphOf(const dump::DumpModel& dump) {
  int32_t best = -1;
  std::pair<bool, int64_t> most;
  for (const int32_t file : GraphFilesOf(dump)) {
    const dump::FileEntry& entry = dump.files()[static_cast<size_t>(file)];
    const bool is_marked = dump::BareFileName(entry.path).starts_with("mark_for_compilation") &&
                           !HasWord(entry.path, "before") && !HasWord(entry.path, "annotated");
    const std::pair<bool, int64_t> weight(is_marked, entry.bytes);
    if (best >= 0 && weight <= most) continue;
    best = file;
    most = weight;
  }
  return best;
}

int32_t GraphBesideOf(const dump::DumpModel& dump, int32_t file) {
  const std::string& path = dump.files()[static_cast<size_t>(file)].path;
  for (const int32_t other : GraphFilesOf(dump)) {
    const std::string& name = dump.files()[static_cast<size_t>(other)].path;
    if (other != file && NameBeside(name) == NameBeside(path) &&
        HasWord(name, "before") != HasWord(path, "before"))
      return other;
  }
  return -1;
}

const graph::Box* TensorFlowDrawing::Find(const graph::TensorFlowScope& scope) const {
  const auto found = std::ranges::find_if(shown, [&](const Shown& each) {
    return each.box != nullptr && each.box->nodes > 1 && each.box->scope() == scope;
  });
  return found == shown.end()
             ? nullptr
             : picture.Find(graph::NodeId(static_cast<uint32_t>(found - shown.begin())));
}

const Pending<TensorFlowDrawing>& DrawingOf(Context& context, int32_t file, bool of_second,
                                            const OpenScopes& open) {
  const auto dump = of_second ? context.second.dump().value : context.document.dump().value;
  return (of_second ? context.second.cache() : context.cache)
      .Get(TensorFlowDrawingKey{file, of_second ? context.second.reading() : 0, open},
           "drawing the TensorFlow graph",
           [dump, file, open](TaskControl&) { return MakeDrawing(*dump, file, open); });
}

void DropDrawing(Context& context, int32_t file, bool of_second, const OpenScopes& open) {
  (of_second ? context.second.cache() : context.cache)
      .Drop(TensorFlowDrawingKey{file, of_second ? context.second.reading() : 0, open});
}

std::vector<SummaryLine> SummarizeGraphNode(Context& context) {
  const Selection& now = context.navigation.selection();
  const Pending<dump::TensorFlowGraph>& graph =
      context.cache.Get(ReadGraphKey{now.file}, "reading the TensorFlow graph",
                        [dump = context.document.dump().value, file = now.file](TaskControl&) {
                          return dump->TensorFlow(file);
                        });
  const Pending<dump::TensorFlowSummary>* summary = TensorFlowOf(context);
  if (!graph.ready() || static_cast<size_t>(now.node) >= graph->nodes.size()) return {};
  const bool is_known = summary != nullptr && summary->ready();
  const dump::TensorFlowSummary* known = is_known ? summary->value.get() : nullptr;
  SummarizedNode& told = context.marks.Of<SummarizedNode>();
  if (told.graph != graph.value.get() || told.node != now.node || told.summary != known)
    told = {graph.value.get(), known, now.node,
            NodeSummarizer(*graph, known, now.file, now.node).Run()};
  return told.lines;
}

}  // namespace hloscope::viewer
