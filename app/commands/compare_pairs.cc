// Modules of two dumps are paired as in a comparison of dumps, by folder, id and name.
#include "app/commands/compare_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/dump_place.h"
#include "core/analysis/programs/program_pairs.h"

namespace hloscope::app {
namespace {

analysis::DumpPrograms NamesOf(const dump::DumpModel& model) {
  analysis::DumpPrograms out;
  for (const dump::ModuleEntry& module : model.modules()) {
    analysis::DumpProgram& program = out.programs.emplace_back();
    program.name = module.name;
    program.id = module.id;
    program.folder = module.folder;
  }
  return out;
}

}  // namespace

Result<ModulePairs> PairModules(const PairRequest& request, const Context& context) {
  ModulePairs out;
  HLOSCOPE_ASSIGN_OR_RETURN(out.a, dump::DumpModel::Open(request.a, context.limits));
  HLOSCOPE_ASSIGN_OR_RETURN(out.b, dump::DumpModel::Open(request.b, context.limits));
  std::vector<int32_t> chosen;
  for (const std::string& name : request.modules) {
    HLOSCOPE_ASSIGN_OR_RETURN(chosen.emplace_back(), FindModule(*out.a, name));
  }
  const std::array dumps = {NamesOf(*out.a), NamesOf(*out.b)};
  for (const analysis::ProgramGroup& group : analysis::PairPrograms(dumps)) {
    const int32_t a = group.members[0], b = group.members[1];
    if (!chosen.empty() && std::ranges::find(chosen, a) == chosen.end()) continue;
    if (a >= 0 && b >= 0) {
      out.pairs.emplace_back(a, b);
      continue;
    }
    const dump::DumpModel& model = a >= 0 ? *out.a : *out.b;
    out.unpaired.push_back(
        fmt::format("{}: {}", a >= 0 ? 'A' : 'B',
                    ModuleTitle(model.modules()[static_cast<size_t>(a >= 0 ? a : b)])));
  }
  if (out.pairs.empty())
    return InputError(fmt::format("{} and {} have no module in common", request.a, request.b),
                      "expected two dumps of the same program");
  return out;
}

}  // namespace hloscope::app
