#include "core/analysis/compilation/named_instruction.h"

#include <fmt/format.h>

#include <set>

#include "core/analysis/compilation/logged_fusion.h"
#include "core/base/closest_text.h"
#include "core/hlo/analysis/find_instruction.h"

namespace hloscope::analysis {

Result<std::vector<std::string>> UsersByName(const dump::DumpModel& model, int32_t module,
                                             const std::string& name) {
  std::vector<std::string> users;
  std::string hint;
  const auto& stages = model.modules()[static_cast<size_t>(module)].stages;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const auto read = model.Module(module, static_cast<int32_t>(stage));
    if (!read) continue;
    const hlo::InstructionId id = hlo::FindInstruction(**read, name);
    if (!id.valid()) {
      if (hint.empty()) hint = hlo::SimilarInstruction(**read, name);
      continue;
    }
    const hlo::UserIndex index(**read);
    std::set<hlo::InstructionId> seen;
    for (const hlo::InstructionId user : index.users(id)) {
      if (seen.insert(user).second) users.emplace_back((**read).name(user));
    }
    return users;
  }
  const LoggedFusions logged = LoggedFusionsOf(model, module);
  ClosestText closest(name);
  for (const LoggedFusion& one : logged.decisions) {
    for (const std::string* each : {&one.producer, &one.consumer, &one.fusion}) {
      if (*each == name) return users;
      closest.Offer(*each);
    }
  }
  if (hint.empty()) hint = closest.Hint();
  if (hint.empty()) hint = "`show` of a module's file prints the names";
  return InputError(fmt::format("no instruction {} in the log or in a stage", name), hint);
}

}  // namespace hloscope::analysis
