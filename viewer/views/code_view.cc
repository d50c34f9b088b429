// Code: what was made of the selected instruction, as Triton or MLIR, LLVM IR and PTX side by side,
// and SASS on request, its lines highlighted.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>

#include "core/dump/own_compilation.h"
#include "viewer/facts/kernel_code.h"
#include "viewer/facts/kernel_facts.h"
#include "viewer/facts/kernel_of_selection.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/widgets/line_table.h"
#include "viewer/widgets/text_pane.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// The forms a kernel can be read in, in the order in which they are made.
struct Form {
  const char* title;
  dump::TextRange dump::Kernel::* range;
};
constexpr std::array<Form, 6> kForms = {{{"Triton", &dump::Kernel::triton},
                                         {"MLIR", &dump::Kernel::mlir},
                                         {"LLVM IR (unoptimised)", &dump::Kernel::llvm_unoptimized},
                                         {"LLVM", &dump::Kernel::llvm},
                                         {"Assembly", &dump::Kernel::assembly},
                                         {"PTX", &dump::Kernel::ptx}}};

class CodeView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    lined_ = LinedRowOf(context);
    const bool has_dump = context.document.dump().ready() && context.navigation.module() >= 0;
    if (lined_ != nullptr && !has_dump) {
      highlighted_.clear();
      DrawLines(frame, nullptr);
      return;
    }
    if (!context.document.dump().ready()) {
      Sentence(frame, "no dump is open");
      return;
    }
    const int32_t module = context.navigation.module();
    if (module < 0) {
      Sentence(frame, "no module in this dump");
      return;
    }
    const Pending<dump::KernelTable>& kernels = context.data.Kernels(module);
    if (!ShowPending(frame, kernels, "the kernels")) return;
    const int32_t chosen = kernels->kernels.empty() ? -1 : KernelOfSelection(context, *kernels);
    if (lined_ != nullptr && chosen < 0) {
      highlighted_.clear();
      DrawLines(frame, nullptr);
      return;
    }
    if (kernels->kernels.empty()) {
      Sentence(frame, dump::IsOwnCompilation(*context.document.dump(), module)
                          ? std::string(dump::kNoOwnCode)
                          : NoCodeText(ModuleIn(context)));
      return;
    }
    if (chosen < 0) {
      highlighted_.clear();
      Sentence(frame, context.navigation.selection().kind <= SelectionKind::kStage
                          ? "select a kernel or an instruction to see its code"
                          : "no kernel of its own: fused into another instruction, a library call, "
                            "or no code needed");
      return;
    }
    DrawKernel(frame, module, kernels->kernels[static_cast<size_t>(chosen)], chosen);
  }

  bool Run(Command command, Frame& frame) override {
    if (command != Command::kShowSass || !offers_sass_) return false;
    AskMachineCode(frame.context, shown_module_, shown_kernel_);
    return true;
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const KernelRow* const lined = LinedRowOf(context);
    if (format == ExportFormat::kCsv && lined != nullptr) return LinesCsv(lined->sums.lines);
    if (format != ExportFormat::kCsv || shown_forms_ == 0 || highlighted_.empty())
      return View::Export(format, context);
    std::string out = "file,line,text\n";
    for (size_t i = 0; i < shown_forms_; ++i) {
      const TextDocument* document = panes_[i].document();
      if (document == nullptr) continue;
      for (int64_t line : panes_[i].highlighted()) {
        out += fmt::format("{},{},{}\n", CsvCell(document->path()), line + 1,
                           CsvCell(document->Line(line)));
      }
    }
    return out;
  }

  std::string HighlightedItems(Context& /*context*/) const override { return highlighted_; }

 private:
  static const dump::ModuleEntry& ModuleIn(const Context& context) {
    return context.document.dump()->modules()[static_cast<size_t>(context.navigation.module())];
  }

  void DrawKernel(Frame& frame, int32_t module, const dump::Kernel& kernel, int32_t number) {
    const Pending<MachineCodeText>* sass = MachineCodeOf(frame.context, module, number);
    ImGui::AlignTextToFramePadding();
    ImGui::PushFont(frame.strong, 0);
    Label(SafeText(kernel.name, 80));
    ImGui::PopFont();
    DrawSassButton(frame, module, kernel, number, sass);
    DrawFacts(frame, kernel, number, sass);
    SayEqual(frame, module, kernel);
    if (const KernelRow* row = KernelRowOf(frame.context, number)) {
      if (const std::string text = LaunchText(*row); !text.empty()) Sentence(frame, text);
      if (const std::string text = ElsewhereText(*row); !text.empty()) Sentence(frame, text);
    }
    std::vector<const Form*> forms;
    for (const Form& form : kForms) {
      const bool is_there = (kernel.*form.range).found();
      // What LLVM's passes left is what ran.
      const bool is_older = form.range == &dump::Kernel::llvm_unoptimized && kernel.llvm.found();
      if (is_there && !is_older) forms.push_back(&form);
    }
    highlighted_.clear();
    if (forms.empty() && sass == nullptr && lined_ == nullptr) {
      Sentence(frame, NoKernelCodeText(ModuleIn(frame.context)));
      return;
    }
    // Three side by side are readable; what ran comes last.
    const size_t room = panes_.size() - (sass != nullptr ? 1 : 0);
    if (forms.size() > room)
      forms.erase(forms.begin(), forms.end() - static_cast<std::ptrdiff_t>(room));
    shown_forms_ = forms.size();
    const bool is_new = shown_module_ != module || shown_kernel_ != number;
    shown_module_ = module;
    shown_kernel_ = number;
    lines_ = CodeLinesOf(frame.context, module, number);
    const size_t columns = forms.size() + (sass != nullptr ? 1 : 0) + (lined_ != nullptr ? 1 : 0);
    if (!ImGui::BeginTable(fmt::format("##forms{}", columns).c_str(), static_cast<int>(columns),
                           ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV,
                           ImGui::GetContentRegionAvail())) {
      return;
    }
    ImGui::TableNextRow();
    for (size_t i = 0; i < forms.size(); ++i) {
      ImGui::TableNextColumn();
      ImGui::PushID(static_cast<int>(i));
      DrawForm(frame, *forms[i], kernel.*(forms[i]->range), panes_[i], is_new);
      ImGui::PopID();
    }
    if (sass != nullptr) {
      ImGui::TableNextColumn();
      DrawSass(frame, kernel, *sass);
    }
    if (lined_ != nullptr) {
      ImGui::TableNextColumn();
      DrawLines(frame, &kernel);
    }
    ImGui::EndTable();
  }

  // `kernel`: whose text a click shows the line in; null: there is none.
  void DrawLines(Frame& frame, const dump::Kernel* kernel) {
    for (const profiler::PtxLine* line : lined_->sums.lines.Hottest()) {
      highlighted_ += fmt::format("{}:{} {}\n", line->kernel, line->line, line->count);
    }
    const profiler::PtxLine* const line = DrawLineTable(frame, lined_->sums.lines);
    if (line == nullptr || kernel == nullptr || !kernel->ptx.found() || line->line == 0) return;
    if (line->kernel != kernel->name) return;
    reveal_file_ = kernel->ptx.file;
    reveal_line_ = kernel->ptx.first_line + static_cast<int32_t>(line->line) - 1;
    frame.context.navigation.Select(Selection::OfTextLine(reveal_file_, reveal_line_));
  }

  void DrawForm(Frame& frame, const Form& form, const dump::TextRange& range, TextPane& pane,
                bool is_new) {
    Context& context = frame.context;
    const std::string& path =
        context.document.dump()->files()[static_cast<size_t>(range.file)].path;
    ImGui::PushFont(frame.strong, 0);
    Label(form.title);
    ImGui::PopFont();
    ImGui::SameLine();
    const std::set<int64_t>* own = LinesIn(range.file);
    const std::string place =
        range.first_line > 0 ? fmt::format("{}:{}", path, range.first_line) : path;
    DrawPlace(frame, place, own);
    const Pending<TextDocument>& document = Document(context, range.file);
    if (!ShowPending(frame, document, "the text")) return;
    const bool is_other = pane.document() != document.value.get();
    pane.Show(document.value);
    std::set<int64_t> lines;
    constexpr int32_t kMax = 20'000;
    const int32_t last = std::min(range.last_line, range.first_line + kMax);
    for (int32_t line = std::max(range.first_line, 1); line <= last; ++line) lines.insert(line - 1);
    if (own != nullptr) lines = *own;
    const int64_t first = lines.empty() ? 0 : *lines.begin();
    const bool is_moved =
        own != nullptr && first != (pane.highlighted().empty() ? -1 : *pane.highlighted().begin());
    pane.SetHighlighted(std::move(lines));
    if (is_other || is_new) pane.GoTo(std::max(range.first_line - 1, 0));
    if (is_moved) pane.Reveal(first);
    if (range.file == reveal_file_ && reveal_line_ > 0) pane.Reveal(reveal_line_ - 1);
    if (range.file == reveal_file_) reveal_line_ = 0;
    highlighted_ +=
        own == nullptr
            ? fmt::format("{} {}:{}-{}\n", form.title, path, range.first_line, range.last_line)
            : fmt::format("{} {}: {} lines\n", form.title, path, own->size());
    ImGui::BeginChild("##text", ImGui::GetContentRegionAvail());
    if (const int64_t line = pane.Draw(frame); line >= 0) {
      context.navigation.Select(Selection::OfTextLine(range.file, static_cast<int32_t>(line + 1)));
    }
    ImGui::EndChild();
  }

  // The lines of a file that compute the selected instruction; null: no map says so.
  const std::set<int64_t>* LinesIn(int32_t file) const {
    if (lines_ == nullptr || !lines_->ready()) return nullptr;
    const auto found = (*lines_)->lines.find(file);
    return found == (*lines_)->lines.end() || found->second.empty() ? nullptr : &found->second;
  }

  // Where the text is, and whether what is highlighted is the instruction or all of its kernel.
  static void DrawPlace(Frame& frame, const std::string& place, const std::set<int64_t>* own) {
    const bool is_part = frame.context.navigation.selection().kind == SelectionKind::kInstruction;
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    FittedLabel(own != nullptr ? fmt::format("{} lines, {}", own->size(), place)
                : is_part      ? "whole kernel, " + place
                               : place);
    if (is_part && ImGui::IsItemHovered()) {
      ImGui::SetTooltip(
          "%s\n%s", SafeText(place, 400).c_str(),
          own != nullptr
              ? "highlighted: lines of the instruction, by debug information and names in the code"
              : "no line information: the whole kernel is highlighted");
    }
    ImGui::PopStyleColor();
  }

  // Opening a dump runs nothing: the tools of CUDA are started by this button only.
  void DrawSassButton(Frame& frame, int32_t module, const dump::Kernel& kernel, int32_t number,
                      const Pending<MachineCodeText>* sass) {
    offers_sass_ = debug::MayHaveMachineCode(*frame.context.document.dump(), module, kernel);
    if (!offers_sass_ || (sass != nullptr && !sass->failed())) return;
    const char* text = sass != nullptr      ? "Try again"
                       : kernel.ptx.found() ? "Assemble PTX"
                                            : "Show SASS";
    ImGui::SameLine(0, 12 * frame.scale);
    if (ImGui::Button(text)) AskMachineCode(frame.context, module, number);
    Help(Command::kShowSass);
  }

  void DrawSass(Frame& frame, const dump::Kernel& kernel, const Pending<MachineCodeText>& sass) {
    ImGui::PushFont(frame.strong, 0);
    Label("SASS");
    ImGui::PopFont();
    if (sass.failed()) {
      ImGui::BeginChild("##failed", ImGui::GetContentRegionAvail());
      ImGui::PushTextWrapPos(0);
      Label(SafeLines(sass.error.ToString(), 200'000));
      ImGui::PopTextWrapPos();
      ImGui::EndChild();
      return;
    }
    if (!sass.ready()) {
      Sentence(frame, "assembling and disassembling …");
      return;
    }
    ImGui::SameLine();
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    FittedLabel((sass->code.target.empty() ? "" : sass->code.target + ", ") + sass->code.source);
    ImGui::PopStyleColor();
    if (ImGui::IsItemHovered()) {
      ImGui::SetTooltip("%s%s", SafeText(sass->code.source, 400).c_str(),
                        sass->code.has_ptx_lines ? "\nfirst column: line of PTX; click to go there"
                                                 : "\nno line information: the whole kernel");
    }
    if (!sass->code.note.empty()) Sentence(frame, sass->code.note);
    if (sass->text == nullptr) return;
    sass_pane_.Show(sass->text);
    sass_pane_.SetHighlighted(HighlightedSass(frame.context, kernel, *sass));
    highlighted_ +=
        fmt::format("SASS {} of {} lines\n", sass_pane_.highlighted().size(), sass->text->lines());
    ImGui::BeginChild("##sass", ImGui::GetContentRegionAvail());
    const int64_t line = sass_pane_.Draw(frame);
    ImGui::EndChild();
    if (line < 0 || static_cast<size_t>(line) >= sass->ptx_lines.size()) return;
    const int32_t ptx_line = sass->ptx_lines[static_cast<size_t>(line)];
    if (ptx_line <= 0 || !kernel.ptx.found()) return;
    reveal_file_ = kernel.ptx.file;
    reveal_line_ = ptx_line;
    frame.context.navigation.Select(Selection::OfTextLine(kernel.ptx.file, ptx_line));
  }

  // What was made of the selected line of PTX, or of those of the instruction; else all of it.
  std::set<int64_t> HighlightedSass(const Context& context, const dump::Kernel& kernel,
                                    const MachineCodeText& sass) const {
    const Selection& now = context.navigation.selection();
    std::set<int64_t> wanted;
    if (const std::set<int64_t>* own = LinesIn(kernel.ptx.file)) wanted = *own;
    const bool is_line = now.kind == SelectionKind::kTextLine && now.file == kernel.ptx.file;
    if (is_line) wanted = {now.line - 1};
    std::set<int64_t> highlighted;
    for (size_t k = 0; k < sass.ptx_lines.size(); ++k) {
      const bool is_made = wanted.contains(int64_t{sass.ptx_lines[k]} - 1);
      if (wanted.empty() || is_made) highlighted.insert(static_cast<int64_t>(k));
    }
    return highlighted;
  }

  static const Pending<TextDocument>& Document(Context& context, int32_t file) {
    return TextOfFile(context, file);
  }

  // Whose kernel it is, where the selected fusion has none of its own.
  static void SayEqual(Frame& frame, int32_t module, const dump::Kernel& kernel) {
    const Counterparts& found = frame.context.navigation.counterparts();
    if (found.module != module || found.kernel_instructions.empty() || kernel.instruction.empty())
      return;
    const Pending<hlo::Module>& final = frame.context.data.Module(module, found.final_stage);
    if (!final.ready()) return;
    const hlo::InstructionId id = found.kernel_instructions.front();
    const std::string name(final->name(id));
    if (final.value.get()->instructions()[id.index].opcode != hlo::Opcode::kFusion ||
        std::ranges::find(kernel.instructions, name) != kernel.instructions.end())
      return;
    Sentence(frame, fmt::format("{} shares the code of {} (identical fusions are compiled once)",
                                SafeText(name, 80), SafeText(kernel.instruction, 80)));
  }

  static void DrawFacts(Frame& frame, const dump::Kernel& kernel, int32_t number,
                        const Pending<MachineCodeText>* sass) {
    ImGui::SameLine(0, 12 * frame.scale);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    const debug::MachineCode* const made =
        sass != nullptr && sass->ready() ? &(*sass)->code : nullptr;
    FittedLabel(KernelFactsText(frame.context, kernel, number, made));
    ImGui::PopStyleColor();
  }

  std::array<TextPane, 3> panes_;
  TextPane sass_pane_;
  const Pending<CodeLines>* lines_ = nullptr;  // of this frame
  const KernelRow* lined_ = nullptr;           // likewise, whose lines were counted; null: none's
  bool offers_sass_ = false;
  int32_t reveal_file_ = -1, reveal_line_ = 0;  // a line of PTX that was asked for; 0: none
  int32_t shown_module_ = -1, shown_kernel_ = -1;
  size_t shown_forms_ = 0;  // of panes_
  std::string highlighted_;
};

}  // namespace

std::unique_ptr<View> MakeCodeView() { return std::make_unique<CodeView>(); }

}  // namespace hloscope::viewer
