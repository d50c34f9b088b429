// Panes: what the pictures of the graph show, and how they follow the selection.
#include "viewer/graph/graph_pane.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/graph/svg.h"
#include "core/graph/unfolding.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/graph_outline.h"
#include "viewer/lab/hover_values.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::NodeKind;

constexpr size_t kMaxOpened = 2000;

// The final stage runs as all of the dump says, others as the module itself shows.
analysis::Placement PlacementOf(const dump::DumpModel& dump, int32_t module, int32_t stage,
                                const hlo::Module& text) {
  if (stage == dump.FinalStage(module)) return analysis::PlacementIn(dump, module, text);
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  return analysis::FindPlacement(text, analysis::TargetNamed(entry.device));
}

}  // namespace

bool GraphPane::Ready(Frame& frame, int32_t module, int32_t stage, const GraphPart& part,
                      float width, Frames frames) {
  context_ = &frame.context;
  const uint64_t generation = frame.context.document.generation();
  const GraphKey key{module, stage, part, frames};
  if (key == key_ && generation == generation_ && data_ != nullptr) return true;
  const Pending<hlo::Module>& read = frame.context.data.Module(module, stage);
  if (!ShowPending(frame, read, "the module of this stage")) return false;
  const Pending<GraphData>& made = frame.context.cache.Get(
      key, "laying out the graph",
      [text = read.value, part, module, stage, frames, dump = frame.context.document.dump().value,
       logical = width / frame.scale](TaskControl&) {
        return MakeGraphData(
            text, part, [&] { return PlacementOf(*dump, module, stage, *text); }, logical, frames);
      });
  if (!ShowPending(frame, made, "the graph")) return false;
  const bool is_same = generation_ == generation && key_.module == module;
  // Positions in the previous picture decide the order where names are the same.
  if (data_ != nullptr && is_same && data_ != made.value) {
    made->graph.SetAnchors(data_->graph.MakeAnchors());
    made->graph.Rearrange();
  }
  fitted_ = fitted_ && is_same && part.kind == GraphPart::Kind::kWhole && !follows_size_;
  if (!is_same) follows_size_ = true;
  data_ = made.value;
  ++graph_;
  // A graph is large and made quickly: the context keeps the one in view, not those of all passes.
  if (key != key_) frame.context.cache.Drop(key_);
  key_ = key;
  generation_ = generation;
  colors_.reset();
  host_runs_.reset();
  painted_.clear();
  focus_ = NodeId();
  followed_ = UINT64_MAX;
  return true;
}

void GraphPane::Paint(Frame& frame, ColorMode mode, const KernelPaint& kernels,
                      const std::shared_ptr<const HeatFacts>& heat) {
  const Origins* origins = nullptr;
  if (mode == ColorMode::kOrigin) {
    auto provenance = frame.context.data.Provenance(module());
    const Pending<Origins>& found =
        frame.context.cache.Get(PartKey<Origins>{module(), stage()}, "finding passes of origin",
                                [provenance, stage = stage()](TaskControl& control) {
                                  return FindOrigins(provenance->lineage(), stage, control);
                                });
    if (found.ready()) origins = found.value.get();
  }
  const bool hot = mode == ColorMode::kError;
  const CurveVersion errors = hot ? CurveVersionOf(frame.context, module()) : CurveVersion();
  const std::string wanted =
      fmt::format("{}:{}:{}:{}:{}:{}:{}", graph_, static_cast<int>(mode), frame.theme.dark(),
                  origins != nullptr, data_->graph.tree().size(), errors.verdict, errors.findings);
  std::shared_ptr<const HostRuns> host_runs = HostRunsOf(frame.context, module(), stage());
  if (wanted == painted_ && kernels == kernels_ && host_runs == host_runs_ && heat == heat_facts_)
    return;
  heat_facts_ = heat;
  heat_.reset();
  if (heat != nullptr) heat_.emplace(data_->module, heat, kernels);
  host_runs_ = std::move(host_runs);
  paints_places_ = mode == ColorMode::kPlace;
  painted_ = wanted;
  theme_ = &frame.theme;
  kernels_ = kernels;
  kernel_of_group_.clear();
  tints_.clear();
  for (int color = 0; color <= graph::kCollectiveColor; ++color)
    tints_.push_back(ColorOfKernel(frame.theme, static_cast<uint8_t>(color)));
  colors_.emplace(*data_, mode, frame.theme, origins,
                  hot ? HeatOf(frame.context, module(), stage(), *data_->module) : Heat(), kernels);
  ++style_version_;
  std::vector<std::string> names;
  const dump::ModuleEntry& entry =
      frame.context.document.dump()->modules()[static_cast<size_t>(module())];
  for (const dump::StageEntry& stage : entry.stages) names.push_back(SafeText(stage.name, 24));
  legend_ = heat != nullptr ? HeatLegend(frame.theme, *heat) : colors_->Legend(names);
  if (heat == nullptr) AddPlaces(frame.theme, data_->placement, legend_);
  if (host_runs_ != nullptr) {
    constexpr analysis::Place kHost = analysis::Place::kHost;
    legend_.push_back({PlaceColor(frame.theme, kHost),
                       fmt::format("{} in a recorded run", kRanOnHost),
                       graph::LookOf(kHost).outline});
  }
}

