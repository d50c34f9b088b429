// Flags are appended to those that are set, so that none is lost and the user's own come first.
#include "core/debug/record/recording_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/debug/record/flag_text.h"
#include "core/debug/record/python_hook.h"
#include "core/dump/advice.h"
#include "core/dump/run_record.h"

namespace hloscope::debug {
namespace {

namespace fs = std::filesystem;

enum class When : uint8_t { kAlways, kPasses, kSnapshots };
// Since when XLA has a flag; the old ones may be given to any XLA.
enum class Since : uint8_t { kOld, kNew };
struct DumpFlag {
  const char *name, *value;
  Since since;
  When when;
  const char* option;  // of `record` that asks for it
};
// The flags that a good dump needs; {dump} is the folder. A flag is set only where the XLA that
// runs the program knows it and does not crash of it, and it is not set already.
constexpr DumpFlag kDumpFlags[] = {
    {"xla_dump_to", "{dump}", Since::kOld, When::kAlways, ""},
    {"xla_dump_hlo_as_text", "true", Since::kOld, When::kAlways, ""},
    {"xla_dump_hlo_as_proto", "true", Since::kOld, When::kAlways, ""},
    // Not mlir-fusion: XLA:CPU compiles fusions on several threads and crashes where it dumps them.
    {"xla_dump_emitter_re", "^(llvm|ptx|triton-fusion)$", Since::kNew, When::kAlways, ""},
    {"xla_dump_module_metadata", "true", Since::kNew, When::kAlways, ""},
    {"xla_dump_hlo_pass_re", ".*", Since::kOld, When::kPasses, "--passes"},
    {"xla_dump_hlo_snapshots", "true", Since::kOld, When::kSnapshots, "--snapshots"},
};
// What keeps files from a dump.
struct SuppressingFlag {
  std::string_view name;
  std::string_view harmless;  // value that does no harm
  std::string_view lost;
};
constexpr SuppressingFlag kSuppressing[] = {
    {"xla_dump_hlo_module_re", ".*", "only modules whose name matches are dumped"},
    {"xla_dump_max_hlo_modules", "-1", "dumping stops after that many modules"},
    {"xla_dump_hlo_pipeline_re", ".*", "only the passes of matching pipelines are dumped"},
    {"xla_dump_disable_metadata", "false", "source lines are left out"},
    {"xla_dump_hlo_unoptimized_snapshots", "false",
     "modules and passes are not dumped, only snapshots"},
    {"xla_enable_dumping", "true", "nothing is dumped"},
};

constexpr uintmax_t kMinSpace = 1'000'000'000, kMinForPasses = 5'000'000'000;

// Whether a script of Python sets XLA_FLAGS and never reads them: what it sets takes the place of
// the flags of the dump. `setdefault` keeps what is there.
bool ReplacesFlags(std::string_view script) {
  constexpr std::string_view kName = "XLA_FLAGS";
  bool sets = false;
  for (size_t at = script.find(kName); at != script.npos; at = script.find(kName, at + 1)) {
    const std::string_view before = script.substr(0, at);
    if (!before.ends_with('"') && !before.ends_with('\'')) continue;  // TF_XLA_FLAGS, a comment
    std::string_view after = script.substr(std::min(at + kName.size() + 1, script.size()));
    const bool is_index = after.starts_with(']');
    after.remove_prefix(std::min(after.find_first_not_of(" ]"), after.size()));
    const bool is_set = (is_index && after.starts_with('=') && !after.starts_with("==")) ||
                        after.starts_with(':') ||
                        before.substr(0, before.size() - 1).ends_with("putenv(");
    if (!is_set) return false;
    sets = true;
  }
  return sets;
}

class Planner {
 public:
  Planner(const RecordedProgram& program, const Environment& environment,
          const RecordingOptions& options)
      : program_(program), options_(options) {
    plan_.environment = environment;
    plan_.warnings = program.warnings;
  }

  Result<RecordingPlan> Run() {
    const char* set = ValueOf(plan_.environment, "XLA_FLAGS");
    flags_ = FlagsOf(set == nullptr ? "" : set);
    HLOSCOPE_TRY(MakeFolder());
    AddFlags();
    WarnOfFlags();
    AddLogs();
    Caches();
    AddHook();
    if (ReplacesFlags(program_.script))
      Warn(
          "the program sets XLA_FLAGS itself, which may take the flags of the dump away; fix: "
          "os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --…'");
    return std::move(plan_);
  }

