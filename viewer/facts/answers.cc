// Each answer is found once for a module, in the background.
#include "viewer/facts/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/debug/recompile/dump_recompilations.h"
#include "core/dump/tensorflow_borders.h"
#include "core/dump/tensorflow_verdict.h"
#include "core/graph/count_text.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/file_facts.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/memory_plan.h"
#include "viewer/facts/profile_model.h"
#include "viewer/facts/run_notes.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using Answered = Result<std::shared_ptr<const Answer>>;

Answered Known(std::string text, Selection selection, std::string_view view) {
  return std::make_shared<const Answer>(Answer{
      .text = std::move(text), .selection = std::move(selection), .view = view, .is_known = true});
}
Answered Unknown(std::string text, std::string_view view = {}) {
  return std::make_shared<const Answer>(
      Answer{.text = std::move(text), .selection = {}, .view = view, .is_known = false});
}

// Untrusted names in a sentence.
std::string Named(std::string_view name) { return std::string(name.substr(0, 80)); }

std::string ReadErrorText(const Error& error) { return "not readable: " + error.ToString(); }

// "in jit_f, id 3: " where the dump has several modules.
std::string InModule(const dump::DumpModel& dump, int32_t module) {
  return dump.modules().size() < 2 ? std::string() : "in " + ModuleTitle(dump, module) + ": ";
}

// What `of` gives most of, by module; -1: of none.
template <typename F>
int32_t MostOf(const DumpFacts& facts, const F& of) {
  int32_t most = -1;
  for (size_t m = 0; m < facts.modules.size(); ++m) {
    if (facts.modules[m] == nullptr) continue;
    if (most < 0 || of(*facts.modules[m]) > of(*facts.modules[static_cast<size_t>(most)]))
      most = static_cast<int32_t>(m);
  }
  return most;
}

// After an answer of "none": what was not inspected.
std::string LeftOutText(const DumpFacts& facts) {
  int64_t unknown = facts.left_out;
  for (const auto& one : facts.modules) unknown += one != nullptr && !one->compiled ? 1 : 0;
  if (unknown == 0) return {};
  return fmt::format("; unknown for {} of {}", CountText(unknown),
                     graph::CountedText(facts.modules.size(), "module"));
}

bool AnyCompiled(const DumpFacts& facts) {
  return std::ranges::any_of(facts.modules,
                             [](const auto& one) { return one != nullptr && one->compiled; });
}

// Modules and instructions of which something holds.
struct Spread {
  int64_t modules = 0, instructions = 0;
};
Spread SpreadOf(const DumpFacts& facts, int64_t ModuleFacts::* count) {
  Spread spread;
  for (const auto& one : facts.modules) {
    if (one == nullptr || (*one).*count == 0) continue;
    ++spread.modules;
    spread.instructions += (*one).*count;
  }
  return spread;
}

Answered HostAnswer(const dump::DumpModel& dump, const DumpFacts& facts,
                    const std::string& outside) {
  if (!AnyCompiled(facts)) return Unknown("unknown: no optimized module in the dump", "home");
  const int32_t most = MostOf(facts, [](const ModuleFacts& one) {
    return std::pair(one.fallbacks.empty() ? -2 : one.fallbacks.front().bytes, one.fallback_count);
  });
  const ModuleFacts& there = *facts.modules[static_cast<size_t>(most)];
  if (there.fallbacks.empty()) {
    const bool is_one = facts.modules.size() == 1;
    return Known((outside.empty() ? "no host fallback: every instruction runs on the device"
                                  : fmt::format("no instruction of {}, but {}",
                                                is_one ? "this module" : "any module", outside)) +
                     LeftOutText(facts),
                 {}, "home");
  }
  const ModuleFacts::Fallback& worst = there.fallbacks.front();
  std::string text = InModule(dump, most) + fmt::format("{}: {}", Named(worst.name), worst.reason);
  const Spread spread = SpreadOf(facts, &ModuleFacts::fallback_count);
  if (spread.modules > 1) {
    text = fmt::format("{} in {}; most {}", CountedText(spread.instructions, "instruction"),
                       CountedText(spread.modules, "module"), text);
  } else if (spread.instructions > 1) {
    text = fmt::format("{}; {}", CountedText(spread.instructions, "instruction"), text);
  }
  return Known(text, Selection::OfInstruction(most, dump.FinalStage(most), worst.instruction),
               "selection");
}

