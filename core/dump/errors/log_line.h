// What the lines of logs begin with.
#pragma once

#include <string_view>

namespace hloscope::dump {

// The level of a line of a log: 'I', 'W', 'E' or 'F'; 0 where it is not of one. "I0000 00:00:17…",
// "2024-02-11 15:48:49.130458: I external/…", "INFO:jax._src…".
char LevelOf(std::string_view line);

// A line of a Python traceback that a program around it logs, without what the log puts before it:
// "I0517 16:48:59.61 1403 run.py:255] File "fold.py", line 8, in main", "[rank0]: Traceback (…".
// Without what Kubernetes puts before each line of a container (the CRI format), too:
// "2026-01-02T03:04:05.678Z stderr F Traceback (…". Other lines as they are.
std::string_view WithoutLogPrefix(std::string_view line);

}  // namespace hloscope::dump
