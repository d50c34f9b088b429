// A line that is drawn over itself.
#include "app/status_line.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "app/output.h"
#include "core/base/text.h"

namespace hloscope::app {

StatusLine::StatusLine() : enabled_(isatty(STDERR_FILENO) != 0) {}

StatusLine::~StatusLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void StatusLine::Show(std::string_view line) {
  const auto now = std::chrono::steady_clock::now();
  if (!enabled_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  shown_ = true;
  std::string text = EscapeForTerminal(line);
  text.resize(std::min(text.size(), TerminalWidth() - 1));
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace hloscope::app