// `borders`: what TensorFlow moves across the boundaries of its clusters; empty: nothing.
Answered TransferAnswer(const dump::DumpModel& dump, const DumpFacts& facts,
                        const std::string& borders) {
  const std::string more = borders.empty() ? "" : "; in TensorFlow: " + borders;
  if (!AnyCompiled(facts))
    return Unknown("unknown: no optimized module in the dump" + more, "home");
  const int32_t most = MostOf(facts, [](const ModuleFacts& one) {
    return one.transfers.empty()
               ? std::pair<int64_t, int64_t>(-2, -2)
               : std::pair(one.transfers.front().total(), one.transfers.front().bytes);
  });
  const ModuleFacts& there = *facts.modules[static_cast<size_t>(most)];
  if (there.transfers.empty())
    return Known((borders.empty() ? "no transfers between host and device"
                                  : "no transfers between host and device inside modules") +
                     LeftOutText(facts) + more,
                 {}, "home");
  const ModuleFacts::Transfer& first = there.transfers.front();
  return Known(
      InModule(dump, most) + fmt::format("{}: {}", Named(first.name), TransferText(first)) + more,
      Selection::OfInstruction(most, dump.FinalStage(most), first.instruction), "home");
}

Answered LargestAnswer(const dump::DumpModel& dump, const DumpFacts& facts) {
  const int32_t most = MostOf(facts, [](const ModuleFacts& one) { return one.instructions; });
  if (most < 0 || facts.modules[static_cast<size_t>(most)]->instructions < 0)
    return Unknown("no readable module", "home");
  const ModuleFacts& there = *facts.modules[static_cast<size_t>(most)];
  std::string text = fmt::format("{}: {}", ModuleTitle(dump, most),
                                 graph::CountedText(there.instructions, "instruction"));
  if (there.memory_bytes >= 0) text += ", " + BytesText(there.memory_bytes) + " of memory";
  if (facts.modules.size() == 1) text += "; the only module";
  if (facts.left_out > 0)
    text += fmt::format("; {} not read", graph::CountedText(facts.left_out, "smaller file"));
  return Known(text, Selection::OfModule(most), "home");
}

Answered PeakAnswer(const dump::BufferTable& table, const std::string& where, int32_t module) {
  if (table.source == dump::BufferSource::kNone)
    return Unknown("no buffer assignment in this dump: --xla_dump_hlo_as_text writes one",
                   "buffers");
  const std::vector<int32_t> live =
      table.live_peak_point >= 0 ? LiveAt(table, table.live_peak_point) : std::vector<int32_t>();
  if (live.empty()) {
    return Unknown(
        where + BytesText(table.total_bytes) + " total; the buffer assignment has no live ranges",
        "buffers");
  }
  const dump::BufferValue& most = table.values[static_cast<size_t>(live.front())];
  const auto point = static_cast<size_t>(table.live_peak_point);
  std::string text = where + fmt::format("{}: {} of {}", Named(most.instruction),
                                         BytesText(most.size), BytesText(table.live_peak_bytes));
  if (point < table.program.size()) text += " live at " + Named(table.program[point]);
  return Known(text, Selection::OfBuffer(module, live.front()), "buffers");
}

Answered SlowestAnswer(const KernelSheet& sheet, const std::string& where, int32_t module) {
  if (!sheet.has_times || sheet.rows.empty() || sheet.rows.front().count == 0)
    return Unknown("the profile has no events of this module", "kernels");
  const KernelRow& row = sheet.rows.front();
  std::string text = where + fmt::format("{}: {}", Named(row.name), TimeShareText(sheet, row));
  Selection selection = Selection::OfEvent(row.longest.index);
  if (module >= 0 && row.instruction.valid())
    selection = Selection::OfInstruction(module, sheet.stage, row.instruction);
  return Known(text, selection, "kernels");
}

