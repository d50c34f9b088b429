// A .hloplan: a module that our compiler compiled, and what it made of it. The file is
//   8 bytes  "HLOPLAN\n"
//   u32      its version, 1
//   u32      the CRC-32 of all that follows
//   u64      the size of the module
//            the module, an HloProto
//            the rest: plan and code (core/backends/compiled/plan_code.h)
// Numbers are little-endian. Every version ever written stays readable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::dump {

inline constexpr std::string_view kPlanFileMark = "HLOPLAN\n";
inline constexpr uint32_t kPlanFileVersion = 1;
inline constexpr std::string_view kPlanFileEnding = ".hloplan";

struct PlanFile {
  uint32_t version = kPlanFileVersion;
  std::span<const std::byte> module, rest;
};

// The parts of such a file. Input errors: it is cut off, or of a version that is not known yet.
Result<PlanFile> OpenPlanFile(std::string_view bytes);
std::string WritePlanFile(std::string_view module, std::string_view rest);

}  // namespace hloscope::dump
