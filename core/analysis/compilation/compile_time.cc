// The figures of each module: measured times from the best source, growth from the dumped stages.
#include "core/analysis/compilation/compile_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/analysis/compilation/missing_times.h"
#include "core/analysis/compilation/slow_alarms.h"
#include "core/analysis/compilation/source_work.h"
#include "core/base/counted.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::analysis {
namespace {

using dump::DumpModel;
using dump::FileRole;

constexpr int64_t kMinFoldedBytes = 1 << 16;
constexpr size_t kMaxPassesWithLines = 5;  // passes whose source lines are looked for

// Names of passes as they are in those of files.
std::string FileName(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  return out;
}

std::optional<int64_t> InstructionsAt(const DumpModel& model, int32_t module, int32_t stage) {
  const int32_t file = model.ModuleFile(module, stage);
  if (file < 0) return std::nullopt;
  if (const dump::StageCounts* counts = model.StageCountsOf(file)) return counts->instructions;
  const auto read = model.Module(module, stage);
  if (!read) return std::nullopt;
  return static_cast<int64_t>((*read)->instructions().size());
}

// Lines of the program with the instructions that both stages have of them.
std::vector<SourceGrowth> SourcesOf(const DumpModel& model, int32_t module, int32_t before,
                                    int32_t after, int32_t given) {
  std::map<std::string, SourceGrowth> lines;
  const auto first = model.Module(module, given);
  if (!first) return {};
  for (const bool is_after : {false, true}) {
    const auto read = model.Module(module, is_after ? after : before);
    if (!read) return {};
    const hlo::Module& m = **read;
    for (const std::string& line : LinesOf(m, **first)) {
      if (line.empty()) continue;
      SourceGrowth& growth = lines[line];
      ++(is_after ? growth.after : growth.before);
    }
  }
  std::vector<SourceGrowth> out;
  for (auto& [text, growth] : lines) {
    growth.source = text;
    out.push_back(growth);
  }
  return out;
}

class Maker {
 public:
  explicit Maker(ModuleCompileTime& out) : out_(out) {}

  void Add(std::vector<PassRun> runs) {
    for (const PassRun& run : runs) {
      PassTime& pass = Of(run.pass);
      const int64_t longest = longest_[run.pass];
      if (pass.pipeline.empty() || run.self_us > longest) {
        pass.pipeline = run.pipeline;
        longest_[run.pass] = run.self_us;
      }
      ++pass.runs;
      pass.self_us = pass.self_us.value_or(0) + run.self_us;
      std::optional<int64_t>& sum = pass.is_autotuner ? out_.autotuner_us : out_.passes_us;
      sum = sum.value_or(0) + run.self_us;
    }
    if (runs.empty()) return;
    out_.passes_us = out_.passes_us.value_or(0);
    out_.autotuner_us = out_.autotuner_us.value_or(0);
  }

  void AddGrowth(const DumpModel& model) {
    const int32_t module = out_.module;
    const auto& stages = model.modules()[static_cast<size_t>(module)].stages;
    int32_t before = -1, first = -1;
    std::optional<int64_t> had;
    for (size_t s = 0; s < stages.size(); ++s) {
      const auto stage = static_cast<int32_t>(s);
      const std::optional<int64_t> has = InstructionsAt(model, module, stage);
      if (!has) continue;
      if (before >= 0 && !stages[s].pass.empty()) AddStep(stages[s], before, stage, *had, *has);
      if (first < 0) {
        first = stage;
        out_.instructions_before = has;
      }
      before = stage;
      had = has;
    }
    const int32_t last = model.FinalStage(module);
    if (first < 0 || last < 0 || first == last) {
      out_.instructions_before.reset();
      return;
    }
    out_.instructions_after = InstructionsAt(model, module, last);
    const std::vector<SourceGrowth> lines = SourcesOf(model, module, first, last, first);
    given_ = first;
    out_.largest = Largest(lines, *out_.instructions_before);
    out_.growth = Grown(lines);
    NameSources(model);
    NameFolded(model);
  }

