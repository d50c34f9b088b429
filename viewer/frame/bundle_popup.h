// BundlePopup: what is to go into a bundle, and what went in.
#pragma once

#include <cstdint>
#include <string>

#include "viewer/lab/bundle_making.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class BundlePopup {
 public:
  // The content of the popup; `entered`: Enter was pressed in the field of the path, whose text is
  // `path`.
  void Draw(Frame& frame, const std::string& path, bool entered);
  // Where the bundle of the module in view goes by default.
  static std::string DefaultPath(Context& context);

 private:
  void DrawOptions(Frame& frame);
  void DrawButtons(Frame& frame, int32_t module, const std::string& path, bool entered);
  void DrawPlan(Frame& frame, int32_t module);
  static void DrawMade(Frame& frame, const BundleMaking& making);

  BundleOptions options_;
  std::string planned_note_;  // not while it is being typed
};

}  // namespace hloscope::viewer