Answered PassesAnswer(const PassRanking& ranking, const dump::ModuleEntry& entry, int32_t module) {
  const bool has_passes =
      std::ranges::any_of(entry.stages, [](const auto& stage) { return !stage.pass.empty(); });
  if (!has_passes)
    return Unknown("no passes in this dump: --xla_dump_hlo_pass_re=.* dumps every pass", "passes");
  if (ranking.order.empty())
    return Known("no stage differs from the one before", Selection::OfModule(module), "passes");
  // The module as it was compiled differs from the last pass by what no pass dumped.
  const auto first = std::ranges::find_if(
      ranking.order, [&](int32_t stage) { return IsMadeByPass(entry, stage); });
  if (first == ranking.order.end())
    return Known("no dumped pass changed anything", Selection::OfModule(module), "passes");
  const int32_t most = *first;
  return Known(fmt::format("{}: {}", Named(PassName(entry, most)),
                           CountsText(ranking.counts[static_cast<size_t>(most)])),
               Selection::OfStage(module, most), "passes");
}

Answered MissingAnswer(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts) {
  std::string text;
  for (const dump::MissingPiece& piece : MissingFor(dump, module, facts)) {
    std::string part = piece.flag.empty() ? piece.what : piece.what + " (" + piece.flag + ")";
    text += (text.empty() ? "" : ", ") + part;
  }
  if (text.empty()) text = NothingMissingText(dump);
  return Known(text, {}, "home");
}

struct RankingKey {
  using Value = PassRanking;
  int32_t module = -1;
  analysis::Annotations annotations = analysis::Annotations::kCounted;
  auto operator<=>(const RankingKey&) const = default;
};

struct AnswerKey {
  using Value = Answer;
  std::string what;
  int32_t module = -1;
  auto operator<=>(const AnswerKey&) const = default;
};

template <typename F>
const Answer* Find(Context& context, std::string_view what, int32_t module, const F& compute) {
  return context.cache
      .Get(AnswerKey{std::string(what), module}, "answering",
           [compute](TaskControl&) { return compute(); })
      .value.get();
}

// What follows from the facts of the module.
template <typename F>
const Answer* FromFacts(Context& context, std::string_view what, int32_t module, F make) {
  const Pending<ModuleFacts>& facts = FactsOf(context, module);
  if (facts.waiting()) return nullptr;
  if (!facts.ready())
    return Find(context, "no-facts", module,
                [error = facts.error] { return Unknown(ReadErrorText(error), "home"); });
  const int32_t stage = context.document.dump()->FinalStage(module);
  return Find(context, what, module,
              [facts = facts.value, module, stage, make] { return make(*facts, module, stage); });
}

// What follows from the facts of all modules.
template <typename F>
const Answer* FromAll(Context& context, std::string_view what, F make) {
  const DumpFacts* facts = DumpFactsOf(context);
  if (facts == nullptr) return nullptr;
  const std::string key = fmt::format("{} {}", what, static_cast<const void*>(facts));
  return Find(context, key, -1, [facts = *facts, dump = context.document.dump().value, make] {
    return make(*dump, facts);
  });
}

const Answer* Host(Context& context) {
  std::string outside;
  if (const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(context)) {
    if (graphs->waiting()) return nullptr;
    if (graphs->ready()) outside = OutsideText(**graphs);
  }
  const Pending<RunNotes>& notes = RunNotesOf(context);
  if (notes.waiting()) return nullptr;
  if (!notes.ready())
    return Find(context, "no-notes", -1,
                [error = notes.error] { return Unknown(ReadErrorText(error), "home"); });
  if (outside.empty()) outside = HostFallbackText(*notes);
  return FromAll(context, "host", [outside](const dump::DumpModel& dump, const DumpFacts& facts) {
    return HostAnswer(dump, facts, outside);
  });
}

const Answer* Transfers(Context& context) {
  std::string borders;
  if (const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(context)) {
    if (graphs->waiting()) return nullptr;
    if (graphs->ready()) borders = dump::BordersText((*graphs)->borders, BytesText);
  }
  return FromAll(context, "transfers",
                 [borders](const dump::DumpModel& dump, const DumpFacts& facts) {
                   return TransferAnswer(dump, facts, borders);
                 });
}

