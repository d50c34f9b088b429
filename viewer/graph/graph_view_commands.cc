// What keys and clicks do: choose, open, draw a part, move the cameras.
#include <algorithm>
#include <map>
#include <set>

#include "viewer/graph/graph_links.h"
#include "viewer/graph/graph_view.h"
#include "viewer/model/navigation.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::NodeKind;

}  // namespace

bool GraphView::Run(Command command, Frame& frame) {
  if (shows_tensorflow_) return tensorflow_.Run(command, frame);
  if (command == Command::kGraphHeat || command == Command::kGraphColor)
    ChooseHeat(frame.context, HeatMeasure::kOff);
  if (command == Command::kGraphHeat) return look_.Run(command);  // before it was drawn, too
  GraphPane& pane = Active();
  if (pane.data() == nullptr) return false;
  if (ShowsRows() && RunOnRows(command, frame)) return true;
  switch (command) {
    case Command::kGraphUp:
    case Command::kGraphDown:
    case Command::kGraphLeft:
    case Command::kGraphRight:
      Choose(frame, pane, pane.Step(command), true);
      return true;
    case Command::kGraphToggle:
      pane.Toggle(pane.focus());
      return true;
    case Command::kFit:
      pane.Reveal(frame);
      return true;
    case Command::kFitAll:
      for (GraphPane* each : {&source_, &fusions_}) {
        if (each->data() != nullptr) each->Fit();
      }
      LinkLanes();
      return true;
    case Command::kFind:
      wants_find_ = true;
      return true;
    default:
      return RunOnPart(command, frame) || RunOnLook(command) || RunOnFolds(command);
  }
}

// The graph that keys act on: one that can be seen. Devices show that of the fusions.
GraphPane& GraphView::Active() {
  const bool has_fusions =
      look_.IsShown(kFusions, HasSource()) || look_.IsShown(kDevices, HasSource());
  return look_.IsShown(kSource, HasSource()) && (active_ == kSource || !has_fusions) ? source_
                                                                                     : fusions_;
}

bool GraphView::RunOnPart(Command command, Frame& frame) {
  const hlo::InstructionId selected = frame.context.navigation.InstructionIn(stage_);
  switch (command) {
    case Command::kGraphAround:
      if (part_.kind != GraphPart::Kind::kWhole) {
        ShowWhole();
      } else if (std::vector<hlo::InstructionId> all = fusions_.InstructionsAtFocus();
                 !all.empty()) {
        part_ = {.kind = GraphPart::Kind::kAround, .from = std::move(all), .to = {}, .radius = 2};
      }
      return true;
    case Command::kGraphWider:
      if (part_.kind == GraphPart::Kind::kAround) part_.radius = std::min(part_.radius + 1, 64);
      return true;
    case Command::kGraphPaths:
      if (part_.kind != GraphPart::Kind::kWhole) {
        ShowWhole();
      } else if (!selected.valid()) {
        return true;
      } else if (!path_from_.valid() || path_from_ == selected) {
        path_from_ = selected;
      } else {
        part_ = {
            .kind = GraphPart::Kind::kPaths, .from = {path_from_}, .to = selected, .radius = 0};
        path_from_ = {};
      }
      return true;
    default:
      return false;
  }
}

bool GraphView::RunOnLook(Command command) {
  if (look_.Run(command)) return true;
  switch (command) {
    case Command::kGraphZoomIn:
      Active().StopFitting();
      Active().canvas().Zoom(1.25f);
      break;
    case Command::kGraphZoomOut:
      Active().StopFitting();
      Active().canvas().Zoom(0.8f);
      break;
    case Command::kGraphReadable:
      Active().StopFitting();
      Active().canvas().zoom = 1;
      break;
    default:
      return false;
  }
  moved_ = active_;
  return true;
}

bool GraphView::RunOnFolds(Command command) {
  GraphPane& pane = Active();
  switch (command) {
    case Command::kGraphCloseAll:
      pane.CloseAll();
      return true;
    case Command::kGraphOpenAll:
      pane.OpenAll();
      return true;
    case Command::kGraphCloseOuter: {
      if (source_part_.kind != GraphPart::Kind::kWhole) {
        ShowWhole();
        return true;
      }
      if (!pane.focus().valid()) return true;
      const NodeId outer = pane.data()->graph.tree()[pane.focus()].parent;
      if (outer.valid() && outer != pane.data()->graph.tree().root()) {
        pane.Toggle(outer);
        pane.Focus(outer);
      }
      return true;
    }
    default:
      return false;
  }
}

