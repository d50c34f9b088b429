// Lenses: what the pictures of the graph show, and how they follow the selection.
#include "viewer/views/graph_lens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "core/graph/svg.h"
#include "core/graph/unfolding.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::NodeKind;

constexpr size_t kMostOpened = 2000;

}  // namespace

bool GraphLens::Ready(Frame& frame, int32_t module, int32_t stage, const GraphPart& part) {
  const uint64_t generation = frame.context.document.generation();
  const GraphKey key{module, stage, part};
  if (key == key_ && generation == generation_ && data_ != nullptr) return true;
  const Pending<hlo::Module>& read = frame.context.data.Module(module, stage);
  if (!ShowPending(frame, read, "the module of this stage")) return false;
  const Pending<GraphData>& made = frame.context.cache.Get(
      key, "laying out the graph",
      [text = read.value, part](TaskControl&) { return MakeGraphData(text, part); });
  if (!ShowPending(frame, made, "the graph")) return false;
  const bool is_same = generation_ == generation && key_.module == module;
  // What stood where in the picture before this one decides the order where names are the same.
  if (data_ != nullptr && is_same && data_ != made.value) {
    made->graph.SetAnchors(data_->graph.MakeAnchors());
    made->graph.Rearrange();
  }
  fitted_ = fitted_ && is_same && part.kind == GraphPart::Kind::kWhole;
  data_ = made.value;
  ++graph_;
  // A graph is large and made quickly: the context keeps the one in view, not those of all passes.
  if (key != key_) frame.context.cache.Drop(key_);
  key_ = key;
  generation_ = generation;
  colors_.reset();
  painted_.clear();
  focus_ = NodeId();
  followed_ = UINT64_MAX;
  return true;
}

void GraphLens::Paint(Frame& frame, ColorMode mode) {
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
  if (wanted == painted_) return;
  painted_ = wanted;
  colors_.emplace(*data_, mode, frame.theme, origins,
                  hot ? HeatOf(frame.context, module(), stage(), *data_->module) : Heat());
  ++dress_version_;
  std::vector<std::string> names;
  const dump::ModuleEntry& entry =
      frame.context.document.dump()->modules()[static_cast<size_t>(module())];
  for (const dump::StageEntry& stage : entry.stages) names.push_back(SafeText(stage.name, 24));
  legend_ = colors_->Legend(names);
}

void GraphLens::Follow(Frame& frame) {
  const bool complete = frame.context.navigation.counterparts_complete();
  if (followed_ == frame.context.navigation.version() && followed_complete_ == complete) return;
  const bool moved = followed_ != frame.context.navigation.version();
  followed_ = frame.context.navigation.version();
  const hlo::InstructionId mine = frame.context.navigation.InstructionIn(stage());
  followed_complete_ = frame.context.navigation.counterparts_complete();
  lit_.clear();
  for (const StageCounterpart& c : frame.context.navigation.counterparts().stages) {
    if (c.stage != stage()) continue;
    NodeId node = data_->NodeOf(c.instruction, false);
    if (node.valid()) lit_.insert(node.index);
  }
  NodeId node = data_->NodeOf(mine, false);
  if (!node.valid()) {
    if (moved) focus_ = NodeId();
    return;
  }
  focus_ = node;
  lit_.insert(node.index);
  const Box* box = data_->graph.picture().Find(node);
  if (fitted_ && box != nullptr && !canvas_.Shows(*box)) canvas_.Center(*box);
}

std::string GraphLens::Explain(NodeId id) const {
  return graph::Explain(data_->graph.tree(), id, &data_->placement);
}

CanvasScene GraphLens::SceneOf(const graph::Picture& picture) const {
  CanvasScene scene;
  scene.tree = &data_->graph.tree();
  scene.picture = &picture;
  scene.graph = graph_;
  scene.version = data_->graph.version() * 1'000'003 + dress_version_;
  scene.dress = [this](NodeId id) {
    BoxDress dress;
    dress.color = colors_->Of(id);
    const graph::Node& node = data_->graph.tree()[id];
    dress.place = node.kind == NodeKind::kInstruction
                      ? data_->placement.instructions[node.instruction.index].place
                      : debug::Place::kUndecided;
    return dress;
  };
  scene.explain = [this](NodeId id) { return Explain(id); };
  scene.transfer = [this](NodeId id) -> const debug::Transfer* {
    const graph::Node& node = data_->graph.tree()[id];
    if (node.kind != NodeKind::kInstruction) return nullptr;
    auto at = data_->transfers.find(node.instruction.index);
    return at == data_->transfers.end() ? nullptr : at->second;
  };
  scene.selected = focus_;
  scene.lit = &lit_;
  return scene;
}

