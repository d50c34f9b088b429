// The hooks of ImGui's test engine, empty: the window of a user has no test engine in it.
#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>

void ImGuiTestEngineHook_ItemAdd(ImGuiContext* /*context*/, ImGuiID /*id*/, const ImRect& /*box*/,
                                 const ImGuiLastItemData* /*item*/) {}
void ImGuiTestEngineHook_ItemInfo(ImGuiContext* /*context*/, ImGuiID /*id*/, const char* /*label*/,
                                  ImGuiItemStatusFlags /*flags*/) {}
void ImGuiTestEngineHook_Log(ImGuiContext* /*context*/, const char* /*format*/, ...) {}
const char* ImGuiTestEngine_FindItemDebugLabel(ImGuiContext* /*context*/, ImGuiID /*id*/) {
  return nullptr;
}
