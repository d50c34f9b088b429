// Device groups and pairs of collectives. Internal to the verifier.
#pragma once

#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {

// The device groups of an instruction, however they are written.
struct DeviceGroups {
  bool given = false;      // false: all devices are one group
  int64_t devices = 0;     // in all groups together
  int64_t first_size = 0;  // of the first group
  bool uniform = true;
};

// The replica_groups of an instruction; nullopt and a finding where they are malformed.
std::optional<DeviceGroups> ReadDeviceGroups(VerifyContext& context, InstructionId id);

// Source-target pairs and in-place operands of a collective-permute among `devices`.
void VerifyPermute(VerifyContext& context, InstructionId id, int64_t devices);

// A finding about devices; a strict one where the header does not say how many there are.
void ReportDevices(VerifyContext& context, InstructionId id, bool certain, std::string_view rule,
                   std::string message);

}  // namespace hloscope::hlo
