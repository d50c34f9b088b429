// SharedWork: what all partitions of an unpartitioned module compute alike is computed by the first
// that gets there. Values are global outside manual regions and each device's own inside, which is
// followed through calls and loops while they run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/scope_exit.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/module.h"
#include "core/runtime/device_scheduler.h"
#include "core/runtime/observer.h"
#include "core/runtime/value.h"

namespace hloscope::runtime {

// The state of a device's random generators.
struct RandomState {
  uint64_t stateful = 0;
  unsigned __int128 algorithm = 0;
  // Why nobody knows how far each is, by hlo::Generator: what would have moved it could not run.
  std::array<std::optional<Error>, hlo::kGenerators> lost = {};
};

// What the partitions of one replica share. Only the device whose turn it is may use it.
class SharedWork {
 public:
  SharedWork(const hlo::Module& module, int64_t partitions, const RandomState& random);

  // A place in the run: the instruction, and the calls and iterations that led there.
  using Place = std::vector<uint64_t>;
  static Place PlaceOf(hlo::InstructionId id, std::span<const Frame> frames);

  // What another partition computed there; empty where this is the first. Each partition asks once.
  std::shared_ptr<const Value> Take(const Place& place);
  void Put(Place place, const Value& value);
  // A device to be woken by the next Put.
  void Expect(int64_t device) { expecting_.push_back(device); }
  std::vector<int64_t> TakeExpecting() { return std::exchange(expecting_, {}); }
  // True while more is kept than should be: others should catch up.
  bool IsFull() const;

  // True if the instruction or what it calls is computed by each device on its own.
  bool HasDeviceWork(hlo::InstructionId id);
  // True where a region ends that lies in no other: what it yields is global.
  bool LeavesAllRegions(hlo::InstructionId id) const { return leaves_all_[id.index]; }
  RandomState& random() { return random_; }

 private:
  struct Entry {
    std::shared_ptr<const Value> value;
    int64_t takers;
    int64_t bytes;
  };
  const hlo::Module& module_;
  int64_t partitions_;
  RandomState random_;
  std::vector<bool> has_device_work_;  // by computation, callees included
  std::vector<bool> leaves_all_;       // by instruction
  std::map<Place, Entry> entries_;
  int64_t bytes_ = 0;
  std::vector<int64_t> expecting_;
};

// What one device knows of its values: which are its own and which global.
class LocalValues {
 public:
  // `first_device` is the first of the replica. Observed: it alone computes what is shared, unless
  // it waits for others, so that what is computed inside comes in the order of the program.
  LocalValues(const hlo::Module& module, SharedWork& shared, DeviceScheduler& turns, int64_t device,
              int64_t first_device, bool is_observed)
      : module_(module),
        shared_(shared),
        turns_(turns),
        device_(device),
        first_device_(first_device),
        is_observed_(is_observed) {}

  // The device that what runs now is told of: inside shared work the first of the replica.
  int64_t told_device() const { return is_sharing_ ? first_device_ : device_; }

  using Run = std::function<Result<Value>()>;
  // Runs the instruction, or takes what another partition computed. `random` are the device's own
  // generators, which a shared computation does not use.
  Result<Value> Step(hlo::InstructionId id, std::span<const Frame> frames, RandomState& random,
                     const Run& run);

  // A call of a computation, entered while this lives; `values` may be null. What a call that does
  // not come to Succeeded() leaves behind is the device's own.
  class InComputation {
   public:
    InComputation(LocalValues* values, hlo::ComputationId computation);
    ~InComputation();
    InComputation(const InComputation&) = delete;
    InComputation& operator=(const InComputation&) = delete;
    void Succeeded() { succeeded_ = true; }

   private:
    LocalValues* values_;  // null where there is nothing to leave
    hlo::ComputationId computation_;
    bool succeeded_ = false;
  };

 private:
  struct Caller {
    hlo::InstructionId id;
    std::vector<uint8_t> operands;  // 1: that operand is the device's own
    bool any_local = false;
    bool loop_local = false;  // a loop's state became the device's own
    bool diverges = false;    // devices may go different ways
    bool result_local = false;
  };
  struct Scope {
    std::vector<uint8_t> parameters, values;  // 1: the device's own
    bool diverges = false;
  };
  Result<Value> Share(hlo::InstructionId id, std::span<const Frame> frames, RandomState& random,
                      const Run& run);
  Result<Value> RunForAll(RandomState& random, const Run& run);
  Result<Value> RunLocal(hlo::InstructionId id, Caller caller, const Run& run);
  bool IsLocalResult(const Caller& caller) const;
  void Enter(hlo::ComputationId computation);
  void Leave(hlo::ComputationId computation, bool succeeded);

  const hlo::Module& module_;
  SharedWork& shared_;
  DeviceScheduler& turns_;
  int64_t device_, first_device_;
  bool is_observed_;
  std::vector<Caller> callers_;
  std::vector<Scope> scopes_;
  bool is_sharing_ = false;  // inside a computation that is run for all
};

}  // namespace hloscope::runtime
