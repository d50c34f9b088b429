// Kernels: a row for every instruction that took time or has a kernel.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/counted.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/path_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/views/kernel_columns.h"
#include "viewer/views/kernel_csv.h"
#include "viewer/widgets/row_cursor.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using Column = KernelColumn;

class KernelsView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    const Pending<KernelSheet>* sheet = KernelSheetOf(context);
    if (sheet == nullptr) {
      Sentence(frame, "loading kernels and times …");
      return;
    }
    if (!ShowPending(frame, *sheet, "the table of kernels")) return;
    TakeSwap(context);
    if (sheet_ != sheet->value || order_.empty()) Show(sheet->value);
    DrawBar(frame);
    if (sheet_->rows.empty()) return;
    DrawTable(frame);
    LookFirst(context);
  }

  bool Run(Command command, Frame& frame) override {
    if (command == Command::kFind) {
      focus_filter_ = true;
    } else if (command == Command::kSwapProfiles) {
      frame.context.marks.Of<TimelineMarks>().profiles_swapped =
          !frame.context.marks.Of<TimelineMarks>().profiles_swapped;
    } else if (command == Command::kStopComparing) {
      frame.context.document.CompareWith({});
    } else {
      return false;
    }
    return true;
  }
  std::string State() const override { return (swapped_ ? "<" : "") + filter_; }
  void SetState(std::string_view state) override {
    wants_swap_ = state.starts_with('<');
    filter_ = state.substr(*wants_swap_ ? 1 : 0);
    order_.clear();
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || sheet_ == nullptr) return View::Export(format, context);
    return KernelCsv(*sheet_, swapped_);
  }

  std::string HighlightedItems(Context& context) const override {
    if (sheet_ == nullptr) return {};
    std::string out;
    for (uint32_t i : order_) {
      if (IsHighlighted(context, sheet_->rows[i])) out += sheet_->rows[i].name + "\n";
    }
    return out;
  }

 private:
  // What says the same in every row says nothing: hidden until asked for.
  void HideSame() {
    columns_ = KernelColumnsOf(*sheet_, swapped_);
    same_.clear();
    if (sheet_->rows.size() < 2) return;
    for (const Column* column : columns_) {
      if (SaysTheSame(*column)) same_.push_back(column);
    }
    if (!shows_same_)
      std::erase_if(columns_,
                    [&](const Column* c) { return std::ranges::find(same_, c) != same_.end(); });
  }
  bool SaysTheSame(const Column& column) const {
    const std::string first = column.text(*sheet_, sheet_->rows.front());
    return std::ranges::all_of(
        sheet_->rows, [&](const KernelRow& row) { return column.text(*sheet_, row) == first; });
  }
  // "3 columns with one value hidden", and back.
  void DrawSame() {
    if (same_.empty()) return;
    const std::string columns = Counted(same_.size(), "constant column");
    const std::string text = shows_same_ ? "Hide " + columns : columns + " hidden";
    SameLineIfRoom(ButtonWidth(text.c_str()));
    if (ImGui::Button((text + "###same").c_str())) {
      shows_same_ = !shows_same_;
      HideSame();
    }
    if (!ImGui::IsItemHovered() || !ImGui::BeginTooltip()) return;
    for (const Column* column : same_) {
      const std::string value = column->text(*sheet_, sheet_->rows.front());
      Label(fmt::format("{}: {}", column->title, value.empty() ? "unknown" : value));
    }
    ImGui::EndTooltip();
  }

  // Which profile is the one before is the same for every view.
  void TakeSwap(Context& context) {
    if (wants_swap_) context.marks.Of<TimelineMarks>().profiles_swapped = *wants_swap_;
    wants_swap_.reset();
    if (swapped_ == context.marks.Of<TimelineMarks>().profiles_swapped) return;
    swapped_ = context.marks.Of<TimelineMarks>().profiles_swapped;
    needs_sort_ = true;
    if (sheet_ != nullptr) HideSame();
  }

  void Show(const std::shared_ptr<const KernelSheet>& sheet) {
    sheet_ = sheet;
    order_.clear();
    for (uint32_t i = 0; i < sheet_->rows.size(); ++i) {
      const KernelRow& row = sheet_->rows[i];
      const bool fits = filter_.empty() || row.name.find(filter_) != std::string::npos ||
                        row.kernel.find(filter_) != std::string::npos ||
                        row.opcode.find(filter_) != std::string::npos;
      if (fits) order_.push_back(i);
    }
    needs_sort_ = true;
    HideSame();
  }

  void DrawBar(Frame& frame) {
    ImGui::SetNextItemWidth(220 * frame.scale);
    if (focus_filter_) ImGui::SetKeyboardFocusHere();
    focus_filter_ = false;
    if (ImGui::InputTextWithHint("##filter", "filter kernels", &filter_)) Show(sheet_);
    Help("show only matching instructions, kernels or opcodes\nCtrl+F");
    std::string text =
        fmt::format("{} of {}", CountText(std::ssize(order_)), CountText(std::ssize(sheet_->rows)));
    if (sheet_->has_times) {
      text += fmt::format(", {} in this module{}", TimeText(static_cast<double>(sheet_->work)),
                          sheet_->is_simulated ? ", simulated" : "");
    }
    if (sheet_->is_estimate) text += ", estimate";
    ImGui::SameLine();
    Label(frame.theme, Color::kTextSecondary, text);
    ImGui::SameLine();
    CommandButton(frame, Command::kCompareProfile, "Compare with …");
    DrawSame();
    if (sheet_->has_others) DrawComparison(frame);
    for (const std::string& note : sheet_->notes) Sentence(frame, note);
  }

  // Which profiles are compared, and their totals.
  void DrawComparison(Frame& frame) {
    double before = static_cast<double>(sheet_->work);
    double after = sheet_->other_time;
    if (swapped_) std::swap(before, after);
    ImGui::SameLine();
    CommandButton(frame, Command::kSwapProfiles, "Swap");
    if (!frame.context.document.second_profile().empty()) {
      ImGui::SameLine();
      CommandButton(frame, Command::kStopComparing, "Stop comparing");
    }
    const std::string other =
        NamesApart(ProfilePaths(frame.context).front(), sheet_->other_path).second;
    std::string text = fmt::format("{}: {} before, {} after",
                                   swapped_ ? "before is " + other : "after is " + other,
                                   TimeText(before), TimeText(after));
    if (before > 0) text += fmt::format(", {:.2f}×", after / before);
    const profiler::ProfileComparison& comparison = *sheet_->comparison;
    if (const std::string runs = profiler::RunsText(comparison, other); !runs.empty())
      text += "; " + runs;
    const auto named = std::ranges::count_if(comparison.rows, &profiler::ComparedTime::is_named);
    if (comparison.judged > 0)
      text += fmt::format("; {} of {} changed beyond noise", named, comparison.rows.size());
    if (comparison.speed && std::abs(*comparison.speed - 1) > 0.005)
      text += fmt::format("; corrected for machine speed {:.2f}×", *comparison.speed);
    Sentence(frame, text);
  }

  bool IsHighlighted(Context& context, const KernelRow& row) const {
    if (context.navigation.selection().kind <= SelectionKind::kStage) return false;
    const Counterparts& found = context.navigation.counterparts();
    if (row.kernel_index >= 0 && found.HasKernel(row.kernel_index)) return true;
    if (!row.instruction.valid()) return false;
    const auto& of_kernels = found.kernel_instructions;
    return found.InStage(sheet_->stage, row.instruction) ||
           (sheet_->stage == found.final_stage &&
            std::ranges::find(of_kernels, row.instruction) != of_kernels.end());
  }

  bool IsSelected(Context& context, const KernelRow& row) const {
    const Selection& now = context.navigation.selection();
    if (now.kind == SelectionKind::kKernel) return now.kernel == row.kernel_index;
    return now.kind == SelectionKind::kInstruction && row.instruction.valid() &&
           now.instruction == row.instruction && now.stage == sheet_->stage;
  }

  // On opening a module in which nothing is selected: the first kernel that has code, so that its
  // code and its slices of the timeline are there to see.
  void LookFirst(Context& context) {
    const int32_t module = context.navigation.module();
    if (module < 0 || context.marks.Of<LookedAt>().modules.contains(module)) return;
    const auto has_code = [&](uint32_t row) {
      return sheet_->rows[row].kernel_index >= 0 && sheet_->rows[row].instruction.valid();
    };
    const auto first = std::ranges::find_if(order_, has_code);
    if (first == order_.end()) return;
    context.marks.Of<LookedAt>().modules.insert(module);
    if (context.navigation.selection().kind != SelectionKind::kNothing) return;
    context.navigation.Suggest(
        Selection::OfInstruction(module, sheet_->stage, sheet_->rows[*first].instruction));
  }

  void Click(Frame& frame, const KernelRow& row) const {
    Context& context = frame.context;
    const int32_t module = context.navigation.module();
    if (module >= 0 && row.instruction.valid()) {
      context.navigation.Select(Selection::OfInstruction(module, sheet_->stage, row.instruction));
    } else if (module >= 0 && row.kernel_index >= 0) {
      context.navigation.Select(Selection::OfKernel(module, row.kernel_index));
    } else if (row.longest.valid()) {
      context.navigation.Select(Selection::OfEvent(row.longest.index));
    }
  }

  void Sort(const std::vector<const Column*>& columns) {
    ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
    if (specs == nullptr || (!specs->SpecsDirty && !needs_sort_) || specs->SpecsCount == 0) return;
    const int column = specs->Specs[0].ColumnIndex;
    const bool is_descending = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
    auto before = [&](uint32_t x, uint32_t y) {
      const KernelRow& a = sheet_->rows[is_descending ? y : x];
      const KernelRow& b = sheet_->rows[is_descending ? x : y];
      if (column == 0) return a.name < b.name;
      if (column == 1) return a.opcode < b.opcode;
      const Column& by = *columns[static_cast<size_t>(column) - 2];
      if (by.order) return by.order(a) < by.order(b);
      return by.text(*sheet_, a) < by.text(*sheet_, b);
    };
    std::ranges::sort(order_);
    std::ranges::stable_sort(order_, before);
    specs->SpecsDirty = needs_sort_ = false;
  }

  void DrawTable(Frame& frame) {
    const std::vector<const Column*>& columns = columns_;
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
        ImGuiTableFlags_Sortable | ImGuiTableFlags_Resizable | ImGuiTableFlags_Reorderable |
        ImGuiTableFlags_Hideable | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit;
    const std::string id =
        fmt::format("##kernels{}{}{}", columns.size(), sheet_->has_others ? "compared" : "",
                    sheet_->is_estimate ? "estimate" : "");
    if (!ImGui::BeginTable(id.c_str(), static_cast<int>(columns.size()) + 2, kFlags)) return;
    ImGui::TableSetupScrollFreeze(1, 1);
    ImGui::TableSetupColumn("instruction", ImGuiTableColumnFlags_NoHide, 154 * frame.scale);
    ImGui::TableSetupColumn("opcode", 0, 98 * frame.scale);
    for (size_t c = 0; c < columns.size(); ++c) {
      const bool is_bytes = std::string_view(columns[c]->title) == "bytes";
      const bool is_first = sheet_->is_estimate ? is_bytes : c == 0;
      const ImGuiTableColumnFlags flags =
          (columns[c]->is_number ? ImGuiTableColumnFlags_PreferSortDescending : 0) |
          (is_first ? ImGuiTableColumnFlags_DefaultSort : 0) |
          (columns[c]->is_hidden ? ImGuiTableColumnFlags_DefaultHide : 0);
      // Without times there is nothing measured in the table.
      const bool is_estimate = sheet_->is_estimate && IsWorkColumn(columns[c]);
      const std::string title =
          is_estimate ? fmt::format("{} (estimate)", columns[c]->title) : columns[c]->title;
      ImGui::TableSetupColumn(title.c_str(), flags,
                              (is_estimate ? 118 : columns[c]->width) * frame.scale);
    }
    DrawHeads(columns);
    Sort(columns);
    const auto row = [&](int i) -> const KernelRow& {
      return sheet_->rows[order_[static_cast<size_t>(i)]];
    };
    cursor_.Draw(frame,
                 {.count = static_cast<int>(order_.size()),
                  .is_selected = [&](int i) { return IsSelected(frame.context, row(i)); },
                  .is_highlighted = [&](int i) { return IsHighlighted(frame.context, row(i)); },
                  .choose = [&](int i) { Click(frame, row(i)); },
                  .draw = [&](int i) { DrawRow(frame, row(i), columns, i); }});
    ImGui::EndTable();
  }

  static void DrawHeads(const std::vector<const Column*>& columns) {
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int c = 0; c < static_cast<int>(columns.size()) + 2; ++c) {
      if (!ImGui::TableSetColumnIndex(c)) continue;
      Header(ImGui::TableGetColumnName(c));
      Help(fmt::format("{}: {}; click to sort", ImGui::TableGetColumnName(c),
                       c == 0   ? "instruction, or event name"
                       : c == 1 ? "its opcode"
                                : columns[static_cast<size_t>(c) - 2]->help));
    }
  }

  void DrawRow(Frame& frame, const KernelRow& row, const std::vector<const Column*>& columns,
               int number) const {
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(0);
    const bool is_selected = IsSelected(frame.context, row);
    const std::string id = fmt::format("##row{}", number);
    if (Row(frame, id, is_selected, IsHighlighted(frame.context, row))) Click(frame, row);
    ImGui::SameLine(0, 0);
    FittedLabel(row.name);
    if (ImGui::TableSetColumnIndex(1) && !row.opcode.empty()) {
      const Color role = ColorOf(row.code);
      Label(frame.theme, role, SignOf(role));
      ImGui::SameLine();
      Label(row.opcode);
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      if (!ImGui::TableSetColumnIndex(static_cast<int>(c) + 2)) continue;
      const std::string text = columns[c]->text(*sheet_, row);
      columns[c]->is_number ? RightLabel(text) : FittedLabel(text);
    }
  }

  std::shared_ptr<const KernelSheet> sheet_;
  std::vector<const Column*> columns_;  // after name and opcode
  std::vector<const Column*> same_;     // those that say the same in every row
  bool shows_same_ = false;
  std::vector<uint32_t> order_;
  RowCursor cursor_;
  std::string filter_;
  bool focus_filter_ = false, needs_sort_ = false;
  bool swapped_ = false;            // the second profile is the one before, when last drawn
  std::optional<bool> wants_swap_;  // as it was kept
};

}  // namespace

std::unique_ptr<View> MakeKernelsView() { return std::make_unique<KernelsView>(); }

}  // namespace hloscope::viewer
