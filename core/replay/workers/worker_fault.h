// WorkerFault: lets a worker go wrong on purpose, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/replay/workers/worker_protocol.h"

namespace hloscope::replay {

// HLOSCOPE_WORKER_FAULT=WHAT@STAGE[#N]: the N-th time (1) that the worker comes to STAGE, written
// as in worker_protocol.cc with - for spaces. WHAT is the name of a signal without SIG (SEGV, ABRT,
// BUS, FPE, KILL …), exitN, hang, overflow (of the stack), allocate (without end), print (a line on
// both outputs), garbage (bytes that are no frame) or close (the connection).
class WorkerFault {
 public:
  static WorkerFault FromEnvironment();
  void At(WorkerStage stage);

 private:
  std::string what_;
  std::string stage_;
  int64_t left_ = 1;
};

}  // namespace hloscope::replay
