// DevicePlans: plans run on a device: one block of its memory for all buffers, launches on one
// stream, as one CUDA graph from the second run on where the plan has no branches or hand-overs,
// nor loops where the driver has no conditional nodes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/backends/compiled/plan_run.h"
#include "core/backends/cuda/collectives.h"
#include "core/backends/cuda/device_recorder.h"
#include "core/backends/cuda/handles.h"
#include "core/backends/cuda/loop_nodes.h"
#include "core/backends/cuda/transfers.h"

namespace hloscope::replay::cuda {

// What stays on the device between runs of one plan, each for one run at a time.
struct PlanState {
  Stream stream;
  std::optional<Transfers> transfers;
  DeviceMemory memory;
  std::vector<Address> addresses;  // by buffer
  Address scratch = 0;
  DeviceMemory pieces;                 // of collectives
  std::vector<runtime::Value> values;  // by buffer: what was uploaded and is never written there
  int64_t runs = 0;
  bool can_be_graph = true;
  std::optional<LoopNodes> loops;  // of the graph; none where it has none
  GraphExec graph;
  // Of what runs once in a launch of the graph; of a turn of each loop in it.
  struct Counts {
    CodeCounts code;
    int64_t launches = 0;
  };
  struct LoopCounts {
    Counts condition, body;
  };
  Counts graph_counts;
  std::vector<LoopCounts> loop_counts;
};

// Of one GPU and the code on it.
class DevicePlans {
 public:
  // `collectives`: of the devices of a run; null: it has one.
  DevicePlans(std::shared_ptr<const Device> device, std::shared_ptr<DeviceRecorder> recorder,
              std::shared_ptr<Collectives> collectives)
      : device_(std::move(device)),
        recorder_(std::move(recorder)),
        collectives_(std::move(collectives)) {}

  std::unique_ptr<PlanRun> Start(const ModuleCode& code, eval::Machine& machine) const;

  const std::shared_ptr<const Device>& device() const { return device_; }
  DeviceRecorder& recorder() const { return *recorder_; }
  Collectives* collectives() const { return collectives_.get(); }
  // One that no run uses, or a new one.
  Result<std::unique_ptr<PlanState>> Take(const ModuleCode& code) const;
  void GiveBack(std::unique_ptr<PlanState> state) const;

 private:
  Result<std::unique_ptr<PlanState>> Make(const ModuleCode& code) const;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<DeviceRecorder> recorder_;
  std::shared_ptr<Collectives> collectives_;
  mutable std::mutex mutex_;  // devices of a run are simulated at the same time
  mutable std::vector<std::unique_ptr<PlanState>> free_;
};

}  // namespace hloscope::replay::cuda
