// Traces that are open, and the modules of the dump that ran in them.
#include "viewer/facts/profile_model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/jobs.h"
#include "viewer/model/document.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using profiler::AttributedModule;
using profiler::Profile;

// Which programs the events of `profile` call `name`; -1 stands for those that say none.
std::set<int64_t> ProgramsCalled(const Profile& profile, std::string_view name) {
  std::set<int64_t> programs;
  for (const profiler::Operation& o : profile.store->operations()) {
    if (profile.store->text(o.module) == name) programs.insert(o.program);
  }
  for (const profiler::EmbeddedModule& module : profile.modules) {
    // "jit_f(12)"
    const std::string_view title = std::string_view(module.name).substr(0, module.name.rfind('('));
    if (title == name) programs.insert(module.program);
  }
  return programs;
}

// The module as it ran, with what the dump knows of its kernels.
std::optional<AttributedModule> FinalModule(const dump::DumpModel& dump, int32_t m,
                                            std::vector<std::string>& warnings) {
  const int32_t stage = dump.FinalStage(m);
  if (stage < 0) return std::nullopt;
  auto module = dump.Module(m, stage);
  if (!module) {
    warnings.push_back(module.error().ToString());
    return std::nullopt;
  }
  AttributedModule out{-1, std::string((*module)->name()), *module, {}};
  auto kernels = dump.Kernels(m);
  auto lookup = dump.Lookup(m);
  if (!kernels || !lookup) return out;
  for (const dump::Kernel& kernel : (*kernels)->kernels) {
    const hlo::InstructionId id = (*lookup)->ByName(kernel.instruction);
    if (id.valid()) out.kernels.emplace_back(kernel.name, id);
  }
  return out;
}

// The modules of the dump whose names the trace knows. One of several of a name is told by its id;
// ids of another process mean nothing, so the only one of its name is taken whatever its id.
void AddDumpModules(const dump::DumpModel& dump, const Profile& profile,
                    std::vector<AttributedModule>& modules, ProfileModel& model) {
  for (size_t m = 0; m < dump.modules().size(); ++m) {
    const dump::ModuleEntry& entry = dump.modules()[m];
    const std::set<int64_t> programs = ProgramsCalled(profile, entry.name);
    const bool is_only =
        std::ranges::count(dump.modules(), entry.name, &dump::ModuleEntry::name) == 1;
    const bool is_named = programs.contains(entry.id);
    const bool may_be_kernels = profile.store->operations().empty() && is_only;
    if (!is_named && !may_be_kernels && !(is_only && programs.size() == 1)) continue;
    auto module = FinalModule(dump, static_cast<int32_t>(m), model.warnings);
    if (!module) continue;
    module->program = is_named ? entry.id : programs.empty() ? -1 : *programs.begin();
    module->name = entry.name;
    modules.push_back(*std::move(module));
    model.dump_modules.push_back(static_cast<int32_t>(m));
  }
}

using ModelResult = Result<std::shared_ptr<const ProfileModel>>;

std::vector<std::string> TracesIn(const dump::DumpModel& dump) {
  std::vector<std::string> paths;
  for (size_t f = 0; f < dump.files().size(); ++f)
    paths.push_back(dump.FullPath(static_cast<int32_t>(f)));
  return profiler::PreferredTraces(paths);
}

ModelResult ReadModel(const std::string& path, const std::shared_ptr<const dump::DumpModel>& dump,
                      const Limits& limits, const std::stop_token& stop) {
  Jobs& jobs = SharedJobs(AvailableCpus());
  auto model = std::make_shared<ProfileModel>();
  model->path = path;
  HLOSCOPE_ASSIGN_OR_RETURN(model->profile, profiler::OpenProfile(path, limits, jobs, stop));
  std::vector<AttributedModule> modules;
  if (dump != nullptr) AddDumpModules(*dump, *model->profile, modules, *model);
  for (AttributedModule& embedded :
       profiler::ReadEmbeddedModules(*model->profile, limits, model->warnings)) {
    const bool is_there = std::ranges::any_of(modules, [&](const AttributedModule& m) {
      return m.program == embedded.program && m.name == embedded.name;
    });
    if (is_there) continue;
    modules.push_back(std::move(embedded));
    model->dump_modules.push_back(-1);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      model->attribution,
      profiler::Attribution::Make(model->profile->store, std::move(modules), jobs, stop));
  return std::shared_ptr<const ProfileModel>(std::move(model));
}

