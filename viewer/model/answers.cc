// Each answer is found once for a module, in the background.
#include "viewer/model/answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "viewer/model/kernel_sheet.h"
#include "viewer/model/memory_plan.h"
#include "viewer/model/number_text.h"
#include "viewer/model/profile_model.h"

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

Answered HostAnswer(const ModuleFacts& facts, int32_t module, int32_t stage) {
  if (!facts.compiled) return Unknown("not decided yet: the dump holds no compiled stage", "home");
  if (facts.fallbacks.empty())
    return Known("nothing: every instruction runs on the device", Selection::OfModule(module),
                 "home");
  const ModuleFacts::Fallback& worst = facts.fallbacks.front();
  std::string text = fmt::format("{}: {}", Named(worst.name), worst.reason);
  if (facts.fallback_count > 1)
    text = fmt::format("{} instructions; {}", CountText(facts.fallback_count), text);
  return Known(text, Selection::OfInstruction(module, stage, worst.instruction), "selection");
}

Answered TransferAnswer(const ModuleFacts& facts, int32_t module, int32_t stage) {
  if (!facts.compiled) return Unknown("not decided yet: the dump holds no compiled stage", "home");
  if (facts.transfers.empty())
    return Known("nothing moves between host and device", Selection::OfModule(module), "home");
  const ModuleFacts::Transfer& most = facts.transfers.front();
  std::string text = fmt::format("{}: {}", Named(most.name), TransferText(most));
  return Known(text, Selection::OfInstruction(module, stage, most.instruction), "home");
}

Answered PeakAnswer(const dump::BufferTable& table, int32_t module) {
  if (!table.has_values())
    return Unknown("no buffer assignment in this dump: --xla_dump_hlo_as_text writes it",
                   "buffers");
  const std::vector<int32_t> live =
      table.live_peak_point >= 0 ? LiveAt(table, table.live_peak_point) : std::vector<int32_t>();
  if (live.empty()) return Unknown("the buffer assignment does not say what lives when", "buffers");
  const dump::BufferValue& most = table.values[static_cast<size_t>(live.front())];
  const auto point = static_cast<size_t>(table.live_peak_point);
  std::string text = fmt::format("{}: {} of {}", Named(most.instruction), BytesText(most.size),
                                 BytesText(table.live_peak_bytes));
  if (point < table.program.size()) text += " alive at " + Named(table.program[point]);
  return Known(text, Selection::OfBuffer(module, live.front()), "buffers");
}

Answered SlowestAnswer(const KernelSheet& sheet, int32_t module, int32_t stage) {
  if (!sheet.has_times || sheet.rows.empty() || sheet.rows.front().count == 0)
    return Unknown("the profile holds no times of this module", "kernels");
  const KernelRow& row = sheet.rows.front();
  std::string text = fmt::format("{}: {}", Named(row.name), TimeShareText(sheet, row));
  Selection selection = Selection::OfEvent(row.longest.index);
  if (module >= 0 && row.instruction.valid())
    selection = Selection::OfInstruction(module, stage, row.instruction);
  return Known(text, selection, "kernels");
}

Answered PassesAnswer(const PassRanking& ranking, const dump::ModuleEntry& entry, int32_t module) {
  if (entry.stages.size() < 2)
    return Unknown("one stage only: --xla_dump_hlo_pass_re=.* writes every pass", "passes");
  if (ranking.order.empty())
    return Known("no stage differs from the one before", Selection::OfModule(module), "passes");
  const int32_t most = ranking.order.front();
  return Known(fmt::format("{}: {}", Named(PassName(entry.stages[static_cast<size_t>(most)])),
                           CountsText(ranking.counts[static_cast<size_t>(most)])),
               Selection::OfStage(module, most), "passes");
}

Answered MissingAnswer(const dump::DumpModel& dump, int32_t module) {
  std::string text;
  for (const dump::MissingPiece& piece : dump.missing()) {
    if (piece.module >= 0 && piece.module != module) continue;
    std::string part = piece.flag.empty() ? piece.what : piece.what + " (" + piece.flag + ")";
    if (text.find(part) == std::string::npos) text += (text.empty() ? "" : ", ") + part;
  }
  if (text.empty()) text = "nothing: every piece that XLA can write is here";
  return Known(text, {}, "home");
}

const Answer* Ready(const Pending<Answer>& answer) { return answer.value.get(); }

template <typename F>
const Answer* Find(Session& session, std::string_view what, int32_t module, const F& compute) {
  return Ready(session.Get<Answer>(fmt::format("answer/{}/{}", what, module), "answering",
                                   [compute](TaskControl&) { return compute(); }));
}

// What follows from the facts of the module.
template <typename F>
const Answer* FromFacts(Session& session, std::string_view what, int32_t module, F make) {
  const Pending<ModuleFacts>& facts = FactsOf(session, module);
  if (facts.waiting()) return nullptr;
  if (!facts.ready())
    return Find(session, "no-facts", module,
                [error = facts.error] { return Unknown(ReadErrorText(error), "home"); });
  const int32_t stage = session.dump()->FinalStage(module);
  return Find(session, what, module,
              [facts = facts.value, module, stage, make] { return make(*facts, module, stage); });
}

