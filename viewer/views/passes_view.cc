// Passes: the pipeline as a list, with what each pass changed and where the selection was touched.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>

#include "viewer/model/answers.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/selection_summary.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

class PassesView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowPending(frame, context.document.dump(), "the dump")) return;
    int32_t module = context.navigation.module();
    if (module < 0) {
      Sentence(frame, "no module in this dump");
      return;
    }
    DrawModuleChoice(frame, module);
    const dump::ModuleEntry& entry =
        context.document.dump()->modules()[static_cast<size_t>(module)];
    ImGui::SetNextItemWidth(-1);
    if (focus_filter_) ImGui::SetKeyboardFocusHere();
    focus_filter_ = false;
    ImGui::InputTextWithHint("##filter", "filter passes", &filter_);
    ImGui::Checkbox("Changed only", &only_changes_);
    SameLineIfRoom(CheckboxWidth("Most changed first"));
    bool& by_change = context.marks.passes_by_change;
    ImGui::Checkbox("Most changed first", &by_change);
    if (by_change && RankingOf(context, module).waiting())
      Label(frame.theme, Color::kTextSecondary, "comparing all stages …");
    guilty_ = GuiltyStages(context, module);
    std::vector<int32_t> rows = Rows(context, entry, module);
    HandleKeys(context, module, rows);
    DrawTable(frame, entry, module, rows);
    if (std::ranges::none_of(entry.stages, [](const auto& s) { return !s.pass.empty(); })) {
      Sentence(frame,
               "no passes in this dump, only the module before and after optimization: "
               "add --xla_dump_hlo_pass_re=.* to XLA_FLAGS to dump every pass");
    }
  }

  bool Run(Command command, Frame& /*frame*/) override {
    if (command != Command::kFind) return false;
    focus_filter_ = true;
    return true;
  }
  std::string State() const override { return (only_changes_ ? "1" : "0") + filter_; }
  void SetState(std::string_view state) override {
    if (state.empty()) return;
    only_changes_ = state[0] == '1';
    filter_ = state.substr(1);
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || context.navigation.module() < 0)
      return View::Export(format, context);
    int32_t module = context.navigation.module();
    const dump::ModuleEntry& entry =
        context.document.dump()->modules()[static_cast<size_t>(module)];
    std::string out = "stage,pipeline,pass,added,removed,rewritten,moved\n";
    for (size_t s = 0; s < entry.stages.size(); ++s) {
      const dump::StageEntry& stage = entry.stages[s];
      out += fmt::format("{},{},{}", CsvCell(stage.name), CsvCell(stage.pipeline),
                         CsvCell(stage.pass));
      const auto& changes = context.data.Changes(module, static_cast<int32_t>(s));
      out += changes.ready()
                 ? fmt::format(",{},{},{},{}\n", changes->counts.added, changes->counts.removed,
                               changes->counts.rewritten, changes->counts.moved)
                 : std::string(",,,,\n");
    }
    return out;
  }

  std::string Lit(Context& context) const override {
    int32_t module = context.navigation.module();
    if (module < 0) return {};
    const dump::ModuleEntry& entry =
        context.document.dump()->modules()[static_cast<size_t>(module)];
    auto stage = static_cast<size_t>(context.navigation.stage());
    std::string out =
        stage < entry.stages.size() ? "shown " + entry.stages[stage].name : std::string();
    for (int32_t s = 0; s < static_cast<int32_t>(entry.stages.size()); ++s) {
      if (context.navigation.counterparts().TouchedInto(s))
        out += "\ntouched " + entry.stages[static_cast<size_t>(s)].name;
    }
    return out;
  }

 private:
  static void DrawModuleChoice(Frame& frame, int32_t module) {
    auto modules = frame.context.document.dump()->modules();
    ImGui::SetNextItemWidth(-1);
    std::string shown = SafeText(modules[static_cast<size_t>(module)].name, 60);
    if (!ImGui::BeginCombo("##module", shown.c_str(), ImGuiComboFlags_HeightLarge)) return;
    for (size_t i = 0; i < modules.size(); ++i) {
      std::string label = SafeText(modules[i].name, 80) + "##" + std::to_string(i);
      if (ImGui::Selectable(label.c_str(), static_cast<int32_t>(i) == module))
        frame.context.navigation.Select(Selection::OfModule(static_cast<int32_t>(i)));
    }
    ImGui::EndCombo();
  }

  std::vector<int32_t> Rows(Context& context, const dump::ModuleEntry& entry,
                            int32_t module) const {
    std::vector<int32_t> rows;
    for (size_t s = 0; s < entry.stages.size(); ++s) {
      auto stage = static_cast<int32_t>(s);
      if (!filter_.empty() && entry.stages[s].name.find(filter_) == std::string::npos) continue;
      if (only_changes_ && s > 0) {
        const auto& changes = context.data.Changes(module, stage);
        if (changes.ready() && !changes->counts.any()) continue;
      }
      rows.push_back(stage);
    }
    if (context.marks.passes_by_change) SortByChange(context, module, rows);
    return rows;
  }

  static void SortByChange(Context& context, int32_t module, std::vector<int32_t>& rows) {
    const Pending<PassRanking>& ranking = RankingOf(context, module);
    if (!ranking.ready()) return;
    std::vector<size_t> rank(ranking->counts.size(), ranking->order.size());
    for (size_t i = 0; i < ranking->order.size(); ++i)
      rank[static_cast<size_t>(ranking->order[i])] = i;
    std::ranges::stable_sort(rows, {},
                             [&](int32_t stage) { return rank[static_cast<size_t>(stage)]; });
  }

  static void HandleKeys(Context& context, int32_t module, const std::vector<int32_t>& rows) {
    if (!ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows) || ImGui::GetIO().WantTextInput ||
        ImGui::GetIO().KeyAlt || rows.empty())
      return;
    int by = ImGui::IsKeyPressed(ImGuiKey_DownArrow) ? 1
             : ImGui::IsKeyPressed(ImGuiKey_UpArrow) ? -1
                                                     : 0;
    if (by == 0) return;
    auto now = std::ranges::find(rows, ShownChangeStage(context));
    auto at = now == rows.end()
                  ? 0
                  : std::clamp<ptrdiff_t>(now - rows.begin() + by, 0, std::ssize(rows) - 1);
    GoTo(context, module, rows[static_cast<size_t>(at)]);
  }

  // To another stage with the same instruction, where it is there.
  static void GoTo(Context& context, int32_t module, int32_t stage) {
    hlo::InstructionId id = context.navigation.InstructionIn(stage);
    context.navigation.Select(id.valid() ? Selection::OfInstruction(module, stage, id)
                                         : Selection::OfStage(module, stage));
  }

  void DrawTable(Frame& frame, const dump::ModuleEntry& entry, int32_t module,
                 const std::vector<int32_t>& rows) {
    ImGuiTableFlags flags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("##passes", 5, flags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("pass", ImGuiTableColumnFlags_WidthStretch);
    float number = ImGui::CalcTextSize("9,999").x;
    ImGui::TableSetupColumn("+", ImGuiTableColumnFlags_WidthFixed, number);
    ImGui::TableSetupColumn("−", ImGuiTableColumnFlags_WidthFixed, number);
    ImGui::TableSetupColumn("~", ImGuiTableColumnFlags_WidthFixed, number);
    ImGui::TableSetupColumn("##touched", ImGuiTableColumnFlags_WidthFixed,
                            (guilty_.empty() ? 14 : 26) * frame.scale);
    ImGui::TableHeadersRow();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    int32_t shown = ShownChangeStage(frame.context);
    if (shown != last_shown_) {
      auto at = std::ranges::find(rows, shown);
      if (at != rows.end()) clipper.IncludeItemByIndex(static_cast<int>(at - rows.begin()));
    }
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        DrawRow(frame, entry, module, rows[static_cast<size_t>(i)]);
    }
    ImGui::EndTable();
  }

  void DrawRow(Frame& frame, const dump::ModuleEntry& entry, int32_t module, int32_t stage) {
    Context& context = frame.context;
    const dump::StageEntry& row = entry.stages[static_cast<size_t>(stage)];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(stage);
    bool shown = ShownChangeStage(context) == stage;
    if (Row(frame, "##row", shown, false)) GoTo(context, module, stage);
    if (shown && last_shown_ != stage) {
      last_shown_ = stage;
      ImGui::SetScrollHereY(0.5f);
    }
    if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", SafeText(row.name, 400).c_str());
    ImGui::SameLine(0, 0);
    DrawName(frame, row);
    // The first has nothing before it to differ from.
    if (stage > 0) DrawCounts(frame, context.data.Changes(module, stage));
    ImGui::TableSetColumnIndex(4);
    if (context.navigation.counterparts().TouchedInto(stage)) {
      Label(frame.theme, Color::kAccent, "•");
      if (ImGui::IsItemHovered()) ImGui::SetTooltip("this pass changed the selection");
    }
    if (std::ranges::find(guilty_, stage) != guilty_.end()) {
      ImGui::SameLine(0, 0);
      Label(frame.theme, Color::kBeyondBound, "✗");
      if (ImGui::IsItemHovered()) ImGui::SetTooltip("this pass changed the numbers, see Verdict");
    }
    ImGui::PopID();
  }

  // The start of a pipeline is a heading, a point outside all pipelines stands out.
  static void DrawName(Frame& frame, const dump::StageEntry& row) {
    bool heading = row.pass == "pipeline-start";
    Color color = heading            ? Color::kTextSecondary
                  : row.pass.empty() ? Color::kAccent
                                     : Color::kText;
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[color]);
    if (heading || row.pass.empty()) {
      FittedLabel(heading ? "▸ " + row.pipeline : row.name);
    } else {
      ImGui::Indent(14 * frame.scale);
      FittedLabel(row.pass);
      ImGui::Unindent(14 * frame.scale);
    }
    ImGui::PopStyleColor();
  }

  static void DrawCounts(Frame& frame, const Pending<debug::PassChanges>& changes) {
    if (!changes.ready()) {
      ImGui::TableSetColumnIndex(1);
      if (changes.failed()) {
        Label(frame.theme, Color::kWarning, "?");
        if (ImGui::IsItemHovered())
          ImGui::SetTooltip("%s", SafeText(changes.error.ToString(), 600).c_str());
      } else {
        Label(frame.theme, Color::kTextDisabled, "…");
      }
      return;
    }
    const debug::ChangeCounts& counts = changes->counts;
    const std::pair<Color, int64_t> columns[] = {
        {Color::kAdded, counts.added},
        {Color::kRemoved, counts.removed},
        {Color::kRewritten, counts.rewritten + counts.moved}};
    for (int i = 0; i < 3; ++i) {
      ImGui::TableSetColumnIndex(i + 1);
      if (columns[i].second == 0) continue;
      RightLabel(frame.theme, columns[i].first, ShortCountText(columns[i].second));
      if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", CountText(columns[i].second).c_str());
    }
  }

  std::string filter_;
  bool only_changes_ = false, focus_filter_ = false;
  int32_t last_shown_ = -1;
  std::vector<int32_t> guilty_;  // stages behind passes that changed the numbers
};

}  // namespace

std::unique_ptr<View> MakePassesView() { return std::make_unique<PassesView>(); }

}  // namespace hloscope::viewer
