// Structure: ids within bounds, operands before users, names, roots, parameters, and the call
// graph. What later passes index without asking is made sure of here.
#include <algorithm>

#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {
namespace {

using std::to_string;

// Ranges of computations; nothing can be indexed before they hold.
bool CheckRanges(VerifyContext& context) {
  const Module& module = context.module();
  size_t total = module.instructions().size();
  if (!module.entry_id().valid() || module.entry_id().index >= module.computations().size()) {
    context.ModuleError("entry", "the module has no entry computation");
    return false;
  }
  for (size_t c = 0; c < module.computations().size(); ++c) {
    const Computation& computation = module.computations()[c];
    size_t first = computation.first_instruction, count = computation.instruction_count;
    if (count == 0 || first > total || count > total - first) {
      context.ModuleError("empty-computation",
                          "computation " + context.Name(ComputationId(c)) + " has no instructions");
      continue;
    }
    uint32_t root = computation.root.index;
    if (root < first || root >= first + count) {
      context.Error(InstructionId(first), "root",
                    "the root of computation " + context.Name(ComputationId(c)) +
                        " is not one of its instructions");
    }
    for (size_t k = first; k < first + count; ++k) {
      if (module.instructions()[k].computation.index == c) continue;
      context.Error(InstructionId(k), "computation",
                    context.Name(InstructionId(k)) + " belongs to another computation");
    }
  }
  return context.error_count() == 0;
}

void CheckOperands(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  for (InstructionId operand : module.operands(i)) {
    if (operand.index < id.index && module[operand].computation == i.computation) continue;
    if (!operand.valid() || operand.index >= module.instructions().size()) {
      context.Error(id, "operand", context.Name(id) + " has an operand that does not exist");
    } else if (module[operand].computation != i.computation) {
      context.Error(id, "operand-computation",
                    context.Name(id) + " in " + context.Name(i.computation) + " has operand " +
                        context.Name(operand) + " of computation " +
                        context.Name(module[operand].computation));
    } else {
      context.Error(id, "operand-order",
                    operand == id
                        ? context.Name(id) + " is its own operand"
                        : context.Name(id) + " comes before its operand " + context.Name(operand),
                    "an instruction must come after all its operands; a cycle cannot be ordered");
    }
  }
}

// Ids inside attributes. Control predecessors are looked at by CheckControlEdges.
void CheckAttributeIds(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  for (const Attribute& a : module.attributes(module[id])) {
    ValueKind kind = Info(a.key).kind;
    if (kind == ValueKind::kComputation || kind == ValueKind::kComputations) {
      auto check = [&](uint32_t computation) {
        if (computation < module.computations().size()) return;
        context.Error(id, "computation",
                      context.Name(id) + " calls a computation that does not exist");
      };
      if (kind == ValueKind::kComputation) {
        check(a.value);
      } else {
        for (uint32_t computation : module.IdsOf(a)) check(computation);
      }
    } else if (kind == ValueKind::kShape && a.value >= module.shape_count()) {
      context.Error(id, "shape", context.Name(id) + " refers to a shape that does not exist");
    } else if (kind == ValueKind::kShapes) {
      for (uint32_t shape : module.IdsOf(a)) {
        if (shape < module.shape_count()) continue;
        context.Error(id, "shape", context.Name(id) + " refers to a shape that does not exist");
      }
    }
  }
}

class NameCheck {
 public:
  explicit NameCheck(VerifyContext& context)
      : context_(context), seen_in_(context.module().strings().size(), Id<void>::kNone) {}

  void Check(InstructionId id) {
    const Instruction& i = context_.module()[id];
    if (!i.name.valid() || i.name.index >= seen_in_.size() || context_.module()[i.name].empty()) {
      context_.Error(id, "name",
                     "an instruction of " + context_.Name(i.computation) + " has no name");
      return;
    }
    uint32_t& seen = seen_in_[i.name.index];
    if (seen == i.computation.index) {
      context_.Error(id, "duplicate-name",
                     "two instructions of " + context_.Name(i.computation) + " are called " +
                         context_.Name(id),
                     "rename one of them");
    }
    seen = i.computation.index;
  }

