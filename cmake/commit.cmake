# Writes the commit of the source folder into a file, if it is another than the file has: cmake -D GIT=… -D SOURCE=… -D OUTPUT=… -P commit.cmake
set(commit unknown)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short HEAD
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "// Written by cmake/commit.cmake.
#include \"app/version.h\"

namespace hloscope::app {

const char* Commit() { return \"@commit@\"; }

}  // namespace hloscope::app
")
