// Buffered standard output, escaped standard error, a line that is drawn over itself.
#include "app/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "app/activity_line.h"
#include "app/output_limit.h"
#include "core/base/text.h"

namespace hloscope::app {
namespace {

std::atomic<bool> is_line_shown = false;
// Of activities: shown until a command shows a line of its own, or its output begins to come to the
// same terminal.
std::mutex activity_mutex;
std::atomic<bool> is_activity_over = false;

// Of --limit-output; calls of WriteOut come from several threads.
std::mutex limit_mutex;
std::optional<OutputLimit> limit;

constexpr const char* kWipe = "\r\033[K";

void EndActivity() {
  const std::lock_guard lock(activity_mutex);
  if (!is_activity_over.exchange(true)) StatusLine::Wipe();
}

void WriteBytes(std::string_view text) {
  static const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  if (is_terminal && !is_activity_over) EndActivity();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// Columns of the terminal that is open there.
std::optional<size_t> ColumnsOf(int terminal) {
  winsize size{};
  if (ioctl(terminal, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

// East Asian wide characters and emoji take two columns.
size_t CharacterColumns(uint32_t code) {
  constexpr std::pair<uint32_t, uint32_t> kWide[] = {
      {0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},  {0xFE30, 0xFE6F},
      {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  const bool is_wide = std::ranges::any_of(
      kWide, [&](const auto& range) { return code >= range.first && code <= range.second; });
  return is_wide ? 2 : 1;
}

}  // namespace

void LimitOutput(int64_t most, bool json) { limit.emplace(most, json); }

void WriteOut(std::string_view text) {
  if (!limit) return WriteBytes(text);
  const std::lock_guard lock(limit_mutex);
  WriteBytes(limit->Pass(text));
}

void PrintOut(std::string_view text) { WriteOut(EscapeForTerminal(text, LineBreaks::kKeep)); }

std::string MessageLines(std::string_view message) {
  message = message.substr(0, message.find_last_not_of('\n') + 1);
  size_t end = message.find('\n');
  std::string out = EscapeForTerminal(message.substr(0, end));
  while (end < message.size()) {
    message.remove_prefix(end + 1);
    end = message.find('\n');
    out += "\n    | " + EscapeForTerminal(message.substr(0, end), LineBreaks::kKeep);
  }
  return out;
}

void PrintError(std::string_view message) { PrintError(OwnLines(MessageLines(message))); }

// What was written before comes first where both go to one file.
void PrintError(OwnLines lines) {
  std::fflush(stdout);
  std::string text = is_line_shown.exchange(false) ? kWipe : "";
  text += EscapeForTerminal(lines.text, LineBreaks::kKeep) + '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

size_t TerminalWidth() {
  size_t columns = 100;
  const char* const variable = std::getenv("COLUMNS");
  if (const std::optional<size_t> own = ColumnsOf(STDOUT_FILENO)) {
    columns = *own;
  } else if (variable != nullptr && std::atol(variable) > 0) {
    columns = static_cast<size_t>(std::atol(variable));
  }
  return std::clamp<size_t>(columns, 40, 120);
}

std::string_view FirstColumns(std::string_view text, size_t columns) {
  size_t length = 0;
  while (length < text.size()) {
    const Utf8Character next = DecodeUtf8(text.substr(length));
    const size_t wide = CharacterColumns(next.code);
    if (wide > columns) break;
    columns -= wide;
    length += std::max<size_t>(next.length, 1);
  }
  return text.substr(0, length);
}

bool FlushOut() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

bool FinishOut() {
  if (limit) WriteBytes(limit->Finish());
  return FlushOut();
}

StatusLine::StatusLine(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO) != 0) {}

StatusLine::~StatusLine() {
  if (enabled_) Wipe();
}

void StatusLine::Wipe() {
  if (is_line_shown.exchange(false)) std::fputs(kWipe, stderr);
}

namespace {

void Draw(std::string_view line) {
  is_line_shown = true;
  const std::string text = EscapeForTerminal(line);
  const size_t columns = ColumnsOf(STDERR_FILENO).value_or(80);
  const std::string_view shown = FirstColumns(text, columns - 1);
  std::fprintf(stderr, "%s%.*s", kWipe, static_cast<int>(shown.size()), shown.data());
  std::fflush(stderr);
}

}  // namespace

void StatusLine::Show(std::string_view line) {
  const auto now = std::chrono::steady_clock::now();
  if (!enabled_ || now < next_) return;
  if (!is_activity_over) EndActivity();
  next_ = now + std::chrono::milliseconds(100);
  Draw(line);
}

bool ShowActivity(std::string_view line) {
  const std::lock_guard lock(activity_mutex);
  if (is_activity_over) return false;
  line.empty() ? StatusLine::Wipe() : Draw(line);
  return true;
}

void Progress::Step() {
  constexpr size_t kWidth = 24;
  std::lock_guard lock(mutex_);
  const size_t filled = ++done_ * kWidth / total_;
  line_.Show(fmt::format("{} [{}{}] {}/{}", what_, std::string(filled, '#'),
                         std::string(kWidth - filled, '.'), done_, total_));
}

}  // namespace hloscope::app
