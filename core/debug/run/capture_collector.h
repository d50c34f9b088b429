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

}  // namespace hloscope::debug