void GraphPane::Follow(Frame& frame) {
  const bool complete = frame.context.navigation.counterparts_complete();
  if (followed_ == frame.context.navigation.version() && followed_complete_ == complete) return;
  const bool moved = followed_ != frame.context.navigation.version();
  followed_ = frame.context.navigation.version();
  const hlo::InstructionId mine = frame.context.navigation.InstructionIn(stage());
  followed_complete_ = frame.context.navigation.counterparts_complete();
  highlighted_.clear();
  for (const StageCounterpart& c : frame.context.navigation.counterparts().stages) {
    if (c.stage != stage()) continue;
    NodeId node = data_->NodeOf(c.instruction, false);
    if (node.valid()) highlighted_.insert(node.index);
  }
  NodeId node = data_->NodeOf(mine, false);
  if (!node.valid()) {
    if (moved) focus_ = NodeId();
    return;
  }
  focus_ = node;
  highlighted_.insert(node.index);
  const Box* box = data_->graph.picture().Find(node);
  if (fitted_ && box != nullptr && !canvas_.Shows(*box)) {
    follows_size_ = false;
    canvas_.Bring(*box, data_->graph.picture());
  }
}

// For what acts on the instruction under the pointer.
void GraphPane::NoteHovered(const CanvasEvents& events) const {
  if (!events.hovered.valid()) return;
  const graph::Node& node = data_->graph.tree()[events.hovered];
  if (node.kind != NodeKind::kInstruction) return;
  context_->marks.Of<Hovered>() = {Selection::OfInstruction(module(), stage(), node.instruction),
                                   ImGui::GetFrameCount()};
}

void GraphPane::Find(Frame& frame, const std::string& text) {
  if (data_ == nullptr) return;
  const uint64_t version = graph_ * 1'000'003 + data_->graph.version();
  if (text == sought_ && version == sought_version_) return;
  std::shared_ptr<const GraphHits> hits;
  if (!text.empty()) {
    const GraphHitsKey key{module(), stage(), text};
    const Pending<GraphHits>& found = frame.context.cache.Get(
        key, "searching the graph", [module = data_->module, text](TaskControl& control) {
          return FindHits(*module, text, control);
        });
    if (sought_key_ != key) frame.context.cache.Drop(sought_key_);
    sought_key_ = key;
    if (!found.ready()) return;  // what was found before stays highlighted so long
    hits = found.value;
  }
  sought_ = text;
  sought_version_ = version;
  found_.clear();
  // The box that stands for each: itself, its fusion, or the group it is in.
  if (hits != nullptr) data_->AddNodesOf(hits->instructions, found_);
  hits_ = std::move(hits);
}

// Lays out again where the pane has become much wider or narrower; what is selected, else what is
// in the middle, stays where it is. Not while a border is being dragged.
void GraphPane::KeepWidth(float width) {
  if (graph::ForPane(width).row_width == data_->graph.row_width() ||
      ImGui::IsMouseDown(ImGuiMouseButton_Left))
    return;
  NodeId kept = focus_;
  if (!kept.valid() || data_->graph.picture().Find(kept) == nullptr)
    kept = canvas_.NearestToMiddle(data_->graph.picture());
  const Box* found = kept.valid() ? data_->graph.picture().Find(kept) : nullptr;
  const Box before = found == nullptr ? Box() : *found;
  data_->graph.SetPaneWidth(width);
  fitted_size_ = {};
  if (const Box* after = found == nullptr ? nullptr : data_->graph.picture().Find(kept)) {
    canvas_.x += after->x - before.x;
    canvas_.y += after->y - before.y;
  }
}

