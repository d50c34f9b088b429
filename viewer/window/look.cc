#include "viewer/window/look.h"

#include <imgui/imgui.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/replay/assets.h"

namespace hloscope::viewer {
namespace {

// `folder` is where Debian's package has it.
struct FontFile {
  const char *name, *folder, *file, *package;
};
constexpr FontFile kText = {"Inter", "/usr/share/fonts/opentype/inter", "Inter-Regular.otf",
                            "fonts-inter"};
constexpr FontFile kStrong = {"Inter SemiBold", "/usr/share/fonts/opentype/inter",
                              "Inter-SemiBold.otf", "fonts-inter"};
constexpr FontFile kMono = {"JetBrains Mono", "/usr/share/fonts/truetype/jetbrains-mono",
                            "JetBrainsMono-Regular.ttf", "fonts-jetbrains-mono"};

// The program's own, else the system's; empty where there is neither.
std::string PathOf(const FontFile& font) {
  const std::optional<std::string> own = replay::FindAsset("fonts", "assets");
  for (const std::string& folder : {own.value_or(""), std::string(font.folder)}) {
    std::string path = folder + "/" + font.file;
    if (!folder.empty() && access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

ImFont* Load(const FontFile& file, Fonts& fonts) {
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  ImFont* font = nullptr;
  if (const std::string path = PathOf(file); !path.empty())
    font = atlas->AddFontFromFileTTF(path.c_str(), kTextSize);
  if (font == nullptr) {
    font = atlas->AddFontDefault();
    fonts.missing.push_back(std::string(file.name) + ": install " + file.package);
    return font;
  }
  // Inter has no triangles, JetBrains Mono few mathematical signs: each is the fallback of the
  // other.
  const FontFile& other = &file == &kMono ? kText : kMono;
  ImFontConfig merge;
  merge.MergeMode = true;
  if (const std::string path = PathOf(other); !path.empty())
    atlas->AddFontFromFileTTF(path.c_str(), kTextSize, &merge);
  return font;
}

ImVec4 ToVec4(uint32_t color) { return ImGui::ColorConvertU32ToFloat4(color); }

void ApplyColors(ImGuiStyle& style, const Theme& theme) {
  theme.dark() ? ImGui::StyleColorsDark(&style) : ImGui::StyleColorsLight(&style);
  struct Use {
    ImGuiCol slot;
    Color color;
    float alpha = 1;
  };
  constexpr Use kUses[] = {
      {ImGuiCol_Text, Color::kText},
      {ImGuiCol_TextDisabled, Color::kTextSecondary},
      {ImGuiCol_WindowBg, Color::kPanel},
      {ImGuiCol_ChildBg, Color::kPanel, 0},
      {ImGuiCol_PopupBg, Color::kRaised},
      {ImGuiCol_Border, Color::kLine},
      {ImGuiCol_FrameBg, Color::kRaised},
      {ImGuiCol_FrameBgHovered, Color::kHover},
      {ImGuiCol_FrameBgActive, Color::kHover},
      {ImGuiCol_TitleBg, Color::kCanvas},
      {ImGuiCol_TitleBgActive, Color::kCanvas},
      {ImGuiCol_TitleBgCollapsed, Color::kCanvas},
      {ImGuiCol_MenuBarBg, Color::kCanvas},
      {ImGuiCol_ScrollbarBg, Color::kPanel, 0},
      {ImGuiCol_ScrollbarGrab, Color::kLine},
      {ImGuiCol_ScrollbarGrabHovered, Color::kTextDisabled},
      {ImGuiCol_ScrollbarGrabActive, Color::kTextSecondary},
      {ImGuiCol_CheckMark, Color::kAccent},
      {ImGuiCol_SliderGrab, Color::kAccent},
      {ImGuiCol_SliderGrabActive, Color::kAccent},
      {ImGuiCol_Button, Color::kRaised},
      {ImGuiCol_ButtonHovered, Color::kHover},
      {ImGuiCol_ButtonActive, Color::kLine},
      {ImGuiCol_Header, Color::kSelected},
      {ImGuiCol_HeaderHovered, Color::kHover},
      {ImGuiCol_HeaderActive, Color::kSelected},
      {ImGuiCol_Separator, Color::kLine},
      {ImGuiCol_SeparatorHovered, Color::kAccent},
      {ImGuiCol_SeparatorActive, Color::kAccent},
      {ImGuiCol_ResizeGrip, Color::kLine, 0},
      {ImGuiCol_Tab, Color::kCanvas},
      {ImGuiCol_TabHovered, Color::kHover},
      {ImGuiCol_TabSelected, Color::kPanel},
      {ImGuiCol_TabSelectedOverline, Color::kAccent},
      {ImGuiCol_TabDimmed, Color::kCanvas},
      {ImGuiCol_TabDimmedSelected, Color::kPanel},
      {ImGuiCol_TabDimmedSelectedOverline, Color::kLine},
      {ImGuiCol_DockingPreview, Color::kAccent, 0.4f},
      {ImGuiCol_DockingEmptyBg, Color::kCanvas},
      {ImGuiCol_PlotLines, Color::kAccent},
      {ImGuiCol_PlotHistogram, Color::kAccent},
      {ImGuiCol_TableHeaderBg, Color::kRaised},
      {ImGuiCol_TableBorderStrong, Color::kLine},
      {ImGuiCol_TableBorderLight, Color::kLine, 0.5f},
      {ImGuiCol_TableRowBg, Color::kPanel, 0},
      {ImGuiCol_TableRowBgAlt, Color::kRaised, 0.35f},
      {ImGuiCol_TextLink, Color::kAccent},
      {ImGuiCol_TextSelectedBg, Color::kSelected},
      {ImGuiCol_NavCursor, Color::kAccent},
      {ImGuiCol_ModalWindowDimBg, Color::kCanvas, 0.6f},
  };
  for (const Use& use : kUses) style.Colors[use.slot] = ToVec4(theme.With(use.color, use.alpha));
}

}  // namespace

Fonts LoadFonts() {
  Fonts fonts;
  fonts.text = Load(kText, fonts);
  fonts.strong = Load(kStrong, fonts);
  fonts.mono = Load(kMono, fonts);
  return fonts;
}

void ApplyLook(const Theme& theme, float scale) {
  // From the base every time: scaling what is scaled already would drift.
  ImGuiStyle style;
  ApplyColors(style, theme);
  style.WindowPadding = ImVec2(8, 8);
  style.FramePadding = ImVec2(8, 4);
  style.CellPadding = ImVec2(6, 2);
  style.ItemSpacing = ImVec2(8, 5);
  style.ItemInnerSpacing = ImVec2(6, 4);
  style.IndentSpacing = 16;
  style.ScrollbarSize = 12;
  style.GrabMinSize = 12;
  style.WindowRounding = 0;
  style.ChildRounding = 3;
  style.FrameRounding = 3;
  style.PopupRounding = 4;
  style.ScrollbarRounding = 6;
  style.GrabRounding = 3;
  style.TabRounding = 0;
  style.WindowBorderSize = 1;
  style.FrameBorderSize = 0;
  style.PopupBorderSize = 1;
  style.TabBarOverlineSize = 2;
  style.DockingSeparatorSize = 1;
  style.WindowMenuButtonPosition = ImGuiDir_None;
  style.ScaleAllSizes(scale);
  style.DockingSeparatorSize = std::max(1.0f, style.DockingSeparatorSize);
  style.FontSizeBase = kTextSize;
  style.FontScaleDpi = scale;
  style.HoverDelayShort = 0.05f;
  style.HoverStationaryDelay = 0.05f;
  ImGui::GetStyle() = style;
}

}  // namespace hloscope::viewer
