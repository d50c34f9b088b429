// OutputJudge: the results of a replay, compared with whatever there is to compare them with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/debug/run/run_module.h"
#include "core/debug/run/run_results.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/analysis/single_precision.h"
#include "core/replay/device_values.h"

namespace hloscope::debug {

class OutputJudge {
 public:
  // All must outlive it. `report` gets outputs, warnings and the first error of a leaf.
  OutputJudge(const hlo::Module& module, const replay::Placement& placement, const RunSpec& spec,
              RunReport& report)
      : module_(module), placement_(placement), spec_(spec), report_(report), single_(module) {}

  // The leaves of one run, not compared yet.
  std::vector<RunOutput> OutputsOf(Leaves results, int64_t iteration);

  // With the leaves of the reference. One that has no value is an error of the report, as one of
  // the test is, and the others are compared.
  void CompareWith(const Leaves& reference, std::vector<RunOutput>& outputs);
  // With what was recorded with the inputs, where it has the form of the result.
  void CompareWithRecorded(const hlo::Literal& recorded, std::vector<RunOutput>& outputs);
  // With the expected values; those that are not there are named, those that cannot be read are an
  // error of the report. Input error: none is there.
  Status CompareWithFiles(const dump::TensorFiles& files, std::vector<RunOutput>& outputs);
  // Of runs on the same inputs: the first leaf that differs.
  std::optional<LeafComparison> FirstDifference(const Leaves& actual, const Leaves& expected) const;

  // The leaves in double precision, and how far each side's are from them.
  void set_precise(Leaves precise) { precise_ = std::move(precise); }
  void AddPreciseSides(std::vector<RunOutput>& outputs, const std::string& side,
                       const Leaves& values);
  void AddPreciseSides(std::vector<RunOutput>& outputs, const std::string& platform);  // their own

  // Puts an iteration's outputs into the report: the first iteration's, but for comparisons those
  // of the first that differs.
  void Keep(std::vector<RunOutput> outputs);

  // Results of the last iteration that differ, with what was expected; where hints are asked for.
  struct Differing {
    size_t leaf = 0;
    hlo::Literal expected;
  };
  const std::vector<Differing>& differing() const { return differing_; }
  // Whether these results, all denormals as zeros, are what was expected of those that differ.
  bool AgreeFlushed(const Leaves& results) const;

 private:
  void Compare(std::vector<RunOutput>& outputs, size_t leaf, const hlo::Literal& expected);
  // As well as with the reference, where it was compared with that.
  void CompareWithExpected(std::vector<RunOutput>& outputs, size_t leaf,
                           const hlo::Literal& expected);
  BoundsRequest BoundsOf(size_t leaf) const;
  void AddPreciseSide(RunOutput& output, size_t leaf, const std::string& side,
                      const hlo::Literal& value);

  const hlo::Module& module_;
  const replay::Placement& placement_;
  const RunSpec& spec_;
  RunReport& report_;
  hlo::SinglePrecision single_;
  Leaves precise_;
  std::vector<Differing> differing_;
};

}  // namespace hloscope::debug