 private:
  void Warn(std::string text) { plan_.warnings.push_back(std::move(text)); }
  bool Has(std::string_view framework) const {
    // Without any, all are meant.
    return program_.frameworks.empty() ||
           std::ranges::any_of(program_.frameworks,
                               [&](const auto& f) { return f.name == framework; });
  }
  void Set(std::string_view name, std::string_view value) {
    SetValue(plan_.environment, name, value);
  }
  void SetIfUnset(std::string_view name, std::string_view value) {
    if (ValueOf(plan_.environment, name) == nullptr) Set(name, value);
  }

  Status MakeFolder() {
    const auto set = FlagValue(flags_, "xla_dump_to");
    std::string folder = options_.dump;
    if (folder.empty() && set) folder = *set;
    std::error_code unequal;
    const bool is_same = set && (folder == *set || fs::weakly_canonical(folder, unequal) ==
                                                       fs::weakly_canonical(*set, unequal));
    if (set && !is_same)
      Warn(fmt::format("XLA_FLAGS dumps to {}; this run dumps to {} instead", *set, folder));
    if (set && folder == "-") {
      Warn("XLA_FLAGS dumps to standard output; this run dumps to a folder instead");
      folder.clear();
    }
    if (folder.empty()) {
      folder = "hloscope-dump";
      std::error_code error;
      for (int k = 2; fs::exists(folder, error); ++k) folder = fmt::format("hloscope-dump-{}", k);
    }
    std::error_code error;
    fs::create_directories(folder, error);
    if (error || !fs::is_directory(folder, error))
      return InputError(fmt::format("--dump {}: the folder cannot be made: {}", folder,
                                    error ? error.message() : "it is a file"));
    plan_.dump = fs::canonical(folder, error).string();
    // Modules of each process are numbered from 0.
    if (fs::is_regular_file(fs::symlink_status(plan_.dump + "/" + dump::kRecordFile, error)))
      return InputError(folder + ": holds a recording, whose files this one would overwrite",
                        "--dump with a new folder");
    if (!fs::is_empty(plan_.dump, error))
      Warn(
          fmt::format("{} is not empty: files of the names that XLA gives are overwritten, and "
                      "modules already in it are counted too; fix: --dump with a new folder",
                      folder));
    const auto space = fs::space(plan_.dump, error);
    const uintmax_t least =
        options_.passes || options_.snapshots || options_.inputs ? kMinForPasses : kMinSpace;
    if (!error && space.available < least)
      Warn(
          fmt::format("only {:.1f} GB are free at {}: the dump may be cut; fix: --dump on another "
                      "disk",
                      static_cast<double>(space.available) / 1e9, folder));
    return {};
  }

  void AddFlags() {
    std::vector<std::string> names;
    for (const DumpFlag& flag : kDumpFlags) names.emplace_back(flag.name);
    const auto known = KnownFlags(program_, names);
    for (const DumpFlag& flag : kDumpFlags) {
      const bool asked = flag.when == When::kAlways ||
                         (flag.when == When::kPasses && options_.passes) ||
                         (flag.when == When::kSnapshots && options_.snapshots);
      const std::string name = flag.name;
      const bool is_folder = name == "xla_dump_to";
      if (!asked || (FlagValue(flags_, name) && !is_folder)) continue;
      if (known && std::ranges::find(*known, name) == known->end()) {
        if (flag.when != When::kAlways)
          Warn(fmt::format("the XLA of this program has no flag --{}", name));
        continue;
      }
      if (!MayAdd(flag, known.has_value())) continue;
      const std::string value = is_folder ? plan_.dump : flag.value;
      if (is_folder && FlagValue(flags_, name) == value) continue;
      flags_.push_back(fmt::format("--{}={}", name, value));
      plan_.added.push_back(flags_.back());
    }
    Set("XLA_FLAGS", FlagsText(flags_));
  }

