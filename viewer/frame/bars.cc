// The bar above (screens, way to the selection, search) and the one below (work, messages).
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/frame/application.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr ImGuiWindowFlags kBar = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                  ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoDocking |
                                  ImGuiWindowFlags_NoBringToFrontOnFocus |
                                  ImGuiWindowFlags_NoNavFocus;

}  // namespace

void Application::DrawToolbar(Frame& frame) {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  float height = ImGui::GetFrameHeight() + 12 * frame.scale;
  ImGui::SetNextWindowPos(viewport->WorkPos);
  ImGui::SetNextWindowSize(ImVec2(viewport->WorkSize.x, height));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme()[Color::kCanvas]);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8 * frame.scale, 6 * frame.scale));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  if (ImGui::Begin("##toolbar", nullptr, kBar)) {
    DrawScreenTabs(frame);
    ImGui::SameLine(0, 14 * frame.scale);
    if (QuietButton(theme(), "<##back", false, session_.navigation.CanGoBack()))
      Run(Command::kBack);
    Help(Command::kBack);
    ImGui::SameLine(0, 0);
    if (QuietButton(theme(), ">##forward", false, session_.navigation.CanGoForward()))
      Run(Command::kForward);
    Help(Command::kForward);
    ImGui::SameLine();

    const bool is_narrow = ImGui::GetWindowWidth() < 1280 * frame.scale;
    const float search_width = (is_narrow ? 170 : 240) * frame.scale, rest = 74 * frame.scale;
    float right = ImGui::GetWindowWidth() - search_width - rest - 16 * frame.scale;
    DrawCrumbs(frame, right);
    ImGui::SameLine(right);
    ImGui::PushStyleVar(ImGuiStyleVar_ButtonTextAlign, ImVec2(0, 0.5f));
    ImGui::PushStyleColor(ImGuiCol_Text, theme()[Color::kTextSecondary]);
    const char* search = is_narrow ? "Search   Ctrl+P" : "Search everything   Ctrl+P";
    if (ImGui::Button(search, ImVec2(search_width, 0))) Run(Command::kSearch);
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
    Help(Command::kSearch);
    ImGui::SameLine();
    if (QuietButton(theme(), theme().dark() ? "Light##theme" : "Dark##theme", false))
      Run(Command::kTheme);
    Help(Command::kTheme);
    ImGui::SameLine(0, 0);
    if (QuietButton(theme(), "?##keys", false)) Run(Command::kKeys);
    Help(Command::kKeys);
  }
  ImGui::End();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
}

void Application::DrawScreenTabs(Frame& frame) {
  ImGui::PushFont(frame.strong, 0);
  for (const ScreenRow& screen : ScreenRows()) {
    if (&screen != ScreenRows().data()) ImGui::SameLine(0, 2 * frame.scale);
    std::string label(screen.title);
    if (QuietButton(theme(), label.c_str(), dock_.screen() == screen.id))
      dock_.SetScreen(screen.id);
    ImGui::PushFont(frame.font, 0);
    Help(fmt::format("{}\nCtrl+{}", screen.help, &screen - ScreenRows().data() + 1));
    ImGui::PopFont();
  }
  ImGui::PopFont();
}

void Application::DrawCrumbs(Frame& frame, float right) {
  const Pending<dump::DumpModel>& dump = session_.document.dump();
  if (!dump.ready()) {
    ImGui::AlignTextToFramePadding();
    const std::vector<std::string>& profiles = session_.document.profile_paths();
    Label(theme(), Color::kTextSecondary,
          dump.waiting()     ? session_.document.path()
          : profiles.empty() ? "nothing is open"
                             : SafeText(profiles.front(), 120));
    return;
  }
  Selection now = session_.navigation.selection();
  const hlo::Module* module = nullptr;
  if (now.kind == SelectionKind::kInstruction || now.kind == SelectionKind::kComputation)
    module = session_.data.Module(now.module, now.stage).value.get();
  std::vector<Crumb> crumbs = Breadcrumbs(*dump, now, module);
  if (crumbs.empty()) crumbs.push_back({session_.document.path(), {}});
  // What is too long is cut, the longest first; where that is not enough only the end is shown.
  const bool has_stages = now.module >= 0 && now.module < std::ssize(dump->modules());
  const float room =
      right - ImGui::GetCursorPosX() - 8 * frame.scale - (has_stages ? ImGui::GetFrameHeight() : 0);
  const float between = 4 * frame.scale + ImGui::CalcTextSize("/").x;
  const auto width = [&](size_t most) {
    float sum = 0;
    for (const Crumb& crumb : crumbs)
      sum += ImGui::CalcTextSize(SafeText(crumb.text, most).c_str()).x + between +
             2 * ImGui::GetStyle().FramePadding.x;
    return sum;
  };
  size_t most = 100;
  for (;; crumbs.erase(crumbs.begin())) {
    for (most = 100; most > 12 && width(most) > room;) most -= 2;
    if (crumbs.size() == 1 || width(most) <= room) break;
  }
  for (size_t i = 0; i < crumbs.size(); ++i) {
    if (i > 0) {
      ImGui::SameLine(0, 2 * frame.scale);
      ImGui::AlignTextToFramePadding();
      Label(theme(), Color::kTextDisabled, "/");
      ImGui::SameLine(0, 2 * frame.scale);
    }
    std::string label = SafeText(crumbs[i].text, most) + "##crumb" + std::to_string(i);
    if (QuietButton(theme(), label.c_str(), false)) session_.navigation.Select(crumbs[i].selection);
    Help(SafeText(crumbs[i].text, 600));
  }
  if (has_stages) DrawStages(dump->modules()[static_cast<size_t>(now.module)], now);
}

