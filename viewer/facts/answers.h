// Answers: what one asks of a whole dump first, each answered in one sentence that leads to where
// it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/align/pass_changes.h"
#include "core/debug/recompile/recompilation.h"
#include "core/dump/dump_model.h"
#include "viewer/commands/commands.h"
#include "viewer/facts/module_facts.h"
#include "viewer/model/anchor.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

enum class Question : uint8_t {
#define QUESTION(name, command, scope) name,
#include "viewer/facts/questions.def"
#undef QUESTION
};
enum class QuestionScope : uint8_t { kDump, kModule };
struct QuestionRow {
  Question question;
  Command command;
  QuestionScope scope;
};
std::span<const QuestionRow> QuestionRows();
std::optional<Question> QuestionOf(Command command);

/// How the passes are listed.
struct PassMarks {
  bool by_change = false;   // most changed first
  std::set<int32_t> asked;  // modules whose stages are all to be compared, however many
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>&) {
    asked = FindModules(now, before, asked);
  }
};

struct Answer {
  std::string text;       // one sentence: the answer, or what it takes to get one
  Selection selection;    // what it is about; kNothing: nothing to select
  std::string_view view;  // that shows it; empty: any that shows the selection
  bool is_known = false;  // false: unknown from this dump
};

// The answer for the dump or the module in view; nullptr while something it needs is being read.
// What would take long on a large dump is computed only once it was asked for: `asked`.
const Answer* AnswerTo(Context& context, Question question, bool asked);

// The pieces that the dump lacks for a module, each once, without those that another file provides:
// a module's proto may hold its buffer assignment.
std::vector<dump::MissingPiece> MissingFor(const dump::DumpModel& dump, int32_t module,
                                           const ModuleFacts* facts);
// Where that is none: a dump is complete, a single module never is.
std::string NothingMissingText(const dump::DumpModel& dump);
// TensorFlow's clusters and what is in none of them; null: the dump holds none of its graphs.
const Pending<dump::TensorFlowSummary>* TensorFlowOf(Context& context);
// Programs that the dump holds more than once; null: while they are compared, or there are none.
const debug::Recompilations* RecompilationsOf(Context& context);
// "12 TensorFlow nodes run outside all clusters"; empty: none does.
std::string OutsideText(const dump::TensorFlowSummary& summary);
// Nodes in none of the clusters, by reason and operation, most nodes first.
struct OutsideNodes {
  std::string reason, op;  // reason: empty where nothing is known
  std::string fix;         // what would change it; empty: nothing does
  std::vector<std::string> names;
};
std::vector<OutsideNodes> OutsideTable(const dump::TensorFlowSummary& summary);

// Files that are none of XLA's or its front ends', "meta.json (JSON), notes.txt (other text)";
// empty: none.
std::string UnreadText(const dump::DumpModel& dump);
// A warning says no more than that a file is one of those.
bool IsAboutUnread(const dump::DumpModel& dump, std::string_view warning);

// The facts that Home shows.
const Pending<ModuleFacts>& FactsOf(Context& context, int32_t module);

// The stages of a module by how much each changed.
struct PassRanking {
  std::vector<analysis::ChangeCounts> counts;  // by stage
  std::vector<int32_t> order;                  // stages that changed anything, most first
};
const Pending<PassRanking>& RankingOf(
    Context& context, int32_t module,
    analysis::Annotations annotations = analysis::Annotations::kCounted);
// Whether reading all stages of the module takes no while, or was asked for; false too while that
// is not known.
bool MayReadAllStages(Context& context, int32_t module);
// "12 added, 3 removed, 1 rewritten"; empty where nothing changed.
std::string CountsText(const analysis::ChangeCounts& counts);

// The name of what made a stage, as short as it is clear. What is written at the start of a nested
// pipeline was changed by the pass that runs it: "spmd-partitioning (up to spmd-cleanup)".
std::string PassName(const dump::ModuleEntry& entry, int32_t stage);
// That of a pass, which `stage` is in the dump of.
bool IsMadeByPass(const dump::ModuleEntry& entry, int32_t stage);

}  // namespace hloscope::viewer
