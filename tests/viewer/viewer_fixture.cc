// Frames without pixels, and the test engine between them.
#include "tests/viewer/viewer_fixture.h"

#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_te_context.h>
#include <imgui_te_engine.h>

#include <chrono>
#include <thread>

#include "core/backends/worker_services.h"
#include "core/replay/workers/worker_protocol.h"
#include "core/replay/workers/worker_server.h"
#include "tests/base/paths.h"
#include "viewer/frame/keyboard.h"
#include "viewer/window/misuse.h"

namespace hloscope::viewer {

std::string ViewerTest::Sample(std::string_view name) {
  return SourcePath("samples/") + std::string(name);
}

void ViewerTest::SetUp() {
  misuses_before_ = std::ssize(Misuses());
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  scratch_ = std::filesystem::path(::testing::TempDir()) /
             (std::string("hloscope_viewer_") + info->name());
  std::filesystem::remove_all(scratch_);
  std::filesystem::create_directories(scratch_);
}

void ViewerTest::TearDown() {
  Stop();
  std::vector<std::string> misuses = Misuses();
  misuses.erase(misuses.begin(), misuses.begin() + misuses_before_);
  EXPECT_EQ(misuses, std::vector<std::string>());
  std::filesystem::remove_all(scratch_);
}

void ViewerTest::Start(const std::vector<std::string>& paths, const std::string& state) {
  ApplicationOptions options;
  options.surface = surface_;
  options.state_folder = state;
  options.state_calls = state_calls_;
  options.worker_program = worker_program_;
  options.theme = state.empty() ? "dark" : "";
  Result<std::unique_ptr<Application>> made = Application::Make(options);
  ASSERT_TRUE(made) << made.error().ToString();
  application_ = *std::move(made);
  engine_ = ImGuiTestEngine_CreateContext();
  ImGuiTestEngineIO& io = ImGuiTestEngine_GetIO(engine_);
  io.ConfigRunSpeed = ImGuiTestRunSpeed_Fast;
  io.ConfigNoThrottle = true;
  io.ConfigRestoreFocusAfterTests = false;
  io.ConfigSavedSettings = false;
  io.ConfigFixedDeltaTime = 1.0f / 60;
  io.ConfigVerboseLevel = ImGuiTestVerboseLevel_Error;
  io.ConfigVerboseLevelOnError = ImGuiTestVerboseLevel_Info;
  io.ConfigLogToTTY = true;
  ImGuiTestEngine_Start(engine_, ImGui::GetCurrentContext());
  application_->DrawFrame();
  if (!paths.empty()) application_->Open(paths);
  Settle();
}

void ViewerTest::ShowPictures() {
  View& graph = *app().dock().Find("graph")->view;
  std::string state = graph.State();
  state.back() = '0';
  graph.SetState(state);
  Settle();
}

void ViewerTest::Stop() {
  if (application_ == nullptr) return;
  ImGuiTestEngine_Stop(engine_);
  application_.reset();
  ImGuiTestEngine_DestroyContext(engine_);
  engine_ = nullptr;
}

void ViewerTest::Settle() {
  for (int frame = 0; frame < 20000; ++frame) {
    application_->DrawFrame();
    ImGuiTestEngine_PostSwap(engine_);
    if (application_->settled()) return;
    if (!session().idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL() << "the viewer does not come to rest";
}

bool ViewerTest::DrawUntil(const std::function<bool()>& ready) {
  for (int frame = 0; frame < 60000; ++frame) {
    application_->DrawFrame();
    ImGuiTestEngine_PostSwap(engine_);
    if (ready()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

bool ViewerTest::WaitFor(const std::function<bool()>& ready) {
  for (int i = 0; i < 60000; ++i) {
    if (ready()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void ViewerTest::VisitEverything() {
  std::vector<Selection> selections = {{}};
  if (session().document.dump().ready()) {
    const dump::DumpModel& dump = *session().document.dump();
    constexpr size_t kMax = 12;
    for (size_t m = 0; m < std::min(kMax, dump.modules().size()); ++m) {
      auto module = static_cast<int32_t>(m);
      auto stages = static_cast<int32_t>(dump.modules()[m].stages.size());
      selections.push_back(Selection::OfModule(module));
      for (int32_t stage : {0, stages - 1})
        selections.push_back(Selection::OfInstruction(module, stage, hlo::InstructionId(1u)));
      selections.push_back(Selection::OfComputation(module, 0, hlo::ComputationId(0u)));
      selections.push_back(Selection::OfKernel(module, 0));
      selections.push_back(Selection::OfThunk(module, 0));
      selections.push_back(Selection::OfBuffer(module, 0));
    }
    for (size_t f = 0; f < std::min(4 * kMax, dump.files().size()); ++f)
      selections.push_back(Selection::OfTextLine(static_cast<int32_t>(f), 2));
  }
  for (const ScreenRow& screen : ScreenRows()) {
    for (const ViewRow& view : ViewRows()) {
      if (AreaOn(view, screen.id).empty()) continue;
      app().dock().SetScreen(screen.id);
      app().dock().Focus(view.id);
      Settle();
      HighlightedItems(view.id);
    }
  }
  for (const Selection& selection : selections) {
    session().navigation.Select(selection);
    for (const ScreenRow& screen : ScreenRows()) {
      app().dock().SetScreen(screen.id);
      Settle();
    }
  }
}

std::string ViewerTest::Messages() {
  std::string out;
  for (const Message& message : session().messages.all()) out += message.text + "\n";
  return out;
}

void ViewerTest::DriveWith(const std::function<void(ImGuiTestContext*)>& draw,
                           const std::function<void(ImGuiTestContext*)>& body) {
  std::string name = "drive" + std::to_string(drives_++);
  ImGuiTest* test =
      ImGuiTestEngine_RegisterTest(engine_, "viewer", name.c_str(), __FILE__, __LINE__);
  // The engine begins as with a mouse, which hides what the keys have led to.
  const bool is_shown = ImGui::GetCurrentContext()->NavCursorVisible;
  test->TestFunc = [&](ImGuiTestContext* context) {
    ImGui::SetNavCursorVisible(is_shown);
    body(context);
  };
  if (draw) test->GuiFunc = draw;
  ImGuiTestEngine_QueueTest(engine_, test, ImGuiTestRunFlags_RunFromCommandLine);
  while (!ImGuiTestEngine_IsTestQueueEmpty(engine_)) {
    application_->DrawFrame();
    ImGuiTestEngine_PostSwap(engine_);
  }
  EXPECT_EQ(test->Output.Status, ImGuiTestStatus_Success);
  Settle();
}

void ViewerTest::Press(std::string_view chord) {
  Drive([&](ImGuiTestContext* context) { context->KeyPress(ChordFromText(chord)); });
}
void ViewerTest::Type(std::string_view text) {
  Drive([&](ImGuiTestContext* context) { context->KeyCharsReplace(std::string(text).c_str()); });
}
void ViewerTest::Click(const std::string& item) {
  Drive([&](ImGuiTestContext* context) { context->ItemClick(item.c_str()); });
}

std::string ViewerTest::HighlightedItems(std::string_view view) {
  Dock::Panel* panel = app().dock().Find(view);
  return panel == nullptr ? "no such view" : panel->view->HighlightedItems(session());
}

std::string ViewerTest::SelectedName() {
  const Selection& now = session().navigation.selection();
  if (now.kind != SelectionKind::kInstruction) return std::string(ToString(now.kind));
  auto read = session().document.dump()->Module(now.module, now.stage);
  return read ? std::string((*read)->name(now.instruction)) : read.error().ToString();
}

}  // namespace hloscope::viewer

// As hloscope does: what runs in another process of "this program" is served here too.
int main(int count, char** arguments) {
  if (count > 2 && arguments[1] == hloscope::replay::kWorkerArgument) {
    return hloscope::replay::ServeWorker(std::span(arguments + 2, arguments + count),
                                         hloscope::replay::BackendServices());
  }
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
