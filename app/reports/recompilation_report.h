// Programs compiled again, for people and as JSON.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/debug/recompile/recompilation.h"

namespace hloscope::app {

// A table of programs with the time lost, then a sentence and a fix for each compilation; nothing
// where there are none.
std::string RecompilationsText(const debug::Recompilations& found);
// The value of the key `recompilations`.
void WriteRecompilations(const debug::Recompilations& found, JsonWriter& json);

}  // namespace hloscope::app
