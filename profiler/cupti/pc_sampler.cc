// The calls of CUPTI's PC sampling, in the order that it wants them in.
#include "profiler/cupti/pc_sampler.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <ranges>
#include <thread>
#include <utility>

#include "core/base/counted.h"

namespace hloscope::profiler::cupti {
namespace {

// "smsp__pcsamp_warps_issue_stalled_long_scoreboard". Each reason is there twice: of all samples,
// and of those in which the scheduler issued nothing; the second are among the first.
constexpr std::string_view kPrefix = "smsp__pcsamp_", kStalled = "warps_issue_stalled_",
                           kNotIssued = "_not_issued";

// CUPTI's thread wakes so often to decode what the device has told; the answer of a read is what it
// has decoded by then.
constexpr uint32_t kWorkerMilliseconds = 1;
constexpr std::chrono::milliseconds kBetweenReads{2 * kWorkerMilliseconds};
constexpr int kEmptyReads = 4;  // before it counts as one without samples

std::string WordOf(std::string_view name) {
  for (const std::string_view prefix : {kPrefix, kStalled}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return std::string(name);
}

}  // namespace

uint64_t PcSamples::count() const {
  const auto counts = stalls | std::views::values;
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

Result<std::unique_ptr<PcSampler>> PcSampler::Start(std::shared_ptr<const Library> library,
                                                    const SamplerOptions& options,
                                                    CuptiState* state) {
  if (library->sampling() == nullptr) {
    if (state != nullptr) *state = CuptiState::kWrongVersion;
    return EnvironmentError(
        fmt::format("{} lacks {}: program counters cannot be sampled", library->path(),
                    library->missing_of_sampling()),
        "CUPTI of CUDA 12 or newer has it: `pip install nvidia-cuda-cupti` (CUDA 13)");
  }
  std::unique_ptr<PcSampler> sampler(new PcSampler(std::move(library), options));
  const Status opened = sampler->Open();
  if (state != nullptr) *state = sampler->state_;
  HLOSCOPE_TRY(opened);
  return sampler;
}

PcSampler::~PcSampler() { Close(); }

SamplingParams PcSampler::Params() const {
  auto params = ParamsTo(&SamplingParams::context);
  params.context = options_.context;
  return params;
}

Status PcSampler::Check(int result, std::string_view what) {
  if (result != 0) state_ = Library::StateOf(result);
  return library_->Check(result, what);
}

void PcSampler::Buffer::Resize(size_t count, size_t reasons) {
  pcs.assign(count, PcData{});
  stalls.assign(count * reasons, StallSamples{});
  for (size_t i = 0; i < count; ++i) {
    pcs[i].bytes = sizeof(PcData);
    pcs[i].stalls = stalls.data() + i * reasons;
  }
  data.bytes = sizeof(SamplingData);
  data.most_pcs = count;
  data.data = pcs.data();
}

Status PcSampler::Open() {
  auto params = Params();
  HLOSCOPE_TRY(Check(api_.enable(&params), "sampling program counters"));
  is_enabled_ = true;
  HLOSCOPE_TRY(ReadStalls());
  told_.Resize(options_.most_pcs, all_stalls_);
  late_.Resize(options_.most_pcs, all_stalls_);
  return Configure();
}

Status PcSampler::ReadStalls() {
  auto count = ParamsTo(&StallCountParams::count);
  count.context = options_.context;
  count.count = &all_stalls_;
  HLOSCOPE_TRY(Check(api_.count_stalls(&count), "stall reasons"));
  std::vector<uint32_t> indices(all_stalls_);
  std::vector<std::array<char, kStallNameBytes>> names(all_stalls_);
  std::vector<char*> places;
  for (auto& name : names) places.push_back(name.data());
  auto stalls = ParamsTo(&StallsParams::names);
  stalls.context = options_.context;
  stalls.count = all_stalls_;
  stalls.indices = indices.data();
  stalls.names = places.data();
  HLOSCOPE_TRY(Check(api_.get_stalls(&stalls), "stall reasons"));
  for (size_t i = 0; i < all_stalls_; ++i) {
    names[i].back() = '\0';
    const std::string_view name = names[i].data();
    if (!name.ends_with(kNotIssued)) stalls_[indices[i]] = WordOf(name);
  }
  if (!stalls_.empty()) return {};
  state_ = CuptiState::kRefused;
  return EnvironmentError("CUPTI has no stall reasons for this GPU",
                          "a CUPTI that is as new as the GPU does");
}

Status PcSampler::Configure() {
  std::vector<uint32_t> indices;
  for (const auto& [index, word] : stalls_) indices.push_back(index);
  std::array<SamplingAttribute, 5> attributes{};
  attributes[0].attribute = kCollectionMode;
  attributes[0].choice = kContinuousSampling;
  attributes[1].attribute = kStartStopControl;
  attributes[1].number = 1;
  attributes[2].attribute = kStallReasons;
  attributes[2].stalls = {indices.size(), indices.data()};
  attributes[3].attribute = kOutputFormat;
  attributes[3].choice = kParsedSamples;
  attributes[4].attribute = kSamplingBuffer;
  attributes[4].buffer = &late_.data;
  auto config = ParamsTo(&SamplingConfigParams::attributes);
  config.context = options_.context;
  config.count = attributes.size();
  config.attributes = attributes.data();
  HLOSCOPE_TRY(Check(api_.configure(&config), "how to sample"));
  for (const SamplingAttribute& attribute : attributes) {
    HLOSCOPE_TRY(
        Check(attribute.status, fmt::format("attribute {} of sampling", attribute.attribute)));
  }
  SamplingAttribute worker{};
  worker.attribute = kWorkerPeriod;
  worker.number = kWorkerMilliseconds;
  config.count = 1;
  config.attributes = &worker;
  api_.configure(&config);  // an older one has its own
  SamplingAttribute period{};
  period.attribute = kSamplingPeriod;
  config.count = 1;
  config.attributes = &period;
  const bool is_known = api_.get_config(&config) == 0 && period.status == 0 && period.number < 64;
  if (is_known) period_ = uint64_t{1} << period.number;
  return {};
}

Status PcSampler::Begin() {
  auto params = Params();
  HLOSCOPE_TRY(Check(api_.start(&params), "beginning to sample"));
  is_running_ = true;
  return {};
}

void PcSampler::Take(const Buffer& buffer, std::vector<PcSamples>& out) {
  dropped_ += buffer.data.dropped_samples;
  const size_t count = std::min(buffer.data.pcs, buffer.pcs.size());
  for (const PcData& pc : std::span(buffer.pcs).first(count)) {
    // The name stays CUPTI's: whether records share one it does not say.
    PcSamples samples{pc.function == nullptr ? "" : pc.function, pc.offset, {}};
    for (const StallSamples& stall : std::span(pc.stalls, std::min(pc.stall_count, all_stalls_))) {
      const auto known = stalls_.find(stall.stall);
      if (known != stalls_.end() && stall.samples > 0) {
        samples.stalls[known->second] += stall.samples;
      }
    }
    samples_ += samples.count();
    if (!samples.stalls.empty()) out.push_back(std::move(samples));
  }
}

Result<std::vector<PcSamples>> PcSampler::End() {
  auto params = Params();
  is_running_ = false;
  HLOSCOPE_TRY(Check(api_.stop(&params), "ending to sample"));
  std::vector<PcSamples> out;
  uint64_t known = 0;  // samples of the last read, dropped ones among them
  for (int empty = 0;;) {
    auto get = ParamsTo(&SamplingDataParams::data);
    get.context = options_.context;
    get.data = &told_.data;
    told_.data.pcs = told_.data.remaining_pcs = 0;
    told_.data.total_samples = told_.data.dropped_samples = 0;
    told_.data.is_device_full = 0;
    const int result = api_.get_data(&get);
    if (result == kSamplesOverflow || told_.data.is_device_full != 0) {
      ++full_;
      return std::vector<PcSamples>();
    }
    HLOSCOPE_TRY(Check(result, "reading samples"));
    const uint64_t samples = told_.data.total_samples + told_.data.dropped_samples;
    const bool is_new = told_.data.pcs > 0 || (samples > 0 && samples != known);
    known = samples;
    if (is_new) Take(told_, out);
    if (!is_new && (!out.empty() || ++empty >= kEmptyReads)) break;
    if (told_.data.remaining_pcs == 0) std::this_thread::sleep_for(kBetweenReads);
  }
  return out;
}

std::vector<std::string> PcSampler::Finish() {
  Close();
  std::vector<PcSamples> late;
  const uint64_t told = samples_;
  Take(late_, late);
  std::vector<std::string> warnings;
  if (dropped_ > 0) {
    warnings.push_back(fmt::format(
        "the GPU dropped {} of program counters: it made them faster than they were read",
        Counted(dropped_, "sample")));
  }
  if (full_ > 0) {
    warnings.push_back(fmt::format("{} without samples: the GPU's buffer for them was full",
                                   Counted(full_, "kernel")));
  }
  if (samples_ > told) {
    warnings.push_back(
        fmt::format("{} of program counters came too late to be attributed to a kernel",
                    Counted(std::exchange(samples_, told) - told, "sample")));
  }
  return warnings;
}

void PcSampler::Close() {
  auto params = Params();
  if (std::exchange(is_running_, false)) api_.stop(&params);
  if (std::exchange(is_enabled_, false)) api_.disable(&params);
}

Result<uint32_t> PcSampler::LineOf(std::span<const std::byte> cubin, const PcSamples& pc) const {
  auto find = ParamsTo(&FindLineParams::folder);
  find.cubin = cubin.data();
  find.cubin_bytes = cubin.size();
  find.function = pc.function.c_str();
  find.offset = pc.offset;
  const int result = api_.find_line(&find);
  std::free(find.file);
  std::free(find.folder);
  HLOSCOPE_TRY(library_->Check(result, fmt::format("the line of {}", pc.function)));
  return find.line;
}

}  // namespace hloscope::profiler::cupti
