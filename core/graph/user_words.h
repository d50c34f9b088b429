// The user's own words for what an instruction belongs to.
#pragma once

#include <string>
#include <string_view>

#include "core/hlo/module.h"

namespace hloscope::graph {

// A word of the user's and the line that it is about; 0: not known.
struct UserPlace {
  std::string_view word;
  int32_t line = 0;
  bool is_function = false;  // else a file
};
UserPlace UserPlaceOf(const hlo::Module& module, hlo::InstructionId id);
// The function of the user's program that the innermost stack frame is in ("Attention.forward"
// gives "forward"), else the name of the source file without its folder and ending; empty where
// metadata has neither. Names that say nothing ("<lambda>", "<module>", "wrapper") are passed over.
std::string_view UserWordOf(const hlo::Module& module, hlo::InstructionId id);

// What a scope of op_name is called in the user's program, without what JAX's transformations wrap
// around its name: "jvp(layer0)" is "layer0", "transpose(jvp(layer0))" is "layer0 (backward)". A
// scope that only a transformation made is "forward", "backward" or "recomputed"; empty for one
// that tells nothing, such as "checkpoint" or "closed_call".
std::string ScopeTitle(std::string_view segment);

// The title of a scope that holds nothing but another one: "a/b". The backward pass of JAX repeats
// the scope: "layer0 (backward)" and "layer0/attention" give "layer0 (backward)/attention".
std::string JoinTitles(std::string_view outer, std::string_view inner);

}  // namespace hloscope::graph
