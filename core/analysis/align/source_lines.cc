// Source lines of instructions that have none of their own.
#include "core/analysis/align/lineage.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::analysis {
namespace {

// The instruction that calls the computation of `id` first; invalid where there is none.
hlo::InstructionId CallerOf(const hlo::Module& module, hlo::InstructionId id) {
  return hlo::CallGraphOf(module).FirstCaller(module[id].computation);
}

// Users follow their operands in a computation.
hlo::InstructionId FirstUserWithLine(const hlo::Module& module, hlo::InstructionId id) {
  const hlo::Computation& c = module[module[id].computation];
  std::vector<bool> uses(c.instruction_count, false);
  uses[id.index - c.first_instruction] = true;
  for (uint32_t k = id.index + 1; k < c.first_instruction + c.instruction_count; ++k) {
    hlo::InstructionId user(k);
    for (hlo::InstructionId operand : module.operands(user)) {
      if (operand.index >= c.first_instruction && uses[operand.index - c.first_instruction]) {
        uses[k - c.first_instruction] = true;
      }
    }
    if (uses[k - c.first_instruction] && SourceLineOf(module, user).line != 0) return user;
  }
  return {};
}

// A path as the dump has it, or its end from a `/` on.
bool NamesFile(std::string_view path, std::string_view file) {
  if (!path.ends_with(file) || file.empty()) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/';
}

// What becomes of the marked instructions: whatever comes first of all from one of them.
std::vector<bool> Onward(const Alignment& step, const std::vector<bool>& marked, size_t count) {
  std::vector<bool> next(count, false);
  for (uint32_t id = 0; id < count; ++id) {
    auto origins = step.Origins(hlo::InstructionId(id));
    next[id] = !origins.empty() && marked[origins.front().before.index];
  }
  return next;
}

}  // namespace

std::string_view KeyOf(SourceHow how) {
  constexpr std::string_view kKeys[] = {"none", "own", "ancestor", "caller", "user"};
  return kKeys[static_cast<size_t>(how)];
}

Result<FoundSource> Lineage::Source(int32_t stage, hlo::InstructionId id) const {
  HLOSCOPE_ASSIGN_OR_RETURN(Chain chain, Ancestors(stage, id));
  for (const LineageStep& s : chain.steps) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const hlo::Module> module, Module(s.stage));
    SourceLine line = SourceLineOf(*module, s.instruction);
    SourceHow how = s.from < 0 ? SourceHow::kOwn : SourceHow::kAncestor;
    if (line.line != 0) return FoundSource{line, how, s.stage, s.instruction, s.confidence};
  }
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const hlo::Module> module, Module(stage));
  hlo::InstructionId caller = CallerOf(*module, id);
  constexpr int kMaxCallers = 64;
  for (int steps = 0; caller.valid() && steps < kMaxCallers; ++steps) {
    SourceLine line = SourceLineOf(*module, caller);
    if (line.line != 0) return FoundSource{line, SourceHow::kCaller, stage, caller, 0.7f};
    caller = CallerOf(*module, caller);
  }
  hlo::InstructionId user = FirstUserWithLine(*module, id);
  if (!user.valid()) return FoundSource();
  return FoundSource{SourceLineOf(*module, user), SourceHow::kUser, stage, user, 0.5f};
}

Result<std::vector<hlo::InstructionId>> Lineage::OnLine(int32_t stage, std::string_view file,
                                                        int32_t line) const {
  HLOSCOPE_TRY(loader_(stage));
  std::vector<bool> marked;
  int32_t before = -1;
  for (int32_t at = Neighbour(-1, 1); at >= 0 && at <= stage; at = Neighbour(at, 1)) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const hlo::Module> module, Module(at));
    size_t count = module->instructions().size();
    if (before < 0) {
      marked.assign(count, false);
    } else {
      HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const Alignment> step, Step(before));
      marked = Onward(*step, marked, count);
    }
    for (uint32_t id = 0; id < count; ++id) {
      SourceLine own = SourceLineOf(*module, hlo::InstructionId(id));
      if (own.line != 0) marked[id] = own.line == line && NamesFile(own.file, file);
    }
    before = at;
  }
  std::vector<hlo::InstructionId> found;
  for (uint32_t id = 0; id < marked.size(); ++id) {
    if (marked[id]) found.emplace_back(id);
  }
  return found;
}

}  // namespace hloscope::analysis