  // What XLA's alarm timed, where nothing timed the whole pass. After AddGrowth().
  void AddFoldings(const DumpModel* model, const LoggedTimes& logged) {
    FoldingSum sum = SumFoldings(logged.foldings, logged.whole_us);
    std::string longest;
    for (const SlowFolding& folding : sum.longest) {
      const std::string source =
          model == nullptr ? "" : SourceOfFolded(*model, folding.instruction);
      if (&folding == sum.longest.data()) longest = source;
      out_.notes.push_back(fmt::format(
          "constant_folding computed {} for {:.1f} s, as XLA's alarm says{}", folding.instruction,
          static_cast<double>(folding.us) / 1e6, source.empty() ? "" : ": " + source));
    }
    std::ranges::move(sum.notes, std::back_inserter(out_.notes));
    if (sum.longest.empty()) return;
    PassTime& pass = Of("constant_folding");
    pass.runs = std::max<int64_t>(pass.runs, 1);
    if (!longest.empty()) pass.source = longest;
    if (pass.self_us) return;
    pass.self_us = sum.us;
    out_.passes_us = out_.passes_us.value_or(0) + sum.us;
  }

  // Those that took longest first.
  void Sort() {
    std::ranges::stable_sort(out_.passes, [](const PassTime& a, const PassTime& b) {
      if (a.self_us != b.self_us) return a.self_us > b.self_us;
      return Growth(a) > Growth(b);
    });
  }

 private:
  static int64_t Growth(const PassTime& pass) {
    return pass.instructions_before ? *pass.instructions_after - *pass.instructions_before
                                    : INT64_MIN;
  }
  PassTime& Of(const std::string& name) {
    const auto [at, is_new] = places_.try_emplace(FileName(name), out_.passes.size());
    if (is_new) out_.passes.push_back({.pass = name, .is_autotuner = IsAutotunerPass(name)});
    return out_.passes[at->second];
  }
  void AddStep(const dump::StageEntry& entry, int32_t before, int32_t after, int64_t had,
               int64_t has) {
    if (entry.pass == kPipelineStart) return;
    PassTime& pass = Of(entry.pass);
    if (!pass.self_us) {
      ++pass.runs;  // all that is known of them
      if (pass.pipeline.empty()) pass.pipeline = entry.pipeline;
    }
    if (IsFoldingPass(entry.pass))
      foldings_.push_back({places_.at(FileName(entry.pass)), before, after, had - has});
    if (pass.instructions_before && Growth(pass) >= has - had) return;
    if (!pass.self_us) pass.pipeline = entry.pipeline;
    pass.instructions_before = had;
    pass.instructions_after = has;
    pass.stage_before = before;
    pass.stage_after = after;
  }
  void NameSources(const DumpModel& model) {
    std::vector<PassTime*> grown;
    for (PassTime& pass : out_.passes) {
      if (pass.instructions_before && Growth(pass) > 0) grown.push_back(&pass);
    }
    std::ranges::stable_sort(grown, std::greater(), [](PassTime* pass) { return Growth(*pass); });
    if (grown.size() > kMaxPassesWithLines) grown.resize(kMaxPassesWithLines);
    for (PassTime* pass : grown) {
      const auto lines =
          Grown(SourcesOf(model, out_.module, pass->stage_before, pass->stage_after, given_));
      if (!lines.empty()) pass->source = lines.front().source;
    }
  }

  // Of the runs that removed most.
  void NameFolded(const DumpModel& model) {
    std::ranges::stable_sort(foldings_, std::greater(), &Folding::removed);
    if (foldings_.size() > kMaxPassesWithLines) foldings_.resize(kMaxPassesWithLines);
    for (const Folding& folding : foldings_) {
      const auto had = model.Module(out_.module, folding.before);
      const auto has = model.Module(out_.module, folding.after);
      const auto given = model.Module(out_.module, given_);
      if (!had || !has || !given) continue;
      FoldedWork work = FindFoldedWork(**had, **has, **given);
      PassTime& pass = out_.passes[folding.pass];
      if (work.bytes < std::max(kMinFoldedBytes, pass.folded_bytes.value_or(0) + 1)) continue;
      pass.folded_bytes = work.bytes;
      pass.source = std::move(work.source);
    }
  }

  std::string SourceOfFolded(const DumpModel& model, const std::string& instruction) const {
    for (const Folding& folding : foldings_) {
      const auto had = model.Module(out_.module, folding.before);
      if (!had) continue;
      const hlo::InstructionId id = hlo::FindInstruction(**had, instruction);
      if (id.valid()) return hlo::ToString(hlo::SourceLineOf(**had, id));
    }
    return {};
  }

