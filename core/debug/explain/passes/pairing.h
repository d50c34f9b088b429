// Pairing: which instruction before a pass has the value that one after it should have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/analysis/align/fingerprint.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

class Pairing {
 public:
  // Of the alignment of both, which must outlive it.
  Pairing(const hlo::Module& before, const hlo::Module& after, analysis::Alignment alignment);

  // The partner of an instruction of the later module; invalid where it has none.
  hlo::InstructionId Before(hlo::InstructionId after) const { return before_of_[after.index]; }
  // True if the two go by one name: not to be doubted, whatever their values.
  bool IsSure(hlo::InstructionId after) const { return sure_[after.index]; }
  // True if no instruction of the later module has this partner.
  bool IsGone(hlo::InstructionId before) const { return gone_[before.index]; }

  // Opcode, dimensions and OperationTexts agree.
  bool IsSameOperation(hlo::InstructionId before, hlo::InstructionId after) const;
  const hlo::Module& before() const { return before_; }
  const hlo::Module& after() const { return after_; }
  const analysis::Fingerprints& prints_before() const { return prints_before_; }
  const analysis::Fingerprints& prints_after() const { return prints_after_; }

 private:
  void Pair(hlo::InstructionId after);

  const hlo::Module& before_;
  const hlo::Module& after_;
  analysis::Alignment alignment_;
  analysis::Fingerprints prints_before_, prints_after_;
  std::vector<hlo::InstructionId> before_of_;
  std::vector<bool> sure_, gone_;
};

// What an instruction does, by the names of its attributes ("dimensions", "value" of constants) and
// "shape" without layouts: all that takes part in its meaning but operands and called computations.
std::map<std::string, std::string> OperationTexts(const hlo::Module& module, hlo::InstructionId id);
// The same for people: as HLO text has the attributes.
std::map<std::string, std::string> ShownTexts(const hlo::Module& module, hlo::InstructionId id);

}  // namespace hloscope::debug
