// AlgorithmRecord: which of several ways to compute an instruction was taken, where that came from,
// and how long each took.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::replay {

// How a way is chosen where a bundle does not say it: by a rule that is the same in every run; by
// what was measured before, where something was; by measuring.
enum class AutotuneMode : uint8_t { kByRule, kFromCache, kByTime };

// The way that is no library's.
inline constexpr std::string_view kOwnWay = "our own kernel";

struct AlgorithmRecord {
  struct Tried {
    std::string way;
    double time_us = 0;
    std::string refused;  // why it has no time; empty: it has one
    bool operator==(const Tried&) const = default;
  };
  std::string way;           // kOwnWay, or the library's name of a proposal; empty: it has one only
  std::string from;          // "rule", "cache", "bundle", "measured"; empty with `way`
  double time_us = 0;        // when it was measured; 0: it was not
  std::vector<Tried> tried;  // measured now
  std::vector<std::string> notes;  // why a choice that is known is not taken
  bool operator==(const AlgorithmRecord&) const = default;
};

}  // namespace hloscope::replay
