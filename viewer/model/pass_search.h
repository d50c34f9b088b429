// The verdict on a module: the pass that changed its numbers, or where two platforms diverge.
// From a verdict that was opened, or found on request.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/explain/diverge/verdict.h"
#include "core/dump/dump_model.h"
#include "viewer/model/anchor.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

/// What a verdict on a module is to say: which pass of its dump changed the numbers, or where two
/// platforms diverge.
struct VerdictQuestion {
  uint64_t seed = 0;
  std::string platform = {}, reference = {};  // empty: of the passes
  int32_t stage = 0;                          // that the platforms run
  std::string inputs = {};                    // their file; empty: generated from the seed
  std::optional<double> absolute = {}, relative = {};
  auto operator<=>(const VerdictQuestion&) const = default;
  bool is_of_platforms() const { return !platform.empty(); }
};
struct AskedVerdict {
  StageAnchor place;    // of its question
  int32_t module = -1;  // in this reading of the dump; -1: not there
  VerdictQuestion question;
  std::chrono::steady_clock::time_point since;
  std::shared_ptr<Pending<debug::DivergeVerdict>> verdict;
};
/// The last of each module.
struct AskedVerdicts {
  std::vector<AskedVerdict> all;
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>& lost);
};

// Evaluates every stage of the module on inputs generated from `seed`, in the background and in
// workers. The verdict is there with a later VerdictOn.
void SearchPass(Context& context, int32_t module, uint64_t seed);
// Runs a stage of the module on the two platforms of the question, likewise, and compares the
// values inside it.
void SearchDivergence(Context& context, int32_t module, const VerdictQuestion& question);

// The verdict on the module: of the last search, else of the file that was opened; null where there
// is neither.
const Pending<debug::DivergeVerdict>* VerdictOn(Context& context, int32_t module);
// What the last search was asked; null where none was.
const AskedVerdict* AskedOn(Context& context, int32_t module);
// "comparing the values inside m on A and B".
std::string SearchTitle(const VerdictQuestion& question);

// The stage of the module that a file of that name holds; -1: none.
int32_t StageOfFile(const dump::DumpModel& dump, int32_t module, std::string_view file);

// The stages after passes that changed the results, in order; empty while nothing is known.
std::vector<int32_t> GuiltyStages(Context& context, int32_t module);

// The stage after that pass is selected, and the instruction where it has one.
void SelectBlame(Context& context, int32_t module, const debug::PassBlame& blame);

// The same as text for SelectionFromText, of the first pass; empty: nothing of this dump.
std::string SelectionOf(const dump::DumpModel& dump, const debug::DivergeVerdict& verdict);

}  // namespace hloscope::viewer
