// LoopNodes: loops inside of a CUDA graph, as conditional nodes (CUDA 12.4): the device decides by
// itself whether another turn follows, and counts the turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/backends/cuda/helper_kernel.h"
#include "core/backends/cuda/transfers.h"

namespace hloscope::replay::cuda {

class LoopNodes {
 public:
  // How often a loop's condition and its body ran in a launch of the graph.
  struct Turns {
    uint64_t decided = 0, begun = 0;
  };

  // Room for so many loops, of a driver that has conditional nodes.
  static Result<LoopNodes> Make(const std::shared_ptr<const Device>& device, int64_t loops);

  // On a stream that records: the turns of all loops are 0 from here on.
  Status Reset(StreamHandle stream) const;
  // Behind what a stream records: loop `number`, which goes on while the byte at `decision` is not
  // 0. `body` records a turn, with the next decision behind it, on the stream that it is given.
  Status Add(StreamHandle stream, size_t number, Address decision,
             const std::function<Status(StreamHandle)>& body);
  // By number of the loop; the launch has ended.
  Result<std::vector<Turns>> TurnsOf(Transfers& transfers) const;

 private:
  Result<GraphHandle> AddNode(StreamHandle stream, uint64_t condition) const;
  Result<uint64_t> NewCondition(StreamHandle stream) const;
  Status Decide(StreamHandle stream, uint64_t condition, Address decision, Address turns) const;

  std::shared_ptr<const Device> device_;
  HelperKernel decide_;
  DeviceMemory turns_;
  int64_t room_ = 0;
  std::vector<Stream> streams_;  // that bodies are recorded on
};

}  // namespace hloscope::replay::cuda