CanvasEvents GraphLens::Draw(Frame& frame, const char* id, float width, float height, bool heading,
                             bool minimap) {
  const graph::Picture& picture = data_->graph.picture();
  // One line above the canvas, so that its rows stand beside those of the devices.
  const auto open = std::ranges::count(picture.boxes, true, &Box::open);
  if (heading) {
    Label(frame.theme, Color::kTextSecondary,
          open == 0 ? fmt::format("{} boxes", picture.boxes.size())
                    : fmt::format("{} boxes, {} open", picture.boxes.size(), open));
    height -= ImGui::GetTextLineHeightWithSpacing();
  }
  CanvasEvents events = canvas_.Draw(frame, id, {width, height}, SceneOf(picture), minimap);
  if (!fitted_) {
    fitted_ = true;
    canvas_.Begin(picture);
    if (const Box* box = focus_.valid() ? picture.Find(focus_) : nullptr) {
      if (!canvas_.Shows(*box) || canvas_.zoom < 0.4f) canvas_.Center(*box);
    }
  }
  return events;
}

CanvasEvents GraphLens::DrawColumns(Frame& frame, const char* id, float width, float height,
                                    bool heading) {
  const graph::Picture& picture = data_->graph.picture();
  if (columns_version_ != data_->graph.version() * 1'000'003 + dress_version_) {
    columns_version_ = data_->graph.version() * 1'000'003 + dress_version_;
    columns_ = graph::PlaceInColumns(data_->graph.tree(), picture, data_->placement);
  }
  // All columns are always in view: only the height is zoomed.
  columns_canvas_.x = columns_.picture.width / 2;
  columns_canvas_.stretch =
      (width / frame.scale - 12) / std::max(1.0f, columns_.picture.width * columns_canvas_.zoom);
  if (heading) DrawColumnTitles(frame, width);
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float below = heading ? height - ImGui::GetTextLineHeightWithSpacing() : height;
  CanvasEvents events =
      columns_canvas_.Draw(frame, id, {width, below}, SceneOf(columns_.picture), false);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float zoom = columns_canvas_.zoom * columns_canvas_.stretch * frame.scale;
  for (size_t k = 0; k + 1 < columns_.columns.size(); ++k) {
    const graph::ColumnSpan &a = columns_.columns[k], &b = columns_.columns[k + 1];
    const float between = (a.left + a.width + b.left) / 2 - columns_canvas_.x;
    const float x = corner.x + width / 2 + between * zoom;
    list.AddLine({x, corner.y}, {x, corner.y + below}, frame.theme[Color::kLine]);
  }
  return events;
}

// One line above the canvas: what each column is, and how many boxes stand in it.
void GraphLens::DrawColumnTitles(Frame& frame, float width) const {
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float zoom = columns_canvas_.zoom * columns_canvas_.stretch * frame.scale;
  for (const graph::ColumnSpan& column : columns_.columns) {
    const float left = corner.x + width / 2 + (column.left - columns_canvas_.x) * zoom;
    const float right = left + column.width * zoom;
    std::string title = fmt::format("{} {}", TitleOf(column.column), column.boxes);
    if (ImGui::CalcTextSize(title.c_str()).x > right - left) title = TitleOf(column.column);
    const ImVec4 clip(left, corner.y, right + 20 * zoom, corner.y + 100 * frame.scale);
    ImGui::GetWindowDrawList()->AddText(nullptr, 0, {left, corner.y},
                                        frame.theme[Color::kTextSecondary], title.c_str(), nullptr,
                                        0, &clip);
  }
  ImGui::Dummy({width, ImGui::GetTextLineHeight()});
}

void GraphLens::Toggle(NodeId id) {
  if (!id.valid()) return;
  const Box* before = data_->graph.picture().Find(id);
  if (before == nullptr) return;
  const float x = before->x, y = before->y;
  if (!data_->graph.Close(id) && !data_->graph.Open(id)) return;
  const Box* after = data_->graph.picture().Find(id);
  if (after == nullptr) return;
  canvas_.x += after->x - x;
  canvas_.y += after->y - y;
}

void GraphLens::CloseAll() {
  const graph::Picture picture = data_->graph.picture();
  for (const Box& box : picture.boxes) {
    if (box.open) data_->graph.Close(box.node);
  }
  focus_ = focus_.valid() ? data_->graph.Visible(focus_) : focus_;
  canvas_.Fit(data_->graph.picture());
}

void GraphLens::OpenAll() {
  graph::Unfold(data_->graph, kMostOpened);
  canvas_.Fit(data_->graph.picture());
}

