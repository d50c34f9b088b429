// RecordedInputs: files that hold values for the parameters of a module, and how far they fit,
// known before anything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/hlo/module.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

/// The file that was last chosen for the lab; empty: none.
struct ChosenInputs {
  std::string path;
};

struct RecordedInputs {
  std::string path;                     // as --inputs takes it
  std::string name;                     // "inputs.npz", "input_N.npy in this folder"
  std::string what;                     // "snapshot of an execution", "archive of arrays"
  int64_t fitting = 0, parameters = 0;  // arrays of parameters, tuples taken apart
  std::string problem = {};             // of the first that is missing or does not fit
  bool fits() const { return problem.empty(); }
};

// "5 of 5 parameters"; "4 of 5 parameters: input 2 is …".
std::string CoverageText(const RecordedInputs& inputs);

// How far the file fits the module; reads what it holds.
RecordedInputs ExamineInputs(std::string path, std::string name, std::string what,
                             const hlo::Module& module, const Limits& limits);

// Those of that stage: next to its file, in its folder, in the dump as snapshots, in the
// bundle that is open; those that fit first. Found in the background.
using RecordedInputsList = std::vector<RecordedInputs>;
const Pending<RecordedInputsList>& RecordedInputsOf(Context& context, int32_t module,
                                                    int32_t stage);
// The same of a file that the user chose.
const Pending<RecordedInputs>& ChosenInputsOf(Context& context, int32_t module, int32_t stage,
                                              const std::string& path);

}  // namespace hloscope::viewer
