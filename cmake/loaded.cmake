# hloscope_loaded_library(NAME SOURCES… FROM ARCHIVES… LIBS OTHERS…): a shared library that a running program loads. FROM are static libraries of
# ours that become part of it; everything else of ours it takes from the program, so that one copy of the core is mapped.
# hloscope_loads(PROGRAM LIBRARIES…): the program exports what those take from it, and has it even where it does not use it.
function(hloscope_loaded_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;FROM;LIBS" ${ARGN})
  add_library(${name} SHARED ${ARG_SOURCES})
  list(TRANSFORM ARG_FROM REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
  target_link_libraries(${name} PRIVATE hloscope_flags ${archives} ${ARG_LIBS})
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections -Wl,--as-needed)
  set_target_properties(${name} PROPERTIES STATIC_LLVM ON LINK_DEPENDS "${exports};${archives}" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/app)
  add_dependencies(${name} ${ARG_FROM})
  hloscope_portable(${name})
  # What it takes, for the linker of programs: the list of symbols to export, and that they must be defined.
  set(imports ${CMAKE_BINARY_DIR}/generated/imports/${name})
  add_custom_command(OUTPUT ${imports}.list ${imports}.options
    COMMAND ${CMAKE_COMMAND} -D NM=${CMAKE_NM} -D LIBRARY=$<TARGET_FILE:${name}> -D OUTPUT=${imports} "-DOTHERS=${ARG_LIBS}"
            -P ${CMAKE_SOURCE_DIR}/cmake/imports.cmake
    DEPENDS ${name} ${CMAKE_SOURCE_DIR}/cmake/imports.cmake COMMENT "Listing what ${name} takes from programs" VERBATIM)
  add_custom_target(${name}_imports DEPENDS ${imports}.list ${imports}.options)
endfunction()

function(hloscope_loads program)
  foreach(library ${ARGN})
    set(imports ${CMAKE_BINARY_DIR}/generated/imports/${library})
    add_dependencies(${program} ${library}_imports)
    target_link_options(${program} PRIVATE -Wl,--dynamic-list=${imports}.list @${imports}.options)
    set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${imports}.list)
  endforeach()
endfunction()
