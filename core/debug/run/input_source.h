// InputSource: what each iteration of a replay runs on.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/debug/run/run_inputs.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::debug {

class InputSource {
 public:
  // All must outlive it. `report` gets the arguments, the time they took and warnings; the file
  // `saved`, where it is named, the inputs of the first iteration.
  InputSource(const hlo::Module& module, const replay::Placement& placement, const RunSpec& spec,
              RunReport& report, std::string saved = {})
      : module_(module),
        placement_(placement),
        spec_(spec),
        report_(report),
        saved_(std::move(saved)) {}

  // When generating inputs ends.
  void set_bounds(std::chrono::steady_clock::time_point deadline, std::stop_token stop) {
    deadline_ = deadline;
    stop_ = std::move(stop);
  }

  // From now on the values of .npz and .npy files have no bytes, after all that is checked of them
  // otherwise. For one list (Placement) alone.
  void ReadHeadersOnly() { headers_only_ = true; }

  // Finds the inputs of an iteration: from files, a literals file, a snapshot, or generated.
  // Errors: what the request names is not there or does not fit.
  Status Prepare(int64_t iteration);

  const RunInputs& inputs() const { return inputs_; }
  // The lists with denormals as zeros; nullopt: there are none.
  std::optional<std::vector<std::vector<hlo::Literal>>> FlushedLists() const;
  // The result known for them, if one is.
  const std::optional<hlo::Literal>& recorded() const { return recorded_; }

 private:
  void Flush();
  // Of iterations.
  std::string_view WhyTheSame() const;
  Result<RunInputs> Find(int64_t iteration);
  Result<RunInputs> Generate(int64_t iteration);
  Result<RunInputs> TakeLiterals(int64_t iteration);

  const hlo::Module& module_;
  const replay::Placement& placement_;
  const RunSpec& spec_;
  RunReport& report_;
  std::string saved_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::stop_token stop_;
  bool headers_only_ = false;
  RunInputs inputs_;
  std::optional<hlo::Literal> recorded_;
  std::vector<hlo::IterationLiterals> literals_;  // of the literals file
};

}  // namespace hloscope::debug
