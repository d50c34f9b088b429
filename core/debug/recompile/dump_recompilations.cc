// Modules of one name are told apart by what they compute; the closest earlier one gives the
// reason, unless a log says more.
#include "core/debug/recompile/dump_recompilations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "core/base/counted.h"
#include "core/debug/recompile/compile_log.h"
#include "core/debug/recompile/module_change.h"
#include "core/dump/processes.h"
#include "core/dump/run_record.h"
#include "core/dump/stage_order.h"

namespace hloscope::debug {
namespace {

using dump::DumpModel;
using dump::FileEntry;
using dump::FileRole;

constexpr size_t kMaxEarlier = 32;  // compilations that one is compared with

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

class Finder {
 public:
  explicit Finder(const DumpModel& model) : model_(model), records_(dump::ReadRunRecords(model)) {}

  Recompilations Run() {
    ReadBeside();
    std::map<std::string, std::vector<int32_t>> by_name;
    const std::vector<int32_t> processes = dump::ProcessOfModules(model_);
    for (size_t m = 0; m < model_.modules().size(); ++m) {
      if (processes[m] != 0) continue;  // compiled in another process, not again
      const dump::ModuleEntry& module = model_.modules()[m];
      by_name[ProgramKey(module.framework, module.name)].push_back(static_cast<int32_t>(m));
    }
    std::vector<int32_t> clusters;  // one program may have several names
    for (auto& [key, modules] : by_name) {
      TieToLog(key, modules);
      const bool is_cluster = key.starts_with("TensorFlow cluster_");
      if (is_cluster) clusters.insert(clusters.end(), modules.begin(), modules.end());
      if (!is_cluster && modules.size() > 1) CompareAll(modules);
    }
    std::ranges::sort(clusters);
    if (clusters.size() > 1) CompareAll(clusters);
    if (model_.modules().empty()) {
      for (const auto& [folder, log] : logs_) Append(RecompilationsOf(log));
    } else {
      for (const auto& [folder, log] : logs_)
        found_.warnings.insert(found_.warnings.end(), log.warnings.begin(), log.warnings.end());
    }
    SumUp(found_);
    return std::move(found_);
  }

 private:
  struct Compiled {
    int32_t module = -1;
    CompilationFacts facts;
    std::string program;  // of the first compilation
    size_t series = 0;    // the first compilation, as its place among `earlier`
  };

  // Each log numbers its series from 0: those of another log are others.
  void Append(Recompilations more) {
    size_t first = 0;
    for (const auto& one : found_.list) first = std::max(first, one.series + 1);
    for (auto& one : more.list) {
      one.series += first;
      found_.list.push_back(std::move(one));
    }
    for (auto& text : more.warnings) found_.warnings.push_back(std::move(text));
  }

  // Logs and records of runs.
  void ReadBeside() {
    found_.warnings.insert(found_.warnings.end(), records_.warnings.begin(),
                           records_.warnings.end());
    for (size_t f = 0; f < model_.files().size(); ++f) {
      const FileEntry& file = model_.files()[f];
      if (file.role != FileRole::kRunLog) continue;
      const auto read = model_.ReadFile(static_cast<int32_t>(f), [&](std::string_view bytes) {
        CompileLog log = ReadCompileLog(bytes, file.path);
        if (log.found()) logs_.emplace_back(FolderOf(file.path), std::move(log));
        return true;
      });
      if (!read) found_.warnings.push_back(read.error().ToString());
    }
  }

  // The k-th compilation of a log is the k-th module of its folder, where there are as many. What
  // is read from a cache leaves a module or none, by version.
  void TieToLog(const std::string& key, const std::vector<int32_t>& all) {
    for (const auto& [folder, log] : logs_) {
      std::vector<int32_t> modules;
      for (int32_t m : all) {
        if (dump::IsInFolder(model_.modules()[static_cast<size_t>(m)].folder, folder))
          modules.push_back(m);
      }
      std::vector<const LoggedCompilation*> logged;
      for (const LoggedCompilation& one : log.compilations) {
        if (one.key == key && one.is_compilation) logged.push_back(&one);
      }
      if (logged.size() != modules.size()) {
        std::erase_if(logged, [](const LoggedCompilation* one) { return one->from_cache; });
      }
      if (logged.empty() || modules.empty()) continue;
      const auto folder_of = [&](int32_t m) -> const std::string& {
        return model_.modules()[static_cast<size_t>(m)].folder;
      };
      if (!std::ranges::all_of(
              modules, [&](int32_t m) { return folder_of(m) == folder_of(modules.front()); })) {
        found_.warnings.push_back(
            fmt::format("several processes compiled `{}` and share one log: its times and reasons "
                        "are left out",
                        logged.front()->program));
        continue;
      }
      if (logged.size() == modules.size()) {
        for (size_t k = 0; k < modules.size(); ++k) logged_[modules[k]] = logged[k];
      } else {
        found_.warnings.push_back(fmt::format(
            "the log has {} of `{}` and the dump {}: its times and "
            "reasons are left out",
            Counted(logged.size(), "compilation"), logged.front()->program, modules.size()));
      }
    }
  }

