// CollectiveCopies: collectives without NCCL, by copies between devices and a kernel that reduces.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/backends/cuda/collective_form.h"
#include "core/backends/cuda/device_recorder.h"
#include "core/backends/cuda/helper_kernel.h"

namespace hloscope::replay::cuda {

// A device that takes part in a collective.
struct CollectiveMember {
  int64_t device = 0;
  size_t gpu = 0;
  StreamHandle stream = nullptr;
  // By array of the form. What is cut in pieces has them one behind the other.
  std::vector<Address> from, to;
};

// Of the GPUs of one process, for one thread at a time.
class CollectiveCopies {
 public:
  CollectiveCopies(std::vector<std::shared_ptr<const Device>> gpus,
                   std::shared_ptr<DeviceRecorder> recorder);

  // Puts the work of all on the stream of the first member, which waits for those of the others,
  // and they for it. Reductions are the pairwise tree of the members in their order, as the
  // evaluator's, rounded in each step. Errors are the driver's.
  Status Enqueue(hlo::InstructionId id, const CollectiveForm& form,
                 std::span<const CollectiveMember> members);

 private:
  class Work;

  Result<const HelperKernel*> KernelOf(size_t gpu, int type, int reduction);
  Result<EventHandle> MarkOf(size_t gpu);
  // Of at least so many bytes, of each device its own.
  Result<Address> ScratchOf(const CollectiveMember& member, int which, int64_t bytes);

  std::vector<std::shared_ptr<const Device>> gpus_;
  std::shared_ptr<DeviceRecorder> recorder_;
  std::vector<Event> marks_;  // by GPU, made when first needed, as the kernels are
  std::map<std::tuple<size_t, int, int>, HelperKernel> kernels_;
  struct Scratch {
    DeviceMemory memory;
    int64_t bytes = 0;
  };
  std::map<std::pair<int64_t, int>, Scratch> scratch_;
};

}  // namespace hloscope::replay::cuda
