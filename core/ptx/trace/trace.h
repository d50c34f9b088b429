// What threads of a kernel did, step by step: instructions with the values that they read and
// wrote, where each value came from, and the memory they touched. A debugger goes forward and back
// in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ptx/ptx.h"

namespace hloscope::ptx {

// A register, constant or special register that an instruction names.
struct TracedOperand {
  enum class Kind : uint8_t { kRegister, kSpecial, kConstant };
  std::string name;   // "%r12", "%tid.x"; a constant has none
  uint8_t bytes = 0;  // 0: a predicate
  bool written = false;
  bool guard = false;  // the predicate that it is executed under
  Kind kind = Kind::kRegister;
};

// An instruction of the kernel, whether it was executed or not.
struct TracedInstruction {
  uint32_t line = 0, column = 0;  // in the PTX
  std::string text;               // as written, in one line, without its `;`
  std::string opcode;             // "ld"
  std::string type;               // "f32": of its values; empty where it has none
  std::vector<TracedOperand> operands;

  // The operand is what the instruction is for: what it writes to a register, or stores.
  bool Makes(size_t operand) const {
    const TracedOperand& made = operands[operand];
    return made.bytes > 0 && (opcode == "st" ? operand > 0 && !made.guard : made.written);
  }
};

// A step of a thread, counted from 0.
struct StepRef {
  int32_t thread = -1;  // in its block, x first; -1: none
  int64_t step = -1;    // -1: a step that was not recorded, or none
};

struct TracedValue {
  uint64_t bits = 0;
  // What is read: the step that wrote it (no thread: what was there when the kernel began, a
  // constant, a special register). What a shuffle writes: the step of the other thread.
  StepRef from;
};

enum class TracedSpace : uint8_t { kArgument, kVariable, kShared, kLocal, kParameters };
std::string_view NameOf(TracedSpace space);  // "argument"

// Who used a piece of shared memory, of any thread.
struct SharedUse {
  StepRef step;
  uint32_t instruction = 0;
  uint64_t turn = 0;  // as TracedStep has it; 0: nobody
};

struct TracedAccess {
  TracedSpace space = TracedSpace::kArgument;
  uint32_t number = 0;  // of the argument, or of the variable of the module
  uint64_t offset = 0;  // in it
  uint32_t bytes = 0;
  bool writes = false;
  uint32_t first_byte = 0;  // in ThreadTrace::bytes; of a read beyond the end: what is there
  uint32_t held = 0;        // how many of them there are
  // A read of shared or local memory: the step that wrote its first byte, of any thread.
  StepRef from;
  // Of shared memory: that step, those that wrote the bytes just before and just behind it, and
  // those that had read its first byte behind the last write, the last ones last. Where guards
  // count as steps.
  SharedUse writer, beside[2];
  std::vector<SharedUse> readers;
};

struct TracedStep {
  uint32_t instruction = 0;  // in ThreadTrace::instructions
  uint32_t first_value = 0;  // one for each operand of the instruction
  uint32_t first_access = 0, accesses = 0;
  uint64_t turn = 0;     // of the block: earlier steps have lower ones, lanes of a warp the same
  bool skipped = false;  // its guard kept it from being done
};

struct ThreadTrace {
  uint32_t thread = 0;   // in its block, x first
  int64_t first = 0;     // steps before it were not recorded
  int64_t executed = 0;  // steps of the thread, recorded or not
  std::vector<TracedStep> steps;
  std::vector<TracedValue> values;
  std::vector<TracedAccess> accesses;
  std::vector<std::byte> bytes;

  bool Has(int64_t step) const {
    return step >= first && step < first + static_cast<int64_t>(steps.size());
  }
  const TracedStep& at(int64_t step) const { return steps[static_cast<size_t>(step - first)]; }
  std::span<const TracedAccess> AccessesOf(const TracedStep& step) const {
    return std::span(accesses).subspan(step.first_access, step.accesses);
  }
  std::span<const std::byte> BytesOf(const TracedAccess& access) const {
    return std::span(bytes).subspan(access.first_byte, access.held);
  }
};

struct BlockTrace {
  std::string kernel, file;
  std::array<uint32_t, 3> block{};
  std::vector<TracedInstruction> instructions;  // of the kernel
  std::vector<ThreadTrace> threads;             // as asked for
  // Of each instruction that wrote to shared memory the last use, of any thread. Where guards count
  // as steps.
  std::vector<SharedUse> shared_stores;
  std::optional<Fault> fault;  // where the block ended

  const ThreadTrace* Find(int32_t thread) const;  // null: it was not recorded
  std::span<const TracedValue> ValuesOf(const ThreadTrace& trace, const TracedStep& step) const {
    return std::span(trace.values)
        .subspan(step.first_value, instructions[step.instruction].operands.size());
  }
};

struct TraceRequest {
  std::array<uint32_t, 3> block{};
  std::vector<uint32_t> threads;  // in the block, x first
  int64_t first = 0;              // the first step that is recorded of each
  int64_t most = 1 << 20;         // steps recorded, of all threads together
  bool skipped = false;           // what guards keep from being done counts as a step too
};

// Runs one block of the launch, which writes to the arguments as a launch does, and records what
// those threads do. Errors: those of Launch; input for a thread or block that the launch has not,
// with those that it has.
Result<BlockTrace> Trace(const Module& module, const LaunchRequest& launch,
                         const TraceRequest& request, LaunchOptions options = {});

// A value as its instruction takes it: "1.5 (0x3fc00000)", "-3 (0xfffffffd)", "true".
std::string ValueText(uint64_t bits, uint8_t bytes, std::string_view type);

// "%f3 = 1.5 (0x3fc00000)", "argument 2 at byte 64": a step in one line behind its text.
std::string StepText(const BlockTrace& trace, const ThreadTrace& thread, const TracedStep& step);

}  // namespace hloscope::ptx
