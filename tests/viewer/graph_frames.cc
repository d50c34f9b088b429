// Times of the screen Graph without a display, from the start of the process: first frame, first
// graph, frames while panning, zooming and typing a search, memory.
//   graph_frames PATH [--open | --first | --heat]
// --open: with groups and fusions opened, up to 2,000 boxes; --first: no more than the first graph;
// --heat: filled by bytes moved.
// Frame times are of the CPU from input to draw lists: nothing is rasterised.
#include <imgui.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "viewer/frame/application.h"

namespace hloscope::viewer {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

// Of this thread, or of all of the process: what else runs on the machine does not count.
double CpuMilliseconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

std::string Status(const char* key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key))
      return line.substr(line.find_first_not_of(" \t", line.find(':') + 1));
  }
  return "?";
}

// Draws a frame; the longest so far, in time of the CPU.
double DrawFrame(Application& application) {
  static double longest = 0;
  const double start = CpuMilliseconds();
  application.DrawFrame();
  return longest = std::max(longest, CpuMilliseconds() - start);
}

bool Settle(Application& application) {
  for (int k = 0; k < 20000; ++k) {
    DrawFrame(application);
    if (application.settled()) return true;
    if (!application.session().idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Draws until the pictures are there: boxes, wires, colours, hulls and lanes, fitted to the window.
bool ShowGraph(Application& application) {
  for (int k = 0; k < 20000; ++k) {
    DrawFrame(application);
    const Dock::Panel* panel = application.dock().Find("graph");
    if (panel != nullptr && !panel->view->HighlightedItems(application.session()).empty()) {
      DrawFrame(application);  // a new picture is fitted for the frame after its first
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void Report(const char* what, std::vector<double> times) {
  std::ranges::sort(times);
  auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("%s: median %.2f ms, 99th percentile %.2f ms, most %.2f ms of %zu frames\n", what,
              at(0.5), at(0.99), times.back(), times.size());
}

template <typename Act>
void Measure(Application& application, const char* what, Act act) {
  std::vector<double> times;
  for (int k = 0; k < 600; ++k) {
    act(k);
    const double start = CpuMilliseconds();
    application.DrawFrame();
    times.push_back(CpuMilliseconds() - start);
  }
  Report(what, std::move(times));
}

void Move(Application& application) {
  ImGuiIO& io = ImGui::GetIO();
  const Dock::Panel* panel = application.dock().Find("graph");
  const float x = panel->x + panel->width * 0.5f, y = panel->y + panel->height * 0.5f;
  Measure(application, "zooming", [&](int k) {
    io.AddMousePosEvent(x, y);
    io.AddMouseWheelEvent(0, k % 60 < 30 ? 0.6f : -0.6f);
  });
  io.AddMouseButtonEvent(2, true);
  application.DrawFrame();
  Measure(application, "panning", [&](int k) {
    const auto step = static_cast<float>(k % 100 < 50 ? k % 50 : 50 - k % 50);
    io.AddMousePosEvent(x + step * 3, y + step * 5);
  });
  io.AddMouseButtonEvent(2, false);
}

// A word letter by letter and back again, each with the frame that shows its hits.
void Type(Application& application, const char* what) {
  auto start = Clock::now();
  constexpr std::string_view kWord = "reduce fusion";
  const auto letters = static_cast<int>(kWord.size());
  ImGuiIO& io = ImGui::GetIO();
  std::vector<double> answers;
  Measure(application, what, [&](int k) {
    const int step = k / 2 % (3 * letters);
    if (k % 2 != 0) {
      start = Clock::now();
      while (!application.session().tasks.Running().empty()) std::this_thread::yield();
      answers.push_back(Milliseconds(start));
    } else if (step < letters) {
      io.AddInputCharacter(static_cast<unsigned char>(kWord[static_cast<size_t>(step)]));
    } else {
      io.AddKeyEvent(ImGuiKey_Backspace, (step - letters) % 2 == 0);
    }
  });
  Report("until a letter is answered", std::move(answers));
}

void Search(Application& application) {
  application.Run(Command::kSearch);
  const auto start = Clock::now();
  Settle(application);
  std::printf("names to search read in %.0f ms\n", Milliseconds(start));
  Type(application, "typing a search");
  for (bool down : {true, false}) {
    ImGui::GetIO().AddKeyEvent(ImGuiKey_Escape, down);
    Settle(application);
  }
  application.dock().Focus("graph");
  Settle(application);
  application.Run(Command::kFind);
  Settle(application);
  Type(application, "finding in the graph");
}

// Since the process was started, by the system's clock ticks of 10 ms.
double ProcessMilliseconds() {
  std::ifstream in("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  size_t at = text.rfind(')');
  for (int field = 2; field < 22; ++field) at = text.find(' ', at + 1);
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double started = std::stod(text.substr(at + 1)) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return (static_cast<double>(now.tv_sec) - started) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

int Main(int count, char** arguments) {
  ApplicationOptions options;
  options.surface = {.kind = SurfaceKind::kHeadless, .width = 1600, .height = 1000, .scale = 1};
  Result<std::unique_ptr<Application>> made = Application::Make(options);
  if (!made || count < 2) return 2;
  Application& application = **made;
  application.Run(Command::kScreenGraph);
  application.Open({arguments[1]});
  application.DrawFrame();
  std::printf("first frame after %.0f ms, %.0f ms of CPU\n", ProcessMilliseconds(),
              CpuMilliseconds(CLOCK_PROCESS_CPUTIME_ID));
  if (!ShowGraph(application)) return 1;
  std::printf(
      "first graph after %.0f ms, %.0f ms of CPU: %s", ProcessMilliseconds(),
      CpuMilliseconds(CLOCK_PROCESS_CPUTIME_ID),
      application.dock().Find("graph")->view->HighlightedItems(application.session()).c_str());
  if (count > 2 && std::string(arguments[2]) == "--first") return 0;
  if (!Settle(application)) return 1;
  std::printf("all of the screen after %.0f ms, %.0f ms of CPU\n", ProcessMilliseconds(),
              CpuMilliseconds(CLOCK_PROCESS_CPUTIME_ID));
  std::printf("longest frame until then: %.1f ms\n", DrawFrame(application));
  application.dock().Focus("graph");
  Settle(application);
  if (count > 2 && std::string(arguments[2]) == "--open") {
    auto opened = Clock::now();
    application.Run(Command::kGraphOpenAll);
    application.DrawFrame();
    std::printf(
        "opened in %.1f ms: %s", Milliseconds(opened),
        application.dock().Find("graph")->view->HighlightedItems(application.session()).c_str());
    Settle(application);
  }
  if (count > 2 && std::string(arguments[2]) == "--heat") {
    auto asked = Clock::now();
    application.Run(Command::kHeatBytes);
    Settle(application);
    std::printf(
        "heat after %.1f ms: %s", Milliseconds(asked),
        application.dock().Find("graph")->view->HighlightedItems(application.session()).c_str());
  }
  Move(application);
  Search(application);
  std::printf("memory now %s, most %s\n", Status("VmRSS").c_str(), Status("VmHWM").c_str());
  return 0;
}

}  // namespace
}  // namespace hloscope::viewer

int main(int count, char** arguments) { return hloscope::viewer::Main(count, arguments); }
