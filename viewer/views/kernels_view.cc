// Kernels: a row for every instruction that took time or has a kernel.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "viewer/facts/kernel_sheet.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/views/kernel_csv.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// 1.25 G, three digits.
std::string SiText(double value, std::string_view unit) {
  static constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  size_t i = 0;
  while (std::abs(value) >= 999.5 && i + 1 < kPrefixes.size()) {
    value /= 1000;
    ++i;
  }
  const int digits = std::abs(value) >= 99.95 || (i == 0 && value == std::floor(value)) ? 0
                     : std::abs(value) >= 9.995                                         ? 1
                                                                                        : 2;
  return fmt::format("{:.{}f} {}{}", value, digits, kPrefixes[i], unit);
}

std::string ExtentText(const std::optional<dump::Extent3>& extent) {
  if (!extent) return {};
  const auto& [x, y, z] = *extent;
  if (y == 1 && z == 1) return std::to_string(x);
  return z == 1 ? fmt::format("{}×{}", x, y) : fmt::format("{}×{}×{}", x, y, z);
}

// A column: its title, width in logical pixels, text and order.
struct Column {
  const char* title;
  float width;
  bool is_number;
  std::function<std::string(const KernelSheet&, const KernelRow&)> text;
  std::function<double(const KernelRow&)> order;  // none: by text
  const char* help;
  bool is_hidden = false;  // until it is chosen from the menu of the heads
};

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

const std::vector<Column>& TimeColumns() {
  static const std::vector<Column> kColumns = {
      {"self", 66, true,
       [](const auto&, const auto& r) {
         return r.count ? TimeText(static_cast<double>(r.self)) : "";
       },
       [](const auto& r) { return static_cast<double>(r.self); },
       "self time: time of its events without that of nested instructions"},
      {"share", 54, true,
       [](const auto& s, const auto& r) {
         return r.count ? Percent(static_cast<double>(r.self) /
                                  static_cast<double>(std::max<int64_t>(s.work, 1)))
                        : "";
       },
       [](const auto& r) { return static_cast<double>(r.self); }, "share of the module's time"},
      {"count", 46, true,
       [](const auto&, const auto& r) { return r.count ? CountText(r.count) : ""; },
       [](const auto& r) { return static_cast<double>(r.count); }, "events in the trace"},
      {"mean", 64, true,
       [](const auto&, const auto& r) { return r.count ? TimeText(r.mean()) : ""; },
       [](const auto& r) { return r.mean(); }, "mean duration of its events"},
      {"max", 70, true,
       [](const auto&, const auto& r) {
         return r.count ? TimeText(static_cast<double>(r.max)) : "";
       },
       [](const auto& r) { return static_cast<double>(r.max); }, "its longest event", true},
  };
  return kColumns;
}

double Before(const KernelRow& row, bool swapped) {
  return swapped ? row.after_time() : row.before_time();
}
double After(const KernelRow& row, bool swapped) { return Before(row, !swapped); }
double Change(const KernelRow& row, bool swapped) {
  return After(row, swapped) - Before(row, swapped);
}
double Ratio(const KernelRow& row, bool swapped) {
  const double before = Before(row, swapped), after = After(row, swapped);
  if (before > 0) return after / before;
  return after > 0 ? std::numeric_limits<double>::infinity() : 1;
}

std::string RatioText(double ratio) {
  if (std::isinf(ratio)) return "new";
  return ratio == 0 ? "gone" : fmt::format("{:.{}f}×", ratio, ratio < 9.995 ? 2 : 0);
}

// "1.14–1.26×": what the ratio may be, by the noise.
std::string IntervalText(const KernelRow& row, bool swapped) {
  if (!row.ratio) return {};
  const profiler::ChangeRatio ratio = swapped ? row.ratio->Inverse() : *row.ratio;
  return fmt::format("{:.2f}–{}", ratio.low, RatioText(ratio.high));
}
profiler::Verdict VerdictOf(const KernelRow& row, bool swapped) {
  return swapped ? Inverse(row.verdict) : row.verdict;
}

