// Home: what this dump is, what ran where, what is wrong, and what is missing with the flag for it.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/counted.h"
#include "core/dump/processes.h"
#include "core/graph/count_text.h"
#include "core/replay/assets.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/views/equal_rows.h"
#include "viewer/views/home/home_sections.h"
#include "viewer/views/questions_panel.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr std::pair<const char*, const char*> kSamples[] = {
#define SAMPLE(path, what) {path, what},
#include "viewer/views/home/samples.def"
#undef SAMPLE
};

class HomeView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (context.document.path().empty()) return DrawWelcome(frame);
    const Pending<dump::DumpModel>& dump = context.document.dump();
    if (dump.failed()) {
      Title(frame, "Cannot open");
      Sentence(frame, dump.error.ToString());
      CommandButton(frame, Command::kReload, "Reload");
      return DrawOpenButton(frame);
    }
    if (!ShowPending(frame, dump, context.document.path())) return;
    DrawHead(frame, *dump);
    DrawRun(frame, *dump);
    if (dump->modules().empty()) {
      Sentence(
          frame,
          "no HLO module found: expected files like module_0001.NAME.before_optimizations.txt");
    } else {
      DrawModules(frame, *dump);
      Section(frame, "Questions", kHomeGap);
      DrawQuestions(frame);
      DrawCompiledAgain(frame);
    }
    if (ImGui::BeginTable("##columns", 2, ImGuiTableFlags_SizingStretchSame)) {
      ImGui::TableNextColumn();
      DrawProgram(frame);
      DrawWhere(frame, *dump, fallbacks_);
      DrawTransfers(frame, *dump, transfers_);
      DrawFiles(frame, *dump);
      ImGui::TableNextColumn();
      DrawProblems(frame, *dump);
      DrawMissing(frame, *dump);
      DrawTensorFlow(frame);
      ImGui::EndTable();
    }
  }

  bool Run(Command command, Frame& frame) override {
    const Pending<dump::DumpModel>& dump = frame.context.document.dump();
    if (command != Command::kFind || !dump.ready() || dump->modules().size() < 2) return false;
    focus_filter_ = true;
    return true;
  }

  std::string State() const override { return filter_; }
  void SetState(std::string_view state) override { filter_ = state; }
  std::string Arrangement() const override {
    return fallbacks_.Opened() + "\n" + transfers_.Opened();
  }
  void SetArrangement(std::string_view arrangement) override {
    // An empty line between the two.
    const size_t end = arrangement.starts_with('\n') ? 0 : arrangement.find("\n\n") + 1;
    fallbacks_.SetOpened(arrangement.substr(0, end));
    transfers_.SetOpened(arrangement.substr(std::min(end + 1, arrangement.size())));
  }

  // The modules in the order shown.
  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || !context.document.dump().ready())
      return View::Export(format, context);
    const dump::DumpModel& dump = *context.document.dump();
    const DumpFacts* facts = DumpFactsOf(context);
    const ModuleTimes* times = ModuleTimesOf(context);
    std::string out =
        "module,id,framework,device,stages,files,folder,instructions_before,instructions,fusions,"
        "kernels,memory_bytes,time_ps,signature,fingerprint\n";
    for (int32_t m : OrderModules(dump, facts, times, order_.by, order_.descending, filter_)) {
      const auto at = static_cast<size_t>(m);
      const dump::ModuleEntry& entry = dump.modules()[at];
      const ModuleFacts* one = facts == nullptr ? nullptr : facts->modules[at].get();
      auto number = [](int64_t value) { return value < 0 ? std::string() : fmt::to_string(value); };
      out +=
          fmt::format("{},{},{},{},{},{},{}", CsvCell(entry.name), entry.id, entry.framework,
                      entry.device, entry.stages.size(), entry.files.size(), CsvCell(entry.folder));
      if (one == nullptr) {
        out += ",,,,,,,,\n";
        continue;
      }
      out += fmt::format(",{},{},{},{},{},{},{},{}\n", number(one->instructions_before),
                         number(one->instructions), number(one->fusions), number(one->kernels),
                         number(one->memory_bytes), times == nullptr ? "" : number((*times)[at]),
                         CsvCell(one->signature), one->fingerprint);
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    if (context.navigation.module() < 0) return {};
    return context.document.dump()
        ->modules()[static_cast<size_t>(context.navigation.module())]
        .name;
  }

 private:
  static void DrawOpenButton(Frame& frame) {
    ImGui::Dummy(ImVec2(0, 6 * frame.scale));
    Label("Press Ctrl+O, or drop a folder or file on this window.");
  }

  static void DrawWelcome(Frame& frame) {
    ImGui::PushFont(frame.strong, 25);
    Label("hloscope");
    ImGui::PopFont();
    Sentence(frame,
             "Opens dumps of the XLA compiler: modules, passes, kernels, buffers. Opening runs no "
             "code and leaves the dump unchanged.");
    DrawOpenButton(frame);
    Section(frame, "How to create a dump", kHomeGap);
    ImGui::PushFont(frame.mono, 15);
    Label("XLA_FLAGS=\"--xla_dump_to=/tmp/dump\" python your_program.py");
    Label("XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_pass_re=.*\"      every pass");
    Label("XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_as_proto\"        constants in full");
    ImGui::PopFont();
    DrawSamples(frame);
    Section(frame, "Recent", kHomeGap);
    std::vector<std::string> recent = frame.context.recent;
    if (recent.empty()) Sentence(frame, "no recent files");
    for (size_t i = 0; i < recent.size(); ++i) {
      if (Choice(recent[i], "recent" + std::to_string(i))) frame.context.requests.Open({recent[i]});
    }
  }

  // Nothing where the program was installed without them.
  static void DrawSamples(Frame& frame) {
    static const std::optional<std::string> kFolder = replay::FindAsset("samples", "");
    if (!kFolder) return;
    Section(frame, "Samples", kHomeGap);
    for (const auto& [path, what] : kSamples) {
      if (Choice(fmt::format("{}: {}", path, what), path))
        frame.context.requests.Open({fmt::format("{}/{}", *kFolder, path)});
    }
  }

  static void DrawHead(Frame& frame, const dump::DumpModel& dump) {
    ImGui::PushFont(frame.strong, 22);
    FittedLabel(frame.context.document.path());
    ImGui::PopFont();
    std::set<std::string> frameworks, devices;
    for (const dump::ModuleEntry& entry : dump.modules()) {
      if (entry.framework != "unknown") frameworks.insert(entry.framework);
      if (entry.device != "unknown")
        devices.insert(entry.target.empty() ? entry.device : entry.device + " " + entry.target);
    }
    int64_t bytes = 0;
    for (const dump::FileEntry& file : dump.files()) bytes += file.bytes;
    auto joined = [](const std::set<std::string>& all) {
      std::string out;
      for (const std::string& one : all) out += (out.empty() ? "" : ", ") + one;
      return out;
    };
    std::string what = frameworks.empty() ? "a dump" : "a dump of " + joined(frameworks);
    if (!devices.empty()) what += " for " + joined(devices);
    const std::string processes = dump::ProcessesText(dump);
    Sentence(frame, fmt::format("{}: {}, {}, {}{}{}", what,
                                graph::CountedText(dump.modules().size(), "module"),
                                graph::CountedText(dump.files().size(), "file"), BytesText(bytes),
                                processes.empty() ? "" : ", ", processes));
  }

  struct Column {
    ModuleColumn column;
    const char* title;
    float width;  // 0: what is left
    const char* help;
  };
  static constexpr Column kColumns[] = {
      {ModuleColumn::kName, "module", 0, "name of the module"},
      {ModuleColumn::kFolder, "folder", 0, "folder in the dump"},
      {ModuleColumn::kIdentity, "arguments → results", 0,
       "entry computation shapes; for equal names also the id and a #fingerprint (same for "
       "equivalent modules)"},
      {ModuleColumn::kDevice, "device", 98, "platform and target"},
      {ModuleColumn::kStages, "stages", 66, "stages in the dump"},
      {ModuleColumn::kBefore, "before", 74, "instructions in the first stage"},
      {ModuleColumn::kCompiled, "compiled", 84, "instructions in the final stage"},
      {ModuleColumn::kFusions, "fusions", 72, "fusions in the final stage"},
      {ModuleColumn::kKernels, "kernels", 72,
       "device kernels of the final stage; equal ones share their code"},
      {ModuleColumn::kMemory, "memory", 80, "bytes of all allocations"},
      {ModuleColumn::kTime, "time", 80, "time in the profile"},
  };

  void DrawModules(Frame& frame, const dump::DumpModel& dump) {
    Section(frame, "Modules", kHomeGap);
    const bool has_several = dump.modules().size() > 1;
    if (has_several) DrawFilter(frame);
    const ModuleTimes* times = ModuleTimesOf(frame.context);
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit |
                                       ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable |
                                       ImGuiTableFlags_Sortable;
    const float row = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
    const auto shown = static_cast<float>(std::min<size_t>(12, dump.modules().size()));
    // Another set of columns is another table; with times it opens with the slowest.
    const std::vector<const Column*> columns =
        Columns(dump, times != nullptr, ImGui::GetContentRegionAvail().x / frame.scale);
    ImGuiID id = 0;
    for (const Column* column : columns) id |= 1U << static_cast<unsigned>(column->column);
    if (!ImGui::BeginTable(fmt::format("##modules{}", id).c_str(), static_cast<int>(columns.size()),
                           kFlags, ImVec2(0, row * (shown + 1) + 2 * frame.scale)))
      return;
    ImGui::TableSetupScrollFreeze(0, 1);
    const ModuleColumn first = times == nullptr ? ModuleColumn::kCompiled : ModuleColumn::kTime;
    for (const Column* column : columns) {
      ImGuiTableColumnFlags flags = column->width == 0 ? ImGuiTableColumnFlags_WidthStretch
                                                       : ImGuiTableColumnFlags_WidthFixed;
      if (column->column > ModuleColumn::kDevice)
        flags |= ImGuiTableColumnFlags_PreferSortDescending;
      if (column->column == first) flags |= ImGuiTableColumnFlags_DefaultSort;
      ImGui::TableSetupColumn(column->title, flags,
                              column->width == 0 ? 1.0F : column->width * frame.scale,
                              static_cast<ImGuiID>(column->column));
    }
    DrawHeads(columns);
    Arrange(frame.context, dump, times);
    if (std::exchange(take_first_, false) && !rows_.empty())
      frame.context.navigation.Select(Selection::OfModule(rows_.front()));
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        DrawModule(frame, dump, rows_[static_cast<size_t>(i)], columns, times);
    }
    ImGui::EndTable();
    if (rows_.empty()) Sentence(frame, "no module matches");
  }

  void DrawFilter(Frame& frame) {
    ImGui::SetNextItemWidth(std::min(420 * frame.scale, ImGui::GetContentRegionAvail().x));
    if (std::exchange(focus_filter_, false)) ImGui::SetKeyboardFocusHere();
    take_first_ = ImGui::InputTextWithHint("##filter", "filter: name, folder/, id 3, shape, #print",
                                           &filter_, ImGuiInputTextFlags_EnterReturnsTrue);
    Help(
        "show only modules with matching name, folder, shape or id; Enter selects the "
        "first\nCtrl+F");
    if (!filter_.empty()) {
      ImGui::SameLine();
      Label(frame.theme, Color::kTextSecondary,
            fmt::format("{} of {}", CountText(std::ssize(rows_)), CountText(modules_)));
    }
  }

  // Those that say something of this dump and for which there is room, `width` logical pixels.
  static std::vector<const Column*> Columns(const dump::DumpModel& dump, bool has_times,
                                            float width) {
    constexpr float kWide = 1150;
    const std::string& folder = dump.modules().front().folder;
    const bool has_folders = std::ranges::any_of(
        dump.modules(), [&](const dump::ModuleEntry& entry) { return entry.folder != folder; });
    std::vector<const Column*> columns;
    for (const Column& column : kColumns) {
      const ModuleColumn c = column.column;
      const bool is_detail =
          c == ModuleColumn::kStages || c == ModuleColumn::kBefore || c == ModuleColumn::kFusions;
      if (c == ModuleColumn::kFolder && !has_folders) continue;
      if (c == ModuleColumn::kTime && !has_times) continue;
      if (is_detail && width < kWide) continue;
      columns.push_back(&column);
    }
    return columns;
  }

  static void DrawHeads(const std::vector<const Column*>& columns) {
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (const Column* column : columns) {
      ImGui::TableNextColumn();
      Header(column->title);
      Help(fmt::format("{}: {}; click to sort", column->title, column->help));
    }
  }

  // The rows, when something they depend on is another.
  void Arrange(Context& context, const dump::DumpModel& dump, const ModuleTimes* times) {
    Order order{.dump = &dump, .facts = DumpFactsOf(context), .times = times, .filter = filter_};
    const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
    if (specs != nullptr && specs->SpecsCount > 0) {
      order.by = static_cast<ModuleColumn>(specs->Specs[0].ColumnUserID);
      order.descending = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
    }
    if (order == order_) return;
    order_ = order;
    modules_ = std::ssize(dump.modules());
    rows_ = OrderModules(dump, order.facts, times, order.by, order.descending, filter_);
  }

  static void DrawModule(Frame& frame, const dump::DumpModel& dump, int32_t m,
                         const std::vector<const Column*>& columns, const ModuleTimes* times) {
    const Pending<ModuleFacts>& facts = FactsOf(frame.context, m);
    ImGui::TableNextRow();
    for (const Column* column : columns) {
      ImGui::TableNextColumn();
      if (column->column == ModuleColumn::kName) {
        DrawName(frame, dump, m);
      } else if (column->column <= ModuleColumn::kDevice) {
        ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
        FittedLabel(WordsOf(dump, m, facts.value.get(), column->column));
        ImGui::PopStyleColor();
      } else {
        const std::string number = NumberOf(dump, m, facts.value.get(), times, column->column);
        if (number.empty())
          RightLabel(frame.theme, Color::kTextDisabled, facts.waiting() ? "…" : "–");
        else
          RightLabel(number);
      }
    }
  }

  static void DrawName(Frame& frame, const dump::DumpModel& dump, int32_t m) {
    const std::string name = SafeText(dump.modules()[static_cast<size_t>(m)].name, 300);
    const bool is_cut = ImGui::CalcTextSize(name.c_str()).x > ImGui::GetContentRegionAvail().x;
    ImGui::PushID(m);
    if (Row(frame, (is_cut ? "" : name) + "##module", frame.context.navigation.module() == m,
            false))
      frame.context.navigation.Select(Selection::OfModule(m));
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0))
      frame.context.requests.Show("passes");
    if (is_cut) {
      ImGui::SameLine(0, 0);
      FittedLabel(name);
    }
    ImGui::PopID();
  }

  static std::string WordsOf(const dump::DumpModel& dump, int32_t m, const ModuleFacts* facts,
                             ModuleColumn column) {
    const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
    if (column == ModuleColumn::kFolder) return entry.folder + "/";
    if (column == ModuleColumn::kIdentity) return IdentityText(dump, m, facts);
    return entry.target.empty() ? entry.device : entry.device + " " + entry.target;
  }

  // Empty: not known.
  static std::string NumberOf(const dump::DumpModel& dump, int32_t m, const ModuleFacts* facts,
                              const ModuleTimes* times, ModuleColumn column) {
    const int64_t number = NumberIn(dump, m, facts, times, column);
    if (number < 0) return {};
    if (column == ModuleColumn::kMemory) return BytesText(number);
    if (column == ModuleColumn::kTime) return NanosecondsText(static_cast<double>(number) / 1e3);
    return CountText(number);
  }

  // What the rows of the table of modules depend on.
  struct Order {
    const dump::DumpModel* dump = nullptr;
    const DumpFacts* facts = nullptr;
    const ModuleTimes* times = nullptr;
    ModuleColumn by = ModuleColumn::kCompiled;
    bool descending = true;
    std::string filter;
    bool operator==(const Order&) const = default;
  };
  Order order_;
  std::vector<int32_t> rows_;
  int64_t modules_ = 0;
  std::string filter_;
  EqualRows fallbacks_, transfers_;
  bool focus_filter_ = false, take_first_ = false;
};

}  // namespace

std::unique_ptr<View> MakeHomeView() { return std::make_unique<HomeView>(); }

}  // namespace hloscope::viewer