CanvasEvents GraphPane::Draw(Frame& frame, const char* id, float width, float height,
                             bool minimap) {
  KeepWidth(width / frame.scale);
  canvas_.fills_width = true;
  const graph::Picture& picture = data_->graph.picture();
  CanvasEvents events = canvas_.Draw(frame, id, {width, height}, SceneOf(picture), minimap);
  NoteHovered(events);
  if (events.moved) follows_size_ = false;
  if (!fitted_ || (follows_size_ && fitted_size_ != std::pair(width, height))) {
    fitted_ = true;
    fitted_size_ = {width, height};
    Fit();
  }
  DrawCard(frame, width, height);
  return events;
}

// Few rows are spread over the height of the pane.
void GraphPane::Fit() {
  data_->graph.SetLeastHeight(canvas_.HeightToFill(data_->graph.picture().width));
  canvas_.Fit(data_->graph.picture());
}

// What is in the group that is selected here.
void GraphPane::DrawCard(Frame& frame, float width, float height) {
  const graph::Tree& tree = data_->graph.tree();
  if (!focus_.valid() || focus_ != chosen_ || tree[focus_].kind == NodeKind::kInstruction) return;
  if (summed_ != std::pair(graph_, focus_.index)) {
    summed_ = {graph_, focus_.index};
    sums_ = graph::SumsOf(tree, focus_);
  }
  const ImVec2 corner = ImGui::GetItemRectMin();
  DrawGroupCard(frame, tree, focus_, sums_, corner, {corner.x + width, corner.y + height});
}

void GraphPane::Toggle(NodeId id) {
  if (!id.valid()) return;
  const Box* before = data_->graph.picture().Find(id);
  if (before == nullptr) return;
  const float x = before->x, y = before->y;
  const bool is_closed = data_->graph.Close(id);
  if (!is_closed && !data_->graph.Open(id)) return;
  const Box* after = data_->graph.picture().Find(id);
  if (after == nullptr) return;
  follows_size_ = false;
  canvas_.x += after->x - x;
  canvas_.y += after->y - y;
  if (!is_closed) canvas_.FitBox(*after);
}

void GraphPane::CloseAll() {
  const graph::Picture picture = data_->graph.picture();
  for (const Box& box : picture.boxes) {
    if (box.open) data_->graph.Close(box.node);
  }
  focus_ = focus_.valid() ? data_->graph.Visible(focus_) : focus_;
  follows_size_ = true;
  Fit();
}

void GraphPane::OpenAll() {
  graph::Unfold(data_->graph, kMaxOpened);
  follows_size_ = true;
  Fit();
}

void GraphPane::Reveal(Frame& frame) {
  NodeId node = data_->NodeOf(frame.context.navigation.InstructionIn(stage()), true);
  if (!node.valid()) node = focus_;
  if (!node.valid()) return;
  focus_ = node;
  followed_ = UINT64_MAX;
  if (const Box* box = data_->graph.picture().Find(node)) Center(*box);
}

void GraphPane::Center(const Box& box) {
  follows_size_ = false;
  canvas_.Center(box);
}

graph::Direction DirectionOf(Command command) {
  switch (command) {
    case Command::kGraphUp:
      return graph::Direction::kUp;
    case Command::kGraphLeft:
      return graph::Direction::kLeft;
    case Command::kGraphRight:
      return graph::Direction::kRight;
    default:
      return graph::Direction::kDown;
  }
}

NodeId GraphPane::Step(Command direction) const {
  const graph::Picture& picture = data_->graph.picture();
  if (!focus_.valid()) return picture.boxes.empty() ? NodeId() : canvas_.NearestToMiddle(picture);
  const Box* here = picture.Find(focus_);
  if (here == nullptr) return NodeId();
  return graph::StepFrom(picture, *here, DirectionOf(direction),
                         data_->graph.tree().children(data_->graph.tree()[focus_].parent));
}

std::vector<hlo::InstructionId> GraphPane::InstructionsAtFocus() const {
  if (data_ == nullptr || !focus_.valid()) return {};
  const graph::Tree& tree = data_->graph.tree();
  std::vector<hlo::InstructionId> all;
  std::vector<NodeId> pending = {focus_};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (tree[id].kind == NodeKind::kInstruction) {
      all.push_back(tree[id].instruction);
    } else {
      pending.insert(pending.end(), tree.children(id).begin(), tree.children(id).end());
    }
  }
  std::ranges::sort(all, {}, &hlo::InstructionId::index);
  return all;
}

hlo::InstructionId GraphPane::InstructionOf(NodeId id) const {
  const graph::Tree& tree = data_->graph.tree();
  while (id.valid() && tree[id].kind != NodeKind::kInstruction) {
    auto children = tree.children(id);
    if (children.empty()) return {};
    id = children.front();
  }
  return id.valid() ? tree[id].instruction : hlo::InstructionId();
}

}  // namespace hloscope::viewer