// Two profiles beside each other, for the same number of runs.
std::vector<Column> MakeComparison(bool swapped) {
  auto time = [](double picoseconds) { return picoseconds > 0 ? TimeText(picoseconds) : ""; };
  return {
      {"change", 90, true,
       [=](const auto&, const auto& r) {
         const double change = Change(r, swapped);
         if (change == 0) return std::string("0");
         return (change > 0 ? "+" : "") + TimeText(change);
       },
       [=](const auto& r) { return std::abs(Change(r, swapped)); },
       "time gained (-) or lost (+); sorted by absolute value"},
      {"ratio", 60, true, [=](const auto&, const auto& r) { return RatioText(Ratio(r, swapped)); },
       [=](const auto& r) { return Ratio(r, swapped); },
       "time after / time before; what the machine was slower by is taken out where it can be "
       "told"},
      {"may be", 96, true, [=](const auto&, const auto& r) { return IntervalText(r, swapped); },
       [=](const auto& r) { return r.ratio ? r.ratio->high / r.ratio->low : 0; },
       "what the ratio may be by the noise, for all rows together at 99 %"},
      {"verdict", 104, false,
       [=](const auto&, const auto& r) { return std::string(ToString(VerdictOf(r, swapped))); },
       nullptr, "slower or faster: the change is more than noise, all rows regarded"},
      {"before", 70, true, [=](const auto&, const auto& r) { return time(Before(r, swapped)); },
       [=](const auto& r) { return Before(r, swapped); },
       "typical self time of all executions in the first profile, for the same number of runs"},
      {"after", 70, true, [=](const auto&, const auto& r) { return time(After(r, swapped)); },
       [=](const auto& r) { return After(r, swapped); }, "the same in the second profile"},
  };
}

const std::vector<Column>& ComparisonColumns(bool swapped) {
  static const std::vector<Column> kForward = MakeComparison(false),
                                   kBackward = MakeComparison(true);
  return swapped ? kBackward : kForward;
}

const std::vector<Column>& WorkColumns() {
  static const std::vector<Column> kColumns = {
      {"flop", 58, true,
       [](const auto&, const auto& r) {
         return r.instruction.valid() ? SiText(r.cost.flops + r.cost.transcendentals, "") : "";
       },
       [](const auto& r) { return r.cost.flops + r.cost.transcendentals; },
       "operations per run, as XLA's cost analysis counts them"},
      {"bytes", 64, true,
       [](const auto&, const auto& r) {
         return r.instruction.valid()
                    ? BytesText(static_cast<int64_t>(std::min(r.cost.bytes(), 9e18)))
                    : "";
       },
       [](const auto& r) { return r.cost.bytes(); }, "bytes read and written per run"},
  };
  return kColumns;
}

const std::vector<Column>& RateColumns() {
  static const std::vector<Column> kColumns = {
      {"flop/s", 58, true,
       [](const auto&, const auto& r) {
         return r.flops_per_second() > 0 ? SiText(r.flops_per_second(), "") : "";
       },
       [](const auto& r) { return r.flops_per_second(); }, "per second of the mean duration"},
      {"B/s", 64, true,
       [](const auto&, const auto& r) {
         return r.bytes_per_second() > 0 ? SiText(r.bytes_per_second(), "B") : "";
       },
       [](const auto& r) { return r.bytes_per_second(); }, "per second of the mean duration"},
  };
  return kColumns;
}

