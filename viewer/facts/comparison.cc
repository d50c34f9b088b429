// Two stages aligned with each other, and the list of all that may be chosen.
#include "viewer/facts/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/analysis/align/alignment.h"
#include "core/analysis/align/provenance.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/search_index.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

struct ComparisonKey {
  using Value = analysis::PassChanges;
  int32_t module_before = -1, stage_before = -1, module = -1, stage = -1;
  analysis::Annotations annotations = analysis::Annotations::kCounted;
  auto operator<=>(const ComparisonKey&) const = default;
};

}  // namespace

void Comparison::Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
                        std::vector<std::string>& lost) {
  if (!is_set()) return;
  const StageAnchor place = AnchorOfStage(before, module, stage);
  const Place found = FindPlace(now, place);
  *this = {.module = found.module, .stage = found.stage};
  if (found.stage < 0) lost.push_back("comparison with " + ToString(place));
}

analysis::Annotations AnnotationsIn(const Context& context) {
  return context.marks.Of<ChangeFilter>().ignores_metadata ? analysis::Annotations::kIgnored
                                                           : analysis::Annotations::kCounted;
}

const Pending<analysis::PassChanges>& ShownChanges(Context& context, int32_t module,
                                                   int32_t stage) {
  return context.data.Changes(module, stage, AnnotationsIn(context));
}

const Pending<analysis::PassChanges>& CompareStages(Context& context, const Comparison& before,
                                                    int32_t module, int32_t stage) {
  using Changes = Result<std::shared_ptr<const analysis::PassChanges>>;
  return context.cache.Get(
      ComparisonKey{before.module, before.stage, module, stage, AnnotationsIn(context)},
      "comparing two stages",
      [dump = context.document.dump().value, provenance = context.data.Provenance(module), before,
       module, stage, annotations = AnnotationsIn(context)](TaskControl&) -> Changes {
        HLOSCOPE_ASSIGN_OR_RETURN(auto earlier, dump->Module(before.module, before.stage));
        HLOSCOPE_ASSIGN_OR_RETURN(auto later, dump->Module(module, stage));
        const analysis::Alignment links =
            provenance != nullptr && before.module == module
                ? provenance->lineage().Between(before.stage, *earlier, stage, *later)
                : analysis::Align(*earlier, *later);
        return std::make_shared<const analysis::PassChanges>(
            analysis::FindChanges(*earlier, *later, links, annotations));
      });
}

std::string ComparisonText(Context& context, const Comparison& comparison) {
  const auto modules = context.document.dump()->modules();
  const auto m = static_cast<size_t>(comparison.module), s = static_cast<size_t>(comparison.stage);
  if (m >= modules.size() || s >= modules[m].stages.size()) return "a stage that no longer exists";
  const std::string& stage = modules[m].stages[s].name;
  if (comparison.module == context.navigation.module()) return stage;
  return fmt::format("{} ({}), {}", modules[m].name, modules[m].id, stage);
}

std::vector<ComparisonChoice> ComparisonChoices(Context& context, std::string_view words,
                                                size_t most) {
  std::vector<ComparisonChoice> out;
  const auto modules = context.document.dump()->modules();
  const int32_t here = context.navigation.module(), shown = ShownChangeStage(context);
  auto add = [&](int32_t m) {
    const auto stages = static_cast<int32_t>(modules[static_cast<size_t>(m)].stages.size());
    for (int32_t s = 0; s < stages && out.size() < most; ++s) {
      const Comparison comparison{.module = m, .stage = s};
      if (m == here && s == shown) continue;
      std::string text = ComparisonText(context, comparison);
      if (HasWords(text, words)) out.push_back({.comparison = comparison, .text = std::move(text)});
    }
  };
  if (here >= 0) add(here);
  for (int32_t m = 0; m < std::ssize(modules) && out.size() < most; ++m) {
    if (m != here) add(m);
  }
  return out;
}

}  // namespace hloscope::viewer
