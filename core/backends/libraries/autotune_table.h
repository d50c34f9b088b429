// Choices between ways to compute an instruction, as a table: one line each, fields with tabs
// between them, under a line that names them. Bundles hold one (choices.tsv), the user's cache has
// one for each choice.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::replay::libraries {

// Whose choice it is: another device or form has another.
struct AutotuneKey {
  std::string device;   // "NVIDIA H100 80GB HBM3"
  int capability = 0;   // × 10
  std::string library;  // "cuBLASLt"
  std::string opcode;   // "dot"
  std::string form;     // types, sizes, strides, attributes: all that decides the time
  bool operator==(const AutotuneKey&) const = default;
};

struct AutotuneResult {
  AutotuneKey key;
  int driver = 0;       // the newest CUDA that the driver runs, 1000 · major + 10 · minor
  std::string version;  // of the library
  std::string way;      // kOwnWay, or the library's name of it
  std::string from;     // "rule", "measured"
  double time_us = 0;   // 0: not measured
  // Made on the same device with the same versions.
  bool FitsTo(const AutotuneResult& here) const {
    return key == here.key && driver == here.driver && version == here.version;
  }
};

// One line, without its end. Tabs and line ends in texts become blanks.
std::string RowOf(const AutotuneResult& choice);
// A whole table of such lines, sorted, each once; empty where there are none.
std::string TableOf(std::vector<std::string> rows);
// Input errors: `name:line: what, expected`.
Result<std::vector<AutotuneResult>> ReadTable(std::string_view text, std::string_view name);

}  // namespace hloscope::replay::libraries