// The profile of another run: what ran is told by the folder it lies in, by what the trace carries,
// and only then by the dump in view, which may be of another program of the same names.
ModelResult ReadOther(const std::string& path, const std::shared_ptr<const dump::DumpModel>& dump,
                      const Limits& limits, const std::stop_token& stop) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    dump::OpenOptions open;
    open.stop = stop;
    HLOSCOPE_ASSIGN_OR_RETURN(auto other, dump::DumpModel::Open(path, limits, open));
    const std::vector<std::string> traces = TracesIn(*other);
    if (traces.empty())
      return InputError(path + ": no trace in this folder, expected " + profiler::TraceNames(),
                        "jax.profiler.trace(FOLDER) records one");
    return ReadModel(traces.front(), other, limits, stop);
  }

  HLOSCOPE_ASSIGN_OR_RETURN(auto alone, ReadModel(path, nullptr, limits, stop));
  if (dump == nullptr || !alone->attribution->times().empty()) return alone;
  return ReadModel(path, dump, limits, stop);
}

}  // namespace

hlo::InstructionId ProfileModel::InstructionOf(profiler::EventId event,
                                               int32_t& dump_module) const {
  const profiler::Target target = attribution->TargetOf(event);
  dump_module = target.valid() ? dump_modules[target.module] : -1;
  return target.instruction;
}

std::optional<uint32_t> ProfileModel::ModuleFor(int32_t dump_module) const {
  auto found = std::ranges::find(dump_modules, dump_module);
  if (dump_module < 0 || found == dump_modules.end()) return std::nullopt;
  return static_cast<uint32_t>(found - dump_modules.begin());
}

namespace {

struct ProfileKey {
  using Value = ProfileModel;
  std::string path;
  bool is_other = false;
  auto operator<=>(const ProfileKey&) const = default;
};

}  // namespace

std::vector<std::string> ProfilePaths(const Context& context) {
  std::vector<std::string> paths = context.document.profile_paths();
  if (paths.empty() && context.document.dump().ready()) paths = TracesIn(*context.document.dump());
  if (!context.document.second_profile().empty()) {
    paths.resize(std::min<size_t>(paths.size(), 1));
    paths.push_back(context.document.second_profile());
  }
  return paths;
}

const Pending<ProfileModel>* ProfileOf(Context& context, size_t which) {
  static const Pending<ProfileModel> kWaiting{PendingState::kWaiting, nullptr, {}, 0};
  // What ran is told by the modules of the dump.
  if (context.document.dump().waiting()) return &kWaiting;
  const std::vector<std::string> paths = ProfilePaths(context);
  if (which >= paths.size()) return nullptr;
  const std::string& path = paths[which];
  const bool is_other = which > 0;
  return &context.cache.Get(ProfileKey{path, is_other}, "loading " + path,
                            [path, is_other, dump = context.document.dump().value,
                             limits = context.document.limits()](TaskControl& control) {
                              return (is_other ? ReadOther : ReadModel)(path, dump, limits,
                                                                        control.stop());
                            });
}

Selection SelectionOf(const Context& context, const ProfileModel& model, profiler::EventId event) {
  int32_t module = -1;
  const hlo::InstructionId instruction = model.InstructionOf(event, module);
  Selection selection = Selection::OfEvent(event.index, module);
  if (module >= 0) {
    selection.stage = context.document.dump()->FinalStage(module);
    selection.instruction = instruction;
  }
  return selection;
}

}  // namespace hloscope::viewer