 private:
  VerifyContext& context_;
  std::vector<uint32_t> seen_in_;  // by StringId: the last computation that used the name
};

void CheckComputationNames(VerifyContext& context) {
  const Module& module = context.module();
  std::vector<bool> seen(module.strings().size());
  for (size_t c = 0; c < module.computations().size(); ++c) {
    const Computation& computation = module.computations()[c];
    if (!computation.name.valid() || computation.name.index >= seen.size()) continue;
    if (seen[computation.name.index]) {
      context.Error(InstructionId(computation.first_instruction), "duplicate-name",
                    "two computations are called " + context.Name(ComputationId(c)),
                    "rename one of them");
    }
    seen[computation.name.index] = true;
  }
}

// Follows operand and control edges of one computation by Kahn's algorithm; only called where some
// control predecessor comes after its successor.
void CheckControlCycle(VerifyContext& context, ComputationId c) {
  const Module& module = context.module();
  const Computation& computation = module[c];
  size_t first = computation.first_instruction, count = computation.instruction_count;
  std::vector<uint32_t> waiting(count), start(count + 1), next, ready;
  auto for_each_edge = [&](auto&& visit) {
    for (size_t k = 0; k < count; ++k) {
      const Instruction& i = module.instructions()[first + k];
      for (InstructionId o : module.operands(i)) visit(o.index - first, k);
      const Attribute* control = module.Find(i, AttributeKey::kControlPredecessors);
      if (control == nullptr) continue;
      for (uint32_t p : module.IdsOf(*control)) visit(p - first, k);
    }
  };
  for_each_edge([&](size_t from, size_t to) { ++start[from + 1], ++waiting[to]; });
  for (size_t k = 0; k < count; ++k) start[k + 1] += start[k];
  std::vector<uint32_t> targets(start.back());
  next.assign(start.begin(), start.end() - 1);
  for_each_edge([&](size_t from, size_t to) { targets[next[from]++] = static_cast<uint32_t>(to); });
  for (uint32_t k = 0; k < count; ++k) {
    if (waiting[k] == 0) ready.push_back(k);
  }
  for (size_t k = 0; k < ready.size(); ++k) {
    for (uint32_t e = start[ready[k]]; e < start[ready[k] + 1]; ++e) {
      if (--waiting[targets[e]] == 0) ready.push_back(targets[e]);
    }
  }
  if (ready.size() == count) return;
  size_t stuck = static_cast<size_t>(
      std::find_if(waiting.begin(), waiting.end(), [](uint32_t w) { return w != 0; }) -
      waiting.begin());
  context.Error(InstructionId(first + stuck), "control-cycle",
                context.Name(InstructionId(first + stuck)) +
                    " waits for itself through control predecessors");
}

void CheckControlEdges(VerifyContext& context) {
  const Module& module = context.module();
  bool scheduled = module.header().is_scheduled;
  ComputationId backward;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const Instruction& i = module.instructions()[k];
    const Attribute* control = module.Find(i, AttributeKey::kControlPredecessors);
    if (control == nullptr) continue;
    InstructionId id(k);
    for (uint32_t p : module.IdsOf(*control)) {
      if (p >= module.instructions().size() ||
          module.instructions()[p].computation != i.computation) {
        context.Error(id, "control-predecessor",
                      context.Name(id) + " has a control predecessor outside its computation");
        return;
      }
      if (p < k) continue;
      if (p == k) {
        context.Error(id, "control-cycle", context.Name(id) + " is its own control predecessor");
      } else if (scheduled) {
        context.Error(id, "schedule",
                      context.Name(id) + " is scheduled before its control predecessor " +
                          context.Name(InstructionId(p)));
      } else if (backward != i.computation) {
        backward = i.computation;
        CheckControlCycle(context, i.computation);
      }
    }
  }
}

}  // namespace

bool VerifyStructure(VerifyContext& context) {
  const Module& module = context.module();
  if (module.name().empty()) context.ModuleError("module-name", "the module has no name");
  if (!CheckRanges(context)) return false;
  NameCheck names(context);
  for (uint32_t k = 0; k < module.instructions().size() && !context.full(); ++k) {
    InstructionId id(k);
    const Instruction& i = module[id];
    if (i.shape.index >= module.shape_count()) {
      context.Error(id, "shape", context.Name(id) + " has no shape");
    }
    CheckOperands(context, id);
    if (i.attribute_count != 0) CheckAttributeIds(context, id);
    names.Check(id);
  }
  CheckComputationNames(context);
  context.IndexParameters();
  if (context.error_count() != 0) return false;
  CheckControlEdges(context);
  return context.error_count() == 0;
}

bool VerifyCalls(VerifyContext& context) {
  const Module& module = context.module();
  context.IndexCalls();
  if (context.call_order().size() != module.computations().size()) {
    std::vector<bool> ordered(module.computations().size());
    for (ComputationId c : context.call_order()) ordered[c.index] = true;
    for (InstructionId id : context.with_callees()) {
      if (ordered[module[id].computation.index]) continue;
      context.Error(id, "call-cycle",
                    "computation " + context.Name(module[id].computation) +
                        " calls itself, directly or through others",
                    "recursion is not allowed in HLO");
      return false;
    }
  }
  // The longest chain of calls, entry first.
  std::vector<int64_t> depth(module.computations().size(), 1);
  int64_t deepest = context.options().limits.nesting;
  for (ComputationId c : context.call_order()) {
    for (InstructionId caller : context.callers(c)) {
      depth[c.index] = std::max(depth[c.index], depth[module[caller].computation.index] + 1);
    }
    if (depth[c.index] <= deepest) continue;
    context.Error(InstructionId(module[c].first_instruction), "call-depth",
                  "computation " + context.Name(c) + " is called through " +
                      to_string(depth[c.index]) + " levels, the limit is " + to_string(deepest),
                  "raise it with --limit nesting=N");
    return false;
  }
  if (context.IsFusion(module.entry_id())) {
    context.Error(module.entry().root, "entry", "the entry computation is called by a fusion");
  }
  return context.error_count() == 0;
}

}  // namespace hloscope::hlo