  // False where the flag was tried with a framework of the program and crashed it, or where nothing
  // says that its XLA has it: no library was found (`is_known`), and no such version was tried.
  bool MayAdd(const DumpFlag& flag, bool is_known) {
    bool is_tried = !program_.frameworks.empty();
    for (const RecordedFramework& framework : program_.frameworks) {
      const dump::AdviceVerdict verdict =
          dump::JudgeAdvice(fmt::format("--{}", flag.name), framework.name, framework.version);
      if (verdict.state == dump::AdviceState::kFails) {
        if (flag.when != When::kAlways)
          Warn(fmt::format("{} is left out: {}", flag.option, verdict.note));
        return false;
      }
      if (verdict.state == dump::AdviceState::kTried) continue;
      is_tried = false;
      if (flag.when != When::kAlways)
        Warn(fmt::format("{} is {}; where the program crashes, leave it out", flag.option,
                         verdict.note));
    }
    return is_known || is_tried || flag.since == Since::kOld;
  }

  void WarnOfFlags() {
    for (const SuppressingFlag& flag : kSuppressing) {
      const auto value = FlagValue(flags_, flag.name);
      if (!value || *value == flag.harmless) continue;
      Warn(fmt::format("XLA_FLAGS has --{}={}: {}; fix: take it out for this run", flag.name,
                       *value, flag.lost));
    }
  }

  void AddLogs() {
    if (Has("JAX")) {
      const char* asked = ValueOf(plan_.environment, "JAX_LOG_COMPILES");
      plan_.logs_asked = asked != nullptr && std::string_view(asked) != "0";
      SetIfUnset("JAX_LOG_COMPILES", "1");
      SetIfUnset("JAX_EXPLAIN_CACHE_MISSES", "1");
    }
    if (Has("TensorFlow")) {
      const char* modules = ValueOf(plan_.environment, "TF_CPP_VMODULE");
      const std::string mine = "device_compilation_profiler=1,device_executable_persistor=1";
      if (modules == nullptr || *modules == '\0') {
        Set("TF_CPP_VMODULE", mine);
      } else if (std::string_view(modules).find("device_compilation_profiler") ==
                 std::string_view::npos) {
        Set("TF_CPP_VMODULE", fmt::format("{},{}", modules, mine));
      }
      const char* level = ValueOf(plan_.environment, "TF_CPP_MIN_LOG_LEVEL");
      if (level != nullptr && *level != '0' && *level != '\0')
        Warn(
            fmt::format("TF_CPP_MIN_LOG_LEVEL={} hides what TensorFlow logs of its compilations; "
                        "fix: TF_CPP_MIN_LOG_LEVEL=0",
                        level));
      SetIfUnset("TF_DUMP_GRAPH_PREFIX", plan_.dump);
      const char* flags = ValueOf(plan_.environment, "TF_XLA_FLAGS");
      const std::string graphs = "--tf_xla_clustering_debug";
      if (flags == nullptr ||
          std::string_view(flags).find("tf_xla_clustering_debug") == std::string_view::npos)
        Set("TF_XLA_FLAGS", flags == nullptr ? graphs : fmt::format("{} {}", flags, graphs));
    }
    if (Has("PyTorch/XLA")) {
      plan_.logs_asked =
          plan_.logs_asked || ValueOf(plan_.environment, "PT_XLA_DEBUG_LEVEL") != nullptr;
      SetIfUnset("PT_XLA_DEBUG_LEVEL", "2");
      SetIfUnset("XLA_IR_DEBUG", "1");
      if (ValueOf(plan_.environment, "XLA_HLO_DEBUG") == nullptr &&
          program_.script.contains("stablehlo"))
        Warn(
            "XLA_HLO_DEBUG=1, which gives modules their source lines, makes PyTorch/XLA write "
            "StableHLO text with locations that MLIR cannot read back; fix: use the bytecode that "
            "is saved with it, or set XLA_HLO_DEBUG=0 for this run");
      SetIfUnset("XLA_HLO_DEBUG", "1");
    }
  }

