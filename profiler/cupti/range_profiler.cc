// The calls of CUPTI's range profiler, in the order that it wants them in.
#include "profiler/cupti/range_profiler.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/base/counted.h"

namespace hloscope::profiler::cupti {

Result<std::unique_ptr<RangeProfiler>> RangeProfiler::Start(std::shared_ptr<const Library> library,
                                                            const RangeOptions& options,
                                                            CuptiState* state) {
  if (library->range() == nullptr) {
    if (state != nullptr) *state = CuptiState::kWrongVersion;
    return EnvironmentError(
        fmt::format("{} lacks {}: counters of kernels cannot be read", library->path(),
                    library->missing_of_range()),
        "CUPTI of CUDA 12.8 or newer has it: `pip install nvidia-cuda-cupti` (CUDA 13)");
  }
  std::unique_ptr<RangeProfiler> profiler(new RangeProfiler(std::move(library), options));
  const Status begun = profiler->Begin();
  if (state != nullptr) *state = profiler->state_;
  HLOSCOPE_TRY(begun);
  return profiler;
}

Status RangeProfiler::Check(int result, std::string_view what) {
  if (result != 0) state_ = Library::StateOf(result);
  return library_->Check(result, what);
}

RangeProfiler::~RangeProfiler() { End(); }

Status RangeProfiler::Begin() {
  auto none = ParamsTo(&NoParams::reserved);
  HLOSCOPE_TRY(Check(api_.initialize(&none), "starting its profiler"));
  is_initialized_ = true;
  HLOSCOPE_TRY(BeginHost());
  auto enable = ParamsTo(&EnableParams::profiler);
  enable.context = options_.context;
  HLOSCOPE_TRY(Check(api_.enable(&enable), "counting on the device"));
  profiler_ = enable.profiler;
  auto size = ParamsTo(&DataSizeParams::data_bytes);
  size.profiler = profiler_;
  size.names = names_.data();
  size.count = names_.size();
  size.most_ranges = options_.most_ranges;
  size.most_nodes = static_cast<uint32_t>(options_.most_ranges);
  HLOSCOPE_TRY(Check(api_.get_data_size(&size), "the size of counters"));
  data_.resize(size.data_bytes);
  return BeginRanges();
}

// What the device can count, and how.
Status RangeProfiler::BeginHost() {
  auto chip = ParamsTo(&ChipNameParams::chip_name);
  chip.device_index = options_.device;
  HLOSCOPE_TRY(Check(api_.get_chip_name(&chip), "the name of the chip"));
  auto available = ParamsTo(&AvailabilityParams::image);
  available.context = options_.context;
  HLOSCOPE_TRY(Check(api_.get_availability(&available), "which counters there are"));
  availability_.resize(available.image_bytes);
  available.image = availability_.data();
  HLOSCOPE_TRY(Check(api_.get_availability(&available), "which counters there are"));
  auto host = ParamsTo(&HostInitializeParams::host);
  host.profiler_type = kRangeProfilerType;
  host.chip_name = chip.chip_name;
  host.availability = availability_.data();
  HLOSCOPE_TRY(Check(api_.host_initialize(&host), "the definition of its metrics"));
  host_ = host.host;
  HLOSCOPE_TRY(ChooseMetrics());
  auto add = ParamsTo(&AddMetricsParams::count);
  add.host = host_;
  add.names = names_.data();
  add.count = names_.size();
  HLOSCOPE_TRY(Check(api_.host_add_metrics(&add), "asking for metrics"));
  auto size = ParamsTo(&ConfigSizeParams::config_bytes);
  size.host = host_;
  HLOSCOPE_TRY(Check(api_.host_get_config_size(&size), "arranging counters"));
  config_.resize(size.config_bytes);
  auto config = ParamsTo(&ConfigParams::config);
  config.host = host_;
  config.config_bytes = config_.size();
  config.config = config_.data();
  HLOSCOPE_TRY(Check(api_.host_get_config(&config), "arranging counters"));
  auto passes = ParamsTo(&PassesParams::passes);
  passes.config_bytes = config_.size();
  passes.config = config_.data();
  HLOSCOPE_TRY(Check(api_.host_get_passes(&passes), "counting passes"));
  passes_ = passes.passes;
  return {};
}

// Generations of GPUs have names of their own for some.
Status RangeProfiler::ChooseMetrics() {
  for (const MetricRow& row : kMetricRows) {
    auto metric = ParamsTo(&MetricParams::type);
    metric.host = host_;
    metric.name = row.metric;
    const int result = api_.host_get_metric(&metric);
    if (result == kInvalidMetricName) {
      warnings_.push_back(
          fmt::format("{} is not measured: this GPU has no metric {}", row.name, row.metric));
      continue;
    }
    HLOSCOPE_TRY(Check(result, fmt::format("asking for {}", row.metric)));
    rows_.push_back(row);
    names_.push_back(row.metric);
  }
  if (rows_.empty()) {
    state_ = CuptiState::kRefused;
    return EnvironmentError("CUPTI has none of the metrics of kernels for this GPU",
                            "a CUPTI that is as new as the GPU has them");
  }
  return {};
}

Status RangeProfiler::BeginRanges() {
  auto clear = ParamsTo(&DataInitializeParams::data);
  clear.profiler = profiler_;
  clear.data_bytes = data_.size();
  clear.data = data_.data();
  HLOSCOPE_TRY(Check(api_.initialize_data(&clear), "clearing counters"));
  auto config = ParamsTo(&SetConfigParams::target_nesting_level);
  config.profiler = profiler_;
  config.config_bytes = config_.size();
  config.config = config_.data();
  config.data_bytes = data_.size();
  config.data = data_.data();
  config.range = kAutoRange;
  config.replay = kKernelReplay;
  config.most_ranges = options_.most_ranges;
  config.nesting_levels = config.least_nesting_level = config.target_nesting_level = 1;
  HLOSCOPE_TRY(Check(api_.set_config(&config), "arranging counters on the device"));
  auto start = ParamsTo(&RangeParams::profiler);
  start.profiler = profiler_;
  HLOSCOPE_TRY(Check(api_.start(&start), "counting"));
  is_counting_ = true;
  return {};
}

Status RangeProfiler::EndRanges() {
  auto stop = ParamsTo(&StopParams::is_all_submitted);
  stop.profiler = profiler_;
  HLOSCOPE_TRY(Check(api_.stop(&stop), "ending to count"));
  is_counting_ = false;
  if (stop.is_all_submitted == 0) {
    return EnvironmentError("CUPTI did not launch kernels as often as its counters need",
                            "`hloscope doctor` shows what is missing");
  }
  auto decode = ParamsTo(&DecodeParams::dropped);
  decode.profiler = profiler_;
  HLOSCOPE_TRY(Check(api_.decode(&decode), "reading counters"));
  dropped_ += decode.dropped;
  return ReadRanges();
}

// Ranges are in the order of launches: which is which is only known where there are as many.
Status RangeProfiler::ReadRanges() {
  auto info = ParamsTo(&DataInfoParams::ranges);
  info.data = data_.data();
  info.data_bytes = data_.size();
  HLOSCOPE_TRY(Check(api_.get_data_info(&info), "counting kernels"));
  const size_t launched = std::exchange(launched_, 0), before = measured_.size();
  measured_.resize(before + launched);
  if (info.ranges != launched) {
    untold_ += launched;
    return {};
  }
  std::vector<double> values(names_.size());
  for (size_t range = 0; range < launched; ++range) {
    auto evaluate = ParamsTo(&EvaluateParams::values);
    evaluate.host = host_;
    evaluate.data = data_.data();
    evaluate.data_bytes = data_.size();
    evaluate.range = range;
    evaluate.names = names_.data();
    evaluate.count = names_.size();
    evaluate.values = values.data();
    HLOSCOPE_TRY(Check(api_.host_evaluate(&evaluate), "evaluating metrics"));
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      const double unit = rows_[i].kind == MetricKind::kShare ? 0.01 : 1;
      measured_[before + range].*rows_[i].field = values[i] * unit;
    }
  }
  return {};
}

