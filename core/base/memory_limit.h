// MemoryLimit: how much memory reading one file may take. While one is in force on a thread, every
// `operator new` of that thread, and of the Jobs that it starts, is charged to it, and every
// `operator delete` gives back; beyond the limit `new` throws std::bad_alloc. A file can thus not
// decide on an allocation that is not counted, whichever reader makes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope {

class MemoryLimit {
 public:
  // In force on this thread until it ends; inside another one, that one stays in force.
  explicit MemoryLimit(int64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  // Whether an allocation was refused.
  bool is_exceeded() const { return is_exceeded_.load(std::memory_order_relaxed); }
  // Whether an outer one is in force instead, whose owner reports what it refuses.
  bool is_inner() const { return outer_ != nullptr; }

  // The limit in force on this thread, for other threads that work for it; null: none.
  static MemoryLimit* InForce();
  // Puts the limit of another thread in force on this one.
  class Joined {
   public:
    explicit Joined(MemoryLimit* limit);
    ~Joined();
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;

   private:
    MemoryLimit* const before_;
  };

  // Charges memory that does not come from `operator new` to the limit in force; false: too much,
  // which is_exceeded() says from then on. A negative number gives back.
  static bool Charge(int64_t bytes);
  // The same for who can do without the memory.
  static bool TryCharge(int64_t bytes);
  // Something that cannot be done without was refused.
  static void Refuse();

 private:
  bool Take(int64_t bytes);

  MemoryLimit* const outer_;
  std::atomic<int64_t> used_ = 0;
  std::atomic<int64_t> limit_;
  std::atomic<bool> is_exceeded_ = false;
};

// The input error of a file that takes more than the limit file-memory.
Error OverMemoryLimit(const std::string& path, const Limits& limits);

// What `read()` returns, a Result, with the memory it takes below the limit file-memory; else the
// input error that says so, placed in `path`.
template <typename Read>
auto WithinMemory(const Limits& limits, const std::string& path, Read read) -> decltype(read()) {
  MemoryLimit limit(limits.file_memory_bytes);
  if (limit.is_inner()) return read();
  try {
    auto result = read();
    if (!limit.is_exceeded()) return result;
  } catch (const std::bad_alloc&) {
    if (!limit.is_exceeded()) throw;
  }
  return std::unexpected(OverMemoryLimit(path, limits));
}

}  // namespace hloscope
