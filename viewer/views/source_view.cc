// Source: the user's program with a cost for each line, and beside it what a line became: HLO as it
// was written, kernels, and the code of one. Each column highlights what the others select.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/labels.h"
#include "core/hlo/opcode.h"
#include "viewer/facts/kernel_code.h"
#include "viewer/facts/kernel_of_selection.h"
#include "viewer/facts/source_costs.h"
#include "viewer/graph/heat_list.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/user_source.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/text_pane.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;

constexpr float kCostWidth = 76, kNumberWidth = 44, kRowHeight = 19;  // logical pixels

class SourceView : public View {
 public:
  void Draw(Frame& frame) override {
    if (!ShowDump(frame)) return;
    Context& context = frame.context;
    module_ = context.navigation.module();
    if (module_ < 0) return Sentence(frame, "no module in this dump");
    const std::shared_ptr<const SourceCosts> costs = SourceCostsOf(context);
    if (costs == nullptr) return Sentence(frame, "summing up source lines …");
    if (costs != costs_) Take(costs);
    if (costs_->files.empty())
      return Sentence(frame, "no instruction has a source line: the module has no metadata");
    Follow(context);
    ShowCostliest();
    DrawHead(frame);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (!ImGui::BeginTable("##columns", 4,
                           ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV, room))
      return;
    ImGui::TableSetupColumn("source", ImGuiTableColumnFlags_WidthStretch, 2);
    for (const char* name : {"hlo", "kernels", "code"})
      ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableNextRow();
    Column(frame, "##source", [&] { DrawSource(frame); });
    Column(frame, "##hlo", [&] { DrawWritten(frame); });
    Column(frame, "##kernels", [&] { DrawKernels(frame); });
    Column(frame, "##code", [&] { DrawCode(frame); });
    ImGui::EndTable();
  }

