// JaxLog: the lines of JAX about tracing and compiling.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/debug/recompile/compile_log.h"

namespace hloscope::debug {

class JaxLog {
 public:
  explicit JaxLog(CompileLog& log, std::string_view name) : log_(log), name_(name) {}

  // Takes one line, if it is one of JAX's.
  bool Take(std::string_view line, int64_t number);
  void Finish();

 private:
  enum class Part : uint8_t {
    kNone,
    kHead,
    kFunction,
    kContext,
    kTree,
    kTypes,
    kStatic,
    kKeywords
  };
  // A cache miss of tracing; a compilation of the same function follows, or none.
  struct Miss {
    std::string program, place, defined;
    bool never_seen = false, seen_at_place = false;
    bool told = false;  // something of why
    RecompileCause cause;
    int64_t line = 0, more = 0;
  };

  void EndMiss();
  LoggedCompilation Started(const std::string& program, int64_t line);
  bool TakeMiss(std::string_view line);
  void TakeDifference(std::string_view text);
  void Tell(RecompileCause cause);
  void TakeCompiling(std::string_view rest, int64_t number);
  void TakeFinished(std::string_view rest, int64_t number);
  void Warn(int64_t line, std::string_view what);

  CompileLog& log_;
  std::string name_;
  Part part_ = Part::kNone;
  Miss miss_;
  std::map<std::string, Miss, std::less<>> misses_;          // by program, not compiled yet
  std::map<std::string, size_t, std::less<>> last_;          // by program: its latest compilation
  std::vector<Miss> alone_;                                  // of a log without compilations
  std::map<std::string, std::string, std::less<>> defined_;  // by program: where, as seen last
  std::set<std::string, std::less<>> seen_;                  // programs with their places
  bool compiles_ = false;
};

}  // namespace hloscope::debug
