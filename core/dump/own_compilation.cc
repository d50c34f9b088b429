// Files of our own compiler.
#include "core/dump/own_compilation.h"

namespace hloscope::dump {

bool IsOwnCompilation(const DumpModel& model, int32_t module) {
  return model.FindFile(module, FileRole::kFusionDecisions) >= 0;
}

Result<FusionDecisions> FusionDecisionsOf(const DumpModel& model, int32_t module) {
  const int32_t file = model.FindFile(module, FileRole::kFusionDecisions);
  if (file < 0) return FusionDecisions();
  HLOSCOPE_ASSIGN_OR_RETURN(
      FusionDecisions decisions,
      model.ReadFile(file, [](std::string_view text) { return ReadFusionDecisions(text); }));
  decisions.file = file;
  return decisions;
}

Result<std::vector<StageProvenance>> ProvenanceOf(const DumpModel& model, int32_t module) {
  const int32_t file = model.FindFile(module, FileRole::kProvenance);
  if (file < 0) return std::vector<StageProvenance>();
  HLOSCOPE_ASSIGN_OR_RETURN(
      Result<std::vector<StageProvenance>> stages,
      model.ReadFile(file, [](std::string_view text) { return ReadProvenance(text); }));
  if (!stages) stages.error().place.file = model.FullPath(file);
  return stages;
}

}  // namespace hloscope::dump
