// The device of a cluster is its GPU, else the device that is neither, else its CPU.
#include "core/dump/tensorflow/joint_devices.h"

#include <algorithm>
#include <array>

#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {
namespace {

enum Kind : uint8_t { kGpu, kOther, kCpu, kKinds };

Kind KindOf(const std::string& device) {
  const std::string_view type = TensorFlowDeviceType(device);
  if (type == "GPU" || type == "gpu") return kGpu;
  return type == "CPU" || type == "cpu" ? kCpu : kOther;
}

}  // namespace

void DeviceSet::Add(const TensorFlowNode& node) {
  if (node.device.empty()) return;
  devices.insert(node.device);
  if (UsesResource(node)) resources.insert(node.device);
}

bool MayJoin(const DeviceSet& a, const DeviceSet& b) {
  std::array<const std::string*, kKinds> found{};
  for (const DeviceSet* set : {&a, &b}) {
    for (const std::string& device : set->devices) {
      const std::string*& same = found[KindOf(device)];
      if (same != nullptr && *same != device) return false;
      same = &device;
    }
  }
  if (found[kOther] != nullptr && (found[kGpu] != nullptr || found[kCpu] != nullptr)) return false;
  const auto chosen = std::ranges::find_if(found, [](const auto* one) { return one != nullptr; });
  if (chosen == found.end()) return true;
  auto is_there = [&](const std::string& device) { return device == **chosen; };
  return std::ranges::all_of(a.resources, is_there) && std::ranges::all_of(b.resources, is_there);
}

}  // namespace hloscope::dump