  // A run of a pass that may fold, by the stages around it.
  struct Folding {
    size_t pass;  // its position in the passes of out_
    int32_t before, after;
    int64_t removed;  // instructions
  };

  ModuleCompileTime& out_;
  std::vector<Folding> foldings_;
  int32_t given_ = -1;  // the stage before all passes
  std::map<std::string, size_t> places_;
  std::map<std::string, int64_t> longest_;
};

// "timer lines of run.log"
std::string MeasuredBy(const LoggedTimes& logged, const std::string& log) {
  const bool has_timers = !logged.runs.empty() || logged.passes_us || logged.backend_us ||
                          logged.llvm_us || logged.mlir_us;
  return (has_timers ? "timer lines of " : "the whole time in ") + log;
}

// The times of a log or trace, in the form of those of a module.
void TakeLogged(const LoggedTimes& logged, const std::string& by, ModuleCompileTime& out) {
  const bool has_runs = out.span_us.has_value();  // of the metadata
  int64_t before = 0, after = 0;
  for (size_t k = 0; k < logged.runs.size(); ++k)
    (k < logged.runs_before_backend || !logged.passes_us ? before : after) +=
        logged.runs[k].self_us;
  out.measured_by += (out.measured_by.empty() ? "" : ", ") + by;
  if (logged.passes_us || logged.backend_us)
    out.total_us = logged.passes_us.value_or(before) + logged.backend_us.value_or(0);
  if (!has_runs && !logged.runs.empty()) {
    out.between_us = std::max<int64_t>(logged.passes_us.value_or(before) - before, 0);
    out.span_us = logged.passes_us.value_or(before) + after;
  }
  if (logged.backend_us) out.backend_us = std::max<int64_t>(*logged.backend_us - after, 0);
  if (after != 0)
    out.notes.push_back("passes after scheduling run inside the backend and are counted as passes");
  out.llvm_us = logged.llvm_us;
  out.mlir_us = logged.mlir_us;
  out.assembler_us = logged.assembler_us;
  if (logged.llvm_us || logged.assembler_us)
    out.notes.push_back(
        "times of LLVM, MLIR and ptxas are sums over the threads that compile kernels: they may "
        "exceed the backend's");
  if (!logged.untimed.empty())
    out.notes.push_back(fmt::format(
        "{} began and did not end in the log, first `{}`: it is cut off or damaged, or the "
        "compilation stopped there",
        Counted(logged.untimed.size(), "pass", "passes"), logged.untimed.front()));
  if (!out.total_us) out.total_us = logged.whole_us;
  if (!out.total_us && out.span_us) out.total_us = out.span_us;
}

// The regular expression of the passes that were dumped; empty where it is not known.
std::string DumpedPasses(const DumpModel& model, int32_t module) {
  const int32_t file = model.FindFile(module, FileRole::kDebugOptions);
  if (file < 0) return {};
  const auto found = model.ReadFile(file, [](std::string_view text) {
    const size_t at = text.find("xla_dump_hlo_pass_re: \"");
    if (at == text.npos) return std::string();
    text.remove_prefix(text.find('"', at) + 1);
    return std::string(text.substr(0, text.find('"')));
  });
  return found ? *found : std::string();
}

void TakeMetadata(const DumpModel& model, int32_t module, Maker& maker, ModuleCompileTime& out) {
  const int32_t file = model.FindFile(module, FileRole::kMetadata);
  if (file < 0) return;
  auto read = model.ReadFile(file, [](std::string_view text) { return ReadPassMetadata(text); });
  if (!read) {
    out.notes.push_back(read.error().ToString());
    return;
  }
  const std::string path = model.FullPath(file);
  if (!read->why.empty()) out.notes.push_back(fmt::format("{}: {}", path, read->why));
  if (read->unfinished != 0)
    out.notes.push_back(
        fmt::format("{}: {} without times", path, Counted(read->unfinished, "record")));
  if (read->runs.empty()) {
    if (read->why.empty()) out.notes.push_back(path + ": no pass is recorded in it");
    return;
  }
  const PassSpan span = FindSelfTimes(read->runs);
  if (span.overlapping != 0)
    out.notes.push_back(
        fmt::format("{}: {} with the one before, which is cut at its end", path,
                    Counted(span.overlapping, "record overlaps", "records overlap")));
  out.measured_by = "pass metadata";
  out.span_us = span.span_us;
  out.between_us = span.between_us;
  const bool wrote_dumps =
      std::ranges::any_of(read->runs, [](const PassRun& run) { return !run.files.empty(); });
  if (wrote_dumps) out.notes.push_back("the times of passes include writing the dumps after them");
  out.notes.push_back(
      "pass metadata ends before scheduling: scheduling, buffer assignment, code generation, LLVM "
      "and ptxas are not in it");
  maker.Add(std::move(read->runs));
}

void AddCompilation(const LoggedTimes& logged, const std::string& by, CompileTime& out) {
  ModuleCompileTime time{.name = logged.module};
  Maker maker(time);
  maker.Add(logged.runs);
  TakeLogged(logged, by, time);
  maker.AddFoldings(nullptr, logged);
  maker.Sort();
  if (time.total_us || !time.passes.empty()) out.modules.push_back(std::move(time));
}

}  // namespace

