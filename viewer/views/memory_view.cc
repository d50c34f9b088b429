// Memory: what the peak is made of, and below it the map of the plan.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/dump/own_compilation.h"
#include "viewer/facts/memory/memory_groups.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/heat_list.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/views/memory_map.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

class MemoryView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
    const int32_t module = context.navigation.module();
    if (module < 0) {
      Sentence(frame, "no module in this dump");
      return;
    }
    const Pending<dump::BufferTable>& buffers = context.data.Buffers(module);
    if (!ShowPending(frame, buffers, "the buffer assignment")) return;
    if (!buffers->has_values()) {
      Sentence(frame, dump::IsOwnCompilation(*context.document.dump(), module)
                          ? "no memory plan: the module runs instruction by instruction; see the "
                            "top of fusion_decisions.txt"
                          : "no buffer assignment of this module: --xla_dump_to=DIR "
                            "--xla_dump_hlo_as_text (or as_proto) writes one");
      return;
    }
    const Pending<MemoryPlan>& plan = Plan(context, module, buffers.value);
    if (!ShowPending(frame, plan, "the buffer layout")) return;
    if (map_.plan() != plan.value) map_.Show(plan.value, buffers.value, module);
    map_.FindHeat(context);
    DrawHead(frame);
    if (map_.plan()->boxes.empty()) {
      Sentence(frame, "the buffer assignment is empty");
      return;
    }
    DrawGroups(frame);
    map_.Draw(frame);
  }

  bool Run(Command command, Frame& frame) override {
    if (map_.plan() == nullptr) return false;
    if (command == Command::kFitAll) {
      map_.FitAll();
      return true;
    }
    return command == Command::kFit && map_.FitSelection(frame.context);
  }

  std::string Arrangement() const override { return map_.Arrangement(); }
  void SetArrangement(std::string_view arrangement) override { map_.SetArrangement(arrangement); }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || map_.plan() == nullptr)
      return View::Export(format, context);
    std::string out = "point,instruction,live_bytes\n";
    for (size_t p = 0; p < map_.plan()->live.size(); ++p) {
      out += fmt::format("{},{},{}\n", p, CsvCell(map_.NameAt(static_cast<int32_t>(p))),
                         map_.plan()->live[p]);
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    if (map_.plan() == nullptr) return {};
    std::string out = fmt::format("peak {} at {}\n", map_.plan()->peak, map_.plan()->peak_point);
    for (const MemoryBox& box : map_.plan()->boxes) {
      if (!map_.IsHighlighted(context, box.value)) continue;
      const dump::BufferValue& value = map_.table()->values[static_cast<size_t>(box.value)];
      out += fmt::format("{} {}\n", value.instruction, value.size);
    }
    return out;
  }

 private:
  static const Pending<MemoryPlan>& Plan(Context& context, int32_t module,
                                         const std::shared_ptr<const dump::BufferTable>& table) {
    return context.cache.Get(PartKey<MemoryPlan>{module}, "laying out buffers",
                             [table](TaskControl&) {
                               return Result<std::shared_ptr<const MemoryPlan>>(
                                   std::make_shared<const MemoryPlan>(PlanOf(*table)));
                             });
  }

  void DrawHead(Frame& frame) const {
    std::string text = fmt::format("{} total", BytesText(map_.table()->total_bytes));
    if (map_.plan()->has_lives) {
      text += fmt::format(", {} live at the peak, at {}", BytesText(map_.plan()->peak),
                          map_.NameAt(map_.plan()->peak_point));
    }
    if (map_.plan()->unplaced > 0) {
      text += fmt::format("; {} without known live range or offset",
                          CountedText(map_.plan()->unplaced, "value"));
    }
    FittedLabel(text);
    DrawLegend(frame);
  }

  void DrawLegend(Frame& frame) const {
    DrawHeatMenu(frame, 220 * frame.scale);
    ImGui::SameLine(0, 14 * frame.scale);
    if (map_.heat() != nullptr) {
      viewer::DrawLegend(frame, HeatLegend(frame.theme, *map_.heat()));
    } else {
      DrawKinds(frame);
    }
    const bool has_aliases = std::ranges::any_of(map_.plan()->boxes, &MemoryBox::aliases);
    if (has_aliases) Sentence(frame, "striped: aliasing buffers");
    if (!map_.plan()->has_lives) {
      Sentence(frame,
               "no live ranges in the dump, so buffers span the whole program; "
               "--xla_dump_hlo_as_text writes them");
    }
  }

  void DrawKinds(Frame& frame) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    bool is_first = true;
    for (AllocationKind kind :
         {AllocationKind::kTemporary, AllocationKind::kParameter, AllocationKind::kResult,
          AllocationKind::kConstant, AllocationKind::kThreadLocal}) {
      int64_t bytes = 0;
      for (const AllocationPlace& place : map_.plan()->places)
        bytes += place.kind == kind ? place.size : 0;
      if (bytes == 0) continue;
      if (!is_first) ImGui::SameLine(0, 14 * frame.scale);
      is_first = false;
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float side = 11 * frame.scale, y = at.y + 3 * frame.scale;
      list.AddRectFilled(ImVec2(at.x, y), ImVec2(at.x + side, y + side),
                         frame.theme[ColorOfKind(kind)]);
      ImGui::Dummy(ImVec2(side, side));
      ImGui::SameLine(0, 5 * frame.scale);
      Label(frame.theme, Color::kTextSecondary,
            fmt::format("{} {}", ToString(kind), BytesText(bytes)));
    }
  }

  // What the peak is made of; null while that is found out.
  const MemoryGroups* Groups(Context& context) const {
    const int32_t stage = context.document.dump()->FinalStage(map_.module());
    std::shared_ptr<const hlo::Module> module;
    if (stage >= 0) {
      const Pending<hlo::Module>& read = context.data.Module(map_.module(), stage);
      if (read.waiting()) return nullptr;
      module = read.value;
    }
    return context.cache
        .Get(PartKey<MemoryGroups>{map_.module()}, "sorting buffers into groups",
             [table = map_.table(), plan = map_.plan(), module](TaskControl&) {
               return Computed<MemoryGroups>(
                   std::make_shared<const MemoryGroups>(GroupsOf(*table, *plan, module.get())));
             })
        .value.get();
  }

  static std::string WordsText(const MemoryGroup& group, size_t most) {
    std::string text;
    for (size_t i = 0; i < std::min(most, group.words.size()); ++i) {
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", group.words[i].first,
                          BytesText(group.words[i].second));
    }
    if (group.words.size() > most) text += fmt::format(", {} more", group.words.size() - most);
    return text;
  }

  std::string ShareText(const MemoryGroup& group, int64_t total) const {
    const double share =
        100 * static_cast<double>(group.bytes) / static_cast<double>(std::max<int64_t>(total, 1));
    return share < 0.05 ? "< 0.1 %" : fmt::format("{:.1f} %", share);
  }

  void SelectGroup(Context& context, const MemoryGroup& group) const {
    if (group.largest >= 0)
      context.navigation.Select(Selection::OfBuffer(map_.module(), group.largest));
  }

  // Where there is room a table, else a line; a click selects the largest buffer of the group.
  void DrawGroups(Frame& frame) const {
    const MemoryGroups* groups = Groups(frame.context);
    if (groups == nullptr) return Sentence(frame, "sorting buffers into groups …");
    if (groups->groups.empty()) return;
    constexpr float kRoomForTable = 440;
    if (ImGui::GetContentRegionAvail().y < kRoomForTable * frame.scale)
      return DrawGroupLine(frame, *groups);
    if (!ImGui::BeginTable("##groups", 5, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
      return;
    const float unit = frame.scale;
    ImGui::TableSetupColumn(map_.plan()->has_lives ? "at the peak" : "all buffers",
                            ImGuiTableColumnFlags_WidthFixed, 120 * unit);
    ImGui::TableSetupColumn("bytes", ImGuiTableColumnFlags_WidthFixed, 76 * unit);
    ImGui::TableSetupColumn("share", ImGuiTableColumnFlags_WidthFixed, 64 * unit);
    ImGui::TableSetupColumn("buffers", ImGuiTableColumnFlags_WidthFixed, 64 * unit);
    ImGui::TableSetupColumn("by scope", ImGuiTableColumnFlags_WidthStretch);
    static constexpr std::array kHelp = {"purpose of the buffers", "total bytes", "share of total",
                                         "number of buffers", "scopes with most bytes"};
    HeaderRow(kHelp);
    for (const MemoryGroup& group : groups->groups) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      const std::string title(TitleOf(group.use));
      if (Row(frame, title, false, map_.IsHighlighted(frame.context, group.largest)))
        SelectGroup(frame.context, group);
      Help(fmt::format("{}\nclick: largest buffer", HelpOf(group.use)));
      ImGui::TableNextColumn();
      RightLabel(BytesText(group.bytes));
      ImGui::TableNextColumn();
      RightLabel(ShareText(group, groups->total));
      ImGui::TableNextColumn();
      RightLabel(frame.theme, Color::kTextSecondary, CountText(group.values));
      ImGui::TableNextColumn();
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
      FittedLabel(WordsText(group, 12));
      ImGui::PopStyleColor();
    }
    ImGui::EndTable();
  }

  void DrawGroupLine(Frame& frame, const MemoryGroups& groups) const {
    bool is_first = true;
    for (const MemoryGroup& group : groups.groups) {
      const std::string text = fmt::format("{} {}, {}", TitleOf(group.use), BytesText(group.bytes),
                                           ShareText(group, groups.total));
      const float width = ImGui::CalcTextSize(text.c_str()).x;
      if (!is_first) {
        ImGui::SameLine(0, 16 * frame.scale);
        if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
      }
      is_first = false;
      if (ImGui::Selectable((text + "##group").c_str(),
                            map_.IsHighlighted(frame.context, group.largest), 0, ImVec2(width, 0)))
        SelectGroup(frame.context, group);
      Help(fmt::format("{}\n{}\nclick: largest buffer", HelpOf(group.use), WordsText(group, 6)));
    }
  }

  MemoryMap map_;
};

}  // namespace

std::unique_ptr<View> MakeMemoryView() { return std::make_unique<MemoryView>(); }

}  // namespace hloscope::viewer
