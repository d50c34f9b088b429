// A process that has lost a device for good, as after a fault of a kernel, can run nothing there
// any more: its worker ends after the job at hand, and the next job gets another.
#pragma once

namespace hloscope::replay {

void MarkDeviceLost();
bool IsDeviceLost();

}  // namespace hloscope::replay
