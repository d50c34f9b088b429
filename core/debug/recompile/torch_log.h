// TorchLog: the analysis that PyTorch/XLA prints with PT_XLA_DEBUG_LEVEL=2: of compilations, of
// executions, and the sizes after a compilation.
#pragma once

#include <map>
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
    std::string cause, hash, name;
    std::vector<std::string> frames;  // innermost first
    int64_t inputs = -1, outputs = -1;
    bool is_execution = false;
    int64_t line = 0;
  };
  void TakeText(std::string_view text);
  void TakeSize(std::string_view text);
  // The graph of a block, with what the block adds.
  void Count(const Block& block, std::string_view function, std::string_view place);
  void End();
  void Warn(int64_t line, std::string_view what);

  static constexpr size_t kNone = ~size_t{0};
  CompileLog& log_;
  std::string name_;
  std::map<std::string, size_t> by_hash_;  // of log_.graphs
  size_t compiled_ = kNone;                // the graph compiled last, of log_.graphs
  bool open_ = false, cause_next_ = false, frames_next_ = false;
  bool told_ = false;  // of lines that belong to no block
  Block block_;
};

}  // namespace hloscope::debug
