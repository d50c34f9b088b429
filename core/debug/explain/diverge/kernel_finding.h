// KernelFinding: which kernel of a simulated GPU first gives something else than its instruction
// means, and where in its code; a part of a verdict.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/replay/capture/run_stream.h"

namespace hloscope::debug {

// One step of a thread, of those that the worst element comes from.
struct KernelLine {
  std::string kernel;   // of an earlier launch that it reads from; empty: of the finding's
  uint32_t thread = 0;  // in its block, x first
  uint32_t line = 0;    // in the PTX
  std::string text;     // as written
  std::string values;   // "%f3 = 1.5 (0x3fc00000); from …"
  // The fused instruction that has the value it writes, at the element or anywhere; empty: none.
  std::string instruction;
  bool same_bits = false;  // else a few ULP away
  // It decides whether a step is done, or which value reaches it; no value comes from it.
  bool control = false;
  // Of its line among those of the slice, from 1 on: where a fault is likely to be. Those come
  // first that wrong elements come from and right ones do not, then lines nearest to the store;
  // those behind a value that the fused instruction has at the element last.
  uint32_t rank = 0;
};

// A line of the PTX where a fault is likely to be.
struct LookFirst {
  std::string kernel, file;
  uint32_t line = 0;
  std::string text;  // as written
  std::string why;   // in words
};

struct KernelFinding {
  // How many kernels of the run (the first execution of each, and the worst ones of loops) gave the
  // bits of the reference, others within the bounds, and others yet.
  int64_t same_bits = 0, within_bounds = 0, differing = 0;

  // The first that differs; all empty where none does.
  std::string kernel, file;  // its name; its PTX
  std::string source;        // line of the program that it comes from
  int64_t result = 0;        // which array of it has the worst element
  std::vector<int64_t> index;
  std::string value, expected;                // of the element
  std::array<uint32_t, 3> block{}, thread{};  // that stored it; with no stores: nearest to it
  uint32_t line = 0;                          // of the store
  int64_t stores = 0;                         // to the element, of all threads
  // Where its value comes from; the store is the last. With no stores: what the thread does in
  // place of storing there.
  std::vector<KernelLine> slice;
  bool slice_complete = true;
  // What holds of all elements of that array that differ, and of no other, in words
  // (compare/difference_patterns.h).
  std::vector<std::string> patterns;
  std::vector<LookFirst> look_first;  // the most likely first; one for each line
  bool slice_shortened = false;       // of what is done again and again it has the nearest
  // The second implementation of the simulated GPU ran that block: it gave the same bits, or
  // `reference_difference` says where it did not.
  bool reference_agrees = false;
  int64_t reference_checked = 0;  // instructions of lanes
  std::string reference_difference;
  // Races and uninitialised memory that the checks of the simulated GPU find in the kernel alone.
  std::vector<replay::RunFinding> checks;
};

}  // namespace hloscope::debug
