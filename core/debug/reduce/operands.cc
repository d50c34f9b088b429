// Reductions of single instructions to something that is there already.
#include <algorithm>
#include <span>
#include <vector>

#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/reductions.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Opcode;

// What stands for an instruction; invalid where nothing does.
using Choice = std::function<InstructionId(const hlo::Module&, InstructionId)>;

bool SameShape(const hlo::Module& module, InstructionId a, InstructionId b) {
  return hlo::Compatible(module.shape(a), module.shape(b));
}

// The instructions for which there is something to stand for them.
std::vector<InstructionId> SitesOf(const hlo::Module& module, const Choice& choice) {
  std::vector<InstructionId> sites;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    if (choice(module, InstructionId(i)).valid()) sites.push_back(InstructionId(i));
  }
  return sites;
}

void ReplaceByChoice(Search& search, const Choice& choice) {
  search.RemoveChunks([&](const Candidate& c) { return SitesOf(*c.module, choice).size(); },
                      [&](const Candidate& c, size_t begin, size_t end) {
                        const std::vector<InstructionId> sites = SitesOf(*c.module, choice);
                        Edit edit(c);
                        for (size_t i = begin; i < std::min(end, sites.size()); ++i) {
                          edit.rewriter().ReplaceAllUses(sites[i], choice(*c.module, sites[i]));
                        }
                        return edit.Finish();
                      });
}

// The operand number `which` of those that have the instruction's shape.
InstructionId OperandLike(const hlo::Module& module, InstructionId id, size_t which) {
  for (const InstructionId operand : module.operands(id)) {
    if (SameShape(module, id, operand) && which-- == 0) return operand;
  }
  return {};
}

// A parameter or an element of one, before the instruction in its computation.
InstructionId EarlierLike(const hlo::Module& module, InstructionId id) {
  constexpr uint32_t kFarthest = 256;  // looked at: most are near the beginning
  const hlo::Computation& computation = module[module[id].computation];
  const uint32_t end = std::min(id.index, computation.first_instruction + kFarthest);
  for (uint32_t i = computation.first_instruction; i < end; ++i) {
    const InstructionId earlier(i);
    const Opcode opcode = module[earlier].opcode;
    const bool is_given = opcode == Opcode::kParameter ||
                          (opcode == Opcode::kGetTupleElement &&
                           module[module.operands(earlier)[0]].opcode == Opcode::kParameter);
    if (is_given && SameShape(module, id, earlier)) return earlier;
  }
  return {};
}

bool CanBeParameter(const hlo::Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  const hlo::Shape& shape = module.shape(id);
  return opcode != Opcode::kParameter && opcode != Opcode::kConstant && id != module.entry().root &&
         (shape.IsArray() || shape.IsTuple());
}

std::vector<InstructionId> CutsOf(const hlo::Module& module) {
  std::vector<InstructionId> cuts;
  for (uint32_t i = 0; i < module.entry().instruction_count; ++i) {
    const InstructionId id(module.entry().first_instruction + i);
    if (CanBeParameter(module, id)) cuts.push_back(id);
  }
  return cuts;
}

std::vector<InstructionId> ZerosOf(const hlo::Module& module) {
  std::vector<InstructionId> sites;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    const Opcode opcode = module[id].opcode;
    const bool is_made = opcode != Opcode::kParameter && opcode != Opcode::kConstant;
    const bool is_fixed = module.shape(id).IsArray() && module.shape(id).is_static();
    if (is_made && is_fixed && id != module.entry().root) sites.push_back(id);
  }
  return sites;
}

}  // namespace

void CutToParameters(Search& search) {
  search.RemoveChunks([](const Candidate& c) { return CutsOf(*c.module).size(); },
                      [&](const Candidate& c, size_t begin, size_t end) {
                        const std::vector<InstructionId> all = CutsOf(*c.module);
                        const std::span cuts = std::span(all).subspan(
                            std::min(begin, all.size()),
                            std::min(end, all.size()) - std::min(begin, all.size()));
                        const KnownValues values = search.ValuesOf(c, cuts);
                        Edit edit(c);
                        for (const InstructionId cut : cuts) {
                          const auto value = values.find(cut.index);
                          edit.ToParameter(cut, value == values.end() ? nullptr : &value->second);
                        }
                        return edit.Finish();
                      });
}

void BypassToOperands(Search& search) {
  constexpr size_t kMaxOperands = 3;
  for (size_t which = 0; which < kMaxOperands; ++which) {
    ReplaceByChoice(search, [which](const hlo::Module& module, InstructionId id) {
      return OperandLike(module, id, which);
    });
  }
}

void ReplaceByEarlier(Search& search) { ReplaceByChoice(search, EarlierLike); }

void ReplaceByZeros(Search& search) {
  search.RemoveChunks([](const Candidate& c) { return ZerosOf(*c.module).size(); },
                      [](const Candidate& c, size_t begin, size_t end) {
                        const std::vector<InstructionId> sites = ZerosOf(*c.module);
                        Edit edit(c);
                        for (size_t i = begin; i < std::min(end, sites.size()); ++i) {
                          edit.ToZeros(sites[i]);
                        }
                        return edit.Finish();
                      });
}

}  // namespace hloscope::debug
