// How the boxes of a pane look, and what is said of them under the pointer.
#include <fmt/format.h>

#include "core/graph/explain.h"
#include "core/hlo/words.h"
#include "viewer/graph/graph_outline.h"
#include "viewer/graph/graph_pane.h"
#include "viewer/lab/hover_values.h"
#include "viewer/widgets/heat_ramp.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;
using graph::NodeKind;

}  // namespace

std::string GraphPane::Explain(NodeId id) const {
  std::string text = graph::Explain(data_->graph.tree(), id, &data_->placement);
  if (heat_) {
    const double value = heat_->ValueOf(data_->graph.tree(), id);
    if (value > 0)
      text += fmt::format("\n{}: {}", HeatRowOf(heat_facts_->measure).title,
                          HeatText(*heat_facts_, value));
  }
  const graph::Node& node = data_->graph.tree()[id];
  if (node.kind != NodeKind::kInstruction) return text;
  const hlo::Opcode opcode = (*data_->module)[node.instruction].opcode;
  text += fmt::format("\n{}: {}", hlo::ToString(opcode), hlo::Describe(opcode));
  if (context_ == nullptr) return text;
  if (host_runs_ != nullptr) {
    const auto ran = host_runs_->sentences.find(node.instruction.index);
    if (ran != host_runs_->sentences.end()) text += "\n" + ran->second;
  }
  return text + "\n\n" +
         HoverValues(*context_, module(), stage(), *data_->module, node.instruction);
}

// How a box looks by what the dump says.
BoxStyle GraphPane::StyleOf(NodeId id) const {
  BoxStyle style;
  style.color = colors_->Of(id);
  style.verdict = colors_->VerdictAt(id);
  const graph::Node& node = data_->graph.tree()[id];
  if (node.kind == NodeKind::kInstruction) {
    style.place = data_->placement.instructions[node.instruction.index].place;
    const auto moved = data_->transfers.find(node.instruction.index);
    if (moved != data_->transfers.end()) style.transfer = moved->second;
  } else if (const analysis::Place place = graph::PlaceOf(data_->places.Of(id));
             place == analysis::Place::kHost) {
    // A group with work on the host is as loud as that.
    style.place = place;
  }
  if (heat_) {
    const double place = heat_facts_->PlaceOf(heat_->ValueOf(data_->graph.tree(), id));
    style.color = place > 0 ? HeatColor(*theme_, place) : (*theme_)[Color::kPanel];
    style.fill = style.color;
    style.ink = place > 0 ? InkOn(*theme_, style.fill) : (*theme_)[Color::kTextSecondary];
  }
  style.weight = WeightOf(id);
  style.kernel = KernelOf(id);
  if (style.kernel == graph::kNoKernel) return style;
  const graph::KernelMap::Kernel& kernel = kernels_.kernels->map.kernels[style.kernel];
  style.tint = style.hull = tints_[kernel.color];
  // What was written wears where it came to run.
  if (style.place == analysis::Place::kUndecided) style.place = kernel.place;
  return style;
}

CanvasScene GraphPane::SceneOf(const graph::Picture& picture) const {
  CanvasScene scene;
  scene.tree = &data_->graph.tree();
  scene.picture = &picture;
  scene.graph = graph_;
  scene.version = data_->graph.version() * 1'000'003 + style_version_;
  // Found when the first box gets its style: scenes are made for every frame.
  const auto on_host = std::make_shared<std::optional<std::unordered_set<uint32_t>>>();
  scene.style = [this, on_host, &picture](NodeId id) {
    if (!on_host->has_value()) *on_host = NodesOnHost(picture);
    BoxStyle style = StyleOf(id);
    if (!(*on_host)->contains(id.index)) return style;
    style.place = analysis::Place::kHost;
    const graph::Node& node = data_->graph.tree()[id];
    const bool is_itself = node.kind == NodeKind::kInstruction &&
                           host_runs_->sentences.contains(node.instruction.index);
    style.note = is_itself ? kRanOnHost : kPartRanOnHost;
    if (paints_places_) style.color = PlaceColor(*theme_, style.place);
    return style;
  };
  scene.explain = [this](NodeId id) { return Explain(id); };
  scene.transfer = [this](NodeId id) -> const analysis::Transfer* {
    const graph::Node& node = data_->graph.tree()[id];
    if (node.kind != NodeKind::kInstruction) return nullptr;
    auto at = data_->transfers.find(node.instruction.index);
    return at == data_->transfers.end() ? nullptr : at->second;
  };
  scene.selected = focus_;
  scene.highlighted = &highlighted_;
  scene.found = &found_;
  scene.highlighted_kernel = highlighted_kernel_;
  MarkEnclosing(picture, scene);
  return scene;
}

// How much is in a box: instructions, those of a kernel or a body too.
uint32_t GraphPane::WeightOf(NodeId id) const {
  const graph::Node& node = data_->graph.tree()[id];
  if (node.kind != NodeKind::kInstruction) return node.instructions;
  const uint32_t kernel = kernels_.Of(node.instruction);
  if (kernel != graph::kNoKernel && kernels_.source == nullptr)
    return static_cast<uint32_t>(kernels_.kernels->members.Of(kernel).size());
  uint32_t weight = 0;
  for (uint32_t count : data_->places.Of(id)) weight += count;
  return weight;
}

}  // namespace hloscope::viewer
