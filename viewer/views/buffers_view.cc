// Buffers: who holds the peak or any other point, all values, and what grew against another module.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/graph/count_text.h"
#include "core/hlo/index_text.h"
#include "viewer/facts/memory/memory_plan.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/row_cursor.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

enum class Show : uint8_t { kPoint, kAll, kGrowth };

class BuffersView : public View {
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
      Sentence(frame,
               "no buffer assignment of this module: --xla_dump_to=DIR --xla_dump_hlo_as_text "
               "writes one");
      return;
    }
    module_ = module;
    table_ = buffers.value;
    DrawBar(frame);
    if (show_ == Show::kGrowth) {
      DrawGrowth(frame);
    } else {
      DrawValues(frame);
    }
  }

  std::string Arrangement() const override {
    return fmt::format("{} {} {}", module_, static_cast<int>(show_), other_);
  }
  void SetArrangement(std::string_view arrangement) override {
    const std::string mine = fmt::format("{} ", module_);
    if (!arrangement.starts_with(mine)) return;  // of another module
    const char* const end = arrangement.data() + arrangement.size();
    int show = 0;
    const char* at = std::from_chars(arrangement.data() + mine.size(), end, show).ptr;
    show_ = static_cast<Show>(std::clamp(show, 0, static_cast<int>(Show::kGrowth)));
    if (at != end) std::from_chars(at + 1, end, other_);
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || table_ == nullptr) return View::Export(format, context);
    std::string out = "bytes,instruction,shape,kind,allocation,offset,first,last\n";
    for (int32_t v : values_) {
      const dump::BufferValue& value = table_->values[static_cast<size_t>(v)];
      out += fmt::format("{},{},{},{},{},{},{},{}\n", value.size, CsvCell(value.instruction),
                         CsvCell(value.shape), KindText(value), value.allocation, value.offset,
                         value.live_start, value.live_end);
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    if (table_ == nullptr) return {};
    std::string out;
    for (int32_t v : values_) {
      const bool is_highlighted = IsHighlighted(context, v);
      if (is_highlighted || v == values_.front()) {
        out += fmt::format("{}{} {}\n", is_highlighted ? "* " : "",
                           table_->values[static_cast<size_t>(v)].instruction,
                           table_->values[static_cast<size_t>(v)].size);
      }
    }
    return out;
  }

 private:
  int32_t Point(Context& context) const {
    const MemoryPoint& marked = context.marks.Of<MemoryPoint>();
    const int32_t point =
        marked.module == module_ && marked.point >= 0 ? marked.point : table_->live_peak_point;
    return point < static_cast<int32_t>(table_->program.size()) ? point : -1;
  }

  void DrawBar(Frame& frame) {
    Context& context = frame.context;
    const MemoryPoint& marked = context.marks.Of<MemoryPoint>();
    const bool is_peak = marked.module != module_ || marked.point < 0;
    auto choice = [&](const char* text, Show what, const char* help) {
      if (ImGui::RadioButton(text, show_ == what)) show_ = what;
      Help(help);
      ImGui::SameLine(0, 12 * frame.scale);
    };
    choice(is_peak ? "at the peak" : "at the selected point", Show::kPoint,
           "values live at the point selected in Memory; initially the peak");
    choice("all values", Show::kAll, "all values of the buffer assignment, largest first");
    choice("growth vs.", Show::kGrowth, "growth vs. another module of the dump");
    if (show_ == Show::kGrowth) {
      DrawModules(frame);
    } else {
      if (!is_peak) {
        if (ImGui::SmallButton("back to the peak")) context.marks.Of<MemoryPoint>() = {};
        Help("show what is live at the peak");
        ImGui::SameLine();
      }
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
      FittedLabel(Summary(context));
      ImGui::PopStyleColor();
    }
  }

  std::string Summary(Context& context) const {
    if (show_ == Show::kAll) return graph::CountedText(table_->values.size(), "value");
    const int32_t point = Point(context);
    if (point < 0) return "all values: no live ranges in the dump";
    return fmt::format("{} live at {}", graph::CountedText(values_.size(), "value"),
                       SafeText(table_->program[static_cast<size_t>(point)], 60));
  }

  void DrawModules(Frame& frame) {
    const auto modules = frame.context.document.dump()->modules();
    const bool is_known = other_ >= 0 && static_cast<size_t>(other_) < modules.size();
    ImGui::SetNextItemWidth(-1);
    const std::string shown = is_known ? NameOf(modules, other_) : "select a module";
    const bool is_open = ImGui::BeginCombo("##other", SafeText(shown, 80).c_str());
    Help("module to compare with: " + shown);
    if (!is_open) return;
    for (size_t m = 0; m < modules.size(); ++m) {
      if (static_cast<int32_t>(m) == module_) continue;
      if (Choice(NameOf(modules, static_cast<int32_t>(m)), fmt::to_string(m),
                 other_ == static_cast<int32_t>(m)))
        other_ = static_cast<int32_t>(m);
    }
    ImGui::EndCombo();
  }

  static std::string NameOf(std::span<const dump::ModuleEntry> modules, int32_t m) {
    const dump::ModuleEntry& entry = modules[static_cast<size_t>(m)];
    return fmt::format("{} {}{}{}", entry.id, entry.name, entry.folder.empty() ? "" : " in ",
                       entry.folder);
  }

  std::string_view KindText(const dump::BufferValue& value) const {
    const auto a = static_cast<size_t>(value.allocation);
    if (value.allocation < 0 || a >= table_->allocations.size()) return "unknown";
    return ToString(KindOf(table_->allocations[a]));
  }

  static bool IsSelected(const Context& context, int32_t v) {
    const Selection& now = context.navigation.selection();
    return now.kind == SelectionKind::kBuffer && now.buffer == v;
  }
  bool IsHighlighted(Context& context, int32_t v) const {
    const Selection& now = context.navigation.selection();
    return now.kind > SelectionKind::kStage &&
           context.navigation.counterparts().module == module_ &&
           context.navigation.counterparts().HasBuffer(v);
  }

  // Computed when the point, the module or what is shown changes.
  void Collect(Context& context) {
    const int32_t point = show_ == Show::kAll ? -1 : Point(context);
    if (collected_ == table_ && collected_point_ == point && collected_show_ == show_) return;
    collected_ = table_;
    collected_point_ = point;
    collected_show_ = show_;
    values_.clear();
    if (show_ == Show::kPoint && point >= 0) {
      values_ = LiveAt(*table_, point);
      return;
    }
    for (size_t v = 0; v < table_->values.size(); ++v) values_.push_back(static_cast<int32_t>(v));
    std::ranges::stable_sort(values_, std::greater<>(), [&](int32_t v) {
      return table_->values[static_cast<size_t>(v)].size;
    });
  }

  static bool BeginTable(const char* id, std::span<const char* const> titles,
                         std::span<const char* const> help) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    if (!ImGui::BeginTable(id, static_cast<int>(titles.size()), kFlags)) return false;
    ImGui::TableSetupScrollFreeze(0, 1);
    // Shares of the room, so that names keep theirs where there is little.
    for (const char* title : titles) {
      const std::string_view name = title;
      ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthStretch,
                              name == "live range"    ? 2.6F
                              : name == "instruction" ? 2.2F
                              : name == "shape"       ? 1.9F
                              : name == "offset"      ? 1.3F
                                                      : 1.0F);
    }
    HeaderRow(help);
    return true;
  }

  void DrawValues(Frame& frame) {
    Collect(frame.context);
    if (values_.empty()) {
      Sentence(frame, "no live values: no live ranges in the dump, or nothing is live here");
      return;
    }
    static constexpr std::array<const char*, 7> kTitles = {
        "bytes", "instruction", "shape", "kind", "allocation", "offset", "live range"};
    static constexpr std::array<const char*, 7> kHelp = {
        "size of the value",
        "defining instruction and tuple index",
        "element type and dimensions",
        "kind of the allocation",
        "index of the allocation",
        "offset in the allocation, in bytes",
        "live range: first to last instruction in the schedule"};
    if (!BeginTable("##values", kTitles, kHelp)) return;
    const auto value = [&](int i) { return values_[static_cast<size_t>(i)]; };
    cursor_.Draw(frame,
                 {.count = static_cast<int>(values_.size()),
                  .is_selected = [&](int i) { return IsSelected(frame.context, value(i)); },
                  .is_highlighted = [&](int i) { return IsHighlighted(frame.context, value(i)); },
                  .choose =
                      [&](int i) {
                        frame.context.navigation.Select(Selection::OfBuffer(module_, value(i)));
                      },
                  .draw = [&](int i) { DrawValue(frame, value(i), i); }});
    ImGui::EndTable();
  }

  void DrawValue(Frame& frame, int32_t v, int number) const {
    Context& context = frame.context;
    const dump::BufferValue& value = table_->values[static_cast<size_t>(v)];
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(0);
    if (Row(frame, fmt::format("##row{}", number), IsSelected(context, v),
            IsHighlighted(context, v))) {
      context.navigation.Select(Selection::OfBuffer(module_, v));
    }
    ImGui::SameLine(0, 0);
    RightLabel(BytesText(value.size));
    ImGui::TableSetColumnIndex(1);
    std::string name = value.instruction.empty() ? "by an unknown instruction" : value.instruction;
    if (!value.shape_index.empty()) name += hlo::ShapeIndexText(value.shape_index);
    FittedLabel(name);
    ImGui::TableSetColumnIndex(2);
    FittedLabel(value.shape);
    ImGui::TableSetColumnIndex(3);
    FittedLabel(KindText(value));
    ImGui::TableSetColumnIndex(4);
    const auto a = static_cast<size_t>(value.allocation);
    if (value.allocation >= 0 && a < table_->allocations.size()) {
      RightLabel(CountText(table_->allocations[a].index));
    }
    ImGui::TableSetColumnIndex(5);
    RightLabel(CountText(value.offset));
    ImGui::TableSetColumnIndex(6);
    FittedLabel(LifeText(value));
  }

  std::string LifeText(const dump::BufferValue& value) const {
    auto name = [&](int32_t p) {
      const bool exists = p >= 0 && static_cast<size_t>(p) < table_->program.size();
      return exists ? SafeText(table_->program[static_cast<size_t>(p)], 40)
                    : std::string("the end");
    };
    if (value.live_start < 0) return "unknown";
    return fmt::format("{} – {}", name(value.live_start), name(value.live_end));
  }

  void DrawGrowth(Frame& frame) {
    Context& context = frame.context;
    const auto modules = context.document.dump()->modules();
    if (modules.size() < 2) {
      Sentence(frame,
               "only one module in this dump: open a folder with both dumps to compare buffers");
      return;
    }
    if (other_ < 0 || static_cast<size_t>(other_) >= modules.size() || other_ == module_) {
      Sentence(frame, "select a module to compare with");
      return;
    }
    const Pending<dump::BufferTable>& other = context.data.Buffers(other_);
    if (!ShowPending(frame, other, "the other buffer assignment")) return;
    if (grown_ != table_ || grown_against_ != other.value) {
      grown_ = table_;
      grown_against_ = other.value;
      growth_ = GrowthOf(*table_, *other);
    }
    Label(frame.theme, Color::kTextSecondary,
          fmt::format("{} here, {} there: {}{}", BytesText(table_->total_bytes),
                      BytesText(other->total_bytes),
                      table_->total_bytes >= other->total_bytes ? "+" : "−",
                      BytesText(std::abs(table_->total_bytes - other->total_bytes))));
    if (growth_.empty()) {
      Sentence(frame, "no buffer differs in size");
      return;
    }
    static constexpr std::array<const char*, 5> kTitles = {"growth", "here", "there", "instruction",
                                                           "shape"};
    static constexpr std::array<const char*, 5> kHelp = {
        "size difference, this module minus the other", "size in this module",
        "size in the other module", "defining instruction", "element type and dimensions"};
    if (!BeginTable("##growth", kTitles, kHelp)) return;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(growth_.size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        DrawGrown(frame, growth_[static_cast<size_t>(i)], i);
    }
    ImGui::EndTable();
  }

  void DrawGrown(Frame& frame, const Growth& g, int number) const {
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(0);
    const bool clicked = Row(frame, fmt::format("##grown{}", number), false,
                             g.value >= 0 && IsHighlighted(frame.context, g.value));
    if (clicked && g.value >= 0)
      frame.context.navigation.Select(Selection::OfBuffer(module_, g.value));
    ImGui::SameLine(0, 0);
    const bool is_more = g.size >= g.other_size;
    RightLabel(
        frame.theme, is_more ? Color::kWarning : Color::kGood,
        (is_more ? "+" : "−") + BytesText(is_more ? g.size - g.other_size : g.other_size - g.size));
    ImGui::TableSetColumnIndex(1);
    RightLabel(g.value < 0 ? "absent" : BytesText(g.size));
    ImGui::TableSetColumnIndex(2);
    RightLabel(g.other_size == 0 ? "absent" : BytesText(g.other_size));
    ImGui::TableSetColumnIndex(3);
    FittedLabel(g.instruction);
    ImGui::TableSetColumnIndex(4);
    FittedLabel(g.shape.empty() ? g.other_shape : g.shape);
  }

  int32_t module_ = -1, other_ = -1;
  Show show_ = Show::kPoint;
  RowCursor cursor_;
  std::shared_ptr<const dump::BufferTable> table_, collected_, grown_, grown_against_;
  int32_t collected_point_ = -1;
  Show collected_show_ = Show::kPoint;
  std::vector<int32_t> values_;
  std::vector<Growth> growth_;
};

}  // namespace

std::unique_ptr<View> MakeBuffersView() { return std::make_unique<BuffersView>(); }

}  // namespace hloscope::viewer
