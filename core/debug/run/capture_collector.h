// CaptureCollector: what a capture plan wants as bytes, put together by instruction.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::debug {

// Of instructions that run once, on one device.
class CaptureCollector : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override;
  // Its leaves put together; the error of the first that has no value.
  Result<hlo::Literal> ValueOf(const hlo::Module& module, hlo::InstructionId id) const;

 private:
  std::map<uint32_t, std::vector<Result<hlo::Literal>>> leaves_;
};

// Of instructions that may run often, on several devices: of each device the newest values when its
// execution number `iteration` (from 0) of `root` ends.
class DeviceCollector : public replay::RunStream {
 public:
  DeviceCollector(const hlo::Module& module, hlo::InstructionId root, int64_t iteration);

  void Take(replay::RunEvent event) override;
  int64_t devices() const { return static_cast<int64_t>(devices_.size()); }
  int64_t executions(int64_t device) const;  // of `root`; those behind the wanted one do not count
  Result<hlo::Literal> ValueOf(int64_t device, hlo::InstructionId id) const;

 private:
  using Leaves = std::vector<Result<hlo::Literal>>;
  struct Device {
    std::map<uint32_t, Leaves> values;
    int64_t executions = 0;
  };

  const hlo::Module& module_;
  hlo::InstructionId root_;
  int64_t iteration_;
  std::map<int64_t, Device> devices_;
};

}  // namespace hloscope::debug
