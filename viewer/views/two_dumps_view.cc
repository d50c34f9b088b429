// Two dumps: the modules of both as one list, and one of them in detail.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/facts/two_dumps.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/second_dump.h"
#include "viewer/views/module_pair.h"
#include "viewer/widgets/row_cursor.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

class TwoDumpsView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
    if (!context.second.is_open()) {
      CommandButton(frame, Command::kCompare, "Second dump …");
      ImGui::SameLine();
      CommandButton(frame, Command::kRecompile, "Recompile with …");
      Sentence(frame,
               "no second dump: Ctrl+D and its path compare another dump with this one, as of "
               "another XLA or with another flag");
      return;
    }
    DrawHead(frame);
    if (context.second.dump().state == PendingState::kNone) {
      Sentence(frame,
               "no dump in this path: expected a dump directory, a module or a bundle; "
               "Ctrl+Shift+D compares profiles");
      return;
    }
    if (!ShowPending(frame, context.second.dump(), "the second dump")) return;
    const Pending<TwoDumps>& dumps = TwoDumpsOf(context);
    if (!ShowPending(frame, dumps, "the comparison")) return;
    Choose(context, *dumps);
    FittedLabel(ToSentence(*dumps));
    if (dumps->pairs.empty()) return;
    DrawModules(frame, *dumps);
    const ModulePair& pair = dumps->pairs[chosen_];
    if (pair.has_both()) return DrawModulePair(frame, pair);
    Sentence(frame, pair.name + " is " + std::string(ToString(pair.verdict)) + " dump");
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const TwoDumps* dumps = Known(context);
    if (format != ExportFormat::kCsv || dumps == nullptr) return View::Export(format, context);
    std::string out = "module,result,instructions,instructions_b,peak_bytes,peak_bytes_b,what\n";
    const auto known = [](int64_t n) { return n < 0 ? std::string() : fmt::to_string(n); };
    for (const ModulePair& pair : dumps->pairs) {
      out +=
          fmt::format("{},{},{},{},{},{},{}\n", CsvCell(pair.name), ToString(pair.verdict),
                      known(pair.instructions[0]), known(pair.instructions[1]),
                      known(pair.memory_bytes[0]), known(pair.memory_bytes[1]), CsvCell(pair.what));
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    const TwoDumps* dumps = Known(context);
    if (dumps == nullptr) return {};
    std::string out = ToSentence(*dumps);
    if (chosen_ < dumps->pairs.size()) out += "\nshown " + dumps->pairs[chosen_].name;
    return out;
  }

 private:
  static const TwoDumps* Known(Context& context) {
    if (!context.document.dump().ready() || !context.second.dump().ready()) return nullptr;
    return TwoDumpsOf(context).value.get();
  }

  static void DrawHead(Frame& frame) {
    const std::string& second = frame.context.second.path();
    CommandButton(frame, Command::kCompare, "Other …");
    ImGui::SameLine();
    CommandButton(frame, Command::kRecompile, "Recompile with …");
    ImGui::SameLine();
    CommandButton(frame, Command::kCloseSecond, "Close");
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    const float room = ImGui::GetContentRegionAvail().x;
    const std::string first = frame.context.document.path(), arrow = " → ";
    const float half = (room - ImGui::CalcTextSize(arrow.c_str()).x) / 2;
    Label(FittedText(first, half) + arrow + FittedText(second, half));
    Help(first + arrow + second);
  }

  // The module in view, where it differs; else what differs most. What is clicked stays until
  // another module is in view.
  void Choose(Context& context, const TwoDumps& dumps) {
    const int32_t module = context.navigation.module();
    const bool is_new = reading_ != context.second.reading() || of_ != &dumps;
    if (!is_new && module == module_) return;
    const auto at = std::ranges::find_if(
        dumps.pairs, [&](const ModulePair& pair) { return pair.modules[0] == module; });
    const bool is_there =
        module >= 0 && at != dumps.pairs.end() && (!is_new || at->verdict != ModuleVerdict::kEqual);
    if (is_there) chosen_ = static_cast<size_t>(at - dumps.pairs.begin());
    if (is_new && !is_there) chosen_ = 0;
    reading_ = context.second.reading();
    of_ = &dumps;
    module_ = module;
  }

  void Click(Context& context, const TwoDumps& dumps, size_t i) {
    chosen_ = i;
    const int32_t module = dumps.pairs[i].modules[0];
    if (module < 0) return;
    module_ = module;
    context.navigation.Select(Selection::OfModule(module));
  }

  void DrawModules(Frame& frame, const TwoDumps& dumps) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    const float line = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y + 2;
    const float wanted = static_cast<float>(dumps.pairs.size() + 1) * line + 4;
    const float height = std::min(wanted, ImGui::GetContentRegionAvail().y * 0.35F);
    if (!ImGui::BeginTable("##modules", 4, kFlags, ImVec2(0, height))) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("module", ImGuiTableColumnFlags_WidthStretch, 3);
    ImGui::TableSetupColumn("result", ImGuiTableColumnFlags_WidthStretch, 1.5F);
    ImGui::TableSetupColumn("instructions", ImGuiTableColumnFlags_WidthStretch, 1.6F);
    ImGui::TableSetupColumn("memory", ImGuiTableColumnFlags_WidthStretch, 2);
    static constexpr std::array<const char*, 4> kHelp = {
        "paired by folder, id, name and program", "whether its stages are the same in both dumps",
        "of the compiled stage, in the first and in the second dump",
        "bytes of all allocations, in the first and in the second dump"};
    HeaderRow(kHelp);
    cursor_.Draw(frame,
                 {.count = static_cast<int>(dumps.pairs.size()),
                  .is_selected = [&](int i) { return static_cast<size_t>(i) == chosen_; },
                  .is_highlighted = {},
                  .choose = [&](int i) { Click(frame.context, dumps, static_cast<size_t>(i)); },
                  .draw = [&](int i) { DrawModule(frame, dumps, static_cast<size_t>(i)); }});
    ImGui::EndTable();
  }

  void DrawModule(Frame& frame, const TwoDumps& dumps, size_t i) {
    const ModulePair& pair = dumps.pairs[i];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (Row(frame, fmt::format("##row{}", i), i == chosen_, false)) Click(frame.context, dumps, i);
    Help(pair.what.empty() ? pair.name : pair.name + "\n" + pair.what);
    ImGui::SameLine(0, 0);
    FittedLabel(pair.name);
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[ColorOf(pair.verdict)]);
    FittedLabel(ToString(pair.verdict));
    ImGui::PopStyleColor();
    const auto cell = [&](const std::array<int64_t, 2>& values, auto text) {
      ImGui::TableNextColumn();
      std::array<std::string, 2> texts;
      for (size_t d = 0; d < 2; ++d)
        texts[d] = pair.modules[d] < 0 ? "–" : values[d] < 0 ? "?" : text(values[d]);
      FittedLabel(FromTo(texts));
    };
    cell(pair.instructions, [](int64_t n) { return CountText(n); });
    cell(pair.memory_bytes, [](int64_t n) { return BytesText(n); });
  }

  static Color ColorOf(ModuleVerdict verdict) {
    switch (verdict) {
      case ModuleVerdict::kDiffers:
        return Color::kRewritten;
      case ModuleVerdict::kOnlyFirst:
        return Color::kRemoved;
      case ModuleVerdict::kOnlySecond:
        return Color::kAdded;
      case ModuleVerdict::kElided:
        return Color::kWarning;
      case ModuleVerdict::kEqual:
        break;
    }
    return Color::kTextSecondary;
  }

  uint64_t reading_ = 0;          // what is chosen is of it
  const TwoDumps* of_ = nullptr;  // … and of this list
  int32_t module_ = -1;           // that was in view then
  size_t chosen_ = 0;             // of the list
  RowCursor cursor_;
};

}  // namespace

std::unique_ptr<View> MakeTwoDumpsView() { return std::make_unique<TwoDumpsView>(); }

}  // namespace hloscope::viewer
