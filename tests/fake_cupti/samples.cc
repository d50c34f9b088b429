// CUPTI's PC sampling over the lines that the simulated GPU executed: each execution by a warp is a
// sample, half of them of a warp that waits for memory. It holds whoever calls it to the order of
// calls and to sizes. An instruction of the "machine code", which is the PTX text that was linked,
// is 16 bytes long for each line of that.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/cupti/sampling_api.h"
#include "tests/fake_cupti/inside.h"

namespace {

using namespace hloscope::profiler::cupti;
using hloscope::fake_cupti::HearOfKernels;
using hloscope::fake_cupti::NextFault;
using hloscope::fake_cupti::PropertyOf;

constexpr int kInvalid = 1, kWrongOrder = 7, kUnknown = 999;
constexpr uint64_t kInstructionBytes = 16;
constexpr struct {
  uint32_t index;
  const char* name;
} kStalls[] = {{3, "smsp__pcsamp_warps_issue_stalled_selected"},
               {4, "smsp__pcsamp_warps_issue_stalled_selected_not_issued"},
               {8, "smsp__pcsamp_warps_issue_stalled_long_scoreboard"},
               {9, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"}};
constexpr size_t kStallCount = std::size(kStalls);

struct Sampled {
  const char* function;
  uint64_t offset, count;
};

struct {
  bool is_enabled = false, is_running = false, is_read = true;
  std::set<uint32_t> stalls;
  SamplingData* late = nullptr;
  std::vector<Sampled> samples;
  int64_t reads = 0;  // since it was stopped
} sampling;

// Whoever gets a name may keep it.
const char* Kept(const char* name) {
  static auto* const names = new std::set<std::string>;
  return names->insert(name).first->c_str();
}

template <typename Params, typename Last, typename Body>
int Do(const char* name, Params* params, Last Params::* last, bool is_in_order, const Body& body) {
  if (const int fault = NextFault(name); fault != 0) return fault;
  if (params->bytes != ParamsTo(last).bytes || params->reserved != nullptr) return kInvalid;
  if (params->context == nullptr) return 3;
  return is_in_order ? body() : kWrongOrder;
}

bool IsSound(const SamplingData* data) {
  if (data == nullptr || data->bytes != sizeof(SamplingData) || data->most_pcs == 0) return false;
  return std::all_of(data->data, data->data + data->most_pcs, [](const PcData& pc) {
    return pc.bytes == sizeof(PcData) && pc.stalls != nullptr;
  });
}

void Write(const Sampled& sample, PcData& out) {
  out.cubin_crc = 7;
  out.offset = sample.offset;
  out.function = const_cast<char*>(sample.function);
  out.stall_count = 0;
  for (const auto& [index, name] : kStalls) {
    const bool waits = index >= 8;
    const uint64_t count = waits ? sample.count / 2 : sample.count - sample.count / 2;
    if (!sampling.stalls.contains(index) || count == 0) continue;
    out.stalls[out.stall_count++] = {index, static_cast<uint32_t>(count)};
  }
}

// The n-th line of a text, from 1.
std::string_view LineOf(std::string_view text, uint64_t number) {
  for (; number > 1 && !text.empty(); --number) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

namespace hloscope::fake_cupti {

void Sample(const FakeCudaActivity& kernel) {
  if (!sampling.is_running || kernel.kernel == nullptr) return;
  for (size_t i = 0; i < kernel.line_count; ++i) {
    const FakeCudaLine& line = kernel.lines[i];
    sampling.samples.push_back({Kept(kernel.kernel), line.line * kInstructionBytes, line.warps});
  }
}

}  // namespace hloscope::fake_cupti

extern "C" {

int cuptiPCSamplingEnable(SamplingParams* p) {
  return Do("cuptiPCSamplingEnable", p, &SamplingParams::context, !sampling.is_enabled, [] {
    sampling = {};
    sampling.is_enabled = true;
    HearOfKernels(true);
    return 0;
  });
}
int cuptiPCSamplingDisable(SamplingParams* p) {
  return Do("cuptiPCSamplingDisable", p, &SamplingParams::context, sampling.is_enabled, [] {
    if (PropertyOf("late_samples", 0) != 0 && sampling.late != nullptr) {
      Write({Kept("late"), 0, static_cast<uint64_t>(PropertyOf("late_samples", 0))},
            sampling.late->data[0]);
      sampling.late->pcs = 1;
    }
    sampling.is_enabled = sampling.is_running = false;
    HearOfKernels(false);
    return 0;
  });
}
int cuptiPCSamplingGetNumStallReasons(StallCountParams* p) {
  return Do("cuptiPCSamplingGetNumStallReasons", p, &StallCountParams::count, sampling.is_enabled,
            [&] {
              *p->count = kStallCount;
              return 0;
            });
}
int cuptiPCSamplingGetStallReasons(StallsParams* p) {
  return Do("cuptiPCSamplingGetStallReasons", p, &StallsParams::names, sampling.is_enabled, [&] {
    if (p->count != kStallCount) return kInvalid;
    for (size_t i = 0; i < kStallCount; ++i) {
      p->indices[i] = kStalls[i].index;
      std::strncpy(p->names[i], kStalls[i].name, kStallNameBytes);
    }
    return 0;
  });
}
int cuptiPCSamplingSetConfigurationAttribute(SamplingConfigParams* p) {
  return Do("cuptiPCSamplingSetConfigurationAttribute", p, &SamplingConfigParams::attributes,
            sampling.is_enabled && !sampling.is_running, [&] {
              std::set<int> seen;
              for (size_t i = 0; i < p->count; ++i) {
                SamplingAttribute& attribute = p->attributes[i];
                seen.insert(attribute.attribute);
                bool is_good = true;
                if (attribute.attribute == kCollectionMode) {
                  is_good = attribute.choice == kContinuousSampling;
                } else if (attribute.attribute == kStartStopControl) {
                  is_good = attribute.number == 1;
                } else if (attribute.attribute == kOutputFormat) {
                  is_good = attribute.choice == kParsedSamples;
                } else if (attribute.attribute == kWorkerPeriod) {
                  is_good = attribute.number > 0 && PropertyOf("old_sampling", 0) == 0;
                } else if (attribute.attribute == kStallReasons) {
                  const auto& [count, indices] = attribute.stalls;
                  sampling.stalls.insert(indices, indices + count);
                } else if (attribute.attribute == kSamplingBuffer) {
                  sampling.late = static_cast<SamplingData*>(attribute.buffer);
                  is_good = IsSound(sampling.late);
                } else {
                  return kInvalid;
                }
                attribute.status = is_good ? 0 : kWrongOrder;
                if (!is_good) return kWrongOrder;
              }
              return seen.size() == p->count ? 0 : kInvalid;
            });
}
int cuptiPCSamplingGetConfigurationAttribute(SamplingConfigParams* p) {
  return Do("cuptiPCSamplingGetConfigurationAttribute", p, &SamplingConfigParams::attributes,
            sampling.is_enabled, [&] {
              if (p->count != 1 || p->attributes[0].attribute != kSamplingPeriod) return kInvalid;
              p->attributes[0].number = 10;
              return 0;
            });
}
int cuptiPCSamplingStart(SamplingParams* p) {
  return Do("cuptiPCSamplingStart", p, &SamplingParams::context,
            sampling.is_enabled && !sampling.is_running && sampling.is_read &&
                sampling.late != nullptr && !sampling.stalls.empty(),
            [] {
              sampling.is_running = true;
              sampling.is_read = false;
              sampling.samples.clear();
              return 0;
            });
}
int cuptiPCSamplingStop(SamplingParams* p) {
  return Do("cuptiPCSamplingStop", p, &SamplingParams::context, sampling.is_running, [] {
    sampling.is_running = false;
    if (PropertyOf("no_samples", 0) != 0) sampling.samples.clear();
    sampling.reads = 0;
    return 0;
  });
}
int cuptiPCSamplingGetData(SamplingDataParams* p) {
  return Do("cuptiPCSamplingGetData", p, &SamplingDataParams::data, sampling.is_enabled, [&] {
    auto* const data = static_cast<SamplingData*>(p->data);
    if (!IsSound(data)) return kInvalid;
    sampling.is_read = true;
    if (PropertyOf("device_full", 0) != 0) {
      data->is_device_full = 1;
      data->pcs = 0;
      return kSamplesOverflow;
    }
    // Its thread has decoded nothing yet.
    const int64_t early = PropertyOf("slow_samples", 0), read = sampling.reads++;
    const bool is_early = read < early;
    const auto most = is_early ? size_t{0} : static_cast<size_t>(PropertyOf("pcs", 1 << 20));
    const size_t count = std::min({sampling.samples.size(), data->most_pcs, most});
    data->total_samples = 0;
    data->dropped_samples =
        read == early ? static_cast<uint64_t>(PropertyOf("dropped_samples", 0)) : 0;
    for (size_t i = 0; i < count; ++i) {
      Write(sampling.samples[i], data->data[i]);
      data->total_samples += sampling.samples[i].count;
    }
    sampling.samples.erase(sampling.samples.begin(),
                           sampling.samples.begin() + static_cast<std::ptrdiff_t>(count));
    data->pcs = count;
    data->remaining_pcs = is_early ? 0 : sampling.samples.size();
    sampling.is_read = sampling.samples.empty();
    return 0;
  });
}
// The `.loc` before an instruction says where it is from.
int cuptiGetSassToSourceCorrelation(FindLineParams* p) {
  if (const int fault = NextFault("cuptiGetSassToSourceCorrelation"); fault != 0) return fault;
  if (p->bytes != ParamsTo(&FindLineParams::folder).bytes) return kInvalid;
  if (p->cubin == nullptr || p->function == nullptr || p->cubin_bytes == 0) return kInvalid;
  const std::string_view text(static_cast<const char*>(p->cubin), p->cubin_bytes - 1);
  if (!text.contains(std::string(".entry ") + p->function + "(")) return kUnknown;
  const uint64_t line = p->offset / kInstructionBytes;
  if (line < 2) return 0;
  const std::string mark(LineOf(text, line - 1));
  unsigned file = 0, number = 0;
  if (std::sscanf(mark.c_str(), " .loc %u %u", &file, &number) != 2) return 0;
  p->line = number;
  p->file = strdup("kernels.ptx");
  p->folder = strdup("");
  return 0;
}

}  // extern "C"
