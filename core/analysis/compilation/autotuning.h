// What the autotuner of XLA:GPU chose: the configurations in the compiled module, with the records
// of the dump that say how they were found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/dump/readers/autotune_records.h"

namespace hloscope::analysis {

struct Choice {
  std::string module, instruction, source;  // "module_0001.jit_f", "gemm_fusion_dot.3", "a.py:12"
  dump::AutotuneConfig config;
  std::optional<double> time_us;
  std::optional<dump::AutotuneCandidate> runner_up;
  std::string record;  // how it is known: "measured", "untimed record", "module only"
  std::string hlo;     // what it computes, printed canonically
  std::optional<int64_t> version;
};

struct Autotuning {
  std::vector<Choice> choices;
  // Records that are of no instruction of the dump, or of another generation of its text.
  std::vector<dump::AutotuneRecord> others;
  std::vector<std::string> notes;
  std::string pinned;  // the records of the dump as one AutotuneResults text; empty: none
};
Autotuning AutotuningOf(const dump::DumpModel& model, int32_t only = -1);

// The configuration that an instruction carries; empty where it has none.
dump::AutotuneConfig ConfigOf(const hlo::Module& module, hlo::InstructionId id);

enum class ChangesBits : uint8_t { kNo, kPossibly, kYes };
std::string_view ToString(ChangesBits changes);

struct ChoiceDifference {
  std::string module, instruction, instruction_b;
  std::optional<dump::AutotuneConfig> a, b;  // absent: only the other has it
  ChangesBits changes = ChangesBits::kNo;
  std::string why;
};
// Instructions of the same module and name, else those that compute the same.
std::vector<ChoiceDifference> CompareChoices(const Autotuning& a, const Autotuning& b);

}  // namespace hloscope::analysis
