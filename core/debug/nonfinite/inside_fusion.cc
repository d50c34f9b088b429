// A fusion as a module of its own, evaluated with the search beside it.
#include "core/debug/nonfinite/inside_fusion.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/debug/run/pieces.h"
#include "core/eval/machine/evaluator.h"

namespace hloscope::debug {

using hlo::InstructionId;
using replay::NonFiniteOrigin;

std::optional<OriginInside> FindInsideFusion(const hlo::Module& module,
                                             const NonFiniteOrigin& origin,
                                             replay::NonFiniteKind kind) {
  if (module[origin.instruction].opcode != hlo::Opcode::kFusion) return std::nullopt;
  const Piece piece = CutPiece(module, origin.instruction, 0);
  JoinedPieces joined = JoinPieces(module, std::span(&piece, 1));
  const auto operands = module.operands(origin.instruction);
  std::vector<hlo::Literal> arguments;
  for (const InstructionId parameter : joined.parameters) {
    const auto slot =
        static_cast<size_t>(std::ranges::find(operands, parameter) - operands.begin());
    if (slot >= origin.operands.size()) return std::nullopt;
    auto literal = origin.operands[slot].ToLiteral();
    if (!literal.has_value()) return std::nullopt;
    arguments.push_back(*std::move(literal));
  }
  replay::NonFiniteSearch search(*joined.module, kind);
  eval::EvaluateOptions how;
  how.observer = &search;
  (void)eval::Evaluate(*joined.module, arguments, how);  // what was found before it failed counts
  auto found = ReadNonFiniteFound(*joined.module, search.Finding());
  if (!found.has_value() || !found->first) return std::nullopt;
  return OriginInside{std::move(joined.module), *std::move(found->first)};
}

}  // namespace hloscope::debug
