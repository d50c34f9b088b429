// Which line of its own text each instruction of a PTX text is from, as `.loc` says it.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::replay::cuda {

// The text with `.loc 1 N 0` before each instruction in line N of it (which counts from 1) and one
// `.file` for all. Code is the same; with line information the machine code then has a table of the
// text's own lines. Texts of ours have no `.loc` of their own.
std::string WithLineMarks(std::string_view ptx);

}  // namespace hloscope::replay::cuda
