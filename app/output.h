// Standard output and standard error of the commands.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/format_text.h"
#include "core/base/result.h"

namespace hloscope::app {

// Appends to standard output (buffered; thread-safe, each call's bytes stay together).
void WriteOut(std::string_view text);
// From now on prints at most `most` lines, or as JSON objects with as many entries in each list,
// and the last; and how many were left out.
void LimitOutput(int64_t most, bool json);
// Text for a person: control characters and invalid UTF-8 escaped, line breaks kept.
void PrintOut(std::string_view text);
// A message, escaped, as the lines to print: every line after the first begins with `    | `, so
// that none that quotes a file reads as one of ours.
std::string MessageLines(std::string_view message);
// A message, or lines of ours, on standard error.
void PrintError(std::string_view message);
void PrintError(OwnLines lines);
inline void PrintError(const Error& error) { PrintError(error.ToString()); }
// Columns of the terminal that standard output is, else of $COLUMNS, else 100; from 40 to 120.
size_t TerminalWidth();
// As much of `text`, which holds no control characters, as `columns` of a terminal show.
std::string_view FirstColumns(std::string_view text, size_t columns);
// Flushes standard output; false if anything could not be written (disk full, closed pipe).
bool FlushOut();
// The same at the end of the command, after what --limit-output held back.
bool FinishOut();

// How far long work is, as one line on standard error where that is a terminal; errors come in its
// place.
class StatusLine {
 public:
  explicit StatusLine(bool enabled = true);
  ~StatusLine();  // wipes it
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  // Shows the line instead of the last one, at most every tenth of a second. One call at a time.
  void Show(std::string_view line);
  // Before something else is printed on the terminal.
  static void Wipe();

 private:
  bool enabled_;
  std::chrono::steady_clock::time_point next_;
};

// "verify [####....] 120/4000" as a status line.
class Progress {
 public:
  Progress(std::string_view what, size_t total, bool enabled = true)
      : what_(what), total_(total), line_(enabled && total > 1) {}
  void Step();

 private:
  std::string what_;
  size_t total_, done_ = 0;
  std::mutex mutex_;
  StatusLine line_;
};

}  // namespace hloscope::app
