// LeafTraffic: values between a module's leaves and a plugin's arguments and outputs.
#pragma once

#include <span>
#include <vector>

#include "core/backends/pjrt/adapt.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/replay/platform.h"

namespace hloscope::replay::pjrt {

// What devices hold after a run.
class DeviceOutputs {
 public:
  virtual ~DeviceOutputs() = default;
  virtual size_t CountOf(size_t device) const = 0;
  // The array of an output, of the type and rank of `shape`.
  virtual Result<hlo::Literal> Take(size_t device, size_t output,
                                    const hlo::Shape& shape) const = 0;
};

class LeafTraffic {
 public:
  explicit LeafTraffic(const Adapted& adapted) : adapted_(adapted) {}

  // One list per device of the plugin. Input error: the leaves do not fit.
  Result<std::vector<std::vector<hlo::Literal>>> Arguments(
      std::span<const std::vector<hlo::Literal>> lists) const;
  // Hands out what the outputs hold, as the plan wants results; `root` is the module's own.
  Status Emit(const DeviceOutputs& outputs, const CapturePlan& plan, hlo::InstructionId root,
              RunStream& stream) const;

 private:
  int64_t Lists() const { return adapted_.counts.devices() / adapted_.devices_per_list; }
  Status AddArguments(const InputLeaf& leaf, const hlo::Literal& value, int64_t partition,
                      std::vector<hlo::Literal>& arguments) const;
  Result<hlo::Literal> TakeLeaf(const DeviceOutputs& outputs, const OutputLeaf& leaf,
                                int64_t first_device) const;

  const Adapted& adapted_;
};

}  // namespace hloscope::replay::pjrt