// The stages of the module in view, where the list of modules is not beside it.
void Application::DrawStages(const dump::ModuleEntry& module, const Selection& now) {
  ImGui::SameLine(0, 0);
  if (ImGui::ArrowButton("##stages", ImGuiDir_Down)) ImGui::OpenPopup("##stages");
  Help("another stage of this module");
  if (!ImGui::BeginPopup("##stages")) return;
  for (size_t k = 0; k < module.stages.size(); ++k) {
    const auto stage = static_cast<int32_t>(k);
    const std::string label = fmt::format("{}##{}", SafeText(module.stages[k].name, 100), k);
    if (ImGui::Selectable(label.c_str(), now.stage == stage))
      session_.navigation.Select(Selection::OfStage(now.module, stage));
  }
  ImGui::EndPopup();
}

void Application::DrawStatusBar(Frame& frame) {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  float height = 26 * frame.scale;
  ImGui::SetNextWindowPos(
      ImVec2(viewport->WorkPos.x, viewport->WorkPos.y + viewport->WorkSize.y - height));
  ImGui::SetNextWindowSize(ImVec2(viewport->WorkSize.x, height));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme()[Color::kCanvas]);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * frame.scale, 4 * frame.scale));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(6 * frame.scale, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(8, 8));
  if (ImGui::Begin("##status", nullptr, kBar)) {
    ImGui::PushFont(nullptr, kSmallSize);
    std::vector<TaskState> tasks = session_.tasks.Running();
    if (tasks.empty()) {
      const Pending<dump::DumpModel>& dump = session_.document.dump();
      if (session_.was_cancelled()) {
        Label(theme(), Color::kWarning, "cancelled: the dump is only partly loaded");
        ImGui::SameLine();
        CommandButton(frame, Command::kResume, "Resume##resume", true);
      } else if (dump.ready()) {
        Label(theme(), Color::kTextSecondary,
              fmt::format("{}   modules: {}   files: {}", SafeText(session_.document.path(), 120),
                          CountText(static_cast<int64_t>(dump->modules().size())),
                          CountText(static_cast<int64_t>(dump->files().size()))));
      } else {
        Label(theme(), Color::kTextSecondary, "Ctrl+O: open, F1: keyboard shortcuts");
      }
    } else {
      const TaskState& first = tasks.front();
      std::string text = SafeText(first.title, 120);
      if (first.total > 0)
        text += fmt::format("   {} of {}", CountText(first.done), CountText(first.total));
      if (tasks.size() > 1) text += fmt::format("   and {} more", tasks.size() - 1);
      Label(theme(), Color::kAccent, text);
      ImGui::SameLine();
      CommandButton(frame, Command::kCancel, "Cancel", true);
    }
    ImGui::PopFont();
  }
  ImGui::End();
  ImGui::PopStyleVar(4);
  ImGui::PopStyleColor();
}

// The dump is still being written, or was again.
void Application::DrawNews(Frame& frame) {
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(SafeText(ToString(session_.document.news()), 400).c_str());
  ImGui::PopTextWrapPos();
  CommandButton(frame, Command::kReload, "Reload##news", true);
  ImGui::SameLine();
  if (ImGui::SmallButton("Later##news")) session_.document.ForgetNews();
  Help("keep the loaded dump; F5 reloads later");
}

// Sentences lie above the status bar, over the panels, until they are read.
void Application::DrawMessages(Frame& frame) {
  const bool has_news = session_.document.news().any();
  if (session_.messages.all().empty() && !has_news) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(ImVec2(viewport->WorkPos.x + viewport->WorkSize.x - 12 * frame.scale,
                                 viewport->WorkPos.y + viewport->WorkSize.y - 34 * frame.scale),
                          ImGuiCond_Always, ImVec2(1, 1));
  float width = std::min(560 * frame.scale, viewport->WorkSize.x * 0.6f);
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0), ImVec2(width, viewport->WorkSize.y * 0.5f));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme()[Color::kRaised]);
  if (ImGui::Begin("##messages", nullptr,
                   ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                       ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoDocking |
                       ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav)) {
    constexpr size_t kShown = 6;
    const std::vector<Message>& messages = session_.messages.all();
    size_t first = messages.size() > kShown ? messages.size() - kShown : 0;
    if (first > 0) Label(theme(), Color::kTextSecondary, fmt::format("{} earlier messages", first));
    for (size_t i = first; i < messages.size(); ++i) {
      Color color = messages[i].severity == Severity::kError     ? Color::kError
                    : messages[i].severity == Severity::kWarning ? Color::kWarning
                                                                 : Color::kText;
      ImGui::PushStyleColor(ImGuiCol_Text, theme()[color]);
      ImGui::PushTextWrapPos(0);
      ImGui::TextUnformatted(SafeText(messages[i].text, 600).c_str());
      ImGui::PopTextWrapPos();
      ImGui::PopStyleColor();
    }
    if (!messages.empty()) {
      if (ImGui::SmallButton("Close##messages")) session_.messages.Clear();
      Help("hide these messages");
    }
    if (has_news) DrawNews(frame);
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace hloscope::viewer
