// The typed form of kernels: instructions whose operands are offsets into the registers of a warp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ptx/text/syntax.h"

namespace hloscope::ptx {

enum class Operation : uint8_t {
#define OPERATION(enumerator, counted) enumerator,
#include "core/ptx/ir/operations.def"
#undef OPERATION
};

enum class InstructionClass : uint8_t {
  kArithmetic,
  kBitwise,
  kMove,
  kCompare,
  kConvert,
  kFunction,
  kMemory,
  kControl,
  kWarp,
  kTensor,
  kCount
};
InstructionClass ClassOf(Operation operation);

// An enum for every group of modifiers.def; kNone where the instruction has none of it.
#define GROUP(name) enum class name : uint8_t { kNone,
#define VALUE(name, enumerator, text) enumerator,
#define END(name) \
  }               \
  ;
#include "core/ptx/ir/modifiers.def"
#undef GROUP
#undef VALUE
#undef END

enum class ModifierGroup : uint8_t {
#define GROUP(name) k##name,
#define VALUE(name, enumerator, text)
#define END(name)
#include "core/ptx/ir/modifiers.def"
#undef GROUP
#undef VALUE
#undef END
  kCount
};

enum class Special : uint8_t {
#define SPECIAL(enumerator, text) enumerator,
#include "core/ptx/ir/special_registers.def"
#undef SPECIAL
};

constexpr bool DependsOnBlock(Special special) {
  return (special >= Special::kCtaidX && special <= Special::kCtaidZ) ||
         (special >= Special::kClusterIdX && special <= Special::kClusterIdZ) ||
         (special >= Special::kInClusterX && special <= Special::kInClusterZ) ||
         special == Special::kClusterRank;
}

// mma.sync: what a warp multiplies out of its registers.
constexpr bool IsMma(Operation operation) {
  return operation >= Operation::kMmaK16 && operation <= Operation::kMmaNarrow;
}

inline bool IsShared(StateSpace space) {
  return space == StateSpace::kShared || space == StateSpace::kSharedCta ||
         space == StateSpace::kSharedCluster;
}

// The place of an operand: an offset into the registers of a warp or, with kConstant, into the
// constants of the kernel. There are 32 values of `bytes` each; a predicate (0 bytes) is one mask
// of 32 bits.
struct Slot {
  static constexpr uint32_t kConstant = 0x80000000u;
  static constexpr uint32_t kAbsent = 0xffffffffu;  // a sink, or an operand that was left out
  uint32_t offset = kAbsent;
  uint8_t bytes = 0;
  bool negated = false;  // of a predicate
  bool written = false;  // a destination
  bool present() const { return offset != kAbsent; }
};

struct Instruction {
  Operation operation = Operation::kNop;
  Type type = Type::kB32;    // T of its form
  Type source = Type::kB32;  // U of its form
  std::array<uint8_t, static_cast<size_t>(ModifierGroup::kCount)> modifiers{};
  bool approximate = false;  // .approx or .full
  bool guard_negated = false;
  uint32_t guard = Slot::kAbsent;  // offset of the predicate it is executed under
  uint32_t first_slot = 0;         // into Kernel::slots
  uint32_t slot_count = 0;
  uint32_t target = 0;                // of a branch: an index of an instruction
  int64_t offsets[4] = {0, 0, 0, 0};  // added to its addresses
  uint32_t value = 0;  // its integer that is known now: the size of cp.async, the # of its form
  // From 1 on: its addresses stay the same in a block, and are kept there (Warp::kept). 0: not so.
  uint32_t kept = 0;
  Position position;

  bool warp_wide = false;   // waits for the lanes of its member mask, or for all
  bool group_wide = false;  // and for the other three warps of the warp group

  uint32_t vector_width() const;
};

// The value of a modifier group: ModifierRound(instruction).
#define GROUP(name)                                                                     \
  inline name Modifier##name(const Instruction& i) {                                    \
    return static_cast<name>(i.modifiers[static_cast<size_t>(ModifierGroup::k##name)]); \
  }
#define VALUE(name, enumerator, text)
#define END(name)
#include "core/ptx/ir/modifiers.def"
#undef GROUP
#undef VALUE
#undef END

// Of kMmaNarrow and scaled tcgen05.mma: two elements of four bits in each byte, 64 along k.
inline bool HoldsPairs(const Instruction& i) {
  return ModifierScaledKind(i) == ScaledKind::kMxf4 ||
         ModifierScaledKind(i) == ScaledKind::kMxf4nvf4;
}

// Whether it is a tcgen05.mma.
inline bool IsTensorMultiply(const Instruction& i) {
  return i.operation == Operation::kTensorMultiply ||
         i.operation == Operation::kTensorMultiplyFromMemory ||
         i.operation == Operation::kTensorMultiplyScaled ||
         i.operation == Operation::kTensorMultiplyScaledFromMemory;
}

// How many coordinates a copy by a tensor map has: one for each dimension, or a column and four
// rows.
inline uint32_t TensorCoordinates(const Instruction& i) {
  constexpr uint32_t kColumnAndRows = 5;
  return ModifierChosenRows(i) == ChosenRows::kNone ? i.value : kColumnAndRows;
}

// Addresses: window << kWindowShift | offset. Global and generic addresses name their window; those
// of .shared, .local and .param are offsets into the one window of that space.
inline constexpr uint32_t kWindowShift = 36;
inline constexpr uint64_t kSharedWindow = 1;
inline constexpr uint64_t kLocalWindow = 2;
inline constexpr uint64_t kParamWindow = 3;
inline constexpr uint64_t kFirstArgumentWindow = 16;
inline constexpr uint64_t kFirstVariableWindow = 8192;

struct ByteRange {
  uint32_t offset = 0, bytes = 0;
};

struct Parameter {
  std::string name;
  uint64_t offset = 0;  // in the window of parameters
  uint64_t bytes = 0;
  bool is_pointer = false;
  uint32_t pointer_align = 0;
};

struct Kernel {
  std::string name;
  Position position;
  std::vector<Parameter> parameters;
  uint64_t parameter_bytes = 0;
  uint32_t required_threads[3] = {0, 0, 0};
  uint32_t required_cluster[3] = {0, 0, 0};  // blocks
  std::vector<Instruction> instructions;
  std::vector<Slot> slots;
  std::vector<uint32_t> branch_targets;  // of .branchtargets: `target` of them from `value` on
  uint64_t register_bytes = 0;           // of one warp
  uint32_t kept_accesses = 0;            // see ir/kept_addresses.h
  std::vector<ByteRange> cleared;        // registers that start at 0: see ir/first_reads.h
  std::vector<ByteRange> read_first;  // those of them that it may read before it has written them
  std::vector<ByteRange> sums_first;  // the same of sums of wgmma, where it adds to them
  std::vector<uint8_t> constants;
  std::vector<std::pair<Special, uint32_t>> specials;  // and the offsets they are wanted at
  uint64_t static_shared_bytes = 0;                    // dynamic shared memory follows
  uint64_t local_bytes = 0;                            // of one thread
  uint64_t stack_begin = 0;  // of what alloca gives out, which ends with local memory
  bool wants_block_order =
      false;  // global atomics or loads that wait for other blocks: blocks run in index order
  std::vector<std::string> forms;  // of each instruction, as written; aligned with `instructions`
  std::vector<Error> unsupported;  // why it cannot run; empty where it can
};

struct Program {
  Syntax syntax;
  std::vector<Kernel> kernels;
};

}  // namespace hloscope::ptx
