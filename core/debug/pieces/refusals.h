// Which instructions a platform refuses to run, and why: by what it says, and by trying parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct Refusal {
  hlo::InstructionId instruction;  // of any computation
  hlo::FallbackReason reason = hlo::FallbackReason::kNone;
  std::string detail;  // what the platform says beside the reason
};

// What of the reasons the words of an error are; kNone: of no one. refusal_words.def has the words.
hlo::FallbackReason ReasonInWords(std::string_view text);
// Why an instruction was refused with that error.
hlo::FallbackReason ReasonOf(const Error& error, const hlo::Instruction& instruction);
Refusal RefusalOf(hlo::InstructionId id, const Error& error, const hlo::Instruction& instruction);

// Instructions that are run by going through what they call: while, call and conditional.
bool CallsInTurn(hlo::Opcode opcode);
// True for what a platform can refuse: not parameters, constants, what forwards an operand.
bool CanBeRefused(const hlo::Module& module, hlo::InstructionId id);

// Those of `ids` and of what they call in turn whose name or custom call target is in the text.
std::vector<hlo::InstructionId> NamedIn(const hlo::Module& module,
                                        std::span<const hlo::InstructionId> ids,
                                        std::string_view text);

class RefusalSearch {
 public:
  // Loads a module: nothing, or why it is refused; the outer error ends the search.
  using Load =
      std::function<Result<std::optional<Error>>(const std::shared_ptr<const hlo::Module>& module)>;

  // `module` must outlive it. `most_loads`: where more would be needed, what was found by then
  // counts.
  RefusalSearch(const hlo::Module& module, Load load, int64_t most_loads)
      : module_(module), load_(std::move(load)), left_(most_loads) {}

  // Adds those of `ids` (of one computation, together refused with `error`) that are refused alone;
  // of a loop, call or conditional the instructions inside. Errors: those of loading.
  Status Find(std::span<const hlo::InstructionId> ids, const Error& error);

  const std::vector<Refusal>& found() const { return found_; }

 private:
  Result<std::optional<Error>> LoadAlone(std::span<const hlo::InstructionId> ids);
  Status FindNamed(std::span<const hlo::InstructionId> ids, const Error& error);
  Status Halve(std::span<const hlo::InstructionId> ids);
  Status Take(hlo::InstructionId id, const Error& error);
  Status TakeAlike(hlo::InstructionId id);
  bool IsFound(hlo::InstructionId id) const;

  const hlo::Module& module_;
  Load load_;
  int64_t left_;
  std::vector<Refusal> found_;
};

}  // namespace hloscope::debug
