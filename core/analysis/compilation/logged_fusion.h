// The decisions of XLA's instruction fusion in the logs of a dump: XLA:CPU writes them nowhere
// else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/compilation/why_fusion.h"

namespace hloscope::analysis {

struct LoggedFusion {
  std::string producer, consumer;  // names at that time
  std::string fusion;              // the new one, or the consumer it went into; empty: not fused
  std::string reason;              // where it is not fused
  int64_t line = 0;                // of the log, from 1
  std::string log;                 // its path in the dump; empty: not known
  int32_t compilation = -1;        // in FusionLog::programs; -1: not known
};

struct FusionLog {
  std::vector<LoggedFusion> decisions;
  // The module of each compilation in which the pass ran ("jit_f"), in their order, as the line of
  // JAX that ends it says ("Finished XLA compilation of jit(f)"). One that ran beside another is
  // not among them: nothing tells their decisions apart.
  std::vector<std::string> programs;
  bool has_unknown = false;  // the pass ran where no such line says for which module
};

/// Lines of `TF_CPP_VMODULE=instruction_fusion=3`, in their order; others are left out.
FusionLog ReadFusionLog(std::string_view log);

/// The decisions about one module, of all logs of the dump. The k-th compilation of its name is the
/// k-th module of that name, where there are as many; else the decisions of all modules, and
/// `is_of_module` is false.
struct LoggedFusions {
  std::vector<LoggedFusion> decisions;
  bool is_of_module = true;
  bool has_any = false;  // about whatever module
};
LoggedFusions LoggedFusionsOf(const dump::DumpModel& model, int32_t module);

/// WhyNotFused and WhyFusion by the logs of the dump; nullopt: they have no decisions. `because` is
/// empty where none is about these instructions of the module.
std::optional<FusionAnswer> LoggedNotFused(const dump::DumpModel& model, int32_t module,
                                           const std::string& producer,
                                           const std::string& consumer);
std::optional<FusionAnswer> LoggedDecisionsOf(const dump::DumpModel& model, int32_t module,
                                              const std::string& fusion);

}  // namespace hloscope::analysis
