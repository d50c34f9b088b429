// Home: what this dump is, what ran where, what is wrong, and what is missing with the flag for it.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <map>
#include <set>

#include "viewer/model/answers.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/views/questions_panel.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// The colour of each place, and whether it is work at all.
struct PlaceLook {
  debug::Place place;
  Color color;
};
constexpr PlaceLook kPlaces[] = {
    {debug::Place::kDeviceKernel, Color::kDeviceGpu},
    {debug::Place::kInKernel, Color::kGood},
    {debug::Place::kLibraryCall, Color::kContraction},
    {debug::Place::kCollective, Color::kCollective},
    {debug::Place::kHost, Color::kDeviceFallback},
    {debug::Place::kHostMemory, Color::kDeviceHost},
    {debug::Place::kCopy, Color::kMovement},
    {debug::Place::kControl, Color::kControl},
    {debug::Place::kNoCode, Color::kDeviceNone},
    {debug::Place::kUndecided, Color::kTextDisabled},
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
      if (ImGui::Button("Reload")) context.requests.Run(Command::kReload);
      return DrawOpenButton(frame);
    }
    if (!ShowPending(frame, dump, context.document.path())) return;
    DrawHead(frame, *dump);
    if (dump->modules().empty()) {
      Sentence(frame,
               "no module found: a dump directory contains files named "
               "module_0001.NAME.before_optimizations.txt and the like");
    } else {
      DrawModules(frame, *dump);
      Section(frame, "Questions");
      DrawQuestions(frame);
    }
    if (ImGui::BeginTable("##columns", 2, ImGuiTableFlags_SizingStretchSame)) {
      ImGui::TableNextColumn();
      DrawWhere(frame, *dump);
      DrawTransfers(frame, *dump);
      DrawFiles(frame, *dump);
      ImGui::TableNextColumn();
      DrawWrong(frame, *dump);
      DrawMissing(frame, *dump);
      DrawTensorFlow(frame);
      ImGui::EndTable();
    }
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || !context.document.dump().ready())
      return View::Export(format, context);
    std::string out = "module,id,framework,device,stages,files\n";
    for (const dump::ModuleEntry& entry : context.document.dump()->modules()) {
      out += fmt::format("{},{},{},{},{},{}\n", CsvCell(entry.name), entry.id, entry.framework,
                         entry.device, entry.stages.size(), entry.files.size());
    }
    return out;
  }

  std::string Lit(Context& context) const override {
    if (context.navigation.module() < 0) return {};
    return context.document.dump()
        ->modules()[static_cast<size_t>(context.navigation.module())]
        .name;
  }

 private:
  static void Section(Frame& frame, std::string_view title) {
    ImGui::Dummy(ImVec2(0, 8 * frame.scale));
    ImGui::PushFont(frame.strong, 0);
    Label(title);
    ImGui::PopFont();
    ImGui::Separator();
  }

  static void DrawOpenButton(Frame& frame) {
    ImGui::Dummy(ImVec2(0, 6 * frame.scale));
    Label("Press Ctrl+O, or drop a folder or file on this window.");
  }

  static void DrawWelcome(Frame& frame) {
    ImGui::PushFont(frame.strong, 25);
    Label("hloscope");
    ImGui::PopFont();
    Sentence(frame,
             "Opens dumps of the XLA compiler: modules, passes, kernels, buffers. "
             "Opening runs nothing and writes nothing to the dump.");
    DrawOpenButton(frame);
    Section(frame, "How to create a dump");
    ImGui::PushFont(frame.mono, 15);
    Label("XLA_FLAGS=\"--xla_dump_to=/tmp/dump\" python your_program.py");
    Label("XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_pass_re=.*\"      every pass");
    Label("XLA_FLAGS=\"--xla_dump_to=/tmp/dump --xla_dump_hlo_as_proto\"        constants in full");
    ImGui::PopFont();
    Section(frame, "Recent");
    std::vector<std::string> recent = frame.context.recent;
    if (recent.empty()) Sentence(frame, "nothing opened yet");
    for (size_t i = 0; i < recent.size(); ++i) {
      if (ImGui::Selectable((SafeText(recent[i], 140) + "##recent" + std::to_string(i)).c_str()))
        frame.context.requests.Open({recent[i]});
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
    auto modules = static_cast<int64_t>(dump.modules().size());
    Sentence(frame,
             fmt::format("{}: {} {}, {} files, {}", what, CountText(modules),
                         modules == 1 ? "module" : "modules",
                         CountText(static_cast<int64_t>(dump.files().size())), BytesText(bytes)));
  }

  static void DrawModules(Frame& frame, const dump::DumpModel& dump) {
    Section(frame, "Modules");
    ImGuiTableFlags flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit |
                            ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable;
    float row = ImGui::GetTextLineHeightWithSpacing() + 2 * frame.scale;
    auto shown = static_cast<float>(std::min<size_t>(12, dump.modules().size()));
    if (!ImGui::BeginTable("##modules", 8, flags, ImVec2(0, row * (shown + 1) + 6 * frame.scale)))
      return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("module", ImGuiTableColumnFlags_WidthStretch);
    const std::pair<const char*, float> columns[] = {
        {"device", 110}, {"stages", 58},  {"before", 82}, {"compiled", 82},
        {"fusions", 66}, {"kernels", 66}, {"memory", 82}};
    // Where there is little room the names keep a part of it.
    const float part = ImGui::GetContentRegionAvail().x < 860 * frame.scale ? 0.78f : 1.0f;
    for (const auto& [name, width] : columns)
      ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_WidthFixed, width * part * frame.scale);
    ImGui::TableHeadersRow();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(dump.modules().size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) DrawModule(frame, dump, i);
    }
    ImGui::EndTable();
  }

  static void DrawModule(Frame& frame, const dump::DumpModel& dump, int32_t m) {
    const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(m);
    bool current = frame.context.navigation.module() == m;
    if (Row(frame, SafeText(entry.name, 90) + "##module", current, false))
      frame.context.navigation.Select(Selection::OfModule(m));
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0))
      frame.context.requests.Show("passes");
    ImGui::PopID();
    ImGui::TableNextColumn();
    Label(frame.theme, Color::kTextSecondary,
          entry.target.empty() ? entry.device : entry.device + " " + entry.target);
    ImGui::TableNextColumn();
    RightLabel(CountText(static_cast<int64_t>(entry.stages.size())));
    const Pending<ModuleFacts>& facts = FactsOf(frame.context, m);
    if (!facts.ready()) {
      ImGui::TableNextColumn();
      Label(frame.theme, Color::kTextDisabled, "…");
      return;
    }
    auto number = [&](int64_t value) {
      ImGui::TableNextColumn();
      if (value >= 0)
        RightLabel(CountText(value));
      else
        RightLabel(frame.theme, Color::kTextDisabled, "–");
    };
    number(facts->instructions_before);
    number(facts->instructions);
    number(facts->fusions);
    number(facts->kernels > 0 ? facts->kernels : -1);
    ImGui::TableNextColumn();
    if (facts->memory_bytes >= 0)
      RightLabel(BytesText(facts->memory_bytes));
    else
      RightLabel(frame.theme, Color::kTextDisabled, "–");
  }

  // The instructions of the module in view by where they run, and what fell to the host, with
  // reasons.
  static void DrawWhere(Frame& frame, const dump::DumpModel& dump) {
    int32_t module = frame.context.navigation.module();
    if (module < 0) return;
    Section(frame, "Where instructions run");
    const Pending<ModuleFacts>& facts = FactsOf(frame.context, module);
    if (!ShowPending(frame, facts, "the module")) return;
    Label(frame.theme, Color::kTextSecondary,
          SafeText(dump.modules()[static_cast<size_t>(module)].name, 70));
    if (!facts->compiled) {
      Sentence(frame,
               "the last stage of this module is not optimized; without "
               "after_optimizations it is unknown where instructions run");
      return;
    }
    DrawPlaceBar(frame, *facts);
    if (facts->fallback_count == 0) {
      return DrawNoFallback(frame);
    }
    Label(frame.theme, Color::kDeviceFallback,
          fmt::format("{} on the host or with host transfers:", CountText(facts->fallback_count)));
    int32_t stage = dump.FinalStage(module);
    for (size_t i = 0; i < std::min<size_t>(8, facts->fallbacks.size()); ++i) {
      const ModuleFacts::Fallback& fallback = facts->fallbacks[i];
      ImGui::PushID(static_cast<int>(i));
      if (ImGui::Selectable((SafeText(fallback.name, 40) + "##fallback").c_str()))
        frame.context.navigation.Select(
            Selection::OfInstruction(module, stage, fallback.instruction));
      ImGui::PopID();
      std::string more = fallback.reason;
      if (fallback.bytes >= 0) more += ", " + BytesText(fallback.bytes) + " moved";
      ImGui::Indent();
      Sentence(frame, more);
      ImGui::Unindent();
    }
  }

  // TensorFlow runs by itself what it left outside the clusters, in no module of XLA's.
  static void DrawNoFallback(Frame& frame) {
    const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(frame.context);
    if (graphs == nullptr)
      return Label(frame.theme, Color::kGood, "every instruction runs on the device");
    if (!ShowPending(frame, *graphs, "TensorFlow's graphs")) return;
    const std::string outside = OutsideText(*graphs->value);
    if (outside.empty()) {
      Label(frame.theme, Color::kGood, "every instruction runs on the device");
    } else {
      Sentence(frame, "every instruction of this module runs on the device");
      Label(frame.theme, Color::kDeviceFallback, outside);
    }
  }

  // What moves between host and device, most bytes first.
  static void DrawTransfers(Frame& frame, const dump::DumpModel& dump) {
    const int32_t module = frame.context.navigation.module();
    if (module < 0) return;
    const Pending<ModuleFacts>& facts = FactsOf(frame.context, module);
    if (!facts.ready() || facts->transfers.empty()) return;
    Section(frame, "Transfers between host and device");
    constexpr size_t kMost = 8;
    const int32_t stage = dump.FinalStage(module);
    for (size_t i = 0; i < std::min(kMost, facts->transfers.size()); ++i) {
      const ModuleFacts::Transfer& transfer = facts->transfers[i];
      const Selection selection = Selection::OfInstruction(module, stage, transfer.instruction);
      ImGui::PushID(static_cast<int>(i));
      if (ImGui::Selectable("##transfer", frame.context.navigation.selection() == selection))
        frame.context.navigation.Select(selection);
      ImGui::PopID();
      ImGui::SameLine(0, 0);
      Label(SafeText(transfer.name, 40));
      ImGui::SameLine(0, 12 * frame.scale);
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
      FittedLabel(TransferText(transfer));
      ImGui::PopStyleColor();
    }
    if (facts->transfer_count > static_cast<int64_t>(kMost)) {
      Sentence(frame, fmt::format("and {} more",
                                  CountText(facts->transfer_count - static_cast<int64_t>(kMost))));
    }
  }

  static void DrawPlaceBar(Frame& frame, const ModuleFacts& facts) {
    int64_t total = 0;
    for (int64_t count : facts.places) total += count;
    if (total == 0) return;
    ImVec2 at = ImGui::GetCursorScreenPos();
    float width = ImGui::GetContentRegionAvail().x - 8 * frame.scale, height = 14 * frame.scale,
          x = at.x;
    ImDrawList* draw = ImGui::GetWindowDrawList();
    for (const PlaceLook& look : kPlaces) {
      int64_t count = facts.places[static_cast<size_t>(look.place)];
      float part = width * static_cast<float>(count) / static_cast<float>(total);
      if (count > 0)
        draw->AddRectFilled(ImVec2(x, at.y), ImVec2(x + std::max(1.0f, part - 1), at.y + height),
                            frame.theme[look.color]);
      x += part;
    }
    ImGui::Dummy(ImVec2(width, height + 4 * frame.scale));
    for (const PlaceLook& look : kPlaces) {
      int64_t count = facts.places[static_cast<size_t>(look.place)];
      if (count == 0) continue;
      ImVec2 square = ImGui::GetCursorScreenPos();
      float size = 10 * frame.scale, drop = (ImGui::GetTextLineHeight() - size) / 2;
      draw->AddRectFilled(ImVec2(square.x, square.y + drop),
                          ImVec2(square.x + size, square.y + drop + size), frame.theme[look.color]);
      ImGui::Dummy(ImVec2(size, size));
      ImGui::SameLine();
      Label(fmt::format("{}", CountText(count)));
      ImGui::SameLine(80 * frame.scale);
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
      FittedLabel(debug::Describe(look.place));
      ImGui::PopStyleColor();
    }
  }

  static void DrawFiles(Frame& frame, const dump::DumpModel& dump) {
    Section(frame, "Files");
    std::map<dump::FileRole, std::pair<int64_t, int64_t>> roles;
    for (const dump::FileEntry& file : dump.files()) {
      auto& [count, bytes] = roles[file.role];
      ++count;
      bytes += file.bytes;
    }
    if (roles.empty()) Sentence(frame, "no files");
    if (!roles.empty() && ImGui::BeginTable("##files", 3, ImGuiTableFlags_SizingFixedFit)) {
      ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch);
      ImGui::TableSetupColumn("count", ImGuiTableColumnFlags_WidthFixed, 60 * frame.scale);
      ImGui::TableSetupColumn("bytes", ImGuiTableColumnFlags_WidthFixed, 80 * frame.scale);
      for (const auto& [role, sums] : roles) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        FittedLabel(dump::RowOf(role).description);
        ImGui::TableNextColumn();
        RightLabel(CountText(sums.first));
        ImGui::TableNextColumn();
        RightLabel(frame.theme, Color::kTextSecondary, BytesText(sums.second));
      }
      ImGui::EndTable();
    }
  }

  static void DrawWrong(Frame& frame, const dump::DumpModel& dump) {
    Section(frame, "Problems");
    std::vector<std::string> all(dump.warnings().begin(), dump.warnings().end());
    for (std::string& warning : dump.LateWarnings()) all.push_back(std::move(warning));
    if (frame.context.navigation.module() >= 0) {
      const Pending<ModuleFacts>& facts = FactsOf(frame.context, frame.context.navigation.module());
      if (facts.ready()) all.insert(all.end(), facts->problems.begin(), facts->problems.end());
    }
    std::set<std::string> seen;
    std::erase_if(all, [&](const std::string& text) { return !seen.insert(text).second; });
    if (all.empty()) Label(frame.theme, Color::kGood, "no problems found");
    DrawGrouped(frame, all);
  }

  // The same complaint about many files is one line, with the first of them.
  static void DrawGrouped(Frame& frame, const std::vector<std::string>& all) {
    std::map<std::string, std::vector<std::string>> groups;
    std::vector<std::string> order;
    for (const std::string& text : all) {
      size_t colon = text.find(": ");
      std::string what = colon == std::string::npos ? text : text.substr(colon + 2);
      auto& files = groups[what];
      if (files.empty()) order.push_back(what);
      files.push_back(colon == std::string::npos ? std::string() : text.substr(0, colon));
    }
    constexpr size_t kMost = 12;
    for (size_t i = 0; i < std::min(kMost, order.size()); ++i) {
      const std::vector<std::string>& files = groups[order[i]];
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kWarning]);
      ImGui::TextWrapped("%s", SafeText(order[i], 400).c_str());
      ImGui::PopStyleColor();
      std::string who = files.front();
      if (files.size() > 1) who += fmt::format(" and {} more", files.size() - 1);
      ImGui::Indent();
      if (!who.empty()) Sentence(frame, who);
      ImGui::Unindent();
    }
    if (order.size() > kMost)
      Sentence(frame, fmt::format("and {} more: `hloscope info` lists all", order.size() - kMost));
  }

  static void DrawMissing(Frame& frame, const dump::DumpModel& dump) {
    Section(frame, "Missing from the dump");
    const int32_t module = frame.context.navigation.module();
    const ModuleFacts* facts = module < 0 ? nullptr : FactsOf(frame.context, module).value.get();
    int shown = 0;
    for (const dump::MissingPiece& piece : MissingFor(dump, module, facts)) {
      ImGui::PushID(shown++);
      ImGui::PushFont(frame.strong, 0);
      Label(piece.what);
      ImGui::PopFont();
      Sentence(frame, piece.why);
      if (!piece.flag.empty()) {
        ImGui::PushFont(frame.mono, 15);
        Label(frame.theme, Color::kAccent, piece.flag);
        ImGui::PopFont();
        ImGui::SameLine();
        if (ImGui::SmallButton("Copy")) ImGui::SetClipboardText(piece.flag.c_str());
      }
      ImGui::PopID();
    }
    if (shown == 0)
      Label(frame.theme, Color::kGood, "nothing: the dump has everything that XLA can write");
  }

  static void DrawTensorFlow(Frame& frame) {
    const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(frame.context);
    if (graphs == nullptr) return;
    Section(frame, "TensorFlow: nodes outside all clusters");
    if (!ShowPending(frame, *graphs, "TensorFlow's graphs")) return;
    const std::shared_ptr<const dump::TensorFlowSummary>& summary = graphs->value;
    Label(fmt::format("{} clusters, {} nodes outside",
                      CountText(static_cast<int64_t>(summary->clusters.size())),
                      CountText(static_cast<int64_t>(summary->unclustered.size()))));
    constexpr size_t kMost = 12;
    for (size_t i = 0; i < std::min(kMost, summary->unclustered.size()); ++i) {
      const dump::TensorFlowNode& node = summary->unclustered[i];
      FittedLabel(fmt::format("{} ({})", node.name, node.op));
      ImGui::Indent();
      Sentence(frame, node.reason.empty() ? "reason unknown" : node.reason);
      ImGui::Unindent();
    }
  }
};

}  // namespace

std::unique_ptr<View> MakeHomeView() { return std::make_unique<HomeView>(); }

}  // namespace hloscope::viewer
