// Standard output and standard error of the commands.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::app {

// Appends to standard output (buffered; thread-safe, each call's bytes stay together).
void WriteOut(std::string_view text);
// Text for a person: control characters and invalid UTF-8 escaped, line breaks kept.
void PrintOut(std::string_view text);
// One line on standard error, escaped like PrintOut.
void PrintError(std::string_view line);
inline void PrintError(const Error& error) { PrintError(error.ToString()); }
// Columns of the terminal that standard output is, else of $COLUMNS, else 100; from 40 to 120.
size_t TerminalWidth();
// Flushes standard output; false if anything could not be written (disk full, closed pipe).
bool FlushOut();

// Progress on standard error where that is a terminal: "verify 120/4000". Nothing else.
class Progress {
 public:
  Progress(std::string_view what, size_t total, bool enabled = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Step();

 private:
  void Draw();
  std::string what_;
  size_t total_, done_ = 0;
  bool enabled_;
  std::mutex mutex_;
  int64_t last_drawn_ms_ = 0;
};

}  // namespace hloscope::app
