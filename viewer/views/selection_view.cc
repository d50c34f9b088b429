// Selection: what is selected, and everything that stands for it elsewhere, each one click away.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "core/hlo/analysis/source_line.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/text/text.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/task_cache.h"
#include "viewer/views/selection_stages.h"
#include "viewer/widgets/syntax.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// Lists longer than this are counted instead of shown.
constexpr size_t kMaxShown = 40;

// Positions may be of a dump that has changed since they were kept.
template <typename T>
bool Has(const std::vector<T>& all, int32_t position) {
  return position >= 0 && static_cast<size_t>(position) < all.size();
}

class SelectionView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!context.document.dump().ready()) {
      Sentence(frame, "details of the selection");
      return;
    }
    if (context.navigation.selection().kind == SelectionKind::kNothing) {
      Sentence(frame,
               "nothing selected: click an instruction, kernel, buffer or line anywhere, or "
               "search with Ctrl+P");
      return;
    }
    const Counterparts& found = context.navigation.counterparts();
    DrawHead(frame);
    if (!context.navigation.counterparts_complete())
      Label(frame.theme, Color::kTextSecondary, "finding it in other stages …");
    DrawSelectionSummary(frame);
    DrawInstruction(frame);
    DrawInstructions(frame, found);
    DrawSource(frame, found);
    DrawCode(frame, found);
    DrawBuffers(frame, found);
    DrawSelectionStages(frame, found);
    for (const std::string& note : found.notes) Sentence(frame, note);
  }

  bool IsEmpty(const Context& context) const override {
    return !context.document.dump().ready() ||
           context.navigation.selection().kind == SelectionKind::kNothing;
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || IsEmpty(context)) return View::Export(format, context);
    const Counterparts& found = context.navigation.counterparts();
    std::string out = "what,where,name\n";
    for (const SummaryLine& line : SummarizeSelection(context))
      out += "sentence,," + CsvCell(line.text) + "\n";
    if (!found.source_file.empty()) {
      out += fmt::format("source line,,{}\n",
                         CsvCell(fmt::format("{}:{}", found.source_file, found.source_line)));
    }
    for (const StageCounterpart& at : found.stages) {
      const auto& stages =
          context.document.dump()->modules()[static_cast<size_t>(found.module)].stages;
      out += fmt::format("instruction,{},{}\n", CsvCell(stages[static_cast<size_t>(at.stage)].name),
                         CsvCell(NameInStage(context, found, at)));
    }
    for (int32_t k : found.kernels) {
      const Pending<dump::KernelTable>& table = context.data.Kernels(found.module);
      if (table.ready() && Has(table->kernels, k))
        out += "kernel,," + CsvCell(table->kernels[static_cast<size_t>(k)].name) + "\n";
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    std::string out(ToString(context.navigation.selection().kind));
    const Counterparts& found = context.navigation.counterparts();
    for (const SummaryLine& line : SummarizeSelection(context)) out += "\n" + line.text;
    return fmt::format("{}\nstages {}\nthunks {}\nkernels {}\nbuffers {}\nsource {}:{}", out,
                       found.stages.size(), found.thunks.size(), found.kernels.size(),
                       found.buffers.size(), found.source_file, found.source_line);
  }

 private:
  static void DrawHead(Frame& frame) {
    Context& context = frame.context;
    const Selection& now = context.navigation.selection();
    const dump::DumpModel& dump = *context.document.dump();
    std::string name(ToString(now.kind));
    int32_t module = context.navigation.module();
    switch (now.kind) {
      case SelectionKind::kModule:
        name = dump.modules()[static_cast<size_t>(now.module)].name;
        break;
      case SelectionKind::kStage:
        name = dump.modules()[static_cast<size_t>(now.module)]
                   .stages[static_cast<size_t>(now.stage)]
                   .name;
        break;
      case SelectionKind::kKernel:
        if (const auto& kernels = context.data.Kernels(module);
            kernels.ready() && Has(kernels->kernels, now.kernel))
          name = kernels->kernels[static_cast<size_t>(now.kernel)].name;
        break;
      case SelectionKind::kThunk:
        if (const auto& thunks = context.data.Thunks(module);
            thunks.ready() && Has(thunks->thunks, now.thunk))
          name = thunks->thunks[static_cast<size_t>(now.thunk)].kind;
        break;
      case SelectionKind::kTextLine:
        name = fmt::format("{}:{}", dump.files()[static_cast<size_t>(now.file)].path, now.line);
        break;
      case SelectionKind::kSourceLine:
        name = fmt::format("{}:{}", now.source_file, now.source_line);
        break;
      case SelectionKind::kGraphNode:
        if (const std::vector<Crumb> crumbs = Breadcrumbs(dump, now, nullptr); !crumbs.empty())
          name = crumbs.back().text;
        break;
      case SelectionKind::kEvent:
        if (std::string of_event = NameOfSelectedEvent(context); !of_event.empty())
          name = SafeText(of_event, 100);
        break;
      default:
        if (hlo::InstructionId id = context.navigation.InstructionIn(context.navigation.stage());
            id.valid()) {
          if (const auto& m = context.data.Module(module, context.navigation.stage()); m.ready())
            name = m->name(id);
        }
    }
    ImGui::PushFont(frame.strong, 19);
    FittedLabel(name);
    ImGui::PopFont();
    Label(frame.theme, Color::kTextSecondary, ToString(now.kind));
  }

  // Sentences, each of which leads to where it is shown.
  static void DrawSelectionSummary(Frame& frame) {
    int number = 0;
    for (const SummaryLine& line : SummarizeSelection(frame.context)) {
      constexpr Color kTones[] = {Color::kText, Color::kGood, Color::kDeviceFallback,
                                  Color::kRemoved};
      const std::string text = SafeText(line.text, 300);
      const float room = ImGui::GetContentRegionAvail().x;
      const ImVec2 size = ImGui::CalcTextSize(text.c_str(), nullptr, false, room);
      const ImVec2 at = ImGui::GetCursorPos();
      ImGui::PushID(number++);
      const bool leads = !line.view.empty() || line.selection.kind != SelectionKind::kNothing;
      ImGui::BeginDisabled(!leads);
      if (ImGui::Selectable("##line", false, 0, ImVec2(room, size.y))) Follow(frame.context, line);
      ImGui::EndDisabled();
      if (leads) Help("go to");
      ImGui::PopID();
      ImGui::SetCursorPos(at);
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[kTones[static_cast<size_t>(line.tone)]]);
      ImGui::PushTextWrapPos(0);
      ImGui::TextUnformatted(text.c_str());
      ImGui::PopTextWrapPos();
      ImGui::PopStyleColor();
    }
  }

  // What a source line, kernel, buffer or computation is of, where that is more than one.
  static void DrawInstructions(Frame& frame, const Counterparts& found) {
    Context& context = frame.context;
    const SelectionKind kind = context.navigation.selection().kind;
    if (kind == SelectionKind::kInstruction || kind <= SelectionKind::kStage) return;
    const int32_t stage = found.final_instructions.empty() ? found.start_stage : found.final_stage;
    if (found.module < 0 || stage < 0) return;
    std::vector<hlo::InstructionId> all;
    for (const StageCounterpart& at : found.stages) {
      if (at.stage == stage) all.push_back(at.instruction);
    }
    const Pending<hlo::Module>& module = context.data.Module(found.module, stage);
    if (all.empty() || !module.ready()) return;
    Section(frame, fmt::format("Instructions ({})", all.size()));
    DrawLinks(frame, *module, found.module, stage, all);
  }

  // Printing in every frame would take too long.
  void PrintOnce(const std::shared_ptr<const hlo::Module>& module, hlo::InstructionId id) {
    if (printed_ == module && printed_id_ == id) return;
    printed_ = module;
    printed_id_ = id;
    std::string text;
    hlo::PrintText(*module, id, hlo::TextFormat::kElided, text);
    text_ = SafeText(text, 2400);
    folded_ = SafeText(FoldLine(std::string_view(text).substr(0, 20'000), dump::FileKind::kHloText),
                       1200);
  }

  // Shape, opcode, operands and users of the instruction in the stage in view.
  void DrawInstruction(Frame& frame) {
    Context& context = frame.context;
    int32_t module = context.navigation.module(), stage = context.navigation.stage();
    hlo::InstructionId id = context.navigation.InstructionIn(stage);
    if (!id.valid() || module < 0) return;
    const Pending<hlo::Module>& read = context.data.Module(module, stage);
    if (!ShowPending(frame, read, "the module")) return;
    const hlo::Module& m = *read;
    if (id.index >= m.instructions().size()) return;
    const hlo::Instruction& instruction = m[id];
    PrintOnce(read.value, id);
    DrawOpcode(frame, instruction.opcode);
    Fact(frame, "computation", m[m[instruction.computation].name]);
    if (const auto* metadata = m.Get<hlo::OpMetadata>(instruction, hlo::AttributeKey::kMetadata))
      Facts(frame, "op_name", hlo::NamesIn(m[metadata->op_name]));
    Section(frame, "Text");
    ImGui::PushFont(frame.mono, 14);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(folded_.c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopFont();
    if (folded_ != text_) Help(text_);
    if (instruction.operand_count > 0) {
      Section(frame, fmt::format("Operands ({})", instruction.operand_count));
      DrawLinks(frame, m, module, stage, m.operands(id));
    }
    DrawUsers(frame, read.value, module, stage, id);
  }

  // A click looks for all others of the same opcode.
  static void DrawOpcode(Frame& frame, hlo::Opcode opcode) {
    const Color role = ColorOf(opcode);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[role]);
    const std::string label = fmt::format("{} {}", SignOf(role), hlo::ToString(opcode));
    if (ImGui::Selectable(label.c_str(), false, 0, ImGui::CalcTextSize(label.c_str())))
      frame.context.requests.Run(Command::kShowUses);
    ImGui::PopStyleColor();
    Help(Command::kShowUses);
  }

  static void DrawUsers(Frame& frame, const std::shared_ptr<const hlo::Module>& m, int32_t module,
                        int32_t stage, hlo::InstructionId id) {
    const Pending<hlo::UserIndex>& index = frame.context.cache.Get(
        PartKey<hlo::UserIndex>{module, stage}, "finding users", [m](TaskControl&) {
          return Result<std::shared_ptr<const hlo::UserIndex>>(
              std::shared_ptr<const hlo::UserIndex>(m, &hlo::UsersOf(*m)));
        });
    if (!index.ready()) return;
    std::vector<hlo::InstructionId> users(index->users(id).begin(), index->users(id).end());
    users.erase(std::ranges::unique(users).begin(), users.end());
    Section(frame, fmt::format("Users ({})", users.size()));
    if (users.empty()) {
      Sentence(frame,
               (*m)[(*m)[id].computation].root == id ? "root of its computation" : "no users");
    }
    ImGui::PushID("users");
    DrawLinks(frame, *m, module, stage, users);
    ImGui::PopID();
  }

  static void DrawLinks(Frame& frame, const hlo::Module& m, int32_t module, int32_t stage,
                        std::span<const hlo::InstructionId> all) {
    size_t shown = 0;
    for (hlo::InstructionId id : all) {
      if (++shown > kMaxShown) break;
      InstructionLink(frame, m, module, stage, id, static_cast<int>(shown));
    }
    if (all.size() > kMaxShown) Sentence(frame, fmt::format("and {} more", all.size() - kMaxShown));
  }

  static void InstructionLink(Frame& frame, const hlo::Module& m, int32_t module, int32_t stage,
                              hlo::InstructionId id, int number) {
    if (id.index >= m.instructions().size()) return;
    ImGui::PushID(number);
    Color role = ColorOf(m[id].opcode);
    Label(frame.theme, role, SignOf(role));
    ImGui::SameLine();
    if (Choice(m.name(id), "link"))
      frame.context.navigation.Select(Selection::OfInstruction(module, stage, id));
    ImGui::PopID();
  }

  static void DrawSource(Frame& frame, const Counterparts& found) {
    if (found.source_file.empty()) return;
    Section(frame, "Source line");
    std::string text = fmt::format("{}:{}", found.source_file, found.source_line);
    if (Choice(text, "source"))
      frame.context.navigation.Select(
          Selection::OfSourceLine(found.source_file, found.source_line, found.module));
  }

  static void DrawCode(Frame& frame, const Counterparts& found) {
    Context& context = frame.context;
    if (found.module < 0) return;
    if (!found.kernels.empty()) {
      if (const auto& kernels = context.data.Kernels(found.module); kernels.ready()) {
        Section(frame, fmt::format("Kernels ({})", found.kernels.size()));
        for (int32_t k : Few(found.kernels)) {
          if (!Has(kernels->kernels, k)) continue;
          const dump::Kernel& kernel = kernels->kernels[static_cast<size_t>(k)];
          ImGui::PushID(k);
          if (Choice(kernel.name, "kernel", context.navigation.selection().kernel == k))
            context.navigation.Select(Selection::OfKernel(found.module, k));
          CodeLinks(frame, kernel);
          ImGui::PopID();
        }
      }
    }
    if (!found.thunks.empty()) {
      if (const auto& thunks = context.data.Thunks(found.module); thunks.ready()) {
        Section(frame, fmt::format("Thunks ({})", found.thunks.size()));
        for (int32_t t : Few(found.thunks)) {
          if (!Has(thunks->thunks, t)) continue;
          const dump::Thunk& thunk = thunks->thunks[static_cast<size_t>(t)];
          if (Choice(fmt::format("{} {}", thunk.kind, thunk.instruction), fmt::format("thunk{}", t),
                     context.navigation.selection().thunk == t))
            context.navigation.Select(Selection::OfThunk(found.module, t));
        }
      }
    }
  }

  // One button for each file that has the kernel.
  static void CodeLinks(Frame& frame, const dump::Kernel& kernel) {
    struct Link {
      const char* name;
      const dump::TextRange& range;
    };
    const Link links[] = {{"PTX", kernel.ptx},
                          {"LLVM", kernel.llvm},
                          {"LLVM IR (unoptimised)", kernel.llvm_unoptimized},
                          {"Assembly", kernel.assembly},
                          {"Triton", kernel.triton},
                          {"MLIR", kernel.mlir}};
    bool first = true;
    for (const Link& link : links) {
      if (!link.range.found()) continue;
      std::string label = link.name;
      if (link.range.first_line > 0) label += fmt::format(" line {}", link.range.first_line);
      if (!first) SameLineIfRoom(ButtonWidth(label.c_str()));
      first = false;
      const bool pressed = ImGui::SmallButton(label.c_str());
      Help("show the kernel in this file");
      if (pressed) {
        frame.context.navigation.Select(
            Selection::OfTextLine(link.range.file, std::max(1, link.range.first_line)));
        frame.context.requests.Show("text");
      }
    }
  }

  static void DrawBuffers(Frame& frame, const Counterparts& found) {
    if (found.buffers.empty()) return;
    Context& context = frame.context;
    const auto& buffers = context.data.Buffers(found.module);
    if (!buffers.ready()) return;
    Section(frame, fmt::format("Buffers ({})", found.buffers.size()));
    for (int32_t b : Few(found.buffers)) {
      if (!Has(buffers->values, b)) continue;
      const dump::BufferValue& value = buffers->values[static_cast<size_t>(b)];
      if (Choice(fmt::format("{} at {} of allocation {}", BytesText(value.size), value.offset,
                             value.allocation),
                 fmt::format("buffer{}", b), context.navigation.selection().buffer == b))
        context.navigation.Select(Selection::OfBuffer(found.module, b));
    }
  }

  static std::span<const int32_t> Few(const std::vector<int32_t>& all) {
    return std::span(all).first(std::min(all.size(), kMaxShown));
  }

  std::shared_ptr<const hlo::Module> printed_;  // of text_ and folded_
  hlo::InstructionId printed_id_;
  std::string text_, folded_;
};

}  // namespace

std::unique_ptr<View> MakeSelectionView() { return std::make_unique<SelectionView>(); }

}  // namespace hloscope::viewer
