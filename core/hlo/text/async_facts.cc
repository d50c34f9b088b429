// Which computation an asynchronous instruction runs, whether XLA prints it as sugar, and on which
// thread computations run.
#include <string>

#include "core/hlo/analysis/async_chain.h"
#include "core/hlo/text/text_printer.h"

namespace hloscope::hlo {
namespace {

bool IsAsync(Opcode opcode) {
  return opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncUpdate ||
         opcode == Opcode::kAsyncDone;
}

// XLA: nothing but parameters beside the root.
bool IsSingleInstruction(const Module& module, const Computation& c) {
  for (uint32_t k = 0; k < c.instruction_count; ++k) {
    InstructionId id(c.first_instruction + k);
    if (id != c.root && module[id].opcode != Opcode::kParameter) return false;
  }
  return true;
}

// The reader of a sugared form copies these from the async-start to the wrapped instruction.
bool IsCopied(AttributeKey key) {
  return key == AttributeKey::kFrontendAttributes || key == AttributeKey::kStatistics ||
         key == AttributeKey::kOrigin || key == AttributeKey::kMetadata ||
         key == AttributeKey::kBackendConfig;
}

bool HasCopiesOnly(const Module& module, const Instruction& start, const Instruction& root) {
  for (const Attribute& a : module.attributes(start)) {
    if (!IsCopied(a.key)) continue;
    const Attribute* copy = module.Find(root, a.key);
    if (copy == nullptr || copy->value != a.value) return false;
  }
  for (const Attribute& a : module.attributes(root)) {
    if (IsCommon(a.key) && (!IsCopied(a.key) || module.Find(start, a.key) == nullptr)) return false;
  }
  return true;
}

// True if reading the sugared form gives this computation back: the root takes all parameters in
// order, and carries nothing but its own attributes.
bool ComesBack(const Module& module, const Instruction& start, const Computation& c) {
  const Instruction& root = module[c.root];
  if (root.opcode == Opcode::kParameter || IsAsync(root.opcode)) return false;
  // all-gather-start, send-done and their like are opcodes of their own.
  std::string text(ToString(root.opcode));
  if (OpcodeFromText(text + "-start") || OpcodeFromText(text + "-done")) return false;
  // The reader gives the root the shape the start has as its result.
  const Shape& state = module[start.shape];
  if (!state.IsTuple() || state.elements().size() < 2) return false;
  if (state.elements()[1] != module[root.shape]) return false;
  if (root.operand_count + 1 != c.instruction_count) return false;
  if (start.operand_count != root.operand_count) return false;  // some are bound later
  if (!HasCopiesOnly(module, start, root)) return false;
  int64_t number = 0;
  for (InstructionId operand : module.operands(root)) {
    const Instruction& parameter = module[operand];
    if (parameter.opcode != Opcode::kParameter || parameter.attribute_count != 1) return false;
    if (module.GetInt(parameter, AttributeKey::kParameterNumber, -1) != number) return false;
    // The reader gives a parameter the shape of what is bound to it.
    InstructionId bound = module.operands(start)[static_cast<size_t>(number++)];
    if (module[bound].shape != parameter.shape) return false;
  }
  return true;
}

}  // namespace

AsyncFacts::AsyncFacts(const Module& module) : module_(module) {
  FindWrapped();
  if (wrapped_.empty()) return;
  FindSugared();
  SpreadThreads();
}

// An -update or -done whose start is not found may still name the computation itself.
void AsyncFacts::FindWrapped() {
  const AsyncChains& chains = AsyncChainsOf(module_);
  if (chains.all().empty()) return;
  wrapped_.resize(module_.instructions().size());
  for (InstructionId id : chains.all()) {
    InstructionId start = chains.start(id).valid() ? chains.start(id) : id;
    wrapped_[id.index] = module_.GetComputation(module_[start], AttributeKey::kCalls);
    if (start == id && module_[id].opcode == Opcode::kAsyncStart && wrapped_[id.index].valid()) {
      starts_.push_back(id);
    }
  }
}

void AsyncFacts::FindSugared() {
  sugared_.resize(module_.computations().size(), 0);
  for (InstructionId start : starts_) {
    ComputationId wrapped = wrapped_[start.index];
    sugared_[wrapped.index] = IsSingleInstruction(module_, module_[wrapped]) ? 1 : 0;
  }
}

void AsyncFacts::KeepLossless() {
  std::vector<uint8_t> seen(sugared_.size(), 0);
  for (InstructionId start : starts_) {
    ComputationId wrapped = wrapped_[start.index];
    bool shared = seen[wrapped.index]++ != 0;  // sugar would make a computation for each start
    if (shared || !ComesBack(module_, module_[start], module_[wrapped])) {
      sugared_[wrapped.index] = 0;
    }
  }
}

// A later async-start has the last word, so they are taken last first and what has a thread keeps
// it, with everything it calls.
void AsyncFacts::SpreadThreads() {
  for (const Computation& c : module_.computations()) threads_.push_back(c.execution_thread);
  std::vector<uint8_t> settled(threads_.size(), 0);
  std::vector<uint32_t> work;
  for (size_t s = starts_.size(); s-- > 0;) {
    const Instruction& start = module_[starts_[s]];
    const Attribute* thread = module_.Find(start, AttributeKey::kAsyncExecutionThread);
    StringId name = thread == nullptr ? StringId() : StringId(thread->value);
    work.push_back(wrapped_[starts_[s].index].index);
    while (!work.empty()) {
      uint32_t c = work.back();
      work.pop_back();
      if (settled[c] != 0) continue;
      settled[c] = 1;
      threads_[c] = name;
      for (const Instruction& i : module_.instructions(module_.computations()[c])) {
        if (i.attribute_count == 0) continue;
        for (ComputationId callee : PrintedCalls(module_, i)) work.push_back(callee.index);
      }
    }
  }
}

}  // namespace hloscope::hlo
