// Two compilations that wrote into one folder under the same id and name: XLA's names of files tell
// them apart by nothing, and what the later one did not overwrite looks like stages of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/listing/file_role.h"

namespace hloscope::dump {

// A file of one module that the compiler wrote in the course of a compilation.
struct WrittenFile {
  int32_t file = -1;
  std::string_view stage;  // as DumpModel has it; empty for code and tables
  int64_t modified_ns = 0;
};

struct SeparatedRuns {
  std::vector<int32_t> earlier;  // files that the last compilation did not write
  // What shows that there are several compilations, "step 0005 is both A and B"; empty: nothing.
  std::string evidence;
  // Several, and nothing says whose file is whose: no two stages need be of one compilation.
  bool is_mixed = false;
};

// A compilation numbers its steps in order, writes its input first and its result last. Numbers
// that occur twice, or a second result, are of another one; which files are its own is decided by
// times only where these agree with that order for every file.
SeparatedRuns SeparateRuns(std::span<const WrittenFile> files);

}  // namespace hloscope::dump
