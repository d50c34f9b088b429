# hloscope_library(NAME SOURCES… LIBS…), hloscope_test(NAME SOURCES… LIBS…) and their precompiled headers: our flags in one place.
set(HLOSCOPE_SANITIZE "" CACHE STRING "comma list of sanitizers, e.g. address,undefined")
option(HLOSCOPE_FAST_BUILD "precompile headers, compile files in batches; OFF shows includes that a file has forgotten, as scripts/tidy does" ON)
option(HLOSCOPE_WERROR "warnings are errors" OFF)
option(HLOSCOPE_LINK_COMMANDS "compile_commands.json of this build beside the sources, for clangd" OFF)
option(HLOSCOPE_COVERAGE "instrument for coverage" OFF)

add_library(hloscope_flags INTERFACE)
target_include_directories(hloscope_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(hloscope_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${HLOSCOPE_WERROR}>:-Werror> -ffp-contract=off -fno-math-errno
  # g++ 12 takes inlined operations of std::string for overruns (its PR 105329 and 105651).
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overread;-Wno-stringop-overflow>"
  -fstack-protector-strong $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>
  # A tenth of a compile is looking for memory to give back; what batches need is given back at their end.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
# The list of its own addresses, which a program reads first, is 4 kB instead of 400. glibc reads it from 2.36 on.
if(NOT HLOSCOPE_PORTABLE)
  target_link_options(hloscope_flags INTERFACE -Wl,-z,pack-relative-relocs)
endif()
if(HLOSCOPE_SANITIZE)
  # g++ 12 takes what the sanitizers insert for uses of uninitialized values. Red zones around globals would go around each of
  # the million notes of -fsanitize=undefined too (half of a program of 800 MB); that sanitizer and the assertions of the
  # library see an index outside of a table. A null pointer ends at a signal that -fsanitize=address reports; that check and the
  # one of virtual tables are an eighth of a compile.
  target_compile_options(hloscope_flags INTERFACE
    -fsanitize=${HLOSCOPE_SANITIZE} -fno-sanitize=null,vptr -fno-omit-frame-pointer -g1 -D_GLIBCXX_ASSERTIONS
    "$<IF:$<CXX_COMPILER_ID:GNU>,--param=asan-globals=0;-Wno-maybe-uninitialized,SHELL:-mllvm -asan-globals=0>")
  target_link_options(hloscope_flags INTERFACE -fsanitize=${HLOSCOPE_SANITIZE})
endif()
if(HLOSCOPE_COVERAGE)
  target_compile_options(hloscope_flags INTERFACE --coverage)
  target_link_options(hloscope_flags INTERFACE --coverage)
endif()

function(hloscope_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC hloscope_flags ${ARG_LIBS})
endfunction()

# More than half of a compile is reading headers: those that most files of a target include are read once.
set(HLOSCOPE_STD_HEADERS <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <stop_token> <string> <string_view> <thread>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# hloscope_precompile(NAME HEADERS…) makes them for a target, hloscope_precompile(NAME FROM OTHER) takes those of another
# that is compiled with the same flags.
function(hloscope_precompile name)
  if(NOT HLOSCOPE_FAST_BUILD)
    return()
  endif()
  cmake_parse_arguments(ARG "" "FROM" "" ${ARGN})
  if(ARG_FROM)
    target_precompile_headers(${name} REUSE_FROM ${ARG_FROM})
  else()
    target_precompile_headers(${name} PRIVATE ${HLOSCOPE_STD_HEADERS} ${ARG_UNPARSED_ARGUMENTS})
  endif()
endfunction()

# hloscope_cold(NAME FOLDERS…): sources of a target in these of its folders wait for files, processes and people. At -O1 they
# compile in three quarters of the time.
function(hloscope_cold name)
  get_target_property(sources ${name} SOURCES)
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH folder)
    if("${folder}" STREQUAL "")
      set(folder .)
    endif()
    if(folder IN_LIST ARGN)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
    endif()
  endforeach()
endfunction()

# hloscope_batch(NAME [ONLY FOLDERS…] [APART FILES…]): sources of one folder of a target are compiled sixteen at a time, which takes a third of
# the time: what they include is read, and its templates are made, once. So names at file scope are one folder's, not one
# file's; files that cannot share theirs stand behind APART. Not for code that computes: what is inlined there is measured.
function(hloscope_batch name)
  cmake_parse_arguments(ARG "" "" "ONLY;APART" ${ARGN})
  if(NOT HLOSCOPE_FAST_BUILD)
    return()
  endif()
  set(most 16)
  get_target_property(sources ${name} SOURCES)
  foreach(source ${sources})
    cmake_path(IS_ABSOLUTE source is_made)
    if(is_made OR source IN_LIST ARG_APART OR NOT source MATCHES "\\.cc$")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    if(ARG_ONLY AND NOT folder IN_LIST ARG_ONLY)
      continue()
    endif()
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    set(group root)
    if(folder)
      string(MAKE_C_IDENTIFIER ${folder} group)
    endif()
    if(options)
      string(APPEND group _own)
    endif()
    if(NOT group IN_LIST groups)
      list(APPEND groups ${group})
      set(options_${group} ${options})
    endif()
    list(APPEND files_${group} ${source})
  endforeach()
  foreach(group ${groups})
    # Batches of one size, the last not a small one.
    list(LENGTH files_${group} count)
    math(EXPR batches "(${count} + ${most} - 1) / ${most}")
    math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
    foreach(first RANGE 0 ${count} ${size})
      math(EXPR left "${count} - ${first}")
      if(left LESS 2)
        break()
      endif()
      list(SUBLIST files_${group} ${first} ${size} batch)
      set(text "")
      foreach(source ${batch})
        # From the root, so that clones in other folders find the object in a compiler cache.
        cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE here)
        string(APPEND text "#include \"${here}/${source}\"\n")
      endforeach()
      set(file ${CMAKE_BINARY_DIR}/generated/batches/${name}/${group}_${first}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      target_sources(${name} PRIVATE ${file})
      set_property(SOURCE ${batch} PROPERTY HEADER_FILE_ONLY ON)
      set(own $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # of types that, in a header, would have several definitions
      if(options_${group})
        list(APPEND own ${options_${group}})
      endif()
      set_property(SOURCE ${file} PROPERTY COMPILE_OPTIONS ${own})
    endforeach()
  endforeach()
endfunction()

# hloscope_test(NAME [SHARDS N] SOURCES… LIBS…): a GoogleTest program; with SHARDS its cases are N tests, NAME.1 and so on, which
# run beside each other. Each leaves its cases in results/TEST.json for tests/run_tests.py. At -O1 its own sources compile in four
# fifths of the time.
function(hloscope_test name)
  cmake_parse_arguments(ARG "" "SHARDS" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hloscope_flags ${ARG_LIBS} test_paths GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  hloscope_precompile(${name} FROM tests_precompiled)
  # Programs with platforms load the libraries of our own compiler.
  if("hloscope_backends" IN_LIST ARG_LIBS OR "hloscope_debug" IN_LIST ARG_LIBS)
    hloscope_loads(${name} hloscope_codegen hloscope_library_calls)
  endif()
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name} --gtest_output=json:${CMAKE_CURRENT_BINARY_DIR}/results/${name}.json)
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_output=json:${CMAKE_CURRENT_BINARY_DIR}/results/${name}.${shard}.json)
    set_property(TEST ${name}.${shard} PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index})
  endforeach()
endfunction()

# hloscope_test_property(NAMES… PROPERTY VALUE…) appends to a property of programs of hloscope_test, of every shard.
function(hloscope_test_property)
  cmake_parse_arguments(ARG "" "" "PROPERTY" ${ARGN})
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    string(REGEX REPLACE "\\.[0-9]+$" "" name ${test})
    if(name IN_LIST ARG_UNPARSED_ARGUMENTS)
      set_property(TEST ${test} APPEND PROPERTY ${ARG_PROPERTY})
    endif()
  endforeach()
endfunction()
