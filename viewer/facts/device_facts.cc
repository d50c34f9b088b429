#include "viewer/facts/device_facts.h"

#include "core/dump/gpu_target.h"

namespace hloscope::viewer {

profiler::DeviceFacts FactsFromDump(const dump::DumpModel& dump, int32_t module) {
  const int32_t found = dump::FindGpuTarget(dump, module);
  if (found < 0) return {};
  const auto file = dump.OpenFile(found);
  if (!file) return {};
  profiler::DeviceFacts facts = profiler::FactsFromTarget(file->bytes());
  facts.source = dump.files()[static_cast<size_t>(found)].path;
  return facts;
}

}  // namespace hloscope::viewer
