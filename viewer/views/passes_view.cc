// Passes: the pipeline as a list, with what each pass changed and where the selection was touched.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <array>

#include "core/base/counted.h"
#include "core/dump/own_compilation.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/facts/stage_costs.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"
#include "viewer/widgets/row_cursor.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

class PassesView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
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
    Help("show only matching passes\nCtrl+F");
    ImGui::Checkbox("Changed only", &only_changes_);
    Help("hide passes without changes");
    SameLineIfRoom(CheckboxWidth("Most changed first"));
    bool& by_change = context.marks.Of<PassMarks>().by_change;
    ImGui::Checkbox("Most changed first", &by_change);
    Help("sort by number of changes instead of pass order");
    if (by_change && RankingOf(context, module, AnnotationsIn(context)).waiting())
      Label(frame.theme, Color::kTextSecondary, "comparing all stages …");
    const StageCosts* const costs =
        entry.stages.size() > 1 ? CostsIn(frame, entry, module) : nullptr;
    // The lines above the table come with the costs and take its room.
    if ((costs == nullptr) != (costs_ == nullptr)) last_shown_ = -1;
    costs_ = costs;
    guilty_ = GuiltyStages(context, module);
    std::vector<int32_t> rows = Rows(context, entry, module);
    DrawTable(frame, entry, module, rows);
    if (std::ranges::none_of(entry.stages, [](const auto& s) { return !s.pass.empty(); })) {
      Sentence(frame,
               dump::IsOwnCompilation(*context.document.dump(), module)
                   ? "no pass changed the module before fusion, or the dump was written without "
                     "--passes"
                   : "no passes in this dump: --xla_dump_hlo_pass_re=.* dumps every pass");
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
    std::string out =
        "stage,pipeline,pass,added,removed,rewritten,moved,instructions,bytes_moved,kernels,"
        "instructions_change,bytes_moved_change,kernels_change\n";
    const bool may_read = entry.stages.size() > 1 && MayReadAllStages(context, module);
    const Pending<StageCosts>* costs = may_read ? &StageCostsOf(context, module) : nullptr;
    for (size_t s = 0; s < entry.stages.size(); ++s) {
      const dump::StageEntry& stage = entry.stages[s];
      out += fmt::format("{},{},{}", CsvCell(stage.name), CsvCell(stage.pipeline),
                         CsvCell(stage.pass));
      const auto& changes = ShownChanges(context, module, static_cast<int32_t>(s));
      out += changes.ready()
                 ? fmt::format(",{},{},{},{}", changes->counts.added, changes->counts.removed,
                               changes->counts.rewritten, changes->counts.moved)
                 : std::string(",,,,");
      const bool is_known = costs != nullptr && costs->ready();
      const StageCost cost = is_known ? (*costs)->costs[s] : StageCost();
      const StageGain gain = is_known ? (*costs)->gains[s] : StageGain();
      out += cost.is_known
                 ? fmt::format(",{},{:.0f},{}", cost.instructions, cost.bytes, cost.kernels)
                 : std::string(",,,");
      out += gain.is_known
                 ? fmt::format(",{},{:.0f},{}\n", gain.instructions, gain.bytes, gain.kernels)
                 : std::string(",,,\n");
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    int32_t module = context.navigation.module();
    if (module < 0) return {};
    const dump::ModuleEntry& entry =
        context.document.dump()->modules()[static_cast<size_t>(module)];
    auto stage = static_cast<size_t>(ShownChangeStage(context));
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
    const bool is_open = ImGui::BeginCombo("##module", shown.c_str(), ImGuiComboFlags_HeightLarge);
    Help("module: " + modules[static_cast<size_t>(module)].name);
    if (!is_open) return;
    for (size_t i = 0; i < modules.size(); ++i) {
      if (Choice(modules[i].name, std::to_string(i), static_cast<int32_t>(i) == module))
        frame.context.navigation.Select(Selection::OfModule(static_cast<int32_t>(i)));
    }
    ImGui::EndCombo();
  }

  // What all stages would cost; the pass that saved most is said above the table. Null while that
  // is not known.
  static const StageCosts* CostsIn(Frame& frame, const dump::ModuleEntry& entry, int32_t module) {
    Context& context = frame.context;
    if (!MayReadAllStages(context, module)) {
      if (FactsOf(context, module).waiting()) return nullptr;
      if (ImGui::Button("Estimate all passes")) context.marks.Of<PassMarks>().asked.insert(module);
      Help(fmt::format("compare all {} (slow)", Counted(entry.stages.size(), "stage")));
      return nullptr;
    }
    const Pending<StageCosts>& costs = StageCostsOf(context, module);
    if (!costs.ready()) {
      Label(frame.theme, Color::kTextSecondary, "estimating all stages …");
      return nullptr;
    }
    const int32_t best = costs->best;
    if (best < 0) {
      Label(frame.theme, Color::kTextSecondary, "no pass reduces bytes moved (estimate)");
      return costs.value.get();
    }
    const StageGain& gain = costs->gains[static_cast<size_t>(best)];
    Label(frame.theme, Color::kTextSecondary, "Saves most (estimate):");
    const std::string saved = fmt::format(": {} moved", SignedBytesText(gain.bytes));
    const std::string pass = PassName(entry, best);
    const auto width = [](const std::string& text) { return ImGui::CalcTextSize(text.c_str()).x; };
    std::string text = SafeText(pass, 40) + saved;
    SameLineIfRoom(width(text));
    for (size_t most = 38; most > 8 && width(text) > ImGui::GetContentRegionAvail().x; most -= 2)
      text = SafeText(pass, most) + saved;
    if (ImGui::TextLink((text + "##best").c_str())) GoTo(context, module, best);
    Help(fmt::format("{}{}\n{}", pass, saved, GainText(gain)));
    return costs.value.get();
  }

  std::vector<int32_t> Rows(Context& context, const dump::ModuleEntry& entry,
                            int32_t module) const {
    std::vector<int32_t> rows;
    for (size_t s = 0; s < entry.stages.size(); ++s) {
      auto stage = static_cast<int32_t>(s);
      if (!filter_.empty() && entry.stages[s].name.find(filter_) == std::string::npos) continue;
      if (only_changes_ && s > 0) {
        const auto& changes = ShownChanges(context, module, stage);
        if (changes.ready() && !changes->counts.any()) continue;
      }
      rows.push_back(stage);
    }
    if (context.marks.Of<PassMarks>().by_change) SortByChange(context, module, rows);
    return rows;
  }

  static void SortByChange(Context& context, int32_t module, std::vector<int32_t>& rows) {
    const Pending<PassRanking>& ranking = RankingOf(context, module, AnnotationsIn(context));
    if (!ranking.ready()) return;
    std::vector<size_t> rank(ranking->counts.size(), ranking->order.size());
    for (size_t i = 0; i < ranking->order.size(); ++i)
      rank[static_cast<size_t>(ranking->order[i])] = i;
    std::ranges::stable_sort(rows, {},
                             [&](int32_t stage) { return rank[static_cast<size_t>(stage)]; });
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
    // The estimates are columns where there is room, else in the tooltip of the row.
    const bool is_narrow = ImGui::GetContentRegionAvail().x < 320 * frame.scale;
    const float number = ImGui::CalcTextSize(is_narrow ? "999" : "9,999").x,
                bytes = ImGui::CalcTextSize("−999 MB").x;
    const float room = ImGui::GetContentRegionAvail().x - 5 * number - 2 * bytes;
    shows_gains_ = costs_ != nullptr && room > 220 * frame.scale;
    const int columns = kColumns + (shows_gains_ ? 3 : 0);
    const ImVec2 padding = ImGui::GetStyle().CellPadding;
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding,
                        ImVec2(is_narrow ? padding.x / 2 : padding.x, padding.y));
    const bool is_open = ImGui::BeginTable(shows_gains_ ? "##gains" : "##passes", columns, flags);
    ImGui::PopStyleVar();
    if (!is_open) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    const std::string last = std::to_string(entry.stages.size());
    ImGui::TableSetupColumn("#", ImGuiTableColumnFlags_WidthFixed,
                            ImGui::CalcTextSize(last.c_str()).x);
    ImGui::TableSetupColumn("pass", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("+", ImGuiTableColumnFlags_WidthFixed, number);
    ImGui::TableSetupColumn("−", ImGuiTableColumnFlags_WidthFixed, number);
    ImGui::TableSetupColumn("~ >", ImGuiTableColumnFlags_WidthFixed, number);
    ImGui::TableSetupColumn("##touched", ImGuiTableColumnFlags_WidthFixed,
                            (guilty_.empty() ? (is_narrow ? 8 : 14) : 26) * frame.scale);
    if (shows_gains_) {
      ImGui::TableSetupColumn("instr.", ImGuiTableColumnFlags_WidthFixed, number);
      ImGui::TableSetupColumn("bytes", ImGuiTableColumnFlags_WidthFixed, bytes);
      ImGui::TableSetupColumn("kernels", ImGuiTableColumnFlags_WidthFixed, bytes);
    }
    DrawHeads(columns);
    const int32_t shown = ShownChangeStage(frame.context);
    if (std::exchange(last_shown_, shown) != shown) cursor_.Follow();
    const auto stage = [&](int i) { return rows[static_cast<size_t>(i)]; };
    cursor_.Draw(frame, {.count = static_cast<int>(rows.size()),
                         .is_selected = [&](int i) { return stage(i) == shown; },
                         .is_highlighted = {},
                         .choose = [&](int i) { GoTo(frame.context, module, stage(i)); },
                         .draw = [&](int i) { DrawRow(frame, entry, module, stage(i)); }});
    ImGui::EndTable();
  }

  static void DrawHeads(int columns) {
    static constexpr std::array<const char*, kColumns + 3> kHelp = {
        "pass order",
        "pass that produced the stage",
        "instructions added",
        "instructions removed",
        "instructions rewritten (~) or moved to another computation (>)",
        "• changed the selection, ✗ changed the results",
        "instructions gained or lost vs. the previous stage",
        "change in bytes moved per run (estimate from shapes)",
        "change in fusions and library calls"};
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int c = 0; c < columns; ++c) {
      if (!ImGui::TableSetColumnIndex(c)) continue;
      Header(ImGui::TableGetColumnName(c));
      Help(kHelp[static_cast<size_t>(c)]);
    }
  }

  void DrawRow(Frame& frame, const dump::ModuleEntry& entry, int32_t module, int32_t stage) {
    Context& context = frame.context;
    const dump::StageEntry& row = entry.stages[static_cast<size_t>(stage)];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(stage);
    bool shown = ShownChangeStage(context) == stage;
    if (Row(frame, "##row", shown, false)) GoTo(context, module, stage);
    const StageGain gain =
        costs_ == nullptr ? StageGain() : costs_->gains[static_cast<size_t>(stage)];
    Help(gain.is_known ? row.name + "\n" + GainText(gain) : row.name);
    ImGui::SameLine(0, 0);
    RightLabel(frame.theme, Color::kTextSecondary, std::to_string(stage + 1));
    ImGui::TableNextColumn();
    // The first has nothing before it to differ from.
    const Pending<analysis::PassChanges>* changes =
        stage > 0 ? &ShownChanges(context, module, stage) : nullptr;
    DrawName(frame, entry, stage,
             changes != nullptr && changes->ready() && (*changes)->counts.any());
    if (changes != nullptr) DrawCounts(frame, *changes);
    ImGui::TableSetColumnIndex(5);
    if (context.navigation.counterparts().TouchedInto(stage)) {
      Label(frame.theme, Color::kAccent, "•");
      Help("this pass changed the selection");
    }
    if (std::ranges::find(guilty_, stage) != guilty_.end()) {
      ImGui::SameLine(0, 0);
      Label(frame.theme, Color::kBeyondBound, "✗");
      Help("this pass changed the results, see Verdict");
    }
    if (shows_gains_ && gain.is_known) DrawGain(frame, gain);
    ImGui::PopID();
  }

  static void DrawGain(Frame& frame, const StageGain& gain) {
    const auto cell = [&](int column, double value, const std::string& text) {
      if (value == 0) return;
      ImGui::TableSetColumnIndex(column);
      RightLabel(frame.theme, value < 0 ? Color::kText : Color::kTextSecondary, text);
      Help(GainText(gain));
    };
    cell(kColumns, static_cast<double>(gain.instructions), SignedCountText(gain.instructions));
    cell(kColumns + 1, gain.bytes, SignedBytesText(gain.bytes));
    cell(kColumns + 2, static_cast<double>(gain.kernels), SignedCountText(gain.kernels));
  }

  // The start of a pipeline is a heading, unless the pass that runs it changed something before; a
  // point outside all pipelines stands out.
  static void DrawName(Frame& frame, const dump::ModuleEntry& entry, int32_t stage,
                       bool has_changes) {
    const dump::StageEntry& row = entry.stages[static_cast<size_t>(stage)];
    const bool heading =
        row.pass == "pipeline-start" && !(has_changes && IsMadeByPass(entry, stage));
    Color color = heading            ? Color::kTextSecondary
                  : row.pass.empty() ? Color::kAccent
                                     : Color::kText;
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[color]);
    if (heading || row.pass.empty()) {
      FittedLabel(heading ? "▸ " + row.pipeline : row.name);
    } else {
      ImGui::Indent(14 * frame.scale);
      FittedLabel(PassName(entry, stage));
      ImGui::Unindent(14 * frame.scale);
    }
    ImGui::PopStyleColor();
  }

  static void DrawCounts(Frame& frame, const Pending<analysis::PassChanges>& changes) {
    if (!changes.ready()) {
      ImGui::TableSetColumnIndex(2);
      if (changes.failed()) {
        Label(frame.theme, Color::kWarning, "?");
        Help(changes.error.ToString());
      } else {
        Label(frame.theme, Color::kTextDisabled, "…");
      }
      return;
    }
    const analysis::ChangeCounts& counts = changes->counts;
    const std::pair<Color, int64_t> columns[] = {
        {Color::kAdded, counts.added},
        {Color::kRemoved, counts.removed},
        {Color::kRewritten, counts.rewritten + counts.moved}};
    for (int i = 0; i < 3; ++i) {
      ImGui::TableSetColumnIndex(i + 2);
      if (columns[i].second == 0) continue;
      RightLabel(frame.theme, columns[i].first, ShortCountText(columns[i].second));
      Help(CountText(columns[i].second));
    }
  }

  static constexpr int kColumns = 6;   // without the estimates
  const StageCosts* costs_ = nullptr;  // of the frame that is drawn
  bool shows_gains_ = false;
  std::string filter_;
  bool only_changes_ = false, focus_filter_ = false;
  int32_t last_shown_ = -1;
  RowCursor cursor_;
  std::vector<int32_t> guilty_;  // stages after passes that changed the results
};

}  // namespace

std::unique_ptr<View> MakePassesView() { return std::make_unique<PassesView>(); }

}  // namespace hloscope::viewer
