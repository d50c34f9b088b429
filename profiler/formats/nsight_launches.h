// Which instruction the work of a GPU was started for, in an export of Nsight Systems: XLA opens an
// NVTX range around what it starts, `Thunk:#hlo_op=add.1#` inside `XlaModule:#hlo_module=…#`, and a
// kernel has the number of the call that started it, or of the graph's node it is.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profiler/event_store_builder.h"

namespace hloscope::profiler {

class NsightLaunches {
 public:
  explicit NsightLaunches(EventStoreBuilder& builder) : builder_(builder) {}

  // Threads are the globalTid of the export.
  void AddRange(int64_t thread, int64_t begin, int64_t end, NameId text);
  void AddCall(int64_t thread, int64_t begin, int64_t correlation);
  void AddNode(int64_t thread, int64_t begin, int64_t node);

  // Between what was added and the questions.
  void Resolve();

  // The operation of what the call of a process (any globalTid or globalPid of it) started, and of
  // a node of a graph; invalid where no range around it says one.
  OperationId OfCall(int64_t process, int64_t correlation) const;
  OperationId OfNode(int64_t process, int64_t node) const;

 private:
  struct Range {
    int64_t thread, begin, end;
    NameId text;
  };
  struct Moment {
    int64_t thread, begin;
    uint64_t key;  // process and correlation or node
    bool is_node;
  };
  static uint64_t KeyOf(int64_t thread, int64_t number) {
    constexpr int kThreadBits = 24;
    const auto process = static_cast<uint64_t>(thread) >> kThreadBits;
    return process * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(number);
  }
  const Operation& OperationOf(NameId text);

  EventStoreBuilder& builder_;
  std::vector<Range> ranges_;
  std::vector<Moment> moments_;
  std::unordered_map<uint32_t, Operation> operations_;  // by the text of a range
  std::unordered_map<uint64_t, OperationId> calls_, nodes_;
};

}  // namespace hloscope::profiler
