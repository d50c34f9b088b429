// What a search for the first NaN or infinity came to: where it appears, or that it did not and
// what may show it.
#pragma once

#include <string>

#include "viewer/model/experiment.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class NonFiniteOutcome {
 public:
  // What the next search finds is selected once.
  void SelectOnce(bool selects) { selects_ = selects; }
  // Below the sentence of the run that ended; its warnings too.
  void Draw(Frame& frame, const Experiment& experiment, const debug::RunReport& report);

 private:
  void DrawFirst(Frame& frame, const Experiment& experiment, const debug::NonFinite& first);
  const std::string& ElementText(const Experiment& experiment, const debug::NonFinite& first);

  bool selects_ = false;
  std::string element_, element_of_;  // what ElementText found, and of what
};

}  // namespace hloscope::viewer
