// Two stages aligned with each other, and the list of all that may be chosen.
#include "viewer/facts/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/analysis/align/alignment.h"
#include "core/analysis/align/provenance.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/search_index.h"
#include "viewer/model/second_dump.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

struct ComparisonKey {
  using Value = analysis::PassChanges;
  int32_t other_module = -1, other_stage = -1, module = -1, stage = -1;
  uint64_t second = 0;
  analysis::Annotations annotations = analysis::Annotations::kCounted;
  auto operator<=>(const ComparisonKey&) const = default;
};

}  // namespace

void Comparison::Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
                        std::vector<std::string>& lost) {
  if (!is_set() || second != 0) return;  // the second dump is read again too
  const StageAnchor place = AnchorOfStage(before, module, stage);
  const Place found = FindPlace(now, place);
  *this = {.module = found.module, .stage = found.stage};
  if (found.stage < 0) lost.push_back("comparison with " + ToString(place));
}

Comparison ChosenComparison(const Context& context) {
  const Comparison chosen = context.marks.Of<Comparison>();
  if (chosen.second == 0) return chosen;
  const bool is_there = context.second.dump().ready() && chosen.second == context.second.reading();
  return is_there ? chosen : Comparison();
}

analysis::Annotations AnnotationsIn(const Context& context) {
  return context.marks.Of<ChangeFilter>().ignores_metadata ? analysis::Annotations::kIgnored
                                                           : analysis::Annotations::kCounted;
}

int32_t ShownChangeStage(Context& context) {
  const ShownChange& shown = context.marks.Of<ShownChange>();
  if (shown.stage >= 0 && shown.version == context.navigation.version()) return shown.stage;
  const int32_t module = context.navigation.module();
  // Until a stage is chosen: where the most changed, once that is known.
  if (module >= 0 && !context.navigation.was_stage_chosen() && MayReadAllStages(context, module)) {
    const Pending<PassRanking>& ranking = RankingOf(context, module, AnnotationsIn(context));
    if (ranking.ready() && !ranking->order.empty()) return ranking->order.front();
  }
  return context.navigation.stage();
}

const Pending<analysis::PassChanges>& ShownChanges(Context& context, int32_t module,
                                                   int32_t stage) {
  return context.data.Changes(module, stage, AnnotationsIn(context));
}

const Pending<analysis::PassChanges>& CompareStages(Context& context, const Comparison& other,
                                                    int32_t module, int32_t stage) {
  using Changes = Result<std::shared_ptr<const analysis::PassChanges>>;
  const auto dump = context.document.dump().value;
  const bool is_second = other.second != 0;
  return context.cache.Get(
      ComparisonKey{other.module, other.stage, module, stage, other.second, AnnotationsIn(context)},
      "comparing two stages",
      [dump, other_dump = is_second ? context.second.dump().value : dump, other, module, stage,
       provenance = is_second || other.module != module ? nullptr : context.data.Provenance(module),
       annotations = AnnotationsIn(context)](TaskControl&) -> Changes {
        HLOSCOPE_ASSIGN_OR_RETURN(auto earlier, other_dump->Module(other.module, other.stage));
        HLOSCOPE_ASSIGN_OR_RETURN(auto later, dump->Module(module, stage));
        if (other.second != 0) std::swap(earlier, later);
        const analysis::Alignment links =
            provenance != nullptr
                ? provenance->lineage().Between(other.stage, *earlier, stage, *later)
                : analysis::Align(*earlier, *later);
        return std::make_shared<const analysis::PassChanges>(
            analysis::FindChanges(*earlier, *later, links, annotations));
      });
}

std::string ComparisonText(Context& context, const Comparison& comparison) {
  const bool is_second = comparison.second != 0;
  const auto modules = (is_second ? context.second.dump() : context.document.dump())->modules();
  const auto m = static_cast<size_t>(comparison.module), s = static_cast<size_t>(comparison.stage);
  if (m >= modules.size() || s >= modules[m].stages.size()) return "a stage that no longer exists";
  const std::string& stage = modules[m].stages[s].name;
  if (is_second) return fmt::format("second dump: {}, {}", modules[m].name, stage);
  if (comparison.module == context.navigation.module()) return stage;
  return fmt::format("{} ({}), {}", modules[m].name, modules[m].id, stage);
}

std::vector<ComparisonChoice> ComparisonChoices(Context& context, std::string_view words,
                                                size_t most) {
  std::vector<ComparisonChoice> out;
  const int32_t here = context.navigation.module(), shown = ShownChangeStage(context);
  const auto add = [&](const dump::ModuleEntry& entry, int32_t m, uint64_t second) {
    for (int32_t s = 0; s < std::ssize(entry.stages) && out.size() < most; ++s) {
      if (second == 0 && m == here && s == shown) continue;
      const Comparison comparison{.module = m, .stage = s, .second = second};
      std::string text = ComparisonText(context, comparison);
      if (HasWords(text, words)) out.push_back({.comparison = comparison, .text = std::move(text)});
    }
  };
  const auto modules = context.document.dump()->modules();
  if (here >= 0) add(modules[static_cast<size_t>(here)], here, 0);
  for (int32_t m = 0; m < std::ssize(modules) && out.size() < most; ++m) {
    if (m != here) add(modules[static_cast<size_t>(m)], m, 0);
  }
  if (!context.second.dump().ready()) return out;
  const auto others = context.second.dump()->modules();
  for (int32_t m = 0; m < std::ssize(others) && out.size() < most; ++m)
    add(others[static_cast<size_t>(m)], m, context.second.reading());
  return out;
}

}  // namespace hloscope::viewer
