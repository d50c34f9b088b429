# HLOSCOPE_PORTABLE=FOLDER: the program and its libraries are linked for glibc 2.28 by the link-time stubs in a folder that scripts/glibc_stubs makes, with
# the C++ library and all else inside them. Objects are the same: undefined symbols have no versions until they are linked.
set(HLOSCOPE_PORTABLE "" CACHE PATH "stubs of glibc 2.28 to link with; empty: this machine's own")

# hloscope_portable(NAMES…): what is linked so.
function(hloscope_portable)
  if(NOT HLOSCOPE_PORTABLE)
    return()
  endif()
  set_source_files_properties(${CMAKE_SOURCE_DIR}/cmake/old_glibc.c PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-fvisibility=hidden;-O2")
  foreach(name ${ARGN})
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/old_glibc.c)
    target_link_options(${name} PRIVATE -B${HLOSCOPE_PORTABLE} -L${HLOSCOPE_PORTABLE} -static-libstdc++ -static-libgcc
      -Wl,--as-needed)
  endforeach()
endfunction()
