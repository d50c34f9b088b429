// Source lines of Python in tracebacks and in TensorFlow's stack traces of operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::dump {

struct SourceLine {
  std::string file;  // empty: none
  int32_t line = 0;
  bool is_definition = false;  // of a variable, "(defined @ …)"
};

// The frame of Python that lines[k] begins: `  File "train.py", line 12, in step`, and as notebooks
// write it: `File ~/fit/train.py:12, in step(x)`, `Cell In[3], line 12`, `<ipython-input-3-…> in
// step(x)` with the arrow of a line below it. Of files of notebooks the name is kept as it stands.
std::optional<SourceLine> FrameAt(const std::vector<std::string_view>& lines, size_t k);

// Whether the file is Python's or a framework's own, by its path; a longer text that names it will
// do.
bool IsFrameworkFile(std::string_view file);

// The line of the user's own code in which the operation of an error was made: `lines[error]` is
// the line of the text with the error. First what the error itself lists behind it, then the
// traceback before it.
SourceLine FindSourceLine(const std::vector<std::string_view>& lines, size_t error);

}  // namespace hloscope::dump
