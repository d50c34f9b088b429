// Collectives: what devices of a run on several GPUs tell one another through NCCL, each with our
// own way behind it, by the host.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/eval/machine/machine.h"
#include "core/replay/compiled/library_choices.h"
#include "core/replay/cuda/collective_form.h"
#include "core/replay/cuda/communicators.h"

namespace hloscope::replay::cuda {

// Of one module, for one run of it at a time: its devices take turns on one thread.
class Collectives {
 public:
  // Device i of the run is on GPU i mod gpus.size(), or rank i, where this process is one of
  // `ranks` and has one GPU; `left_out`: words of libraries.
  Collectives(const hlo::Module& module, const hlo::DeviceCounts& counts,
              std::vector<std::shared_ptr<const Device>> gpus,
              const std::vector<std::string>& left_out, std::shared_ptr<const Ranks> ranks);

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
    std::shared_ptr<Clique> clique;  // null: nothing
  };
  // Meets the others and puts the work on the streams of all. A pending without a clique: it is to
  // be done our own way, which all devices of the group are told alike. Another GPU may be the
  // thread's afterwards.
  Result<Pending> Run(hlo::InstructionId id, eval::Machine& machine, Arrival arrival);

  // The most that a device needs beside its buffers.
  int64_t ScratchBytes() const;

  // Good while what is pending runs; died: it failed, and NCCL waits for it no more.
  Status Look(const Pending& pending, int64_t device) const;
  std::string NameOf(hlo::InstructionId id) const;

  std::shared_ptr<const LibraryChoices> choices() const;
  // Runs go by a plan, without which values are the host's.
  void RunsByPlan() { choices_->by_plan = true; }

 private:
  class Choices : public LibraryChoices {
   public:
    std::optional<LibraryChoice> Of(hlo::InstructionId id) const override;

    mutable std::mutex mutex;
    std::atomic<bool> by_plan = false;
    std::unordered_map<uint32_t, LibraryChoice> all;
  };
  // `look` ends waiting for other ranks.
  Status Enqueue(hlo::InstructionId id, const CollectiveForm& form,
                 std::span<const int64_t> members, const std::function<Status()>& look);
  // Whether that device is one of this process.
  bool IsHere(int64_t device) const { return ranks_ == nullptr || device == ranks_->rank(); }
  // What ranks cannot do the way of one process; else nothing is pending.
  Result<Pending> ByTheHost(hlo::InstructionId id) const;
  // Between an array whose pieces are apart and scratch, where they are one behind the other.
  Status MovePieces(const CollectiveForm& form, std::span<const int64_t> members, size_t rank,
                    bool is_before) const;
  Status Call(const CollectiveForm& form, const Library& nccl, void* communicator,
              std::span<const int64_t> members, size_t rank) const;

  const hlo::Module& module_;
  std::vector<std::shared_ptr<const Device>> gpus_;
  std::shared_ptr<const Ranks> ranks_;
  std::unique_ptr<Communicators> communicators_;  // null: there is no library
  std::unordered_map<uint32_t, CollectiveForm> forms_;
  std::shared_ptr<Choices> choices_ = std::make_shared<Choices>();
  std::vector<Arrival> arrivals_;  // by device
};

}  // namespace hloscope::replay::cuda
