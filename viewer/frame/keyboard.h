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

// The chord of a string such as "Ctrl+Shift+P"; 0 if it is not one.
int ChordFromText(std::string_view text);

// Every chord of the table. A chord that two commands of one `when` share is our own mistake; tests
// look for it.
const std::vector<KeyBinding>& KeyBindings();

// A command whose keys went down in this frame.
struct PressedCommand {
  Command command = Command::kKeys;
  bool is_text = false;       // the chord would write into a field, or move in it
  bool is_character = false;  // it would write one
  bool is_taken = false;      // what has the focus uses the key itself
};
// While a field takes text, only chords that enter no text count.
std::vector<PressedCommand> PressedCommands();

}  // namespace hloscope::viewer
