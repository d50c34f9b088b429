// Thread: what one thread of a kernel did on the simulated GPU, step by step, forward and back.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/hlo/analysis/find_instruction.h"
#include "core/replay/platform_table.h"
#include "viewer/facts/kernel_of_selection.h"
#include "viewer/lab/thread_trace.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/views/thread_step.h"
#include "viewer/widgets/text_pane.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using ptx::ThreadTrace;

// "64", "2 × 3 × 1".
std::string ExtentText(const dump::Extent3& extent) {
  if (extent[1] == 1 && extent[2] == 1) return CountText(extent[0]);
  return fmt::format("{} × {} × {}", extent[0], extent[1], extent[2]);
}

class ThreadView : public View {
 public:
  ThreadView() { pane_.SetArrows(false); }

  void Draw(Frame& frame) override {
    Context& context = frame.context;
    traced_ = nullptr;
    if (frame.focused) TakeArrows();
    if (!context.document.dump().ready()) return Sentence(frame, "no dump is open");
    const int32_t module = context.navigation.module();
    if (module < 0) return Sentence(frame, "no module in this dump");
    const Pending<dump::KernelTable>& kernels = context.data.Kernels(module);
    if (!ShowPending(frame, kernels, "the kernels")) return;
    TakeWanted(context, module, *kernels);
    choice_.module = module;
    choice_.kernel = KernelOfSelection(context, *kernels);
    const dump::Kernel* kernel =
        choice_.kernel < 0 ? nullptr : &kernels->kernels[static_cast<size_t>(choice_.kernel)];
    if (!DrawKernels(frame, *kernels, kernel)) return;
    if (kernel == nullptr) {
      return Sentence(
          frame, "select a kernel, or an instruction that has one, to trace one of its threads");
    }
    if (!kernel->ptx.found()) {
      return Sentence(frame, "no PTX of this kernel in the dump: the simulated GPU runs PTX only");
    }
    DrawNumbers(frame, *kernel);
    const Pending<TracedThread>* pending = ThreadTraceOf(context, choice_);
    if (pending == nullptr) {
      return Sentence(frame,
                      "Trace runs the module on the simulated GPU up to this kernel and records "
                      "the steps of one thread");
    }
    if (!ShowPending(frame, *pending, "the thread's steps")) return;
    Show(*pending);
    DrawTrace(frame, *kernel);
  }

  bool Run(Command command, Frame& frame) override {
    if (command == Command::kTraceThread) {
      Ask(frame.context);
    } else if (command == Command::kThreadForward) {
      GoTo(step_ + 1);
    } else if (command == Command::kThreadBack) {
      GoTo(step_ - 1);
    } else if (command == Command::kThreadOrigin) {
      if (HasSteps())
        if (const int64_t origin = OriginOf(*traced_, step_); origin >= 0) GoTo(origin);
    } else {
      return false;
    }
    return true;
  }

  std::string State() const override { return block_ + ";" + thread_; }
  void SetState(std::string_view state) override {
    const size_t middle = state.find(';');
    if (middle == std::string_view::npos) return;
    block_ = state.substr(0, middle);
    thread_ = state.substr(middle + 1);
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || traced_ == nullptr) return View::Export(format, context);
    std::string out = "step,line,text,values,instruction\n";
    const ThreadTrace& thread = traced_->thread();
    for (int64_t step = thread.first; thread.Has(step); ++step) {
      const ptx::TracedInstruction& in = traced_->InstructionOf(step);
      out += fmt::format("{},{},{},{},{}\n", step, in.line, CsvCell(in.text),
                         CsvCell(ptx::StepText(traced_->trace, thread, thread.at(step))),
                         CsvCell(traced_->ValueOf(step)));
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    if (!HasSteps()) return {};
    const ptx::TracedInstruction& in = traced_->InstructionOf(step_);
    std::string out = fmt::format(
        "step {} of {}\nline {}: {}\n{}\n", step_, traced_->thread().executed, in.line, in.text,
        ptx::StepText(traced_->trace, traced_->thread(), traced_->thread().at(step_)));
    if (const std::string& name = traced_->ValueOf(step_); !name.empty())
      out += "value of " + name + "\n";
    for (const int64_t line : LinesOfSelected(context))
      out += fmt::format("highlighted {}\n", line + 1);
    return out;
  }