  void AddFile(int32_t module, FileRole role, CompilationFacts& facts) {
    const int32_t file = model_.FindFile(module, role);
    if (file < 0) return;
    auto bytes = model_.OpenFile(file);
    if (bytes && dump::IsText(dump::Sniff(bytes->bytes()))) AddOptions(bytes->bytes(), facts);
  }

  std::optional<CompilationFacts> Read(int32_t m) {
    auto module = model_.Module(m, 0);
    if (!module) return std::nullopt;  // `info` says so itself
    CompilationFacts facts = FactsOf(*std::move(module));
    AddFile(m, FileRole::kPjrtOptions, facts);
    AddFile(m, FileRole::kDebugOptions, facts);
    const dump::ModuleEntry& entry = model_.modules()[static_cast<size_t>(m)];
    if (const dump::RunRecord* record = records_.For(entry.folder); record != nullptr)
      facts.version = record->framework + " " + record->version;
    return facts;
  }

  // Whether both were read at the same point of the pipeline: others differ by what XLA did.
  static bool AreAlike(const dump::ModuleEntry& a, const dump::ModuleEntry& b) {
    const std::string &x = a.stages.front().name, &y = b.stages.front().name;
    return x == y ||
           (dump::PhaseOf(x) == dump::PhaseOf(y) && dump::PhaseOf(x) != dump::StagePhase::kPass);
  }

  bool Together(const Compiled& a, const Compiled& b) const {
    const auto &x = model_.modules()[static_cast<size_t>(a.module)],
               &y = model_.modules()[static_cast<size_t>(b.module)];
    if (!AreAlike(x, y)) return false;
    const bool other_version =
        !a.facts.version.empty() && !b.facts.version.empty() && a.facts.version != b.facts.version;
    // Folders of their own are other runs or other hosts.
    if (x.folder != y.folder && !other_version) return false;
    // One trace with other attributes is asked for by other means, as get_compiler_ir does.
    auto attributes = [](std::string_view name) { return name.substr(0, name.rfind('.')); };
    if (x.framework == "TensorFlow" && TraceName(x.name) == TraceName(y.name) &&
        attributes(x.name) != attributes(y.name))
      return false;
    if (ProgramKey(x.framework, x.name) != ProgramKey(y.framework, y.name))
      return IsSameCluster(a.facts, b.facts);
    if (x.framework == "PyTorch/XLA" && !IsSameGraph(a.facts, b.facts)) return false;
    const LoggedCompilation *p = Logged(a.module), *q = Logged(b.module);
    if (p != nullptr && q != nullptr && (!p->series.empty() || !q->series.empty()))
      return p->series == q->series;
    return IsSameProgram(a.facts, b.facts);
  }

  // Whether the run had what the fix for an unknown reason asks for.
  bool WasLogged(const dump::ModuleEntry& module) const {
    const dump::RunRecord* record = records_.For(module.folder);
    if (record == nullptr) return false;
    return record->Variable("JAX_EXPLAIN_CACHE_MISSES") == "1" ||
           record->Variable("TF_CPP_VMODULE").contains("device_compilation_profiler") ||
           record->Variable("PT_XLA_DEBUG_LEVEL") == "2";
  }

  const LoggedCompilation* Logged(int32_t module) const {
    const auto at = logged_.find(module);
    return at == logged_.end() ? nullptr : at->second;
  }

