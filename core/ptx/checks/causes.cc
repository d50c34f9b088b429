#include "core/ptx/checks/causes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace hloscope::ptx {
namespace {

constexpr size_t kMaxCauses = 10;

// A missing barrier behind instruction `first` and before `last` orders the two accesses.
using Gap = BarrierGap;

struct Cause {
  std::vector<size_t> findings;  // ascending
  std::optional<Gap> gap;        // where a barrier orders all of them
};

// Gaps that one barrier closes: the fewest points that each gap has one of. Always the nearest end
// of a gap that has none yet.
std::vector<Cause> MissingBarriers(const std::vector<Finding>& findings, std::vector<size_t> of) {
  std::ranges::sort(of, {}, [&](size_t i) { return findings[i].gap->last; });
  std::vector<Cause> causes;
  for (const size_t i : of) {
    const Gap& gap = *findings[i].gap;
    if (causes.empty() || gap.first >= causes.back().gap->last) {
      causes.push_back({{i}, gap});
      continue;
    }
    causes.back().findings.push_back(i);
    causes.back().gap->first = std::max(causes.back().gap->first, gap.first);
  }
  return causes;
}

// Those that alike accesses of one memory make.
bool IsAlike(const Finding& a, const Finding& b) {
  return a.kind == b.kind && a.memory == b.memory && a.what == b.what;
}

using At = std::pair<uint32_t, uint32_t>;  // line, column

At AtOf(const FindingSide& side) { return {side.place.line, side.place.column}; }

// Instructions, or pairs of them whichever came first.
size_t CountPlaces(const std::vector<Finding>& findings, const Cause& cause) {
  std::set<std::pair<At, At>> places;
  for (const size_t i : cause.findings) {
    const At at = AtOf(findings[i].at), other = findings[i].other ? AtOf(*findings[i].other) : at;
    places.insert(std::minmax(at, other));
  }
  return places.size();
}

std::string Described(const Cause& cause, size_t places, const Kernel& kernel, bool is_race) {
  if (places == 1) return "";
  const std::string others = std::to_string(places - 1);
  std::string text =
      " (so do " + others + " more " + (is_race ? "pairs of instructions" : "instructions");
  if (places == 2) text = is_race ? " (so does 1 more pair of instructions" : " (so does 1 more";
  if (cause.gap) {
    const auto line = [&](uint32_t pc) {
      return std::to_string(kernel.instructions[pc].position.line);
    };
    text += ": a barrier between lines " + line(cause.gap->first) + " and " +
            line(cause.gap->last) + " orders them all";
  }
  return text + ")";
}

}  // namespace

std::vector<Finding> GroupedByCause(std::vector<Finding> findings, const Kernel& kernel) {
  std::vector<size_t> gaps;
  std::vector<Cause> causes;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].gap) {
      gaps.push_back(i);
      continue;
    }
    const auto alike = std::ranges::find_if(causes, [&](const Cause& cause) {
      return IsAlike(findings[cause.findings.front()], findings[i]);
    });
    if (alike != causes.end()) {
      alike->findings.push_back(i);
    } else {
      causes.push_back({{i}, {}});
    }
  }
  for (Cause& cause : MissingBarriers(findings, std::move(gaps))) {
    std::ranges::sort(cause.findings);
    causes.push_back(std::move(cause));
  }
  std::ranges::sort(causes, {}, [](const Cause& cause) { return cause.findings.front(); });
  std::vector<Finding> grouped;
  for (const Cause& cause : causes) {
    if (grouped.size() == kMaxCauses) {
      grouped.back().what +=
          " (" + std::to_string(causes.size() - kMaxCauses) + " more causes follow)";
      break;
    }
    const size_t places = CountPlaces(findings, cause);
    Finding& first = grouped.emplace_back(std::move(findings[cause.findings.front()]));
    for (size_t i = 1; i < cause.findings.size(); ++i)
      first.count += findings[cause.findings[i]].count;
    first.what += Described(cause, places, kernel, first.kind == FindingKind::kRace);
  }
  return grouped;
}

}  // namespace hloscope::ptx
