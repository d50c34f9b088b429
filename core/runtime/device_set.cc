// DeviceSet: meetings that open with their first member and close with their last.
#include "core/runtime/device_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/counted.h"

namespace hloscope::runtime {

using hlo::InstructionId;

namespace {

constexpr size_t kMaxNamed = 8;  // devices in a message

std::string Names(std::span<const int64_t> devices) {
  const auto shown = devices.first(std::min(devices.size(), kMaxNamed));
  return fmt::format(
      "{} {}{}", VerbFor(devices.size(), "device", "devices"), fmt::join(shown, ", "),
      devices.size() > shown.size() ? fmt::format(" and {} more", devices.size() - shown.size())
                                    : "");
}

}  // namespace

void DeviceSet::ShareWork(const RandomState& random) {
  for (int64_t r = 0; r < counts_.replicas; ++r) {
    shared_.push_back(std::make_unique<SharedWork>(module_, counts_.partitions, random));
  }
}

Result<DeviceGroup> DeviceSet::GroupOf(InstructionId id, int64_t device) {
  const auto [at, is_new] = groups_.try_emplace(id.index);
  Groups& groups = at->second;
  if (is_new) {
    auto lists = hlo::CollectiveGroups(module_, id, counts_);
    if (!lists) {
      groups_.erase(at);  // every device is given the reason
      return std::unexpected(std::move(lists).error());
    }
    groups.lists = *std::move(lists);
    groups.of_device.assign(static_cast<size_t>(counts_.devices()), {-1, 0});
    for (size_t g = 0; g < groups.lists.size(); ++g) {
      for (size_t i = 0; i < groups.lists[g].size(); ++i) {
        groups.of_device[static_cast<size_t>(groups.lists[g][i])] = {static_cast<int64_t>(g), i};
      }
    }
  }
  const auto [list, position] = groups.of_device[static_cast<size_t>(device)];
  if (list < 0) return DeviceGroup{};
  return DeviceGroup{groups.lists[static_cast<size_t>(list)], position};
}

std::string DeviceSet::DescribeRendezvous(InstructionId id,
                                          const RendezvousState& rendezvous) const {
  std::vector<int64_t> absent, ended;
  for (size_t i = 0; i < rendezvous.members.size(); ++i) {
    if (rendezvous.instructions[i].valid()) continue;
    (turns_.HasEnded(rendezvous.members[i]) ? ended : absent).push_back(rendezvous.members[i]);
  }
  std::string text =
      fmt::format("at {} {} for ", hlo::ToString(module_[id].opcode), module_.name(id));
  if (!absent.empty()) text += Names(absent);
  if (!ended.empty()) {
    text += fmt::format("{}{}, which {} ended", absent.empty() ? "" : " and ", Names(ended),
                        VerbFor(ended.size(), "has", "have"));
  }
  return text;
}

Result<std::shared_ptr<RendezvousState>> DeviceSet::Rendezvous(InstructionId id, int64_t device,
                                                               int64_t channel,
                                                               std::span<const int64_t> members,
                                                               std::vector<Value> brought) {
  const std::pair key(channel, std::vector<int64_t>(members.begin(), members.end()));
  std::shared_ptr<RendezvousState>& slot = rendezvous_[key];
  if (slot == nullptr) {
    slot = std::make_shared<RendezvousState>();
    slot->members = key.second;
    slot->brought.resize(members.size());
    slot->instructions.resize(members.size());
  }
  std::shared_ptr<RendezvousState> rendezvous = slot;
  const auto position = static_cast<size_t>(std::ranges::find(members, device) - members.begin());
  for (size_t i = 0; i < members.size(); ++i) {
    const InstructionId other = rendezvous->instructions[i];
    if (!other.valid() || module_[other].opcode == module_[id].opcode) continue;
    return std::unexpected(Error{
        ErrorClass::kDeadlock,
        fmt::format("deadlock: device {} is at {} {} where device {}, of the same group, is at "
                    "{} {}",
                    device, hlo::ToString(module_[id].opcode), module_.name(id), members[i],
                    hlo::ToString(module_[other].opcode), module_.name(other)),
        {},
        {}});
  }
  rendezvous->instructions[position] = id;
  rendezvous->brought[position] = std::move(brought);
  if (++rendezvous->arrived == members.size()) {
    rendezvous_.erase(key);
    for (int64_t member : rendezvous->members) turns_.Wake(member);
    return rendezvous;
  }
  while (rendezvous->arrived < rendezvous->members.size()) {
    HLOSCOPE_TRY(turns_.Wait(
        device, [this, id, rendezvous] { return DescribeRendezvous(id, *rendezvous); }));
  }
  return rendezvous;
}

void DeviceSet::Post(const Box& box, std::vector<Value> letter) {
  mail_[box].push_back(std::move(letter));
  turns_.Wake(box.target);
}

Result<std::vector<Value>> DeviceSet::Collect(InstructionId id, const Box& box) {
  while (mail_[box].empty()) {
    HLOSCOPE_TRY(turns_.Wait(box.target, [this, id, box] {
      return fmt::format("at {} {} for device {}{}", hlo::ToString(module_[id].opcode),
                         module_.name(id), box.source,
                         turns_.HasEnded(box.source) ? ", which has ended" : "");
    }));
  }
  const auto at = mail_.find(box);
  std::vector<Value> letter = std::move(at->second.front());
  at->second.pop_front();
  if (at->second.empty()) mail_.erase(at);
  return letter;
}

}  // namespace hloscope::runtime
