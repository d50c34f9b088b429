// Pieces, their texts and their sum.
#include "core/debug/compare/array_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "core/base/jobs.h"
#include "core/base/text.h"
#include "core/debug/compare/compare_bits.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::debug {

using hlo::ElementType;

namespace {

double AsDouble(ElementType type, const std::byte* at) {
  double value;
  eval::LoadAs<double>(type, at, &value, 1);
  return value;
}

std::string RealText(ElementType type, const std::byte* at) {
  if (hlo::IsFloat(type)) {
    return type == ElementType::kF64 ? ShortestText(AsDouble(type, at))
                                     : ShortestText(static_cast<float>(AsDouble(type, at)));
  }
  int64_t value;
  eval::LoadAs<int64_t>(type, at, &value, 1);
  if (type == ElementType::kPred) return value != 0 ? "true" : "false";
  return type == ElementType::kU64 ? std::to_string(static_cast<uint64_t>(value))
                                   : std::to_string(value);
}

std::string ElementText(ElementType type, const std::byte* at) {
  if (!hlo::IsComplex(type)) return RealText(type, at);
  const ElementType part = hlo::RealPart(type);
  return "(" + RealText(part, at) + ", " + RealText(part, at + hlo::StorageBytes(part)) + ")";
}

// One significant digit in decimal, upwards: the double next to 0.6, not 6 tenths.
double RoundedUp(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const std::string text = fmt::format("{:.0e}", value);
  const double rounded = std::strtod(text.c_str(), nullptr);
  if (rounded >= value) return rounded;
  const std::string next = std::to_string(text[0] - '0' + 1) + text.substr(1);
  return std::strtod(next.c_str(), nullptr);
}

// Bounds that would have let everything pass: the tightest relative one beside each absolute one.
std::vector<BoundPair> PassingBounds(const PairStatistics& pairs) {
  std::vector<BoundPair> passing;
  if (pairs.mismatched == 0 || pairs.max_abs_error == 0) return passing;
  if (pairs.nan.total() + pairs.inf.total() + pairs.inf_opposite != 0) return passing;
  double relative = 0;
  passing.push_back({RoundedUp(pairs.max_abs_error), 0});
  for (size_t k = ErrorHistogram::kClasses; k-- > 1;) {
    relative = std::max(relative, pairs.max_rel_by_abs[k]);
    const double absolute = k >= 2 ? ErrorHistogram::kBounds[k - 2] : 0;
    if (pairs.max_rel_by_abs[k] == 0 || !std::isfinite(relative)) continue;
    if (absolute >= passing.front().absolute) continue;  // the first pair is tighter
    BoundPair pair{absolute, RoundedUp(relative)};
    // A smaller absolute bound under the same relative one makes the larger needless.
    if (passing.back().relative == pair.relative) passing.pop_back();
    passing.push_back(pair);
  }
  return passing;
}

}  // namespace

PairStatistics ArrayComparison::Run(int64_t first) const {
  const int64_t pieces = (elements() + kPiece - 1) / kPiece;
  std::vector<PairStatistics> parts(static_cast<size_t>(pieces));
  const int threads = pieces < 2 ? 1 : AvailableCpus();
  const Status done = ParallelFor(pieces, threads, [&](int64_t piece) {
    const int64_t begin = piece * kPiece;
    Piece(begin, std::min(begin + kPiece, elements()), first, parts[static_cast<size_t>(piece)]);
  });
  PairStatistics all;
  if (!done.has_value()) return all;  // nothing in a piece fails
  for (const PairStatistics& part : parts) all.Add(part);
  return all;
}

ElementMismatch ArrayComparison::Describe(int64_t at) const {
  const auto [a, e] = Places(at);
  return {IndexOf(at, sizes_), ElementText(type_, a), ElementText(type_, e)};
}

std::pair<const std::byte*, const std::byte*> ArrayComparison::Places(int64_t at) const {
  const auto size = static_cast<int64_t>(hlo::StorageBytes(type_));
  const auto [a, e] = rows_.Begin(at / rows_.row());
  const int64_t column = at % rows_.row();
  return {actual_.bytes().data() + (a + column) * size,
          expected_.bytes().data() + (e + column) * size};
}

void ArrayComparison::Piece(int64_t begin, int64_t end, int64_t first, PairStatistics& into) const {
  while (begin < end) {
    const int64_t count = std::min(end - begin, rows_.row() - begin % rows_.row());
    const auto [a, e] = Places(begin);
    ComparePairs(type_, a, e, count, bounds_, first + begin, into);
    begin += count;
  }
}

void SetStatistics(const PairStatistics& pairs, LeafComparison& into) {
  into.same_bits = !pairs.other_bits;
  into.mismatched = pairs.mismatched;
  into.max_abs_error = pairs.max_abs_error;
  into.max_rel_error = pairs.max_rel_error;
  into.max_ulp = pairs.max_ulp;
  into.nan = pairs.nan;
  into.inf = pairs.inf;
  into.nan_mismatched = pairs.nan.total();
  into.inf_mismatched = pairs.inf.total() + pairs.inf_opposite;
  into.histogram = pairs.histogram;
  into.passing_bounds = PassingBounds(pairs);
}

}  // namespace hloscope::debug
