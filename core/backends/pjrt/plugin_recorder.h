// PluginRecorder: what the GPUs of a plugin do in recorded runs, by CUPTI: the instance that the
// plugin loaded.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"
#include "profiler/cupti/collector.h"

namespace hloscope::replay::pjrt {

// Before the plugin's first NVTX range: has CUPTI told of all of them, unless the user has another
// tool told. XLA's own profiler would not be told then: only for plugins without one.
void LetNvtxTellCupti();

// Of one executable; one run at a time.
class PluginRecorder {
 public:
  // `optimized`: the module as it runs, whose names kernels have; null: not known.
  explicit PluginRecorder(std::shared_ptr<const hlo::Module> optimized);

  // A run begins. Why CUPTI is not to be had is told where it is another reason than before.
  void Begin(RunStream& stream);
  // It has ended: tells its trace.
  void End(RunStream& stream);

 private:
  std::shared_ptr<const hlo::Module> optimized_;
  std::map<std::string, hlo::InstructionId, std::less<>> by_kernel_;
  std::set<std::string, std::less<>> names_;               // of all instructions
  std::unique_ptr<profiler::cupti::Collector> collector_;  // null: none is at work
  std::string why_not_, told_why_not_;                     // of the run at hand; what was told last
};

}  // namespace hloscope::replay::pjrt
