// Each answer is found once for a module, in the background.
#include "viewer/model/answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/kernel_sheet.h"
#include "viewer/model/marks.h"
#include "viewer/model/memory_plan.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/profile_model.h"
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

// Strangers' names in a sentence.
std::string Named(std::string_view name) { return std::string(name.substr(0, 80)); }

std::string ReadErrorText(const Error& error) { return "not readable: " + error.ToString(); }

Answered HostAnswer(const ModuleFacts& facts, const std::string& outside, int32_t module,
                    int32_t stage) {
  if (!facts.compiled) return Unknown("unknown: the dump contains no optimized module", "home");
  if (facts.fallbacks.empty()) {
    return Known(outside.empty() ? "nothing: every instruction runs on the device"
                                 : "no instruction of this module, but " + outside,
                 Selection::OfModule(module), "home");
  }
  const ModuleFacts::Fallback& worst = facts.fallbacks.front();
  std::string text = fmt::format("{}: {}", Named(worst.name), worst.reason);
  if (facts.fallback_count > 1)
    text = fmt::format("{} instructions; {}", CountText(facts.fallback_count), text);
  return Known(text, Selection::OfInstruction(module, stage, worst.instruction), "selection");
}

Answered TransferAnswer(const ModuleFacts& facts, int32_t module, int32_t stage) {
  if (!facts.compiled) return Unknown("unknown: the dump contains no optimized module", "home");
  if (facts.transfers.empty())
    return Known("no transfers between host and device", Selection::OfModule(module), "home");
  const ModuleFacts::Transfer& most = facts.transfers.front();
  std::string text = fmt::format("{}: {}", Named(most.name), TransferText(most));
  return Known(text, Selection::OfInstruction(module, stage, most.instruction), "home");
}

Answered PeakAnswer(const dump::BufferTable& table, int32_t module) {
  if (table.source == dump::BufferSource::kNone)
    return Unknown("no buffer assignment in this dump: --xla_dump_hlo_as_text writes it",
                   "buffers");
  const std::vector<int32_t> live =
      table.live_peak_point >= 0 ? LiveAt(table, table.live_peak_point) : std::vector<int32_t>();
  if (live.empty()) return Unknown("the buffer assignment has no live ranges", "buffers");
  const dump::BufferValue& most = table.values[static_cast<size_t>(live.front())];
  const auto point = static_cast<size_t>(table.live_peak_point);
  std::string text = fmt::format("{}: {} of {}", Named(most.instruction), BytesText(most.size),
                                 BytesText(table.live_peak_bytes));
  if (point < table.program.size()) text += " live at " + Named(table.program[point]);
  return Known(text, Selection::OfBuffer(module, live.front()), "buffers");
}

Answered SlowestAnswer(const KernelSheet& sheet, int32_t module, int32_t stage) {
  if (!sheet.has_times || sheet.rows.empty() || sheet.rows.front().count == 0)
    return Unknown("the profile has no events of this module", "kernels");
  const KernelRow& row = sheet.rows.front();
  std::string text = fmt::format("{}: {}", Named(row.name), TimeShareText(sheet, row));
  Selection selection = Selection::OfEvent(row.longest.index);
  if (module >= 0 && row.instruction.valid())
    selection = Selection::OfInstruction(module, stage, row.instruction);
  return Known(text, selection, "kernels");
}

Answered PassesAnswer(const PassRanking& ranking, const dump::ModuleEntry& entry, int32_t module) {
  if (entry.stages.size() < 2)
    return Unknown("only one stage: --xla_dump_hlo_pass_re=.* dumps every pass", "passes");
  if (ranking.order.empty())
    return Known("no stage differs from the one before", Selection::OfModule(module), "passes");
  const int32_t most = ranking.order.front();
  return Known(fmt::format("{}: {}", Named(PassName(entry.stages[static_cast<size_t>(most)])),
                           CountsText(ranking.counts[static_cast<size_t>(most)])),
               Selection::OfStage(module, most), "passes");
}

Answered MissingAnswer(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts) {
  std::string text;
  for (const dump::MissingPiece& piece : MissingFor(dump, module, facts)) {
    std::string part = piece.flag.empty() ? piece.what : piece.what + " (" + piece.flag + ")";
    text += (text.empty() ? "" : ", ") + part;
  }
  if (text.empty()) text = "nothing: the dump has everything that XLA can write";
  return Known(text, {}, "home");
}

