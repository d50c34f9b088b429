// Keeps what a run tells.
#pragma once

#include <variant>
#include <vector>

#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

class Events : public RunStream {
 public:
  // All but progress, which goes by the clock.
  void Take(RunEvent event) override {
    if (!std::holds_alternative<RunProgress>(event)) all.push_back(std::move(event));
  }
  template <typename Event>
  std::vector<const Event*> Of() const {
    std::vector<const Event*> some;
    for (const RunEvent& event : all) {
      if (const auto* one = std::get_if<Event>(&event)) some.push_back(one);
    }
    return some;
  }
  std::vector<RunEvent> all;
};

}  // namespace hloscope::replay
