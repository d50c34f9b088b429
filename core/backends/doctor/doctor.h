// What is there, what is not, and the command that fixes it: `hloscope doctor`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backends/doctor/doctor_info.h"

namespace hloscope::replay {

enum class DoctorStatus : uint8_t { kGood, kNote, kMissing, kBroken };
// "ok", "note", "missing", "broken".
std::string_view ToString(DoctorStatus status);

enum class DoctorState : uint8_t {
#define DOCTOR_STATE(name, section, text, status, message, command) name,
#include "core/backends/doctor/doctor_states.def"
#undef DOCTOR_STATE
};

struct DoctorStateRow {
  DoctorState state;
  std::string_view section, name;
  DoctorStatus status;
  std::string_view message, command;
};
std::span<const DoctorStateRow> DoctorStateRows();

struct DoctorFinding {
  DoctorState state;
  std::string subject;  // of a platform, "libcudnn.so.9", …
  std::string message;
  std::string command;  // that fixes it; may be empty

  const DoctorStateRow& row() const { return DoctorStateRows()[static_cast<size_t>(state)]; }
};

// The findings in the order of the sections: plugins, devices, driver, libraries, permissions,
// limits, environment.
std::vector<DoctorFinding> Diagnose(const DoctorInfo& info);

}  // namespace hloscope::replay
