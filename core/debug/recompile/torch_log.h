// TorchLog: the analysis that PyTorch/XLA prints with PT_XLA_DEBUG_LEVEL=2.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/recompile/compile_log.h"

namespace hloscope::debug {

class TorchLog {
 public:
  explicit TorchLog(CompileLog& log, std::string_view name) : log_(log), name_(name) {}

  // Takes one line, if it is one of PyTorch/XLA's.
  bool Take(std::string_view line, int64_t number);
  void Finish() { End(); }

 private:
  struct Block {
    std::string cause, hash;
    std::vector<std::string> frames;  // innermost first
    double inputs = -1;
    int64_t line = 0;
  };
  void TakeText(std::string_view text);
  void End();
  void Warn(int64_t line, std::string_view what);

  CompileLog& log_;
  std::string name_;
  bool open_ = false, cause_next_ = false, frames_next_ = false;
  Block block_;
};

}  // namespace hloscope::debug
