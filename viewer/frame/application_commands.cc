// What the commands of commands.def do, other than those of single views.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/file.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/text/text.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/frame/application.h"
#include "viewer/frame/keyboard.h"
#include "viewer/frame/svg.h"

namespace hloscope::viewer {

// Letters go to the panel with the keys; F9 and the like to any panel that is in front.
bool Application::IsForKeys(const CommandRow& row, bool is_text) {
  if (row.when == "always" || row.when == "open" || IsOfView(row, dock_.acting_view())) return true;
  const Dock::Panel* panel = dock_.Find(FirstViewOf(row));
  return !is_text && panel != nullptr && panel->width > 0;
}

void Application::RunKeys() {
  const std::vector<PressedCommand> pressed = PressedCommands();
  if (popups_.kind() != Popups::Kind::kNone) {
    if (ImGui::IsKeyPressed(ImGuiKey_Escape)) popups_.Close();
    return;
  }
  for (const auto& [command, is_text] : pressed) {
    if (IsForKeys(RowOf(command), is_text)) Run(command);
  }
}

void Application::Reload() {
  if (session_->document.dump().ready()) Save();
  unsettled_frames_ = 3;
  session_->Refresh();
}

void Application::Run(Command command) {
  const CommandRow& row = RowOf(command);
  // What could not be read may be asked for again.
  const bool open = session_->document.dump().ready() ||
                    !session_->document.profile_paths().empty() ||
                    (command == Command::kReload && !session_->document.path().empty());
  if (row.when != "always" && !open) {
    session_->messages.Post(Severity::kNote, fmt::format("{}: nothing is open", row.title));
    return;
  }
  // The view with the keys comes first; a command that names a view goes to that one.
  bool of_view = row.when != "always" && row.when != "open";
  const std::string acting = dock_.acting_view();
  Dock::Panel* panel =
      dock_.Find(of_view && !IsOfView(row, acting) ? FirstViewOf(row) : std::string_view(acting));
  Frame frame = MakeFrame();
  if (panel != nullptr && panel->view->Run(command, frame)) {
    // As from the palette: what it does is shown.
    if (panel->width <= 0) dock_.Focus(panel->row->id);
    return;
  }
  if (of_view) return;
  switch (command) {
    case Command::kKeys:
      return popups_.Show(Popups::Kind::kKeys);
    case Command::kPalette:
      return popups_.Show(Popups::Kind::kPalette);
    case Command::kSearch:
    case Command::kFind:  // of a view that has no search of its own
      return popups_.Show(Popups::Kind::kSearch);
    case Command::kCompareProfile:
      return popups_.Show(Popups::Kind::kCompareProfile);
    case Command::kOpen:
      return popups_.Show(Popups::Kind::kOpen);
    case Command::kReload:
      return Reload();
    case Command::kQuit:
      quit_ = true;
      return;
    case Command::kUndo:
      UndoView(false);
      return;
    case Command::kRedo:
      UndoView(true);
      return;
    case Command::kNextView:
      return dock_.FocusNext();
    case Command::kResetLayout:
      return dock_.Reset();
    case Command::kCancel:
      return session_->CancelWork();
    case Command::kResume:
      if (session_->document.dump().failed()) return Run(Command::kReload);
      return session_->Resume();
    case Command::kExportPng:
      return ExportView(ExportFormat::kPng);
    case Command::kExportSvg:
      return ExportView(ExportFormat::kSvg);
    case Command::kExportCsv:
      return ExportView(ExportFormat::kCsv);
    default:
      if (!RunQuestion(command) && !RunOnSelection(command)) RunScreen(command);
  }
}

// A question is answered as soon as what it needs is read.
bool Application::RunQuestion(Command command) {
  const std::optional<Question> question = QuestionOf(command);
  if (!question) return false;
  if (*question != Question::kNan && *question != Question::kGuilty) {
    asked_ = question;
    return true;
  }
  RunIn(*question == Question::kNan ? "divergence" : "verdict", command);
  return true;
}

void Application::RunIn(std::string_view view, Command command) {
  dock_.Focus(view);
  session_->requests.Show(view);  // once more, when the tabs of its screen are there
  Frame frame = MakeFrame();
  dock_.Find(view)->view->Run(command, frame);
}

void Application::TryAnswer() {
  if (!asked_) return;
  const Answer* answer = AnswerTo(*session_, *asked_, true);
  if (answer == nullptr) return;
  const Question question = *std::exchange(asked_, {});
  if (question == Question::kPasses) session_->marks.passes_by_change = true;
  if (question == Question::kDifference && answer->is_known) {
    session_->marks.comparison = {.module = session_->navigation.module(), .stage = 0};
  }
  if (answer->selection.kind != SelectionKind::kNothing)
    session_->navigation.Select(answer->selection);
  if (!answer->view.empty()) dock_.Focus(answer->view);
  if (!answer->is_known) session_->messages.Post(Severity::kNote, answer->text);
}

bool Application::RunOnSelection(Command command) {
  switch (command) {
    case Command::kCompare:
      popups_.Show(Popups::Kind::kCompare);
      return true;
    case Command::kReduce:
      RunIn("reducer", command);
      return true;
    case Command::kPin: {
      Frame frame = MakeFrame();
      dock_.Find("pinned")->view->Run(command, frame);
      // Brought to the front where it has a place; elsewhere the sentence has to do.
      if (dock_.screen() == "divergence") BringUp("pinned");
      return true;
    }
    case Command::kChooseInputs:
      popups_.Show(Popups::Kind::kInputs);
      return true;
    case Command::kMakeBundle:
      popups_.ShowBundle(BundlePopup::DefaultPath(*session_));
      return true;
    case Command::kShowCode:
      dock_.Focus("code");
      return true;
    case Command::kBack:
      session_->navigation.Back();
      return true;
    case Command::kForward:
      session_->navigation.Forward();
      return true;
    case Command::kDeselect:
      session_->navigation.Select({});
      session_->messages.Clear();
      return true;
    case Command::kBookmark:
      popups_.Show(Popups::Kind::kNote);
      return true;
    case Command::kPreviousPass:
      StepStage(-1, false);
      return true;
    case Command::kNextPass:
      StepStage(1, false);
      return true;
    case Command::kPreviousChange:
      StepStage(-1, true);
      return true;
    case Command::kNextChange:
      StepStage(1, true);
      return true;
    case Command::kOperand:
    case Command::kUser:
    case Command::kCallee:
    case Command::kCaller:
    case Command::kCopy:
    case Command::kCopyText:
    case Command::kShowUses:
      StepGraph(command);
      return true;
    default:
      return false;
  }
}

void Application::RunScreen(Command command) {
  auto first = static_cast<int>(Command::kScreenHome);
  int screen = static_cast<int>(command) - first;
  if (screen >= 0 && screen < static_cast<int>(ScreenRows().size()))
    return dock_.SetScreen(ScreenRows()[static_cast<size_t>(screen)].id);
  switch (command) {
    case Command::kTheme:
      return SetTheme(!theme_.dark());
    case Command::kLarger:
      zoom_ = std::min(3.0f, zoom_ * 1.1f);
      return SetTheme(theme_.dark());
    case Command::kSmaller:
      zoom_ = std::max(0.5f, zoom_ / 1.1f);
      return SetTheme(theme_.dark());
    case Command::kActualSize:
      zoom_ = 1;
      return SetTheme(theme_.dark());
    default:
      return;
  }
}

// To the stage before or after; with `to_change` to the nearest pass that touched the selection.
void Application::StepStage(int direction, bool to_change) {
  const int32_t module = session_->navigation.module();
  if (module < 0) return;
  const int32_t stage =
      dock_.screen() == "passes" ? ShownChangeStage(*session_) : session_->navigation.stage();
  auto stages = static_cast<int32_t>(
      session_->document.dump()->modules()[static_cast<size_t>(module)].stages.size());
  const Counterparts& known = session_->navigation.counterparts();
  for (int32_t next = stage + direction; next >= 0 && next < stages; next += direction) {
    hlo::InstructionId there = known.In(next);
    if (to_change && !known.TouchedInto(next)) continue;
    return session_->navigation.Select(there.valid() ? Selection::OfInstruction(module, next, there)
                                                     : Selection::OfStage(module, next));
  }
}

void Application::StepGraph(Command command) {
  const Selection now = session_->navigation.selection();
  int32_t stage = now.stage >= 0 ? now.stage : session_->navigation.stage(),
          module = session_->navigation.module();
  hlo::InstructionId id = session_->navigation.InstructionIn(stage);
  if (module < 0 || !id.valid()) return;
  const Pending<hlo::Module>& read = session_->data.Module(module, stage);
  if (!read.ready() || id.index >= read->instructions().size()) return;
  const hlo::Module& m = *read;
  hlo::InstructionId next;
  switch (command) {
    case Command::kOperand:
      if (!m.operands(id).empty()) next = m.operands(id)[0];
      break;
    case Command::kUser:
      if (!hlo::UsersOf(m).users(id).empty()) next = hlo::UsersOf(m).users(id).front();
      break;
    case Command::kCallee:
      if (const auto calls = hlo::CallGraphOf(m).calls(id); !calls.empty()) {
        next = m[calls.front().callee].root;
      }
      break;
    case Command::kCaller:
      next = hlo::CallGraphOf(m).FirstCaller(m[id].computation);
      break;
    case Command::kShowUses:
      return popups_.ShowSearch(std::string(hlo::ToString(m[id].opcode)));
    case Command::kCopy:
      return ImGui::SetClipboardText(std::string(m.name(id)).c_str());
    default: {
      std::string text;
      hlo::PrintText(m, id, hlo::TextFormat::kElided, text);
      return ImGui::SetClipboardText(text.c_str());
    }
  }
  if (next.valid()) session_->navigation.Select(Selection::OfInstruction(module, stage, next));
}

// What cannot be exported says so at once; else a path is asked for.
void Application::ExportView(ExportFormat format) {
  const std::string id = dock_.acting_view();
  Dock::Panel* panel = dock_.Find(id);
  if (panel == nullptr)
    return session_->messages.Post(Severity::kNote, "click the view to export first");
  if (format == ExportFormat::kCsv) {
    if (Result<std::string> text = panel->view->Export(format, *session_); !text)
      return session_->messages.Post(Severity::kError, text.error().ToString());
  }
  const char* ending = format == ExportFormat::kPng   ? "png"
                       : format == ExportFormat::kSvg ? "svg"
                                                      : "csv";
  exported_ = {.view = id, .format = format, .path = {}};
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  popups_.ShowExport(fmt::format("Export {} as {}", panel->row->title, ending),
                     (here / fmt::format("hloscope-{}.{}", id, ending)).string());
}

// Pictures are taken of a frame without the popup that asked for the path.
void Application::WriteExport(const std::string& path) {
  exported_.path = path;
  exported_.frame = frames_ + 2;
}

void Application::FinishExport() {
  constexpr int kMaxTries = 30;  // a minimized window has no pixels, and stays as it is
  if (exported_.path.empty() || frames_ < exported_.frame) return;
  Dock::Panel* panel = dock_.Find(exported_.view);
  Result<std::string> bytes = std::unexpected(Error{});
  if (panel == nullptr || panel->width <= 0) {
    bytes = InputError(exported_.view + " is no longer visible", "show it and export again");
  } else if (exported_.format == ExportFormat::kPng) {
    Result<Picture> picture = surface_->Pixels();
    const bool may_come = !picture && picture.error().error_class == ErrorClass::kEnvironment;
    if (may_come && ++exported_.tries < kMaxTries) return;  // with the next frame
    auto whole = [](float value) { return static_cast<int>(value); };
    bytes = picture ? ToPng(picture->Cut(whole(panel->x), whole(panel->y), whole(panel->width),
                                         whole(panel->height)))
                    : Result<std::string>(std::unexpected(picture.error()));
  } else {
    bytes = panel->view->Export(exported_.format, *session_);
    if (!bytes && exported_.format == ExportFormat::kSvg)
      bytes =
          SvgOfFrame(panel->x, panel->y, panel->width, panel->height, theme_.Rgb(Color::kPanel));
  }
  const std::string path = std::exchange(exported_.path, {});
  Status written =
      bytes ? WriteFileAtomically(path, *bytes) : Status(std::unexpected(bytes.error()));
  session_->messages.Post(written ? Severity::kNote : Severity::kError,
                          written ? "saved " + path : "not saved: " + written.error().ToString());
}

}  // namespace hloscope::viewer
