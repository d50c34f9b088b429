// Configuration of Dear ImGui, included by its own headers: assertions of ours, hooks for tests.
#pragma once

namespace hloscope::viewer {
// Records wrong uses of Dear ImGui: tests fail on them, a user's window goes on.
void NoteMisuse(const char* what, const char* file, int line);
}  // namespace hloscope::viewer

#define IM_ASSERT(expression)                                                         \
  do {                                                                                \
    if (!(expression)) hloscope::viewer::NoteMisuse(#expression, __FILE__, __LINE__); \
  } while (false)

#define IMGUI_DISABLE_OBSOLETE_FUNCTIONS
#define IMGUI_ENABLE_TEST_ENGINE
#define IMGUI_TEST_ENGINE_ENABLE_COROUTINE_STDTHREAD_IMPL 1
#define IMGUI_TEST_ENGINE_ENABLE_STD_FUNCTION 1
#define IMGUI_TEST_ENGINE_ENABLE_CAPTURE 0
