#include "core/analysis/compilation/source_work.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::analysis {

using hlo::InstructionId;

namespace {

constexpr size_t kMaxSources = 8;               // lines that grew, of a module
constexpr int64_t kMinLargeLine = 20;           // instructions
constexpr int64_t kMaxWork = int64_t{1} << 50;  // of an instruction, so that no sum overflows

// What an instruction reads and writes; 0 of those that compute nothing.
int64_t WorkOf(const hlo::Module& m, hlo::InstructionId id) {
  if (hlo::HasTrait(m[id].opcode, hlo::kTraitNoCode)) return 0;
  int64_t bytes = m.shape(id).ByteSize().value_or(0);
  for (const hlo::InstructionId operand : m.operands(id))
    bytes = std::min(kMaxWork, bytes) + std::min(kMaxWork, m.shape(operand).ByteSize().value_or(0));
  return std::min(bytes, kMaxWork);
}

std::map<std::string, int64_t> WorkByLine(const hlo::Module& m, const hlo::Module& given) {
  std::map<std::string, int64_t> out;
  const std::vector<std::string> lines = LinesOf(m, given);
  for (uint32_t k = 0; k < lines.size(); ++k) {
    int64_t& sum = out[lines[k]];
    sum = std::min(kMaxWork, sum + WorkOf(m, hlo::InstructionId(k)));
  }
  return out;
}

// What instructions stand for in the module before all passes: the operands at their places of the
// first user that is called as its own.
class GivenOperands {
 public:
  GivenOperands(const hlo::Module& m, const hlo::Module& given)
      : m_(m), given_(given), replaced_(m.instructions().size()) {
    for (uint32_t k = 0; k < given.instructions().size(); ++k)
      by_name_.try_emplace(given.name(InstructionId(k)), k);
  }
  // Of its operands. Users come before operands.
  void Visit(InstructionId user, const hlo::UserIndex& users) {
    const auto at = by_name_.find(m_.name(user));
    if (at == by_name_.end()) return;
    const InstructionId same(at->second);
    const auto operands = m_.operands(user), were = given_.operands(same);
    if (m_[user].opcode != given_[same].opcode || operands.size() != were.size()) return;
    for (size_t k = 0; k < operands.size(); ++k) {
      InstructionId& replaced = replaced_[operands[k].index];
      if (!replaced.valid() && users.users(operands[k]).front() == user) replaced = were[k];
    }
  }
  std::string LineOf(InstructionId id) const {
    const InstructionId was = replaced_[id.index];
    return was.valid() ? hlo::ToString(hlo::SourceLineOf(given_, was)) : std::string();
  }

 private:
  const hlo::Module &m_, &given_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::vector<InstructionId> replaced_;
};

}  // namespace

std::vector<std::string> LinesOf(const hlo::Module& m, const hlo::Module& given) {
  GivenOperands operands(m, given);
  const hlo::CallGraph& calls = hlo::CallGraphOf(m);
  const hlo::UserIndex& users = hlo::UsersOf(m);
  std::vector<std::string> lines(m.instructions().size());
  for (const hlo::ComputationId c : calls.callers_first()) {
    const hlo::InstructionId caller = calls.FirstCaller(c);
    for (uint32_t k = m[c].instruction_count; k-- > 0;) {
      const InstructionId id(m[c].first_instruction + k);
      operands.Visit(id, users);
      std::string& line = lines[id.index];
      line = hlo::ToString(hlo::SourceLineOf(m, id));
      const hlo::Opcode opcode = m[id].opcode;
      if (!line.empty() || opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kConstant)
        continue;
      if (!users.users(id).empty()) {
        line = operands.LineOf(id);
        if (line.empty()) line = lines[users.users(id).front().index];
      } else if (caller.valid()) {
        line = lines[caller.index];
      }
    }
  }
  return lines;
}

std::vector<SourceGrowth> Grown(std::vector<SourceGrowth> lines) {
  std::erase_if(lines, [](const SourceGrowth& line) { return line.after <= line.before; });
  std::ranges::stable_sort(lines, std::greater(),
                           [](const SourceGrowth& line) { return line.after - line.before; });
  if (lines.size() > kMaxSources) lines.resize(kMaxSources);
  return lines;
}

std::vector<SourceGrowth> Largest(std::vector<SourceGrowth> lines, int64_t instructions) {
  std::erase_if(lines, [&](const SourceGrowth& line) {
    return line.before < kMinLargeLine || line.before * 10 < instructions;
  });
  std::ranges::stable_sort(lines, std::greater(), &SourceGrowth::before);
  return lines;
}

FoldedWork FindFoldedWork(const hlo::Module& before, const hlo::Module& after,
                          const hlo::Module& given) {
  FoldedWork out;
  const std::map<std::string, int64_t> left = WorkByLine(after, given);
  int64_t most = 0;
  for (const auto& [line, bytes] : WorkByLine(before, given)) {
    const auto at = left.find(line);
    const int64_t folded = bytes - (at == left.end() ? 0 : at->second);
    out.bytes = std::clamp(out.bytes + folded, -kMaxWork, kMaxWork);
    if (folded <= most || line.empty()) continue;
    most = folded;
    out.source = line;
  }
  return out;
}

bool IsFoldingPass(std::string_view pass) {
  return pass == "constant_folding" || pass == "constant-folding";
}

}  // namespace hloscope::analysis
