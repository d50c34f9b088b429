# What the viewer is built from: gui (Dear ImGui, ImPlot, GLFW) and, for tests, gui_test_engine; out of the sources that
# `scripts/setup build` fetched.
if(NOT HLOSCOPE_HAS_VIEWER)
  return()
endif()
if(NOT IMGUI_SOURCES_FOUND)
  message(FATAL_ERROR "no sources of the viewer in ${GUI_SOURCES}; `scripts/setup build` fetches them")
endif()

# Other people's code: never our warnings, never sanitizers, always optimised.
function(gui_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE -w -O2 -fvisibility=hidden)
  # The hooks of the test engine are always in: without it the viewer defines them empty (viewer/window/test_hooks.cc),
  # so that Dear ImGui is compiled once. The engine itself is in tests only; its licence is not one of the OSI's.
  target_compile_definitions(${name} PUBLIC IMGUI_USER_CONFIG="viewer/window/imgui_config.h")
  target_include_directories(${name} SYSTEM PUBLIC ${GUI_SOURCES} ${GUI_SOURCES}/imgui ${GUI_SOURCES}/implot)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()

block()
  set(GLFW_BUILD_DOCS OFF)
  set(GLFW_BUILD_EXAMPLES OFF)
  set(GLFW_BUILD_TESTS OFF)
  set(GLFW_INSTALL OFF)
  set(GLFW_BUILD_WAYLAND OFF)
  set(GLFW_BUILD_X11 ON)
  set(GLFW_LIBRARY_TYPE STATIC)
  add_subdirectory(${GUI_SOURCES}/glfw ${CMAKE_BINARY_DIR}/glfw EXCLUDE_FROM_ALL)
endblock()
target_compile_options(glfw PRIVATE -w -O2)

set(IMGUI ${GUI_SOURCES}/imgui)
gui_library(gui SOURCES
  ${IMGUI}/imgui.cpp ${IMGUI}/imgui_draw.cpp ${IMGUI}/imgui_tables.cpp ${IMGUI}/imgui_widgets.cpp
  ${IMGUI}/imgui_stacklayout.cpp ${IMGUI}/misc/cpp/imgui_stdlib.cpp ${IMGUI}/backends/imgui_impl_glfw.cpp ${IMGUI}/backends/imgui_impl_opengl3.cpp
  ${GUI_SOURCES}/implot/implot.cpp ${GUI_SOURCES}/implot/implot_items.cpp)
# ImPlot compiles every plot for every numeric type; ours are of one.
target_compile_definitions(gui PRIVATE "IMPLOT_CUSTOM_NUMERIC_TYPES=(double)")
# Plots are few and their templates many: half the time to compile.
set_property(SOURCE ${GUI_SOURCES}/implot/implot_items.cpp PROPERTY COMPILE_OPTIONS -O1)
target_link_libraries(gui PUBLIC glfw ${CMAKE_DL_LIBS})

set(TEST_ENGINE ${GUI_SOURCES}/imgui_test_engine/imgui_test_engine)
set(engine_files capture_tool te_context te_coroutine te_engine te_exporters te_perftool te_ui te_utils)
list(TRANSFORM engine_files REPLACE "(.+)" "${TEST_ENGINE}/imgui_\\1.cpp")
gui_library(gui_test_engine SOURCES ${engine_files})
target_include_directories(gui_test_engine SYSTEM PUBLIC ${TEST_ENGINE})
target_link_libraries(gui_test_engine PUBLIC gui)
