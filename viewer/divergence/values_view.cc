// Values: what an instruction holds on both sides, as a table, a picture or a histogram, and how
// far the two are apart.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "viewer/divergence/value_pictures.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/lab/hover_values.h"
#include "viewer/lab/value_grid.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/verdict_mark.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr int kColumnsShown = 24;

constexpr std::array<const char*, 4> kSides = {"reference", "platform", "ULP", "|difference|"};

class ValuesView : public View {
 public:
  void Draw(Frame& frame) override {
    Experiment& experiment = frame.context.experiment;
    if (experiment.module() == nullptr) {
      Sentence(frame, "no values yet: run a comparison on the screen Divergence");
      return;
    }
    Follow(frame.context);
    DrawHead(frame, experiment);
    const CapturedPair* pair = experiment.captured();
    if (pair == nullptr) {
      grids_.clear();
      shown_ = nullptr;
      if (!experiment.running()) {
        Sentence(frame, "no values yet: select an instruction and press Values, or V");
      }
      return;
    }
    TakeOver(*pair);
    DrawBehind(frame, experiment, *pair);
    if (!pair->note.empty()) Label(frame.theme, Color::kWarning, SafeText(pair->note, 300));
    if (grids_.empty()) {
      Sentence(frame, "the result of this instruction is not an array");
      return;
    }
    if (static_cast<size_t>(leaf_) < pair->counts.size() &&
        grids_[static_cast<size_t>(leaf_)].has_actual()) {
      DrawVerdictLegend(frame, pair->counts[static_cast<size_t>(leaf_)], "element");
    }
    DrawChoices(frame);
    ValueGrid& grid = grids_[static_cast<size_t>(leaf_)];
    DrawWorst(frame, *pair, grid);
    if (!ImGui::BeginTabBar("##forms")) return;
    if (BeginTab("Table", "element values")) {
      DrawTable(frame, grid);
      ImGui::EndTabItem();
    }
    if (BeginTab("Picture", "one pixel per element")) {
      DrawValuePicture(frame, grid, side(), page_);
      ImGui::EndTabItem();
    }
    if (BeginTab("Histogram", "distribution of the values")) {
      DrawHistogram(frame, grid, side());
      ImGui::EndTabItem();
    }
    ImGui::EndTabBar();
  }

