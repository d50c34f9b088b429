// What the rules of `lint` ask of a module, worked out once; internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/lint/lint.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"

namespace hloscope::analysis {

inline constexpr int64_t kLargeBytes = 1 << 20;
inline constexpr int kMaxChain = 32;  // operands that a rule follows one after another

class LintModule {
 public:
  explicit LintModule(const hlo::Module& module, const hlo::Module* compiled_module = nullptr);

  const hlo::Module& m;
  const hlo::Module* compiled;  // what it became; null where that is unknown
  const hlo::UserIndex& users;
  const hlo::CallGraph& calls;

  // Whether the instruction runs by itself: it is in no fusion, reducer or comparator.
  bool IsLaunched(hlo::InstructionId id) const { return launched_[m[id].computation.index]; }
  bool IsInLoop(hlo::InstructionId id) const { return in_loop_[m[id].computation.index]; }
  // Whether XLA:GPU compiled it, by its library calls and configurations.
  bool on_gpu() const { return on_gpu_; }

  int64_t Bytes(hlo::InstructionId id) const { return m.shape(id).ByteSize().value_or(0); }
  bool Is(hlo::InstructionId id, hlo::Opcode opcode) const { return m[id].opcode == opcode; }
  // The computation of a fusion; invalid of other instructions.
  hlo::ComputationId Body(hlo::InstructionId id) const;
  // The root of a fusion; the instruction itself if it is none.
  hlo::InstructionId Root(hlo::InstructionId id) const;
  // The value that bitcasts show, as far as there are not too many.
  hlo::InstructionId ThroughBitcasts(hlo::InstructionId id) const;
  // For each instruction that runs by itself.
  template <typename Visit>
  void EachLaunched(Visit visit) const {
    for (uint32_t k = 0; k < m.instructions().size(); ++k) {
      const hlo::InstructionId id(k);
      if (IsLaunched(id)) visit(id);
    }
  }
  template <typename Visit>
  void Each(hlo::ComputationId c, Visit visit) const {
    for (uint32_t k = 0; k < m[c].instruction_count; ++k)
      visit(hlo::InstructionId(m[c].first_instruction + k));
  }

 private:
  std::vector<bool> launched_, in_loop_;  // by computation
  bool on_gpu_ = false;
};

// What a rule found at one place; Lint adds name and source line.
struct LintPlace {
  hlo::InstructionId id;
  std::string cost;
  int64_t bytes = 0;
  std::string fix = {};  // where it is not the rule's
};
std::string SizeText(int64_t bytes);

// The function of each rule.
template <LintKind kind>
std::vector<LintPlace> FindPlaces(const LintModule& module);
#define LINT_RULE(kind, ...) \
  template <>                \
  std::vector<LintPlace> FindPlaces<LintKind::kind>(const LintModule& module);
#include "core/analysis/lint/lint_rules.def"
#undef LINT_RULE

}  // namespace hloscope::analysis
