// Both compiled stages are aligned with the module that the first compiler was given.
#include "core/graph/compilation_pair.h"

#include <fmt/format.h>

#include "core/analysis/align/provenance.h"

namespace hloscope::graph {
namespace {

struct Compiled {
  std::shared_ptr<const hlo::Module> first, last;
  analysis::Placement placement;
};

Result<Compiled> Read(const ModuleOfDump& of) {
  const auto& [dump, module] = of;
  const int32_t last = dump->FinalStage(module);
  Compiled found;
  if (last >= 1) {
    HLOSCOPE_ASSIGN_OR_RETURN(found.last, dump->Module(module, last));
    found.placement = analysis::PlacementIn(*dump, module, *found.last);
  }
  if (!found.placement.compiled) {
    return InputError(fmt::format("{}: module {} has no compiled stage after the one given",
                                  dump->path(),
                                  TitleOf(dump->modules()[static_cast<size_t>(module)])));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(found.first, dump->Module(module, 0));
  return found;
}

// From the module given to what was made of it: exact where the compiler noted it.
analysis::Alignment LinksFrom(const hlo::Module& given, const ModuleOfDump& of,
                              const Compiled& compiled) {
  return analysis::Provenance(of.dump, of.module)
      .lineage()
      .Between(0, given, of.dump->FinalStage(of.module), *compiled.last);
}

}  // namespace

Result<CompilationPair> CompareCompilations(const ModuleOfDump& a, const ModuleOfDump& b) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Compiled side_a, Read(a));
  HLOSCOPE_ASSIGN_OR_RETURN(const Compiled side_b, Read(b));
  const analysis::Alignment links_a = LinksFrom(*side_a.first, a, side_a),
                            links_b = LinksFrom(*side_a.first, b, side_b);
  return CompilationPair{
      .given = side_a.first,
      .compiled_a = side_a.last,
      .compiled_b = side_b.last,
      .comparison = CompareFusion(*side_a.first, {*side_a.last, side_a.placement, links_a},
                                  {*side_b.last, side_b.placement, links_b})};
}

}  // namespace hloscope::graph
