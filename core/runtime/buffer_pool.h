// BufferPool: the memory of a run's values. Big blocks are kept for the next value of the same
// size, since getting fresh pages from the system costs more than most loops over them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace hloscope::runtime {

// All functions may be called from any thread.
class BufferPool {
 public:
  explicit BufferPool(int64_t limit_bytes) : limit_(limit_bytes) {}
  ~BufferPool() { Close(); }
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  enum class Outcome : uint8_t { kTaken, kOverLimit, kNoMemory };
  struct Taken {
    Outcome outcome;
    std::byte* data = nullptr;
  };
  // That many uninitialised bytes, aligned for vector loads. Blocks in use never exceed the limit;
  // those in use and those kept together never exceed the peak of those in use.
  Taken Take(int64_t bytes);
  // `data` as taken with the same size.
  void GiveBack(std::byte* data, int64_t bytes);
  // Frees what is kept; what is given back later is freed at once.
  void Close();

  int64_t limit_bytes() const { return limit_; }
  int64_t peak_bytes() const { return peak_; }
  int64_t live_bytes() const { return live_; }

 private:
  std::byte* TakeKept(int64_t bytes);

  const int64_t limit_;
  std::atomic<int64_t> live_ = 0;
  std::atomic<int64_t> peak_ = 0;
  std::mutex mutex_;
  bool closed_ = false;
  int64_t kept_bytes_ = 0;
  std::map<int64_t, std::vector<std::byte*>> kept_;  // by size
};

}  // namespace hloscope::runtime