struct RankingKey {
  using Value = PassRanking;
  int32_t module = -1;
  debug::Annotations annotations = debug::Annotations::kCounted;
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

const Answer* Host(Context& context, int32_t module) {
  std::string outside;
  if (const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(context)) {
    if (graphs->waiting()) return nullptr;
    if (graphs->ready()) outside = OutsideText(**graphs);
  }
  return FromFacts(context, "host", module,
                   [outside](const ModuleFacts& facts, int32_t m, int32_t stage) {
                     return HostAnswer(facts, outside, m, stage);
                   });
}

const Answer* Missing(Context& context, int32_t module) {
  if (module >= 0 && FactsOf(context, module).waiting()) return nullptr;
  auto facts = module >= 0 ? FactsOf(context, module).value : nullptr;
  return Find(context, "missing", module, [dump = context.document.dump().value, module, facts] {
    return MissingAnswer(*dump, module, facts.get());
  });
}

const Answer* Peak(Context& context, int32_t module) {
  const Pending<dump::BufferTable>& table = context.data.Buffers(module);
  if (table.waiting()) return nullptr;
  return Find(context, "peak", module, [table = table.value, error = table.error, module] {
    return table == nullptr ? Unknown(ReadErrorText(error), "buffers") : PeakAnswer(*table, module);
  });
}

const Answer* Slowest(Context& context, int32_t module) {
  if (ProfilePaths(context).empty())
    return Find(context, "no-profile", module, [] {
      return Unknown("needs a profile: open a trace with the dump (hloscope open DUMP TRACE)",
                     "kernels");
    });
  const Pending<KernelSheet>* sheet = KernelSheetOf(context);
  if (sheet == nullptr || sheet->waiting()) return nullptr;
  const int32_t stage = module >= 0 ? context.document.dump()->FinalStage(module) : -1;
  return Find(context, "slowest", module,
              [sheet = sheet->value, error = sheet->error, module, stage] {
                return sheet == nullptr ? Unknown(ReadErrorText(error), "kernels")
                                        : SlowestAnswer(*sheet, module, stage);
              });
}

// Comparing all stages of a large module takes seconds: those wait until they are asked for.
const Answer* Passes(Context& context, int32_t module, bool asked) {
  const dump::ModuleEntry& entry = context.document.dump()->modules()[static_cast<size_t>(module)];
  if (asked) context.marks.asked_passes.insert(module);
  if (!MayReadAllStages(context, module)) {
    if (FactsOf(context, module).waiting()) return nullptr;
    return Find(context, "many-passes", module, [count = entry.stages.size()] {
      return Unknown(fmt::format("compares all {} stages, which takes a while", count), "passes");
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
        return Known(fmt::format("{} instructions before; {} after, {} of them fusions",
                                 CountText(facts.instructions_before),
                                 CountText(facts.instructions), CountText(facts.fusions)),
                     Selection::OfStage(m, stage), "changes");
      });
}

const Answer* Nan(Context& context, int32_t module) {
  return Find(context, "nan", module, [] {
    return Unknown("runs the module on generated inputs in a child process", "divergence");
  });
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

Result<std::shared_ptr<const PassRanking>> Rank(const debug::Lineage& lineage,
                                                debug::Annotations annotations,
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
    ranking->counts[at] = debug::FindChanges(*before, **after, *alignment, annotations).counts;
    if (ranking->counts[at].any()) ranking->order.push_back(stage);
  }
  std::ranges::stable_sort(ranking->order, std::greater(), [&](int32_t stage) {
    const debug::ChangeCounts& c = ranking->counts[static_cast<size_t>(stage)];
    return c.added + c.removed + c.rewritten + c.moved;
  });
  return ranking;
}

}  // namespace

std::span<const QuestionRow> QuestionRows() {
  static constexpr QuestionRow kRows[] = {
#define QUESTION(name, command) {Question::name, command},
#include "viewer/model/questions.def"
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
    case Question::kHost:
      return Host(context, module);
    case Question::kTransfers:
      return FromFacts(context, "transfers", module, TransferAnswer);
    case Question::kPeak:
      return Peak(context, module);
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

std::string OutsideText(const dump::TensorFlowSummary& summary) {
  const auto count = static_cast<int64_t>(summary.unclustered.size());
  if (count == 0) return {};
  return fmt::format("{} TensorFlow {} outside all clusters", CountText(count),
                     count == 1 ? "node runs" : "nodes run");
}

const Pending<dump::TensorFlowSummary>* TensorFlowOf(Context& context) {
  const bool any = std::ranges::any_of(
      context.document.dump()->files(),
      [](const dump::FileEntry& file) { return file.role == dump::FileRole::kTensorFlowGraph; });
  if (!any) return nullptr;
  return &context.cache.Get(
      PartKey<dump::TensorFlowSummary>{}, "reading TensorFlow's graphs",
      [dump = context.document.dump().value](TaskControl&) { return dump->TensorFlow(); });
}

const Pending<ModuleFacts>& FactsOf(Context& context, int32_t module) {
  return context.cache.Get(
      PartKey<ModuleFacts>{module}, "analysing modules",
      [dump = context.document.dump().value, module](TaskControl&) {
        return Result<std::shared_ptr<const ModuleFacts>>(FindModuleFacts(*dump, module));
      });
}

const Pending<PassRanking>& RankingOf(Context& context, int32_t module,
                                      debug::Annotations annotations) {
  return context.cache.Get(RankingKey{module, annotations}, "comparing all stages",
                           [provenance = context.data.Provenance(module), annotations](
                               TaskControl& control) -> Result<std::shared_ptr<const PassRanking>> {
                             if (provenance == nullptr) return InputError("no such module");
                             return Rank(provenance->lineage(), annotations, control);
                           });
}

bool MayReadAllStages(Context& context, int32_t module) {
  constexpr int64_t kSmall = 200'000;  // instructions of all stages
  if (context.marks.asked_passes.contains(module)) return true;
  const dump::ModuleEntry& entry = context.document.dump()->modules()[static_cast<size_t>(module)];
  const Pending<ModuleFacts>& facts = FactsOf(context, module);
  if (facts.waiting()) return false;
  return !facts.ready() || facts->instructions * std::ssize(entry.stages) <= kSmall;
}

std::string CountsText(const debug::ChangeCounts& counts) {
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

std::string PassName(const dump::StageEntry& stage) {
  if (stage.pass.empty()) return stage.name;
  return stage.pass == "pipeline-start" ? "start of pipeline " + stage.pipeline : stage.pass;
}

}  // namespace hloscope::viewer
