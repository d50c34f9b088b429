// XlaOptions: the flags of XLA that a command takes, from a file and one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"
#include "core/backends/pjrt/debug_options.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::app {

class XlaOptions {
 public:
  // `whose` says in the help which platform they are for, after "XLA flags".
  std::vector<OptionSpec> Specs(std::string_view whose);
  // Given one by one, not by a file.
  bool names_any() const { return !flags_.empty(); }
  bool any() const { return !flags_.empty() || !file_.empty(); }
  // The command line's flags come after the file's and replace them. Fails where the file cannot be
  // read.
  Result<replay::pjrt::XlaFlags> Flags(const Limits& limits) const;

  // Adds those of the environment's XLA_FLAGS that `flags` does not have, for a platform on which
  // they have an effect. The sentence that says so, or why they do not count; empty: there are
  // none.
  static std::string AddEnvironment(std::string_view platform, replay::pjrt::XlaFlags& flags);
  // "XLA_FLAGS of the environment is not used: WHY", for what runs with flags of its own; empty:
  // there are none.
  static std::string UnusedEnvironment(std::string_view why);

 private:
  std::string file_;
  std::vector<std::string> flags_;  // "xla_name=value"
};

}  // namespace hloscope::app
