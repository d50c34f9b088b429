// Switches: arithmetic of a kernel done otherwise, for LaunchOptions::changer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ptx/machine/step_changer.h"
#include "core/ptx/ptx.h"

namespace hloscope::ptx {

// Arithmetic of kernels that can be done otherwise, one thing at a time, to see what a difference
// comes from.
enum class Switch : uint8_t {
  kTf32,
  kTensorSums,
  kFma,
  kDenormals,
  kApproximationsUp,
  kApproximationsDown,
};

struct SwitchRow {
  Switch which;
  std::string_view key, text;
};
std::span<const SwitchRow> SwitchRows();

class SwitchedSteps : public StepChanger {
 public:
  explicit SwitchedSteps(Switch which) : which_(which) {}
  Step Changed(const Instruction& instruction, Step usual) const override;

 private:
  Switch which_;
};

// The lines of the instructions of an entry that it changes, in their order, one for each
// instruction; none for an entry that the module has not.
std::vector<uint32_t> SwitchedLines(const Module& module, std::string_view entry, Switch which);

}  // namespace hloscope::ptx
