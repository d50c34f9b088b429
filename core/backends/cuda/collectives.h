// Collectives: what devices of a run tell one another, through NCCL, or by copies and kernels of
// ours where it does not take part.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/backends/compiled/algorithm_selections.h"
#include "core/backends/cuda/collective_copies.h"
#include "core/backends/cuda/communicators.h"
#include "core/eval/machine/machine.h"

namespace hloscope::replay::cuda {

// Of one module, for one run of it at a time: its devices take turns on one thread.
class Collectives {
 public:
  // Device i of the run is on GPU i mod gpus.size(), or rank i, where this process is one of
  // `ranks` and has one GPU; `left_out`: words of libraries.
  Collectives(const hlo::Module& module, const hlo::DeviceCounts& counts,
              std::vector<std::shared_ptr<const Device>> gpus,
              const std::vector<std::string>& left_out, std::shared_ptr<const Ranks> ranks,
              std::shared_ptr<DeviceRecorder> recorder);

  // What a device brings; it stays there until all have met.
  struct Arrival {
    StreamHandle stream = nullptr;
    std::vector<Address> operands, results;
    Address scratch = 0;                       // ScratchBytes
    std::shared_ptr<Clique> clique = nullptr;  // that was given the work of all
  };
  // What a device waits for that NCCL was given.
  struct Pending {
    hlo::InstructionId id;
    std::shared_ptr<Clique> clique = nullptr;  // null: nothing
    // False: nobody has put it on the streams, it is the host's, which all devices of the group are
    // told alike.
    bool is_on_streams = false;
    bool launches = false;  // kernels of ours; else what NCCL or copies do
  };
  // Meets the others and puts the work on the streams of all. Another GPU may be the thread's
  // afterwards.
  Result<Pending> Run(hlo::InstructionId id, eval::Machine& machine, Arrival arrival);

  // The most that a device needs beside its buffers.
  int64_t ScratchBytes() const;

  // Good while what is pending runs; died: it failed, and NCCL waits for it no more.
  Status Look(const Pending& pending, int64_t device) const;
  std::string NameOf(hlo::InstructionId id) const;

  std::shared_ptr<const AlgorithmSelections> choices() const;
  // Runs go by a plan, without which values are the host's.
  void RunsByPlan() { choices_->by_plan = true; }

 private:
  class Choices : public AlgorithmSelections {
   public:
    std::optional<AlgorithmSelection> Of(hlo::InstructionId id) const override;

    mutable std::mutex mutex;
    std::atomic<bool> by_plan = false;
    std::unordered_map<uint32_t, AlgorithmSelection> all;
    std::unordered_set<uint32_t> on_device;  // of those: what streams can do
  };
  // Pieces put together, `work`, and apart again.
  Status Enqueue(hlo::InstructionId id, const CollectiveForm& form,
                 std::span<const int64_t> devices,
                 const std::function<Status(std::span<const CollectiveMember>)>& work);
  // `look` ends waiting for other ranks.
  Status EnqueueByNccl(hlo::InstructionId id, const CollectiveForm& form,
                       std::span<const CollectiveMember> members,
                       const std::function<Status()>& look);
  // Whether that device is one of this process.
  bool IsHere(int64_t device) const { return ranks_ == nullptr || device == ranks_->rank(); }
  // What ranks cannot do the way of one process; else nothing is pending.
  Result<Pending> ByTheHost(hlo::InstructionId id) const;
  CollectiveMember MemberOf(int64_t device, const CollectiveForm& form, size_t members) const;
  // Between an array whose pieces are apart and scratch, where they are one behind the other.
  Status MovePieces(const CollectiveForm& form, const CollectiveMember& member, size_t members,
                    bool is_before) const;
  Status Call(const CollectiveForm& form, const Library& nccl, void* communicator,
              std::span<const CollectiveMember> members, size_t rank) const;

  const hlo::Module& module_;
  std::vector<std::shared_ptr<const Device>> gpus_;
  std::shared_ptr<const Ranks> ranks_;
  std::shared_ptr<DeviceRecorder> recorder_;
  CollectiveCopies copies_;
  std::unique_ptr<Communicators> communicators_;  // null: there is no library
  std::unordered_map<uint32_t, CollectiveForm> forms_;
  std::shared_ptr<Choices> choices_ = std::make_shared<Choices>();
  std::vector<Arrival> arrivals_;  // by device
};

}  // namespace hloscope::replay::cuda