  bool Run(Command command, Frame& frame) override {
    if (command != Command::kValues) return false;
    Ask(frame.context);
    return true;
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || grids_.empty()) return View::Export(format, context);
    const ValueGrid& grid = grids_[static_cast<size_t>(leaf_)];
    const int64_t elements = grid.pages() * grid.rows() * grid.columns();
    constexpr int64_t kMax = 1'000'000;
    if (elements > kMax)
      return UnsupportedError("too large for a table (more than a million elements)",
                              "`hloscope extract` saves the values of one instruction");
    std::string out =
        grid.has_actual() ? "index,reference,platform,ulp,difference\n" : "index,value\n";
    for (int64_t i = 0; i < elements; ++i) {
      out += CsvCell(grid.IndexText(i));
      for (ValueSide side :
           {ValueSide::kReference, ValueSide::kActual, ValueSide::kUlp, ValueSide::kError}) {
        if (side != ValueSide::kReference && !grid.has_actual()) break;
        out += ',';
        AppendCsvCell(out, grid.Text(side, i));  // a complex number has a comma
      }
      out += '\n';
    }
    return out;
  }

  std::string Arrangement() const override {
    return fmt::format("{} {} {} {} {}", shown_, leaf_, page_, column_, side_);
  }
  void SetArrangement(std::string_view arrangement) override {
    const std::string mine = fmt::format("{} ", shown_);
    if (!arrangement.starts_with(mine)) return;  // of other values
    const char* at = arrangement.data() + mine.size();
    const char* const end = arrangement.data() + arrangement.size();
    for (int* part : {&leaf_, &page_, &column_, &side_}) {
      at = std::from_chars(at, end, *part).ptr;
      if (at != end) ++at;
    }
  }

  std::string HighlightedItems(Context& context) const override {
    const CapturedPair* pair = context.experiment.captured();
    if (pair == nullptr) return "no values";
    std::string out =
        "values of " + std::string(context.experiment.module()->name(pair->instruction));
    for (const ValueGrid& grid : grids_) out += "\n" + hlo::ToString(grid.shape(), false);
    return out;
  }

 private:
  static hlo::InstructionId Selected(Context& context) {
    const ExperimentRequest& request = context.experiment.request();
    if (context.navigation.module() != request.module_index) return {};
    return context.navigation.InstructionIn(request.stage);
  }

  static void Ask(Context& context) {
    const hlo::InstructionId id = Selected(context);
    if (id.valid()) {
      context.experiment.Capture(id);
    } else {
      context.messages.Post(Severity::kNote, "select an instruction of the module that ran");
    }
  }

  // What is selected next is asked for by itself, unless that may take long.
  static constexpr double kMaxSecondsToFollow = 10;
  static void Follow(Context& context) {
    const CapturedPair* pair = context.experiment.captured();
    if (pair == nullptr || context.experiment.running() || pair->seconds > kMaxSecondsToFollow)
      return;
    const hlo::InstructionId id = Selected(context);
    if (id.valid() && id != pair->instruction) context.experiment.Capture(id);
  }

  // These are not the values of what is selected.
  static void DrawBehind(Frame& frame, const Experiment& experiment, const CapturedPair& pair) {
    const hlo::InstructionId id = Selected(frame.context);
    if (!id.valid() || id == pair.instruction || experiment.running()) return;
    Label(frame.theme, Color::kWarning,
          fmt::format("selected is {}: press V for its values (these took {:.0f} s)",
                      experiment.module()->name(id), pair.seconds));
  }

  static void DrawHead(Frame& frame, const Experiment& experiment) {
    const hlo::InstructionId id = Selected(frame.context);
    ImGui::BeginDisabled(!id.valid() || experiment.running());
    if (ImGui::Button("Values")) Ask(frame.context);
    Help(Command::kValues);
    ImGui::EndDisabled();
    const CapturedPair* pair = experiment.captured();
    ImGui::SameLine();
    const hlo::InstructionId pinned = pair != nullptr ? pair->instruction : id;
    ImGui::BeginDisabled(!pinned.valid());
    if (ImGui::Button("Pin")) {
      frame.context.marks.Of<Hovered>() = {
          Selection::OfInstruction(experiment.request().module_index, experiment.request().stage,
                                   pinned),
          ImGui::GetFrameCount()};
      frame.context.requests.Run(Command::kPin);
    }
    ImGui::EndDisabled();
    ImGui::SetItemTooltip("pin these values to compare with later runs (Shift+V)");
    ImGui::SameLine();
    if (pair != nullptr) {
      FittedLabel(
          fmt::format("of {} on the interpreter{}", experiment.module()->name(pair->instruction),
                      pair->actual_leaves.empty()
                          ? std::string()
                          : " and, on the same operands, on " + experiment.request().test.name));
    } else {
      FittedLabel(id.valid() ? "of " + std::string(experiment.module()->name(id))
                             : std::string("no instruction of this module is selected"));
    }
  }

  void TakeOver(const CapturedPair& pair) {
    const void* now = pair.reference_leaves.empty()
                          ? nullptr
                          : static_cast<const void*>(pair.reference_leaves[0].bytes().data());
    if (now == shown_ && !grids_.empty()) return;
    shown_ = now;
    grids_.clear();
    leaf_ = 0;
    page_ = column_ = 0;
    Unmark();
    for (size_t i = 0; i < pair.reference_leaves.size(); ++i) {
      std::optional<hlo::Literal> actual;
      const bool fits =
          i < pair.actual_leaves.size() &&
          pair.actual_leaves[i].bytes().size() == pair.reference_leaves[i].bytes().size() &&
          pair.actual_leaves[i].shape().element_type() ==
              pair.reference_leaves[i].shape().element_type();
      if (fits) actual = pair.actual_leaves[i];
      grids_.emplace_back(pair.reference_leaves[i], std::move(actual), pair.bounds);
    }
  }

  void Unmark() {
    marked_ = wanted_row_ = -1;
    has_looked_ = false;
  }

  void DrawChoices(Frame& frame) {
    leaf_ = std::clamp(leaf_, 0, static_cast<int>(grids_.size()) - 1);
    const ValueGrid& grid = grids_[static_cast<size_t>(leaf_)];
    ImGui::AlignTextToFramePadding();
    Label(frame.theme, Color::kTextSecondary, hlo::ToString(grid.shape(), false));
    if (grids_.size() > 1) {
      ImGui::SameLine();
      ImGui::SetNextItemWidth(90 * frame.scale);
      const bool changed = ImGui::InputInt("element of the tuple", &leaf_, 1);
      Help("tuple element to show");
      if (changed) {
        leaf_ = std::clamp(leaf_, 0, static_cast<int>(grids_.size()) - 1);
        page_ = column_ = 0;
        Unmark();
      }
    }
    if (grid.has_actual()) {
      for (int s = 0; s < static_cast<int>(kSides.size()); ++s) {
        ImGui::SameLine();
        ImGui::RadioButton(kSides[static_cast<size_t>(s)], &side_, s);
        Help("show these values");
      }
    } else {
      side_ = 0;
    }
    if (grid.pages() > 1) {
      ImGui::SetNextItemWidth(120 * frame.scale);
      ImGui::InputInt("page", &page_, 1);
      Help("slice of the outer dimensions to show");
      page_ = std::clamp(page_, 0, static_cast<int>(std::min<int64_t>(grid.pages(), 1 << 30)) - 1);
      ImGui::SameLine();
      Label(frame.theme, Color::kTextSecondary,
            fmt::format("of {}, from {}", CountText(grid.pages()),
                        grid.IndexText(grid.At(page_, 0, 0))));
    }
  }

  // Leads to the element that is furthest off; of one side alone to the first that is not finite.
  void DrawWorst(Frame& frame, const CapturedPair& pair, const ValueGrid& grid) {
    const auto leaf = static_cast<size_t>(leaf_);
    const bool is_compared = grid.has_actual() && leaf < pair.counts.size();
    if (ImGui::Button(is_compared ? "Worst element" : "First NaN or infinity")) {
      marked_ = is_compared ? pair.counts[leaf].worst_element : grid.FirstNonFinite();
      has_looked_ = true;
      if (marked_ >= 0) GoTo(grid, marked_);
    }
    Help(is_compared ? "go to the element of the largest relative error"
                     : "go to the first element that is NaN or infinite");
    if (!has_looked_) return;
    ImGui::SameLine();
    if (marked_ < 0) {
      return Label(frame.theme, Color::kTextSecondary,
                   is_compared ? "no element differs" : "all elements are finite");
    }
    std::string text =
        fmt::format("{}: {}", grid.IndexText(marked_), grid.Text(ValueSide::kReference, marked_));
    if (is_compared) {
      text +=
          fmt::format(" on the reference, {} on the platform: {}",
                      grid.Text(ValueSide::kActual, marked_), ToString(*grid.VerdictAt(marked_)));
    }
    FittedLabel(text);
  }

  // To its page and column; the table scrolls to its row as it is drawn.
  void GoTo(const ValueGrid& grid, int64_t element) {
    const int64_t row = element / grid.columns();
    page_ = static_cast<int>(row / grid.rows());
    column_ = static_cast<int>(element % grid.columns()) / kColumnsShown * kColumnsShown;
    wanted_row_ = row % grid.rows();
  }

  ValueSide side() const { return static_cast<ValueSide>(side_); }

  void DrawTable(Frame& frame, ValueGrid& grid) {
    if (grid.rows() == 0 || grid.columns() == 0) {
      Sentence(frame, "empty array");
      return;
    }
    const auto columns = static_cast<int>(std::min<int64_t>(grid.columns(), kColumnsShown));
    if (grid.columns() > kColumnsShown) {
      ImGui::SetNextItemWidth(160 * frame.scale);
      ImGui::InputInt("first column", &column_, kColumnsShown, 10 * kColumnsShown);
      Help("first column to show");
    }
    column_ = std::clamp(column_, 0,
                         static_cast<int>(std::min<int64_t>(grid.columns() - columns, 1 << 30)));
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY |
                                       ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit |
                                       ImGuiTableFlags_BordersInnerV;
    if (!ImGui::BeginTable("##values", columns + 1, kFlags)) return;
    ImGui::TableSetupScrollFreeze(1, 1);
    ImGui::TableSetupColumn("");
    ImGui::PushFont(frame.mono, 14);
    const float width = ImGui::CalcTextSize(grid.WidestText(side()).data()).x + 3 * MarkRadius();
    ImGui::PopFont();
    for (int c = 0; c < columns; ++c) {
      ImGui::TableSetupColumn(std::to_string(column_ + c).c_str(), ImGuiTableColumnFlags_WidthFixed,
                              width);
    }
    HeaderRow({});
    ImGui::PushFont(frame.mono, 14);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(std::min<int64_t>(grid.rows(), 500'000)));
    if (const int64_t row = std::exchange(wanted_row_, -1); row >= 0) {
      const float line = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
      ImGui::SetScrollY(static_cast<float>(row) * line - ImGui::GetWindowHeight() / 2);
    }
    while (clipper.Step()) {
      for (int r = clipper.DisplayStart; r < clipper.DisplayEnd; ++r)
        DrawRow(frame, grid, r, columns);
    }
    ImGui::PopFont();
    ImGui::EndTable();
  }

  void DrawRow(Frame& frame, const ValueGrid& grid, int64_t row, int columns) const {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    Label(frame.theme, Color::kTextSecondary, std::to_string(row));
    for (int c = 0; c < columns; ++c) {
      const int64_t at = grid.At(page_, row, column_ + c);
      const std::optional<Verdict> verdict = grid.VerdictAt(at);
      ImGui::TableNextColumn();
      if (at == marked_) {
        ImGui::TableSetBgColor(ImGuiTableBgTarget_CellBg, frame.theme.With(Color::kAccent, 0.35F));
      }
      DrawElement(frame, verdict, grid.CellText(side(), at),
                  grid.IsFinite(side(), at) ? Color::kText : Color::kError);
      if (ImGui::IsItemHovered()) {
        std::string text = fmt::format("{}\nreference {}", grid.IndexText(at),
                                       grid.Text(ValueSide::kReference, at));
        if (verdict) {
          text += fmt::format("\nplatform {}\n{}, {} ULP", grid.Text(ValueSide::kActual, at),
                              ToString(*verdict), grid.Text(ValueSide::kUlp, at));
        }
        ImGui::SetTooltip("%s", text.c_str());
      }
    }
  }

  static float MarkRadius() { return ImGui::GetTextLineHeight() * 0.25F; }

  // The mark of its verdict before it, where there is something to see.
  static void DrawElement(Frame& frame, std::optional<Verdict> verdict, const std::string& text,
                          Color color) {
    const float radius = MarkRadius();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (verdict && *verdict != Verdict::kSameBits) {
      DrawVerdictMark(*ImGui::GetWindowDrawList(),
                      {at.x + radius, at.y + ImGui::GetTextLineHeight() / 2}, radius, frame.theme,
                      *verdict);
    }
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + 3 * radius);
    RightLabel(frame.theme, color, text);
  }

  const void* shown_ = nullptr;  // whose grids these are
  std::vector<ValueGrid> grids_;
  int leaf_ = 0, page_ = 0, column_ = 0, side_ = 0;
  int64_t marked_ = -1, wanted_row_ = -1;  // the worst element, and its row while it is scrolled to
  bool has_looked_ = false;                // for the worst element
};

}  // namespace

std::unique_ptr<View> MakeValuesView() { return std::make_unique<ValuesView>(); }

}  // namespace hloscope::viewer
