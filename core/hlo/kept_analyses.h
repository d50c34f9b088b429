// KeptAnalyses: room beside a module for what is worked out about it, each part once, by the first
// thread that asks (core/hlo/analysis/analyses.cc).
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "core/hlo/module.h"

namespace hloscope::hlo {

class KeptAnalyses {
 public:
  // The analysis T in place number `slot`, each of which is for one type.
  template <typename T>
  const T& Get(size_t slot, const Module& module) {
    Entry& entry = entries_[slot];
    std::call_once(entry.once, [&] { entry.value = std::make_shared<const T>(module); });
    return *static_cast<const T*>(entry.value.get());
  }
  static constexpr size_t kSlots = 5;

 private:
  struct Entry {
    std::once_flag once;
    std::shared_ptr<const void> value;
  };
  std::array<Entry, kSlots> entries_;
};

// What ModuleBuilder makes: every module is one.
struct KeptModule : Module {
  mutable KeptAnalyses analyses;
};

}  // namespace hloscope::hlo
