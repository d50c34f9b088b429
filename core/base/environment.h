// The environment of this process.
#pragma once

#include <string>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every libc's headers

namespace hloscope {

/// The environment variables of this process, each as "NAME=value".
inline std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
  }
  return variables;
}

}  // namespace hloscope
