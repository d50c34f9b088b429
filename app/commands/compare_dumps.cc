// Programs are read once for each state of a folder; what differs is read again.
#include "app/commands/compare_dumps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "app/dump_cache.h"
#include "app/name_hint.h"
#include "app/output.h"
#include "app/reports/dump_comparison_report.h"
#include "core/base/jobs.h"
#include "core/dump/container.h"

namespace hloscope::app {
namespace {

using analysis::DumpProgram;
using analysis::DumpPrograms;

int DumpJobs(const Context& context) {
  return context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus();
}

Result<DumpPrograms> ReadDumpPrograms(const std::string& path, analysis::ProgramReader& reader,
                                      const Context& context) {
  const bool is_folder = dump::IsFolder(path) && !dump::IsArchive(path);
  const auto cache = is_folder ? dump::ReportCache::OfUser() : std::nullopt;
  const std::string name = ReportName(path, "programs", context);
  dump::OpenOptions options;
  options.jobs = DumpJobs(context);
  dump::Listing listing;
  dump::Fingerprint state;
  if (is_folder) {
    HLOSCOPE_ASSIGN_OR_RETURN(listing, ListDump(path, name, context, cache ? &*cache : nullptr));
    if (!listing.left_out.empty()) {
      return InputError(fmt::format("{}: {}", path, listing.left_out),
                        "name the folder of the dump, or raise --limit directory-entries=N");
    }
    state = dump::FingerprintOf(listing);
    options.listing = &listing;
  }
  if (cache) {
    if (const auto bytes = cache->Load(name, state)) {
      if (auto known = analysis::UnpackPrograms(*bytes)) return *std::move(known);
    }
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto model, dump::DumpModel::Open(path, context.limits, options));
  HLOSCOPE_ASSIGN_OR_RETURN(DumpPrograms programs,
                            analysis::ReadPrograms(*model, reader, DumpJobs(context)));
  if (cache) cache->Store(name, state, Pack(programs));
  return programs;
}

bool IsCalled(const DumpProgram& program, const std::string& name) {
  return name == program.name || name == fmt::format("{}", program.id) ||
         name == fmt::format("module_{:04}", program.id) ||
         name == fmt::format("module_{:04}.{}", program.id, program.name);
}

// Leaves only the modules of these names.
Status SelectModules(std::vector<DumpPrograms>& dumps, const std::vector<std::string>& modules) {
  for (const std::string& name : modules) {
    std::vector<std::string_view> paths;
    std::set<std::string_view> known;
    bool found = false;
    for (const DumpPrograms& dump : dumps) {
      paths.push_back(dump.path);
      for (const DumpProgram& program : dump.programs) {
        found = found || IsCalled(program, name);
        known.insert(program.name);
      }
    }
    if (found) continue;
    NameHint hint(name, "modules");
    for (const std::string_view each : known) hint.Offer(each);
    return InputError(fmt::format("none of {} has a module {}", fmt::join(paths, ", "), name),
                      hint.Text());
  }
  for (DumpPrograms& dump : dumps) {
    std::erase_if(dump.programs, [&](const DumpProgram& program) {
      return std::ranges::none_of(modules,
                                  [&](const std::string& name) { return IsCalled(program, name); });
    });
  }
  return {};
}

// Two compilers never fuse alike, so that is shown in addition to what differs.
std::optional<FusionReport> FusionOfPair(const std::vector<DumpPrograms>& dumps,
                                         const Context& context) {
  const bool is_pair =
      dumps.size() == 2 && dumps[0].programs.size() == 1 && dumps[1].programs.size() == 1;
  if (!is_pair) return std::nullopt;
  const auto place = [](const DumpPrograms& dump) {
    const DumpProgram& program = dump.programs[0];
    return CompiledPlace{dump.path, program.name, program.id, program.folder, program.timestamp};
  };
  // Not where one is not compiled.
  Result<FusionReport> report = ReadFusionReport(place(dumps[0]), place(dumps[1]), context.limits);
  return report ? std::optional(*std::move(report)) : std::nullopt;
}

// What the autotuner chose otherwise; dumps that cannot be read again have been reported.
std::vector<analysis::ChoiceDifference> ChoicesOfPair(const std::vector<std::string>& paths,
                                                      const Context& context) {
  std::vector<analysis::Autotuning> found;
  for (const std::string& path : paths) {
    const auto model = dump::DumpModel::Open(path, context.limits);
    if (!model) return {};
    found.push_back(analysis::AutotuningOf(**model));
  }
  return analysis::CompareChoices(found[0], found[1]);
}

}  // namespace

Result<std::vector<DumpPrograms>> ProgramsOf(const std::vector<std::string>& paths,
                                             const Context& context) {
  analysis::ProgramReader reader(context.limits);
  std::vector<DumpPrograms> dumps;
  for (const std::string& path : paths) {
    HLOSCOPE_ASSIGN_OR_RETURN(DumpPrograms programs, ReadDumpPrograms(path, reader, context));
    dumps.push_back(std::move(programs));
  }
  return dumps;
}

Result<int> CompareDumps(std::vector<DumpPrograms> dumps, const std::vector<std::string>& modules,
                         size_t top, const Context& context) {
  if (!modules.empty()) HLOSCOPE_TRY(SelectModules(dumps, modules));
  std::optional<FusionReport> fusion = FusionOfPair(dumps, context);
  std::vector<std::string> paths;
  for (const DumpPrograms& dump : dumps) paths.push_back(dump.path);
  HLOSCOPE_ASSIGN_OR_RETURN(
      debug::DumpComparison compared,
      debug::CompareDumps(std::move(dumps), context.limits, DumpJobs(context)));
  DumpComparisonReport report{std::move(compared), std::move(fusion)};
  if (paths.size() == 2 && report.comparison.differs)
    report.choices = ChoicesOfPair(paths, context);
  context.json ? WriteOut(DumpComparisonJson(report)) : PrintOut(DumpComparisonText(report, top));
  return StatusOf(report.comparison);
}

}  // namespace hloscope::app
