// The table of platforms: what each is called, needs and can do. Nothing else in the program knows
// one by its name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::hlo {
class Module;
}

namespace hloscope::replay {

// Whose devices a plugin drives.
enum class Devices : uint8_t { kNone, kHost, kGpu };

// What a platform can do, and what it takes to have it.
enum PlatformFlag : uint32_t {
  kNeedsPlugin = 1 << 0,  // runs by a PJRT plugin that has to be installed
  kCaptures = 1 << 1,     // tells values inside a module
  kXlaFlags = 1 << 2,     // flags of XLA have an effect on it
  kDumps = 1 << 3,        // its compiler leaves dump folders, with --passes each pass
  kTargets = 1 << 4,      // compiles for described devices, and only for those
  kReadsMlir = 1 << 5,    // its compiler takes StableHLO
  kSearches = 1 << 6,     // looks at its values: searches beside a run, and ends it early
  kNeedsPython = 1 << 7,  // runs by the jaxlib of a Python environment
  // Its kernels take an array of s1 or u1 for a byte an element, its buffers hold a bit an element
  // (XLA:CPU 0.11.2; shown by the kernel's own ir-no-opt.ll beside the buffer assignment).
  kOverrunsBits = 1 << 8,
  kDefault = 1 << 9,        // what a module runs on where nobody names a platform
  kRunsDumps = 1 << 10,     // runs the kernels that lie beside a module in its dump
  kSimulatesGpu = 1 << 11,  // kernels run on a simulated GPU, which checks what hardware does not
  kNeedsDriver = 1 << 12,   // runs by NVIDIA's driver (CudaDriverIsThere)
  kOwnCompiler = 1 << 13,   // runs the code of our own compiler
};

struct PlatformRow {
  std::string_view name;
  Devices devices;
  uint32_t flags;
  std::string_view summary;

  bool Has(PlatformFlag flag) const { return (flags & flag) != 0; }
};

// The rows of platforms.def.
std::span<const PlatformRow> PlatformRows();

// What a name of the form pjrt:FILE.so begins with.
inline constexpr std::string_view kPluginFilePrefix = "pjrt:";

// The row of that name, or the one that stands for every pjrt:FILE.so; null: there is none.
const PlatformRow* FindPlatform(std::string_view name);
// The name of the platform that `name` means: itself, one in other capitals, or what run_hlo_module
// calls so (CPU and Host, CUDA and GPU: XLA's own). Else `name`.
std::string_view MeantPlatform(std::string_view name);
// An input error that lists the platforms there are, where `name` is none of them.
Status CheckPlatform(std::string_view name);

// The one that defines what is right; what results are compared with where nobody names another.
const PlatformRow& ReferencePlatform();
// What `run` runs a module on where nobody names a platform.
const PlatformRow& DefaultPlatform();
// The first that plugins for those devices give; null for kNone.
const PlatformRow* PluginPlatform(Devices devices);
// The first with that flag; null: there is none.
const PlatformRow* PlatformWith(PlatformFlag flag);
// An array of several s1 or u1 in a module that such a platform runs damages its memory: results
// mean nothing, and neither does whatever else its worker computes afterwards.
bool OverrunsBits(const PlatformRow& row, const hlo::Module& module);
// Those with that flag, as a list for people: "a, b".
std::string PlatformNames(PlatformFlag flag);

}  // namespace hloscope::replay
