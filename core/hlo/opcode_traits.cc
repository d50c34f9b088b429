// The traits of opcodes.def by opcode, and the pairs of async_pairs.def.
#include "core/hlo/opcode_traits.h"

namespace hloscope::hlo {
namespace {

constexpr OpcodeTrait kTraits[kOpcodeCount] = {
#define OPCODE(name, text, arity, shape, kernel, category, flags, ...) flags,
#include "core/hlo/opcodes.def"
#undef OPCODE
};

struct AsyncPair {
  Opcode start, done, synchronous;
};
constexpr AsyncPair kAsyncPairs[] = {
#define ASYNC_PAIR(start, done, synchronous) {Opcode::start, Opcode::done, Opcode::synchronous},
#include "core/hlo/async_pairs.def"
#undef ASYNC_PAIR
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