const std::vector<Column>& LaunchColumns() {
  static const std::vector<Column> kColumns = {
      {"grid", 70, true, [](const auto&, const auto& r) { return ExtentText(r.launch.blocks); },
       nullptr, "blocks per grid"},
      {"block", 66, true, [](const auto&, const auto& r) { return ExtentText(r.launch.threads); },
       nullptr, "threads per block"},
      {"regs", 46, true,
       [](const auto&, const auto& r) { return r.registers ? CountText(*r.registers) : ""; },
       [](const auto& r) { return static_cast<double>(r.registers.value_or(-1)); },
       "registers per thread; from a trace, .maxnreg or a cubin"},
      {"shared", 66, true,
       [](const auto&, const auto& r) { return r.shared_bytes ? BytesText(*r.shared_bytes) : ""; },
       [](const auto& r) { return static_cast<double>(r.shared_bytes.value_or(-1)); },
       "shared memory per block"},
      {"occup.", 64, true,
       [](const auto&, const auto& r) {
         if (r.occupancy < 0) return std::string();
         return (r.is_occupancy_bound ? "≤ " : "") + fmt::format("{:.0f} %", 100 * r.occupancy);
       },
       [](const auto& r) { return r.occupancy; },
       "occupancy: resident threads of the maximum per SM; an upper bound if registers are not "
       "known"},
      {"kernel", 190, false, [](const auto&, const auto& r) { return SafeText(r.kernel, 80); },
       nullptr, "kernel symbol"},
  };
  return kColumns;
}

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
      frame.context.marks.profiles_swapped = !frame.context.marks.profiles_swapped;
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

  std::string Lit(Context& context) const override {
    if (sheet_ == nullptr) return {};
    std::string out;
    for (uint32_t i : order_) {
      if (IsLit(context, sheet_->rows[i])) out += sheet_->rows[i].name + "\n";
    }
    return out;
  }

 private:
  std::vector<const Column*> Columns() const {
    std::vector<const Column*> columns;
    auto add = [&](const std::vector<Column>& group) {
      for (const Column& column : group) columns.push_back(&column);
    };
    if (sheet_->has_others) {
      add(ComparisonColumns(swapped_));
    } else if (sheet_->has_times) {
      add(TimeColumns());
    }
    add(WorkColumns());
    if (sheet_->has_times && !sheet_->has_others) add(RateColumns());
    const bool has_launch = std::ranges::any_of(
        sheet_->rows, [](const KernelRow& r) { return r.launch.known() || !r.kernel.empty(); });
    if (has_launch) add(LaunchColumns());
    return columns;
  }

  // What says the same in every row says nothing: hidden until asked for.
  void HideSame() {
    columns_ = Columns();
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
    const char* word = same_.size() == 1 ? "column" : "columns";
    const std::string text = shows_same_
                                 ? fmt::format("Hide {} {} with one value", same_.size(), word)
                                 : fmt::format("{} {} with one value hidden", same_.size(), word);
    SameLineIfRoom(ButtonWidth(text.c_str()));
    if (ImGui::Button((text + "###same").c_str())) {
      shows_same_ = !shows_same_;
      HideSame();
    }
    if (!ImGui::IsItemHovered() || !ImGui::BeginTooltip()) return;
    for (const Column* column : same_) {
      const std::string value = column->text(*sheet_, sheet_->rows.front());
      Label(fmt::format("{}: {}", column->title, value.empty() ? "not known" : value));
    }
    ImGui::EndTooltip();
  }

  // Which profile is the one before is the same for every view.
  void TakeSwap(Context& context) {
    if (wants_swap_) context.marks.profiles_swapped = *wants_swap_;
    wants_swap_.reset();
    if (swapped_ == context.marks.profiles_swapped) return;
    swapped_ = context.marks.profiles_swapped;
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
    Help("show only instructions, kernels or opcodes with these letters\nCtrl+F");
    std::string text =
        fmt::format("{} of {}", CountText(std::ssize(order_)), CountText(std::ssize(sheet_->rows)));
    if (sheet_->has_times) {
      text += fmt::format(", {} in this module", TimeText(static_cast<double>(sheet_->work)));
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

  // What stands beside what, and the whole of it.
  void DrawComparison(Frame& frame) {
    double before = static_cast<double>(sheet_->work);
    double after = static_cast<double>(sheet_->other_work) / sheet_->other_runs;
    if (swapped_) std::swap(before, after);
    ImGui::SameLine();
    CommandButton(frame, Command::kSwapProfiles, "Swap");
    if (!frame.context.document.second_profile().empty()) {
      ImGui::SameLine();
      CommandButton(frame, Command::kStopComparing, "Stop comparing");
    }
    const std::string other = std::filesystem::path(sheet_->other_path).filename().string();
    std::string text = fmt::format("{}: {} before, {} after",
                                   swapped_ ? "before is " + other : "after is " + other,
                                   TimeText(before), TimeText(after));
    if (before > 0) text += fmt::format(", {:.2f}×", after / before);
    if (std::abs(sheet_->other_runs - 1) > 0.005)
      text += fmt::format("; {} ran {:.2f} times as often, so its times are scaled", other,
                          sheet_->other_runs);
    const profiler::ProfileComparison& comparison = *sheet_->comparison;
    const auto named = std::ranges::count_if(comparison.rows, &profiler::ComparedTime::is_named);
    if (comparison.judged > 0)
      text += fmt::format("; {} of {} changed beyond noise", named, comparison.rows.size());
    if (comparison.speed && std::abs(*comparison.speed - 1) > 0.005)
      text += fmt::format("; the machine's speed, {:.2f}×, is taken out below", *comparison.speed);
    Sentence(frame, text);
  }

  bool IsLit(Context& context, const KernelRow& row) const {
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
    if (module < 0 || context.marks.looked_at.contains(module)) return;
    const auto has_code = [&](uint32_t row) {
      return sheet_->rows[row].kernel_index >= 0 && sheet_->rows[row].instruction.valid();
    };
    const auto first = std::ranges::find_if(order_, has_code);
    if (first == order_.end()) return;
    context.marks.looked_at.insert(module);
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
      const bool is_estimate = sheet_->is_estimate && IsWork(columns[c]);
      const std::string title =
          is_estimate ? fmt::format("{} (estimate)", columns[c]->title) : columns[c]->title;
      ImGui::TableSetupColumn(title.c_str(), flags,
                              (is_estimate ? 118 : columns[c]->width) * frame.scale);
    }
    DrawHeads(columns);
    Sort(columns);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(order_.size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        DrawRow(frame, sheet_->rows[order_[static_cast<size_t>(i)]], columns, i);
      }
    }
    ImGui::EndTable();
  }

  static void DrawHeads(const std::vector<const Column*>& columns) {
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int c = 0; c < static_cast<int>(columns.size()) + 2; ++c) {
      if (!ImGui::TableSetColumnIndex(c)) continue;
      ImGui::TableHeader(ImGui::TableGetColumnName(c));
      Help(fmt::format("{}: {}; click to sort", ImGui::TableGetColumnName(c),
                       c == 0   ? "the instruction, or what the trace calls it"
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
    if (Row(frame, id, is_selected, IsLit(frame.context, row))) Click(frame, row);
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

  static bool IsWork(const Column* column) {
    return std::ranges::any_of(WorkColumns(), [&](const Column& c) { return &c == column; });
  }

  std::shared_ptr<const KernelSheet> sheet_;
  std::vector<const Column*> columns_;  // behind name and opcode
  std::vector<const Column*> same_;     // those that say the same in every row
  bool shows_same_ = false;
  std::vector<uint32_t> order_;
  std::string filter_;
  bool focus_filter_ = false, needs_sort_ = false;
  bool swapped_ = false;            // the second profile is the one before, when last drawn
  std::optional<bool> wants_swap_;  // as it was kept
};

}  // namespace

std::unique_ptr<View> MakeKernelsView() { return std::make_unique<KernelsView>(); }

}  // namespace hloscope::viewer
