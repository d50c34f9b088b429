// One barrier orders all pairs of accesses that it lies between.
#include "core/backends/gpusim/group_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace hloscope::replay {
namespace {

bool IsRaceOfPair(const RunFinding& finding) {
  return finding.kind == "race" && finding.at && finding.other &&
         finding.at->file == finding.other->file;
}

// What races may have in common: the memory, and whether blocks, iterations or lines lack an order.
enum class Lacks : uint8_t { kBlocks, kIterations, kLines };
using RaceClass = std::tuple<std::string, std::string, std::string, std::string, Lacks>;

RaceClass ClassOfRace(const RunFinding& finding) {
  const bool of_blocks = finding.at->block != finding.other->block;
  const bool of_lines = finding.what.contains("no barrier between lines");
  return {finding.instruction, finding.kernel, finding.at->file, finding.memory,
          of_blocks  ? Lacks::kBlocks
          : of_lines ? Lacks::kLines
                     : Lacks::kIterations};
}

int64_t FirstLine(const RunFinding& finding) {
  return std::min(finding.at->line, finding.other->line);
}
int64_t LastLine(const RunFinding& finding) {
  return std::max(finding.at->line, finding.other->line);
}

// The pairs of lines of a group.
struct Pairs {
  size_t first = 0;  // the finding that stands for them
  int64_t count = 0, times = 0;
  int64_t first_from = 0, first_to = 0, last_from = 0, last_to = 0;

  void Add(const RunFinding& finding) {
    const int64_t first_line = FirstLine(finding), last_line = LastLine(finding);
    first_from = count == 0 ? first_line : std::min(first_from, first_line);
    first_to = count == 0 ? first_line : std::max(first_to, first_line);
    last_from = count == 0 ? last_line : std::min(last_from, last_line);
    last_to = count == 0 ? last_line : std::max(last_to, last_line);
    ++count;
    times += finding.count;
  }
  std::string Words() const {
    const auto lines = [](int64_t from, int64_t to) {
      return from == to ? fmt::format("line {}", from) : fmt::format("lines {} to {}", from, to);
    };
    return fmt::format("; {} pairs of instructions race for this reason, {} against {}", count,
                       lines(first_from, first_to), lines(last_from, last_to));
  }
};

// The fewest barriers that lie between the lines of each pair: the next is in front of the line
// where the first pair ends that has none.
std::vector<std::vector<size_t>> OneBarrierEach(const std::vector<RunFinding>& findings,
                                                std::vector<size_t> races) {
  std::ranges::stable_sort(races, {}, [&](size_t i) { return LastLine(findings[i]); });
  std::vector<std::vector<size_t>> groups;
  int64_t barrier = -1;
  for (const size_t i : races) {
    if (groups.empty() || FirstLine(findings[i]) >= barrier) {
      groups.emplace_back();
      barrier = LastLine(findings[i]);
    }
    groups.back().push_back(i);
  }
  return groups;
}

// Pairs of one loop overlap.
std::vector<std::vector<size_t>> OneLoopEach(const std::vector<RunFinding>& findings,
                                             std::vector<size_t> races) {
  std::ranges::stable_sort(races, {}, [&](size_t i) { return FirstLine(findings[i]); });
  std::vector<std::vector<size_t>> groups;
  int64_t end = -1;
  for (const size_t i : races) {
    if (groups.empty() || FirstLine(findings[i]) > end) groups.emplace_back();
    end = std::max(end, LastLine(findings[i]));
    groups.back().push_back(i);
  }
  return groups;
}

std::vector<std::vector<size_t>> GroupsOf(Lacks lacks, const std::vector<RunFinding>& findings,
                                          const std::vector<size_t>& races) {
  if (lacks == Lacks::kLines) return OneBarrierEach(findings, races);
  return lacks == Lacks::kIterations ? OneLoopEach(findings, races)
                                     : std::vector<std::vector<size_t>>(1, races);
}

}  // namespace

std::vector<RunFinding> GroupedByCause(const std::vector<RunFinding>& findings) {
  std::map<RaceClass, std::vector<size_t>> places;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (IsRaceOfPair(findings[i])) places[ClassOfRace(findings[i])].push_back(i);
  }
  std::map<size_t, Pairs> groups;  // by the finding that stands for them
  for (auto& [place, races] : places) {
    for (const auto& group : GroupsOf(std::get<Lacks>(place), findings, races)) {
      Pairs pairs{.first = *std::ranges::min_element(group)};
      for (const size_t i : group) pairs.Add(findings[i]);
      groups.emplace(pairs.first, pairs);
    }
  }
  std::vector<RunFinding> grouped;
  for (size_t i = 0; i < findings.size(); ++i) {
    const auto group = groups.find(i);
    if (group == groups.end() && IsRaceOfPair(findings[i])) continue;
    RunFinding& finding = grouped.emplace_back(findings[i]);
    if (group == groups.end() || group->second.count == 1) continue;
    finding.what += group->second.Words();
    finding.count = group->second.times;
  }
  return grouped;
}

}  // namespace hloscope::replay
