// Peak by scope: what lives at the peak as a treemap of the user's scopes and arguments.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "viewer/facts/heat.h"
#include "viewer/facts/memory/peak_scopes.h"
#include "viewer/graph/heat_list.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/treemap.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr float kTitle = 17, kGap = 2, kMinSide = 3;  // logical pixels

class PeakScopesView : public View {
 public:
  void Draw(Frame& frame) override {
    if (!ShowDump(frame)) return;
    Context& context = frame.context;
    module_ = context.navigation.module();
    if (module_ < 0) return Sentence(frame, "no module in this dump");
    const Pending<dump::BufferTable>& buffers = context.data.Buffers(module_);
    if (!ShowPending(frame, buffers, "the buffer assignment")) return;
    if (!buffers->has_values()) return Sentence(frame, "no buffer assignment of this module");
    const Pending<PeakScope>* scopes = PeakScopesOf(context, module_);
    if (scopes == nullptr) return Sentence(frame, "reading the compiled module …");
    if (!ShowPending(frame, *scopes, "the scopes at the peak")) return;
    root_ = scopes->value;
    if (root_->bytes <= 0) return Sentence(frame, "nothing lives at the peak");
    DrawHeatMenu(frame, 220 * frame.scale);
    ImGui::SameLine();
    FittedLabel(
        fmt::format("{} live at the peak, by scope of what computes it", BytesText(root_->bytes)));
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    if (room.x < 40 * frame.scale || room.y < 40 * frame.scale) return;
    ImGui::InvisibleButton("##treemap", room);
    hovered_ = nullptr;
    hovered_path_.clear();
    is_hovered_ = ImGui::IsItemHovered();
    DrawInside(frame, *root_, {at.x, at.y, at.x + room.x, at.y + room.y}, 0, "");
    if (hovered_ == nullptr) return;
    Help(fmt::format("{}\n{}, {:.1f} % of the peak\nclick: {}", hovered_path_,
                     BytesText(hovered_->bytes), Percent(*hovered_),
                     hovered_->inside.empty() ? "select the buffer" : "select its largest buffer"));
    if (ImGui::IsItemClicked() && hovered_->value >= 0)
      context.navigation.Select(Selection::OfBuffer(module_, hovered_->value));
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || root_ == nullptr) return View::Export(format, context);
    std::string out = "scope,bytes,share\n";
    AddRows(*root_, "", out);
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    if (root_ == nullptr) return {};
    std::string out = fmt::format("peak {}\n", root_->bytes);
    AddHighlighted(context, *root_, "", out);
    return out;
  }

 private:
  double Percent(const PeakScope& scope) const {
    return 100 * static_cast<double>(scope.bytes) / static_cast<double>(root_->bytes);
  }
  static std::string PathOf(const std::string& path, const PeakScope& scope) {
    return path.empty() ? scope.name : path + "/" + scope.name;
  }
  void AddRows(const PeakScope& scope, const std::string& path, std::string& out) const {
    for (const PeakScope& each : scope.inside) {
      out += fmt::format("{},{},{:.6f}\n", CsvCell(PathOf(path, each)), each.bytes,
                         Percent(each) / 100);
      AddRows(each, PathOf(path, each), out);
    }
  }
  static bool IsHighlighted(Context& context, const PeakScope& scope) {
    return scope.inside.empty() && context.navigation.selection().kind > SelectionKind::kStage &&
           context.navigation.counterparts().HasBuffer(scope.value);
  }
  static void AddHighlighted(Context& context, const PeakScope& scope, const std::string& path,
                             std::string& out) {
    for (const PeakScope& each : scope.inside) {
      if (IsHighlighted(context, each)) out += PathOf(path, each) + "\n";
      AddHighlighted(context, each, PathOf(path, each), out);
    }
  }

  void DrawInside(Frame& frame, const PeakScope& scope, const TreemapArea& area, int depth,
                  const std::string& path) {
    std::vector<double> weights;
    for (const PeakScope& each : scope.inside) weights.push_back(static_cast<double>(each.bytes));
    const std::vector<TreemapArea> areas = Squarify(weights, area);
    for (size_t k = 0; k < areas.size(); ++k) {
      // Those after it are no larger.
      if (std::min(areas[k].width(), areas[k].height()) < kMinSide * frame.scale) continue;
      DrawScope(frame, scope.inside[k], areas[k], depth, PathOf(path, scope.inside[k]));
    }
  }

  void DrawScope(Frame& frame, const PeakScope& scope, const TreemapArea& area, int depth,
                 const std::string& path) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float gap = kGap * frame.scale / 2;
    const ImVec2 a(area.left + gap, area.top + gap), b(area.right - gap, area.bottom - gap);
    if (b.x - a.x < 1 || b.y - a.y < 1) return;
    const bool is_leaf = scope.inside.empty();
    uint32_t fill = frame.theme[depth % 2 == 0 ? Color::kRaised : Color::kPanel];
    uint32_t ink = frame.theme[Color::kText];
    if (is_leaf && MeasureInView(frame.context) != HeatMeasure::kOff) {
      fill = HeatOfValue(frame, scope);
      ink = InkOn(frame.theme, fill);
    }
    list.AddRectFilled(a, b, fill, 2 * frame.scale);
    const bool is_highlighted = IsHighlighted(frame.context, scope);
    list.AddRect(a, b, frame.theme[is_highlighted ? Color::kAccent : Color::kLine], 2 * frame.scale,
                 (is_highlighted ? 3.0F : 1.0F) * frame.scale);
    if (is_hovered_ && ImGui::IsMouseHoveringRect(a, b)) {
      hovered_ = &scope;
      hovered_path_ = path;
    }
    const float title = kTitle * frame.scale;
    const bool has_title = b.x - a.x > 34 * frame.scale && b.y - a.y > title;
    if (has_title) {
      const std::string text =
          fmt::format("{}  {}", SafeText(scope.name, 80), BytesText(scope.bytes));
      const ImVec4 clip(a.x, a.y, b.x, b.y);
      list.AddText(ImGui::GetFont(), 13 * frame.scale, {a.x + 4 * frame.scale, a.y + frame.scale},
                   ink, FittedText(text, b.x - a.x - 6 * frame.scale).c_str(), nullptr, 0, &clip);
    }
    if (is_leaf || b.y - a.y < 2 * title) return;
    DrawInside(frame, scope, {a.x + gap, a.y + (has_title ? title : gap), b.x - gap, b.y - gap},
               depth + 1, path);
  }

  // By the measure in view, of the value's instruction.
  uint32_t HeatOfValue(Frame& frame, const PeakScope& scope) {
    if (facts_frame_ != ImGui::GetFrameCount()) {
      facts_frame_ = ImGui::GetFrameCount();
      facts_ = HeatInView(frame.context);
      if (facts_ != nullptr && !facts_->missing.empty()) facts_ = nullptr;
    }
    if (facts_ == nullptr) return frame.theme[Color::kRaised];
    if (facts_ != placed_) {
      placed_ = facts_;
      places_.clear();
      for (uint32_t i = 0; i < facts_->values.size(); ++i) {
        if (facts_->values[i] > 0)
          places_.emplace(facts_->of->name(hlo::InstructionId(i)),
                          facts_->PlaceOf(facts_->values[i]));
      }
    }
    const auto found = places_.find(scope.name);
    return found == places_.end() ? frame.theme[Color::kRaised]
                                  : HeatColor(frame.theme, found->second);
  }

  std::shared_ptr<const PeakScope> root_;
  int32_t module_ = -1;
  bool is_hovered_ = false;
  const PeakScope* hovered_ = nullptr;
  std::string hovered_path_;
  std::shared_ptr<const HeatFacts> facts_, placed_;
  int facts_frame_ = -1;
  std::unordered_map<std::string_view, double> places_;  // by instruction, of placed_
};

}  // namespace

std::unique_ptr<View> MakePeakScopesView() { return std::make_unique<PeakScopesView>(); }

}  // namespace hloscope::viewer
