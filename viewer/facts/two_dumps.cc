// All modules are read and compared as `compare A B` does.
#include "viewer/facts/two_dumps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/debug/compare/compare_dumps.h"
#include "viewer/model/document.h"
#include "viewer/model/second_dump.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using analysis::DumpProgram;
using analysis::DumpPrograms;

constexpr int kThreads = 2;

// How many modules of each dump have a name.
using NameCounts = std::array<std::map<std::string, int>, 2>;

ModulePair PairOf(const debug::DumpComparison& comparison, const NameCounts& names,
                  const analysis::ProgramGroup& group) {
  ModulePair pair;
  for (size_t d = 0; d < 2; ++d) {
    const int32_t module = pair.modules[d] = group.members[d];
    if (module < 0) continue;
    const DumpProgram& program = comparison.dumps[d].programs[static_cast<size_t>(module)];
    const std::string name = names[d].at(program.name) > 1 && program.id >= 0
                                 ? fmt::format("module_{:04}.{}", program.id, program.name)
                                 : program.name;
    if (name != pair.name) pair.name += (pair.name.empty() ? "" : " → ") + name;
    pair.memory_bytes[d] = program.peak_bytes;
    if (const auto* compiled = analysis::CompiledProgram(program))
      pair.instructions[d] = compiled->instructions;
  }
  if (!pair.has_both())
    pair.verdict = pair.modules[0] < 0 ? ModuleVerdict::kOnlySecond : ModuleVerdict::kOnlyFirst;
  return pair;
}

TwoDumps Collect(const debug::DumpComparison& comparison) {
  TwoDumps out;
  NameCounts names;
  for (size_t d = 0; d < 2; ++d) {
    for (const DumpProgram& program : comparison.dumps[d].programs) ++names[d][program.name];
  }
  std::map<std::vector<int32_t>, bool> listed;
  for (const debug::ComparedModule& module : comparison.modules) {
    ModulePair pair = PairOf(comparison, names, module.group);
    if (!pair.has_both()) continue;
    listed[module.group.members] = true;
    pair.verdict = module.differs ? ModuleVerdict::kDiffers : ModuleVerdict::kElided;
    pair.what = DifferencesText(module);
    out.pairs.push_back(std::move(pair));
  }
  for (const auto& group : comparison.missing)
    out.pairs.push_back(PairOf(comparison, names, group));
  for (const auto& group : analysis::PairPrograms(comparison.dumps)) {
    ModulePair pair = PairOf(comparison, names, group);
    if (pair.has_both() && !listed.contains(group.members)) out.pairs.push_back(std::move(pair));
  }
  for (const ModulePair& pair : out.pairs) ++out.counts[static_cast<size_t>(pair.verdict)];
  return out;
}

}  // namespace

std::string_view ToString(ModuleVerdict verdict) {
  static constexpr std::array<std::string_view, kModuleVerdicts> kTexts = {
      "differs", "elided constants", "only in the first", "only in the second", "equal"};
  return kTexts[static_cast<size_t>(verdict)];
}

std::string ToSentence(const TwoDumps& dumps) {
  std::string out;
  for (size_t v = 0; v < kModuleVerdicts; ++v) {
    const int64_t count = dumps.counts[v];
    if (count == 0) continue;
    const auto verdict = static_cast<ModuleVerdict>(v);
    out += out.empty() ? Counted(count, "module") : fmt::format(", {}", count);
    if (verdict == ModuleVerdict::kDiffers) {
      out += count == 1 ? " differs" : " differ";
    } else if (verdict == ModuleVerdict::kElided) {
      out += " with elided constants";
    } else {
      out += " " + std::string(ToString(verdict));
    }
  }
  return out.empty() ? "no modules in either dump" : out;
}

const Pending<TwoDumps>& TwoDumpsOf(Context& context) {
  return context.second.cache().Get(
      PartKey<TwoDumps>{}, "comparing two dumps",
      [first = context.document.dump().value, second = context.second.dump().value,
       limits = context.document.limits()](TaskControl& control) -> Computed<TwoDumps> {
        analysis::ProgramReader reader(limits);
        std::vector<DumpPrograms> programs;
        for (const auto& dump : {first, second}) {
          HLOSCOPE_ASSIGN_OR_RETURN(
              DumpPrograms read, analysis::ReadPrograms(*dump, reader, kThreads, control.stop()));
          programs.push_back(std::move(read));
        }
        HLOSCOPE_ASSIGN_OR_RETURN(
            const debug::DumpComparison compared,
            debug::CompareDumps(std::move(programs), limits, kThreads, control.stop()));
        return std::make_shared<const TwoDumps>(Collect(compared));
      });
}

}  // namespace hloscope::viewer
