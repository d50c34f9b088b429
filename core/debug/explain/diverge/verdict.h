// DivergeVerdict: what `diverge` found, in one form for passes, two modules and two platforms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/explain/diverge/kernel_finding.h"
#include "core/debug/explain/diverge/value_walk.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// Why runs differ where no pass is to blame: rows of causes.def.
enum class Cause : uint8_t {
#define CAUSE(name, key, text) name,
#include "core/debug/explain/diverge/causes.def"
#undef CAUSE
};
std::string_view KeyOf(Cause cause);     // "excess_precision"
std::string_view Describe(Cause cause);  // what stands after "the cause is"

// Something that was changed for one more run, and whether that run was right, or makes the
// difference by itself (repeated runs, inputs moved). Absent: it could not be run, `detail` says
// why; else the figures of the run.
struct DivergeTry {
  std::string what;  // "--xla_disable_hlo_passes=algsimp"
  std::optional<bool> closes;
  std::string detail;
  int64_t mismatched = -1;  // elements that differ with it; -1: not known
  // Nothing was changed: two results were compared, and `closes` is whether they agree.
  bool is_comparison = false;
};

// An instruction as it was before a change and as it became.
struct InstructionEdit {
  std::string what;           // in words: "add became subtract"
  std::string before, after;  // their lines of HLO; empty: added or removed
  std::string diff;           // of everything that the pass changed, for people
};

// The place of a difference. Names are bare; those of what was removed are as before.
struct DivergePlace {
  std::string instruction, computation;
  std::string calls;        // how it was reached: "while.3 iteration 2"; empty in the entry
  std::string opcode = {};  // empty: not told
};

// A pass whose stage means something else than the stage before it.
struct PassBlame {
  std::string pass, pipeline, file_before, file_after;  // files as the dump names them
  // Of stages between the two that could not be compared: it may have been one of these as well.
  std::vector<std::string> or_passes = {};
  bool restores = false;  // the results are again what they were before an earlier one of these
  bool within_bounds = false;  // on these inputs
  std::optional<DivergePlace> place;
  InstructionEdit edit;
  LeafComparison worst;  // of the results, after against before
};

// One of several independent reasons why a run differs.
struct DivergeFinding {
  std::string pass = {};            // empty: none is at fault
  std::optional<Cause> cause = {};  // where no pass is
  std::optional<DivergePlace> place = {};
  InstructionEdit edit = {};               // of two modules
  std::string kernel = {};                 // that computes it; empty: unknown
  std::string kernel_opcode = {};          // of its instruction; empty: not told
  std::vector<std::string> cured_by = {};  // what ends this one
  int64_t mismatched = -1;                 // elements that differ without it; -1: not known
  std::vector<int64_t> results = {};       // by number, that it leads to; empty: not told
  std::optional<bool> confirmed = {};      // as of a verdict
  std::vector<DivergeTry> tries = {};      // judged by those results
  std::string not_tried = {};  // why there are none; empty: there are, or all are judged
};

// How the operations of two modules differ whose results agree.
struct OperationChanges {
  int64_t changed = 0, added = 0, removed = 0;
  std::vector<std::string> texts;  // "m in e: operand 0: x became y", those that are added last
  bool any() const { return !texts.empty(); }
};

struct DivergeVerdict {
  RunStatus status = RunStatus::kError;  // never kRan
  std::string platform, reference;
  uint64_t seed = 0;
  bool inputs_generated = true;  // from the seed; false: they were given

  // The guilty pass, the first of `passes`; or the cause where there is none.
  std::vector<PassBlame> passes;
  std::optional<Cause> cause;

  std::optional<DivergePlace> place;  // where it first differs
  InstructionEdit edit;
  std::vector<std::string> cured_by;  // names of passes and flags with values
  // The pass is in cured_by, or alone repeats the edit; without one: a try shows the cause, or the
  // kernel alone repeats the fault. Absent: not found out.
  std::optional<bool> confirmed;
  std::string kernel;               // that computes the place; empty: unknown
  std::string kernel_opcode;        // of its instruction; empty: not told
  std::optional<int64_t> ptx_line;  // in the module's PTX
  std::vector<DivergeTry> tries;
  // What differs, each with its own place, tries and cure. The fields above are those of the first;
  // of one reason they say it all.
  std::vector<DivergeFinding> findings;
  std::string first_bad;  // of several versions; empty: none or not asked

  std::optional<OperationChanges> operations;  // of two modules that agree
  std::string bounds;                          // of the results' types, in words; empty: not told

  std::optional<ValueWalk> walk;         // of two platforms
  std::optional<KernelFinding> finding;  // of kernels on a simulated GPU
  std::optional<LeafComparison> worst;   // of what differs most: of `place`, or a result
  bool worst_is_of_place = false;
  int64_t stages = 0, evaluated = 0;      // of the pipeline; the others mean the same by their text
  int64_t to_compare = 0, compared = 0;   // of them, but for the module given
  int64_t undecided = 0;                  // of them: behind the last one that was compared
  int64_t within_bounds = 0;              // of those evaluated: with other bits, by rounding alone
  std::vector<std::string> stepped_over;  // stages that could not be evaluated, with the reason
  std::vector<std::string> warnings;
  std::vector<Error> errors;
  std::string sentence;  // the verdict for people
};

// The verdict where nothing could be looked at.
DivergeVerdict RefusedVerdict(Error error);

// What the verdict says, as one finding.
DivergeFinding OnlyFinding(const DivergeVerdict& verdict);

// Makes the fields of the verdict, and its first finding where it has several, those of `first`.
void SetFirstFinding(DivergeVerdict& verdict, DivergeFinding first);

// "1 of 6 results that differ (out4)": by what the tries of the finding are judged; empty where
// that is all.
std::string JudgedResults(const DivergeVerdict& verdict, const DivergeFinding& finding);

// Writes the sentence from everything else.
void WriteSentence(DivergeVerdict& verdict);

// What stands after "the cause is": of a library or generated code that is one step away in the
// type of the values, that; else what Describe says. Empty where there is no cause.
std::string CausePhrase(const DivergeVerdict& verdict);
std::string CausePhrase(const DivergeFinding& finding);  // without regard to its size

// What stands after "fixed by": "disabling algsimp or by --xla_x=false", a pass being switched off
// and a flag having the value that helps.
std::string CuresPhrase(const std::vector<std::string>& cured_by);

// "3 of 16 elements differ, largest error 0.5 absolute, 0.1 relative".
std::string ErrorPhrase(const LeafComparison& leaf);

// Of a result that was compared exactly and may agree within the bounds: "3 of 16 elements of out1
// have another value, largest difference 0.5 absolute, 0.1 relative".
std::string OtherValuesPhrase(const LeafComparison& leaf);

}  // namespace hloscope::debug
