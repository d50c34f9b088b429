// The traits of opcodes.def by opcode, and instructions in two parts.
#include "core/hlo/opcode_traits.h"

namespace hloscope::hlo {
namespace {

constexpr OpcodeTrait kTraits[kOpcodeCount] = {
#define OPCODE(name, text, arity, shape, kernel, category, flags, ...) flags,
#include "core/hlo/opcodes.def"
#undef OPCODE
};

struct AsyncPair {
  Opcode start, done;
  Opcode synchronous;  // does the same at once; or the start
};
constexpr AsyncPair kAsyncPairs[] = {
    {Opcode::kAllGatherStart, Opcode::kAllGatherDone, Opcode::kAllGather},
    {Opcode::kAllReduceStart, Opcode::kAllReduceDone, Opcode::kAllReduce},
    {Opcode::kAsyncStart, Opcode::kAsyncDone, Opcode::kAsyncStart},
    {Opcode::kCollectivePermuteStart, Opcode::kCollectivePermuteDone, Opcode::kCollectivePermute},
    {Opcode::kCopyStart, Opcode::kCopyDone, Opcode::kCopy},
    {Opcode::kRecv, Opcode::kRecvDone, Opcode::kRecv},
    {Opcode::kSend, Opcode::kSendDone, Opcode::kSend},
};

const AsyncPair* FindPair(Opcode AsyncPair::* part, Opcode opcode) {
  for (const AsyncPair& pair : kAsyncPairs) {
    if (pair.*part == opcode) return &pair;
  }
  return nullptr;
}

}  // namespace

bool HasTrait(Opcode opcode, OpcodeTrait trait) {
  return (kTraits[static_cast<size_t>(opcode)] & trait) != 0;
}

std::optional<Opcode> DoneOf(Opcode start) {
  const AsyncPair* pair = FindPair(&AsyncPair::start, start);
  return pair == nullptr ? std::nullopt : std::optional(pair->done);
}

std::optional<Opcode> StartOf(Opcode done) {
  const AsyncPair* pair = FindPair(&AsyncPair::done, done);
  return pair == nullptr ? std::nullopt : std::optional(pair->start);
}

std::optional<Opcode> SynchronousOf(Opcode start) {
  const AsyncPair* pair = FindPair(&AsyncPair::start, start);
  if (pair == nullptr || pair->synchronous == start) return std::nullopt;
  return pair->synchronous;
}

}  // namespace hloscope::hlo
