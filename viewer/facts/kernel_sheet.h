// KernelSheet: what the table of kernels and the roofline show: of every instruction that has a
// kernel or took time, its time, its work, how it is launched; and the same in a second profile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dump/readers/kernels.h"
#include "core/hlo/analysis/cost.h"
#include "profiler/launch_sums.h"
#include "profiler/profile_comparison.h"
#include "viewer/facts/device_facts.h"
#include "viewer/facts/profile_model.h"

namespace hloscope::viewer {

// What all launches of a row would take on another device at least, by the model of what they were
// counted to do.
struct KernelElsewhere {
  std::string device, bound;  // what most of the time is waited for
  double us = 0;
  double occupancy = -1;            // 0 to 1; less: not known
  bool is_occupancy_bound = false;  // the registers are not known: at most that
};

// What a kernel computes and moves in one run by shapes, and how long the device of the dump takes
// for it at least (graph::LeastTime), in picoseconds; 0: not known.
struct KernelBound {
  double flops = 0, bytes = 0, ps = 0;
};

struct KernelRow {
  std::string name;    // of the instruction; of the kernel or event where no instruction is known
  std::string kernel;  // the symbol, or empty
  std::string opcode;
  hlo::Opcode code = hlo::Opcode::kCustomCall;
  int32_t kernel_index = -1;       // in the KernelTable of the module
  hlo::InstructionId instruction;  // of the stage of the sheet; invalid: of none known
  // Of the profile, in picoseconds; 0 events: none.
  int64_t count = 0, self = 0, total = 0, min = 0, max = 0;
  profiler::EventId longest;
  int64_t other_count = 0, other_self = 0;  // of the second profile
  double other_time = 0;                    // other_self for as many runs as the first profile has
  // Of the second profile against the first; typical times where they are known.
  std::optional<profiler::ChangeRatio> ratio;
  profiler::Verdict verdict = profiler::Verdict::kTooFew;
  // What it took in the first profile or the second, to be compared.
  double before_time() const { return ratio ? ratio->before : static_cast<double>(self); }
  double after_time() const { return ratio ? ratio->after : other_time; }
  hlo::Cost cost;
  KernelBound bound;  // where the sheet is an estimate
  dump::LaunchDimensions launch;
  std::optional<int64_t> registers, shared_bytes;
  double occupancy = -1;            // 0 to 1; less: not known
  bool is_occupancy_bound = false;  // the registers are not known: at most that
  // What its launches did on a simulated device, all together; of none: not counted. And what
  // GPU performance counters measured of them.
  profiler::LaunchSums sums;
  std::vector<KernelElsewhere> elsewhere;  // on the devices that are described; the fastest first

  double mean() const {
    return count == 0 ? 0 : static_cast<double>(total) / static_cast<double>(count);
  }
  // Per second of the mean time; 0 where the time is unknown.
  double flops_per_second() const;
  double bytes_per_second() const;
  // Of one launch, in the mean; 0 where nothing was counted.
  double PerLaunch(double sum) const {
    return sums.launches == 0 ? 0 : sum / static_cast<double>(sums.launches);
  }
  double model_us() const { return PerLaunch(sums.model_us); }
};

struct KernelSheet {
  // Of the module in view: what ran in the profile, else the final one; -1: without a dump.
  int32_t stage = -1;
  // Longest self time first, then those without by name; of an estimate most bytes first.
  std::vector<KernelRow> rows;
  int64_t work = 0;  // picoseconds of the profile in this module, other_work of the second
  int64_t other_work = 0;
  bool has_times = false, has_others = false;
  // No trace has times of it: work is estimated by shapes. Without kernels rows are what would run
  // by itself.
  bool is_estimate = false;
  double other_time = 0;  // picoseconds of the second for as many runs as the first has
  // What holds of the comparison with the second profile as a whole; its rows are in `rows`. Null:
  // there is none.
  std::shared_ptr<const profiler::ProfileComparison> comparison;
  std::string other_path;  // of the second profile; empty: none
  // The times are those of a simulated device: what a device would take is a model's.
  bool is_simulated = false;
  bool has_metrics = false;  // GPU performance counters measured some row
  double model_us = 0;       // of all rows together
  profiler::DeviceFacts device;
  std::vector<std::string> notes;  // what is missing, and what would fill it
};

// Registers, shared memory in bytes, launch dimensions and occupancy, as far as the longest event
// of the row tells them: `kernel_details` and `theoretical_occupancy_pct` of XLA's traces.
void AddDetails(const profiler::EventStore& store, KernelRow& row);
// On every device that is described, by times() of the attribution; the fastest first.
std::vector<std::vector<KernelElsewhere>> ElsewhereOf(const profiler::Attribution& attribution);

// "times are those of the simulation …; modelled time of all launches: 1.68 us on NVIDIA H100".
std::string SimulationText(const KernelSheet& sheet);

// "12.5 % of the time: 1.2 ms in 40 events"; empty where the profile has none.
std::string TimeShareText(const KernelSheet& sheet, const KernelRow& row);

// "1,024 instructions of warps, 87 % of the lanes active, …": what one launch did, in the mean;
// empty where nothing was counted.
std::string LaunchText(const KernelRow& row);

// "by the model: NVIDIA L4 9.1 us (memory, occupancy at most 100 %), …": of all
// launches; empty where nothing was counted.
std::string ElsewhereText(const KernelRow& row);

// Of the module in view, or of the trace alone where no dump is open. Null while something it needs
// is being read.
const Pending<KernelSheet>* KernelSheetOf(Context& context);

}  // namespace hloscope::viewer