 private:
  // They are steps here: ImGui would move from button to button with them.
  static void TakeArrows() {
    if (ImGui::GetIO().WantTextInput || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) return;
    const ImGuiID self = ImGui::GetID("##arrows");
    for (const ImGuiKey key :
         {ImGuiKey_LeftArrow, ImGuiKey_RightArrow, ImGuiKey_UpArrow, ImGuiKey_DownArrow}) {
      ImGui::SetKeyOwner(key, self);
    }
  }

  bool HasSteps() const { return traced_ != nullptr && !traced_->thread().steps.empty(); }

  // A thread that another view asks for.
  void TakeWanted(Context& context, int32_t module, const dump::KernelTable& kernels) {
    if (!context.marks.Of<ThreadMarks>().wanted ||
        context.marks.Of<ThreadMarks>().wanted->module != module)
      return;
    const WantedThread wanted =
        *std::exchange(context.marks.Of<ThreadMarks>().wanted, std::nullopt);
    const auto kernel = std::ranges::find(kernels.kernels, wanted.kernel, &dump::Kernel::name);
    if (kernel == kernels.kernels.end()) return;
    choice_ = {.module = module,
               .kernel = static_cast<int32_t>(kernel - kernels.kernels.begin()),
               .block = wanted.block,
               .thread = wanted.thread};
    block_ = IndexText(wanted.block);
    thread_ = IndexText(wanted.thread);
    goal_line_ = wanted.line;
    shown_ = nullptr;
    context.navigation.Select(Selection::OfKernel(module, choice_.kernel));
    AskThreadTrace(context, choice_);
  }

  void Ask(Context& context) {
    const auto block = IndexOf(block_), thread = IndexOf(thread_);
    if (!block || !thread || choice_.kernel < 0) return;
    choice_.block = *block;
    choice_.thread = *thread;
    AskThreadTrace(context, choice_);
  }

  void Show(const Pending<TracedThread>& pending) {
    const bool is_new = shown_ != pending.value;
    shown_ = pending.value;
    traced_ = shown_.get();
    if (!HasSteps()) return;
    if (is_new) {
      step_ = traced_->thread().first;
      Reveal();
      is_new_ = true;
      // What was asked for went wrong where it was executed last.
      const auto found = traced_->steps_of.find(std::exchange(goal_line_, 0));
      if (found != traced_->steps_of.end()) step_ = found->second.back();
    }
    GoTo(step_);
  }

  void GoTo(int64_t step) {
    if (!HasSteps()) return;
    const ThreadTrace& thread = traced_->thread();
    step = std::clamp<int64_t>(step, thread.first, thread.first + std::ssize(thread.steps) - 1);
    if (std::exchange(step_, step) != step) Reveal();
  }
  void Reveal() {
    reveals_line_ = true;
    reveals_step_ = kFramesToSettle;
  }

  static std::string NoPtxText(const Context& context) {
    const auto& modules = context.document.dump()->modules();
    const auto module = static_cast<size_t>(context.navigation.module());
    std::string_view device;
    if (module < modules.size()) device = modules[module].device;
    if (device == "cpu" || device == "tpu") {
      return fmt::format(
          "this module was compiled for a {}, and the simulated GPU runs PTX: `hloscope compile "
          "MODULE --with {} --target h100 --dump DIR` compiles it for a GPU, without one",
          device == "cpu" ? "CPU" : "TPU", replay::PluginPlatform(replay::Devices::kGpu)->name);
    }
    return "no PTX in this dump: XLA_FLAGS=\"--xla_dump_to=FOLDER "
           "--xla_dump_emitter_re=^(llvm|ptx|triton-fusion)$\" writes it";
  }