const Answer* Missing(Context& context, int32_t module) {
  if (module >= 0 && FactsOf(context, module).waiting()) return nullptr;
  auto facts = module >= 0 ? FactsOf(context, module).value : nullptr;
  return Find(context, "missing", module, [dump = context.document.dump().value, module, facts] {
    return MissingAnswer(*dump, module, facts.get());
  });
}

// Of the module that needs most at once.
const Answer* Peak(Context& context) {
  const DumpFacts* facts = DumpFactsOf(context);
  if (facts == nullptr) return nullptr;
  const int32_t module = MostOf(*facts, [](const ModuleFacts& one) {
    return std::pair(one.live_peak_bytes, one.memory_bytes);
  });
  if (module < 0) return Find(context, "no-peak", -1, [] { return Unknown("no readable module"); });
  const Pending<dump::BufferTable>& table = context.data.Buffers(module);
  if (table.waiting()) return nullptr;
  return Find(context, "peak", module,
              [table = table.value, error = table.error, module,
               where = InModule(*context.document.dump(), module)] {
                return table == nullptr ? Unknown(ReadErrorText(error), "buffers")
                                        : PeakAnswer(*table, where, module);
              });
}

// Of all modules of the dump, where the profile's longest instruction is in another than that in
// view; nullopt: it is not, or is unknown.
std::optional<const Answer*> SlowestElsewhere(Context& context, int32_t module) {
  if (module < 0 || !context.document.dump().ready() ||
      context.document.dump()->modules().size() < 2)
    return std::nullopt;
  const Pending<ProfileModel>* profile = ProfileOf(context);
  if (profile == nullptr || !profile->ready()) return std::nullopt;
  const ProfileModel& model = **profile;
  const auto times = model.attribution->times();
  auto module_of = [&](const profiler::InstructionTime& time) {
    return model.TimedModule(time.target);
  };
  const auto first = std::ranges::find_if(
      times, [&](const profiler::InstructionTime& time) { return module_of(time) >= 0; });
  if (first == times.end() || module_of(*first) == module) return std::nullopt;
  const int32_t there = module_of(*first);
  const int32_t stage = model.StageFor(there);
  const Pending<hlo::Module>& read = context.data.Module(there, stage);
  if (read.waiting()) return nullptr;
  if (!read.ready()) return std::nullopt;
  return Find(context, "slowest elsewhere in " + model.path, there,
              [name = std::string(read->name(first->target.instruction)), time = *first, there,
               stage, where = InModule(*context.document.dump(), there)] {
                return Known(fmt::format("{}{}: {} in {}", where, Named(name),
                                         NanosecondsText(static_cast<double>(time.self) / 1e3),
                                         CountedText(time.count, "event")),
                             Selection::OfInstruction(there, stage, time.target.instruction),
                             "kernels");
              });
}

const Answer* Slowest(Context& context, int32_t module) {
  if (ProfilePaths(context).empty())
    return Find(context, "no-profile", module, [] {
      return Unknown("needs a profile: open a trace with the dump (hloscope open DUMP TRACE)",
                     "kernels");
    });
  if (const auto elsewhere = SlowestElsewhere(context, module)) return *elsewhere;
  const Pending<KernelSheet>* sheet = KernelSheetOf(context);
  if (sheet == nullptr || sheet->waiting()) return nullptr;
  const bool has_dump = module >= 0 && context.document.dump().ready();
  return Find(context, "slowest in " + ProfilePaths(context).front(), module,
              [sheet = sheet->value, error = sheet->error, module,
               where = has_dump ? InModule(*context.document.dump(), module) : std::string()] {
                return sheet == nullptr ? Unknown(ReadErrorText(error), "kernels")
                                        : SlowestAnswer(*sheet, where, module);
              });
}