  void CompareAll(const std::vector<int32_t>& modules) {
    std::vector<Compiled> earlier;
    for (int32_t m : modules) {
      auto facts = Read(m);
      if (!facts) continue;
      const dump::ModuleEntry& module = model_.modules()[static_cast<size_t>(m)];
      Compiled one{m, *std::move(facts), ProgramName(module.framework, module.name)};
      const Compiled* closest = nullptr;
      int64_t least = 0;
      size_t looked = 0;
      for (auto at = earlier.rbegin(); at != earlier.rend() && looked < kMaxEarlier; ++at) {
        if (!Together(*at, one)) continue;
        ++looked;
        const int64_t distance = DistanceOf(at->facts, one.facts);
        if (closest != nullptr && distance >= least) continue;
        closest = &*at;
        least = distance;
      }
      if (closest != nullptr) one.program = closest->program;
      if (closest == nullptr) Distinguish(one, earlier);
      one.series = closest == nullptr ? earlier.size() : closest->series;
      const LoggedCompilation* logged = Logged(m);
      const bool from_cache = logged != nullptr && logged->from_cache;
      if (closest != nullptr && !from_cache) Tell(*closest, one);
      earlier.push_back(std::move(one));
    }
  }

  // Another function of a name that is taken, as `<lambda>` is: the line where it begins is added.
  // PyTorch/XLA's one name for all graphs is no function's.
  void Distinguish(Compiled& one, std::span<const Compiled> earlier) const {
    if (model_.modules()[static_cast<size_t>(one.module)].framework == "PyTorch/XLA") return;
    const auto is_taken = [&] {
      return std::ranges::find(earlier, one.program, &Compiled::program) != earlier.end();
    };
    if (!is_taken()) return;
    const std::string name = one.program;
    if (!one.facts.lines.empty()) one.program = name + " at " + one.facts.lines.front();
    if (is_taken()) one.program = name + " of " + Title(one.module);
  }

  std::string Title(int32_t m) const {
    const dump::ModuleEntry& module = model_.modules()[static_cast<size_t>(m)];
    const std::string title = dump::TitleOf(module);
    return module.folder.empty() ? title : module.folder + "/" + title;
  }

  void Tell(const Compiled& before, const Compiled& now) {
    const dump::ModuleEntry& module = model_.modules()[static_cast<size_t>(now.module)];
    Recompilation one;
    one.framework = module.framework;
    one.program = now.program;
    one.series = now.series;
    one.modules = {Title(before.module), Title(now.module)};
    one.module = now.module;
    one.cause = CauseOf(before.facts, now.facts);
    one.outside_jit = now.facts.outside_jit;
    one.was_logged = WasLogged(module);
    const std::string& earlier_name = model_.modules()[static_cast<size_t>(before.module)].name;
    // Each trace has a number; TensorFlow has no weak types.
    if (one.framework == "TensorFlow" && one.cause.reason == RecompileReason::kIdentical &&
        module.name != earlier_name)
      one.cause = OtherTrace(module.name);
    if (const LoggedCompilation* logged = Logged(now.module)) {
      one.compile_ms = logged->compile_ms;
      one.place = logged->place;
      AddLogged(*logged, one.cause);
    }
    found_.list.push_back(std::move(one));
  }

  // The name of a cluster does not say which function it was cut out of.
  static RecompileCause OtherTrace(std::string_view module) {
    RecompileCause cause{RecompileReason::kFunction, "", "", "", ""};
    if (module.starts_with("cluster_")) cause.detail = kOtherFunction;
    return cause;
  }

  // What a log knows and modules do not show: static arguments, weak types, flags, new functions.
  static void AddLogged(const LoggedCompilation& logged, RecompileCause& cause) {
    using enum RecompileReason;
    const RecompileReason shown = cause.reason;
    // The modules show these themselves, and against the closest compilation.
    const bool shows =
        shown == kVersion || shown == kShape || shown == kElementType || shown == kSharding;
    const bool told =
        logged.cause && logged.cause->reason != kFunction && logged.cause->reason != kUnknown;
    if (told && !shows) {
      cause = *logged.cause;
    } else if (logged.new_function) {
      if (cause.reason == kIdentical) {
        cause = {kFunction, "", "", "", ""};
      } else {
        if (!cause.detail.empty()) cause.detail += ", ";
        cause.detail += "and the function is created again each time";
      }
    }
  }

  const DumpModel& model_;
  const dump::RunRecords records_;
  Recompilations found_;
  std::vector<std::pair<std::string, CompileLog>> logs_;  // with their folders
  std::map<int32_t, const LoggedCompilation*> logged_;
};

}  // namespace

Recompilations RecompilationsIn(const DumpModel& model) { return Finder(model).Run(); }

}  // namespace hloscope::debug
