// Where each instruction of a module runs, and what moves between host and device for it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/dump/readers/kernels.h"
#include "core/dump/readers/thunks.h"
#include "core/hlo/fallback_reasons.h"
#include "core/hlo/module.h"

namespace hloscope::dump {
class DumpModel;
}

namespace hloscope::analysis {

enum class Place : uint8_t {
#define PLACE(name, ...) name,
#include "core/analysis/place/places.def"
#undef PLACE
};
inline constexpr int kPlaceCount = 0
#define PLACE(...) +1
#include "core/analysis/place/places.def"
#undef PLACE
    ;
std::string_view KeyOf(Place place);     // "device_kernel", …
std::string_view Describe(Place place);  // in words
/// "3 device kernels": a number of instructions that run there.
std::string CountedAt(Place place, int64_t count);

using hlo::Describe;
using hlo::FallbackReason;
using hlo::KeyOf;
using hlo::WithoutReason;

struct PlacedInstruction {
  Place place = Place::kNoCode;
  FallbackReason reason = FallbackReason::kNone;  // why it is not on the device
  std::string_view library;                       // of a library call: "cuBLAS", "oneDNN", …
};

enum class TransferDirection : uint8_t { kToHost, kToDevice };
std::string_view KeyOf(TransferDirection direction);  // "to_host", "to_device"

// One move between host and device, counted once where it starts.
struct Transfer {
  hlo::InstructionId instruction;
  TransferDirection direction = TransferDirection::kToHost;
  FallbackReason reason = FallbackReason::kNone;
  int64_t bytes = 0;        // of one execution; -1: its size is not known
  int64_t executions = -1;  // in one run of the module; -1: in a loop or branch of unknown count
  bool operator==(const Transfer&) const = default;
};

enum class Target : uint8_t { kUnknown, kCpu, kGpu };
// "cpu" and "gpu", as dump::ModuleEntry::device says it; anything else is unknown.
Target TargetNamed(std::string_view device);

struct Placement {
  Target target = Target::kUnknown;  // as given, or as the module shows
  bool compiled = false;             // scheduled or fused: what runs where is decided
  std::vector<PlacedInstruction> instructions;
  std::vector<int64_t> executions;  // by computation, in one run; -1: not known, 0: never called
  std::vector<Transfer> transfers;  // in program order
  std::array<int64_t, kPlaceCount> counts = {};
  int64_t bytes = 0;                               // moved in one run where both numbers are known
  std::array<int64_t, kPlaceCount> bytes_of = {};  // of that by the places that move it
  int64_t unknown_transfers = 0;  // transfers whose bytes or executions are not known
};

// Where the instructions of `module` run; `target` may say which device it was compiled for. Never
// fails.
Placement FindPlacement(const hlo::Module& module, Target target = Target::kUnknown);

// The sums of `placement` over its transfers, anew.
void SumTransfers(Placement& placement);

// Corrects places by what the thunks of the module say: fusions that are copied or filled by the
// runtime, or given to a library.
void TakeThunks(const hlo::Module& module, const dump::ThunkSequence& thunks, Placement& placement);
// Corrects places by the kernels of the module: what has one runs on the device, whatever was
// asked.
void TakeKernels(const hlo::Module& module, const dump::KernelTable& kernels, Placement& placement);
// Where the instructions of the final stage of a module of a dump run, by all that the dump says.
Placement PlacementIn(const dump::DumpModel& dump, int32_t module, const hlo::Module& final_stage);

// The object `placement` of `info --json`: counts by place, transfers, bytes.
void WritePlacement(const hlo::Module& module, const Placement& placement, JsonWriter& json);

// Whether a custom call runs a function of the user's program on the host.
bool IsHostCallback(std::string_view custom_call_target);
bool IsHostCallback(const hlo::Module& module, const hlo::Instruction& instruction);
// The library behind a custom call's target or a fusion's kind; empty where it is none known.
std::string_view LibraryOf(std::string_view custom_call_target);

}  // namespace hloscope::analysis
