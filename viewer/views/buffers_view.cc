// Buffers: who holds the peak or any other point, all values, and what grew against another module.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>

#include "viewer/model/memory_plan.h"
#include "viewer/model/memory_point.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

enum class Show : uint8_t { kPoint, kAll, kGrowth };

class BuffersView : public View {
 public:
  void Draw(Frame& frame) override {
    Session& session = frame.session;
    if (!ShowPending(frame, session.dump(), "the dump")) return;
    const int32_t module = session.module();
    if (module < 0) {
      Sentence(frame, "this dump holds no modules, so no buffers");
      return;
    }
    const Pending<dump::BufferTable>& buffers = session.Buffers(module);
    if (!ShowPending(frame, buffers, "the buffer assignment")) return;
    if (!buffers->has_values()) {
      Sentence(frame,
               "no buffer assignment of this module in the dump; --xla_dump_hlo_as_text with "
               "--xla_dump_to=DIR writes it");
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

  Result<std::string> Export(ExportFormat format, Session& session) const override {
    if (format != ExportFormat::kCsv || table_ == nullptr) return View::Export(format, session);
    std::string out = "bytes,instruction,shape,kind,allocation,offset,first,last\n";
    for (int32_t v : values_) {
      const dump::BufferValue& value = table_->values[static_cast<size_t>(v)];
      out += fmt::format("{},{},{},{},{},{},{},{}\n", value.size, CsvCell(value.instruction),
                         CsvCell(value.shape), KindText(value), value.allocation, value.offset,
                         value.live_start, value.live_end);
    }
    return out;
  }

  std::string Lit(Session& session) const override {
    if (table_ == nullptr) return {};
    std::string out;
    for (int32_t v : values_) {
      const bool is_lit = IsLit(session, v);
      if (is_lit || v == values_.front()) {
        out += fmt::format("{}{} {}\n", is_lit ? "* " : "",
                           table_->values[static_cast<size_t>(v)].instruction,
                           table_->values[static_cast<size_t>(v)].size);
      }
    }
    return out;
  }

 private:
  int32_t Point(Session& session) const {
    const MemoryPoint& marked = session.Shared<MemoryPoint>("memory");
    const int32_t point =
        marked.module == module_ && marked.point >= 0 ? marked.point : table_->live_peak_point;
    return point < static_cast<int32_t>(table_->program.size()) ? point : -1;
  }

  void DrawBar(Frame& frame) {
    Session& session = frame.session;
    const MemoryPoint& marked = session.Shared<MemoryPoint>("memory");
    const bool is_peak = marked.module != module_ || marked.point < 0;
    auto choice = [&](const char* text, Show what) {
      if (ImGui::RadioButton(text, show_ == what)) show_ = what;
      ImGui::SameLine(0, 12 * frame.scale);
    };
    choice(is_peak ? "at the peak" : "at the marked point", Show::kPoint);
    choice("all values", Show::kAll);
    choice("grown against", Show::kGrowth);
    if (show_ == Show::kGrowth) {
      DrawModules(frame);
    } else if (!is_peak && ImGui::SmallButton("back to the peak")) {
      session.Shared<MemoryPoint>("memory") = {};
    } else {
      Label(frame.theme, Color::kTextSecondary, Summary(session));
    }
  }

  std::string Summary(Session& session) const {
    if (show_ == Show::kAll)
      return fmt::format("{} values", CountText(static_cast<int64_t>(table_->values.size())));
    const int32_t point = Point(session);
    if (point < 0) return "all values: the dump does not say when they live";
    return fmt::format("{} values live at {}", CountText(static_cast<int64_t>(values_.size())),
                       SafeText(table_->program[static_cast<size_t>(point)], 60));
  }

  void DrawModules(Frame& frame) {
    const auto modules = frame.session.dump()->modules();
    const bool is_known = other_ >= 0 && static_cast<size_t>(other_) < modules.size();
    ImGui::SetNextItemWidth(-1);
    const std::string shown = is_known ? NameOf(modules, other_) : "choose a module";
    if (!ImGui::BeginCombo("##other", SafeText(shown, 80).c_str())) return;
    for (size_t m = 0; m < modules.size(); ++m) {
      if (static_cast<int32_t>(m) == module_) continue;
      const std::string label =
          SafeText(NameOf(modules, static_cast<int32_t>(m)), 90) + fmt::format("##{}", m);
      if (ImGui::Selectable(label.c_str(), other_ == static_cast<int32_t>(m)))
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

  bool IsLit(Session& session, int32_t v) const {
    const Selection& now = session.selection();
    return now.kind > SelectionKind::kStage && session.counterparts().module == module_ &&
           session.counterparts().HasBuffer(v);
  }

  // Computed when the point, the module or what is shown changes.
  void Collect(Session& session) {
    const int32_t point = show_ == Show::kAll ? -1 : Point(session);
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

  static bool BeginTable(Frame& frame, const char* id, std::span<const char* const> titles) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                       ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable(id, static_cast<int>(titles.size()), kFlags)) return false;
    ImGui::TableSetupScrollFreeze(0, 1);
    for (const char* title : titles) {
      const std::string_view name = title;
      const bool is_wide = name == "instruction" || name == "lives";
      ImGui::TableSetupColumn(title, is_wide ? ImGuiTableColumnFlags_WidthStretch : 0,
                              is_wide ? (name == "lives" ? 1.6F : 1.0F)
                                      : (name == "shape" ? 150.0F : 80.0F) * frame.scale);
    }
    ImGui::TableHeadersRow();
    return true;
  }

  void DrawValues(Frame& frame) {
    Collect(frame.session);
    if (values_.empty()) {
      Sentence(frame,
               "no value is known to live here: the dump has no live ranges, or nothing lives at "
               "this point");
      return;
    }
    static constexpr std::array<const char*, 7> kTitles = {
        "bytes", "instruction", "shape", "kind", "allocation", "offset", "lives"};
    if (!BeginTable(frame, "##values", kTitles)) return;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(values_.size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        DrawValue(frame, values_[static_cast<size_t>(i)], i);
    }
    ImGui::EndTable();
  }

  void DrawValue(Frame& frame, int32_t v, int number) const {
    Session& session = frame.session;
    const dump::BufferValue& value = table_->values[static_cast<size_t>(v)];
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(0);
    const bool is_selected =
        session.selection().kind == SelectionKind::kBuffer && session.selection().buffer == v;
    if (Row(frame, fmt::format("##row{}", number), is_selected, IsLit(session, v))) {
      session.Select(Selection::OfBuffer(module_, v));
    }
    ImGui::SameLine(0, 0);
    RightLabel(BytesText(value.size));
    ImGui::TableSetColumnIndex(1);
    std::string name = value.instruction.empty() ? "of no known instruction" : value.instruction;
    for (int64_t i : value.shape_index) name += fmt::format("{{{}}}", i);
    FittedLabel(name);
    ImGui::TableSetColumnIndex(2);
    FittedLabel(value.shape);
    ImGui::TableSetColumnIndex(3);
    Label(KindText(value));
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
    if (value.live_start < 0) return "not known";
    return fmt::format("{} – {}", name(value.live_start), name(value.live_end));
  }

  void DrawGrowth(Frame& frame) {
    Session& session = frame.session;
    const auto modules = session.dump()->modules();
    if (modules.size() < 2) {
      Sentence(frame,
               "this dump holds one module: open a folder with the dumps of both compilations to "
               "see what grew between them");
      return;
    }
    if (other_ < 0 || static_cast<size_t>(other_) >= modules.size() || other_ == module_) {
      Sentence(frame, "choose the module to compare with");
      return;
    }
    const Pending<dump::BufferTable>& other = session.Buffers(other_);
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
      Sentence(frame, "no value of an instruction that both have differs in size");
      return;
    }
    static constexpr std::array<const char*, 5> kTitles = {"grown by", "here", "there",
                                                           "instruction", "shape"};
    if (!BeginTable(frame, "##growth", kTitles)) return;
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
                             g.value >= 0 && IsLit(frame.session, g.value));
    if (clicked && g.value >= 0) frame.session.Select(Selection::OfBuffer(module_, g.value));
    ImGui::SameLine(0, 0);
    const bool is_more = g.size >= g.other_size;
    RightLabel(
        frame.theme, is_more ? Color::kWarning : Color::kGood,
        (is_more ? "+" : "−") + BytesText(is_more ? g.size - g.other_size : g.other_size - g.size));
    ImGui::TableSetColumnIndex(1);
    RightLabel(g.value < 0 ? "not here" : BytesText(g.size));
    ImGui::TableSetColumnIndex(2);
    RightLabel(g.other_size == 0 ? "not there" : BytesText(g.other_size));
    ImGui::TableSetColumnIndex(3);
    FittedLabel(g.instruction);
    ImGui::TableSetColumnIndex(4);
    FittedLabel(g.shape.empty() ? g.other_shape : g.shape);
  }

  int32_t module_ = -1, other_ = -1;
  Show show_ = Show::kPoint;
  std::shared_ptr<const dump::BufferTable> table_, collected_, grown_, grown_against_;
  int32_t collected_point_ = -1;
  Show collected_show_ = Show::kPoint;
  std::vector<int32_t> values_;
  std::vector<Growth> growth_;
};

}  // namespace

std::unique_ptr<View> MakeBuffersView() { return std::make_unique<BuffersView>(); }

}  // namespace hloscope::viewer
