// Steps of one expression: LANES(D, A, f(a)) returns the step that writes a D of each A, LANES2 and
// LANES3 take more operands.
#pragma once

#include "core/ptx/machine/lanes.h"

#define LANES(D, A, expression)                                         \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {   \
    Map<D, A>(w, s, m, [](A a) { return static_cast<D>(expression); }); \
  }
#define LANES2(D, A, B, expression)                                             \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {           \
    Map<D, A, B>(w, s, m, [](A a, B b) { return static_cast<D>(expression); }); \
  }
#define LANES3(D, A, B, C, expression)                                                  \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {                   \
    Map<D, A, B, C>(w, s, m, [](A a, B b, C c) { return static_cast<D>(expression); }); \
  }
