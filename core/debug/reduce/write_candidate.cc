// A module and its inputs as files.
#include "core/debug/reduce/write_candidate.h"

#include <algorithm>
#include <vector>

#include "core/base/file.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/text/text.h"

namespace hloscope::debug {

Result<bool> WriteCandidate(const Candidate& candidate, bool inputs_from_seed,
                            const std::string& path, const std::string& inputs) {
  std::string text;
  hlo::PrintText(*candidate.module, hlo::TextFormat::kHlo, text);
  HLOSCOPE_TRY(WriteFileAtomically(path, text));
  const bool are_known = std::ranges::none_of(candidate.arguments, IsUnknown);
  if (inputs_from_seed || !are_known || candidate.arguments.empty()) return false;
  std::vector<hlo::Literal> leaves;
  for (const hlo::Literal& argument : candidate.arguments) {
    for (hlo::Literal& leaf : dump::FlattenLiteral(argument)) leaves.push_back(std::move(leaf));
  }
  HLOSCOPE_TRY(dump::WriteTensors(inputs, dump::TensorNames::kInputs, leaves));
  return true;
}

}  // namespace hloscope::debug
