// Traces that are open, and the modules of the dump that ran in them.
#include "viewer/facts/profile_model.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "core/base/jobs.h"
#include "viewer/facts/file_facts.h"
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

// What we recorded carries the module that ran: one that is no stage of the dump's module of that
// name is another compilation, whose instructions only happen to share names.
bool IsAnotherCompilation(const Profile& profile, std::span<const AttributedModule> carried,
                          std::string_view name) {
  return profile.format == profiler::ProfileFormat::kHloprof &&
         std::ranges::find(carried, name, &AttributedModule::name) != carried.end();
}

// The modules of the dump whose names the trace knows. One of several of a name is identified by
// its id; ids of another process mean nothing, so the only one of its name is taken whatever its
// id.
void AddDumpModules(const dump::DumpModel& dump, const Profile& profile,
                    std::span<const AttributedModule> carried,
                    std::vector<AttributedModule>& modules, ProfileModel& model) {
  for (size_t m = 0; m < dump.modules().size(); ++m) {
    const dump::ModuleEntry& entry = dump.modules()[m];
    const std::set<int64_t> programs = ProgramsCalled(profile, entry.name);
    const bool is_only =
        std::ranges::count(dump.modules(), entry.name, &dump::ModuleEntry::name) == 1;
    const bool is_named = programs.contains(entry.id);
    const bool may_be_kernels = profile.store->operations().empty() && is_only;
    if (!is_named && !may_be_kernels && !(is_only && programs.size() == 1)) continue;
    if (IsAnotherCompilation(profile, carried, entry.name)) {
      model.warnings.push_back(
          "the profile is of another compilation of " + entry.name +
          " than the dump's: its times are not those of the instructions here");
      continue;
    }
    auto module = FinalModule(dump, static_cast<int32_t>(m), model.warnings);
    if (!module) continue;
    module->program = is_named ? entry.id : programs.empty() ? -1 : *programs.begin();
    module->name = entry.name;
    modules.push_back(*std::move(module));
    model.places.push_back({static_cast<int32_t>(m), dump.FinalStage(static_cast<int32_t>(m))});
  }
}

// Names and opcodes of all instructions, sorted: a file may have them in another order than a
// proto.
std::vector<std::pair<std::string_view, hlo::Opcode>> NamedOpcodes(const hlo::Module& module) {
  std::vector<std::pair<std::string_view, hlo::Opcode>> named;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    named.emplace_back(module.name(id), module[id].opcode);
  }
  std::ranges::sort(named);
  return named;
}

bool IsSameProgram(const hlo::Module& a, const hlo::Module& b) {
  return a.instructions().size() == b.instructions().size() && NamedOpcodes(a) == NamedOpcodes(b);
}

// The stage of the dump's module that a module of the trace is; -1: none. The final one and the
// first are what mostly runs.
int32_t StageOf(const dump::DumpModel& dump, int32_t m, const hlo::Module& traced,
                std::shared_ptr<const hlo::Module>& found, const std::stop_token& stop) {
  const int32_t final_stage = dump.FinalStage(m);
  std::vector<int32_t> order = {final_stage};
  const auto count = std::ssize(dump.modules()[static_cast<size_t>(m)].stages);
  for (int32_t s = 0; s < count; ++s) {
    if (s != final_stage) order.push_back(s);
  }
  for (const int32_t stage : order) {
    if (stage < 0 || stop.stop_requested()) continue;
    const auto module = dump.Module(m, stage);
    if (!module || !IsSameProgram(**module, traced)) continue;
    found = *module;
    return stage;
  }
  return -1;
}

// What we recorded says which stage ran, on one platform or two: the module that goes with it.
void AddRecordedModules(const dump::DumpModel& dump, const Profile& profile,
                        std::vector<AttributedModule>& carried,
                        std::vector<AttributedModule>& modules, ProfileModel& model,
                        const std::stop_token& stop) {
  if (profile.format != profiler::ProfileFormat::kHloprof) return;
  // A module that was opened alone is called as its file.
  const bool is_alone = dump.modules().size() == 1;
  std::erase_if(carried, [&](AttributedModule& traced) {
    for (size_t m = 0; m < dump.modules().size(); ++m) {
      if (!is_alone && dump.modules()[m].name != traced.name) continue;
      const auto known = static_cast<int32_t>(m);
      const int32_t stage = StageOf(dump, known, *traced.module, traced.module, stop);
      if (stage < 0) continue;
      modules.push_back(std::move(traced));
      model.places.push_back({known, stage});
      return true;
    }
    return false;
  });
}

