// DeviceSet: what the devices of a run tell one another: meetings of collectives, mail between
// pairs of devices, and which devices an instruction brings together.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/hlo/sharding/device_groups.h"
#include "core/runtime/device_scheduler.h"
#include "core/runtime/shared_work.h"
#include "core/runtime/value.h"

namespace hloscope::runtime {

// Devices that came together at a collective, and what each brought.
struct RendezvousState {
  std::vector<int64_t> members;
  std::vector<std::vector<Value>> brought;       // by position in `members`
  std::vector<hlo::InstructionId> instructions;  // likewise
  std::vector<Value> results;  // what all members get alike, once the first has computed it
  size_t arrived = 0;
};

// The devices an instruction brings together, one of whom is looked from.
struct DeviceGroup {
  std::span<const int64_t> members;  // empty: the device is in no group
  size_t position = 0;               // of the device in `members`
};

// Only the device whose turn it is may call these functions.
class DeviceSet {
 public:
  DeviceSet(const hlo::Module& module, const hlo::DeviceCounts& counts)
      : module_(module), counts_(counts), turns_(counts.devices()) {}

  const hlo::DeviceCounts& counts() const { return counts_; }
  DeviceScheduler& turns() { return turns_; }

  // Makes values global outside manual regions: partitions of a replica share what they all
  // compute.
  void ShareWork(const RandomState& random);
  // What the partitions of `device`'s replica share; null where values are each device's own.
  SharedWork* SharedWorkOf(int64_t device) {
    return shared_.empty() ? nullptr
                           : shared_[static_cast<size_t>(device / counts_.partitions)].get();
  }
  // Something the user should know of, once.
  void Warn(std::string text) { warnings_.insert(std::move(text)); }
  const std::set<std::string>& warnings() const { return warnings_; }

  // The group of `device` at a collective with replica_groups. Input error: malformed groups.
  Result<DeviceGroup> GroupOf(hlo::InstructionId id, int64_t device);

  // Waits until every device of `members` is here, as XLA does keyed by `channel` (0: none) and the
  // members. Died: they cannot all come (deadlock), or are at different opcodes.
  Result<std::shared_ptr<RendezvousState>> Rendezvous(hlo::InstructionId id, int64_t device,
                                                      int64_t channel,
                                                      std::span<const int64_t> members,
                                                      std::vector<Value> brought);

  // A letter box; letters come out in the order they went in.
  struct Box {
    hlo::Opcode opcode;
    int64_t channel;
    int64_t source, target;
    auto operator<=>(const Box&) const = default;
  };
  void Post(const Box& box, std::vector<Value> letter);
  // Waits for the next letter; only `box.target` may. Died: none can come any more.
  Result<std::vector<Value>> Collect(hlo::InstructionId id, const Box& box);

 private:
  struct Groups {
    std::vector<std::vector<int64_t>> lists;
    std::vector<std::pair<int64_t, size_t>> of_device;  // list (-1: none) and position in it
  };
  std::string DescribeRendezvous(hlo::InstructionId id, const RendezvousState& rendezvous) const;

  const hlo::Module& module_;
  hlo::DeviceCounts counts_;
  DeviceScheduler turns_;
  std::vector<std::unique_ptr<SharedWork>> shared_;  // by replica
  std::set<std::string> warnings_;
  std::unordered_map<uint32_t, Groups> groups_;
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::shared_ptr<RendezvousState>> rendezvous_;
  std::map<Box, std::deque<std::vector<Value>>> mail_;
};

}  // namespace hloscope::runtime
