// Modules: the modules of the dump and their stages, on the left of most screens.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>

#include "core/base/counted.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

class ModulesView : public View {
 public:
  void Draw(Frame& frame) override {
    const Pending<dump::DumpModel>& dump = frame.context.document.dump();
    if (!ShowDump(frame)) return;
    if (dump->modules().empty()) {
      Sentence(frame, "no module in this dump; Home lists its files");
      return;
    }
    ImGui::SetNextItemWidth(-1);
    if (focus_filter_) ImGui::SetKeyboardFocusHere();
    focus_filter_ = false;
    ImGui::InputTextWithHint("##filter", "filter: name, folder/", &filter_);
    Help("show only modules whose name or folder matches\nCtrl+F");
    ImGui::BeginChild("##modules");
    for (size_t i = 0; i < dump->modules().size(); ++i) {
      const auto m = static_cast<int32_t>(i);
      if (FitsFilter(*dump, m, KnownFacts(frame.context, m), filter_)) DrawModule(frame, *dump, m);
    }
    ImGui::EndChild();
  }

  // What is above the panels names the only one.
  bool IsEmpty(const Context& context) const override {
    return context.document.dump().ready() && context.document.dump()->modules().size() <= 1;
  }

  bool Run(Command command, Frame& /*frame*/) override {
    if (command != Command::kFind) return false;
    focus_filter_ = true;
    return true;
  }

  std::string State() const override { return filter_; }
  void SetState(std::string_view state) override { filter_ = state; }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || !context.document.dump().ready())
      return View::Export(format, context);
    std::string out = "module,id,stage,pipeline,pass\n";
    for (const dump::ModuleEntry& entry : context.document.dump()->modules()) {
      for (const dump::StageEntry& stage : entry.stages) {
        out += fmt::format("{},{},{},{},{}\n", CsvCell(entry.name), entry.id, CsvCell(stage.name),
                           CsvCell(stage.pipeline), CsvCell(stage.pass));
      }
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
  // What was found out already: this view starts nothing.
  static const ModuleFacts* KnownFacts(Context& context, int32_t m) {
    const auto* facts = context.cache.Find(PartKey<ModuleFacts>{m});
    return facts == nullptr ? nullptr : facts->value.get();
  }

  // After a name that several have: the id, and the folder where that is shared as well.
  static std::string LabelOf(const dump::DumpModel& dump, int32_t m) {
    const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
    std::string label = SafeText(entry.name, 60);
    if (!SharesName(dump, m)) return label;
    const auto twins = std::ranges::count_if(dump.modules(), [&](const dump::ModuleEntry& other) {
      return other.name == entry.name && other.id == entry.id;
    });
    if (entry.id >= 0) label += fmt::format("  {}", entry.id);
    if (twins > 1 && !entry.folder.empty()) label += "  " + SafeText(entry.folder, 60) + "/";
    return label;
  }

  static void DrawModule(Frame& frame, const dump::DumpModel& dump, int32_t m) {
    const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
    bool current = frame.context.navigation.module() == m;
    ImGui::PushID(m);
    ImGuiTreeNodeFlags flags = ImGuiTreeNodeFlags_OpenOnArrow | ImGuiTreeNodeFlags_SpanAvailWidth |
                               (current ? ImGuiTreeNodeFlags_Selected : 0) |
                               (dump.modules().size() == 1 ? ImGuiTreeNodeFlags_DefaultOpen : 0);
    const float room = ImGui::GetContentRegionAvail().x - ImGui::GetTreeNodeToLabelSpacing();
    const std::string label = FittedText(LabelOf(dump, m), room);
    bool open = ImGui::TreeNodeEx("##module", flags, "%s", label.c_str());
    if (ImGui::IsItemClicked() && !ImGui::IsItemToggledOpen())
      frame.context.navigation.Select(Selection::OfModule(m));
    if (ImGui::IsItemHovered()) {
      const std::string identity = IdentityText(dump, m, KnownFacts(frame.context, m));
      Help(fmt::format("{}\n{}{}{}{}, {}, {}, {}", entry.name,
                       entry.folder.empty() ? "" : entry.folder + "/\n", identity,
                       identity.empty() ? "" : "\n", entry.framework, entry.device,
                       Counted(entry.stages.size(), "stage"), Counted(entry.files.size(), "file")));
    }
    if (open) {
      for (size_t s = 0; s < entry.stages.size(); ++s) {
        auto stage = static_cast<int32_t>(s);
        bool shown = current && frame.context.navigation.stage() == stage;
        const std::string& name = entry.stages[s].name;
        const std::string fitted = FittedText(name, ImGui::GetContentRegionAvail().x);
        if (ImGui::Selectable(fmt::format("{}##{}", fitted, s).c_str(), shown))
          frame.context.navigation.Select(Selection::OfStage(m, stage));
        WholeIfCut(name, fitted);
      }
      ImGui::TreePop();
    }
    ImGui::PopID();
  }

  std::string filter_;
  bool focus_filter_ = false;
};

}  // namespace

std::unique_ptr<View> MakeModulesView() { return std::make_unique<ModulesView>(); }

}  // namespace hloscope::viewer
