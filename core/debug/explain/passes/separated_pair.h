// SeparatedPair: two modules in which no two calls share a computation, so that what one side calls
// several times and the other has inlined is paired call by call.
#pragma once

#include <memory>
#include <string>

#include "core/debug/explain/diverge/verdict.h"
#include "core/hlo/module.h"
#include "core/hlo/rewrite/separate_calls.h"

namespace hloscope::debug {

class SeparatedPair {
 public:
  SeparatedPair(const std::shared_ptr<const hlo::Module>& before,
                const std::shared_ptr<const hlo::Module>& after);

  const std::shared_ptr<const hlo::Module>& before() const { return before_.module; }
  const std::shared_ptr<const hlo::Module>& after() const { return after_.module; }
  // False: neither of the two given shares any.
  bool is_changed() const { return is_before_changed_ || is_after_changed_; }
  bool are_both_changed() const { return is_before_changed_ && is_after_changed_; }
  // Of what would be too many copies, in words; empty: all are separated.
  std::string Left() const;

  // A place and an edit in the names of the modules given; the place says which call it is.
  void Restore(DivergePlace& place) const;
  void Restore(InstructionEdit& edit) const;

 private:
  hlo::SeparatedModule before_, after_;
  bool is_before_changed_ = false, is_after_changed_ = false;
};

}  // namespace hloscope::debug
