// RecordedProgram: what a command runs: its Python, the frameworks there, their XLA.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::debug {

// A framework that brings XLA: the row of frameworks.
struct RecordedFramework {
  std::string name;     // "JAX"
  std::string version;  // of its distribution; empty: unknown
};

struct RecordedProgram {
  std::string program;  // the path of what is run
  std::string python;   // its interpreter; empty: none was found
  std::string script;   // the text of the Python program, or empty
  std::string script_path;
  std::vector<RecordedFramework> frameworks;    // that the script imports, or all installed ones
  std::map<std::string, std::string> packages;  // and their versions
  std::vector<std::string> libraries;           // that may hold XLA
  std::vector<std::string> warnings;
};

// The words of a text with blanks between.
std::vector<std::string> WordsOf(std::string_view text);

using Environment = std::vector<std::string>;  // NAME=value
// The value, or null.
const char* ValueOf(const Environment& environment, std::string_view name);
void SetValue(Environment& environment, std::string_view name, std::string_view value);

// Looks the command's first word up in PATH, finds the Python that runs it and asks that which
// packages are installed, without importing them. `framework` (jax, tensorflow, pytorch or empty)
// is what the user says it is. Error: no such program.
Result<RecordedProgram> FindProgram(const std::vector<std::string>& command,
                                    const Environment& environment, const std::string& framework);

// Those of `names` that occur as words in the bytes of every library that holds XLA's flags;
// nullopt where there is none.
std::optional<std::vector<std::string>> KnownFlags(const RecordedProgram& program,
                                                   std::span<const std::string> names);

}  // namespace hloscope::debug