CompileTime CompileTimeOf(const DumpModel& model, int32_t only) {
  CompileTime out;
  const auto logged = CompilationsInLogs(model, out.warnings);
  std::map<std::string, size_t> next;  // of `logged`
  std::map<std::string, size_t> modules;
  for (const dump::ModuleEntry& entry : model.modules()) ++modules[CompilationKey(entry.name)];
  for (size_t m = 0; m < model.modules().size(); ++m) {
    const dump::ModuleEntry& entry = model.modules()[m];
    const std::string key = CompilationKey(entry.name);
    const auto compilations = logged.find(key);
    const LoggedTimes* log = nullptr;
    std::string log_name;
    if (compilations != logged.end() && next[key] < compilations->second.size()) {
      const auto& found = compilations->second[next[key]++];
      log = &found.times;
      log_name = found.log;
    }
    if (only >= 0 && static_cast<size_t>(only) != m) continue;
    ModuleCompileTime time{.module = static_cast<int32_t>(m), .name = entry.name};
    if (entry.id >= 0) time.name = fmt::format("module_{:04}.{}", entry.id, entry.name);
    Maker maker(time);
    TakeMetadata(model, time.module, maker, time);
    if (log != nullptr) {
      if (!time.span_us) maker.Add(log->runs);
      TakeLogged(*log, MeasuredBy(*log, log_name), time);
      const size_t known = compilations->second.size();
      if (modules[key] > 1 && known != modules[key])
        time.notes.push_back(
            fmt::format("the dump has {} modules of this name, its logs {}: times are by their "
                        "order and may be those of another one",
                        modules[key], Counted(known, "compilation")));
    } else if (time.span_us) {
      time.total_us = time.span_us;
    }
    maker.AddGrowth(model);
    if (log != nullptr) maker.AddFoldings(&model, *log);
    maker.Sort();
    const std::string regex = DumpedPasses(model, time.module);
    if (!regex.empty() && regex != ".*")
      time.notes.push_back(fmt::format(
          "only passes that match `{}` were dumped: growth is that since the stage before", regex));
    AddMissing(model, time, out);
    out.modules.push_back(std::move(time));
  }
  std::ranges::stable_sort(out.modules, std::greater(), &ModuleCompileTime::total_us);
  return out;
}

CompileTime CompileTimeOfLog(std::string_view log, const std::string& name) {
  CompileTime out;
  TimerLog read = ReadTimerLines(log);
  if (std::string loss = LossOf(read, name); !loss.empty()) out.warnings.push_back(std::move(loss));
  for (const LoggedTimes& logged : read.compilations)
    AddCompilation(logged, MeasuredBy(logged, name), out);
  std::ranges::stable_sort(out.modules, std::greater(), &ModuleCompileTime::total_us);
  return out;
}

CompileTime CompileTimeOfRuns(std::vector<LoggedTimes> compilations, const std::string& by) {
  CompileTime out;
  for (const LoggedTimes& one : compilations) AddCompilation(one, by, out);
  std::ranges::stable_sort(out.modules, std::greater(), &ModuleCompileTime::total_us);
  return out;
}

}  // namespace hloscope::analysis
