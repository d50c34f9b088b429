// Parts of the panel Divergence: what a run gets, and what it came to: a sentence, the results,
// instruction by instruction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viewer/lab/recorded_inputs.h"
#include "viewer/model/experiment.h"
#include "viewer/widgets/row_cursor.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// The choice of what a run gets: values that were recorded come first, then those that are
// generated, then a file of the user's.
class InputsChoice {
 public:
  // The choice, and how far what is chosen fits, in the lines at hand.
  void Draw(Frame& frame, int32_t module, int32_t stage);
  // Recorded inputs of the module were searched: until then the inputs of a run are unknown.
  bool IsKnown(Context& context, int32_t module, int32_t stage);
  // Its file, as --inputs takes it; empty: generated from the seed.
  std::string PathOf(Context& context, int32_t module, int32_t stage);
  uint64_t seed() const { return static_cast<uint64_t>(seed_); }
  // "inputs.npz: 5 of 5 parameters", "generated from seed 0".
  std::string Text(Context& context, int32_t module, int32_t stage);

 private:
  // The recorded ones; nullptr: still looked for, or none can be read.
  static const RecordedInputsList* ListOf(Context& context, int32_t module, int32_t stage);
  const RecordedInputs* Chosen(Context& context, int32_t module, int32_t stage);
  void TakeFile(Context& context);
  void DrawList(Frame& frame, int32_t module, int32_t stage, const RecordedInputs* chosen);

  std::optional<std::string> path_;  // empty: generated; nullopt: the first that fits
  std::string file_;                 // of the user's that was taken over last
  int seed_ = 0;
};

// While a verdict on the module is being found: what is done, for how long, and a button that
// cancels it. False: none is.
bool DrawVerdictProgress(Frame& frame, int32_t module);

// One sentence.
std::string VerdictText(const Experiment& experiment);
// A row for each result that was compared; `nans`: how many elements of each are NaN.
void DrawOutputs(Frame& frame, const debug::RunReport& report, std::span<const int64_t> nans);
// A row for each of those findings, by position.
void DrawFindings(Frame& frame, const Experiment& experiment, const std::vector<size_t>& rows,
                  RowCursor& cursor);

}  // namespace hloscope::viewer