  // Compilations that are read from a cache leave no dump.
  void Caches() {
    auto has = [&](std::string_view word) {
      return program_.script.find(word) != std::string::npos;
    };
    auto tell = [&](std::string_view what, std::string_view fix) {
      Warn(
          fmt::format("{}: what is read from it is not compiled, and leaves at most its optimised "
                      "form; fix: {}",
                      what, fix));
    };
    constexpr std::string_view kOff = "--no-compilation-cache";
    if (Has("JAX")) {
      const char* folder = ValueOf(plan_.environment, "JAX_COMPILATION_CACHE_DIR");
      const bool in_script =
          has("jax_compilation_cache_dir") || has("set_cache_dir") || has("initialize_cache(");
      const char* enabled = ValueOf(plan_.environment, "JAX_ENABLE_COMPILATION_CACHE");
      const bool off = enabled != nullptr &&
                       (std::string_view(enabled) == "0" || std::string_view(enabled) == "false");
      if (options_.caches_off) {
        Set("JAX_ENABLE_COMPILATION_CACHE", "false");
      } else if (folder != nullptr && *folder != '\0' && !off) {
        tell(fmt::format("JAX_COMPILATION_CACHE_DIR={} keeps compilations", folder), kOff);
      } else if (in_script && !off) {
        tell("the program uses a compilation cache of JAX", kOff);
      }
    }
    if (Has("PyTorch/XLA")) {
      const char* folder = ValueOf(plan_.environment, "XLA_PERSISTENT_CACHE_PATH");
      if (options_.caches_off && folder != nullptr) {
        std::erase_if(plan_.environment, [](const std::string& entry) {
          return entry.starts_with("XLA_PERSISTENT_CACHE_PATH=");
        });
      } else if (folder != nullptr && *folder != '\0') {
        tell(fmt::format("XLA_PERSISTENT_CACHE_PATH={} keeps compilations", folder), kOff);
      }
      if (has("initialize_cache(") && has("torch_xla"))
        tell("the program calls initialize_cache of PyTorch/XLA",
             "leave that call out, or empty its folder, for this run");
    }
    if (Has("TensorFlow")) TensorFlowCache(kOff);
  }

  void TensorFlowCache(std::string_view off) {
    const char* set = ValueOf(plan_.environment, "TF_XLA_FLAGS");
    std::vector<std::string> words = FlagWords(set == nullptr ? "" : set);
    auto is_cache = [](const std::string& word) {
      return word.find("tf_xla_persistent_cache_directory") != std::string::npos;
    };
    const auto cache = std::ranges::find_if(words, is_cache);
    if (cache == words.end()) return;
    if (options_.caches_off) {
      std::erase_if(words, is_cache);
      Set("TF_XLA_FLAGS", FlagsText(words));
    } else {
      Warn(fmt::format(
          "TF_XLA_FLAGS has {}: a cluster that is read from it is not compiled and leaves "
          "no dump; fix: {}",
          *cache, off));
    }
  }

  bool MayProfile() {
    if (!options_.profile) return false;
    for (std::string_view own : {"start_trace(", "profiler.trace(", "profiler.experimental."}) {
      if (program_.script.find(own) == std::string::npos) continue;
      Warn(fmt::format("--profile is left out: the program profiles itself with {}", own));
      return false;
    }
    return true;
  }

  void AddHook() {
    const bool profiles = MayProfile();
    if (program_.python.empty() && !profiles && !options_.inputs) return;
    const auto hook = WritePythonHook(plan_.dump);
    if (!hook) {
      return Warn(fmt::format("{}: without this file {}{}all processes of the program dump into {}",
                              hook.error().ToString(), profiles ? "no profile is made, " : "",
                              options_.inputs ? "no inputs are saved, " : "", plan_.dump));
    }
    const char* path = ValueOf(plan_.environment, "PYTHONPATH");
    Set("PYTHONPATH", path == nullptr || *path == '\0' ? *hook : fmt::format("{}:{}", *hook, path));
    Set(kDumpVariable, plan_.dump);
    if (profiles) Set(kProfileVariable, plan_.dump + "/profile");
    if (options_.inputs) Set(kInputsVariable, plan_.dump);
    plan_.hook = *hook;
    plan_.profiles = profiles;
  }

  const RecordedProgram& program_;
  const RecordingOptions& options_;
  RecordingPlan plan_;
  std::vector<std::string> flags_;
};

}  // namespace

Result<RecordingPlan> PlanRecording(const RecordedProgram& program, const Environment& environment,
                                    const RecordingOptions& options) {
  return Planner(program, environment, options).Run();
}

}  // namespace hloscope::debug