void GraphView::Act(Frame& frame, const ContentEvents& events) {
  hovered_kernel_ = events.hovered_kernel;
  if (events.kernel != graph::kNoKernel)
    frame.context.navigation.Select(Selection::OfInstruction(
        module_, stage_, kernels_->map.kernels[events.kernel].instruction));
  if (events.chosen.valid()) Choose(frame, Program(), events.chosen, false);
  if (events.drawn.valid()) DrawScope(events.drawn);
}

// The graphs of one scope: its operations, and the kernels that they became.
void GraphView::DrawScope(NodeId scope) {
  GraphPane& program = Program();
  program.Focus(scope);
  std::vector<hlo::InstructionId> inside = program.InstructionsAtFocus();
  const graph::Node& node = program.data()->graph.tree()[scope];
  if (node.kind == NodeKind::kInstruction) {
    // What it calls.
    inside.clear();
    const auto called =
        program.data()->module->CalledComputations((*program.data()->module)[node.instruction]);
    if (called.empty()) return;
    const hlo::Computation& body = (*program.data()->module)[called.back()];
    for (uint32_t k = 0; k < body.instruction_count; ++k)
      inside.emplace_back(body.first_instruction + k);
  }
  if (inside.empty()) return;
  source_part_ = {.kind = GraphPart::Kind::kAround, .from = inside, .to = {}, .radius = 0};
  part_ = source_part_;
  if (!HasSource()) return;
  // Kernels of one computation: that which has most of them.
  std::map<uint32_t, std::vector<hlo::InstructionId>> by_computation;
  std::set<uint32_t> kernels;
  const KernelPaint paint = PaintOf(kSource);
  for (hlo::InstructionId id : inside) {
    const uint32_t kernel = paint.Of(id);
    if (kernel == graph::kNoKernel || !kernels.insert(kernel).second) continue;
    const hlo::InstructionId itself = kernels_->map.kernels[kernel].instruction;
    by_computation[(*kernels_->module)[itself].computation.index].push_back(itself);
  }
  if (by_computation.empty()) {
    part_ = GraphPart();
    return;
  }
  part_.from = std::ranges::max_element(by_computation, {}, [](const auto& each) {
                 return each.second.size();
               })->second;
  std::ranges::sort(part_.from, {}, &hlo::InstructionId::index);
}

bool GraphView::RunOnRows(Command command, Frame& frame) {
  switch (command) {
    case Command::kGraphUp:
    case Command::kGraphDown:
    case Command::kGraphLeft:
    case Command::kGraphRight:
    case Command::kGraphToggle:
      Act(frame, rows_.Step(command));
      return true;
    case Command::kGraphCloseOuter:
      Act(frame, rows_.Step(Command::kGraphLeft));
      return true;
    case Command::kGraphOrder:
      rows_.SwitchOrder();
      return true;
    case Command::kGraphCloseAll:
      rows_.CloseAll();
      return true;
    case Command::kGraphOpenAll:
      rows_.OpenAll();
      return true;
    default:
      return false;
  }
}

// Selects what a node stands for; a group is chosen in its own picture only.
void GraphView::Choose(Frame& frame, GraphPane& pane, NodeId id, bool bring) {
  if (!id.valid()) return;
  const graph::Node& node = pane.data()->graph.tree()[id];
  if (node.kind == NodeKind::kInstruction) {
    frame.context.navigation.Select(
        Selection::OfInstruction(pane.module(), pane.stage(), node.instruction));
  }
  pane.Focus(id);
  const Box* box = pane.picture().Find(id);
  if (bring && box != nullptr && !pane.canvas().Shows(*box)) pane.canvas().Center(*box);
}

// --- Linked cameras
void GraphView::LinkLanes() {
  GraphCanvas& lanes = fusions_.lanes_canvas();
  lanes.y = fusions_.canvas().y;
  lanes.zoom = fusions_.canvas().zoom;
}

void GraphView::LinkCameras() {
  if (*moved_ == kDevices) {
    fusions_.canvas().y = fusions_.lanes_canvas().y;
    fusions_.canvas().zoom = fusions_.lanes_canvas().zoom;
  }
  if (*moved_ != kSource && fusions_.data() != nullptr) {
    LinkLanes();
    Across(fusions_, source_, true);
  } else if (*moved_ == kSource) {
    Across(source_, fusions_, false);
    LinkLanes();
  }
}

void GraphView::Across(GraphPane& from, GraphPane& to, bool backwards) {
  if (!HasSource() || source_.data() == nullptr || fusions_.data() == nullptr) return;
  if (sources_ != nullptr) FollowAcross(sources_->links, from, to, backwards);
}

}  // namespace hloscope::viewer
