// What the commands of commands.def do, other than those of single views.
#include "viewer/frame/command_handlers.h"

#include <imgui/imgui.h>

#include <optional>
#include <string>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/text/text.h"
#include "viewer/facts/answers.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/heat.h"
#include "viewer/frame/application.h"

namespace hloscope::viewer {
namespace {

template <Popups::Kind kind>
void Show(Application& app, Command /*command*/) {
  app.popups().Show(kind);
}
constexpr CommandHandler ShowKeys = Show<Popups::Kind::kKeys>,
                         ShowPalette = Show<Popups::Kind::kPalette>,
                         ShowSearch = Show<Popups::Kind::kSearch>,
                         ShowOpen = Show<Popups::Kind::kOpen>, ShowNote = Show<Popups::Kind::kNote>,
                         ShowCompare = Show<Popups::Kind::kCompare>,
                         ShowCompareProfile = Show<Popups::Kind::kCompareProfile>,
                         ShowInputs = Show<Popups::Kind::kInputs>,
                         ShowRecompile = Show<Popups::Kind::kRecompile>, OfView = nullptr;
void ShowBundle(Application& app, Command /*command*/) {
  app.popups().ShowBundle(BundlePopup::DefaultPath(app.session()));
}

void Reload(Application& app, Command /*command*/) { app.Reload(); }
void Quit(Application& app, Command /*command*/) { app.Quit(); }
void CloseSecond(Application& app, Command /*command*/) { app.session().second.Close(); }
void CloseProfiles(Application& app, Command /*command*/) { app.session().CloseProfiles(); }
void CancelWork(Application& app, Command /*command*/) { app.session().CancelWork(); }
void ResumeWork(Application& app, Command /*command*/) {
  app.session().document.dump().failed() ? app.Reload() : app.session().Resume();
}
void Undo(Application& app, Command /*command*/) { app.history().Undo(false); }
void Redo(Application& app, Command /*command*/) { app.history().Undo(true); }

void ShowScreen(Application& app, Command command) {
  const auto screen = static_cast<size_t>(command) - static_cast<size_t>(Command::kScreenHome);
  app.dock().SetScreen(ScreenRows()[screen].id);
}
void FocusNext(Application& app, Command /*command*/) { app.dock().FocusNext(); }
void FocusCode(Application& app, Command /*command*/) { app.dock().Focus("code"); }
void ResetLayout(Application& app, Command /*command*/) { app.dock().Reset(); }
void SwitchTheme(Application& app, Command /*command*/) {
  app.appearance().Set(!app.theme().dark(), app.zoom());
}
void Enlarge(Application& app, Command /*command*/) {
  app.appearance().Set(app.theme().dark(), app.zoom() * 1.1f);
}
void Shrink(Application& app, Command /*command*/) {
  app.appearance().Set(app.theme().dark(), app.zoom() / 1.1f);
}
void ResetSize(Application& app, Command /*command*/) {
  app.appearance().Set(app.theme().dark(), 1);
}

template <ExportFormat format>
void Export(Application& app, Command /*command*/) {
  app.exporter().Ask(format);
}
constexpr CommandHandler ExportPng = Export<ExportFormat::kPng>,
                         ExportSvg = Export<ExportFormat::kSvg>,
                         ExportCsv = Export<ExportFormat::kCsv>;

void AskQuestion(Application& app, Command command) {
  if (const std::optional<Question> question = QuestionOf(command)) app.Ask(*question);
}

void RunIn(std::string_view view, Application& app, Command command) {
  app.dock().Focus(view);
  app.session().requests.Show(view);  // once more, when the tabs of its screen are there
  Frame frame = app.MakeFrame();
  app.dock().Find(view)->view->Run(command, frame);
}
void RunInDivergence(Application& app, Command command) { RunIn("divergence", app, command); }
void RunInVerdict(Application& app, Command command) { RunIn("verdict", app, command); }
void RunInReducer(Application& app, Command command) { RunIn("reducer", app, command); }
void PinValues(Application& app, Command command) {
  Frame frame = app.MakeFrame();
  app.dock().Find("pinned")->view->Run(command, frame);
  // Brought to the front where it has a place; elsewhere the sentence has to do.
  if (app.dock().screen() == "divergence") app.BringUp("pinned");
}

void SetHeat(Application& app, Command command) {
  ChooseHeat(app.session(), static_cast<HeatMeasure>(static_cast<size_t>(command) -
                                                     static_cast<size_t>(Command::kHeatOff)));
}
void NextHeat(Application& app, Command /*command*/) {
  const auto next = static_cast<size_t>(MeasureInView(app.session())) + 1;
  ChooseHeat(app.session(), static_cast<HeatMeasure>(next % HeatRows().size()));
}

void Back(Application& app, Command /*command*/) { app.session().navigation.Back(); }
void Forward(Application& app, Command /*command*/) { app.session().navigation.Forward(); }
// One thing at a time: messages lie over what is selected.
void Deselect(Application& app, Command /*command*/) {
  Session& session = app.session();
  if (!session.messages.all().empty()) return session.messages.Clear();
  session.navigation.Select({});
}

// To the stage before or after; with `to_change` to the nearest pass that touched the selection.
void StepStage(Application& app, int direction, bool to_change) {
  Session& session = app.session();
  const int32_t module = session.navigation.module();
  if (module < 0) return;
  const int32_t stage =
      app.dock().screen() == "passes" ? ShownChangeStage(session) : session.navigation.stage();
  const auto stages = static_cast<int32_t>(
      session.document.dump()->modules()[static_cast<size_t>(module)].stages.size());
  const Counterparts& known = session.navigation.counterparts();
  for (int32_t next = stage + direction; next >= 0 && next < stages; next += direction) {
    const hlo::InstructionId there = known.In(next);
    if (to_change && !known.TouchedInto(next)) continue;
    return session.navigation.Select(there.valid() ? Selection::OfInstruction(module, next, there)
                                                   : Selection::OfStage(module, next));
  }
}
void SelectPreviousStage(Application& app, Command /*command*/) { StepStage(app, -1, false); }
void SelectNextStage(Application& app, Command /*command*/) { StepStage(app, 1, false); }
void SelectPreviousChange(Application& app, Command /*command*/) { StepStage(app, -1, true); }
void SelectNextChange(Application& app, Command /*command*/) { StepStage(app, 1, true); }

// The selected instruction as it is in the stage in view.
struct Chosen {
  int32_t module = -1, stage = -1;
  hlo::InstructionId id;
  const hlo::Module& in;
};
std::optional<Chosen> ChosenIn(Session& session) {
  const Selection& now = session.navigation.selection();
  const int32_t stage = now.stage >= 0 ? now.stage : session.navigation.stage();
  const int32_t module = session.navigation.module();
  const hlo::InstructionId id = session.navigation.InstructionIn(stage);
  if (module < 0 || !id.valid()) return std::nullopt;
  const Pending<hlo::Module>& read = session.data.Module(module, stage);
  if (!read.ready() || id.index >= read->instructions().size()) return std::nullopt;
  return Chosen{module, stage, id, *read};
}

template <typename F>
void SelectFrom(Application& app, F next_of) {
  const auto chosen = ChosenIn(app.session());
  const hlo::InstructionId next = chosen ? next_of(chosen->in, chosen->id) : hlo::InstructionId();
  if (next.valid())
    app.session().navigation.Select(Selection::OfInstruction(chosen->module, chosen->stage, next));
}
void SelectOperand(Application& app, Command /*command*/) {
  SelectFrom(app, [](const hlo::Module& m, hlo::InstructionId id) {
    return m.operands(id).empty() ? hlo::InstructionId() : m.operands(id)[0];
  });
}
void SelectUser(Application& app, Command /*command*/) {
  SelectFrom(app, [](const hlo::Module& m, hlo::InstructionId id) {
    const auto users = hlo::UsersOf(m).users(id);
    return users.empty() ? hlo::InstructionId() : users.front();
  });
}
void SelectCallee(Application& app, Command /*command*/) {
  SelectFrom(app, [](const hlo::Module& m, hlo::InstructionId id) {
    const auto calls = hlo::CallGraphOf(m).calls(id);
    return calls.empty() ? hlo::InstructionId() : m[calls.front().callee].root;
  });
}
void SelectCaller(Application& app, Command /*command*/) {
  SelectFrom(app, [](const hlo::Module& m, hlo::InstructionId id) {
    return hlo::CallGraphOf(m).FirstCaller(m[id].computation);
  });
}
void SearchOpcode(Application& app, Command /*command*/) {
  if (const auto chosen = ChosenIn(app.session()))
    app.popups().ShowSearch(std::string(hlo::ToString(chosen->in[chosen->id].opcode)));
}
void CopyName(Application& app, Command /*command*/) {
  if (const auto chosen = ChosenIn(app.session()))
    ImGui::SetClipboardText(std::string(chosen->in.name(chosen->id)).c_str());
}
void CopyText(Application& app, Command /*command*/) {
  const auto chosen = ChosenIn(app.session());
  if (!chosen) return;
  std::string text;
  hlo::PrintText(chosen->in, chosen->id, hlo::TextFormat::kElided, text);
  ImGui::SetClipboardText(text.c_str());
}

constexpr CommandHandler kHandlers[] = {
#define COMMAND(name, id, title, keys, when, handler, help) handler,
#include "viewer/commands/commands.def"
#undef COMMAND
};

}  // namespace

CommandHandler HandlerOf(Command command) { return kHandlers[static_cast<size_t>(command)]; }

}  // namespace hloscope::viewer
