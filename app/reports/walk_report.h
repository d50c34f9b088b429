// What the values inside a module say about two platforms, as JSON and as text.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/debug/diverge/verdict.h"

namespace hloscope::app {

// An object: counts, proof that capture changed nothing, distances, the instruction inside, the
// results reached, the curve.
void WriteWalkJson(JsonWriter& json, const debug::ValueWalk& walk);
// Lines behind the verdict.
std::string WalkText(const debug::DivergeVerdict& verdict);

}  // namespace hloscope::app