// Comparing all stages of a large module takes seconds: those wait until they are asked for.
const Answer* Passes(Context& context, int32_t module, bool asked) {
  const dump::ModuleEntry& entry = context.document.dump()->modules()[static_cast<size_t>(module)];
  if (asked) context.marks.Of<PassMarks>().asked.insert(module);
  if (!MayReadAllStages(context, module)) {
    if (FactsOf(context, module).waiting()) return nullptr;
    return Find(context, "many-passes", module, [count = entry.stages.size()] {
      return Unknown(fmt::format("compares all {} (slow)", Counted(count, "stage")), "passes");
    });
  }
  const Pending<PassRanking>& ranking = RankingOf(context, module);
  if (ranking.waiting()) return nullptr;
  return Find(context, "passes", module,
              [ranking = ranking.value, error = ranking.error, dump = context.document.dump().value,
               module] {
                const dump::ModuleEntry& stages = dump->modules()[static_cast<size_t>(module)];
                return ranking == nullptr ? Unknown(ReadErrorText(error), "passes")
                                          : PassesAnswer(*ranking, stages, module);
              });
}

const Answer* Difference(Context& context, int32_t module) {
  return FromFacts(
      context, "difference", module, [](const ModuleFacts& facts, int32_t m, int32_t stage) {
        if (stage <= 0 || facts.instructions_before < 0 || facts.instructions < 0)
          return Unknown("only one readable stage", "changes");
        return Known(fmt::format("{} before; {} after, {} of them fusions",
                                 graph::CountedText(facts.instructions_before, "instruction"),
                                 CountText(facts.instructions), CountText(facts.fusions)),
                     Selection::OfStage(m, stage), "changes");
      });
}

const Answer* Nan(Context& context, int32_t module) {
  return Find(context, "nan", module,
              [] { return Unknown("runs the module in a child process", "divergence"); });
}

const Answer* Guilty(Context& context, int32_t module) {
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
  if (verdict == nullptr || !verdict->ready()) {
    return Find(context, "guilty", module, [] {
      return Unknown("evaluates every stage on generated inputs in child processes", "verdict");
    });
  }
  const std::string key = fmt::format("guilty {}", static_cast<const void*>(verdict->value.get()));
  return Find(context, key, module, [module, sentence = (*verdict)->sentence] {
    return Known(sentence, Selection::OfModule(module), "verdict");
  });
}

Result<std::shared_ptr<const PassRanking>> Rank(const analysis::Lineage& lineage,
                                                analysis::Annotations annotations,
                                                TaskControl& control) {
  auto ranking = std::make_shared<PassRanking>();
  ranking->counts.resize(static_cast<size_t>(lineage.stage_count()));
  for (int32_t stage = 1; stage < lineage.stage_count(); ++stage) {
    if (control.stopped()) return EnvironmentError("stopped");
    control.Progress(stage, lineage.stage_count());
    const int32_t earlier = lineage.Neighbour(stage, -1);
    auto after = lineage.Module(stage);
    if (earlier < 0 || !after)
      continue;  // a stage that cannot be read has changed nothing we know of
    HLOSCOPE_ASSIGN_OR_RETURN(auto before, lineage.Module(earlier));
    HLOSCOPE_ASSIGN_OR_RETURN(auto alignment, lineage.Step(earlier));
    const auto at = static_cast<size_t>(stage);
    ranking->counts[at] = analysis::FindChanges(*before, **after, *alignment, annotations).counts;
    if (ranking->counts[at].any()) ranking->order.push_back(stage);
  }
  std::ranges::stable_sort(ranking->order, std::greater(), [&](int32_t stage) {
    const analysis::ChangeCounts& c = ranking->counts[static_cast<size_t>(stage)];
    return c.added + c.removed + c.rewritten + c.moved;
  });
  return ranking;
}

}  // namespace

std::span<const QuestionRow> QuestionRows() {
  static constexpr QuestionRow kRows[] = {
#define QUESTION(name, command, scope) {Question::name, command, QuestionScope::scope},
#include "viewer/facts/questions.def"
#undef QUESTION
  };
  return kRows;
}

std::optional<Question> QuestionOf(Command command) {
  auto row = std::ranges::find(QuestionRows(), command, &QuestionRow::command);
  return row == QuestionRows().end() ? std::nullopt : std::optional(row->question);
}

