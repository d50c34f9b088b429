// Kinds of errors after which a program goes on, and those that only inform.
#include "core/dump/errors/severity.h"

#include <algorithm>
#include <iterator>

#include "core/dump/errors/log_line.h"

namespace hloscope::dump {
namespace {

// Kinds that are worth a word where a log only informs of them: what runs somewhere else than one
// may think, and what looks like a fault and is none.
constexpr std::string_view kNotes[] = {
    "xla_devices",         "no_driver",   "no_gpu",         "no_gpu_build", "missing_library",
    "factory_twice",       "ptxas_spill", "slow_folding",   "slow_compile", "host_fallback",
    "auto_clustering_cpu", "harmless",    "soft_placement", "device_in_use"};
// Kinds after which the program goes on, even where the line says nothing of its level.
constexpr std::string_view kWarnings[] = {"no_driver",           "no_gpu",
                                          "no_gpu_build",        "missing_library",
                                          "auto_clustering_cpu", "jit_compile_off",
                                          "assert_dropped",      "host_fallback",
                                          "host_read",           "module_kept",
                                          "soft_placement",      "cache_unreadable",
                                          "deprecated_api",      "slow_folding",
                                          "slow_compile",        "ptxas_spill",
                                          "ptx_feature",         "algorithm_mismatch",
                                          "compiled_often",      "transfers",
                                          "resharding",          "cpu_features",
                                          "large_constants",     "fork",
                                          "donation_unused",     "type_truncated",
                                          "optional_memory",     "slow_start"};

template <size_t kCount>
bool IsOneOf(std::string_view kind, const std::string_view (&kinds)[kCount]) {
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

}  // namespace

Severity SeverityOf(std::string_view kind, char level, std::string_view reason) {
  if (reason.starts_with("harmless") || level == 'I') return Severity::kNote;
  return level == 'W' || IsOneOf(kind, kWarnings) ? Severity::kWarning : Severity::kError;
}

bool IsNote(std::string_view kind) { return IsOneOf(kind, kNotes); }

bool MayHaveEnded(const ExplainedError& error, std::string_view line, const ExplainedError& end) {
  constexpr int32_t kNear = 100;  // lines: those of a stack, or of the other threads
  if (error.severity != Severity::kError) return false;
  return end.at_line - error.at_line <= kNear || LevelOf(line) == 'F' ||
         line.contains("LLVM ERROR: ") || line.contains("LLVM Fatal Error");
}

}  // namespace hloscope::dump
