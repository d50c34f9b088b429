// NameUniquer: makes names unique as XLA does when computations join a module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace hloscope::hlo {

class NameUniquer {
 public:
  // `name` itself where it is free, else its root with the next free number: add, add.1, add.2.
  // Numbers are numbers: x.007 becomes x.7, and x and x.0 are the same.
  std::string Unique(std::string_view name);

  // True if the end of `name` alone can make Unique() change it (x.0, x.007).
  static bool HasOddSuffix(std::string_view name);

 private:
  struct Numbers {
    std::unordered_set<int64_t> used;
    int64_t next = 0;
  };
  std::unordered_map<std::string, Numbers> roots_;
};

// The name XLA would give instead of `name`; equal to `name` if that is allowed.
std::string SanitizedName(std::string_view name);

}  // namespace hloscope::hlo
