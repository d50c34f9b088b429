// TensorFlowLog: lines of TensorFlow about retracing and compiling.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/debug/recompile/compile_log.h"

namespace hloscope::debug {

class TensorFlowLog {
 public:
  explicit TensorFlowLog(CompileLog& log, std::string_view name) : log_(log), name_(name) {}

  // Takes one line, if it is one of TensorFlow's.
  bool Take(std::string_view line, int64_t number);
  void Finish();

 private:
  bool TakeCompiled(std::string_view rest, int64_t number);
  void TakeRetracing(std::string_view line, int64_t number);
  void Warn(int64_t line, std::string_view what);

  CompileLog& log_;
  std::string name_;
  struct Retracing {
    int64_t calls = 0, line = 0;
  };
  std::map<std::string, Retracing> retracing_;            // by function
  std::map<std::string, int64_t, std::less<>> compiled_;  // by function or cluster
  std::set<std::string> cached_;  // programs that were loaded, and not told as compiled yet
};

}  // namespace hloscope::debug
