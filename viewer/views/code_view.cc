// Code: what was made of the selected instruction, as Triton or MLIR, LLVM IR and PTX side by side,
// its lines lit.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/model/navigation.h"
#include "viewer/model/timeline_camera.h"
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
constexpr std::array<Form, 5> kForms = {{{"Triton", &dump::Kernel::triton},
                                         {"MLIR", &dump::Kernel::mlir},
                                         {"LLVM IR (unoptimised)", &dump::Kernel::llvm_unoptimized},
                                         {"LLVM", &dump::Kernel::llvm},
                                         {"PTX", &dump::Kernel::ptx}}};

class CodeView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
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
    if (kernels->kernels.empty()) {
      Sentence(frame,
               "no code in this dump: run the program again with "
               "XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text "
               "--xla_dump_emitter_re=.*\" and XLA writes LLVM IR and PTX beside the modules");
      return;
    }
    const int32_t chosen = KernelOf(context, *kernels);
    if (chosen < 0) {
      lit_.clear();
      Sentence(frame, context.navigation.selection().kind <= SelectionKind::kStage
                          ? "select a kernel or an instruction to see its code"
                          : "the selection has no kernel of its own: it is part of another one, a "
                            "library, or not at all");
      return;
    }
    DrawKernel(frame, module, kernels->kernels[static_cast<size_t>(chosen)], chosen);
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || shown_forms_ == 0 || lit_.empty())
      return View::Export(format, context);
    std::string out = "file,line,text\n";
    for (size_t i = 0; i < shown_forms_; ++i) {
      const TextDocument* document = panes_[i].document();
      if (document == nullptr) continue;
      for (int64_t line : panes_[i].lit()) {
        out += fmt::format("{},{},{}\n", CsvCell(document->path()), line + 1,
                           CsvCell(document->Line(line)));
      }
    }
    return out;
  }

  std::string Lit(Context& /*context*/) const override { return lit_; }

 private:
  static int32_t KernelOf(Context& context, const dump::KernelTable& table) {
    const Selection& now = context.navigation.selection();
    // A selection kept from a dump that has changed may name a kernel that is gone.
    if (now.kind == SelectionKind::kKernel) {
      return now.kernel >= 0 && now.kernel < std::ssize(table.kernels) ? now.kernel : -1;
    }
    if (now.kind <= SelectionKind::kStage) return -1;
    const Counterparts& found = context.navigation.counterparts();
    const bool is_known =
        !found.kernels.empty() && static_cast<size_t>(found.kernels.front()) < table.kernels.size();
    return is_known ? found.kernels.front() : -1;
  }

  void DrawKernel(Frame& frame, int32_t module, const dump::Kernel& kernel, int32_t number) {
    DrawFacts(frame, kernel, number);
    std::vector<const Form*> forms;
    for (const Form& form : kForms) {
      const bool is_there = (kernel.*form.range).found();
      // What LLVM's passes left is what ran.
      const bool is_older = form.range == &dump::Kernel::llvm_unoptimized && kernel.llvm.found();
      if (is_there && !is_older) forms.push_back(&form);
    }
    lit_.clear();
    if (forms.empty()) {
      Sentence(
          frame,
          "no text of this kernel was dumped: --xla_dump_emitter_re=.* writes LLVM IR and PTX");
      return;
    }
    if (forms.size() > panes_.size())
      forms.erase(forms.begin(), forms.end() - static_cast<long>(panes_.size()));
    shown_forms_ = forms.size();
    const bool is_new = shown_module_ != module || shown_kernel_ != number;
    shown_module_ = module;
    shown_kernel_ = number;
    if (!ImGui::BeginTable("##forms", static_cast<int>(forms.size()),
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
    ImGui::EndTable();
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
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    // Code names no instructions line by line: what is lit is all of the kernel.
    const bool is_part = context.navigation.selection().kind == SelectionKind::kInstruction;
    const std::string place =
        range.first_line > 0 ? fmt::format("{}:{}", path, range.first_line) : path;
    FittedLabel(is_part ? "whole kernel, " + place : place);
    if (is_part && ImGui::IsItemHovered())
      ImGui::SetTooltip("%s\nno map from its lines to instructions: lit is the whole kernel",
                        SafeText(place, 400).c_str());
    ImGui::PopStyleColor();
    const Pending<TextDocument>& document = Document(context, range.file);
    if (!ShowPending(frame, document, "the text")) return;
    const bool is_other = pane.document() != document.value.get();
    pane.Show(document.value);
    std::set<int64_t> lines;
    constexpr int32_t kMost = 20'000;
    const int32_t last = std::min(range.last_line, range.first_line + kMost);
    for (int32_t line = std::max(range.first_line, 1); line <= last; ++line) lines.insert(line - 1);
    pane.SetLit(std::move(lines));
    if (is_other || is_new) pane.GoTo(std::max(range.first_line - 1, 0));
    lit_ += fmt::format("{} {}:{}-{}\n", form.title, path, range.first_line, range.last_line);
    ImGui::BeginChild("##text", ImGui::GetContentRegionAvail());
    if (const int64_t line = pane.Draw(frame); line >= 0) {
      context.navigation.Select(Selection::OfTextLine(range.file, static_cast<int32_t>(line + 1)));
    }
    ImGui::EndChild();
  }

  static const Pending<TextDocument>& Document(Context& context, int32_t file) {
    return TextOfFile(context, file);
  }

  static std::string Joined(const dump::Extent3& extent) {
    return fmt::format("{} × {} × {}", extent[0], extent[1], extent[2]);
  }

  // One line: what is launched, and how much of a core it can fill.
  static void DrawFacts(Frame& frame, const dump::Kernel& kernel, int32_t number) {
    std::string text;
    auto add = [&](const std::string& part) { text += (text.empty() ? "" : "   ") + part; };
    if (kernel.launch.blocks) add("grid " + Joined(*kernel.launch.blocks));
    if (kernel.launch.threads) add("block " + Joined(*kernel.launch.threads));
    if (!kernel.launch.threads && kernel.max_threads) {
      add(fmt::format("at most {} threads a block", *kernel.max_threads));
    }
    if (kernel.registers) add(fmt::format("{} registers", *kernel.registers));
    if (kernel.shared_bytes) add(BytesText(*kernel.shared_bytes) + " shared");
    if (const KernelRow* row = RowOf(frame.context, number)) {
      if (row->occupancy >= 0) {
        add(fmt::format("occupancy {}{:.0f} %", row->is_occupancy_bound ? "at most " : "",
                        100 * row->occupancy));
      }
      if (row->count > 0) add(fmt::format("{} × {}", row->count, TimeText(row->mean())));
    }
    ImGui::PushFont(frame.strong, 0);
    Label(SafeText(kernel.name, 80));
    ImGui::PopFont();
    ImGui::SameLine(0, 12 * frame.scale);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    FittedLabel(text.empty() ? std::string("launch dimensions are not in this dump") : text);
    ImGui::PopStyleColor();
  }

  static const KernelRow* RowOf(Context& context, int32_t kernel) {
    const Pending<KernelSheet>* sheet = KernelSheetOf(context);
    if (sheet == nullptr || !sheet->ready()) return nullptr;
    auto row = std::ranges::find((*sheet)->rows, kernel, &KernelRow::kernel_index);
    return row == (*sheet)->rows.end() ? nullptr : &*row;
  }

  std::array<TextPane, 3> panes_;
  int32_t shown_module_ = -1, shown_kernel_ = -1;
  size_t shown_forms_ = 0;  // of panes_
  std::string lit_;
};

}  // namespace

std::unique_ptr<View> MakeCodeView() { return std::make_unique<CodeView>(); }

}  // namespace hloscope::viewer
