// DeviceProgram: what XLA:GPU's runtime does with a module, read from a dump: memory, the kernels
// that are launched over it in order, loops, and what libraries do instead of kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "core/dump/readers/launch_dimensions.h"
#include "core/dump/readers/tile_reader.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

// Bytes of an allocation of the buffer assignment.
struct Slice {
  int32_t allocation = -1;  // position in DeviceProgram::allocations; -1: the dump does not say
  int64_t offset = 0, bytes = 0;

  bool known() const { return allocation >= 0; }
  bool operator==(const Slice&) const = default;
};

struct KernelLaunch {
  int32_t code = -1;   // position in DeviceProgram::code
  std::string kernel;  // its entry
  dump::Extent3 blocks = {1, 1, 1};
  dump::Extent3 threads = {1, 1, 1};
  int64_t shared_bytes = 0;      // beyond what the kernel declares; -1: the dump does not say
  std::vector<Slice> arguments;  // filled in by LoadProgram
};

enum class DeviceStepKind : uint8_t {
  kKernels,   // `launches`, behind `copies`
  kCopy,      // of arrays or parts of them, by the driver: computed as its instruction says
  kEvaluate,  // what a library or XLA's runtime does, or a kernel that the dump has not
  kWhile,     // sequences: condition, body
  kConditional,
  kCall,
  kNothing,  // another name for values that are there already
};

struct DeviceStep {
  DeviceStepKind kind = DeviceStepKind::kEvaluate;
  hlo::InstructionId id;
  std::vector<Slice> operands;  // the arrays of all operands, in order; none of kNothing
  Slice predicate;              // of kWhile: what its condition gives
  std::vector<Slice> results;   // the arrays of the result, in the order of their indices
  std::vector<std::pair<Slice, Slice>> copies;  // from, to
  std::vector<KernelLaunch> launches;
  std::vector<uint32_t> sequences;  // positions in DeviceProgram::sequences
};

// A file of PTX.
struct DeviceCode {
  std::string file;
  std::string text;  // LoadProgram takes it
};

struct DeviceProgram {
  std::shared_ptr<const hlo::Module> module;  // the last stage
  std::vector<int64_t> allocations;           // bytes
  std::vector<std::pair<hlo::InstructionId, Slice>> constants;
  std::vector<Slice> parameters;                   // the arrays of the entry's parameters
  std::vector<Slice> results;                      // the arrays of its root
  std::vector<std::vector<DeviceStep>> sequences;  // the first is the entry's
  std::vector<DeviceCode> code;
  // By kernel: what tensor maps are made of, of those kernels that take any and whose Triton IR the
  // dump has.
  std::map<std::string, dump::TiledFunction, std::less<>> tiles;
  std::string target_config;  // describes the device; empty: the dump does not
  int64_t kernels = 0;        // launches in all sequences
  std::vector<std::string> warnings;
};

// The program of a module of a dump. Errors: no stage of it can be read; input, where the dump has
// no buffer assignment or does not say where an array lies; unsupported, where it does not say how
// large a launch is. Each with the flag of XLA that writes what is missing.
Result<DeviceProgram> ReadDeviceProgram(const dump::DumpModel& dump, int32_t module);

}  // namespace hloscope::replay
