// Chords as texts and as keys.
#include "viewer/frame/keyboard.h"

#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>

#include <algorithm>
#include <array>
#include <utility>

namespace hloscope::viewer {
namespace {

struct NamedKey {
  std::string_view text;
  ImGuiKey key;
  bool shifted = false;  // typed with Shift on most keyboards
};
// Keys that write a character, letters and digits aside.
constexpr ImGuiKey kCharacterKeys[] = {ImGuiKey_Slash, ImGuiKey_LeftBracket, ImGuiKey_RightBracket,
                                       ImGuiKey_Equal, ImGuiKey_Minus,       ImGuiKey_Period,
                                       ImGuiKey_Comma};
constexpr NamedKey kKeys[] = {
    {"Left", ImGuiKey_LeftArrow},
    {"Right", ImGuiKey_RightArrow},
    {"Up", ImGuiKey_UpArrow},
    {"Down", ImGuiKey_DownArrow},
    {"Enter", ImGuiKey_Enter},
    {"Escape", ImGuiKey_Escape},
    {"Tab", ImGuiKey_Tab},
    {"Backspace", ImGuiKey_Backspace},
    {"Space", ImGuiKey_Space},
    {"Home", ImGuiKey_Home},
    {"End", ImGuiKey_End},
    {"PageUp", ImGuiKey_PageUp},
    {"PageDown", ImGuiKey_PageDown},
    {"Delete", ImGuiKey_Delete},
    {"/", ImGuiKey_Slash},
    {"?", ImGuiKey_Slash, true},
    {"[", ImGuiKey_LeftBracket},
    {"]", ImGuiKey_RightBracket},
    {"=", ImGuiKey_Equal},
    {"-", ImGuiKey_Minus},
    {".", ImGuiKey_Period},
    {",", ImGuiKey_Comma},
    {"F1", ImGuiKey_F1},
    {"F2", ImGuiKey_F2},
    {"F3", ImGuiKey_F3},
    {"F4", ImGuiKey_F4},
    {"F5", ImGuiKey_F5},
    {"F6", ImGuiKey_F6},
    {"F7", ImGuiKey_F7},
    {"F8", ImGuiKey_F8},
    {"F9", ImGuiKey_F9},
    {"F10", ImGuiKey_F10},
    {"F11", ImGuiKey_F11},
    {"F12", ImGuiKey_F12},
};

int KeyFromText(std::string_view text) {
  if (text.size() == 1) {
    char c = text[0];
    if (c >= 'A' && c <= 'Z') return ImGuiKey_A + (c - 'A');
    if (c >= '0' && c <= '9') return ImGuiKey_0 + (c - '0');
  }
  for (const NamedKey& named : kKeys) {
    if (named.text == text) return named.key | (named.shifted ? ImGuiMod_Shift : 0);
  }
  return 0;
}

// A key that would put a character into a field, or move in it.
bool IsForText(int chord) {
  if ((chord & (ImGuiMod_Ctrl | ImGuiMod_Alt)) != 0) {
    ImGuiKey key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
    bool edits = key == ImGuiKey_C || key == ImGuiKey_V || key == ImGuiKey_X || key == ImGuiKey_A ||
                 key == ImGuiKey_Z || key == ImGuiKey_Y;
    return edits && (chord & ImGuiMod_Alt) == 0;
  }
  int key = chord & ~ImGuiMod_Mask_;
  return (key < ImGuiKey_F1 || key > ImGuiKey_F12) && key != ImGuiKey_Escape;
}

bool IsCharacter(ImGuiKey key) {
  return (key >= ImGuiKey_A && key <= ImGuiKey_Z) || (key >= ImGuiKey_0 && key <= ImGuiKey_9) ||
         std::ranges::find(kCharacterKeys, key) != std::end(kCharacterKeys);
}

std::vector<KeyBinding> ReadTable() {
  std::vector<KeyBinding> out;
  for (const CommandRow& row : CommandRows()) {
    std::string_view rest = row.keys;
    while (!rest.empty()) {
      size_t end = std::min(rest.find(' '), rest.size());
      if (int chord = ChordFromText(rest.substr(0, end)); chord != 0)
        out.push_back({chord, row.command});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return out;
}

}  // namespace

int ChordFromText(std::string_view text) {
  int chord = 0;
  constexpr std::array<std::pair<std::string_view, int>, 3> kMods = {
      {{"Ctrl+", ImGuiMod_Ctrl}, {"Shift+", ImGuiMod_Shift}, {"Alt+", ImGuiMod_Alt}}};
  for (const auto& [name, mod] : kMods) {
    if (text.starts_with(name) && text.size() > name.size()) {
      chord |= mod;
      text.remove_prefix(name.size());
    }
  }
  int key = KeyFromText(text);
  return key == 0 ? 0 : chord | key;
}

const std::vector<KeyBinding>& KeyBindings() {
  static const std::vector<KeyBinding> bindings = ReadTable();
  return bindings;
}

std::vector<PressedCommand> PressedCommands() {
  std::vector<PressedCommand> out;
  const ImGuiIO& io = ImGui::GetIO();
  const int mods = io.KeyMods & ImGuiMod_Mask_;
  for (const KeyBinding& binding : KeyBindings()) {
    const bool is_text = IsForText(binding.chord);
    if (io.WantTextInput && is_text) continue;
    auto key = static_cast<ImGuiKey>(binding.chord & ~ImGuiMod_Mask_);
    const bool held = (binding.chord & ImGuiMod_Mask_) == mods;
    if (!held || !ImGui::IsKeyPressed(key)) continue;
    out.push_back({.command = binding.command,
                   .is_text = is_text,
                   .is_character = is_text && IsCharacter(key),
                   .is_taken = !ImGui::TestKeyOwner(key, ImGuiKeyOwner_NoOwner)});
  }
  return out;
}

}  // namespace hloscope::viewer