using ModelResult = Result<std::shared_ptr<const ProfileModel>>;

ModelResult ReadModel(const std::string& path, const std::shared_ptr<const dump::DumpModel>& dump,
                      const Limits& limits, const std::stop_token& stop) {
  Jobs& jobs = SharedJobs(AvailableCpus());
  auto model = std::make_shared<ProfileModel>();
  model->path = path;
  HLOSCOPE_ASSIGN_OR_RETURN(model->profile, profiler::OpenProfile(path, limits, jobs, stop));
  std::vector<AttributedModule> modules,
      carried = profiler::ReadEmbeddedModules(*model->profile, limits, model->warnings);
  if (dump != nullptr) {
    AddRecordedModules(*dump, *model->profile, carried, modules, *model, stop);
    if (modules.empty()) AddDumpModules(*dump, *model->profile, carried, modules, *model);
  }
  for (AttributedModule& embedded : carried) {
    const bool is_there = std::ranges::any_of(modules, [&](const AttributedModule& m) {
      return m.program == embedded.program && m.name == embedded.name;
    });
    if (is_there) continue;
    modules.push_back(std::move(embedded));
    model->places.emplace_back();
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      model->attribution,
      profiler::Attribution::Make(model->profile->store, std::move(modules), jobs, stop));
  return std::shared_ptr<const ProfileModel>(std::move(model));
}

// The profile of another run: what ran is known from its folder, from what the trace carries,
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

std::optional<uint32_t> ProfileModel::ModuleFor(int32_t dump_module) const {
  const auto found = std::ranges::find(places, dump_module, &Place::module);
  if (dump_module < 0 || found == places.end()) return std::nullopt;
  return static_cast<uint32_t>(found - places.begin());
}

std::vector<uint32_t> ProfileModel::ModulesFor(int32_t dump_module) const {
  std::vector<uint32_t> modules;
  const std::optional<uint32_t> first = ModuleFor(dump_module);
  for (uint32_t m = first.value_or(0); first && m < places.size(); ++m) {
    if (places[m] == places[*first]) modules.push_back(m);
  }
  return modules;
}

int32_t ProfileModel::TimedModule(const profiler::Target& target) const {
  const int32_t module = target.valid() ? places[target.module].module : -1;
  return ModuleFor(module) == target.module ? module : -1;
}

int32_t ProfileModel::StageFor(int32_t dump_module) const {
  const std::optional<uint32_t> module = ModuleFor(dump_module);
  return module ? places[*module].stage : -1;
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
  if (paths.empty() && context.document.dump().ready()) paths = FileFactsOf(context).traces;
  if (!context.document.second_profile().empty()) {
    paths.resize(std::min<size_t>(paths.size(), 1));
    paths.push_back(context.document.second_profile());
  }
  return paths;
}

std::pair<std::string, std::string> NamesApart(const std::string& a, const std::string& b) {
  std::filesystem::path left(a), right(b);
  std::filesystem::path name_a = left.filename(), name_b = right.filename();
  while (name_a == name_b && left.has_parent_path() && right.has_parent_path()) {
    left = left.parent_path();
    right = right.parent_path();
    if (left.filename().empty() || right.filename().empty()) break;
    name_a = left.filename() / name_a;
    name_b = right.filename() / name_b;
  }
  return {name_a.string(), name_b.string()};
}

const Pending<ProfileModel>* ProfileOf(Context& context, size_t which) {
  static const Pending<ProfileModel> kWaiting{PendingState::kWaiting, nullptr, {}, 0};
  // What ran is known from the modules of the dump.
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

Selection SelectionOf(const ProfileModel& model, profiler::EventId event) {
  const profiler::Target target = model.attribution->TargetOf(event);
  const ProfileModel::Place place =
      target.valid() ? model.places[target.module] : ProfileModel::Place();
  Selection selection = Selection::OfEvent(event.index, place.module);
  if (place.module >= 0) {
    selection.stage = place.stage;
    selection.instruction = target.instruction;
  }
  return selection;
}

}  // namespace hloscope::viewer
