// ProcessSampler: a thread that looks now and then, more seldom the longer the job runs.
#include "core/replay/workers/process_sampler.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <string_view>

#include "core/base/unique_fd.h"

namespace hloscope::replay {
namespace {

constexpr std::chrono::milliseconds kFirstInterval(2);
constexpr size_t kMaxSamples = 4096;

// The second number of /proc/self/statm is resident pages.
double ResidentBytes() {
  const UniqueFd file(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t size = file.get() < 0 ? 0 : read(file.get(), text, sizeof text);
  std::string_view rest(text, size > 0 ? static_cast<size_t>(size) : 0);
  rest.remove_prefix(std::min(rest.find(' '), rest.size() - (rest.empty() ? 0 : 1)));
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  int64_t pages = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), pages);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double CpuMilliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

}  // namespace

ProcessSampler::ProcessSampler() {
  Sample();
  thread_ = std::thread([this] { Watch(); });
}

void ProcessSampler::Sample() {
  const int64_t now = runtime::SteadyNanoseconds();
  resident_.emplace_back(now, ResidentBytes());
  cpu_ms_.emplace_back(now, CpuMilliseconds());
}

void ProcessSampler::Watch() {
  auto interval = kFirstInterval;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval, [this] { return is_over_; })) {
    Sample();
    if (resident_.size() % (kMaxSamples / 4) == 0) interval *= 8;
  }
}

std::vector<TraceSamples> ProcessSampler::Stop() {
  if (!thread_.joinable()) return {};
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_.join();
  Sample();
  return {{"resident memory", "bytes", std::move(resident_)},
          {"CPU time of all threads", "ms", std::move(cpu_ms_)}};
}

}  // namespace hloscope::replay
