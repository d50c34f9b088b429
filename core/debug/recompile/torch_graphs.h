// TorchGraph: one graph of PyTorch/XLA, by its hash, as the blocks of PT_XLA_DEBUG describe it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hloscope::debug {

struct TorchGraph {
  std::string hash, name;
  std::string cause;            // of its first compilation, or of its first run where there is none
  std::string function, place;  // the user's innermost frame: "step", "/home/me/train.py:8"
  int64_t inputs = -1, outputs = -1;  // -1: unknown
  int64_t compilations = 0, executions = 0;
  std::vector<std::string> sizes;  // "12.124478 GiB of intermediate tensors"
  int64_t line = 0;                // of the log, from 1
};

struct TorchGraphText {
  bool is_fault;
  std::string reason, fix;
};
// Whether the cause is a fault of the program: the end of a step is none.
bool IsFault(const TorchGraph& graph);
// Of graph k of a log.
TorchGraphText TextOf(const std::vector<TorchGraph>& graphs, size_t k);

}  // namespace hloscope::debug