const Answer* Peak(Session& session, int32_t module) {
  const Pending<dump::BufferTable>& table = session.Buffers(module);
  if (table.waiting()) return nullptr;
  return Find(session, "peak", module, [table = table.value, error = table.error, module] {
    return table == nullptr ? Unknown(ReadErrorText(error), "buffers") : PeakAnswer(*table, module);
  });
}

const Answer* Slowest(Session& session, int32_t module) {
  if (ProfilePaths(session).empty())
    return Find(session, "no-profile", module, [] {
      return Unknown("needs a profile: open a trace with the dump (hloscope open DUMP TRACE)",
                     "kernels");
    });
  const Pending<KernelSheet>* sheet = KernelSheetOf(session);
  if (sheet == nullptr || sheet->waiting()) return nullptr;
  const int32_t stage = module >= 0 ? session.dump()->FinalStage(module) : -1;
  return Find(session, "slowest", module,
              [sheet = sheet->value, error = sheet->error, module, stage] {
                return sheet == nullptr ? Unknown(ReadErrorText(error), "kernels")
                                        : SlowestAnswer(*sheet, module, stage);
              });
}

// Comparing all stages of a large module takes seconds: those wait until they are asked for.
const Answer* Passes(Session& session, int32_t module, bool asked) {
  constexpr int64_t kSmall = 200'000;
  const dump::ModuleEntry& entry = session.dump()->modules()[static_cast<size_t>(module)];
  bool& was_asked = session.Shared<bool>(fmt::format("asked-passes/{}", module));
  was_asked |= asked;
  if (!was_asked) {
    const Pending<ModuleFacts>& facts = FactsOf(session, module);
    if (facts.waiting()) return nullptr;
    if (facts.ready() && facts->instructions * std::ssize(entry.stages) > kSmall)
      return Find(session, "many-passes", module, [count = entry.stages.size()] {
        return Unknown(fmt::format("asking compares all {} stages, which takes a while", count),
                       "passes");
      });
  }
  const Pending<PassRanking>& ranking = RankingOf(session, module);
  if (ranking.waiting()) return nullptr;
  return Find(
      session, "passes", module,
      [ranking = ranking.value, error = ranking.error, dump = session.dump().value, module] {
        const dump::ModuleEntry& stages = dump->modules()[static_cast<size_t>(module)];
        return ranking == nullptr ? Unknown(ReadErrorText(error), "passes")
                                  : PassesAnswer(*ranking, stages, module);
      });
}

const Answer* Difference(Session& session, int32_t module) {
  return FromFacts(
      session, "difference", module, [](const ModuleFacts& facts, int32_t m, int32_t stage) {
        if (stage <= 0 || facts.instructions_before < 0 || facts.instructions < 0)
          return Unknown("this dump holds one readable stage only", "changes");
        return Known(fmt::format("{} instructions before; {} after, {} of them fusions",
                                 CountText(facts.instructions_before),
                                 CountText(facts.instructions), CountText(facts.fusions)),
                     Selection::OfStage(m, stage), "changes");
      });
}

const Answer* Nan(Session& session, int32_t module) {
  return Find(session, "nan", module, [] {
    return Unknown("asking runs the module on made-up inputs in a child process", "divergence");
  });
}

Result<std::shared_ptr<const PassRanking>> Rank(const debug::Lineage& lineage,
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
    ranking->counts[at] = debug::FindChanges(*before, **after, *alignment).counts;
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

const Answer* AnswerTo(Session& session, Question question, bool asked) {
  const int32_t module = session.module();
  if (question == Question::kSlowest) return Slowest(session, module);
  if (session.dump().waiting()) return nullptr;
  if (!session.dump().ready())
    return Find(session, "no-dump", -1, [] { return Unknown("no dump is open", "home"); });
  if (question == Question::kMissing)
    return Find(session, "missing", module,
                [dump = session.dump().value, module] { return MissingAnswer(*dump, module); });
  if (module < 0)
    return Find(session, "no-module", module,
                [] { return Unknown("this dump holds no module", "home"); });
  switch (question) {
    case Question::kHost:
      return FromFacts(session, "host", module, HostAnswer);
    case Question::kTransfers:
      return FromFacts(session, "transfers", module, TransferAnswer);
    case Question::kPeak:
      return Peak(session, module);
    case Question::kPasses:
      return Passes(session, module, asked);
    case Question::kDifference:
      return Difference(session, module);
    default:
      return Nan(session, module);
  }
}

const Pending<ModuleFacts>& FactsOf(Session& session, int32_t module) {
  return session.Get<ModuleFacts>(
      fmt::format("facts/{}", module), "looking at the modules",
      [dump = session.dump().value, module](TaskControl&) {
        return Result<std::shared_ptr<const ModuleFacts>>(FindModuleFacts(*dump, module));
      });
}

const Pending<PassRanking>& RankingOf(Session& session, int32_t module) {
  return session.Get<PassRanking>(fmt::format("ranking/{}", module), "comparing all stages",
                                  [provenance = session.Provenance(module)](TaskControl& control)
                                      -> Result<std::shared_ptr<const PassRanking>> {
                                    if (provenance == nullptr) return InputError("no such module");
                                    return Rank(provenance->lineage(), control);
                                  });
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
