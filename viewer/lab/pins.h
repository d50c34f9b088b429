// Pins: instructions whose values stay in sight, with what they were before the last run.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/lab/hover_values.h"
#include "viewer/model/context.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

// What a pin keeps of one side: texts, as they were shown.
struct PinnedSide {
  std::string platform = {};  // its name, or "the file"
  std::string first = {};     // elements
  std::string least = {}, largest = {}, mean = {}, nans = {};
  bool operator==(const PinnedSide&) const = default;
};

struct Pin {
  // By names: files may come and go.
  std::string module, stage, computation, instruction;
  std::string shape;
  std::string verdict, largest_error;  // of the two sides; empty where nothing differs or is known
  std::string inputs;                  // of the run
  std::vector<PinnedSide> sides;       // empty: no values yet
  std::vector<PinnedSide> before;      // of the run before, where that gave other values
  uint64_t run = 0;                    // of this session; 0: of another one, or none
  uint64_t looked = 0;                 // how many runs there had been when it was last looked at
  bool IsOf(const Pin& other) const;   // the same instruction
  bool operator==(const Pin&) const = default;
};

// A pin of what is selected; nullopt: not an instruction, or its module is not read.
std::optional<Pin> PinOf(Context& context, const Selection& selection);
// Takes over what newer runs found; what was shown goes to `before` where it differs.
void UpdatePins(Context& context, std::vector<Pin>& pins);
// Where it is in the dump that is open, found in the background; kNothing: nowhere, or not yet.
Selection PlaceOfPin(Context& context, const Pin& pin);

// For the session, and back; what cannot be read is left out.
std::string PinsText(const std::vector<Pin>& pins);
std::vector<Pin> PinsFromText(std::string_view text);

}  // namespace hloscope::viewer
