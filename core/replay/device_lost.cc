#include "core/replay/device_lost.h"

#include <atomic>

namespace hloscope::replay {
namespace {

std::atomic<bool> is_lost = false;

}  // namespace

void MarkDeviceLost() { is_lost = true; }
bool IsDeviceLost() { return is_lost; }

}  // namespace hloscope::replay
