// RefuseHostWork: what would need a function or a stream that is not in the module.
#include <fmt/format.h>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/expand/custom_calls.h"

namespace hloscope::replay::pjrt {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// Empty: nothing stands against it.
std::string WhyNot(const Module& module, InstructionId id, std::string& fix) {
  const Opcode opcode = module[id].opcode;
  if (hlo::Info(opcode).category == hlo::Category::kHostTransfer) {
    const bool feeds = opcode == Opcode::kInfeed || opcode == Opcode::kOutfeed;
    fix = feeds ? "run it on the interpreter"
                : "run it on the interpreter, or extract a part without it";
    return "a plugin has no host program to exchange data with";
  }
  if (opcode != Opcode::kCustomCall) return {};
  const auto* row = hlo::expand::FindCustomCall(module, id);
  if (row == nullptr || row->runs()) return {};
  fix = row->fix;
  return std::string(row->why);
}

// Instructions whose numbers no two platforms share.
bool DrawsNumbers(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kRng || opcode == Opcode::kRngGetAndUpdateState) return true;
  return opcode == Opcode::kRngBitGenerator &&
         hlo::EnumText(AttributeKey::kRngAlgorithm,
                       module.GetInt(module[id], AttributeKey::kRngAlgorithm)) == "rng_default";
}

}  // namespace

Status RefuseHostWork(AdaptState& state) {
  const Module& module = *state.module;
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  std::vector<std::string> drawing;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const InstructionId id(k);
    if (!graph.IsReached(module[id].computation)) continue;
    if (DrawsNumbers(module, id)) drawing.emplace_back(module.name(id));
    std::string fix;
    const std::string why = WhyNot(module, id, fix);
    if (why.empty()) continue;
    std::string what(hlo::ToString(module[id].opcode));
    if (module[id].opcode == Opcode::kCustomCall) {
      what += fmt::format(" to {}", module.GetString(module[id], AttributeKey::kCustomCallTarget));
    }
    return UnsupportedError(fmt::format("{}: {}: {}", module.name(id), what, why), fix);
  }
  if (!drawing.empty()) {
    state.Warn(
        fmt::format("XLA generates its own random numbers in {}; they may differ from those "
                    "of other platforms",
                    ListSome(drawing)));
  }
  return {};
}

}  // namespace hloscope::replay::pjrt
