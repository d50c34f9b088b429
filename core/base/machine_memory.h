// How much memory there is, and how much a process has taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hloscope {

// Bytes of memory that this process may use: the machine's, or less where its control group says
// so.
int64_t MachineMemoryBytes();

// Bytes of its own (not of files or shared) that the process `pid` ("self" is this one) holds in
// memory; nullopt where it is gone.
std::optional<int64_t> ResidentBytesOf(std::string_view pid);

// The most bytes of any kind, files and shared ones too, that it held since it was started or since
// ForgetPeakOf; nullopt where it is gone or the system does not tell.
std::optional<int64_t> PeakBytesOf(std::string_view pid);
// The peak begins anew at what it holds now; false where the system does not allow that.
bool ForgetPeakOf(std::string_view pid);

}  // namespace hloscope