const Answer* AnswerTo(Context& context, Question question, bool asked) {
  const int32_t module = context.navigation.module();
  if (question == Question::kSlowest) return Slowest(context, module);
  if (context.document.dump().waiting()) return nullptr;
  if (!context.document.dump().ready())
    return Find(context, "no-dump", -1, [] { return Unknown("no dump is open", "home"); });
  if (question == Question::kMissing) return Missing(context, module);
  if (module < 0)
    return Find(context, "no-module", module,
                [] { return Unknown("no module in this dump", "home"); });
  switch (question) {
    case Question::kLargest:
      return FromAll(context, "largest", LargestAnswer);
    case Question::kHost:
      return Host(context);
    case Question::kTransfers:
      return Transfers(context);
    case Question::kPeak:
      return Peak(context);
    case Question::kPasses:
      return Passes(context, module, asked);
    case Question::kDifference:
      return Difference(context, module);
    case Question::kGuilty:
      return Guilty(context, module);
    default:
      return Nan(context, module);
  }
}

std::vector<dump::MissingPiece> MissingFor(const dump::DumpModel& dump, int32_t module,
                                           const ModuleFacts* facts) {
  std::vector<dump::MissingPiece> pieces;
  for (const dump::MissingPiece& piece : dump.missing()) {
    if (piece.module >= 0 && piece.module != module) continue;
    const bool is_told =
        facts != nullptr && ((piece.what == "buffer assignment" && facts->memory_bytes >= 0) ||
                             (piece.what == "live ranges" && facts->live_peak_bytes >= 0));
    const bool is_known = std::ranges::any_of(pieces, [&](const dump::MissingPiece& p) {
      return p.what == piece.what && p.flag == piece.flag;
    });
    if (!is_told && !is_known) pieces.push_back(piece);
  }
  return pieces;
}

std::string NothingMissingText(const dump::DumpModel& dump) {
  const bool is_one =
      dump.files().size() == 1 && dump.files().front().role == dump::FileRole::kLooseModule;
  return is_one ? "this is one module; passes, kernels and buffers are in a dump of the program"
                : "no known file is missing";
}

std::string OutsideText(const dump::TensorFlowSummary& summary) {
  const auto count = std::ranges::count_if(summary.unclustered, dump::RunsOutside);
  if (count == 0) return {};
  return CountedText(count, "TensorFlow node runs", "TensorFlow nodes run") +
         " outside all clusters";
}

std::vector<OutsideNodes> OutsideTable(const dump::TensorFlowSummary& summary) {
  std::map<std::pair<std::string_view, std::string_view>, OutsideNodes> groups;
  for (const dump::TensorFlowNode& node : summary.unclustered) {
    if (!dump::RunsOutside(node)) continue;
    OutsideNodes& row = groups[{node.reason, node.op}];
    row.reason = node.reason;
    row.op = node.op;
    row.fix = node.fix;
    row.names.push_back(node.name);
  }
  std::vector<OutsideNodes> rows;
  for (auto& [key, row] : groups) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater(),
                           [](const OutsideNodes& row) { return row.names.size(); });
  return rows;
}

std::string UnreadText(const dump::DumpModel& dump) {
  constexpr size_t kMax = 800;
  std::string text;
  int64_t more = 0;
  for (const dump::FileEntry& file : dump.files()) {
    if (file.role != dump::FileRole::kUnknown) continue;
    if (text.size() > kMax) {
      ++more;
    } else {
      text +=
          fmt::format("{}{} ({})", text.empty() ? "" : ", ", file.path, dump::Describe(file.kind));
    }
  }
  return more == 0 ? text : text + fmt::format(" and {} more", CountText(more));
}

bool IsAboutUnread(const dump::DumpModel& dump, std::string_view warning) {
  if (warning.ends_with(" more files not recognised")) return true;
  // Each frame asks for each warning: the files are for the few that may be.
  constexpr std::string_view kUnread = ": not recognised, ";
  return warning.contains(kUnread) &&
         std::ranges::any_of(dump.files(), [&](const dump::FileEntry& file) {
           return file.role == dump::FileRole::kUnknown && warning.starts_with(file.path) &&
                  warning.substr(file.path.size()).starts_with(kUnread);
         });
}

const Pending<dump::TensorFlowSummary>* TensorFlowOf(Context& context) {
  if (!FileFactsOf(context).roles.contains(dump::FileRole::kTensorFlowGraph)) return nullptr;
  return &context.cache.Get(
      PartKey<dump::TensorFlowSummary>{}, "reading TensorFlow graphs",
      [dump = context.document.dump().value](TaskControl&) { return dump->TensorFlow(); });
}

