// One edit after the other, each for the results that are left.
#include "core/debug/explain/passes/find_edits.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/debug/explain/diverge/difference_paths.h"
#include "core/debug/explain/passes/find_edit.h"
#include "core/debug/explain/passes/separated_pair.h"
#include "core/hlo/analysis/find_instruction.h"

namespace hloscope::debug {

using hlo::Module;

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxFindings = 8;
constexpr std::chrono::seconds kLongestSearch(120);

// Takes those results out of `left` that the place leads to in the module that has it; all of them
// where no module does.
std::vector<int64_t> TakeLedTo(const DivergePlace& place, const Module& after, const Module& before,
                               std::vector<int64_t>& left) {
  for (const Module* module : {&after, &before}) {
    const hlo::InstructionId id =
        hlo::FindInstruction(*module, place.computation + ":" + place.instruction);
    if (!id.valid()) continue;
    const std::vector<bool> may_differ(module->instructions().size(), true);
    return TakeResultsFrom(*module, id, may_differ, left);
  }
  return std::exchange(left, {});
}

// True where the finding is one that is known, of further calls: its results are then those of
// that.
bool JoinSame(const DivergeFinding& finding, std::vector<DivergeFinding>& findings) {
  const auto same = std::ranges::find_if(findings, [&](const DivergeFinding& known) {
    return known.place->instruction == finding.place->instruction &&
           known.place->computation == finding.place->computation &&
           known.place->calls != finding.place->calls && known.edit.what == finding.edit.what;
  });
  if (same == findings.end() || finding.results.empty()) return false;
  same->results.insert(same->results.end(), finding.results.begin(), finding.results.end());
  return true;
}

}  // namespace

void FindEdits(const StageValues& values, const std::shared_ptr<const Module>& before,
               const std::shared_ptr<const Module>& after, std::span<const size_t> leaves,
               const std::stop_token& stop, DivergeVerdict& verdict) {
  const Clock::time_point end = Clock::now() + kLongestSearch;
  std::vector<int64_t> left(leaves.begin(), leaves.end());
  std::vector<DivergeFinding> findings;
  const SeparatedPair pair(before, after);
  if (std::string left_out = pair.Left(); !left_out.empty())
    verdict.warnings.push_back(std::move(left_out));
  const analysis::Alignment alignment = analysis::Align(*pair.before(), *pair.after());
  while (!left.empty() && findings.size() < kMaxFindings) {
    if (!findings.empty() && (Clock::now() > end || stop.stop_requested())) break;
    auto edit = FindEdit(values, pair.before(), pair.after(), alignment,
                         std::vector<size_t>(left.begin(), left.end()), stop);
    if (!edit) {
      verdict.warnings.push_back("the instruction was not found: " + edit.error().message);
      break;
    }
    if (!*edit) break;
    DivergeFinding finding{.place = (*edit)->place, .edit = (*edit)->backwards};
    pair.Restore(*finding.place);
    pair.Restore(finding.edit);
    // What both call several times was changed for all calls.
    finding.results = pair.are_both_changed()
                          ? TakeLedTo(*finding.place, *after, *before, left)
                          : TakeLedTo((*edit)->place, *pair.after(), *pair.before(), left);
    if (JoinSame(finding, findings)) continue;
    if (finding.results.empty() && !findings.empty()) break;
    const bool leads_nowhere = finding.results.empty();
    findings.push_back(std::move(finding));
    if (leads_nowhere) left.clear();
  }
  if (findings.empty()) return;
  findings.front().cause = verdict.cause;
  verdict.place = findings.front().place;
  verdict.edit = findings.front().edit;
  if (findings.size() == 1 && left.empty()) return;
  if (!left.empty()) findings.push_back({.results = left});
  verdict.findings = std::move(findings);
}

}  // namespace hloscope::debug
