// Divergence: the commands that compare two platforms on the selected module; opening runs nothing.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <string>

#include "viewer/view.h"
#include "viewer/widgets.h"

namespace hloscope::viewer {
namespace {

class DivergenceView : public View {
 public:
  void Draw(Frame& frame) override {
    const Pending<dump::DumpModel>& dump = frame.session.dump();
    if (!ShowPending(frame, dump, "the dump")) return;
    int32_t module = frame.session.module();
    int32_t file = module < 0 ? -1 : dump->ModuleFile(module, 0);
    if (file < 0) {
      Sentence(frame, "no module is there to run");
      return;
    }
    Title(frame, "Two platforms against each other");
    Sentence(frame,
             "Nothing is run from a window that only opens dumps. These commands run the module in "
             "view, in a process of its own:");
    std::string path = Quoted(dump->FullPath(file));
    hlo::InstructionId id = frame.session.InstructionIn(0);
    Ask(frame, "Do the reference evaluator and XLA:CPU agree?",
        fmt::format("hloscope run {} --platform xla-cpu --reference_platform interpreter", path));
    Ask(frame, "Which instruction do they disagree about?",
        fmt::format("hloscope run {} --platform xla-cpu --reference_platform interpreter "
                    "--isolate_instructions",
                    path));
    Ask(frame, "Where does the NaN come from?", fmt::format("hloscope run {} --find nan", path));
    const Pending<hlo::Module>& read = frame.session.Module(module, 0);
    if (id.valid() && read.ready() && id.index < read->instructions().size()) {
      Ask(frame, "The selected instruction as a module of its own, with its operands",
          fmt::format("hloscope extract {} {} -o small.hlo", path,
                      Quoted(std::string(read->name(id)))));
    }
  }

 private:
  // For a shell; names of files are strangers' words.
  static std::string Quoted(const std::string& text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }

  static void Ask(Frame& frame, const char* question, const std::string& command) {
    ImGui::PushID(question);
    ImGui::Dummy(ImVec2(0, 6 * frame.scale));
    Label(question);
    if (ImGui::SmallButton("Copy")) ImGui::SetClipboardText(command.c_str());
    ImGui::SameLine();
    ImGui::PushFont(frame.mono, 15);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kAccent]);
    FittedLabel(command);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    ImGui::PopID();
  }
};

}  // namespace

std::unique_ptr<View> MakeDivergenceView() { return std::make_unique<DivergenceView>(); }

}  // namespace hloscope::viewer