  // The choice of a kernel; false: there is none.
  bool DrawKernels(Frame& frame, const dump::KernelTable& table, const dump::Kernel* chosen) {
    std::vector<int32_t> numbers;
    for (size_t i = 0; i < table.kernels.size(); ++i) {
      if (table.kernels[i].ptx.found()) numbers.push_back(static_cast<int32_t>(i));
    }
    if (numbers.empty()) {
      Sentence(frame, NoPtxText(frame.context));
      return false;
    }
    ImGui::SetNextItemWidth(std::min(300 * frame.scale, ImGui::GetContentRegionAvail().x));
    const std::string shown = chosen == nullptr ? "choose a kernel" : SafeText(chosen->name, 40);
    const bool is_open = ImGui::BeginCombo("##kernel", shown.c_str());
    Help(chosen == nullptr ? "kernel to trace" : "kernel to trace: " + chosen->name);
    if (!is_open) return true;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(numbers.size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const int32_t number = numbers[static_cast<size_t>(i)];
        const std::string& name = table.kernels[static_cast<size_t>(number)].name;
        const bool is_chosen = number == choice_.kernel;
        if (ImGui::Selectable(fmt::format("{}##{}", SafeText(name, 80), number).c_str(), is_chosen))
          frame.context.navigation.Select(Selection::OfKernel(choice_.module, number));
      }
    }
    ImGui::EndCombo();
    return true;
  }

  void DrawNumbers(Frame& frame, const dump::Kernel& kernel) {
    const auto field = [&](const char* name, std::string& text,
                           const std::optional<dump::Extent3>& extent) {
      SameLineIfRoom(200 * frame.scale);
      ImGui::AlignTextToFramePadding();
      Label(frame.theme, Color::kTextSecondary, name);
      ImGui::SameLine();
      ImGui::SetNextItemWidth(74 * frame.scale);
      const bool entered = ImGui::InputText(fmt::format("##{}", name).c_str(), &text,
                                            ImGuiInputTextFlags_EnterReturnsTrue);
      Help(fmt::format("index of the {}: x, or x,y,z; Enter: trace", name));
      if (extent) {
        ImGui::SameLine();
        Label(frame.theme, Color::kTextSecondary, "of " + ExtentText(*extent));
      }
      return entered;
    };
    const bool block_entered = field("block", block_, kernel.launch.blocks);
    const bool thread_entered = field("thread", thread_, kernel.launch.threads);
    const auto block = IndexOf(block_), thread = IndexOf(thread_);
    if (block && thread) {
      choice_.block = *block;
      choice_.thread = *thread;
    }
    if (block_entered || thread_entered) Ask(frame.context);
    SameLineIfRoom(ButtonWidth("Trace"));
    CommandButton(frame, Command::kTraceThread, "Trace");
    if (!block || !thread) Sentence(frame, "expected block and thread as 3 or 3,0,0");
  }

  void DrawTrace(Frame& frame, const dump::Kernel& kernel) {
    SameLineIfRoom(ButtonWidth("Back") + ButtonWidth("Forward") + ButtonWidth("Go to origin") +
                   60 * frame.scale);
    CommandButton(frame, Command::kThreadBack, "Back");
    ImGui::SameLine();
    CommandButton(frame, Command::kThreadForward, "Forward");
    ImGui::SameLine();
    CommandButton(frame, Command::kThreadOrigin, "Go to origin");
    DrawFacts(frame);
    if (traced_->trace.fault) {
      Label(frame.theme, Color::kWarning,
            "the block ends with " + traced_->trace.fault->ToString());
    }
    if (!HasSteps()) return Sentence(frame, "the thread executed nothing");
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                       ImGuiTableFlags_SizingStretchProp;
    if (!ImGui::BeginTable("##thread", 2, kFlags, ImGui::GetContentRegionAvail())) return;
    ImGui::TableSetupColumn("PTX", 0, 1.4F);
    ImGui::TableSetupColumn("step", 0, 1.0F);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    DrawCode(frame, kernel);
    ImGui::TableNextColumn();
    std::string picked;
    std::optional<int64_t> goal = DrawThreadStep(frame, *traced_, step_, picked);
    ImGui::Separator();
    const bool reveals = reveals_step_ > 0;
    reveals_step_ -= reveals ? 1 : 0;
    if (const auto clicked = DrawThreadSteps(frame, *traced_, step_, reveals)) goal = clicked;
    ImGui::EndTable();
    if (goal) GoTo(*goal);
    if (!picked.empty()) Select(frame.context, picked);
  }

  void DrawFacts(Frame& frame) {
    const ThreadTrace& thread = traced_->thread();
    std::string text = fmt::format("step {} of {}, {}", CountText(step_),
                                   CountText(thread.executed), traced_->inputs);
    if (thread.executed > std::ssize(thread.steps))
      text += fmt::format(", {} recorded", CountText(std::ssize(thread.steps)));
    if (!traced_->no_values.empty())
      text += "; values of fused instructions unknown: " + traced_->no_values;
    SameLineIfRoom(220 * frame.scale);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    FittedLabel(text);
    ImGui::PopStyleColor();
  }

  void DrawCode(Frame& frame, const dump::Kernel& kernel) {
    const Pending<TextDocument>& document = TextOfFile(frame.context, kernel.ptx.file);
    if (!ShowPending(frame, document, "the text")) return;
    pane_.Show(document.value);
    const int64_t line = int64_t{traced_->LineOf(step_)} - 1;
    std::set<int64_t> highlighted = LinesOfSelected(frame.context);
    highlighted.insert(line);
    pane_.SetHighlighted(std::move(highlighted));
    pane_.SetNotes([traced = shown_, step = step_](int64_t shown) {
      return NotesOfLine(*traced, step, static_cast<uint32_t>(shown + 1));
    });
    const bool is_new = std::exchange(is_new_, false);
    if (is_new) pane_.SetTop(std::max<int64_t>(0, line - kLinesAbove));
    if (std::exchange(reveals_line_, false) && !is_new) pane_.Reveal(line);
    ImGui::BeginChild("##code", ImGui::GetContentRegionAvail());
    const int64_t clicked = pane_.Draw(frame);
    ImGui::EndChild();
    if (clicked >= 0) GoToLine(static_cast<uint32_t>(clicked + 1));
  }

  // Those that make a value of the selected instruction, counted from 0.
  std::set<int64_t> LinesOfSelected(Context& context) const {
    const Selection& now = context.navigation.selection();
    if (now.kind != SelectionKind::kInstruction || now.module != choice_.module) return {};
    const Pending<hlo::Module>& module = context.data.Module(now.module, now.stage);
    if (!module.ready()) return {};
    const auto found = traced_->lines_of.find(module->name(now.instruction));
    std::set<int64_t> lines;
    if (found == traced_->lines_of.end()) return lines;
    for (const uint32_t line : found->second) lines.insert(int64_t{line} - 1);
    return lines;
  }

  // The next step that executes the line, from the beginning again where there is none.
  void GoToLine(uint32_t line) {
    const auto found = traced_->steps_of.find(line);
    if (found == traced_->steps_of.end()) return;
    const auto next = std::ranges::upper_bound(found->second, step_);
    GoTo(next == found->second.end() ? found->second.front() : *next);
  }

  void Select(Context& context, const std::string& name) const {
    const int32_t stage = context.document.dump()->FinalStage(choice_.module);
    const Pending<hlo::Module>& module = context.data.Module(choice_.module, stage);
    if (!module.ready()) return;
    const hlo::InstructionId id = hlo::FindInstruction(*module, name);
    if (id.valid()) {
      context.navigation.Select(Selection::OfInstruction(choice_.module, stage, id));
    }
  }

  ThreadChoice choice_;
  std::string block_ = "0", thread_ = "0";
  const TracedThread* traced_ = nullptr;       // of this frame
  std::shared_ptr<const TracedThread> shown_;  // that step_ is of
  int64_t step_ = 0;
  uint32_t goal_line_ = 0;  // that the next trace is shown at; 0: its beginning
  // The room of the list depends on the step above it, which is drawn again.
  static constexpr int kFramesToSettle = 3;
  static constexpr int64_t kLinesAbove = 4;  // a new trace's first step
  bool is_new_ = false;
  int reveals_step_ = 0;       // frames in which the list of steps moves to the step
  bool reveals_line_ = false;  // until the text is there
  TextPane pane_;
};

}  // namespace

std::unique_ptr<View> MakeThreadView() { return std::make_unique<ThreadView>(); }

}  // namespace hloscope::viewer
