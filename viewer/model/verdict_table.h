// Verdict: how the values of two sides compare, by the table verdicts.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/debug/compare/compare_values.h"

namespace hloscope::viewer {

enum class Verdict : uint8_t {
#define VERDICT(name, words, color, mark, help) name,
#include "viewer/model/verdicts.def"
#undef VERDICT
};
inline constexpr size_t kVerdictCount = 0
#define VERDICT(...) +1
#include "viewer/model/verdicts.def"
#undef VERDICT
    ;

// The mark of a verdict, in addition to its colour.
enum class VerdictMark : uint8_t { kDash, kDot, kRing, kDisc, kDiamond, kTriangle, kCross };

std::string_view ToString(Verdict verdict);  // "within tolerance"
std::string_view Describe(Verdict verdict);  // a sentence
VerdictMark MarkOf(Verdict verdict);

// Something to look at: beyond tolerance, NaN on one side, or not run.
constexpr bool StandsOut(Verdict verdict) { return verdict >= Verdict::kBeyond; }
// Values of both sides were there.
constexpr bool IsCompared(Verdict verdict) {
  return verdict != Verdict::kNotCompared && verdict != Verdict::kFailed;
}
inline constexpr uint64_t kFewUlp = 4;

// How an array does.
Verdict VerdictOf(const debug::LeafComparison& leaf);

// How many of each there are.
struct VerdictCounts {
  std::array<int64_t, kVerdictCount> of = {};
  void Add(Verdict verdict, int64_t count = 1) { of[static_cast<size_t>(verdict)] += count; }
  int64_t operator[](Verdict verdict) const { return of[static_cast<size_t>(verdict)]; }
  // Of those that were compared, the worst; nullopt: none was.
  std::optional<Verdict> Worst() const;
};

// How the elements of two arrays do, of the same type and dimensions; none where those differ.
struct ElementCounts : VerdictCounts {
  // Of the worst verdict the element of the largest relative error, as the comparison of a run
  // orders them; -1: all have the same bits.
  int64_t worst_element = -1;
};
ElementCounts CountElements(const hlo::Literal& actual, const hlo::Literal& expected,
                            const debug::BoundsRequest& bounds);
// How element number `element` does.
Verdict VerdictOfElement(const hlo::Literal& actual, const hlo::Literal& expected, int64_t element,
                         const debug::ErrorBounds& bounds);

}  // namespace hloscope::viewer
