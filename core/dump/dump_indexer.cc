// From file names to modules: names that are sure first, then everything that follows from them.
#include "core/dump/dump_indexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/counted.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/separate_runs.h"
#include "core/dump/stage_order.h"

namespace hloscope::dump {
namespace {

constexpr size_t kUnknownFilesNamed = 20;

std::string_view FolderOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view LastName(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool HoldsModule(FileRole role) {
  return role == FileRole::kModule || role == FileRole::kInPass || role == FileRole::kLooseModule ||
         role == FileRole::kModuleRiegeli;
}

// False for a text that is called a proto, and the other way round.
bool FitsName(const FileEntry& file) {
  std::string_view name = BareFileName(file.path);
  if (name.ends_with(".pb")) return !IsText(file.kind);
  return !name.ends_with(".txt") || IsText(file.kind);
}

struct Framework {
  std::string_view prefix, name;
};
// Front ends by how they name their modules; the first that fits counts.
constexpr Framework kFrameworks[] = {
    {"jit_", "JAX"},
    {"pjit_", "JAX"},
    {"pmap_", "JAX"},
    {"xmap_", "JAX"},
    {"xla_computation_", "JAX"},
    {"SyncTensorsGraph", "PyTorch/XLA"},
    {"IrToHlo", "PyTorch/XLA"},
    {"SyncLiveTensorsGraph", "PyTorch/XLA"},
    {"ReplicateShardedData", "PyTorch/XLA"},
    {"cluster_", "TensorFlow"},
    {"a_inference_", "TensorFlow"},
    {"__inference_", "TensorFlow"},
    {"__forward_", "TensorFlow"},
    {"__backward_", "TensorFlow"},
    {"tf_function", "TensorFlow"},
    {"reactant_", "Reactant"},
    {"_Function_", "EXLA"},
    {"Elixir.", "EXLA"},
};

std::string FrameworkOf(std::string_view module) {
  for (const Framework& f : kFrameworks) {
    if (module.starts_with(f.prefix)) return std::string(f.name);
  }
  return "unknown";
}

// "gpu" and "sm_90a" of sm_9.0a_gpu_after_optimizations.
void ReadTarget(std::string_view stage, ModuleEntry& module) {
  if (stage.starts_with("cpu_after")) module.device = "cpu";
  size_t end = stage.find("_gpu_after");
  if (end == std::string_view::npos) return;
  module.device = "gpu";
  module.target.clear();
  for (char c : stage.substr(0, end)) {
    if (c != '.') module.target += c;
  }
}

}  // namespace

void DumpIndexer::Run() {
  stage_of_file_.resize(model_.files_.size());
  Collect();
  for (auto& [key, group] : groups_) LearnNames(group);
  for (auto& [key, group] : groups_) Resolve(key, group);
  JoinUntimed();
  JoinSplitIds();
  AddModules();
  AddLoose();
  LeaveOutEarlierRuns();
  AddToStages();
  AddDerivedStages();
  Describe();
  CheckKinds();
}

void DumpIndexer::Collect() {
  for (size_t k = 0; k < model_.files_.size(); ++k) {
    auto file = static_cast<int32_t>(k);
    std::string_view path = model_.files_[k].path;
    std::optional<DumpFileName> parts = ParseDumpFileName(BareFileName(path));
    if (!parts) {
      if (!CollectFromFolder(file, FolderOf(path))) loose_.push_back(file);
      continue;
    }
    Key key{std::string(FolderOf(path)), std::string(parts->timestamp), parts->id};
    groups_[key].files.push_back({file, *parts, false, {}, {}});
  }
}

// Files of module_0001.jit_f/ belong to the module of that id and name beside the folder.
bool DumpIndexer::CollectFromFolder(int32_t file, std::string_view folder) {
  std::optional<DumpFileName> parts = ParseDumpFileName(LastName(folder));
  if (!parts || !parts->before.empty()) return false;
  Named named{file, *parts, true, std::string(parts->rest), {}};
  std::string_view path = model_.files_[static_cast<size_t>(file)].path;
  std::string_view above = FolderOf(folder);
  if (LastName(above) == "shardy") {
    named.match.role = FileRole::kShardy;
    above = FolderOf(above);
  } else if (auto match = MatchRole(BareFileName(path))) {
    named.match = *match;
  }
  Key key{std::string(above), std::string(parts->timestamp), parts->id};
  groups_[key].files.push_back(std::move(named));
  return true;
}

void DumpIndexer::LearnNames(Group& group) {
  std::set<std::string> names;
  for (const Named& named : group.files) {
    if (named.in_module_folder) {
      names.insert(named.module);
      continue;
    }
    std::optional<FoundRole> found = FindRole(named.parts.rest);
    if (found && found->at > 1) names.emplace(named.parts.rest.substr(0, found->at - 1));
  }
  group.names.assign(names.begin(), names.end());
  std::ranges::stable_sort(group.names, std::greater(), &std::string::size);
}

void DumpIndexer::Resolve(const Key& key, Group& group) {
  for (Named& named : group.files) {
    if (!named.in_module_folder) ResolveFile(group, named);
  }
  // XLA leaves the module's name out of file names that would be too long, and always out of some.
  if (group.names.empty()) return;
  bool sure = group.names.size() == 1;
  for (Named& named : group.files) {
    if (!named.module.empty() || named.in_module_folder) continue;
    named.module = group.names.back();
    if (sure) continue;
    model_.warnings_.push_back(
        fmt::format("{}: no module name in the file name, and {} have id {}; assigned to {}",
                    model_.files_[static_cast<size_t>(named.file)].path,
                    Counted(group.names.size(), "module"), key.id, named.module));
  }
}

void DumpIndexer::ResolveFile(const Group& group, Named& named) const {
  MatchFile(group, named);
  const FileKind kind = model_.files_[static_cast<size_t>(named.file)].kind;
  // A name that fits only by its ending is meant where the content fits as well.
  const bool is_other =
      named.match.role == FileRole::kKernelTrace && !MayHold(FileRole::kKernelTrace, kind);
  if (!is_other && named.match.role != FileRole::kUnknown) return;
  named.match = {};
  const std::string_view rest = named.parts.rest;
  const auto begins = [&](std::string_view name) {
    return rest.starts_with(name) && rest.substr(name.size()).starts_with('.');
  };
  const auto name = std::ranges::find_if(group.names, begins);
  named.module = name != group.names.end() ? *name : std::string(rest.substr(0, rest.find('.')));
  if (!IsModuleKind(kind) || !begins(named.module)) return;
  // HLO at a point of the pipeline that is not known.
  const std::string_view suffix = rest.substr(named.module.size() + 1);
  const std::string_view point = suffix.substr(0, suffix.find('.'));
  const std::string_view ending = suffix.substr(point.size());
  if (ending == ".txt" || ending == ".hlo.pb" || ending == ".pbtxt")
    named.match = {FileRole::kModule, point, {}};
}

void DumpIndexer::MatchFile(const Group& group, Named& named) {
  std::string_view rest = named.parts.rest;
  for (const std::string& name : group.names) {
    if (!rest.starts_with(name)) continue;
    std::string_view suffix = rest.substr(name.size());
    if (!suffix.empty() && suffix.front() != '.') continue;
    suffix.remove_prefix(std::min<size_t>(1, suffix.size()));
    auto match = MatchRole(suffix);
    if (!match) continue;
    named.module = name;
    named.match = *match;
    return;
  }
  if (std::optional<FoundRole> found = FindRole(rest)) {
    named.module = rest.substr(0, found->at == 0 ? 0 : found->at - 1);
    named.match = found->match;
    return;
  }
  // No sure name: the first word is the module's.
  size_t dot = rest.find('.');
  if (dot != std::string_view::npos) {
    if (auto match = MatchRole(rest.substr(dot + 1))) {
      named.module = rest.substr(0, dot);
      named.match = *match;
      return;
    }
  }
  if (auto match = MatchRole(rest)) named.match = *match;
}

// debug_options and the folders of PJRT never carry a timestamp and never go into the sub-folder
// of a process: they belong to the latest module of that id and name that does.
bool DumpIndexer::IsElsewhere(const Key& key, const Key& other, const std::string& module) {
  if (other.id != key.id || other == key) return false;
  if (other.folder == key.folder) return !other.timestamp.empty();
  std::string below = key.folder.empty() ? module + "/" : key.folder + "/" + module + "/";
  return other.folder.starts_with(below);
}

void DumpIndexer::JoinUntimed() {
  for (auto& [key, group] : groups_) {
    if (!key.timestamp.empty()) continue;
    std::set<std::string> own;
    for (const Named& named : group.files) {
      if (HoldsModule(named.match.role)) own.insert(named.module);
    }
    std::erase_if(group.files, [&, &key = key](Named& named) {
      if (own.contains(named.module)) return false;
      Group* latest = nullptr;
      int candidates = 0;
      for (auto& [other, theirs] : groups_) {
        if (!IsElsewhere(key, other, named.module)) continue;
        if (std::ranges::find(theirs.names, named.module) == theirs.names.end()) continue;
        latest = &theirs;
        ++candidates;
      }
      if (latest == nullptr) return false;
      if (candidates > 1) {
        model_.warnings_.push_back(fmt::format("{}: {} wrote this module; assigned to the latest",
                                               model_.files_[static_cast<size_t>(named.file)].path,
                                               Counted(candidates, "run")));
      }
      latest->files.push_back(std::move(named));
      return true;
    });
  }
}

void DumpIndexer::AddModules() {
  for (auto& [key, group] : groups_) {
    std::map<std::string, int32_t> modules;
    for (const Named& named : group.files) {
      auto [at, is_new] =
          modules.try_emplace(named.module, static_cast<int32_t>(model_.modules_.size()));
      if (is_new) {
        ModuleEntry module;
        module.name = named.module;
        module.id = key.id;
        module.folder = key.folder;
        module.timestamp = key.timestamp;
        if (const auto end = group.end_ids.find(named.module); end != group.end_ids.end())
          module.end_id = end->second;
        model_.modules_.push_back(std::move(module));
      }
      FileEntry& file = model_.files_[static_cast<size_t>(named.file)];
      file.module = at->second;
      file.role = named.match.role;
      stage_of_file_[static_cast<size_t>(named.file)] = named.match.stage;
    }
  }
}

FileRole DumpIndexer::LooseRole(const FileEntry& file) const {
  if (file.path.starts_with("shardy/") || file.path.find("/shardy/") != std::string::npos)
    return FileRole::kShardy;
  if (IsModuleKind(file.kind)) {
    auto match = MatchRole(BareFileName(file.path));
    bool special =
        match && (match->role == FileRole::kTritonFailed || match->role == FileRole::kSchedule ||
                  match->role == FileRole::kAutotunedInstruction);
    return special ? match->role : FileRole::kLooseModule;
  }
  bool arrays =
      file.kind == FileKind::kNpy || (file.kind == FileKind::kZip && file.path.ends_with(".npz"));
  if (arrays) return FileRole::kValues;
  if (IsTensorFlowKind(file.kind)) return FileRole::kTensorFlowGraph;
  if (file.kind == FileKind::kLog) return FileRole::kRunLog;
  if (file.kind == FileKind::kTorchTensors) return FileRole::kTorchTensors;
  if (file.kind == FileKind::kHloTexts) return FileRole::kModuleTexts;
  const std::string_view name = BareFileName(file.path);
  if (IsProgramKind(file.kind) && !name.starts_with("jax_")) {
    const auto match = MatchRole(name);
    const bool is_part_of_dump =
        match && (match->role == FileRole::kFusionMlir || match->role == FileRole::kTritonIr ||
                  match->role == FileRole::kMlirLog);
    return is_part_of_dump ? match->role : FileRole::kStableHlo;
  }
  if (name == "hloscope-record.json") return FileRole::kRunRecord;
  if (IsLogName(name) && (file.kind == FileKind::kText || file.kind == FileKind::kEmpty))
    return FileRole::kRunLog;
  auto match = MatchRole(BareFileName(file.path));
  return match && !HoldsModule(match->role) ? match->role : FileRole::kUnknown;
}

// The module that a file without an id belongs to: the only one of its folder or of the dump, or
// the one whose name the path holds.
int32_t DumpIndexer::ModuleFor(std::string_view path) const {
  int32_t only = -1, in_folder = 0, named = -1;
  size_t longest = 0;
  for (size_t k = 0; k < model_.modules_.size(); ++k) {
    const ModuleEntry& module = model_.modules_[k];
    if (module.id < 0) continue;
    bool inside = module.folder.empty() || path.starts_with(module.folder + "/");
    if (!inside) continue;
    ++in_folder;
    only = static_cast<int32_t>(k);
    bool holds = module.name.size() > longest && path.find(module.name) != std::string_view::npos;
    if (!holds) continue;
    named = only;
    longest = module.name.size();
  }
  return in_folder == 1 ? only : named;
}

// JAX numbers what it lowers in the order of compilation, so the k-th program of a name is the
// k-th module of that name. Its own names stand before XLA's file name characters are replaced.
int32_t DumpIndexer::ModuleOfJaxFile(std::string_view path) {
  std::string_view name = BareFileName(path);
  bool is_ir = name.starts_with("jax_ir");
  name.remove_prefix(is_ir ? 6 : 4);
  name.remove_prefix(std::min(name.find('_') + 1, name.size()));
  name = is_ir ? name.substr(0, name.rfind('_')) : name.substr(0, name.rfind(".jaxpr"));
  std::string wanted = is_ir ? std::string(name) : "jit_" + std::string(name);
  for (char& c : wanted) {
    if (c == '<' || c == '>') c = '_';
  }
  while (wanted.ends_with('_')) wanted.pop_back();
  std::string_view folder = FolderOf(path);
  std::vector<int32_t> modules;
  for (size_t k = 0; k < model_.modules_.size(); ++k) {
    std::string_view own = model_.modules_[k].name;
    while (own.ends_with('_')) own.remove_suffix(1);
    if (own == wanted && model_.modules_[k].id >= 0) modules.push_back(static_cast<int32_t>(k));
  }
  std::ranges::stable_sort(modules, {},
                           [&](int32_t k) { return model_.modules_[static_cast<size_t>(k)].id; });
  size_t count = jax_programs_[{std::string(folder), is_ir, wanted}]++;
  return count < modules.size() ? modules[count] : -1;
}

void DumpIndexer::AddLoose() {
  std::map<std::string, int32_t> modules;
  for (int32_t k : loose_) {
    FileEntry& file = model_.files_[static_cast<size_t>(k)];
    file.role = LooseRole(file);
    const bool is_program = file.role == FileRole::kStableHlo;
    bool own = file.role == FileRole::kLooseModule || is_program;
    if (!own) {
      bool tied = file.role != FileRole::kUnknown && file.role != FileRole::kTensorFlowGraph &&
                  file.role != FileRole::kTorchTensors && file.role != FileRole::kValues &&
                  file.role != FileRole::kModuleTexts && file.role != FileRole::kRunLog &&
                  file.role != FileRole::kRunRecord;
      if (file.role == FileRole::kJaxIr) {
        file.module = ModuleOfJaxFile(file.path);
      } else if (tied) {
        file.module = ModuleFor(file.path);
      }
      continue;
    }
    std::string_view name = BareFileName(file.path);
    std::string_view stem = name.substr(0, name.find('.'));
    const bool is_bundle = file.kind == FileKind::kBundle;
    if (is_bundle) stem = name.substr(0, name.rfind('.'));
    if (!file.part.name.empty()) {
      name = file.path;
      stem = file.part.name;
    }
    // A module in a text with others, a program and a bundle are each by itself.
    const bool is_alone = !file.part.name.empty() || is_program || is_bundle;
    std::string key = is_alone ? file.path : fmt::format("{}/{}", FolderOf(file.path), stem);
    auto [at, is_new] = modules.try_emplace(key, static_cast<int32_t>(model_.modules_.size()));
    if (is_new) {
      ModuleEntry module;
      module.name = stem;
      if (!model_.single_file_) module.folder = FolderOf(file.path);
      module.origin = file.part;
      model_.modules_.push_back(std::move(module));
    }
    file.module = at->second;
    stage_of_file_[static_cast<size_t>(k)] =
        file.part.name.empty() ? name.substr(std::min(name.size(), stem.size() + 1)) : "hlo";
  }
}

// What two compilations wrote under one id and name: only the last one is the module.
void DumpIndexer::LeaveOutEarlierRuns() {
  std::vector<std::vector<WrittenFile>> written(model_.modules_.size());
  for (size_t k = 0; k < model_.files_.size(); ++k) {
    const FileEntry& file = model_.files_[k];
    const StageOf of = RowOf(file.role).stage;
    if (file.module < 0 || (of != StageOf::kOwn && of != StageOf::kFinal)) continue;
    written[static_cast<size_t>(file.module)].push_back(
        {static_cast<int32_t>(k),
         of == StageOf::kOwn ? std::string_view(stage_of_file_[k]) : std::string_view(),
         file.modified_ns});
  }
  constexpr std::string_view kFix = "give each run a folder of its own";
  for (size_t m = 0; m < written.size(); ++m) {
    ModuleEntry& module = model_.modules_[m];
    if (module.id < 0) continue;
    SeparatedRuns runs = SeparateRuns(written[m]);
    if (runs.evidence.empty()) continue;
    const std::string name = fmt::format("module_{:04}.{}", module.id, module.name);
    module.is_mixed = runs.is_mixed;
    if (runs.is_mixed) {
      module.several_runs = fmt::format(
          "{}: files of several compilations are mixed, as {}; which stages are of which "
          "compilation is unknown, so what changes between them says nothing of a pass ({})",
          name, runs.evidence, kFix);
    } else {
      module.several_runs = fmt::format(
          "{}: {} an earlier compilation with this id and name left in the folder {} ignored, as "
          "{} and the files of the last compilation are newer ({})",
          name, Counted(runs.earlier.size(), "file that", "files that"),
          VerbFor(runs.earlier.size(), "is", "are"), runs.evidence, kFix);
    }
    model_.warnings_.push_back(module.several_runs);
    for (const int32_t file : runs.earlier) model_.files_[static_cast<size_t>(file)].module = -1;
    module.earlier_files = std::move(runs.earlier);
  }
}

void DumpIndexer::AddToStages() {
  std::vector<std::map<std::string, std::vector<int32_t>>> stages(model_.modules_.size());
  for (size_t k = 0; k < model_.files_.size(); ++k) {
    const FileEntry& file = model_.files_[k];
    if (file.module < 0) continue;
    auto module = static_cast<size_t>(file.module);
    model_.modules_[module].files.push_back(static_cast<int32_t>(k));
    if (RowOf(file.role).stage == StageOf::kOwn)
      stages[module][stage_of_file_[k]].push_back(static_cast<int32_t>(k));
  }
  for (size_t m = 0; m < stages.size(); ++m) {
    ModuleEntry& module = model_.modules_[m];
    for (auto& [name, files] : stages[m]) {
      StepName step = ParseStep(name);
      module.stages.push_back(
          {name, std::string(step.pipeline), std::string(step.pass), std::move(files)});
    }
    if (module.stages.empty()) AddSnapshotStage(module);
    SortStages(module.stages);
    for (size_t s = 0; s < module.stages.size(); ++s) {
      for (int32_t file : module.stages[s].files)
        model_.files_[static_cast<size_t>(file)].stage = static_cast<int32_t>(s);
    }
  }
}

// A snapshot holds its module: where nothing else does, it is the input of the compilation.
void DumpIndexer::AddSnapshotStage(ModuleEntry& module) {
  for (int32_t k : module.files) {
    const FileEntry& file = model_.files_[static_cast<size_t>(k)];
    if (file.role != FileRole::kUnoptimizedSnapshot || !IsModuleKind(file.kind)) continue;
    module.stages.push_back({"before_optimizations", "", "", {k}});
    return;
  }
}

// Files whose names do not say their stage: code belongs to the final one, programs to the first.
void DumpIndexer::AddDerivedStages() {
  for (size_t m = 0; m < model_.modules_.size(); ++m) {
    ModuleEntry& module = model_.modules_[m];
    if (module.stages.empty()) continue;
    bool compiled = std::ranges::any_of(module.stages, [](const StageEntry& stage) {
      return PhaseOf(stage.name) == StagePhase::kFinal;
    });
    int32_t last = compiled ? model_.FinalStage(static_cast<int32_t>(m)) : -1;
    int32_t first = PhaseOf(module.stages.front().name) == StagePhase::kInput ? 0 : -1;
    for (int32_t k : module.files) {
      FileEntry& file = model_.files_[static_cast<size_t>(k)];
      StageOf of = RowOf(file.role).stage;
      if ((of != StageOf::kFinal && of != StageOf::kFirst) || file.stage >= 0) continue;
      file.stage = of == StageOf::kFinal ? last : first;
      if (file.stage >= 0) module.stages[static_cast<size_t>(file.stage)].files.push_back(k);
    }
  }
}

void DumpIndexer::Describe() {
  for (ModuleEntry& module : model_.modules_) {
    module.framework = FrameworkOf(module.name);
    module.device = "unknown";
    for (int32_t k : module.files) {
      FileRole role = model_.files_[static_cast<size_t>(k)].role;
      if (role == FileRole::kPtx || role == FileRole::kThunkSequence ||
          role == FileRole::kGpuTarget)
        module.device = "gpu";
      if (role == FileRole::kObject) module.device = "cpu";
      if (role == FileRole::kTpuEnvironment || role == FileRole::kTargetArguments)
        module.device = "tpu";
    }
    for (const StageEntry& stage : module.stages) ReadTarget(stage.name, module);
  }
}

// XLA of 2026 wrote the module of a program's constants without kernels, and so one empty PTX.
bool DumpIndexer::IsPtxOfConstants(const FileEntry& file) const {
  bool empty_ptx = file.role == FileRole::kPtx && file.kind == FileKind::kEmpty;
  if (!empty_ptx || file.module < 0) return false;
  int empty = 0;
  bool constants = false;
  for (int32_t k : model_.modules_[static_cast<size_t>(file.module)].files) {
    const FileEntry& other = model_.files_[static_cast<size_t>(k)];
    empty += other.role == FileRole::kPtx && other.kind == FileKind::kEmpty ? 1 : 0;
    constants |= other.path.ends_with(".constants.ir-no-opt.ll");
  }
  return constants && empty == 1;
}

void DumpIndexer::CheckKinds() {
  size_t unknown = 0;
  for (size_t k = 0; k < model_.files_.size(); ++k) {
    const FileEntry& file = model_.files_[k];
    if (IsPtxOfConstants(file)) continue;
    if (file.role == FileRole::kUnknown) {
      if (++unknown > kUnknownFilesNamed) continue;
      model_.warnings_.push_back(
          fmt::format("{}: not recognised, {}", file.path, dump::Describe(file.kind)));
    } else if (!MayHold(file.role, file.kind) || !FitsName(file)) {
      model_.warnings_.push_back(fmt::format("{}: this is {}, expected {}", file.path,
                                             dump::Describe(file.kind),
                                             RowOf(file.role).description));
    } else if (IsText(file.kind) && ends_[k] < RowOf(file.role).end) {
      model_.warnings_.push_back(file.path + ": truncated");
    }
  }
  if (unknown > kUnknownFilesNamed) {
    model_.warnings_.push_back(
        fmt::format("{} not recognised", Counted(unknown - kUnknownFilesNamed, "more file")));
  }
}

}  // namespace hloscope::dump
