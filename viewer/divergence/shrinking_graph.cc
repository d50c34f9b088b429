#include "viewer/divergence/shrinking_graph.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <atomic>

#include "core/graph/svg.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;

// Numbers are given once, so that no graph is taken for another.
struct ShrunkGraphKey {
  using Value = GraphData;
  uint64_t number = 0;
  auto operator<=>(const ShrunkGraphKey&) const = default;
};

uint64_t NextGraphNumber() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

const Pending<GraphData>& ShrinkingGraph::LayOut(Context& context) const {
  return context.cache.Get(
      ShrunkGraphKey{number_}, "laying out the graph",
      [module = wanted_, anchors = anchors_](TaskControl&) -> Computed<GraphData> {
        HLOSCOPE_ASSIGN_OR_RETURN(auto made, MakeGraphData(module, GraphPart(), [&] {
                                    return analysis::FindPlacement(*module);
                                  }));
        if (!anchors.empty()) {
          made->graph.SetAnchors(anchors);
          made->graph.Rearrange();
          made->graph.picture();
        }
        return made;
      });
}

void ShrinkingGraph::Want(const std::shared_ptr<const hlo::Module>& module) {
  wanted_ = module;
  number_ = NextGraphNumber();
  // The previous positions decide the order, so that what is left stays where it was.
  if (shown_ != nullptr) anchors_ = shown_->graph.MakeAnchors();
}

void ShrinkingGraph::Take(const Pending<GraphData>& made, const Theme& theme) {
  const bool is_new = made.ready() && made.value != shown_;
  if (is_new) {
    shown_ = made.value;
    ++graph_;
  }
  if (shown_ == nullptr || (!is_new && colors_ && is_dark_ == theme.dark())) return;
  is_dark_ = theme.dark();
  colors_.emplace(*shown_, ColorMode::kOpcode, theme, nullptr, Heat(), KernelPaint());
  ++style_version_;
}

void ShrinkingGraph::Toggle(NodeId id) {
  if (id.valid() && !shown_->graph.Close(id)) shown_->graph.Open(id);
}

CanvasScene ShrinkingGraph::Scene(const graph::Picture& picture) const {
  CanvasScene scene;
  scene.tree = &shown_->graph.tree();
  scene.picture = &picture;
  scene.graph = graph_;
  scene.version = shown_->graph.version() * 1'000'003 + style_version_;
  scene.style = [this](NodeId id) { return BoxStyle{.color = colors_->Of(id)}; };
  scene.explain = [this](NodeId id) {
    const std::string text = graph::Explain(shown_->graph.tree(), id, &shown_->placement);
    const graph::Node& node = shown_->graph.tree()[id];
    if (node.kind != graph::NodeKind::kInstruction || !values_) return text;
    return text + "\n\n" + values_(*shown_->module, node.instruction);
  };
  scene.transfer = [](NodeId) -> const analysis::Transfer* { return nullptr; };
  scene.highlighted = &highlighted_;
  return scene;
}

void ShrinkingGraph::Draw(Frame& frame, const std::shared_ptr<const hlo::Module>& module,
                          float width, float height, Values values) {
  values_ = std::move(values);
  if (wanted_ == nullptr) Want(module);
  const Pending<GraphData>* made = &LayOut(frame.context);
  // One layout at a time: those that came meanwhile are passed over.
  if (module != wanted_ && !made->waiting()) {
    frame.context.cache.Drop(ShrunkGraphKey{number_});
    Want(module);
    made = &LayOut(frame.context);
  }
  Take(*made, frame.theme);
  if (shown_ == nullptr) {
    ShowPending(frame, *made, "the graph");
    return;
  }
  const graph::Picture& picture = shown_->graph.picture();
  const CanvasEvents events =
      canvas_.Draw(frame, "##shrinking", {width, height}, Scene(picture), false);
  is_moved_ |= events.moved;
  if (!is_moved_) canvas_.Fit(picture);
  if (events.opened.valid()) Toggle(events.opened);
}

std::string ShrinkingGraph::Summary() const {
  if (shown_ == nullptr) return {};
  return fmt::format("{} boxes", shown_->graph.picture().boxes.size());
}

}  // namespace hloscope::viewer
