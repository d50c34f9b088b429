// TwoDumps: which modules of the open dump and of the second one are the same, and which differ.
// The figures are those of `compare A B`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

enum class ModuleVerdict : uint8_t {
  kDiffers,
  kElided,  // equal but for constants whose values a dump does not have
  kOnlyFirst,
  kOnlySecond,
  kEqual,
};
inline constexpr int kModuleVerdicts = static_cast<int>(ModuleVerdict::kEqual) + 1;
std::string_view ToString(ModuleVerdict verdict);

struct ModulePair {
  std::string name;  // "jit_f"; with its id where a dump has several of that name
  // By dump, the open one first; -1: it has none, or that is not known. Memory: all allocations.
  std::array<int32_t, 2> modules = {-1, -1};
  std::array<int64_t, 2> instructions = {-1, -1}, memory_bytes = {-1, -1};
  ModuleVerdict verdict = ModuleVerdict::kEqual;
  std::string what;  // in what the stages differ
  bool has_both() const { return modules[0] >= 0 && modules[1] >= 0; }
};

struct TwoDumps {
  // What differs and grew most first, then what one of them has, then what is equal.
  std::vector<ModulePair> pairs;
  std::array<int64_t, kModuleVerdicts> counts = {};  // by verdict
};

// "1 module differs, 3 equal, 2 only in the first dump".
std::string ToSentence(const TwoDumps& dumps);

// In the background; both dumps have been read.
const Pending<TwoDumps>& TwoDumpsOf(Context& context);

}  // namespace hloscope::viewer