const debug::Recompilations* RecompilationsOf(Context& context) {
  const auto& found = context.cache.Get(
      PartKey<debug::Recompilations>{}, "finding recompilations",
      [dump = context.document.dump().value](TaskControl&) {
        return Computed<debug::Recompilations>(
            std::make_shared<const debug::Recompilations>(debug::RecompilationsIn(*dump)));
      });
  return found.ready() && !found.value->list.empty() ? found.value.get() : nullptr;
}

const Pending<ModuleFacts>& FactsOf(Context& context, int32_t module) {
  return context.cache.Get(
      PartKey<ModuleFacts>{module}, "analysing modules",
      [dump = context.document.dump().value, module](TaskControl&) {
        return Result<std::shared_ptr<const ModuleFacts>>(FindModuleFacts(*dump, module));
      });
}

const Pending<PassRanking>& RankingOf(Context& context, int32_t module,
                                      analysis::Annotations annotations) {
  return context.cache.Get(RankingKey{module, annotations}, "comparing all stages",
                           [provenance = context.data.Provenance(module), annotations](
                               TaskControl& control) -> Result<std::shared_ptr<const PassRanking>> {
                             if (provenance == nullptr) return InputError("no such module");
                             return Rank(provenance->lineage(), annotations, control);
                           });
}

bool MayReadAllStages(Context& context, int32_t module) {
  constexpr int64_t kSmall = 200'000;  // instructions of all stages
  if (context.marks.Of<PassMarks>().asked.contains(module)) return true;
  const dump::ModuleEntry& entry = context.document.dump()->modules()[static_cast<size_t>(module)];
  const Pending<ModuleFacts>& facts = FactsOf(context, module);
  if (facts.waiting()) return false;
  return !facts.ready() || facts->instructions * std::ssize(entry.stages) <= kSmall;
}

std::string CountsText(const analysis::ChangeCounts& counts) {
  std::string out;
  auto add = [&](int64_t count, std::string_view word) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", CountText(count), word);
  };
  add(counts.added, "added");
  add(counts.removed, "removed");
  add(counts.rewritten, "rewritten");
  add(counts.moved, "moved");
  return out;
}

namespace {

constexpr std::string_view kStart = "pipeline-start";

// The pass of an outer pipeline that was running when this one started: the next that an earlier
// pipeline, not started again since, finished. Empty: none.
std::string_view RunningPass(const dump::ModuleEntry& entry, int32_t at) {
  const std::span all(entry.stages);
  const auto position = static_cast<size_t>(at);
  const dump::StageEntry& start = all[position];
  for (size_t later = position + 1; later < all.size(); ++later) {
    const std::string& outer = all[later].pipeline;
    if (all[later].pass == kStart || outer.empty() || outer == start.pipeline) continue;
    const auto is_outer = [&](const dump::StageEntry& s) { return s.pipeline == outer; };
    const auto between = all.subspan(position + 1, later - position - 1);
    const bool is_restarted = std::ranges::any_of(
        between, [&](const dump::StageEntry& s) { return is_outer(s) && s.pass == kStart; });
    if (!is_restarted && std::ranges::any_of(all.first(position), is_outer)) return all[later].pass;
  }
  return {};
}

}  // namespace

std::string PassName(const dump::ModuleEntry& entry, int32_t stage) {
  const dump::StageEntry& at = entry.stages[static_cast<size_t>(stage)];
  if (at.pass.empty()) return at.name;
  if (at.pass != kStart) return at.pass;
  const std::string_view running = RunningPass(entry, stage);
  return running.empty() ? "start of pipeline " + at.pipeline
                         : fmt::format("{} (up to {})", running, at.pipeline);
}

bool IsMadeByPass(const dump::ModuleEntry& entry, int32_t stage) {
  const dump::StageEntry& at = entry.stages[static_cast<size_t>(stage)];
  return !at.pass.empty() && (at.pass != kStart || !RunningPass(entry, stage).empty());
}

}  // namespace hloscope::viewer
