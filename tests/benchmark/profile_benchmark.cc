// Writing, loading, panning, zooming and summing up a profile of ten million events: PROFILE_EVENTS
// sets another number, TMPDIR where files of them are written.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "profiler/critical_path.h"
#include "profiler/event_store_builder.h"
#include "profiler/profile.h"
#include "profiler/range_statistics.h"

namespace hloscope::profiler {
namespace {

constexpr int kLanes = 8;
constexpr int kPixels = 1600;

size_t WantedEvents() {
  const char* wanted = std::getenv("PROFILE_EVENTS");
  return wanted == nullptr ? 10'000'000 : static_cast<size_t>(std::atoll(wanted));
}

// Lanes of steps that hold calls that hold kernels of 1 to 20 µs, a fifth of them overlapping the
// one before.
void AddEvents(EventStoreBuilder& builder, size_t count) {
  std::mt19937_64 random(1);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  std::vector<NameId> names;
  for (int i = 0; i < 500; ++i) names.push_back(builder.Name("loop_fusion." + std::to_string(i)));
  const uint32_t group = builder.AddGroup("/device:GPU:0", true);
  for (int l = 0; l < kLanes; ++l) {
    LaneId lane = builder.AddLane(group, "Stream #" + std::to_string(l), LaneRole::kStream);
    int64_t time = 0;
    for (size_t i = 0; i < count / kLanes; ++i) {
      const int64_t duration = 1'000'000 + below(19'000'000);
      if (i % 1000 == 0) (void)builder.Add(lane, time, 1000 * 11'000'000ll, names[0]);
      if (i % 20 == 0) (void)builder.Add(lane, time, 20 * 10'000'000ll, names[1]);
      (void)builder.Add(lane, time, duration, names[static_cast<size_t>(below(500))]);
      time += below(5) == 0 ? duration / 2 : duration + below(1'000'000);
    }
  }
}

std::shared_ptr<const EventStore> SharedStore() {
  static const std::shared_ptr<const EventStore> store = [] {
    EventStoreBuilder builder;
    AddEvents(builder, WantedEvents());
    return builder.Finish(SharedJobs(AvailableCpus())).value();
  }();
  return store;
}
const EventStore& Store() { return *SharedStore(); }

// A file of all events in a format; written once.
const std::string& FileIn(const std::string& ending) {
  static std::map<std::string, std::string> paths;
  auto [entry, is_new] = paths.try_emplace(ending);
  if (!is_new) return entry->second;
  entry->second = (std::filesystem::temp_directory_path() /
                   ("profile_benchmark_" + std::to_string(getpid()) + ending))
                      .string();
  Profile profile(FileView::FromBytes("made", ""), ProfileFormat::kHloprof);
  profile.store = SharedStore();
  if (!WriteProfile({profile, nullptr, entry->second})) std::abort();
  return entry->second;
}

void BM_Write(benchmark::State& state, const std::string& ending) {
  Profile profile(FileView::FromBytes("made", ""), ProfileFormat::kHloprof);
  profile.store = SharedStore();
  const std::string path = FileIn(ending);
  while (state.KeepRunning()) benchmark::DoNotOptimize(WriteProfile({profile, nullptr, path}));
}

void BM_Load(benchmark::State& state, const std::string& ending) {
  const std::string path = FileIn(ending);
  while (state.KeepRunning()) {
    auto profile = OpenProfile(path, Limits(), SharedJobs(AvailableCpus())).value();
    if (profile->store->size() != Store().size()) state.SkipWithError("events are missing");
    const auto events = static_cast<double>(profile->store->size());
    state.counters["file"] = static_cast<double>(profile->file.bytes().size()) / events;
    state.counters["store"] = static_cast<double>(profile->store->MemoryBytes()) / events;
  }
  std::filesystem::remove(path);
}

// What one frame asks for: the slices of every row, two pixels each at least.
size_t Frame(const EventStore& store, TimeRange range, std::vector<Slice>& slices) {
  slices.clear();
  for (uint32_t row = 0; row < store.rows().size(); ++row) {
    store.AppendSlices(row, range, 2 * range.length() / kPixels, slices);
  }
  return slices.size();
}

void BM_Build(benchmark::State& state) {
  while (state.KeepRunning()) {
    EventStoreBuilder builder;
    AddEvents(builder, WantedEvents());
    auto store = builder.Finish(SharedJobs(AvailableCpus())).value();
    state.counters["MiB"] = static_cast<double>(store->MemoryBytes()) / (1 << 20);
    state.counters["events"] = static_cast<double>(store->size());
  }
}

// One over 2^range(0) of the whole, moved a little each frame.
void BM_Pan(benchmark::State& state) {
  const EventStore& store = Store();
  const int64_t length = store.range().length() >> state.range(0);
  std::vector<Slice> slices;
  int64_t begin = store.range().begin;
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(Frame(store, {begin, begin + length}, slices));
    begin += length / 60;
    if (begin + length > store.range().end) begin = store.range().begin;
  }
  state.counters["rows"] = static_cast<double>(store.rows().size());
  state.counters["slices"] = static_cast<double>(slices.size());
}

void BM_Statistics(benchmark::State& state) {
  const EventStore& store = Store();
  const int64_t length = store.range().length() >> state.range(0);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(Statistics(store,
                                        {.range = {length / 2, length / 2 + length}, .lanes = {}},
                                        SharedJobs(AvailableCpus())));
  }
}

// Of all events, or of one over 2^range(0) of the whole.
void BM_CriticalPath(benchmark::State& state) {
  const std::shared_ptr<const Attribution> attribution =
      Attribution::Make(std::shared_ptr<const EventStore>(&Store(), [](const EventStore*) {}), {},
                        SharedJobs(AvailableCpus()))
          .value();
  const int64_t length = Store().range().length() >> state.range(0);
  while (state.KeepRunning()) {
    const CriticalPath path =
        FindCriticalPath(*attribution, TimeRange{0, length}, SharedJobs(AvailableCpus())).value();
    state.counters["steps"] = static_cast<double>(path.steps.size());
  }
}

BENCHMARK_CAPTURE(BM_Write, hloprof, std::string(".hloprof"))
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Load, hloprof, std::string(".hloprof"))
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Write, xplane, std::string(".xplane.pb"))
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Load, xplane, std::string(".xplane.pb"))
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Load, perfetto, std::string(".pftrace"))
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Load, chrome, std::string(".trace.json"))
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Build)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Pan)->DenseRange(0, 24, 4)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Statistics)->Arg(0)->Arg(6)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CriticalPath)->Arg(0)->Arg(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hloscope::profiler

BENCHMARK_MAIN();
