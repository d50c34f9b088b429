#include "core/dump/gpu_target.h"

namespace hloscope::dump {

int32_t FindGpuTarget(const DumpModel& dump, int32_t module) {
  int32_t found = -1;
  for (size_t f = 0; f < dump.files().size(); ++f) {
    if (dump.files()[f].role != FileRole::kGpuTarget) continue;
    if (found < 0 || dump.files()[f].module == module) found = static_cast<int32_t>(f);
    if (dump.files()[f].module == module) break;
  }
  return found;
}

}  // namespace hloscope::dump
