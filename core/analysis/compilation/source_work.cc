#include "core/analysis/compilation/source_work.h"

#include <algorithm>
#include <map>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/analysis/users.h"

namespace hloscope::analysis {
namespace {

constexpr int64_t kMaxWork = int64_t{1} << 50;  // of an instruction, so that no sum overflows

// What an instruction reads and writes; 0 of those that compute nothing.
int64_t WorkOf(const hlo::Module& m, hlo::InstructionId id) {
  switch (m[id].opcode) {
    case hlo::Opcode::kParameter:
    case hlo::Opcode::kConstant:
    case hlo::Opcode::kTuple:
    case hlo::Opcode::kGetTupleElement:
    case hlo::Opcode::kBitcast:
      return 0;
    default:
      break;
  }
  int64_t bytes = m.shape(id).ByteSize().value_or(0);
  for (const hlo::InstructionId operand : m.operands(id))
    bytes = std::min(kMaxWork, bytes) + std::min(kMaxWork, m.shape(operand).ByteSize().value_or(0));
  return std::min(bytes, kMaxWork);
}

std::map<std::string, int64_t> WorkByLine(const hlo::Module& m) {
  std::map<std::string, int64_t> out;
  const std::vector<std::string> lines = LinesOf(m);
  for (uint32_t k = 0; k < lines.size(); ++k) {
    int64_t& sum = out[lines[k]];
    sum = std::min(kMaxWork, sum + WorkOf(m, hlo::InstructionId(k)));
  }
  return out;
}

}  // namespace

std::vector<std::string> LinesOf(const hlo::Module& m) {
  const hlo::CallGraph& calls = hlo::CallGraphOf(m);
  const hlo::UserIndex& users = hlo::UsersOf(m);
  std::vector<std::string> lines(m.instructions().size());
  for (const hlo::ComputationId c : calls.callers_first()) {
    const hlo::InstructionId caller = calls.FirstCaller(c);
    for (uint32_t k = m[c].instruction_count; k-- > 0;) {
      const hlo::InstructionId id(m[c].first_instruction + k);
      std::string& line = lines[id.index];
      line = hlo::ToString(hlo::SourceLineOf(m, id));
      const hlo::Opcode opcode = m[id].opcode;
      if (!line.empty() || opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kConstant)
        continue;
      if (!users.users(id).empty()) {
        line = lines[users.users(id).front().index];
      } else if (caller.valid()) {
        line = lines[caller.index];
      }
    }
  }
  return lines;
}

FoldedWork FindFoldedWork(const hlo::Module& before, const hlo::Module& after) {
  FoldedWork out;
  const std::map<std::string, int64_t> left = WorkByLine(after);
  int64_t most = 0;
  for (const auto& [line, bytes] : WorkByLine(before)) {
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
