// One mark for the process.
#include "core/replay/spoiled_process.h"

#include <atomic>

namespace hloscope::replay {
namespace {

std::atomic<bool> spoiled = false;

}  // namespace

void SpoilProcess() { spoiled = true; }
bool ProcessIsSpoiled() { return spoiled; }

}  // namespace hloscope::replay