  // Costs only: the program itself is the user's.
  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || costs_ == nullptr) return View::Export(format, context);
    std::string out = "file,line,instructions,kernels,value\n";
    for (const SourceCostFile& file : costs_->files) {
      for (const auto& [number, line] : file.lines)
        out += fmt::format("{},{},{},{},{:.0f}\n", CsvCell(file.name), number, line.written.size(),
                           line.hot.size(), line.value);
    }
    return out;
  }

  std::string HighlightedItems(Context& /*context*/) const override {
    return highlighted_.empty() ? std::string() : highlighted_ + "\n";
  }

 private:
  const SourceCostFile& File() const { return costs_->files[file_]; }

  template <typename DrawBody>
  static void Column(Frame& frame, const char* id, const DrawBody& draw) {
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_ChildBg, frame.theme[Color::kCanvas]);
    ImGui::BeginChild(id, ImGui::GetContentRegionAvail());
    draw();
    ImGui::EndChild();
    ImGui::PopStyleColor();
  }

  // By another measure files are in another order, and another line is the costliest.
  void Take(const std::shared_ptr<const SourceCosts>& costs) {
    const std::string name = costs_ != nullptr && file_ < costs_->files.size() ? File().name : "";
    costs_ = costs;
    const auto file = std::ranges::find(costs->files, name, &SourceCostFile::name);
    file_ = file == costs->files.end() ? 0 : static_cast<size_t>(file - costs->files.begin());
    highlighted_.clear();
    line_ = 0;
  }

  // The line of the selection, of whatever kind.
  void Follow(Context& context) {
    const Counterparts& found = context.navigation.counterparts();
    const Selection& now = context.navigation.selection();
    const auto file = std::ranges::find(costs_->files, found.source_file, &SourceCostFile::name);
    const bool has_line =
        now.kind > SelectionKind::kStage && found.source_line > 0 && file != costs_->files.end();
    if (file_ >= costs_->files.size()) file_ = 0;
    const std::string place =
        has_line ? fmt::format("{}:{}", found.source_file, found.source_line) : std::string();
    if (place == highlighted_) return;
    highlighted_ = place;
    line_ = has_line ? found.source_line : 0;
    if (!has_line) return;
    file_ = static_cast<size_t>(file - costs_->files.begin());
    reveals_ = true;
  }

  // Without a line of the selection the costliest one is shown, else the first with instructions.
  void ShowCostliest() {
    if (line_ > 0 || File().lines.empty()) return;
    const auto costliest = std::ranges::max_element(
        File().lines, {}, [](const auto& line) { return line.second.value; });
    line_ = costliest->first;
    reveals_ = true;
  }

  void DrawHead(Frame& frame) {
    DrawHeatMenu(frame, 220 * frame.scale);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(std::min(420 * frame.scale, ImGui::GetContentRegionAvail().x));
    if (ImGui::BeginCombo("##file", FittedText(File().name, 380 * frame.scale).c_str())) {
      for (size_t k = 0; k < costs_->files.size(); ++k) {
        const SourceCostFile& file = costs_->files[k];
        ImGui::PushID(static_cast<int>(k));
        if (ImGui::Selectable(
                fmt::format("{}  {}", SafeText(file.name), costs_->heat->ToText(file.value))
                    .c_str(),
                k == file_)) {
          file_ = k;
          line_ = 0;
        }
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
    Help("source files of the module, the costliest first");
    std::string text = fmt::format("{}: {}", HeatRowOf(costs_->heat->measure).title,
                                   costs_->heat->ToText(File().value));
    if (costs_->unknown > 0)
      text +=
          fmt::format("; {} of instructions without a line", costs_->heat->ToText(costs_->unknown));
    SameLineIfRoom(ImGui::CalcTextSize(text.c_str()).x);
    FittedLabel(text);
  }

  // `place` on the ramp, 0 to 1.
  void DrawCost(Frame& frame, double value, double place, ImVec2 at) const {
    if (value <= 0) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const uint32_t fill = HeatColor(frame.theme, place);
    const float right = at.x + (kCostWidth - 4) * frame.scale;
    list.AddRectFilled(at, {right, at.y + (kRowHeight - 1) * frame.scale}, fill, 2 * frame.scale);
    const std::string text = costs_->heat->ToText(value);
    const float width = ImGui::CalcTextSize(text.c_str()).x;
    list.AddText({right - width - 4 * frame.scale, at.y + frame.scale}, InkOn(frame.theme, fill),
                 text.c_str());
  }

  // A line with its cost; true: it was clicked.
  bool DrawLine(Frame& frame, int32_t number, const std::string& text) {
    const auto found = File().lines.find(number);
    const SourceCostLine* cost = found == File().lines.end() ? nullptr : &found->second;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float scale = frame.scale, width = ImGui::GetContentRegionAvail().x;
    ImGui::PushID(number);
    const bool clicked =
        ImGui::Selectable("##line", number == line_, 0, {width, kRowHeight * scale});
    if (cost != nullptr)
      Help(
          fmt::format("{}:{}\n{}\n{} as written, {} counted here", SafeText(File().name), number,
                      cost->value > 0 ? HeatText(*costs_->heat, cost->value) : "no cost of its own",
                      CountedText(std::ssize(cost->written), "instruction"),
                      CountedText(std::ssize(cost->hot), "kernel or value", "kernels or values")));
    ImGui::PopID();
    if (cost != nullptr) DrawCost(frame, cost->value, costs_->PlaceOf(cost->value), at);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string digits = std::to_string(number);
    const float end = at.x + (kCostWidth + kNumberWidth) * scale;
    list.AddText({end - ImGui::CalcTextSize(digits.c_str()).x - 6 * scale, at.y + scale},
                 frame.theme[Color::kTextSecondary], digits.c_str());
    const ImVec4 clip(end, at.y, at.x + width, at.y + kRowHeight * scale);
    list.AddText(frame.mono, 13 * scale, {end, at.y + 2 * scale},
                 frame.theme[cost == nullptr ? Color::kTextSecondary : Color::kText], text.c_str(),
                 nullptr, 0, &clip);
    return clicked;
  }

  void DrawSource(Frame& frame) {
    const Pending<UserSource>& read = UserSourceOf(frame.context, File().name);
    if (read.waiting()) return Sentence(frame, "reading the program …");
    // Without the text the lines that have instructions.
    std::vector<int32_t> numbers;
    if (!read.ready()) {
      Sentence(frame, fmt::format("{}; `--source DIR` names the folder of the program",
                                  SafeText(read.error.message, 160)));
      for (const auto& [number, line] : File().lines) numbers.push_back(number);
    } else {
      FittedLabel(read->path);
    }
    const auto count = read.ready() ? std::ssize(read->lines) : std::ssize(numbers);
    ImGui::BeginChild("##lines", ImGui::GetContentRegionAvail());
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    const float each = kRowHeight * frame.scale;
    if (reveals_ && line_ > 0) {
      const auto row =
          read.ready() ? line_ - 1 : std::ranges::lower_bound(numbers, line_) - numbers.begin();
      const float y = each * static_cast<float>(row), shown = ImGui::GetWindowHeight();
      if (y < ImGui::GetScrollY() || y + each > ImGui::GetScrollY() + shown)
        ImGui::SetScrollY(y - shown / 3);
    }
    reveals_ = false;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(count), each);
    while (clipper.Step()) {
      for (int k = clipper.DisplayStart; k < clipper.DisplayEnd; ++k) {
        const auto at = static_cast<size_t>(k);
        const int32_t number = read.ready() ? k + 1 : numbers[at];
        const std::string text = read.ready() ? SafeText(read->lines[at], 400)
                                              : SafeText(fmt::format("{}:{}", File().name, number));
        if (DrawLine(frame, number, text))
          frame.context.navigation.Select(Selection::OfSourceLine(File().name, number, module_));
      }
    }
    clipper.End();
    ImGui::PopStyleVar();
    ImGui::EndChild();
  }

  void DrawRow(Frame& frame, const hlo::Module& module, int32_t stage, InstructionId id,
               double value) {
    Context& context = frame.context;
    const bool is_lit = context.navigation.counterparts().InStage(stage, id);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::PushID(static_cast<int>(id.index));
    if (ImGui::Selectable("##row", is_lit, 0,
                          {ImGui::GetContentRegionAvail().x, kRowHeight * frame.scale}))
      context.navigation.Select(Selection::OfInstruction(module_, stage, id));
    const graph::NodeText text = graph::TextOf(module, id);
    const std::string whole = fmt::format("{}  {}", text.title, text.subtitle);
    Help(SafeText(whole, 400));
    ImGui::PopID();
    DrawCost(frame, value, costs_->heat->PlaceOf(value), at);
    const float left = at.x + (value > 0 ? kCostWidth : 4) * frame.scale;
    const float end = at.x + ImGui::GetContentRegionAvail().x;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string title = FittedText(text.title, end - left);
    list.AddText({left, at.y + frame.scale}, frame.theme[Color::kText], title.c_str());
    const float after = left + ImGui::CalcTextSize(title.c_str()).x + 8 * frame.scale;
    if (end - after < 60 * frame.scale) return;
    list.AddText({after, at.y + frame.scale}, frame.theme[Color::kTextSecondary],
                 FittedText(text.subtitle, end - after).c_str());
  }

  void DrawWritten(Frame& frame) {
    const SourceCostLine* line = costs_->Find(File().name, line_);
    FittedLabel(line == nullptr || !highlighted_.empty()
                    ? std::string("HLO as written")
                    : fmt::format("HLO as written in line {}{}", line_,
                                  line->value > 0 ? ", the costliest" : ""));
    if (line == nullptr) return Sentence(frame, "select a line");
    for (const InstructionId id : line->written) DrawRow(frame, *costs_->first, 0, id, 0);
    if (line->written.empty()) Sentence(frame, "none: only kernels have this line");
  }

  // Those counted at the line, then those that compute it as well and are counted at another.
  void DrawKernels(Frame& frame) {
    FittedLabel("Kernels");
    const SourceCostLine* line = costs_->Find(File().name, line_);
    if (line == nullptr) return;
    const HeatFacts& heat = *costs_->heat;
    std::vector<InstructionId> hot = line->hot;
    std::ranges::stable_sort(hot, std::greater(), [&](InstructionId id) { return heat.Of(id); });
    for (const InstructionId id : hot) DrawRow(frame, *heat.of, heat.stage, id, heat.Of(id));
    const Counterparts& found = frame.context.navigation.counterparts();
    if (found.final_stage != heat.stage) return;
    bool is_first = true;
    for (const InstructionId id : found.kernel_instructions) {
      if (std::ranges::find(hot, id) != hot.end() || heat.Of(id) <= 0) continue;
      if (std::exchange(is_first, false)) Sentence(frame, "also in, counted at other lines:");
      DrawRow(frame, *heat.of, heat.stage, id, 0);
    }
  }

  // PTX, else LLVM IR, of the kernel of the selection.
  void DrawCode(Frame& frame) {
    Context& context = frame.context;
    const Pending<dump::KernelTable>& kernels = context.data.Kernels(module_);
    if (!ShowPending(frame, kernels, "the kernels")) return;
    const int32_t number = kernels->kernels.empty() ? -1 : KernelOfSelection(context, *kernels);
    if (number < 0)
      return Sentence(frame, context.navigation.selection().kind > SelectionKind::kStage
                                 ? "no code of the selection in this dump"
                                 : "select a kernel for its code");
    const dump::Kernel& kernel = kernels->kernels[static_cast<size_t>(number)];
    const Pending<MachineCodeText>* sass = MachineCodeOf(context, module_, number);
    if (sass != nullptr && sass->ready() && (*sass)->text != nullptr) {
      FittedLabel("SASS of " + kernel.name);
      code_.Show((*sass)->text);
      code_.SetHighlighted({});
      code_.Draw(frame);
      return;
    }
    const dump::TextRange& range = kernel.ptx.found() ? kernel.ptx : kernel.llvm;
    if (!range.found()) return Sentence(frame, "no PTX or LLVM IR of " + SafeText(kernel.name, 80));
    FittedLabel(fmt::format("{} of {}", kernel.ptx.found() ? "PTX" : "LLVM IR", kernel.name));
    const Pending<TextDocument>& text = TextOfFile(context, range.file);
    if (!ShowPending(frame, text, "the text")) return;
    const bool is_other = code_.document() != text.value.get() || code_kernel_ != number;
    code_kernel_ = number;
    code_.Show(text.value);
    if (is_other) code_.GoTo(std::max(range.first_line - 1, 0));
    std::set<int64_t> lines;
    const Pending<CodeLines>* of_selection = CodeLinesOf(context, module_, number);
    if (of_selection != nullptr && of_selection->ready()) {
      const auto found = (*of_selection)->lines.find(range.file);
      if (found != (*of_selection)->lines.end()) lines = found->second;
    }
    if (!lines.empty() && lines != code_.highlighted()) code_.Reveal(*lines.begin());
    code_.SetHighlighted(std::move(lines));
    if (const int64_t line = code_.Draw(frame); line >= 0)
      context.navigation.Select(Selection::OfTextLine(range.file, static_cast<int32_t>(line + 1)));
  }

  std::shared_ptr<const SourceCosts> costs_;
  int32_t module_ = -1;
  size_t file_ = 0;
  int32_t line_ = 0;  // that is shown; 0: none
  bool reveals_ = false;
  std::string highlighted_;  // "FILE:LINE" of the selection
  TextPane code_;
  int32_t code_kernel_ = -1;
};

}  // namespace

std::unique_ptr<View> MakeSourceView() { return std::make_unique<SourceView>(); }

}  // namespace hloscope::viewer
