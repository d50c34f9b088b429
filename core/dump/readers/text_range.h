// A stretch of lines in a file of a dump.
#pragma once

#include <cstdint>

namespace hloscope::dump {

struct TextRange {
  int32_t file = -1;                      // of DumpModel::files(); -1: there is none
  int32_t first_line = 0, last_line = 0;  // count from 1, both included
  bool found() const { return file >= 0; }
};

}  // namespace hloscope::dump
