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

  // What the end of a name can do: x.007 is always changed, x.0 only where there is an x.
  enum class Suffix : uint8_t { kPlain, kZero, kOdd };
  static Suffix SuffixOf(std::string_view name);

 private:
  struct Numbers {
    std::unordered_set<int64_t> used;
    int64_t next = 0;
  };
  std::unordered_map<std::string, Numbers> roots_;
};

// False if XLA takes `name` as it is.
bool NeedsSanitizing(std::string_view name);
// The name XLA would give instead of `name`; equal to `name` if that is allowed.
std::string SanitizedName(std::string_view name);

}  // namespace hloscope::hlo
