// Analyses: what has been worked out about a module, each part once, by the first thread that asks.
#pragma once

#include <memory>
#include <mutex>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

template <typename T>
class Once {
 public:
  const T& Get(const Module& module) {
    std::call_once(once_, [&] { value_ = std::make_unique<const T>(module); });
    return *value_;
  }

 private:
  std::once_flag once_;
  std::unique_ptr<const T> value_;
};

// Every module is one of these: ModuleBuilder makes no others. Copies would begin without analyses;
// there are none.
struct AnalysedModule : Module {
  mutable Once<CallGraph> call_graph;
  mutable Once<Effects> effects;
  mutable Once<UserIndex> users;
};

}  // namespace hloscope::hlo
