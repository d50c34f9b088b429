// Two stages aligned with each other, and the list of all that may be chosen.
#include "viewer/model/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/debug/align/alignment.h"
#include "viewer/model/search_index.h"

namespace hloscope::viewer {
const Pending<debug::PassChanges>& CompareStages(Session& session, const Comparison& before,
                                                 int32_t module, int32_t stage) {
  using Answer = Result<std::shared_ptr<const debug::PassChanges>>;
  return session.Get<debug::PassChanges>(
      fmt::format("comparison/{}/{}/{}/{}", before.module, before.stage, module, stage),
      "comparing two stages",
      [dump = session.dump().value, before, module, stage](TaskControl&) -> Answer {
        HLOSCOPE_ASSIGN_OR_RETURN(auto earlier, dump->Module(before.module, before.stage));
        HLOSCOPE_ASSIGN_OR_RETURN(auto later, dump->Module(module, stage));
        return std::make_shared<const debug::PassChanges>(
            debug::FindChanges(*earlier, *later, debug::Align(*earlier, *later)));
      });
}

std::string ComparisonText(Session& session, const Comparison& comparison) {
  const auto modules = session.dump()->modules();
  const auto m = static_cast<size_t>(comparison.module), s = static_cast<size_t>(comparison.stage);
  if (m >= modules.size() || s >= modules[m].stages.size()) return "a stage that no longer exists";
  const std::string& stage = modules[m].stages[s].name;
  if (comparison.module == session.module()) return stage;
  return fmt::format("{} ({}), {}", modules[m].name, modules[m].id, stage);
}

std::vector<ComparisonChoice> ComparisonChoices(Session& session, std::string_view words,
                                                size_t most) {
  std::vector<ComparisonChoice> out;
  const auto modules = session.dump()->modules();
  const int32_t here = session.module();
  auto add = [&](int32_t m) {
    const auto stages = static_cast<int32_t>(modules[static_cast<size_t>(m)].stages.size());
    for (int32_t s = 0; s < stages && out.size() < most; ++s) {
      const Comparison comparison{.module = m, .stage = s};
      if (m == here && s == session.stage()) continue;
      std::string text = ComparisonText(session, comparison);
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
