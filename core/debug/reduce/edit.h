// Edit: one candidate made from another by changes to its instructions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/reduce/candidate.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {

class Edit {
 public:
  explicit Edit(const Candidate& from);

  const hlo::Module& module() const { return *from_.module; }
  hlo::Rewriter& rewriter() { return rewriter_; }

  // An instruction of the entry becomes a parameter that holds `value` (null: unknown).
  void ToParameter(hlo::InstructionId id, const hlo::Literal* value);
  // Zeros of its shape, which has to be an array, in any computation.
  void ToZeros(hlo::InstructionId id);
  // The entry gives this value, or a tuple of these.
  void SetResults(std::span<const hlo::InstructionId> results);
  // What `call` (a fusion, call, while or conditional) calls as `callee` stands in its place, its
  // parameters being `operands`. Edits inside the callee do not count.
  void Inline(hlo::InstructionId call, hlo::ComputationId callee,
              std::span<const hlo::InstructionId> operands);
  // `name`, or with a number behind it, so that nothing in the module is called so.
  std::string FreeName(std::string_view name);

  // Without dead code and the entry's parameters that nothing uses; those left are numbered anew.
  // nullopt where the edits make no module.
  std::optional<Candidate> Finish();

 private:
  struct Parameter {
    hlo::InstructionId id;
    hlo::Literal value;
  };

  void RemoveUnusedParameters();
  std::shared_ptr<const hlo::Module> Renumber(const hlo::RewriteResult& result) const;

  const Candidate& from_;
  hlo::Rewriter rewriter_;
  std::vector<Parameter> parameters_;  // of the entry, in order
  bool names_known_ = false;
  std::vector<std::string> names_;  // sorted
};

// `module` without the header's statements on parameters and results, for another entry.
std::shared_ptr<const hlo::Module> WithEntry(const hlo::Module& module, hlo::ComputationId entry);

}  // namespace hloscope::debug
