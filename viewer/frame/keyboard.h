// Chords of commands.def as ImGui's keys.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "viewer/commands/commands.h"

namespace hloscope::viewer {

struct KeyBinding {
  int chord = 0;  // ImGuiKeyChord
  Command command = Command::kKeys;
};

// The chord of a text such as "Ctrl+Shift+P"; 0 where it is none.
int ChordFromText(std::string_view text);

// Every chord of the table. A chord that two commands of one `when` share is our own mistake; tests
// look for it.
const std::vector<KeyBinding>& KeyBindings();

// The commands whose keys went down in this frame. While a field takes text, only chords that are
// no text count.
std::vector<Command> PressedCommands();

}  // namespace hloscope::viewer
