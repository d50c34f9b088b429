// Where in the user's program an instruction came from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/analysis/by_id.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

// A place in the user's program; line 0 is none.
struct SourceLine {
  std::string file, function;  // the function is empty where only the inline source is known
  int32_t line = 0;
  bool operator==(const SourceLine&) const = default;
};

// Of the instruction's own metadata: the innermost stack frame, else its inline source.
SourceLine SourceLineOf(const Module& module, InstructionId id);
// Of the instruction itself or, where it has none, the last one in a computation that it calls.
// Each computation is read once.
class LinesWithCalled {
 public:
  explicit LinesWithCalled(const Module& module) : module_(module) {}
  SourceLine Of(InstructionId id);

 private:
  const Module& module_;
  ById<ComputationId, SourceLine> last_;
};
// All frames, innermost first.
std::vector<SourceLine> SourceFramesOf(const Module& module, InstructionId id);
// "file.py:12 (function)", "file.py:12", or nothing.
std::string ToString(const SourceLine& line);

// The op_name of its metadata: scopes and operation, or the name of an argument; empty: none.
std::string_view OpNameOf(const Module& module, InstructionId id);
// The names in an op_name: passes that make one instruction of several join theirs with `;`
// ("jit(f)/a/mul;jit(f)/a/add"). Each once, in their order; a `;` that no other name of the same
// program follows is a part of its name.
std::vector<std::string_view> NamesIn(std::string_view op_name);

}  // namespace hloscope::hlo
