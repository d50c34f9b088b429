// Home: what this dump is, what ran where, what is wrong, and what is missing with the flag for it.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include "viewer/view.h"
#include "viewer/widgets.h"

namespace hloscope::viewer {
namespace {

class HomeView : public View {
 public:
  void Draw(Frame& frame) override {
    const Pending<dump::DumpModel>& dump = frame.session.dump();
    if (!ShowPending(frame, dump, "the dump")) return;
    for (size_t i = 0; i < dump->modules().size(); ++i) Label(dump->modules()[i].name);
  }
};

}  // namespace

std::unique_ptr<View> MakeHomeView() { return std::make_unique<HomeView>(); }

}  // namespace hloscope::viewer
