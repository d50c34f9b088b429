// Words of an op_name that the user gave: parts of arguments, scopes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hloscope::viewer {

// "p", "blocks", "0", "g1" of "p['blocks'][0]['g1']".
std::vector<std::string_view> NameParts(std::string_view name);

// The user's scopes in an op_name, outermost first: "block_3" and "attention" of
// "jit(f)/transpose(jvp(block_3))/attention/dot_general"; of several names (see hlo::NamesIn) what
// they have in common.
std::vector<std::string_view> UserScopes(std::string_view op_name);

// Those that the user named: not the functions that frameworks compile by themselves, "relu" of
// "jit(f)/head/jit(relu)/max", nor what leads a program through loops and branches.
std::vector<std::string_view> NamedScopes(std::string_view op_name);

// Those functions, outermost first: "relu".
std::vector<std::string_view> CompiledFunctions(std::string_view op_name);

// UserScopes in one, numbers as stars: "block_*/attention"; empty: none.
std::string ScopeWords(std::string_view op_name);

}  // namespace hloscope::viewer
