// CUPTI's range profiler over the counters of the simulated GPU. It holds whoever calls it to the
// order of calls and to sizes; kernels run once, whatever the passes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "profiler/cupti/range_api.h"
#include "tests/fake_cupti/inside.h"

namespace {

using namespace hloscope::profiler::cupti;
using hloscope::fake_cupti::HearOfKernels;
using hloscope::fake_cupti::NextFault;
using hloscope::fake_cupti::PropertyOf;

constexpr int kInvalid = 1, kWrongOrder = 7;
constexpr size_t kConfigBytes = 24, kAvailableBytes = 16;

double Share(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

// Shares are made up of what the simulated GPU counts.
struct Metric {
  const char* name;
  double (*value)(const FakeCudaActivity& kernel);
};
constexpr Metric kMetrics[] = {
    {"dram__bytes_read.sum",
     [](const FakeCudaActivity& k) { return static_cast<double>(k.global_read_bytes); }},
    {"dram__bytes_write.sum",
     [](const FakeCudaActivity& k) { return static_cast<double>(k.global_written_bytes); }},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed",
     [](const FakeCudaActivity& k) {
       return Share(k.thread_instructions, 32 * k.warp_instructions);
     }},
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
     [](const FakeCudaActivity& k) { return Share(k.tensor_instructions, k.thread_instructions); }},
    {"sm__warps_active.avg.pct_of_peak_sustained_active",
     [](const FakeCudaActivity& k) {
       return Share((uint64_t{k.block[0]} * k.block[1] * k.block[2] + 31) / 32, 64);
     }},
};
const Metric* Find(const char* name) {
  const auto* const found = std::ranges::find_if(
      kMetrics, [&](const Metric& metric) { return std::strcmp(metric.name, name) == 0; });
  return found == std::end(kMetrics) ? nullptr : found;
}

// What a counter data image begins with; behind it the values of each range, metric by metric.
struct Image {
  uint64_t is_ready, ranges;
};

struct {
  bool is_initialized = false, has_host = false, is_enabled = false, is_running = false;
  std::vector<const Metric*> metrics;  // that were added
  SetConfigParams config{};
  std::vector<FakeCudaActivity> kernels;
} counters;

template <typename Params, typename Last>
bool IsSized(const Params* params, Last Params::* last) {
  return params->bytes == ParamsTo(last).bytes && params->reserved == nullptr;
}

// Around every function: the faults first, then its order.
template <typename Params, typename Last, typename Body>
int Do(const char* name, Params* params, Last Params::* last, bool is_in_order, const Body& body) {
  if (const int fault = NextFault(name); fault != 0) return fault;
  if (!IsSized(params, last)) return kInvalid;
  return is_in_order ? body() : kWrongOrder;
}

double* ValuesOf(uint8_t* data) { return reinterpret_cast<double*>(data + sizeof(Image)); }

}  // namespace

namespace hloscope::fake_cupti {

void Count(const FakeCudaActivity& kernel) {
  if (counters.is_running) counters.kernels.push_back(kernel);
}

}  // namespace hloscope::fake_cupti

