// BufferPool: blocks by size, and huge pages for the biggest.
#include "core/runtime/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace hloscope::runtime {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kKeptFrom = 1 << 16;  // smaller blocks the allocator is quick with
constexpr int64_t kHugePage = 1 << 21;
constexpr int64_t kHugeFrom = kHugePage;

std::byte* NewBlock(int64_t bytes) {
  const int64_t alignment = bytes >= kHugeFrom ? kHugePage : kAlignment;
  const int64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = nullptr;
  if (posix_memalign(&data, static_cast<size_t>(alignment),
                     static_cast<size_t>(std::max(whole, kAlignment))) != 0) {
    return nullptr;
  }
  // A request only: without it the pages are small ones.
  if (bytes >= kHugeFrom) {
    (void)madvise(data, static_cast<size_t>(whole), MADV_HUGEPAGE);
  }
  return static_cast<std::byte*>(data);
}

}  // namespace

BufferPool::Taken BufferPool::Take(int64_t bytes) {
  const int64_t live = live_.fetch_add(bytes) + bytes;
  if (live > limit_) {
    live_ -= bytes;
    return {Outcome::kOverLimit};
  }
  int64_t peak = peak_;
  while (peak < live && !peak_.compare_exchange_weak(peak, live)) {
  }
  std::byte* data = bytes >= kKeptFrom ? TakeKept(bytes) : nullptr;
  if (data == nullptr) data = NewBlock(bytes);
  if (data != nullptr) return {Outcome::kTaken, data};
  live_ -= bytes;
  return {Outcome::kNoMemory};
}

// A kept block of that size; else null, and as many others are freed as the new block needs room.
std::byte* BufferPool::TakeKept(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(bytes);
  if (found != kept_.end()) {
    std::byte* data = found->second.back();
    found->second.pop_back();
    if (found->second.empty()) kept_.erase(found);
    kept_bytes_ -= bytes;
    return data;
  }
  while (kept_bytes_ > 0 && live_ + kept_bytes_ > peak_) {
    const auto largest = std::prev(kept_.end());
    std::free(largest->second.back());
    kept_bytes_ -= largest->first;
    largest->second.pop_back();
    if (largest->second.empty()) kept_.erase(largest);
  }
  return nullptr;
}

void BufferPool::GiveBack(std::byte* data, int64_t bytes) {
  live_ -= bytes;
  if (bytes >= kKeptFrom) {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      kept_[bytes].push_back(data);
      kept_bytes_ += bytes;
      return;
    }
  }
  std::free(data);
}

void BufferPool::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto& [bytes, blocks] : kept_) {
    for (std::byte* block : blocks) std::free(block);
  }
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace hloscope::runtime
