// All stages are compared with those before them, in the background.
#include "viewer/facts/pass_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

#include "viewer/facts/dump_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {

namespace {

struct RankingKey {
  using Value = PassRanking;
  int32_t module = -1;
  analysis::Annotations annotations = analysis::Annotations::kCounted;
  auto operator<=>(const RankingKey&) const = default;
};

Result<std::shared_ptr<const PassRanking>> Rank(const analysis::Lineage& lineage,
                                                analysis::Annotations annotations,
                                                TaskControl& control) {
  auto ranking = std::make_shared<PassRanking>();
  ranking->counts.resize(static_cast<size_t>(lineage.stage_count()));
  for (int32_t stage = 1; stage < lineage.stage_count(); ++stage) {
    if (control.stopped()) return EnvironmentError("stopped");
    control.Progress(stage, lineage.stage_count());
    const int32_t earlier = lineage.Neighbour(stage, -1);
    auto after = lineage.Module(stage);
    if (earlier < 0 || !after)
      continue;  // a stage that cannot be read has changed nothing we know of
    HLOSCOPE_ASSIGN_OR_RETURN(auto before, lineage.Module(earlier));
    HLOSCOPE_ASSIGN_OR_RETURN(auto alignment, lineage.Step(earlier));
    const auto at = static_cast<size_t>(stage);
    ranking->counts[at] = analysis::FindChanges(*before, **after, *alignment, annotations).counts;
    if (ranking->counts[at].any()) ranking->order.push_back(stage);
  }
  std::ranges::stable_sort(ranking->order, std::greater(), [&](int32_t stage) {
    const analysis::ChangeCounts& c = ranking->counts[static_cast<size_t>(stage)];
    return c.added + c.removed + c.rewritten + c.moved;
  });
  return ranking;
}

constexpr std::string_view kStart = "pipeline-start";

// The pass of an outer pipeline that was running when this one started: the next that an earlier
// pipeline, not started again since, finished. Empty: none.
std::string_view RunningPass(const dump::ModuleEntry& entry, int32_t at) {
  const std::span all(entry.stages);
  const auto position = static_cast<size_t>(at);
  const dump::StageEntry& start = all[position];
  for (size_t later = position + 1; later < all.size(); ++later) {
    const std::string& outer = all[later].pipeline;
    if (all[later].pass == kStart || outer.empty() || outer == start.pipeline) continue;
    const auto is_outer = [&](const dump::StageEntry& s) { return s.pipeline == outer; };
    const auto between = all.subspan(position + 1, later - position - 1);
    const bool is_restarted = std::ranges::any_of(
        between, [&](const dump::StageEntry& s) { return is_outer(s) && s.pass == kStart; });
    if (!is_restarted && std::ranges::any_of(all.first(position), is_outer)) return all[later].pass;
  }
  return {};
}

}  // namespace

const Pending<PassRanking>& RankingOf(Context& context, int32_t module,
                                      analysis::Annotations annotations) {
  return context.cache.Get(RankingKey{module, annotations}, "comparing all stages",
                           [provenance = context.data.Provenance(module), annotations](
                               TaskControl& control) -> Result<std::shared_ptr<const PassRanking>> {
                             if (provenance == nullptr) return InputError("no such module");
                             return Rank(provenance->lineage(), annotations, control);
                           });
}

bool MayReadAllStages(Context& context, int32_t module) {
  constexpr int64_t kSmall = 200'000;  // instructions of all stages
  if (context.marks.Of<PassMarks>().asked.contains(module)) return true;
  const dump::ModuleEntry& entry = context.document.dump()->modules()[static_cast<size_t>(module)];
  const Pending<ModuleFacts>& facts = FactsOf(context, module);
  if (facts.waiting()) return false;
  return !facts.ready() || facts->instructions * std::ssize(entry.stages) <= kSmall;
}

std::string CountsText(const analysis::ChangeCounts& counts) {
  std::string out;
  auto add = [&](int64_t count, std::string_view word) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", CountText(count), word);
  };
  add(counts.added, "added");
  add(counts.removed, "removed");
  add(counts.rewritten, "rewritten");
  add(counts.moved, "moved");
  return out;
}

std::string PassName(const dump::ModuleEntry& entry, int32_t stage) {
  const dump::StageEntry& at = entry.stages[static_cast<size_t>(stage)];
  if (at.pass.empty()) return at.name;
  if (at.pass != kStart) return at.pass;
  const std::string_view running = RunningPass(entry, stage);
  return running.empty() ? "start of pipeline " + at.pipeline
                         : fmt::format("{} (up to {})", running, at.pipeline);
}

bool IsMadeByPass(const dump::ModuleEntry& entry, int32_t stage) {
  const dump::StageEntry& at = entry.stages[static_cast<size_t>(stage)];
  return !at.pass.empty() && (at.pass != kStart || !RunningPass(entry, stage).empty());
}

}  // namespace hloscope::viewer
