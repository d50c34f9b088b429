// Buffered standard output, escaped standard error, progress.
#include "app/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "core/base/text.h"

namespace hloscope::app {
namespace {

int64_t NowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void WriteOut(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void PrintOut(std::string_view text) { WriteOut(EscapeForTerminal(text, LineBreaks::kKeep)); }

void PrintError(std::string_view line) {
  std::string text = EscapeForTerminal(line, LineBreaks::kKeep) + '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

size_t TerminalWidth() {
  winsize size{};
  size_t columns = 100;
  const char* const variable = std::getenv("COLUMNS");
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    columns = size.ws_col;
  } else if (variable != nullptr && std::atol(variable) > 0) {
    columns = static_cast<size_t>(std::atol(variable));
  }
  return std::clamp<size_t>(columns, 40, 120);
}

bool FlushOut() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

Progress::Progress(std::string_view what, size_t total, bool enabled)
    : what_(what), total_(total), enabled_(enabled && total > 1 && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (enabled_ && last_drawn_ms_ != 0) std::fputs("\r\033[K", stderr);
}

void Progress::Step() {
  if (!enabled_) return;
  std::lock_guard lock(mutex_);
  ++done_;
  if (int64_t now = NowMs(); now - last_drawn_ms_ >= 100) {
    last_drawn_ms_ = now;
    Draw();
  }
}

void Progress::Draw() {
  constexpr size_t kWidth = 24;
  size_t filled = done_ * kWidth / total_;
  std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\r%s [%s] %zu/%zu", what_.c_str(), bar.c_str(), done_, total_);
  std::fflush(stderr);
}

}  // namespace hloscope::app