void RangeProfiler::BeforeLaunch() {
  if (!status_.has_value()) return;
  if (launched_ == options_.most_ranges) {
    status_ = EndRanges();
    if (status_.has_value()) status_ = BeginRanges();
  }
  ++launched_;
}

Result<std::vector<KernelMetrics>> RangeProfiler::Finish() {
  HLOSCOPE_TRY(status_);
  HLOSCOPE_TRY(EndRanges());
  End();
  if (untold_ > 0) {
    warnings_.push_back(
        fmt::format("{} without counters: CUPTI reported more or fewer than were launched",
                    Counted(untold_, "kernel")));
  }
  if (dropped_ > 0) {
    warnings_.push_back(fmt::format("CUPTI dropped the counters of {}: its buffer was full",
                                    Counted(dropped_, "kernel")));
  }
  return std::move(measured_);
}

void RangeProfiler::End() {
  auto range = ParamsTo(&RangeParams::profiler);
  range.profiler = profiler_;
  if (std::exchange(is_counting_, false)) {
    auto stop = ParamsTo(&StopParams::is_all_submitted);
    stop.profiler = profiler_;
    api_.stop(&stop);
  }
  if (std::exchange(profiler_, nullptr) != nullptr) api_.disable(&range);
  auto host = ParamsTo(&HostParams::host);
  host.host = host_;
  if (std::exchange(host_, nullptr) != nullptr) api_.host_deinitialize(&host);
  auto none = ParamsTo(&NoParams::reserved);
  if (std::exchange(is_initialized_, false)) api_.deinitialize(&none);
}

}  // namespace hloscope::profiler::cupti
