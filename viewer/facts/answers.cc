// Each answer is found once for a module, in the background.
#include "viewer/facts/answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/dump/tensorflow_borders.h"
#include "core/graph/count_text.h"
#include "viewer/facts/answer_sentences.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/file_facts.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/module_facts.h"
#include "viewer/facts/outside_nodes.h"
#include "viewer/facts/pass_ranking.h"
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

}  // namespace hloscope::viewer
