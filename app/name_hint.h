// The hint of an error about a name that does not exist.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/closest_text.h"

namespace hloscope::app {

// Where a dump has none of a kind.
inline constexpr std::string_view kListsMissing =
    "this dump has none; `hloscope info` says which flag writes what is missing";

// Takes the names that there are, which have to outlive it.
class NameHint {
 public:
  // `kind` in the plural: "kernels".
  NameHint(std::string_view word, std::string_view kind) : closest_(word), kind_(kind) {}
  void Offer(std::string_view name);
  // "did you mean `x`?", else the first few names that there are; `none` where there are none.
  std::string Text(std::string_view none = "") const;

 private:
  ClosestText closest_;
  std::string kind_, first_;
  size_t count_ = 0;
};

}  // namespace hloscope::app