extern "C" {

int cuptiProfilerInitialize(NoParams* p) {
  return Do("cuptiProfilerInitialize", p, &NoParams::reserved, true, [] {
    counters.is_initialized = true;
    return 0;
  });
}
int cuptiProfilerDeInitialize(NoParams* p) {
  return Do("cuptiProfilerDeInitialize", p, &NoParams::reserved,
            counters.is_initialized && !counters.is_enabled && !counters.has_host, [] {
              counters.is_initialized = false;
              return 0;
            });
}
int cuptiDeviceGetChipName(ChipNameParams* p) {
  return Do("cuptiDeviceGetChipName", p, &ChipNameParams::chip_name, counters.is_initialized, [&] {
    p->chip_name = "GH100";
    return 0;
  });
}
int cuptiProfilerGetCounterAvailability(AvailabilityParams* p) {
  return Do("cuptiProfilerGetCounterAvailability", p, &AvailabilityParams::image,
            counters.is_initialized, [&] {
              if (p->context == nullptr) return 3;
              if (p->image != nullptr && p->image_bytes < kAvailableBytes) return 10;
              p->image_bytes = kAvailableBytes;
              if (p->image != nullptr) std::memset(p->image, 0xa, kAvailableBytes);
              return 0;
            });
}
int cuptiProfilerHostInitialize(HostInitializeParams* p) {
  return Do("cuptiProfilerHostInitialize", p, &HostInitializeParams::host, counters.is_initialized,
            [&] {
              if (p->profiler_type != kRangeProfilerType) return kInvalid;
              if (p->availability == nullptr || p->availability[0] != 0xa) return kInvalid;
              if (std::strcmp(p->chip_name, "GH100") != 0) return 46;
              counters.metrics.clear();
              counters.has_host = true;
              p->host = &counters.has_host;
              return 0;
            });
}
int cuptiProfilerHostDeinitialize(HostParams* p) {
  return Do("cuptiProfilerHostDeinitialize", p, &HostParams::host, counters.has_host, [] {
    counters.has_host = false;
    return 0;
  });
}
int cuptiProfilerHostGetMetricProperties(MetricParams* p) {
  return Do("cuptiProfilerHostGetMetricProperties", p, &MetricParams::type, counters.has_host,
            [&] { return Find(p->name) == nullptr ? kInvalidMetricName : 0; });
}
int cuptiProfilerHostConfigAddMetrics(AddMetricsParams* p) {
  return Do("cuptiProfilerHostConfigAddMetrics", p, &AddMetricsParams::count, counters.has_host,
            [&] {
              for (size_t i = 0; i < p->count; ++i) {
                const Metric* const metric = Find(p->names[i]);
                if (metric == nullptr) return kInvalidMetricName;
                counters.metrics.push_back(metric);
              }
              return 0;
            });
}
int cuptiProfilerHostGetConfigImageSize(ConfigSizeParams* p) {
  return Do("cuptiProfilerHostGetConfigImageSize", p, &ConfigSizeParams::config_bytes,
            !counters.metrics.empty(), [&] {
              p->config_bytes = kConfigBytes;
              return 0;
            });
}
int cuptiProfilerHostGetConfigImage(ConfigParams* p) {
  return Do("cuptiProfilerHostGetConfigImage", p, &ConfigParams::config, !counters.metrics.empty(),
            [&] {
              if (p->config_bytes < kConfigBytes) return 10;
              std::memset(p->config, 0xc, kConfigBytes);
              return 0;
            });
}
int cuptiProfilerHostGetNumOfPasses(PassesParams* p) {
  return Do("cuptiProfilerHostGetNumOfPasses", p, &PassesParams::passes, true, [&] {
    if (p->config_bytes < kConfigBytes || p->config[0] != 0xc) return kInvalid;
    p->passes = 3;
    return 0;
  });
}
int cuptiProfilerHostEvaluateToGpuValues(EvaluateParams* p) {
  return Do("cuptiProfilerHostEvaluateToGpuValues", p, &EvaluateParams::values, counters.has_host,
            [&] {
              const auto* const image = reinterpret_cast<const Image*>(p->data);
              if (image->is_ready != 1 || p->range >= image->ranges) return kInvalid;
              const double* const values =
                  ValuesOf(const_cast<uint8_t*>(p->data)) + p->range * counters.metrics.size();
              for (size_t i = 0; i < p->count; ++i) {
                const auto found = std::ranges::find(counters.metrics, Find(p->names[i]));
                if (found == counters.metrics.end()) return kInvalidMetricName;
                p->values[i] = values[found - counters.metrics.begin()];
              }
              return 0;
            });
}
int cuptiRangeProfilerEnable(EnableParams* p) {
  return Do("cuptiRangeProfilerEnable", p, &EnableParams::profiler,
            counters.is_initialized && !counters.is_enabled, [&] {
              if (p->context == nullptr) return 3;
              counters.is_enabled = true;
              p->profiler = &counters;
              HearOfKernels(true);
              return 0;
            });
}
int cuptiRangeProfilerDisable(RangeParams* p) {
  return Do("cuptiRangeProfilerDisable", p, &RangeParams::profiler, counters.is_enabled, [] {
    counters.is_enabled = counters.is_running = false;
    HearOfKernels(false);
    return 0;
  });
}
int cuptiRangeProfilerGetCounterDataSize(DataSizeParams* p) {
  return Do("cuptiRangeProfilerGetCounterDataSize", p, &DataSizeParams::data_bytes,
            counters.is_enabled, [&] {
              if (p->most_nodes < p->most_ranges) return kInvalid;
              p->data_bytes = sizeof(Image) + p->most_ranges * p->count * sizeof(double);
              return 0;
            });
}
int cuptiRangeProfilerCounterDataImageInitialize(DataInitializeParams* p) {
  return Do("cuptiRangeProfilerCounterDataImageInitialize", p, &DataInitializeParams::data,
            counters.is_enabled, [&] {
              *reinterpret_cast<Image*>(p->data) = {1, 0};
              return 0;
            });
}
int cuptiRangeProfilerSetConfig(SetConfigParams* p) {
  return Do("cuptiRangeProfilerSetConfig", p, &SetConfigParams::target_nesting_level,
            counters.is_enabled && !counters.is_running, [&] {
              if (p->range != kAutoRange || p->replay != kKernelReplay) return kInvalid;
              if (p->nesting_levels != 1 || p->least_nesting_level != 1) return kInvalid;
              if (p->target_nesting_level != 1) return kInvalid;
              if (p->config[0] != 0xc || p->config_bytes < kConfigBytes) return kInvalid;
              if (reinterpret_cast<const Image*>(p->data)->is_ready != 1) return kInvalid;
              counters.config = *p;
              return 0;
            });
}
int cuptiRangeProfilerStart(RangeParams* p) {
  return Do("cuptiRangeProfilerStart", p, &RangeParams::profiler,
            counters.is_enabled && !counters.is_running && counters.config.data != nullptr, [] {
              counters.kernels.clear();
              counters.is_running = true;
              return 0;
            });
}
int cuptiRangeProfilerStop(StopParams* p) {
  return Do("cuptiRangeProfilerStop", p, &StopParams::is_all_submitted, counters.is_running, [&] {
    counters.is_running = false;
    p->is_all_submitted = 1;
    return 0;
  });
}
int cuptiRangeProfilerDecodeData(DecodeParams* p) {
  return Do("cuptiRangeProfilerDecodeData", p, &DecodeParams::dropped,
            counters.is_enabled && !counters.is_running, [&] {
              auto& image = *reinterpret_cast<Image*>(counters.config.data);
              const size_t most = std::min<size_t>(
                  counters.config.most_ranges, static_cast<size_t>(PropertyOf("ranges", 1 << 20)));
              image.ranges = std::min(most, counters.kernels.size());
              p->dropped = counters.kernels.size() - image.ranges;
              double* value = ValuesOf(counters.config.data);
              for (size_t i = 0; i < image.ranges; ++i) {
                for (const Metric* metric : counters.metrics) {
                  *value++ = metric->value(counters.kernels[i]);
                }
              }
              return 0;
            });
}
int cuptiRangeProfilerGetCounterDataInfo(DataInfoParams* p) {
  return Do("cuptiRangeProfilerGetCounterDataInfo", p, &DataInfoParams::ranges, true, [&] {
    p->ranges = reinterpret_cast<const Image*>(p->data)->ranges;
    return 0;
  });
}

}  // extern "C"