std::string GraphLens::Csv() const {
  const graph::Tree& tree = data_->graph.tree();
  std::string out = "node,opcode,place,x,y,width,height,open\n";
  for (const Box& box : data_->graph.picture().boxes) {
    const hlo::InstructionId id = tree[box.node].instruction;
    const bool is_one = id.valid() && id.index < data_->placement.instructions.size();
    out += fmt::format("{},{},{},{},{},{},{},{}\n", CsvCell(tree.Title(box.node)),
                       is_one ? hlo::ToString((*data_->module)[id].opcode) : "",
                       is_one ? debug::KeyOf(data_->placement.instructions[id.index].place) : "",
                       box.x, box.y, box.width, box.height, box.open ? 1 : 0);
  }
  return out;
}

std::string GraphLens::Arrangement() const {
  if (data_ == nullptr || !fitted_) return {};
  const graph::Picture& picture = data_->graph.picture();
  if (open_version_ != data_->graph.version()) {
    open_version_ = data_->graph.version();
    std::vector<uint32_t> open;
    for (const Box& box : picture.boxes) {
      if (box.open) open.push_back(box.node.index);
    }
    std::ranges::sort(open);
    open_text_ = fmt::format("{}", fmt::join(open, " "));
  }
  return fmt::format("{} {} {} {} {} {} {}", graph_, canvas_.x, canvas_.y, canvas_.zoom,
                     columns_canvas_.y, columns_canvas_.zoom, open_text_);
}

void GraphLens::SetArrangement(std::string_view text) {
  if (data_ == nullptr) return;
  std::istringstream in{std::string(text)};
  uint64_t graph = 0;
  std::array<float, 5> camera = {};
  in >> graph;
  for (float& value : camera) in >> value;
  if (!in || graph != graph_) return;
  std::vector<bool> wanted(data_->graph.tree().size());
  for (size_t node = 0; in >> node;) {
    if (node < wanted.size()) wanted[node] = true;
  }
  for (uint32_t node = 0; node < wanted.size(); ++node) {
    if (wanted[node] && !data_->graph.IsOpen(NodeId(node))) data_->graph.Open(NodeId(node));
  }
  const graph::Picture opened = data_->graph.picture();
  for (const Box& box : opened.boxes) {
    const bool stays = box.node.index < wanted.size() && wanted[box.node.index];
    if (box.open && !stays) data_->graph.Close(box.node);
  }
  if (focus_.valid()) focus_ = data_->graph.Visible(focus_);
  canvas_.x = camera[0];
  canvas_.y = camera[1];
  canvas_.zoom = camera[2];
  columns_canvas_.y = camera[3];
  columns_canvas_.zoom = camera[4];
}

void GraphLens::Reveal(Frame& frame) {
  NodeId node = data_->NodeOf(frame.context.navigation.InstructionIn(stage()), true);
  if (!node.valid()) node = focus_;
  if (!node.valid()) return;
  focus_ = node;
  followed_ = UINT64_MAX;
  if (const Box* box = data_->graph.picture().Find(node)) canvas_.Center(*box);
}

NodeId GraphLens::Step(Command direction) const {
  const graph::Picture& picture = data_->graph.picture();
  if (!focus_.valid()) return picture.boxes.empty() ? NodeId() : canvas_.NearestToMiddle(picture);
  const Box* here = picture.Find(focus_);
  if (here == nullptr) return NodeId();
  const bool up = direction == Command::kGraphUp;
  NodeId best;
  float least = 0;
  auto consider = [&](NodeId id) {
    const Box* box = id.valid() && id != focus_ ? picture.Find(id) : nullptr;
    if (box == nullptr) return;
    const float dx = std::abs(box->x + box->width / 2 - here->x - here->width / 2);
    const float dy = std::abs(box->y - here->y);
    if (best.valid() && dx + dy >= least) return;
    best = id;
    least = dx + dy;
  };
  if (up || direction == Command::kGraphDown) {
    for (const graph::Wire& wire : picture.wires) {
      if (up && wire.to == focus_) consider(wire.from);
      if (!up && wire.from == focus_) consider(wire.to);
    }
    return best;
  }
  const bool left = direction == Command::kGraphLeft;
  for (NodeId id : data_->graph.tree().children(data_->graph.tree()[focus_].parent)) {
    const Box* box = picture.Find(id);
    if (box == nullptr || (left ? box->x >= here->x : box->x <= here->x)) continue;
    if (box->y > here->y + here->height || box->y + box->height < here->y) continue;
    consider(id);
  }
  return best;
}

std::vector<hlo::InstructionId> GraphLens::InstructionsAtFocus() const {
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

hlo::InstructionId GraphLens::InstructionOf(NodeId id) const {
  const graph::Tree& tree = data_->graph.tree();
  while (id.valid() && tree[id].kind != NodeKind::kInstruction) {
    auto children = tree.children(id);
    if (children.empty()) return {};
    id = children.front();
  }
  return id.valid() ? tree[id].instruction : hlo::InstructionId();
}

}  // namespace hloscope::viewer
