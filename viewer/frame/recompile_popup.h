// RecompilePopup: which compiler, device and flags the module in view is compiled with again.
#pragma once

#include <string>
#include <vector>

#include "core/debug/run/compile_again.h"
#include "viewer/lab/recompilation.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class RecompilePopup {
 public:
  // The content of the popup; `entered`: Enter was pressed in the field of the flags, whose text is
  // `flags`. True: it was started.
  bool Draw(Frame& frame, const std::string& flags, bool entered);

 private:
  void DrawPlatforms(Frame& frame);
  void DrawTargets(Frame& frame);

  RecompileChoice choice_;
  std::vector<debug::DumpingCompiler> platforms_;  // looked for when it is shown first
};

}  // namespace hloscope::viewer
