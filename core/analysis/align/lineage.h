// Lineage: one instruction through all stages of a compilation, forwards and backwards.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/base/result.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/module.h"
#include "core/hlo/rewrite/origins.h"

namespace hloscope::analysis {

// An instruction of one stage on the way from or to another.
struct LineageStep {
  int32_t stage = 0;
  hlo::InstructionId instruction;
  LinkReason reason = LinkReason::kSame;  // of the link by which it was reached
  float link_confidence = 1;              // of that link
  float confidence = 1;                   // of the whole chain so far: the product of its links
  int32_t from = -1;                      // step it was reached from; -1: the one asked about
  bool computes = true;                   // each link on the way does (see Computes) …
  bool is_same = true;                    // … and is an identity
};
// LineageSteps stage by stage, away from the instruction asked about, which is the first; those of
// a stage best first.
struct Chain {
  std::vector<LineageStep> steps;
  int32_t last_stage = 0;        // the farthest stage reached
  bool unbroken = false;         // it reaches the first (or last) stage
  bool cut_short = false;        // a stage had more steps than are kept
  std::vector<int32_t> skipped;  // stages on the way that could not be read
};

struct ChainOptions {
  float least_confidence = 0.05f;  // steps below are left out
  int32_t steps_per_stage = 64;
};

using hlo::SourceLine;

// Where the source line of an instruction was found.
enum class SourceHow : uint8_t {
  kNone,
  kOwn,       // its own metadata
  kAncestor,  // that of an ancestor in an earlier stage
  kCaller,    // that of the instruction that calls its computation
  kUser,      // that of what it is used for
};
std::string_view KeyOf(SourceHow how);  // "none", "own", …
struct FoundSource {
  SourceLine line;
  SourceHow how = SourceHow::kNone;
  int32_t stage = -1;  // where it stands …
  hlo::InstructionId instruction;
  float confidence = 0;  // … and how sure that it is this instruction's
};

class Lineage {
 public:
  // Gives the module of a stage, or why it cannot be read; must be safe to call from any thread.
  using StageLoader = std::function<Result<std::shared_ptr<const hlo::Module>>(int32_t stage)>;
  // Where the instructions of one stage come from in an earlier one, as the compiler noted it, for
  // those modules; nullopt where it did not. Must be safe to call from any thread.
  using NotedOrigins = std::function<std::optional<std::vector<hlo::Origin>>(
      int32_t before_stage, const hlo::Module& before, int32_t after_stage,
      const hlo::Module& after)>;
  explicit Lineage(int32_t stage_count, StageLoader loader, NotedOrigins noted = nullptr)
      : stage_count_(stage_count), loader_(std::move(loader)), noted_(std::move(noted)) {}

  int32_t stage_count() const { return stage_count_; }
  Result<std::shared_ptr<const hlo::Module>> Module(int32_t stage) const { return loader_(stage); }
  // The next stage after (direction 1) or before (-1) `stage` that can be read; -1: none.
  int32_t Neighbour(int32_t stage, int32_t direction) const;
  // Stage `stage` against the next that can be read; computed once and kept. Exact where the
  // compiler noted it. Fails where `stage` cannot be read or is the last.
  Result<std::shared_ptr<const Alignment>> Step(int32_t stage) const;

  // Any two stages, of which these are the modules: exact where the compiler noted the way from the
  // earlier to the later, else guessed. Computed anew.
  Alignment Between(int32_t before_stage, const hlo::Module& before, int32_t after_stage,
                    const hlo::Module& after) const;

  // Through every earlier (later) stage that can be read. Fails where `stage` cannot be read.
  Result<Chain> Ancestors(int32_t stage, hlo::InstructionId id,
                          const ChainOptions& options = {}) const;
  Result<Chain> Descendants(int32_t stage, hlo::InstructionId id,
                            const ChainOptions& options = {}) const;
  // The source line: its own, else the nearest ancestor's, its caller's, its users'.
  Result<FoundSource> Source(int32_t stage, hlo::InstructionId id) const;
  // The instructions of a stage that come from a line: by their own metadata, or without any of
  // their own, by that of what they come from. `file` may be the end of the path. In program order.
  Result<std::vector<hlo::InstructionId>> OnLine(int32_t stage, std::string_view file,
                                                 int32_t line) const;

 private:
  Result<Chain> Walk(int32_t stage, hlo::InstructionId id, int32_t direction,
                     const ChainOptions& options) const;
  Result<bool> WalkStep(int32_t at, int32_t direction, int32_t to, size_t& begin,
                        const ChainOptions& options, Chain& chain) const;

  int32_t stage_count_;
  StageLoader loader_;
  NotedOrigins noted_;
  mutable std::mutex mutex_;
  mutable std::map<int32_t, std::shared_ptr<const Alignment>> steps_;
};

// By instruction: the outermost fusion it is inside of, or itself.
std::vector<hlo::InstructionId> KernelInstructions(const hlo::Module& module);

}  // namespace hloscope::analysis
