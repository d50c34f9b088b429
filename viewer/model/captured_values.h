// CapturedValues: what is kept of the values of every instruction after a run: statistics and the
// first elements, not the values themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/debug/run/isolate.h"
#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"
#include "viewer/model/anchor.h"

namespace hloscope::viewer {

// Of one instruction, by leaf of its value.
struct CapturedValues {
  std::vector<replay::ValueStatistics> platform, reference;  // empty: not known
  bool is_evaluated = false;  // `reference` is what the reference evaluator has, whatever was asked
  int64_t executions = 1;     // these are of the last one
  int64_t executions_with_nan = 0;
};

// Of all instructions of a module, as one run left them.
struct RunValues {
  std::shared_ptr<const hlo::Module> module;
  StageAnchor place;
  int32_t module_index = -1, stage = -1;  // in this reading of the dump; -1: not there
  uint64_t number = 0;                    // another for each run
  std::string platform, reference;        // whose values they are; one of them may be empty
  std::string inputs;                     // "seed 3", "inputs.npz"
  std::string note;                       // why some are missing; empty: none is
  std::unordered_map<uint32_t, CapturedValues> of;
};

// More than these are not kept.
inline constexpr size_t kMaxCapturedValues = 200'000;

// What an instruction holds: tuples, their elements, and parameters of fusions and calls hold what
// they are made of. Its platform and reference may be empty; nullopt: nothing is known.
std::optional<CapturedValues> FindCapturedValues(const RunValues& values,
                                                 hlo::InstructionId instruction);

// Of literals as they are given, tuples taken apart.
std::vector<replay::ValueStatistics> DescribeLeaves(const hlo::Literal& literal);
// What an isolated instruction reported.
CapturedValues ToCapturedValues(const debug::InstructionReport& report, bool has_reference);

// Takes the statistics that a run emits, on its first device: of each instruction the last
// execution.
class CapturedValuesCollector : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override;
  std::unordered_map<uint32_t, CapturedValues> values;  // in `reference`
  bool is_full = false;                                 // there were more than kMaxCapturedValues
};

// "0.25, -1, 3e-05, …": the first elements, `most` of them, as an array of that type has them: two
// that differ read differently.
std::string FirstElementsText(const replay::ValueStatistics& values, hlo::ElementType type,
                              int64_t most = replay::ValueStatistics::kFirst);
// "-1 to 3, mean 0.5, 2 NaN, 1 infinite"; "empty"; "absolute values 0 to 3, mean 0.5" of a complex
// type.
std::string RangeText(const replay::ValueStatistics& values, hlo::ElementType type);
std::string NumberText(double value);

}  // namespace hloscope::viewer
