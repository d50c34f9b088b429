// SelectionSummary: what there is to say about the selection, in sentences that lead to where it is
// shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"
#include "viewer/model/context.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

enum class Tone : uint8_t { kPlain, kGood, kHost, kGone };

struct SummaryLine {
  Tone tone = Tone::kPlain;
  std::string text = {};
  Selection selection = {};    // what a click selects; kNothing: what is selected stays
  std::string_view view = {};  // … and shows; empty: nothing
  int32_t stage = -1;          // whose changes are shown, where that is not the selection's own
};

// Where it runs and why, what it moves, which pass made, changed or removed it, how long it takes:
// as far as that is known by now; what it needs is read in the background. Of a stage or module,
// what it holds.
std::vector<SummaryLine> SummarizeSelection(Context& context);

// The name that the trace gives the event that is selected; empty where it is not an event.
std::string NameOfSelectedEvent(Context& context);

// Follows a line: selects and shows.
void Follow(Context& context, const SummaryLine& line);

}  // namespace hloscope::viewer
