#include "core/analysis/compilation/missing_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace hloscope::analysis {

std::string TimerVariablesText() { return fmt::format("{}", fmt::join(kTimerVariables, " ")); }

void AddMissing(const dump::DumpModel& model, const ModuleCompileTime& time, CompileTime& out) {
  const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(time.module)];
  auto lack = [&](std::string what, std::string why, std::string flag) {
    for (const dump::MissingPiece& piece : out.missing) {
      if (piece.what == what && piece.flag == flag) return;
    }
    out.missing.push_back(
        {time.module, std::move(what), std::move(why), std::move(flag), entry.name});
  };
  if (time.passes.empty() || !time.span_us) {
    if (entry.device == "gpu") {
      lack("times of passes", "no pass metadata was written", "--xla_dump_module_metadata=true");
    } else {
      lack("times of passes",
           "XLA:CPU writes no pass metadata, only timer lines to its log, and only with these "
           "variables (`hloscope record` passes them on and keeps the log, `hloscope compile "
           "--timers` sets them)",
           TimerVariablesText());
    }
  }
  if (!time.backend_us)
    lack("times of the backend (LLVM, ptxas, Triton)",
         "no log with timer lines is in the folder (`hloscope compile --timers` keeps one)",
         TimerVariablesText());
  const bool has_steps = std::ranges::any_of(
      time.passes, [](const PassTime& pass) { return pass.instructions_before.has_value(); });
  if (!has_steps)
    lack("growth by pass", "no stages between passes were dumped", "--xla_dump_hlo_pass_re=.*");
}

}  // namespace hloscope::analysis
